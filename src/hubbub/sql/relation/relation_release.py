"""An outer statement's rows and intervals -> a release."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from types import MappingProxyType

import numpy as np

from hubbub.engines import EngineFailed
from hubbub.releases import DerivedRelease, KeyColumn, Release, ReleasedColumn, formulas, guarantee_together
from hubbub.sql.measurement import LEVELS
from hubbub.sql.relation.cell_bounds import Bounds, OuterBounds
from hubbub.sql.relation.cell_kinds import EXACT, FIELLER, REDRAWN, SIMULTANEOUS
from hubbub.sql.relation.copies import Floats
from hubbub.sql.relation.intervals import UNKNOWN, CellIntervals, unknown_intervals, work_out_intervals
from hubbub.sql.relation.outer_statements import is_number
from hubbub.sql.relation.run_outer import OuterRun

_MECHANISMS = {
    EXACT: "worked out from released numbers; its intervals are exact",
    FIELLER: "a ratio of released numbers; its intervals are Fieller's",
    REDRAWN: "worked out from released numbers; its intervals are redrawn, approximate",
    SIMULTANEOUS: "worked out from released numbers; its intervals hold for all rows at once",
    UNKNOWN: "worked out from released numbers; its intervals are not known",
}
_NOTES = {
    REDRAWN: "{name}: intervals are redrawn, approximate.",
    SIMULTANEOUS: "{name}: noisy values decide here, so intervals are simultaneous: they hold for all rows at once.",
    UNKNOWN: "{name}: intervals are not known, since nothing names the rows, or the statement fails for other noise; "
    "add the keys to SELECT, and guard what may fail.",
}
_CHOSEN = (
    "Noisy values chose these rows out of {rows:,}, and noise could have shown {local:,}: intervals of a column "
    "hold for all of these at once."
)
_NEGATIVE = "{name}: what is below 0 means few or none, since noise goes both ways."
_PICKED = "{name}: noisy values picked these, and noise may have picked others."
_OUTER = "What stands around the private questions was worked out from their answers alone, and cost nothing."
_KINDS = {"BOOLEAN": "boolean", "DATE": "date", "VARCHAR": "text", "DOUBLE": "number"}


def release_of(
    run: OuterRun, text: str, inner: Sequence[Release], bounds: Mapping[str, Bounds] = MappingProxyType({})
) -> DerivedRelease:
    """The release of an outer statement that ran on the inner answers; ``bounds`` are those of their columns."""
    outer = OuterBounds(run.outer, bounds)
    try:
        cells = work_out_intervals(run)
    except EngineFailed:
        cells = unknown_intervals(run)
    keys: list[KeyColumn] = []
    columns: list[ReleasedColumn] = []
    for place, (name, kind) in enumerate(run.columns):
        column = _column_of(run, cells, place, outer.of_name(name))
        if isinstance(column, KeyColumn):
            keys.append(column)
            picked = bool(run.tables.size) and name.lower() not in run.public and not is_number(kind)
            notes = (_PICKED.format(name=name),) if picked else ()
            columns.append(ReleasedColumn(name, formulas.Key(len(keys) - 1), notes=notes))
        else:
            how = _worst(run, cells, place)
            notes = (_NOTES[how].format(name=name),) if how in _NOTES else ()
            if outer.of_name(name).low >= 0 and any(value is not None and value < 0 for value in column.values):
                notes = (*notes, _NEGATIVE.format(name=name))
            columns.append(ReleasedColumn(name, column, "", _MECHANISMS[how], notes))
    chosen = (_CHOSEN.format(rows=cells.candidates, local=cells.local),) if cells.candidates > 1 else ()
    shared = tuple(dict.fromkeys(note for each in inner for note in each.notes))
    receipts = [each for each in inner if each.receipt is not None]
    new = [each for each in receipts if not each.repeated]
    return DerivedRelease(
        keys=tuple(keys),
        measures=(),
        columns=tuple(columns),
        guarantee=guarantee_together(inner),
        receipt=(new or receipts)[-1].receipt if receipts else None,
        question=text,
        repeated=all(each.repeated for each in inner),
        notes=(*shared, *chosen, _OUTER),
        parameters={f"question {i + 1}": each.question for i, each in enumerate(inner)},
        budget_left=inner[-1].budget_left,
        inner=tuple(inner),
    )


def _column_of(run: OuterRun, cells: CellIntervals, place: int, bounds: Bounds) -> KeyColumn | formulas.GivenIntervals:
    name, kind = run.columns[place]
    values = [_plain_value(row[place]) for row in run.rows]
    if not is_number(kind) or (name.lower() in run.public and kind in ("DATE", "TIMESTAMP")):
        return KeyColumn(name, tuple(values), _kind_name(kind))
    numbers = [None if v is None or (isinstance(v, float) and math.isnan(v)) else v for v in values]
    if name.lower() in run.public or not run.tables.size:
        return KeyColumn(name, tuple(numbers), _kind_name(kind))
    at, known, back = run.number_columns().index(place), run.shown_cells(), _back_to(kind)
    low, high = (bounds.low, bounds.high) if bounds.are_both_known else (-math.inf, math.inf)
    numbers = [type(v)(min(max(v, low), high)) if isinstance(v, int | float) else v for v in numbers]
    lows, highs = (
        _shown_ends(np.clip(side[:, :, at], low, high), known, numbers, back, end)
        for side, end in ((cells.lows, -1), (cells.highs, 1))
    )
    return formulas.GivenIntervals(tuple(numbers), LEVELS, lows, highs)  # type: ignore[arg-type]


def _shown_ends(
    side: Floats, places: Sequence[int | None], values: Sequence[object], back: Callable[[float, int], object], end: int
) -> tuple[tuple[object, ...], ...]:
    """One end of the intervals of the rows that are shown, by level; None where there is no value."""
    beyond = end * math.inf
    return tuple(
        tuple(
            None if value is None else back(beyond if at is None else float(level[at]), end)
            for at, value in zip(places, values, strict=True)
        )
        for level in side
    )


def _back_to(kind: str) -> Callable[[float, int], object]:
    """A float as a value of the column's type: whole numbers inward, as between them there is nothing to cover."""
    if kind == "DATE":
        return _as_date
    if kind.startswith("TIMESTAMP"):
        return _as_moment
    return _as_whole if kind.endswith(("INT", "INTEGER")) else lambda number, end: number


