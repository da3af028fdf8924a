"""ROLLUP and CUBE: the error of each level, beside sums of the finest groups and beside a question for each level.

On a table that no bound cuts, so all errors are of noise. Each way has the same price.
"""

from __future__ import annotations

import math
import statistics
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas

import hubbub as hb
from bench.rows import Row
from bench.sql.ours import DELTA, EPSILON, PLENTY
from hubbub.ledger import Ledger
from hubbub.sql.compiler.query_plan import NoiseKind
from hubbub.sql.pricing.error_prediction import typical_error
from hubbub.sql.pricing.level_noise import level_allocations
from hubbub.sql.pricing.price import Price
from hubbub.sql.quote import QueryPlan, plan_kinds, quote_plan

PEOPLE, EACH = 2000, 3
Level = tuple[str, ...]
Cells = dict[tuple[Any, ...], float]


@dataclass(frozen=True)
class Shape:
    """Keys with their numbers of values, and the levels that are asked for."""

    word: str
    keys: dict[str, int]

    @cached_property
    def levels(self) -> list[Level]:
        """The keys of each level, the finest first."""
        names = tuple(self.keys)
        if self.word == "ROLLUP":
            return [names[:size] for size in range(len(names), -1, -1)]
        chosen = product((True, False), repeat=len(names))
        return [tuple(name for name, kept in zip(names, each, strict=True) if kept) for each in chosen]

    @property
    def title(self) -> str:
        """The shape in words."""
        return f"{self.word} of {' x '.join(map(str, self.keys.values()))}"


SHAPES = [Shape("ROLLUP", {"a": 3}), Shape("ROLLUP", {"a": 50}), Shape("ROLLUP", {"a": 10, "b": 10})]
SHAPES += [Shape("ROLLUP", {"a": 10, "b": 100}), Shape("CUBE", {"a": 10, "b": 10})]


def rows(quick: bool) -> list[Row]:
    return [row for shape in SHAPES for row in _compared(shape, 5 if quick else 40)]


