"""Amounts as entries say them: plain decimals that are read back exactly."""

from __future__ import annotations

from hubbub.accounting import DELTA_UNIT, LOSS_UNIT, Amount

_PLACES = {LOSS_UNIT: 24, DELTA_UNIT: 40}


def amount_decimals(amount: Amount) -> tuple[str, str]:
    """(loss, delta) as plain decimals.

    >>> amount_decimals(Amount(8 * 10**22, 10**34))
    ('0.08', '0.000001')
    """
    return _decimal_text(amount.loss, LOSS_UNIT), _decimal_text(amount.delta, DELTA_UNIT)


def amount_of(loss: str, delta: str) -> Amount:
    """The amount that two plain decimals say.

    >>> amount_of("0.08", "0.000001") == Amount(8 * 10**22, 10**34)
    True
    """
    return Amount(_count_units(loss, LOSS_UNIT), _count_units(delta, DELTA_UNIT))


def _decimal_text(count: int, unit: int) -> str:
    whole, part = divmod(count, unit)
    return f"{whole}.{part:0{_PLACES[unit]}d}".rstrip("0") if part else str(whole)


def _count_units(text: str, unit: int) -> int:
    whole, _, part = text.partition(".")
    return int(whole) * unit + (int(part.ljust(_PLACES[unit], "0")) if part else 0)
