"""Fits as jobs: planned from types and shapes, charged before a value is read, stored before anybody sees a model.

A run with the same fingerprint that was answered returns the stored model, for free; one that died is run again under
its charge. What is stored has a size known beforehand: the weights, eight bytes each.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hubbub.learn.base.fit_plan import FitPlan
from hubbub.learn.training.network import Floats
from hubbub.ledger import Account, Pool
from hubbub.releases import JobFacts, Progress, plan_pool, release_job
from hubbub.terms import (
    ApproximateStep,
    Compose,
    Event,
    Guarantee,
    MissingParameter,
    Parallel,
    Poisson,
    Receipt,
    Repeat,
    WithoutReplacement,
    to_json,
)


@dataclass(frozen=True)
class FitJob:
    """A fit whose every decision is made; ``train`` reads the rows, and gives numbers of a known count."""

    facts: JobFacts
    train: Callable[[], Floats]

    def bind(self) -> None:
        """Nothing to try: X and y were looked at by their types and shapes when the fit was planned."""

    def run(self, progress: Progress) -> str:
        """Train, and write what was learnt."""
        progress("reading")
        with np.errstate(all="ignore"):  # whether something overflows depends on values
            return write_numbers(self.train())

    def show(self, answer: str, receipt: Receipt | None, *, repeated: bool) -> tuple[Floats, Receipt | None]:
        """What was learnt, and the receipt."""
        return read_numbers(answer), receipt


def release_fit(job: FitJob, account: Account | None) -> tuple[Floats, Receipt | None]:
    """What a fit learns, through the one door; a plan that only questions could pay for is refused first."""
    if account is not None and needs_plan_budget(job.facts.event) and plan_pool(account) is Pool.QUESTIONS:
        raise MissingParameter(
            f"population {account.population!r} has no budget for plans, and this training is one.",
            why="Questions are counted in zCDP, which has no cost for sampled noise; full batches have one.",
            fix='Write sampling="full", or let the owner open the population with plans=Budget(...).',
        )
    return release_job(job, account)


def fit_job(
    plan: FitPlan,
    train: Callable[[], Floats],
    *,
    delta: Fraction,
    job: str,
    estimator: str,
    dataset: str | None,
    title: str,
) -> FitJob:
    """The job of an estimator's fit at a price with this delta; ``job`` and ``estimator`` are stored names."""
    identity = {"estimator": estimator, "plan": dict(plan.identity)} if job == "fit" else plan.identity
    facts = job_facts(
        plan.event,
        delta=delta,
        size=plan.size,
        dataset=dataset,
        job=job,
        identity=identity,
        title=title,
        guarantee=plan.guarantee,
    )
    return FitJob(facts, train)


def job_facts(
    event: Repeat,
    *,
    delta: Fraction,
    size: int,
    dataset: str | None,
    job: str,
    identity: Mapping[str, object],
    title: str,
    guarantee: Guarantee | None = None,
) -> JobFacts:
    """The facts of a training run. Without a dataset's name no two runs are the same.

    ``job`` and ``identity`` are JSON that tells it from all others; the title is for people, and may change.
    """
    stored = {"kind": "learn", "job": job, "event": to_json(event), "parts": dict(identity), "dataset": dataset}
    return JobFacts(
        event=event,
        identity=None if dataset is None else stored,
        size=len(write_numbers(np.zeros(size))),
        title=title,
        fixed_in_advance=True,
        delta=delta,
        guarantee=guarantee,
    )


def needs_plan_budget(event: Event) -> bool:
    """Whether zCDP has no cost for an event: something in it is sampled, or known by epsilon and delta alone."""
    if isinstance(event, Poisson | WithoutReplacement | ApproximateStep):
        return True
    inner = (
        event.events if isinstance(event, Compose | Parallel) else (event.event,) if isinstance(event, Repeat) else ()
    )
    return any(map(needs_plan_budget, inner))


def write_numbers(numbers: Floats) -> str:
    """Released numbers as they are stored."""
    return json.dumps({"kind": "weights", "float64": base64.b64encode(numbers.astype("<f8").tobytes()).decode()})


def read_numbers(answer: str) -> Floats:
    """Released numbers from what was stored."""
    return np.frombuffer(base64.b64decode(json.loads(answer)["float64"]), dtype="<f8").astype(np.float64)
