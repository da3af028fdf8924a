"""The same metrics of private rows: whole numbers that one person moves by a known amount, with noise, and charged.

Everything about the candidates is public: they are handed out. So every number here is a distance between counts of
private rows and public whole numbers (or between the counts of two halves of the private rows), as a whole number.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np

from hubbub.ledger import AccountLike
from hubbub.mechanisms import DiscreteGaussian
from hubbub.publish.jobs import TableJob, table_facts
from hubbub.publish.marginal_counts import Columns, Whom
from hubbub.publish.metrics.candidates import Candidate, Numbers, RowTable
from hubbub.publish.metrics.range_queries import RangeQuery
from hubbub.publish.metrics.scores import ABSOLUTE, RELATIVE, UtilityScore, max_of, mean_of
from hubbub.publish.tables.consistency import to_totals
from hubbub.publish.tables.noisy_counts import TablePrice
from hubbub.releases import release_job
from hubbub.terms import Event, OutOfRange, Real, Receipt, exact, root_of, shown

_FINE = 1 << 24  # parts of 1 in which relative errors are counted
Halves = tuple[RowTable, RowTable]


@dataclass(frozen=True, slots=True)
class MetricTask:
    """What is asked of the private rows, from public facts alone."""

    tables: Mapping[int, Sequence[Columns]]  # marginals, by how many columns they have
    questions: Sequence[RangeQuery]
    rows: int  # how many rows there are, about: public
    sanity: int  # rows below which a relative error is relative to this
    whom: Whom

    @property
    def metrics(self) -> list[str]:
        """The names of the numbers of one table."""
        return [name(width) for width in self.tables for name in (mean_of, max_of)] + [ABSOLUTE, RELATIVE]

    def units(self, answers: Sequence[int] | None) -> dict[str, Fraction]:
        """What one step of each released number is worth. ``answers`` are the public ones (None: two halves)."""
        rows = Fraction(self.rows, 1 if answers is not None else 2)
        units = dict.fromkeys(self.metrics, 1 / (2 * rows))
        units[ABSOLUTE] = self.reach / (rows * len(self.questions))
        units[RELATIVE] = Fraction(self.slack(answers), _FINE * len(self.questions))
        return units

    @property
    def reach(self) -> int:
        """How many of the answers one row moves, at most."""
        return weight_bound(self.questions, [1] * len(self.questions))

    def slack(self, answers: Sequence[int] | None) -> int:
        """How far one row moves the sum of all relative errors, in parts of 1 over ``_FINE``.

        With a public answer a, one row more in the true count t moves min(1, |a - t| / max(t, s)) by at most 4/a if
        a >= 2s, and by max(1/s, a/s^2) otherwise; if both are private, by at most 2/s. Rounding down to parts of 1
        turns a bound x into ceil(x): docs/proofs/metrics.md.
        """
        slopes = [Fraction(2, self.half)] * len(self.questions)
        if answers is not None:
            slopes = [_error_slope(answer, self.sanity) for answer in answers]
        return weight_bound(self.questions, [ceil(_FINE * slope) for slope in slopes])

    @property
    def half(self) -> int:
        """The sanity bound of half the rows."""
        return max(1, self.sanity // 2)


def _error_slope(answer: int, sanity: int) -> Fraction:
    if answer >= 2 * sanity:
        return Fraction(4, answer)
    return max(Fraction(1, sanity), Fraction(answer, sanity**2))


def weight_bound(questions: Sequence[RangeQuery], weights: Sequence[int]) -> int:
    """A bound on the summed weights of the questions that one row is in, whatever its values are.

    Each question is looked at through the one of its columns that it narrows most: a row is in no more questions than
    its value there allows. So the sum over columns of the most that any one value allows is a bound.
    """
    most: dict[int, Numbers] = {}
    for question, weight in zip(questions, weights, strict=True):
        column, mask = min(zip(question.columns, question.masks, strict=True), key=lambda pair: float(pair[1].mean()))
        most[column] = most.get(column, np.zeros(len(mask), dtype=np.int64)) + weight * mask
    return sum(int(allowed.max()) for allowed in most.values())


@dataclass(frozen=True, slots=True)
class ScaledCandidate:
    """A candidate as whole numbers: its marginals and answers, scaled to as many rows as the private table has."""

    tables: Mapping[Columns, Numbers]
    answers: Sequence[int]

    @classmethod
    def of(cls, candidate: Candidate, task: MetricTask) -> ScaledCandidate:
        """From the candidate alone."""
        tables = {t: _scale_shares(candidate.shares(t), task.rows) for group in task.tables.values() for t in group}
        answers = [round(float(q.answer(candidate.shares(q.columns))) * task.rows) for q in task.questions]
        return cls(tables, answers)

    @property
    def digest(self) -> str:
        """The same for the same numbers, and for no others."""
        digest = hashlib.blake2b(json.dumps([int(answer) for answer in self.answers]).encode(), digest_size=16)
        for columns, table in self.tables.items():
            about = json.dumps([[int(column) for column in columns], list(table.shape)])
            digest.update(about.encode() + table.astype("<i8").tobytes())
        return digest.hexdigest()


def _scale_shares(shares: Numbers, rows: int) -> Numbers:
    return to_totals(rows * shares.reshape(-1, 1), np.array([rows])).reshape(shares.shape)


def against_public(real: RowTable, public: ScaledCandidate, task: MetricTask) -> list[int]:
    """The numbers of one candidate: distances of exact counts to public whole numbers."""
    far = [[int(np.abs(real.counts(t) - public.tables[t]).sum()) for t in group] for group in task.tables.values()]
    truth = [int(q.answer(real.counts(q.columns))) for q in task.questions]
    return [
        *_mean_distances(far),
        *_summed_errors(public.answers, truth, task, task.sanity, task.slack(public.answers)),
    ]


def against_half(halves: Halves, task: MetricTask) -> list[int]:
    """The numbers of one half of the private rows against the other."""
    one, other = halves
    far = [[int(np.abs(one.counts(t) - other.counts(t)).sum()) for t in group] for group in task.tables.values()]
    half_answers, truth = ([int(q.answer(half.counts(q.columns))) for q in task.questions] for half in halves)
    return [*_mean_distances(far), *_summed_errors(half_answers, truth, task, task.half, task.slack(None))]


def _mean_distances(far: Sequence[Sequence[int]]) -> list[int]:
    """For each width the mean, rounded down, and the largest: each moves by at most what one distance does."""
    return [number for group in far for number in (sum(group) // len(group), max(group))]


def _summed_errors(
    answers: Sequence[int], truth: Sequence[int], task: MetricTask, sanity: int, slack: int
) -> list[int]:
    """The summed errors of counts, and of the relative ones, in units of what one row moves them at most."""
    off = [abs(a - t) for a, t in zip(answers, truth, strict=True)]
    parts = [min(_FINE, _FINE * d // max(t, sanity)) for d, t in zip(off, truth, strict=True)]
    return [sum(off) // task.reach, sum(parts) // slack]


def noise_of(task: MetricTask, budget: TablePrice, tables: int) -> DiscreteGaussian:
    """The noise of all numbers of so many tables together.

    Guarantee: the numbers are (epsilon, delta)-DP together, for the unit and neighbours of ``budget``, whatever the
    candidates are, as long as these are known anyway: what a candidate gives away is its own matter.
    Because: [CKS20, Thm. 14] and [BW18, Thm. 8] through ``DiscreteGaussian``; one unit moves each number by at most
    ``Whom.l1``, so all of them by that times the root of their number in L2: docs/proofs/metrics.md.
    Error: each is within ``error(confidence)``, and one for rounding down.
    Not covered: running time.
    """
    count = tables * len(task.metrics)
    return DiscreteGaussian(
        sensitivity=root_of(count * task.whom.l1**2),
        epsilon=budget.price.epsilon,
        delta=budget.price.delta,
        dimension=count,
        neighbours=task.whom.neighbours,
        unit=task.whom.unit,
    )


def release_metrics(
    publics: Sequence[ScaledCandidate],
    task: MetricTask,
    budget: TablePrice,
    halves: Callable[[], tuple[RowTable, Halves]],
    *,
    account: AccountLike | None,
    dataset: str | None,
    parts: Mapping[str, Any],
) -> tuple[list[dict[str, UtilityScore]], Event, Receipt | None]:
    """The scores of each candidate and, last, of one half of the private rows against the other."""
    noise = noise_of(task, budget, len(publics) + 1)

    def run() -> str:
        real, both = halves()
        exact = [number for public in publics for number in against_public(real, public, task)]
        exact += against_half(both, task)
        return json.dumps(np.asarray(noise.release(np.array(exact, dtype=np.int64))).tolist())

    facts = table_facts(
        noise.event,
        size=64 + 24 * (len(publics) + 1) * len(task.metrics),
        delta=budget.price.delta,
        job="comparison",
        title="utility of tables",
        dataset=dataset,
        parts={
            **parts,
            "whom": budget.whom.identity(),
            "rows": task.rows,
            "sanity": task.sanity,
            "widths": sorted(task.tables),
            "public": [public.digest for public in publics],
        },
    )
    text, receipt = release_job(TableJob(facts, run), account)
    rows = np.array(json.loads(text), dtype=np.int64).reshape(len(publics) + 1, -1)
    margin = int(noise.error(0.95)) + 1
    units = [*(task.units(public.answers) for public in publics), task.units(None)]
    return (
        [_scores_from_row(row, unit, margin, task) for row, unit in zip(rows, units, strict=True)],
        noise.event,
        receipt,
    )


def _scores_from_row(
    row: Numbers, units: Mapping[str, Fraction], margin: int, task: MetricTask
) -> dict[str, UtilityScore]:
    return {
        name: UtilityScore(max(0.0, float(int(value) * units[name])), float(margin * units[name]))
        for name, value in zip(task.metrics, row, strict=True)
    }


def sanity_rows(sanity: Real, rows: int) -> int:
    """The sanity bound in rows."""
    return max(2, floor(sanity_share(sanity) * rows))


def sanity_share(sanity: Real) -> Fraction:
    """The sanity bound as a share of all rows."""
    share = exact(sanity, name="sanity")
    if not 0 < share < 1:
        raise OutOfRange(
            f"sanity must lie between 0 and 1 and is {shown(share)}.",
            why="It is the share of rows below which a count's error is not relative to the count.",
            fix="Give a share such as 0.01.",
        )
    return share
