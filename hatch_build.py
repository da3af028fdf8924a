"""The build hook: compiles GOPA's accelerator, one C file, when the package is built or installed.

Without a compiler, or where it fails, the wheel is pure and libsodium does the work alone. The library has the hashes
of its source and of its own bytes in its name, so one that was built from another source, or is damaged, is never
loaded. ``CC`` names another compiler.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = Path("src/hubbub/gopa/crypto/native")
FLAGS = ("-O3", "-fno-tree-vectorize", "-std=c11", "-shared", "-fPIC", "-fvisibility=hidden")


class CustomBuildHook(BuildHookInterface[Any]):
    """Compiles beside the source for an editable install, and into the wheel for any other."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before a wheel is put together."""
        native = Path(self.root) / FOLDER
        if version == "editable":
            for stale in native.glob("*.so"):
                stale.unlink()
            compile_accelerator(native, native)
            return
        self._temporary = tempfile.TemporaryDirectory()
        library = compile_accelerator(native, Path(self._temporary.name))
        if library is not None:
            build_data["force_include"][str(library)] = f"{FOLDER.relative_to('src')}/{library.name}".replace(
                os.sep, "/"
            )
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{platform_tag()}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Called when the wheel is there."""
        if version != "editable":
            self._temporary.cleanup()


def compile_accelerator(native: Path, target: Path) -> Path | None:
    """The library in the target folder, or None where it cannot be compiled."""
    source = native / "ristretto255.c"
    compiler = (
        shlex.split(os.environ.get("CC", ""))
        or [path for name in ("cc", "gcc", "clang") if (path := shutil.which(name))][:1]
    )
    if not compiler:
        return None
    with tempfile.TemporaryDirectory(dir=target) as folder:
        unfinished = Path(folder) / "unfinished.so"
        try:
            command = [*compiler, *FLAGS, "-o", str(unfinished), str(source)]
            subprocess.run(command, check=True, capture_output=True, timeout=300)
            library = target / f"{source.stem}-{_digest(source)[:16]}-{_digest(unfinished)[:32]}.so"
            unfinished.replace(library)
        except (OSError, subprocess.SubprocessError):
            return None
    return library


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def platform_tag() -> str:
    """This machine as a wheel names it; a compiler without further words compiles for its own processor alone."""
    return sysconfig.get_platform().replace("universal2", platform.machine()).replace("-", "_").replace(".", "_")
