"""Ask again with more accuracy, and pay for the difference: old and new answers are combined by their precision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from hubbub.accounting import Remeasurement
from hubbub.ledger import fingerprint
from hubbub.mechanisms import DiscreteGaussian
from hubbub.releases import JobFacts, Release, release_job, request_for
from hubbub.sql import measurement
from hubbub.sql.jobs import AskJob
from hubbub.sql.measurement import NoisyResult
from hubbub.sql.plan_identity import Json
from hubbub.sql.pricing.noise_allocation import NoiseAllocation
from hubbub.sql.quote import QueryQuote
from hubbub.terms import BudgetConflict, Compose, Event, GaussianNoise, Receipt

if TYPE_CHECKING:
    from hubbub.sql.connection import Connection

FINE = 1 << 10  # parts of a step in which a weighted mean is kept


def remeasure_release(connection: Connection, release: Release, quote: QueryQuote) -> Release:
    """The answer of the accuracy that ``quote`` buys, of which the release is a first part.

    Guarantee: old and new charge together cost no more than ``quote`` alone would.
    Because: precisions of Gaussian noise add up, and so do their costs [BS16, Lem. 2.3]; weighting is post-processing.
    """
    if release.receipt is None:
        raise BudgetConflict(
            "this release stands in no ledger.",
            why="Only what was charged can be paid up.",
            fix="Ask the question with sql(...).",
        )
    charge, answer = connection.ledger.behind(release.receipt)
    wanted = request_for(AskJob(connection, quote).facts, connection.account)
    request, plan = connection.ledger.remeasure(wanted, of=charge)
    if plan.weights is None or any(spent.joint for spent in quote.spent):  # a joint event is that of no one measure
        return connection.answer(quote, fresh=True)
    extra = replace(quote, spent=tuple(_difference_noise(quote.spent, plan.event)), event=plan.event)
    job = RemeasureJob(connection, extra, quote, charge, request.refines, measurement.read(answer, quote.plans), plan)
    return release_job(job, connection.account, progress=connection.watch)


@dataclass(frozen=True)
class RemeasureJob(AskJob):
    """A question whose noise is that of the difference (``quote``); shown is what was ``wanted``, of both together."""

    wanted: QueryQuote
    charge: int
    refines: int | None
    old: Sequence[NoisyResult]
    plan: Remeasurement

    @property
    def facts(self) -> JobFacts:
        """What is charged: the difference, under the question's own name."""
        wanted = self.wanted.facts(seconds=self.connection.seconds)
        return replace(
            wanted, event=self.plan.event, identity=refined_identity(wanted, self.charge), refines=self.refines
        )

    def measure(self) -> str:
        """Old and new integers together, as they are stored."""
        return measurement.stored(tuple(_combine_results(self.old, self.measured(), self.plan)), self.wanted.plans)

    def show(self, answer: str, receipt: Receipt | None, *, repeated: bool) -> Release:
        """The release of the accuracy that was wanted."""
        return self.shown(self.wanted, answer, receipt, repeated=repeated)


def refined_identity(wanted: JobFacts, charge: int) -> dict[str, Json]:
    """What makes it this payment for what a charge has measured already, and no other."""
    return {"kind": "remeasurement", "of": charge, "wanted": fingerprint(**(wanted.identity or {}))}


def _difference_noise(wanted: Sequence[NoiseAllocation], event: Event) -> Iterator[NoiseAllocation]:
    """The mechanisms of the difference, in the order of the event's Gaussians."""
    steps = iter(event.events if isinstance(event, Compose) else (event,))
    for spent in wanted:
        yield replace(spent, measures=tuple(_gaussian_of(next(steps)) for _ in spent.measures))


def _gaussian_of(step: Event) -> DiscreteGaussian:
    assert isinstance(step, GaussianNoise)
    mechanism = DiscreteGaussian(
        sensitivity=step.sensitivity,
        sigma=step.sigma,
        dimension=step.dimension,
        neighbours=step.neighbours,
        unit=step.unit,
    )
    mechanism.event = step
    return mechanism


def _combine_results(
    old: Sequence[NoisyResult], new: Sequence[NoisyResult], plan: Remeasurement
) -> Iterator[NoisyResult]:
    part = 0
    for before, after in zip(old, new, strict=True):
        columns = []
        for was, now in zip(before.measures, after.measures, strict=True):
            both = plan.combine([Fraction(x, before.fine) for x in was], [Fraction(x) for x in now], part=part)
            columns.append(tuple(round(value * FINE) for value in both))
            part += 1
        yield NoisyResult(after.keys, tuple(columns), after.quantiles, FINE)
