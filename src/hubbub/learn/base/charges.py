"""Charged first: a run is reserved in a ledger before a value is read, and its model stored before anybody sees it.

A run with the same fingerprint that was answered returns the stored model, for free; one that died is run again under
its charge. What is stored has a size known beforehand: the weights, eight bytes each.
"""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from hubbub.learn.training.network import Floats
from hubbub.ledger import Account, Ledger, Pool, Request, Stored, fingerprint
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

_SECONDS = 3600.0  # the longest that a run may take


class Made(Protocol):
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


def account_of(account: Any, population: str | None) -> Account | None:
    """The account that ``account=`` (an Account, a Ledger or a Connection) and ``population=`` name."""
    if account is None:
        return None
    if population is None:
        return Account.of(account)
    if isinstance(account, Ledger):
        return Account(ledger=account, population=population)
    return replace(Account.of(account), population=population)


def pool_of(account: Account) -> Pool:
    """The pool for plans, if the owner set one aside; else the one for questions."""
    who = account.ledger.populations().get(account.population)  # if it is not there, the ledger will say so
    return Pool.PLANS if who is None or who.pools.get(Pool.PLANS) else Pool.QUESTIONS


def paid(
    account: Account | None, made: Made, run: Callable[[], Floats], *, estimator: str, dataset: str | None, title: str
) -> tuple[Floats, Receipt | None]:
    """What ``run`` gives, under the charge of a fit whose every decision is made; ``estimator`` is its stored name."""
    request = None
    if account is not None:
        request = request_for(
            account,
            made.run,
            delta=made.guarantee.holds.delta,  # type: ignore[attr-defined]
            size=made.size,
            dataset=dataset,
            job="fit",
            parts={"estimator": estimator, "plan": dict(made.parts)},
            title=title,
        )
    return charged(account, request, run)


def request_for(
    account: Account,
    run: Repeat,
    *,
    delta: Fraction,
    size: int,
    dataset: str | None,
    job: str,
    parts: Mapping[str, object],
    title: str,
) -> Request:
    """What a training run asks of the ledger. Without a dataset's name no two runs are the same.

    ``job`` and ``parts`` are JSON that tells it from all others; the title is for people, and may change.
    """
    pool = pool_of(account)
    if pool is Pool.QUESTIONS and _is_plan(run.event):
        raise MissingParameter(
            f"population {account.population!r} has no budget for plans, and this training is one.",
            why="Questions are counted in zCDP, which has no cost for sampled noise; full batches have one.",
            fix='Write sampling="full", or let the owner open the population with plans=Budget(...).',
        )
    named = {"dataset": dataset} if dataset is not None else {"once": secrets.token_hex(16)}
    return Request(
        event=run,
        fingerprint=fingerprint(kind="learn", job=job, event=to_json(run), parts=dict(parts), **named),
        population=account.population,
        project=account.project,
        analyst=account.analyst,
        pool=pool,
        size=len(_written(np.zeros(size))),
        delta=delta if pool is Pool.PLANS else Fraction(0),
        patience=_SECONDS,
        title=title,
    )


def _is_plan(event: Event) -> bool:
    """Whether zCDP has no cost for an event: something in it is sampled, or known by epsilon and delta alone."""
    if isinstance(event, Poisson | WithoutReplacement | ApproximateStep):
        return True
    inner = (
        event.events if isinstance(event, Compose | Parallel) else (event.event,) if isinstance(event, Repeat) else ()
    )
    return any(map(_is_plan, inner))


def charged(
    account: Account | None, request: Request | None, run: Callable[[], Floats]
) -> tuple[Floats, Receipt | None]:
    """The weights that ``run`` gives, charged before it and stored after it; or those that are stored already.

    Guarantee: nothing is read before the charge is durable, and nothing is shown that the book does not hold.
    Because: ``docs/proofs/ledger.md``, with the filters of [WRRW23, Thm. 1] and [RRUV16, Thm. 3.6].
    """
    if account is None or request is None:
        return _quietly(run), None
    held = account.ledger.reserve(request)
    if not isinstance(held, Stored):
        held = account.ledger.store(held, _written(_quietly(run)))
    return _read(held.answer), held.receipt


def _quietly(run: Callable[[], Floats]) -> Floats:
    """What ``run`` gives, without a word about overflows and the like: whether there are any depends on values."""
    with np.errstate(all="ignore"):
        return run()


def _written(weights: Floats) -> str:
    return json.dumps({"kind": "weights", "float64": base64.b64encode(weights.astype("<f8").tobytes()).decode()})


def _read(answer: str) -> Floats:
    return np.frombuffer(base64.b64decode(json.loads(answer)["float64"]), dtype="<f8").astype(np.float64)