def _as_whole(number: float, end: int) -> object:
    if not math.isfinite(number):
        return number
    return math.floor(number + 1e-9) if end > 0 else math.ceil(number - 1e-9)


def _as_date(number: float, end: int) -> object:
    days = np.clip(number, -719162, 2932896)  # the years 1 to 9999
    return date(1970, 1, 1) + timedelta(days=math.floor(days) if end > 0 else math.ceil(days))


def _as_moment(number: float, end: int) -> object:
    del end
    seconds = float(np.clip(number, -62135596800, 253402300799))
    return datetime.fromtimestamp(0, UTC).replace(tzinfo=None) + timedelta(seconds=seconds)


def _worst(run: OuterRun, cells: CellIntervals, place: int) -> str:
    """How the least exact interval of a shown column was worked out."""
    at = run.number_columns().index(place)
    kinds = {UNKNOWN if row is None else str(cells.how[row, at]) for row in run.shown_cells()}
    order = (UNKNOWN, REDRAWN, SIMULTANEOUS, FIELLER, EXACT)
    return next((each for each in order if each in kinds), EXACT)


def _plain_value(value: object) -> object:
    """A value of the engine as a release has it."""
    if isinstance(value, Decimal):
        return float(value)
    return value if value is None or isinstance(value, bool | int | float | str | date) else str(value)


def _kind_name(kind: str) -> str:
    if kind.startswith("TIMESTAMP"):
        return "timestamp"
    return (
        "integer"
        if kind.endswith(("INT", "INTEGER"))
        else _KINDS.get(kind.split("(", maxsplit=1)[0], "number" if is_number(kind) else "text")
    )
