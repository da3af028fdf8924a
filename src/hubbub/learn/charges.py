"""Charged first: a run is reserved in a ledger before a value is read, and its model stored before anybody sees it.

A run with the same fingerprint that was answered returns the stored model, for free; one that died is run again under
its charge. What is stored has a size known beforehand: the weights, eight bytes each.
"""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from hubbub.learn.network import Floats
from hubbub.ledger import Ledger, Pool, Request, Stored, fingerprint
from hubbub.terms import MissingParameter, NotANumber, Poisson, Receipt, Repeat, to_json

_SECONDS = 3600.0  # the longest that a run may take


@dataclass(frozen=True, slots=True)
class Account:
    """Whose budget pays: a ledger, the population, and on whose behalf."""

    ledger: Ledger
    population: str
    project: str = "default"
    analyst: str = "owner"

    @property
    def pool(self) -> Pool:
        """The pool for plans, if the owner set one aside; else the one for questions."""
        who = self.ledger.populations().get(self.population)  # if it is not there, the ledger will say so
        return Pool.PLANS if who is None or who.pools.get(Pool.PLANS) else Pool.QUESTIONS


def account_of(account: Any, population: str | None) -> Account | None:
    """The account that ``account=`` (a Ledger or a Connection) and ``population=`` name."""
    if account is None:
        return None
    if isinstance(account, Ledger):
        return Account(account, population or _only(account))
    if isinstance(getattr(account, "ledger", None), Ledger):
        return Account(account.ledger, population or account.dataset.population, account.project, account.analyst)
    raise NotANumber(
        f"account= must be a Ledger or a Connection and is a {type(account).__name__}.",
        why="A charge needs a book to stand in.",
        fix='Write account=hubbub.ledger.Ledger("ledger.db"), or leave it out.',
    )


def _only(ledger: Ledger) -> str:
    names = list(ledger.populations())
    if len(names) == 1:
        return names[0]
    raise MissingParameter(
        f"the ledger has {len(names)} populations, and which one X is about was not said.",
        why="A budget belongs to people.",
        fix='Write population="...".',
    )


def request_for(
    account: Account,
    run: Repeat,
    *,
    delta: Fraction,
    size: int,
    dataset: str | None,
    parts: Mapping[str, object],
    title: str,
) -> Request:
    """What a training run asks of the ledger. Without a dataset's name no two runs are the same."""
    pool = account.pool
    if pool is Pool.QUESTIONS and isinstance(run.event, Poisson):
        raise MissingParameter(
            f"population {account.population!r} has no budget for plans, and sampled training is one.",
            why="Questions are counted in zCDP, which has no cost for sampled noise; full batches have one.",
            fix='Write sampling="full", or let the owner open the population with plans=Budget(...).',
        )
    named = {"dataset": dataset} if dataset is not None else {"once": secrets.token_hex(16)}
    return Request(
        event=run,
        fingerprint=fingerprint(kind="learn", title=title, event=to_json(run), **named, **parts),
        population=account.population,
        project=account.project,
        analyst=account.analyst,
        pool=pool,
        size=len(_written(np.zeros(size))),
        delta=delta if pool is Pool.PLANS else Fraction(0),
        patience=_SECONDS,
        title=title,
    )


def charged(
    account: Account | None, request: Request | None, run: Callable[[], Floats]
) -> tuple[Floats, Receipt | None]:
    """The weights that ``run`` gives, charged before it and stored after it; or those that are stored already.

    Guarantee: nothing is read before the charge is durable, and nothing is shown that the book does not hold.
    Because: ``docs/proofs/ledger.md``, with the filters of [WRRW23, Thm. 1] and [RRUV16, Thm. 3.6].
    """
    if account is None or request is None:
        return run(), None
    held = account.ledger.reserve(request)
    if not isinstance(held, Stored):
        held = account.ledger.store(held, _written(run()))
    return _read(held.answer), held.receipt


def _written(weights: Floats) -> str:
    return json.dumps({"kind": "weights", "float64": base64.b64encode(weights.astype("<f8").tobytes()).decode()})


def _read(answer: str) -> Floats:
    return np.frombuffer(base64.b64decode(json.loads(answer)["float64"]), dtype="<f8").astype(np.float64)
