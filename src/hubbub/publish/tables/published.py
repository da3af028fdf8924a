"""Published tables: the numbers, what is known about their errors, and the sheet that says how they were made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hubbub.explain import Document, Section, TextTable
from hubbub.render import Json
from hubbub.terms import Event, Guarantee, OutOfRange, Receipt, to_json

if TYPE_CHECKING:
    import pyarrow

FORMATS = ("csv", "parquet")


@dataclass(frozen=True)
class Published(Document):
    """Tables to hand out, by name, and their methods sheet (this object itself: print it, or open it in a notebook)."""

    tables: Mapping[str, pyarrow.Table]
    guarantee: Guarantee
    receipt: Receipt | None
    event: Event = field(repr=False)
    margins: Mapping[str, int]  # of each table: noisy counts are within it of the truth, 95 times in 100
    method: str

    @property
    def title(self) -> str:
        return "How these tables were made"

    def write(self, folder: str | Path, *, format: str = "csv") -> list[Path]:
        """One file for each table, and ``methods.html`` and ``methods.json`` beside them."""
        if format not in FORMATS:
            raise OutOfRange(
                f"there is no format {format!r}.",
                why="Tables are written as CSV or Parquet.",
                fix='Write format="csv".',
            )
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        written = [_write_table(table, place / f"{name}.{format}") for name, table in self.tables.items()]
        sheet, data = place / "methods.html", place / "methods.json"
        sheet.write_text(self.html(), encoding="utf-8")
        data.write_text(self.to_json_text(), encoding="utf-8")
        return [*written, sheet, data]

    def to_json_text(self) -> str:
        """The methods sheet as one JSON document."""
        import json

        return json.dumps(self.to_json(), indent=1, ensure_ascii=False)

    def sections(self) -> tuple[Section, ...]:
        rows = tuple((name, f"{table.num_rows:,}", f"± {self.margins[name]:,}") for name, table in self.tables.items())
        return (
            Section("What is promised", (self.guarantee.describe(),)),
            Section("What was done", (self.method,)),
            Section(
                "How to read the columns",
                (
                    "count: the published number. It was moved so that no number is negative and sums agree. "
                    "Small true counts are a little too high on average, large ones hardly change.",
                    "noisy: the count as it was measured, with noise. It is right on average, and may be negative. "
                    "Use it for sums and tests of your own.",
                    "margin: with 95% confidence, noisy is at most so far from the true count.",
                ),
                table=TextTable(("table", "cells", "margin"), rows),
            ),
        )

    def to_json(self) -> dict[str, Json]:
        return {
            "title": self.title,
            "method": self.method,
            "guarantee": to_json(self.guarantee),
            "event": to_json(self.event),
            "receipt": None if self.receipt is None else to_json(self.receipt),
            "tables": {
                name: {"cells": table.num_rows, "columns": table.column_names, "margin": self.margins[name]}
                for name, table in self.tables.items()
            },
        }


def _write_table(table: pyarrow.Table, path: Path) -> Path:
    if path.suffix == ".csv":
        from pyarrow import csv

        csv.write_csv(table, path)
    else:
        from pyarrow import parquet

        parquet.write_table(table, path)
    return path
