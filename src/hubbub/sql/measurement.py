"""Engine -> noise -> what is stored: the integers of a plan get their noise here, and nowhere else.

What is stored is the noisy integers themselves (and quantiles read off noisy curves, or the cells around them), as JSON
of a size that is known beforehand; the answer is worked out from them each time it is shown.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hubbub.engines import Engine
from hubbub.mechanisms import JointQuantiles
from hubbub.schema import Kind, Value
from hubbub.sql.compiler.lowering.engine_statements import EngineStatement
from hubbub.sql.compiler.query_plan import AggregateReading, GroupKey, QuantileCurve, QuestionPlan
from hubbub.sql.pricing.noise_allocation import NoiseAllocation

Integers: TypeAlias = NDArray[np.int64]

EXTREME = Fraction(1, 100)  # MIN and MAX, read off a curve, are these quantiles
LEVELS = (0.5, 0.68, 0.8, 0.9, 0.95, 0.99, 0.999)  # at which intervals of quantiles are kept
CHOSEN_SIZE = 1 << 18  # bytes for an answer whose keys are chosen privately
_NUMBER = 26  # bytes of one stored integer, roughly: enough for 2^80
_PAIR = 16  # bytes of the two cells of a quantile
_FORMAT = 2  # 1 had no pairs

Key: TypeAlias = tuple[Value | None, ...]


@dataclass(frozen=True, slots=True)
class Quantiles:
    """A quantile of each key, with its intervals at ``LEVELS``."""

    values: tuple[float | None, ...]
    lows: tuple[tuple[float | None, ...], ...]
    highs: tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True, slots=True)
class QuantilePairs:
    """A quantile of each key as a pair of cells around it; ``levels`` pairs of one curve were chosen at once."""

    lows: tuple[int, ...]
    highs: tuple[int, ...]
    levels: int


@dataclass(frozen=True, slots=True)
class NoisyResult:
    """What one plan's run gave: keys, noisy integers per measure, and quantiles in the order of the plan.

    Where levels of totals are measured, there are integers per level and measure, level by level.
    """

    keys: tuple[Key, ...]  # one tuple per row of the answer
    measures: tuple[tuple[int, ...], ...]
    quantiles: tuple[Quantiles | QuantilePairs, ...]
    fine: int = 1  # the integers count parts of a step, so many of them to one
    people: tuple[int, ...] = ()  # the noisy numbers of people that chose the keys, where they are told
    left_out: int | None = None  # the largest noisy number of a chosen key for which there was no room


def run(
    engine: Engine, plan: QuestionPlan, spent: NoiseAllocation, statements: Sequence[EngineStatement], *, seconds: float
) -> NoisyResult:
    """Read the integers of a plan and add the noise that was paid for.

    Keys that are not public are chosen by a first statement; the others read the chosen keys alone.

    Guarantee: the answer is as private as the events of ``spent`` say, for the dataset's unit and neighbours.
    Because: [DR14] post-processing of the mechanisms' outputs: what the engine returns goes to them and nowhere else;
    that a unit moves it by at most the plan's sensitivities is ``docs/proofs/sql.md``, for any keys that were chosen.
    Not covered: running time.
    """
    left = list(statements)
    keys: tuple[Key, ...] = public_keys(plan.keys)
    people: tuple[int, ...] = ()
    left_out: int | None = None
    numbers: list[int] = []
    if plan.selection is not None:
        rows = engine.rows(left.pop(0).sql, seconds=seconds)
        chosen, left_out = _chosen_keys(plan, [row[:-1] for row in rows], spent)
        keys, people = tuple(chosen), () if plan.selection.weighted else tuple(chosen.values())
        numbers = _numbers_of(plan, rows, chosen)
    texts = [each.of_keys(numbers) for each in left]
    rows = engine.rows(texts.pop(0), seconds=seconds) if plan.measures else []
    integers = _at_levels(plan, _measured(plan, keys, _summed_rows(plan, rows)))
    noisy = tuple(_noisy(spent, index, column) for index, column in enumerate(integers))
    read = [_read_quantiles(engine, plan, spent, index, keys, each, seconds) for index, each in enumerate(texts)]
    quantiles = tuple(read[reading.curve][reading] for reading in plan.quantiles)
    return NoisyResult(keys, noisy, quantiles, people=people, left_out=left_out)


def _noisy(spent: NoiseAllocation, index: int, column: Sequence[int]) -> tuple[int, ...]:
    if not column:
        return ()
    given = spent.measures[index].release(np.array(column, dtype=object))
    return tuple(int(value) for value in np.asarray(given).tolist())


# ---------------------------------------------------------------- keys


def public_keys(keys: Sequence[GroupKey]) -> tuple[Key, ...]:
    """Every combination of the public values, in order."""
    return tuple(product(*(key.domain or () for key in keys)))


def _summed_rows(plan: QuestionPlan, rows: Sequence[tuple[Any, ...]]) -> dict[Key, tuple[int, ...]]:
    """The integers of each key; of keys that the engine tells apart and we do not, their sums."""
    width = len(plan.keys)
    known: dict[Key, tuple[int, ...]] = {}
    for row in rows:
        key, integers = _normal(row[:width], plan.keys), tuple(int(value or 0) for value in row[width:])
        known[key] = tuple(a + b for a, b in zip(known[key], integers, strict=True)) if key in known else integers
    return known


def _measured(plan: QuestionPlan, keys: Sequence[Key], known: dict[Key, tuple[int, ...]]) -> list[list[int]]:
    """The integers of each measure in the order of the keys; 0 for a key that is empty."""
    empty = (0,) * len(plan.measures)
    return [[known.get(key, empty)[i] for key in keys] for i in range(len(plan.measures))]


def _at_levels(plan: QuestionPlan, columns: list[list[int]]) -> list[list[int]]:
    """The exact integers of each level that is measured, level by level; as they are where none is.

    Guarantee: a unit moves them by at most the sensitivities of the levels (``MeasuredLevel.moved``).
    Because: docs/proofs/levels.md: each is a sum of whole groups, and each group is in one sum of a level.
    """
    if not plan.measured:
        return columns
    tables = [np.array(column, dtype=object).reshape(plan.shape) for column in columns]
    axes = range(len(plan.keys))
    return [
        np.asarray(table.sum(axis=tuple(axis for axis in axes if axis not in level.kept)), dtype=object)
        .ravel()
        .tolist()
        for level in plan.measured
        for table in tables
    ]


def _normal(key: Sequence[Any], keys: Sequence[GroupKey]) -> Key:
    """A key as the engine gives it, as the value that was declared."""
    return tuple(_value(value, declared.value.kind) for value, declared in zip(key, keys, strict=True))


def _value(value: Any, kind: Kind) -> Value | None:
    """What two statements give for one key is one key; no number is itself only if it is the same object."""
    if value is None:
        return None
    if isinstance(value, float) and math.isnan(value):
        return math.nan
    if kind is Kind.INTEGER:
        return int(value)
    given: Value = value.date() if kind is Kind.DATE and isinstance(value, datetime) else value
    return given


def _chosen_keys(
    plan: QuestionPlan, rows: Sequence[tuple[Any, ...]], spent: NoiseAllocation
) -> tuple[dict[Key, int], int | None]:
    """The keys that many people have, with the noisy sums that say so, and the largest sum of a key that is left out.

    There are as many as the stored answer has room for, those with the largest sums.
    """
    assert spent.chooser is not None
    named = spent.chooser.release({key: sums[0] for key, sums in _summed_rows(plan, rows).items()})
    room = CHOSEN_SIZE - 4096
    kept: list[Key] = []
    falling = sorted(named, key=lambda key: (-named[key], _order(key)))
    for key in falling:
        numbers = _NUMBER * (len(plan.measures) + 1) + _PAIR * len(plan.quantiles)
        room -= len(json.dumps([_plain(value) for value in key])) + numbers
        if room < 0:
            break
        kept.append(key)
    left_out = named[falling[len(kept)]] if len(kept) < len(falling) else None
    return {key: named[key] for key in sorted(kept, key=_order)}, left_out


def _numbers_of(plan: QuestionPlan, rows: Sequence[tuple[Any, ...]], chosen: Collection[Key]) -> list[int]:
    """The numbers by which later statements know the chosen keys; nothing of others goes there."""
    width = len(plan.keys)
    return [int(row[-1]) for row in rows if _normal(row[:width], plan.keys) in chosen]


def _order(key: Key) -> list[tuple[Any, ...]]:
    """Keys in their own order, what is missing last."""
    return [(value is None, str(type(value)), value) for value in key]


# ---------------------------------------------------------------- quantiles


def _read_quantiles(
    engine: Engine,
    plan: QuestionPlan,
    spent: NoiseAllocation,
    index: int,
    keys: tuple[tuple[Value | None, ...], ...],
    statement: str,
    seconds: float,
) -> dict[AggregateReading, Quantiles | QuantilePairs]:
    """What is read of one curve for the keys of the answer."""
    readings = [reading for reading in plan.quantiles if reading.curve == index]
    mechanism = spent.curves[index]
    cells, counts, at = _rows_in_cells(engine, plan, keys, statement, seconds)
    if isinstance(mechanism, JointQuantiles):
        pairs = mechanism.release_sparse(cells, counts, keys=at, number=len(keys))
        places = {level: i for i, level in enumerate(mechanism.levels)}
        return {each: _pairs(pairs[:, places[each.quantile]], len(places)) for each in readings}
    told = mechanism.release_sparse(cells, counts, keys=at if plan.keys else None)
    return {each: _quantile(plan.curves[index], told, each) for each in readings}


def _rows_in_cells(
    engine: Engine,
    plan: QuestionPlan,
    keys: tuple[tuple[Value | None, ...], ...],
    statement: str,
    seconds: float,
) -> tuple[Integers, Integers, Integers]:
    """Cells, how many rows fall into each, and the place of their key in the answer (-1: it has none)."""
    places = {key: i for i, key in enumerate(keys)}
    if not plan.public_keys:  # a key may be missing, which arrays cannot say
        rows = engine.rows(statement, seconds=seconds)
        found = [(*(int(number) for number in row[-2:]), places.get(_normal(row[:-2], plan.keys), -1)) for row in rows]
        cells, counts, at = np.array(found, dtype=np.int64).reshape(-1, 3).T
        return cells, counts, at
    columns = engine.arrays(statement, seconds=seconds)
    cells, counts = (np.asarray(column).astype(np.int64) for column in columns[-2:])
    if not plan.keys:
        return cells, counts, np.zeros_like(cells)
    named = zip(*(np.asarray(column).tolist() for column in columns[:-2]), strict=True)
    return cells, counts, np.array([places.get(_normal(key, plan.keys), -1) for key in named], dtype=np.int64)


def _pairs(cells: Integers, levels: int) -> QuantilePairs:
    return QuantilePairs(tuple(cells[:, 0].tolist()), tuple(cells[:, 1].tolist()), levels)


def _quantile(curve: QuantileCurve, told: Any, reading: AggregateReading) -> Quantiles:
    level = min(max(reading.quantile, EXTREME), 1 - EXTREME)
    middle = told.quantile(level)
    cells = middle if isinstance(middle, list) else [middle]
    ends = [np.asarray(told.interval(level, confidence)).reshape(-1, 2).tolist() for confidence in LEVELS]
    held = [[_with(pair, cell) for pair, cell in zip(pairs, cells, strict=True)] for pairs in ends]
    return Quantiles(
        tuple(None if cell is None else float(curve.middle(cell, cell)) for cell in cells),
        tuple(tuple(float(curve.lower_end(low)) for low, _ in pairs) for pairs in held),
        tuple(tuple(float(curve.upper_end(high)) for _, high in pairs) for pairs in held),
    )


def _with(pair: Sequence[int], cell: int | None) -> tuple[int, int]:
    """The ends of an interval that holds its value too: ranks are smoothed for the one and not always for the other."""
    low, high = pair
    return (low, high) if cell is None else (min(low, cell), max(high, cell))


# ---------------------------------------------------------------- JSON


def size_of(plan: QuestionPlan) -> int:
    """How many bytes the stored answer takes at most."""
    if plan.size is None:
        return CHOSEN_SIZE
    if plan.measured:
        return 512 + _NUMBER * len(plan.measures) * sum(plan.cells_of(level.kept) for level in plan.measured)
    per_row = _NUMBER * len(plan.measures) + 26 * (1 + 2 * len(LEVELS)) * len(plan.quantiles)
    return 512 + plan.size * per_row


def stored(parts: Sequence[NoisyResult], plans: Sequence[QuestionPlan]) -> str:
    """The runs as JSON."""
    told = [_part(part, plan) for part, plan in zip(parts, plans, strict=True)]
    return json.dumps({"format": _FORMAT, "parts": told}, separators=(",", ":"))


def _part(part: NoisyResult, plan: QuestionPlan) -> dict[str, Any]:
    keys = None if plan.public_keys else [[_plain(value) for value in key] for key in part.keys]
    quantiles = [_quantile_out(quantile) for quantile in part.quantiles]
    more: dict[str, Any] = {"people": part.people} if part.people else {}
    if part.left_out is not None:
        more["left_out"] = part.left_out
    return {"keys": keys, "measures": part.measures, "quantiles": quantiles, "fine": part.fine, **more}


def _quantile_out(quantile: Quantiles | QuantilePairs) -> Any:
    if isinstance(quantile, QuantilePairs):
        return {"lows": quantile.lows, "highs": quantile.highs, "levels": quantile.levels}
    return [quantile.values, quantile.lows, quantile.highs]


def read(answer: str, plans: Sequence[QuestionPlan]) -> tuple[NoisyResult, ...]:
    """The runs from what is stored."""
    told = json.loads(answer)["parts"]
    return tuple(_read(part, plan) for part, plan in zip(told, plans, strict=True))


def _read(part: dict[str, Any], plan: QuestionPlan) -> NoisyResult:
    keys = (
        public_keys(plan.keys)
        if part["keys"] is None
        else tuple(tuple(_unplain(v, key) for v, key in zip(row, plan.keys, strict=True)) for row in part["keys"])
    )
    quantiles = tuple(_quantile_in(quantile) for quantile in part["quantiles"])
    columns = tuple(tuple(column) for column in part["measures"])
    people = tuple(part.get("people", ()))
    return NoisyResult(keys, columns, quantiles, part["fine"], people, part.get("left_out"))


def _quantile_in(quantile: Any) -> Quantiles | QuantilePairs:
    if isinstance(quantile, dict):
        return QuantilePairs(tuple(quantile["lows"]), tuple(quantile["highs"]), quantile["levels"])
    values, lows, highs = quantile
    return Quantiles(tuple(values), tuple(map(tuple, lows)), tuple(map(tuple, highs)))


def _plain(value: Value | None) -> Any:
    return value.isoformat() if isinstance(value, date) else value


def _unplain(value: Any, key: GroupKey) -> Value | None:
    if value is None:
        return None
    if key.value.kind is Kind.DATE:
        return date.fromisoformat(value)
    return datetime.fromisoformat(value) if key.value.kind is Kind.TIMESTAMP else value
