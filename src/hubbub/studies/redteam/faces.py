"""The three ways in which one table is handed out: exact answers, a k-anonymous copy, private answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hubbub.accounting import SPLIT, rho_for
from hubbub.ledger import temporary_ledger
from hubbub.sql import Connection
from hubbub.terms import Budget

if TYPE_CHECKING:
    from hubbub.engines import Engine
    from hubbub.releases import Release
    from hubbub.schema import Dataset

_ROOM = 0.98  # of the budget, so that the last question still fits


@dataclass(frozen=True, slots=True)
class Exact:
    """Answers as they are; ``reading`` says before each question how the table's columns are read."""

    engine: Engine
    reading: str = ""

    def sql(self, text: str, **_: object) -> list[tuple[Any, ...]]:
        """The rows of one answer."""
        return self.engine.rows(self.reading + text)


@dataclass(frozen=True, slots=True)
class Private:
    """Answers with noise, under one budget for all questions of an attack."""

    connection: Connection
    budget: Budget

    def sql(self, text: str, **price: Any) -> Release:
        """One private answer."""
        return self.connection.sql(text, **price)

    def price(self, questions: int) -> dict[str, float]:
        """What each of so many questions may cost, so that the budget is spent when all are asked."""
        if self.budget.epsilon is None:
            assert self.budget.rho is not None
            return {"rho": _ROOM * float(self.budget.rho) / questions}
        epsilon, delta = float(self.budget.epsilon), float(self.budget.delta)
        if delta == 0:
            return {"epsilon": _ROOM * epsilon / questions}
        return {"rho": _ROOM * rho_for(epsilon, delta * float(SPLIT.converts)) / questions}

    @property
    def promise(self) -> tuple[float | None, float]:
        """Epsilon and delta of all answers together, where the budget is stated so."""
        epsilon = None if self.budget.epsilon is None else float(self.budget.epsilon)
        return epsilon, float(self.budget.delta)


@contextmanager
def open_private_face(dataset: Dataset, engine: Engine, budget: Budget) -> Iterator[Private]:
    """The private face with a whole budget: in a ledger that is gone afterwards, so that no real one is spent."""
    with temporary_ledger() as ledger:
        ledger.open_population(
            dataset.population,
            budget,
            neighbours=dataset.neighbours,
            unit=dataset.unit,
            by="the red team",
            why="one attack, on a ledger of its own",
        )
        yield Private(Connection(replace(dataset, budget=budget), engine, ledger), budget)
