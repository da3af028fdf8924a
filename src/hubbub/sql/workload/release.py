"""Many counts at once: one charge, one look at the data, and far smaller errors than one by one."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from hubbub.releases import JobFacts, Release, formulas, release_job
from hubbub.render import Document, Json, Section, TextTable
from hubbub.sql.compiler.query_plan import NoiseKind
from hubbub.sql.jobs import EngineJob
from hubbub.sql.pricing.price import AUTO, PriceTerms, price_kinds
from hubbub.sql.workload.plan import PaidWorkload, plan_workload
from hubbub.terms import Guarantee, Real, Receipt, UnknownName

if TYPE_CHECKING:
    from hubbub.sql.connection import Connection


def workload(
    connection: Connection,
    queries: Sequence[str],
    *,
    epsilon: Real | None = None,
    delta: Real | None = None,
    rho: Real | None = None,
    noise: str = AUTO,
    names: Sequence[str] | None = None,
    fresh: bool = False,
) -> WorkloadRelease:
    """Answer many counting questions about one table together, for one price.

    Each is ``SELECT [columns,] COUNT(*) FROM t [WHERE conditions on single columns] [GROUP BY columns]``, over columns
    with declared values, or whole numbers and dates with bounds. What is measured is chosen by the error it will have.

    Guarantee: all answers together cost the price, for the dataset's unit and neighbours.
    Because: [LMHMR15], [MMHM18] through ``docs/proofs/workload.md``: the counts of all cells are taken over at most
    ``max_rows_per_unit`` rows of each person (``docs/proofs/sql.md``), and ``Workload`` adds the noise.
    Error: each answer has its own interval, from the exact variance of the strategy.
    Not covered: running time. The cap on a person's rows holds for the whole table, before any condition.
    """
    prices = price_kinds(
        PriceTerms(epsilon=epsilon, delta=delta, rho=rho, noise=noise), connection.limit, connection.balance
    )
    paid = [
        plan_workload(queries, connection.dataset, gaussian=kind is NoiseKind.GAUSSIAN, names=names).paid(price)
        for kind, price in prices
    ]
    best = min(paid, key=lambda each: each.typical_error)
    return release_job(WorkloadJob(connection, best), connection.account, fresh=fresh)


@dataclass(frozen=True)
class WorkloadJob(EngineJob):
    """A workload with its noise, charged and run."""

    paid: PaidWorkload

    @property
    def facts(self) -> JobFacts:
        """What is charged and stored."""
        return self.paid.facts(seconds=self.connection.seconds)

    def statements(self) -> Iterable[str]:
        """The one statement that counts all cells."""
        return [self.paid.planned.statement(self.connection.engine.dialect).sql]

    def measure(self) -> str:
        """The noisy measurements, as they are stored."""
        connection = self.connection
        return self.paid.measure(connection.engine, secret=connection.rank_secret, seconds=connection.seconds)

    def show(self, answer: str, receipt: Receipt | None, *, repeated: bool) -> WorkloadRelease:
        """A release for each question."""
        return WorkloadRelease(self.paid, self.paid.told(json.loads(answer)["values"], receipt, repeated=repeated))


# ---------------------------------------------------------------- the answers


@dataclass(frozen=True)
class WorkloadRelease(Document):
    """The answers to a workload: a release for each question, under one receipt."""

    paid: PaidWorkload
    releases: tuple[Release, ...]

    def __len__(self) -> int:
        return len(self.releases)

    def __iter__(self) -> Iterator[Release]:
        return iter(self.releases)

    def __getitem__(self, which: int | str) -> Release:
        if isinstance(which, int):
            return self.releases[which]
        if which not in self.names:
            raise UnknownName(
                f"no question of the workload is named {which!r}.",
                why="Answers are found by the names that were given.",
                fix=f"Use one of: {', '.join(self.names)[:300]}.",
            )
        return self.releases[self.names.index(which)]

    @property
    def names(self) -> tuple[str, ...]:
        """The questions' names, in their order."""
        return self.paid.planned.names

    @property
    def strategy(self) -> str:
        """What was measured, in a few words."""
        return self.paid.mechanism.strategy

    @property
    def receipt(self) -> Receipt | None:
        """The one receipt of all answers."""
        return self.releases[0].receipt

    @property
    def guarantee(self) -> Guarantee:
        """What holds for all answers together."""
        return self.paid.guarantee

    @property
    def repeated(self) -> bool:
        """Whether the same workload was answered before, so that this was free."""
        return self.releases[0].repeated

    @property
    def title(self) -> str:
        """What was answered."""
        return f"{len(self.releases)} counting questions answered together"

    @cached_property
    def _rows(self) -> tuple[tuple[str, str, str, str], ...]:
        return tuple((name, *_summary(each), each.question) for name, each in zip(self.names, self, strict=True))

    def sections(self) -> tuple[Section, ...]:
        """Price and strategy, then each question with its answer."""
        first = self.releases[0]
        cells = math.prod(self.paid.planned.shape)
        words = (
            f"{first.price()}.",
            f"Measured: {self.strategy}, over {cells:,} cells, with {self.paid.planned.plan.bounding.words()}.",
            "Intervals are those of each answer by itself, with 95% confidence.",
        )
        return (
            Section("All answers for one price", words),
            Section("Questions", (), TextTable(("name", "answer", "± (95%)", "question"), self._rows)),
        )

    def to_json(self) -> dict[str, Json]:
        """Every answer as one JSON document."""
        return {
            "kind": "workload",
            "strategy": self.strategy,
            "guarantee": self.guarantee.holds.describe(),
            "answers": {name: each.to_json() for name, each in zip(self.names, self, strict=True)},
        }


def _summary(release: Release) -> tuple[str, str]:
    """A question's answer and its width, or how many groups there are and the widest of them."""
    place = next(i for i, output in enumerate(release.columns) if not isinstance(output.formula, formulas.Key))
    values, (lows, highs) = release.told(place, 0.95)
    widest = max(((high or 0) - (low or 0) for low, high in zip(lows, highs, strict=True)), default=0.0) / 2
    told = f"{values[0]:,.0f}" if len(values) == 1 else f"{len(values):,} groups"
    return told, f"{widest:,.1f}"
