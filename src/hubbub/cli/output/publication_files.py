"""The files of ``hubbub publish``: places that are checked beforehand, then tables, and the manifests beside them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from hubbub.cli.output import streams as output
from hubbub.publish import Anonymized, Published
from hubbub.studies.publication import PublicationTable

if TYPE_CHECKING:
    import pyarrow

_TABLES = (".csv", ".parquet")
_REPORTS = (".html", ".json", ".txt")


def check_places(source: str, out: Path | None, report: Path | None, *, several: bool) -> None:
    """Refuse what could not be written, before a charge. ``several`` tables, or tables of counts, need a folder."""
    if any(place is not None and place.resolve() == Path(source).resolve() for place in (out, report)):
        raise typer.BadParameter("that is the private table itself.", param_hint="--out")
    if out is not None and several and (out.suffix or out.is_file()):
        raise typer.BadParameter("several tables are written into a folder: give one.", param_hint="--out")
    if out is not None and not several and out.suffix.lower() not in _TABLES:
        raise typer.BadParameter(f"a table is one of {', '.join(_TABLES)}.", param_hint="--out")
    if report is not None and report.suffix.lower() not in _REPORTS:
        raise typer.BadParameter(f"a report is one of {', '.join(_REPORTS)}.", param_hint="--report")
    for place in filter(None, (out, report)):
        parent = place.parent
        if not os.access(parent, os.W_OK) or (place.is_dir() and not (several and place == out)):
            raise typer.BadParameter(f"cannot write {place}: no such folder, or it is closed.")


def write_table(table: PublicationTable, place: Path, *, format: str) -> None:
    """One file for a table of rows, with the manifest of a partition beside it; a folder for tables of counts.

    ``format`` is that of files whose names do not say it."""
    try:
        if isinstance(table.result, Published):
            written = table.result.write(place, format=format)
        else:
            written = _write_rows(table, place if place.suffix else place.with_suffix(f".{format}"))
    except OSError as error:
        raise typer.BadParameter(f"cannot write {place}: {error.strerror}") from None
    for path in written:
        output.talk(f"wrote {path}")


def _write_rows(table: PublicationTable, place: Path) -> list[Path]:
    place.parent.mkdir(parents=True, exist_ok=True)
    assert not isinstance(table.result, Published)
    _write_arrow(table.result.table, place)
    if not isinstance(table.result, Anonymized):
        return [place]
    manifest = place.with_suffix(".manifest.json")
    manifest.write_text(table.result.manifest.text(), encoding="utf-8")
    return [place, manifest]


def _write_arrow(table: pyarrow.Table, place: Path) -> None:
    from pyarrow import csv, parquet

    if place.suffix.lower() == ".csv":
        csv.write_csv(table, place)
    else:
        parquet.write_table(table, place)
