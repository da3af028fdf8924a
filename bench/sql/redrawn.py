"""A question's noise drawn again and again on the same integers: the planner's own plan, mechanisms and formulas.

Nothing is charged: what is measured is the error of answers, for which the engine need not read the table each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from hubbub.mechanisms.common.additive import draw_noise
from hubbub.sql import measurement
from hubbub.sql.answer.rows import AnswerRows, part_of
from hubbub.sql.pricing.noise_allocation import NoiseAllocation
from hubbub.sql.pricing.price import PriceTerms
from hubbub.sql.pricing.priced_statement import price_statement

_AT_ONCE = 50_000  # rows


@dataclass
class _Kept:
    """An engine that runs each statement once."""

    engine: object
    given: dict[str, object] = field(default_factory=dict)

    def rows(self, sql: str, *, seconds: float) -> object:
        return self._once(sql, lambda: self.engine.rows(sql, seconds=seconds))

    def arrays(self, sql: str, *, seconds: float) -> object:
        return self._once(sql, lambda: self.engine.arrays(sql, seconds=seconds))

    def _once(self, sql: str, run: Callable[[], object]) -> object:
        if sql not in self.given:
            self.given[sql] = run()
        return self.given[sql]


@dataclass(frozen=True)
class _Tiled:
    """A mechanism whose answer is that of so many runs, one after the other: the noise of its own sampler."""

    mechanism: object
    many: int

    def release(self, integers: np.ndarray) -> np.ndarray:
        tiled = np.tile(integers, self.many)
        return tiled + draw_noise(self.mechanism.event, tiled.shape, rng=None)


class _Often:
    """The noise of a plan, drawn so many times for each integer; choices of keys and quantiles are drawn once."""

    def __init__(self, spent: NoiseAllocation, many: int) -> None:
        self.curves, self.chooser = spent.curves, spent.chooser
        self.measures = [_Tiled(each, many) for each in spent.measures]


def records(
    connection: object, text: str, *, times: int, totals: dict[str, float] | None = None, **price: object
) -> Iterator[list[dict[str, object]]]:
    """So many answers, each as rows of named numbers and keys."""
    quote = price_statement(connection, text, PriceTerms(**price), totals)[0].quote
    [plan], [spent] = quote.plans, quote.spent
    [statements] = quote.planned.statements(connection.engine.dialect, secret=connection.rank_secret)
    engine = _Kept(connection.engine)
    at_once = 1 if plan.curves else max(1, min(times, _AT_ONCE // (plan.size or _AT_ONCE)))
    for start in range(0, times, at_once):
        many = min(at_once, times - start)
        noisy = measurement.run(engine, plan, _Often(spent, many), statements, seconds=connection.seconds)
        size = len(noisy.keys)
        rows = AnswerRows.of(part_of(plan, spent, replace(noisy, keys=noisy.keys * many)))
        columns = [column.formula.evaluate(rows.table) for column in rows.columns]
        named = [dict(zip((c.name for c in rows.columns), row, strict=True)) for row in zip(*columns, strict=True)]
        yield from (named[place : place + size] for place in range(0, len(named), size))


def answers(connection: object, text: str, name: str, key: str, **asked: object) -> list[dict[str, object]]:
    """Column ``name`` by the column ``key``, or by "" where there is none, as so many answers would tell it."""
    return [{row.get(key, ""): row[name] for row in rows} for rows in records(connection, text, **asked)]


def errors(told: list[dict[str, object]], truth: dict[str, float]) -> np.ndarray:
    """The relative errors of all keys of all answers; NULL, where nothing can be told from noise, counts as 1."""
    keys = sorted(truth)
    exact = np.array([truth[key] for key in keys])
    numbers = [[np.nan if answer[key] is None else float(answer[key]) for key in keys] for answer in told]
    return np.nan_to_num(np.abs(np.array(numbers) / exact - 1), nan=1.0).ravel()
