"""A question's noise drawn again and again on the same integers: the planner's own plan, mechanisms and formulas.

Nothing is charged: what is measured is the error of answers, for which the engine need not read the table each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from hubbub.sql import measurement
from hubbub.sql.answer.rows import AnswerRows, part_of
from hubbub.sql.pricing.price import PriceTerms
from hubbub.sql.pricing.priced_statement import price_statement


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


def records(
    connection: object, text: str, *, times: int, totals: dict[str, float] | None = None, **price: object
) -> Iterator[list[dict[str, object]]]:
    """So many answers, each as rows of named numbers and keys."""
    quote = price_statement(connection, text, PriceTerms(**price), totals)[0].quote
    [plan], [spent] = quote.plans, quote.spent
    [statements] = quote.planned.statements(connection.engine.dialect, secret=connection.rank_secret)
    engine = _Kept(connection.engine)
    for _ in range(times):
        noisy = measurement.run(engine, plan, spent, statements, seconds=connection.seconds)
        rows = AnswerRows.of(part_of(plan, spent, noisy))
        columns = {column.name: column.formula.evaluate(rows.table) for column in rows.columns}
        yield [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def answers(connection: object, text: str, name: str, key: str, **asked: object) -> list[dict[str, object]]:
    """Column ``name`` by the column ``key``, or by "" where there is none, as so many answers would tell it."""
    return [{row.get(key, ""): row[name] for row in rows} for rows in records(connection, text, **asked)]


def errors(told: list[dict[str, object]], truth: dict[str, float]) -> np.ndarray:
    """The relative errors of all keys of all answers; NULL, where nothing can be told from noise, counts as 1."""
    keys = sorted(truth)
    exact = np.array([truth[key] for key in keys])
    numbers = [[np.nan if answer[key] is None else float(answer[key]) for key in keys] for answer in told]
    return np.nan_to_num(np.abs(np.array(numbers) / exact - 1), nan=1.0).ravel()
