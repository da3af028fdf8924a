"""Charged first: the event stands in the ledger before a row is read, and what was measured before anybody sees it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from hubbub.ledger import Account, Pool, fingerprint
from hubbub.publish.cells import kind_of
from hubbub.publish.domains import column_identity
from hubbub.terms import Event, Receipt, to_json

_SECONDS = 3600.0  # the longest that a run may take


def charged(
    account: object,
    event: Event,
    run: Callable[[], str],
    *,
    size: int,
    delta: Fraction,
    job: str,
    title: str,
    dataset: str | None,
    parts: Mapping[str, Any],
) -> tuple[str, Receipt | None]:
    """What ``run`` gives, charged before and stored after it; or what is stored already, for free.

    Without a ``dataset`` name no two runs are the same: each is charged. ``job`` and ``parts`` say as JSON everything
    else that was asked: two requests that differ in it get different answers, and whatever changes what a stored number
    means is in it. The ``title`` is for people, and may change.

    Guarantee: nothing is read before the charge is durable, and nothing is shown that the book does not hold.
    Because: ``docs/proofs/ledger.md``, with the filters of [WRRW23, Thm. 1] and [RRUV16, Thm. 3.6].
    """
    if account is None:
        return run(), None
    who = Account.of(account)
    named = {"dataset": dataset} if dataset is not None else {"once": secrets.token_hex(16)}
    told = {"event": to_json(event), "job": job, "parts": dict(parts), **named}
    pool = _pool(who)
    stored = who.ask(
        event,
        lambda held: run(),
        fingerprint=fingerprint(kind="publish", **told),
        pool=pool,
        size=size,
        delta=delta if pool is Pool.PLANS else Fraction(0),
        patience=_SECONDS,
        title=title,
    )
    return stored.answer, stored.receipt


def columns_told(domain: Mapping[str, object]) -> list[list[Any]]:
    """Columns for ``parts``: name, declared type and domain of each, in their order. Stored tables know columns by
    their place, and cells by their number, which all three decide."""
    return [[name, kind_of(column), column_identity(column)] for name, column in domain.items()]


def _pool(account: Account) -> Pool:
    """The pool for plans, if the owner set one aside; else the one for questions."""
    who = account.ledger.populations().get(account.population)  # if it is not there, the ledger will say so
    return Pool.PLANS if who is None or who.pools.get(Pool.PLANS) else Pool.QUESTIONS
