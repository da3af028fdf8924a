"""``hubbub demo``: the whole story on a made-up hospital, one chapter a file. Every number is computed as it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hubbub.cli.output import streams as output


def demo(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    svg: Annotated[Path | None, typer.Option("--svg", help="Write the pictures into this folder.")] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write the demo as one page.")] = None,
) -> None:
    """A made-up hospital: exact answers leak, private ones do not, and a budget that cannot be overspent."""
    from hubbub.studies.demo import tell

    output.leaflet(tell(), as_json=as_json, svg=svg, html=html)
