"""What is installed on this machine, what is missing, and whether the random source works."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from hubbub import __version__
from hubbub.terms import HubbubError, install_command

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
            "hubbub": __version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "dependencies": self.dependencies,
            "extras": self.extras,
            "programs": self.programs,
            "random_source": self.random_source,
            "group_sums": self.group_sums,
            "healthy": self.healthy,
        }

    def text(self, *, emphasis: Callable[[str], str] = str) -> str:
        """The findings as lines of text; headings go through ``emphasis``."""
        lines = [
            f"hubbub {__version__}, Python {platform.python_version()}, {platform.platform()}",
            "",
        ]
        lines += [emphasis("Dependencies"), *_format_versions(self.dependencies)]
        for extra, packages in self.extras.items():
            whole = None not in packages.values()
            hint = "" if whole else f": {install_command(extra)}"
            lines += ["", emphasis(f"Extra [{extra}]") + hint, *_format_versions(packages)]
        lines += ["", emphasis("Programs (only for tests and some engines)"), *_format_versions(self.programs)]
        source = "works" if self.random_source else "DOES NOT WORK: no noise can be drawn"
        lines += ["", f"{emphasis('Random source of the operating system')}: {source}"]
        sums = self.group_sums or "missing"
        return "\n".join([*lines, f"{emphasis('Sums of points for the proofs of gopa')}: {sums}"])


def examine_installation() -> Checkup:
    """Look at this machine."""
    core, extras = _parse_requirements(metadata.requires("hubbub") or [])
    return Checkup(
        dependencies={name: _installed_version(name) for name in core},
        extras={extra: {name: _installed_version(name) for name in names} for extra, names in extras.items()},
        programs={"chromium": _find_chromium(), "postgres": _find_postgres(), f"java (at least {JAVA})": _find_java()},
        random_source=random_source_works(),
        group_sums=_find_group_sums(),
    )


def _find_group_sums() -> str | None:
    """What does them: the C code that was built with the package, or libsodium alone; None without that."""
    try:
        from hubbub.gopa import multi_scalar

        return multi_scalar.accelerator() or "libsodium alone (built without a C compiler, or switched off)"
    except (HubbubError, ImportError):
        return None


def _parse_requirements(lines: list[str]) -> tuple[list[str], dict[str, list[str]]]:
    """The names behind requirement lines such as ``numba<1,>=0.61; extra == "fast"``, by extra."""
    core: list[str] = []
    extras: dict[str, list[str]] = {}
    for line in lines:
        wanted, _, marker = line.partition(";")
        name = re.split(r"[^A-Za-z0-9._-]", wanted.strip(), maxsplit=1)[0]
        extra = re.search(r"extra\s*==\s*['\"]([^'\"]+)", marker)
        (extras.setdefault(extra[1], []) if extra else core).append(name)
    return core, extras


def _installed_version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _find_chromium() -> str | None:
    return _first_program("chromium", "chromium-browser", "google-chrome")


def _find_postgres() -> str | None:
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), reverse=True)
    return _first_program("postgres", *map(str, debian))


def _find_java() -> str | None:
    path = _first_program("java")
    if path is None:
        return None
    printed = subprocess.run([path, "-version"], capture_output=True, text=True, check=False)  # noqa: S603 (found on PATH)
    major = re.search(r'version "(\d+)', printed.stderr)
    return path if major and int(major[1]) >= JAVA else None


def _first_program(*names: str) -> str | None:
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


def _format_versions(versions: dict[str, str | None]) -> list[str]:
    width = max(map(len, versions), default=0)
    return [f"  {name:<{width}}  {version or 'missing'}" for name, version in versions.items()]
