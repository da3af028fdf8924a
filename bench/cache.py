"""One folder for what a benchmark makes once: tables, environments of peers, raw results."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path


def folder(*parts: str) -> Path:
    """A folder below the system's temporary one, made if it is not there."""
    path = Path(tempfile.gettempdir(), "hubbub-bench", *parts)
    path.mkdir(parents=True, exist_ok=True)
    return path


def once(path: Path, make: Callable[[Path], object]) -> Path:
    """The file or folder, made beside its place first, so that one that was broken off is never taken for whole."""
    if not path.exists():
        part = path.with_name(f"{path.name}.part")
        make(part)
        part.replace(path)
    return path