def _compared(shape: Shape, draws: int) -> list[Row]:
    """The geometric mean over levels of the standard deviation, as parts of that of the two other ways.

    Standard deviations are worked out from the noise, to all digits; the mean errors of some draws stand beside them.
    """
    generator = np.random.default_rng(1)
    keys = {name: generator.integers(0, cells, PEOPLE * EACH) for name, cells in shape.keys.items()}
    table = pandas.DataFrame({"person": np.arange(PEOPLE * EACH) // EACH, **keys})
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder, closing(_connected(table, shape, folder)) as connection:
        ways = {"together": _together, "sums": _finest_sums, "apart": _apart}
        errors = {
            name: _errors(shape, table, lambda way=way: way(connection, shape), draws) for name, way in ways.items()
        }
        spreads = _spreads(connection.dataset, shape)
    words = "; ".join(
        f"{name} {', '.join(f'{spread:.3g} ({error:.3g})' for spread, error in zip(spreads[name], each, strict=True))}"
        for name, each in errors.items()
    )
    note = (
        f"COUNT(*), {EACH} rows a person, epsilon {EPSILON}, delta {DELTA:g}; std dev by level (mean error of {draws} "
    )
    note += f"draws): {words}"
    whole = {name: math.exp(statistics.fmean(map(math.log, each))) for name, each in spreads.items()}
    return [
        Row(f"{shape.title}: error, in that of {title}", whole["together"] / whole[name], "", 1, "lower", note)
        for name, title in (("sums", "Gaussian sums of the finest groups"), ("apart", "a question for each level"))
    ]


def _spreads(dataset: Any, shape: Shape) -> dict[str, list[float]]:
    """The standard deviation of each level, by way."""
    both, part = (NoiseKind.LAPLACE, NoiseKind.GAUSSIAN), len(shape.levels)
    whole = f"SELECT COUNT(*) AS n FROM t GROUP BY {shape.word} ({', '.join(shape.keys)})"
    plain = ["SELECT COUNT(*) AS n FROM t" + (f" GROUP BY {', '.join(each)}" if each else "") for each in shape.levels]
    old = plan_kinds(whole, dataset, [NoiseKind.GAUSSIAN], totals={}, clipping=False)[:1]
    return {
        "together": _best(plan_kinds(whole, dataset, both, totals={}, clipping=False), 1),
        "sums": _best(old, 1),
        "apart": [_best(plan_kinds(text, dataset, both, totals={}, clipping=False), part)[0] for text in plain],
    }


def _best(plans: Sequence[QueryPlan], part: int) -> list[float]:
    """The standard deviations of the levels of the plan with the least typical error, for a part of the price."""
    prices = {
        NoiseKind.LAPLACE: Price(epsilon=Fraction(EPSILON, part)),
        NoiseKind.GAUSSIAN: Price(epsilon=Fraction(EPSILON, part), tail=Fraction(str(DELTA)) / part),
    }
    quotes = [quote_plan(planned, prices[planned.noise]) for planned in plans]
    best = min(quotes, key=lambda quote: typical_error(quote.plans, quote.spent, 0.95))
    return [noise.noise(0).std_dev() for _, noise in level_allocations(best.plans[0], best.spent[0])]


def _connected(table: pandas.DataFrame, shape: Shape, folder: str) -> Any:
    return hb.connect(
        table,
        name="t",
        unit="person",
        max_rows_per_unit=EACH,
        keys={name: list(range(cells)) for name, cells in shape.keys.items()},
        budget=hb.Budget(*PLENTY),
        ledger=Ledger(Path(folder, "ledger.db"), state=Path(folder, "state")),
    )


def _errors(shape: Shape, table: pandas.DataFrame, ask: Callable[[], list[Cells]], draws: int) -> list[float]:
    """The mean error of each level."""
    true = [_counted(table, level, shape) for level in shape.levels]
    told = [ask() for _ in range(draws)]
    return [
        statistics.fmean(abs(each[place][cell] - number) for each in told for cell, number in cells.items())
        for place, cells in enumerate(true)
    ]


def _counted(table: pandas.DataFrame, level: Level, shape: Shape) -> Cells:
    """The exact counts of a level."""
    counts: Cells = dict.fromkeys(product(*(range(shape.keys[name]) for name in level)), 0)
    for cell in zip(*(table[name] for name in level), strict=True) if level else [()] * len(table):
        counts[tuple(map(int, cell))] += 1
    return counts


def _together(connection: Any, shape: Shape) -> list[Cells]:
    text = f"SELECT {', '.join(shape.keys)}, COUNT(*) AS n FROM t GROUP BY {shape.word} ({', '.join(shape.keys)})"
    answer = list(_records(connection.sql(text, epsilon=EPSILON, delta=DELTA, fresh=True)))
    return [
        {
            tuple(row[k] for k in level): row["n"]
            for row in answer
            if {k for k in shape.keys if row[k] is not None} == {*level}
        }
        for level in shape.levels
    ]


def _finest_sums(connection: Any, shape: Shape) -> list[Cells]:
    """What ROLLUP was: Gaussian noise on the finest groups, and sums of these."""
    names = list(shape.keys)
    text = f"SELECT {', '.join(names)}, COUNT(*) AS n FROM t GROUP BY {', '.join(names)}"
    finest = list(_records(connection.sql(text, epsilon=EPSILON, delta=DELTA, noise="gaussian", fresh=True)))
    levels: list[Cells] = []
    for level in shape.levels:
        cells: Cells = {}
        for row in finest:
            cell = tuple(row[name] for name in level)
            cells[cell] = cells.get(cell, 0) + row["n"]
        levels.append(cells)
    return levels


def _apart(connection: Any, shape: Shape) -> list[Cells]:
    """A question for each level, for equal parts of the price."""
    part = len(shape.levels)
    levels = []
    for level in shape.levels:
        keys = "".join(f"{name}, " for name in level)
        text = f"SELECT {keys}COUNT(*) AS n FROM t" + (f" GROUP BY {', '.join(level)}" if level else "")
        answer = connection.sql(text, epsilon=EPSILON / part, delta=DELTA / part, fresh=True)
        levels.append({tuple(row[name] for name in level): row["n"] for row in _records(answer)})
    return levels


def _records(release: Any) -> Iterable[dict[str, Any]]:
    """The rows of a release by name."""
    columns = {name: release[name].values for name in release.columns_names}
    return (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
