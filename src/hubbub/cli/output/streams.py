"""How commands print: data on stdout, talk on stderr."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import typer

from hubbub.cli.output.terminal import draw_table, emphasize, text_width

if TYPE_CHECKING:
    from hubbub.render import Document, Json


def replace_unknown_signs(stream: TextIO) -> None:
    """Let a stream replace the signs that its encoding lacks instead of failing on them."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="replace")


def print_data(text: str) -> None:
    """Print what was asked for."""
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
    sys.stdout.flush()  # a closed pipe is noticed here, not while the interpreter shuts down


def print_lines(lines: Iterable[str]) -> None:
    """Print what was asked for, line by line, as it comes."""
    for line in lines:
        sys.stdout.write(line + "\n")
    sys.stdout.flush()


def talk(text: str) -> None:
    """Say something on the side."""
    sys.stderr.write(text + "\n")


def announce_address(address: str) -> None:
    """Say where something listens."""
    talk(f"listening on {address}")


def print_json(content: Json) -> None:
    """Print one JSON document."""
    print_data(json.dumps(content, indent=2, ensure_ascii=False))


def show_document(explained: Document, *, as_json: bool, svg: Path | None, html: Path | None) -> None:
    """Print an explanation, and write its pictures or its page where asked."""
    if svg is not None:
        _write_files({svg / f"{name}.svg": picture for name, picture in explained.svgs().items()})
    if html is not None:
        _write_files({html: explained.html()})
    if as_json:
        print_json(explained.to_json())
    else:
        print_data(explained.text(width=text_width(), emphasis=emphasize, draw_table=draw_table))


def _write_files(files: dict[Path, str]) -> None:
    for path, content in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        except OSError as error:
            raise typer.BadParameter(f"cannot write {path}: {error.strerror}") from None
        talk(f"wrote {path}")
