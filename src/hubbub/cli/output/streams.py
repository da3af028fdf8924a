"""How commands print: data on stdout, talk on stderr, colour only where someone is looking and wants it."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import typer

if TYPE_CHECKING:
    from hubbub.render import Document, Json


def forgiving(stream: TextIO) -> None:
    """Let a stream replace the signs that its encoding lacks instead of failing on them."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="replace")


def data(text: str) -> None:
    """Print what was asked for."""
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
    sys.stdout.flush()  # a closed pipe is noticed here, not while the interpreter shuts down


def stream(lines: Iterable[str]) -> None:
    """Print what was asked for, line by line, as it comes."""
    for line in lines:
        sys.stdout.write(line + "\n")
    sys.stdout.flush()


def talk(text: str) -> None:
    """Say something on the side."""
    sys.stderr.write(text + "\n")


def document(content: Json) -> None:
    """Print one JSON document."""
    data(json.dumps(content, indent=2, ensure_ascii=False))


def coloured() -> bool:
    """True if stdout is a terminal and nobody asked for no colours."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def bold(text: str) -> str:
    """Text that stands out, where colours are on."""
    return f"\x1b[1;36m{text}\x1b[0m" if coloured() else text


def leaflet(explained: Document, *, as_json: bool, svg: Path | None, html: Path | None) -> None:
    """Print an explanation, and write its pictures or its page where asked."""
    if svg is not None:
        _write({svg / f"{name}.svg": picture for name, picture in explained.svgs().items()})
    if html is not None:
        _write({html: explained.html()})
    if as_json:
        document(explained.to_json())
    else:
        data(explained.text(width=_columns(), emphasis=bold))


def _columns() -> int:
    """How wide text may be: as the terminal within reason; the same everywhere else."""
    return max(40, min(100, shutil.get_terminal_size().columns)) if sys.stdout.isatty() else 80


def _write(files: dict[Path, str]) -> None:
    for path, content in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        except OSError as error:
            raise typer.BadParameter(f"cannot write {path}: {error.strerror}") from None
        talk(f"wrote {path}")
