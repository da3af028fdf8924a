"""What people type, read exactly: numbers, budgets, dates."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from hubbub.ledger import BudgetWindow
    from hubbub.terms import Budget

_DIGITS = 300  # before or after the decimal point


def parse_number(text: str, name: str) -> Decimal:
    """The decimal that was typed, exactly."""
    from hubbub.terms import NotANumber, TooLarge

    try:
        decimal = Decimal(text)
    except InvalidOperation:
        raise NotANumber(
            f"{name} must be a number and is '{text}'.",
            why="Numbers are read exactly as they are typed.",
            fix="Write it with a decimal point: 0.5, 3, 1e-6.",
        ) from None
    if abs(decimal.adjusted()) > _DIGITS:
        raise TooLarge(
            f"{name} has too many digits.",
            why="Numbers are kept exactly, with all their digits.",
            fix=f"Give a number between 1e-{_DIGITS} and 1e{_DIGITS}.",
        )
    return decimal


def parse_share(text: str, name: str) -> Fraction:
    """A share as it was typed: 0.1 or 1/10.

    >>> parse_share("1/3", "share")
    Fraction(1, 3)
    """
    top, slash, bottom = text.partition("/")
    share = Fraction(parse_number(top, name))
    if not slash:
        return share
    parts = parse_number(bottom, name)
    if not parts:
        raise typer.BadParameter("a share is 0.1 or 1/10, and nothing is divided by 0.", param_hint=f"--{name}")
    return share / Fraction(parts)


def maybe_budget(epsilon: str | None, delta: str | None, rho: str | None) -> Budget | None:
    """The budget of ``--epsilon`` and ``--delta``, or of ``--rho``; None if nothing was said."""
    from hubbub.terms import Budget

    if epsilon is None and rho is None and delta is None:
        return None
    if (epsilon is None) == (rho is None):
        raise typer.BadParameter("say how much: --epsilon (with --delta, unless it is pure) or --rho.")
    slack = parse_number(delta or "0", "delta")
    if rho is not None:
        return Budget(rho=parse_number(rho, "rho"), delta=slack)  # type: ignore[arg-type]  # read exactly by Budget
    return Budget(parse_number(str(epsilon), "epsilon"), slack)  # type: ignore[arg-type]


def build_budget(epsilon: str | None, delta: str | None, rho: str | None) -> Budget:
    """The same where a budget is needed."""
    budget = maybe_budget(epsilon, delta, rho)
    if budget is None:
        raise typer.BadParameter("say how much: --epsilon (with --delta, unless it is pure) or --rho.")
    return budget


def parse_part(text: str | None, of: Budget) -> Budget | None:
    """``AMOUNT`` or ``AMOUNT,DELTA``: a budget counted as another one is, in epsilon or in rho."""
    if text is None:
        return None
    amount, _, delta = text.partition(",")
    epsilon, rho = (None, amount) if of.rho is not None else (amount, None)
    return build_budget(epsilon, delta or None, rho)


def parse_window(text: str | None, of: Budget) -> BudgetWindow | None:
    """``EVERY=AMOUNT,DELTA``, such as ``month=0.5,1e-7``."""
    from hubbub.ledger import BudgetWindow

    if text is None:
        return None
    every, separator, amount = text.partition("=")
    limit = parse_part(amount or None, of)
    if not separator or limit is None:
        raise typer.BadParameter(f"'{text}' is not EVERY=AMOUNT, such as month=0.5,1e-7.", param_hint="--window")
    return BudgetWindow(limit, every)


def parse_moment(text: str, *, name: str) -> int:
    """A date or time (UTC unless it says otherwise) in microseconds since 1970."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"'{text}' is not a date such as 2025-12-31.", param_hint=name) from None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - datetime.fromtimestamp(0, UTC)) // timedelta(microseconds=1)
