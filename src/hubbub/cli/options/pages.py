"""How a document is shown: as text or JSON on stdout, and as files where asked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hubbub.cli.output import streams as output

if TYPE_CHECKING:
    from hubbub.render import Document, Json

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Html = Annotated[Path | None, typer.Option("--html", help="Write a page that needs nothing else.", metavar="FILE")]
Svg = Annotated[Path | None, typer.Option("--svg", help="Write the pictures into this folder.", metavar="DIR")]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageOptions:
    """For a document without pictures."""

    as_json: AsJson = False
    html: Html = None

    def show(self, document: Document) -> None:
        """Print the document, and write its page where asked."""
        output.show_document(document, as_json=self.as_json, svg=None, html=self.html)


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureOptions:
    """For a document with pictures."""

    as_json: AsJson = False
    svg: Svg = None
    html: Html = None

    def show(self, document: Document) -> None:
        """Print the document, and write its pictures and its page where asked."""
        output.show_document(document, as_json=self.as_json, svg=self.svg, html=self.html)


def show_result(words: str, content: Json, *, as_json: bool) -> None:
    """Print what a command did: a sentence, or a document."""
    if as_json:
        output.print_json(content)
    else:
        output.print_data(words)
