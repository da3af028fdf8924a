"""Amounts as entries say them: plain decimals that are read back exactly; "inf" where an account knows no cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hubbub.accounting import DELTA_UNIT, LOSS_UNIT, UNKNOWN, Amount, Currency

_PLACES = {LOSS_UNIT: 24, DELTA_UNIT: 40}
_INFINITE = "inf"


def amount_decimals(amount: Amount) -> tuple[str, str]:
    """(loss, delta) as plain decimals.

    >>> amount_decimals(Amount(8 * 10**22, 10**34))
    ('0.08', '0.000001')
    """
    return _decimal_text(amount.loss, LOSS_UNIT), _decimal_text(amount.delta, DELTA_UNIT)


def basic_decimals(amount: Amount) -> tuple[str, str]:
    """(epsilon, tail) of the basic account as plain decimals.

    >>> basic_decimals(Amount(epsilon=UNKNOWN, tail=10**33))
    ('inf', '0.0000001')
    """
    return _decimal_text(amount.epsilon, LOSS_UNIT), _decimal_text(amount.tail, DELTA_UNIT)


def amount_of(loss: str, delta: str, epsilon: str = "0", tail: str = "0") -> Amount:
    """The amount that plain decimals say.

    >>> amount_of("0.08", "0.000001") == Amount(8 * 10**22, 10**34)
    True
    """
    return Amount(
        _count_units(loss, LOSS_UNIT),
        _count_units(delta, DELTA_UNIT),
        _count_units(epsilon, LOSS_UNIT),
        _count_units(tail, DELTA_UNIT),
    )


# ---------------------------------------------------------------- what an entry says of a charge, or of a restore


def read_charge(fields: Mapping[str, Any], population: str, currency: Currency) -> tuple[Amount, Amount]:
    """(cost, total after it) of a charge to a population, in the currency of the pool.

    Version 0.1 counted (epsilon, delta) budgets in rho alone: the cost of its charges in the basic account is not known
    here (whoever replays the book works it out from the event), and nothing is said of that total.
    """
    charged: list[str] = fields["charged"][population]
    cost = _INFINITE if currency is Currency.EITHER else "0"
    basic: list[str] = fields["basic"][population] if counts_both_ways(fields, population) else [cost, "0", "0", "0"]
    return amount_of(*charged[:2], *basic[:2]), amount_of(*charged[2:], *basic[2:])


def counts_both_ways(fields: Mapping[str, Any], population: str) -> bool:
    """Whether a charge says what it costs in the basic account too."""
    return population in fields.get("basic", ())


def read_restored(fields: Mapping[str, Any], which: str) -> dict[str, Amount]:
    """What a restore counted as spent, by account; version 0.1 did not know the basic account's part of it."""
    basic: Mapping[str, list[str]] = fields.get(f"{which}_basic", {})
    return {key: amount_of(*amounts, *basic.get(key, [_INFINITE, "0"])) for key, amounts in fields[which].items()}


def _decimal_text(count: int, unit: int) -> str:
    if count >= UNKNOWN:
        return _INFINITE
    whole, part = divmod(count, unit)
    return f"{whole}.{part:0{_PLACES[unit]}d}".rstrip("0") if part else str(whole)


def _count_units(text: str, unit: int) -> int:
    if text == _INFINITE:
        return UNKNOWN
    whole, _, part = text.partition(".")
    return int(whole) * unit + (int(part.ljust(_PLACES[unit], "0")) if part else 0)
