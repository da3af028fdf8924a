"""Questions as jobs: tried on rows of nobody's before they are charged, read and noised under the charge.

``EngineJob`` is what all jobs of a connection share; ``AskJob`` is a question in SQL. Suggested bounds, workloads and
remeasurements have theirs beside their plans.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hubbub.engines import EngineFailed
from hubbub.relations import limits
from hubbub.releases import JobFacts, Progress, Release
from hubbub.sql import measurement
from hubbub.sql.answer import show_answer
from hubbub.sql.quote import QueryQuote
from hubbub.terms import NotAllowed, Receipt

if TYPE_CHECKING:
    from hubbub.sql.connection import Connection


@dataclass(frozen=True)
class EngineJob(ABC):
    """What is bound on the engine's twin and run on the engine itself."""

    connection: Connection

    @abstractmethod
    def statements(self) -> Iterable[str]:
        """What the engine would run, without the secret of the ranks."""

    @abstractmethod
    def measure(self) -> str:
        """What is stored: integers of the engine, with noise."""

    def bind(self) -> None:
        """Refuse statements that fail on the twin of the declared tables: no data could make them succeed."""
        self.connection.check_open()
        for sql in self.statements():
            if len(sql) > limits.STATEMENT:
                raise limits.too_large()
            try:
                self.connection.engine.bind(sql, seconds=limits.TWIN_SECONDS)
            except EngineFailed:
                raise NotAllowed(
                    "the engine cannot run this question, whatever the data are.",
                    why="It was tried on a few rows of nobody's, of the declared types, and nothing was charged.",
                    fix="Write it more simply: fewer levels of functions, smaller numbers, fewer columns.",
                ) from None

    def run(self, progress: Progress) -> str:
        """Read and noise."""
        progress("reading")
        return self.measure()


@dataclass(frozen=True)
class AskJob(EngineJob):
    """A priced question."""

    quote: QueryQuote

    @property
    def facts(self) -> JobFacts:
        """What is charged and stored."""
        return self.quote.facts(seconds=self.connection.seconds)

    def statements(self) -> Iterable[str]:
        """The statements of all its parts."""
        parts = self.quote.planned.statements(self.connection.engine.dialect)
        return (each.sql for part in parts for each in part)

    def measure(self) -> str:
        """The noisy integers, as they are stored."""
        return measurement.stored(self.measured(), self.quote.planned.plans)

    def measured(self) -> tuple[measurement.NoisyResult, ...]:
        """The noisy integers of each part."""
        planned, connection = self.quote.planned, self.connection
        statements = planned.statements(connection.engine.dialect, secret=connection.rank_secret)
        return tuple(
            measurement.run(connection.engine, each, spent, texts, seconds=connection.seconds)
            for each, spent, texts in zip(planned.plans, self.quote.spent, statements, strict=True)
        )

    def show(self, answer: str, receipt: Receipt | None, *, repeated: bool) -> Release:
        """The release of a stored answer."""
        return self.shown(self.quote, answer, receipt, repeated=repeated)

    def shown(self, quote: QueryQuote, answer: str, receipt: Receipt | None, *, repeated: bool) -> Release:
        """The release of an answer that was stored for this quote."""
        balance = self.connection.ledger.balance(self.connection.dataset.population)
        return show_answer(quote, answer, receipt, balance, repeated=repeated)
