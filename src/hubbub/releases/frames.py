"""Releases as Arrow, pandas, polars and CSV. Keys keep their types; a noisy column comes with both ends."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING

from hubbub import terms
from hubbub.releases.formulas import GivenIntervals, Key
from hubbub.releases.release import Release
from hubbub.terms import MissingExtra

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


def frame_columns(
    release: Release, *, intervals: bool, confidence: float
) -> Iterator[tuple[str, str, Sequence[object]]]:
    """Name, kind and values of every column to show; names are made unique by a number."""
    taken: set[str] = set()
    for place, output in enumerate(release.columns):
        values, (lows, highs) = release.told(place, confidence)
        kind = _column_kind(release, place)
        shown: list[tuple[str, Sequence[object]]] = [(output.name, values)]
        if intervals and release.is_noisy(place):
            shown += [(f"{output.name}_low", lows), (f"{output.name}_high", highs)]
        for name, column in shown:
            yield _unique_name(name, taken), kind, column


def _unique_name(name: str, taken: set[str]) -> str:
    fresh, number = name, 2
    while fresh in taken:
        fresh, number = f"{name}_{number}", number + 1
    taken.add(fresh)
    return fresh


def _column_kind(release: Release, place: int) -> str:
    formula = release.columns[place].formula
    if isinstance(formula, Key):
        key = release.keys[formula.index]
        return key.kind or _kind_of(key.values)
    if isinstance(formula, GivenIntervals):
        known = [value for column in (formula.values, *formula.lows, *formula.highs) for value in column]
        if (kind := _kind_of(known)) in ("date", "timestamp"):
            return kind
    return "integer" if formula.is_whole(release.table) else "number"


def _kind_of(values: Sequence[object]) -> str:
    """The kind that holds all values; text if there are none."""
    kinds = {type(value) for value in values if value is not None}
    for kind, name in ((bool, "boolean"), (int, "integer"), (datetime, "timestamp"), (date, "date")):
        if kinds == {kind}:
            return name
    return "number" if kinds and kinds <= {int, float} else "text"


def arrow_table(release: Release, *, intervals: bool, confidence: float) -> pyarrow.Table:
    """An Arrow table with the guarantee and the receipt in its metadata."""
    import pyarrow as pa

    shown = list(frame_columns(release, intervals=intervals, confidence=confidence))
    arrays = [pa.array(values, type=_arrow_type(kind, values), from_pandas=False) for _, kind, values in shown]
    fields = [pa.field(name, array.type) for (name, _, _), array in zip(shown, arrays, strict=True)]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields, metadata=_release_metadata(release, confidence)))


def _release_metadata(release: Release, confidence: float) -> dict[str, str]:
    receipt = None if release.receipt is None else terms.to_json(release.receipt)
    return {
        "hubbub.guarantee": json.dumps(terms.to_json(release.guarantee)),
        "hubbub.receipt": json.dumps(receipt),
        "hubbub.confidence": str(confidence),
    }


def _arrow_type(kind: str, values: Sequence[object]) -> pyarrow.DataType:
    import pyarrow as pa

    if kind == "integer":
        return _integer_type([value for value in values if isinstance(value, int)], values)
    zone = next((str(value.tzinfo) for value in values if isinstance(value, datetime) and value.tzinfo), None)
    known = {
        "boolean": pa.bool_(),
        "number": pa.float64(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", tz=zone),
    }
    return known.get(kind, pa.string())


def _integer_type(whole: Sequence[int], values: Sequence[object]) -> pyarrow.DataType:
    import pyarrow as pa

    if any(isinstance(value, float) and math.isinf(value) for value in values):
        return pa.float64()
    largest = max(map(abs, whole), default=0)
    if largest < 2**63:
        return pa.int64()
    return pa.decimal128(38, 0) if largest < 10**38 else pa.decimal256(76, 0)


def pandas_frame(release: Release, *, intervals: bool, confidence: float) -> pandas.DataFrame:
    """A pandas frame; dates are objects, as pandas has no type for them."""
    _need_package("pandas")
    frame: pandas.DataFrame = arrow_table(release, intervals=intervals, confidence=confidence).to_pandas()
    frame.attrs["guarantee"] = release.guarantee.describe()
    return frame


def polars_frame(release: Release, *, intervals: bool, confidence: float) -> polars.DataFrame:
    """A polars frame."""
    _need_package("polars")
    import polars

    frame = polars.from_arrow(arrow_table(release, intervals=intervals, confidence=confidence))
    assert isinstance(frame, polars.DataFrame)
    return frame


def _need_package(package: str) -> None:
    if find_spec(package) is None:
        raise MissingExtra(
            f"this needs the package {package}.",
            why="It is not installed with Hubbub, since releases also leave as Arrow, CSV and JSON.",
            fix=f"Install it: pip install {package}.",
        )


def csv_text(release: Release, *, intervals: bool, confidence: float) -> str:
    """CSV with a header; missing values are empty, dates in ISO form."""
    shown = list(frame_columns(release, intervals=intervals, confidence=confidence))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([name for name, _, _ in shown])
    writer.writerows(zip(*([_csv_cell(value) for value in values] for _, _, values in shown), strict=True))
    return out.getvalue()


def _csv_cell(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, date) else value
