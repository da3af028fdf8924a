"""Fits as jobs: planned from types and shapes, charged before a value is read, stored before anybody sees a model.

A run with the same fingerprint that was answered returns the stored model, for free; one that died is run again under
its charge. What is stored has a size known beforehand: the weights, eight bytes each.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

import numpy as np

from hubbub.learn.training.network import Floats
from hubbub.ledger import Account, AccountLike, Ledger, Pool
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


class FitPlan(Protocol):
    """Everything about a fit that is decided before a value is read."""

    @property
    def run(self) -> Repeat:
        """What will be done."""

    @property
    def size(self) -> int:
        """How many numbers are stored."""

    @property
    def parts(self) -> Mapping[str, object]:
        """What, beside the event, makes two fits the same."""

    @property
    def guarantee(self) -> Guarantee:
        """What is promised."""


def account_of(account: AccountLike | None, population: str | None) -> Account | None:
    """The account that ``account=`` (an Account, a Ledger or a Connection) and ``population=`` name."""
    if account is None:
        return None
    if population is None:
        return Account.of(account)
    if isinstance(account, Ledger):
        return Account(ledger=account, population=population)
    return replace(Account.of(account), population=population)


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
        return _written(_quietly(self.train))

    def show(self, answer: str, receipt: Receipt | None, *, repeated: bool) -> tuple[Floats, Receipt | None]:
        """What was learnt, and the receipt."""
        return _read(answer), receipt


def release_fit(job: FitJob, account: Account | None) -> tuple[Floats, Receipt | None]:
    """What a fit learns, through the one door; a plan that only questions could pay for is refused first."""
    if account is not None and _is_plan(job.facts.event) and plan_pool(account) is Pool.QUESTIONS:
        raise MissingParameter(
            f"population {account.population!r} has no budget for plans, and this training is one.",
            why="Questions are counted in zCDP, which has no cost for sampled noise; full batches have one.",
            fix='Write sampling="full", or let the owner open the population with plans=Budget(...).',
        )
    return release_job(job, account)


def planned_fit(
    made: FitPlan, train: Callable[[], Floats], *, estimator: str, dataset: str | None, title: str
) -> FitJob:
    """The job of an estimator's fit; ``estimator`` is its stored name."""
    facts = fit_facts(
        made.run,
        delta=made.guarantee.holds.delta,  # type: ignore[attr-defined]
        size=made.size,
        dataset=dataset,
        job="fit",
        parts={"estimator": estimator, "plan": dict(made.parts)},
        title=title,
        guarantee=made.guarantee,
    )
    return FitJob(facts, train)


def fit_facts(
    run: Repeat,
    *,
    delta: Fraction,
    size: int,
    dataset: str | None,
    job: str,
    parts: Mapping[str, object],
    title: str,
    guarantee: Guarantee | None = None,
) -> JobFacts:
    """The facts of a training run. Without a dataset's name no two runs are the same.

    ``job`` and ``parts`` are JSON that tells it from all others; the title is for people, and may change.
    """
    identity = {"kind": "learn", "job": job, "event": to_json(run), "parts": dict(parts), "dataset": dataset}
    return JobFacts(
        event=run,
        identity=None if dataset is None else identity,
        size=len(_written(np.zeros(size))),
        title=title,
        fixed_in_advance=True,
        delta=delta,
        guarantee=guarantee,
    )


def _is_plan(event: Event) -> bool:
    """Whether zCDP has no cost for an event: something in it is sampled, or known by epsilon and delta alone."""
    if isinstance(event, Poisson | WithoutReplacement | ApproximateStep):
        return True
    inner = (
        event.events if isinstance(event, Compose | Parallel) else (event.event,) if isinstance(event, Repeat) else ()
    )
    return any(map(_is_plan, inner))


def _quietly(run: Callable[[], Floats]) -> Floats:
    """What ``run`` gives, without a word about overflows and the like: whether there are any depends on values."""
    with np.errstate(all="ignore"):
        return run()


def _written(weights: Floats) -> str:
    return json.dumps({"kind": "weights", "float64": base64.b64encode(weights.astype("<f8").tobytes()).decode()})


def _read(answer: str) -> Floats:
    return np.frombuffer(base64.b64decode(json.loads(answer)["float64"]), dtype="<f8").astype(np.float64)
