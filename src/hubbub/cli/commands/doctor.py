"""``hubbub doctor``: what is installed, what is missing, and whether the random source works."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hubbub.cli.exit_codes import Exit
from hubbub.cli.output import streams as output
from hubbub.terms import HubbubError

if TYPE_CHECKING:
    from hubbub.render import Json

JAVA = 17  # the oldest that works


@dataclass(frozen=True, slots=True)
class Checkup:
    """What was found on this machine; ``None`` stands for what is missing."""

    dependencies: dict[str, str | None]
    extras: dict[str, dict[str, str | None]]
    programs: dict[str, str | None]
    random_source: bool
    group_sums: str | None = None  # what adds points for GOPA's proofs

    @property
    def healthy(self) -> bool:
        """True if the core can work: extras and programs may be missing, dependencies and randomness not."""
        return self.random_source and None not in self.dependencies.values()

    def to_json(self) -> dict[str, Json]:
        """The findings as one JSON document."""
        return {
            "kind": "doctor",
            "hubbub": metadata.version("hubbub"),
            "python": platform.python_version(),
            "platform": platform.platform(),
            "dependencies": self.dependencies,
            "extras": self.extras,
            "programs": self.programs,
            "random_source": self.random_source,
            "group_sums": self.group_sums,
            "healthy": self.healthy,
        }

    def text(self) -> str:
        """The findings as lines of text."""
        lines = [f"hubbub {metadata.version('hubbub')}, Python {platform.python_version()}, {platform.platform()}", ""]
        lines += [output.bold("Dependencies"), *_lines(self.dependencies)]
        for extra, packages in self.extras.items():
            whole = None not in packages.values()
            hint = "" if whole else f": pip install 'hubbub[{extra}]'"
            lines += ["", output.bold(f"Extra [{extra}]") + hint, *_lines(packages)]
        lines += ["", output.bold("Programs (only for tests and some engines)"), *_lines(self.programs)]
        source = "works" if self.random_source else "DOES NOT WORK: no noise can be drawn"
        lines += ["", f"{output.bold('Random source of the operating system')}: {source}"]
        return "\n".join(
            [*lines, f"{output.bold('Sums of points for the proofs of gopa')}: {self.group_sums or 'missing'}"]
        )


def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False) -> None:
    """What is installed, what is missing, and whether randomness works."""
    found = examine()
    if as_json:
        output.document(found.to_json())
    else:
        output.data(found.text())
    if not found.healthy:
        raise typer.Exit(Exit.VERIFICATION)


def examine() -> Checkup:
    """Look at this machine."""
    core, extras = _requirements(metadata.requires("hubbub") or [])
    return Checkup(
        dependencies={name: _version(name) for name in core},
        extras={extra: {name: _version(name) for name in names} for extra, names in extras.items()},
        programs={"chromium": _chromium(), "postgres": _postgres(), f"java (at least {JAVA})": _java()},
        random_source=random_source_works(),
        group_sums=_group_sums(),
    )


def _group_sums() -> str | None:
    """What does them: the C code that was built with the package, or libsodium alone; None without that."""
    try:
        from hubbub.gopa import multi_scalar

        return multi_scalar.accelerator() or "libsodium alone (built without a C compiler, or switched off)"
    except (HubbubError, ImportError):
        return None


def _requirements(lines: list[str]) -> tuple[list[str], dict[str, list[str]]]:
    """The names behind requirement lines such as ``numba<1,>=0.61; extra == "fast"``, by extra."""
    core: list[str] = []
    extras: dict[str, list[str]] = {}
    for line in lines:
        wanted, _, marker = line.partition(";")
        name = re.split(r"[^A-Za-z0-9._-]", wanted.strip(), maxsplit=1)[0]
        extra = re.search(r"extra\s*==\s*['\"]([^'\"]+)", marker)
        (extras.setdefault(extra[1], []) if extra else core).append(name)
    return core, extras


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _chromium() -> str | None:
    return _which("chromium", "chromium-browser", "google-chrome")


def _postgres() -> str | None:
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), reverse=True)
    return _which("postgres", *map(str, debian))


def _java() -> str | None:
    path = _which("java")
    if path is None:
        return None
    told = subprocess.run([path, "-version"], capture_output=True, text=True, check=False)  # noqa: S603 (found on PATH)
    major = re.search(r'version "(\d+)', told.stderr)
    return path if major and int(major[1]) >= JAVA else None


def _which(*names: str) -> str | None:
    return next((path for name in names if (path := shutil.which(name))), None)


def random_source_works() -> bool:
    """True if the operating system hands out random bytes now, and not the same ones twice."""
    try:
        if sys.platform == "linux":
            os.getrandom(32, os.GRND_NONBLOCK)  # fails while the kernel has not gathered enough
        draws = {os.urandom(32) for _ in range(4)}
    except (OSError, NotImplementedError):
        return False
    return len(draws) == 4


def _lines(found: dict[str, str | None]) -> list[str]:
    width = max(map(len, found), default=0)
    return [f"  {name:<{width}}  {version or 'missing'}" for name, version in found.items()]
