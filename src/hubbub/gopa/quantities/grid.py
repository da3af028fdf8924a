"""From a party's own numbers to the whole steps that it proves."""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from fractions import Fraction

from hubbub.gopa.crypto.proof_shape import is_list_like
from hubbub.gopa.protocol.agreement import Agreement
from hubbub.terms import OutOfRange, WrongShape, exact, refuse_masked


def round_to_steps(agreement: Agreement, values: Sequence[object]) -> tuple[int, ...]:
    """Numbers of the quantity as steps: up or down by a fair coin's law, so that the mean stays what it was.

    In a ball they are rounded towards its middle instead, so that they stay inside. Exact: no floating point.
    """
    return tuple(
        _round_place(one, agreement.plan.steps, inward=agreement.quantity.ball)
        for one in _grid_places(agreement, values)
    )


def are_rounded_from(agreement: Agreement, values: Sequence[object], steps: Sequence[int]) -> bool:
    """Whether these steps can be what these numbers were rounded to."""
    places = _grid_places(agreement, values)
    return all(math.floor(one) <= step <= math.ceil(one) for one, step in zip(places, steps, strict=True))


def _grid_places(agreement: Agreement, values: Sequence[object]) -> list[Fraction]:
    """Where numbers lie on the grid, in steps and fractions of steps."""
    quantity = agreement.quantity
    refuse_masked(values)
    if not is_list_like(values) or len(values) != quantity.coordinates:
        raise WrongShape(
            f"the quantity has {quantity.coordinates} numbers, and another count was given.",
            why="Every party gives a number for each coordinate.",
            fix=f"Give {quantity.coordinates}.",
        )
    given = [exact(value, name="value") for value in values]
    if not all(quantity.lower <= value <= quantity.upper for value in given):
        raise OutOfRange(
            f"a value is not between {quantity.lower} and {quantity.upper}.",
            why="All parties agreed on this range, and each proves that its value is in it.",
            fix="Clamp the value to the range, if that is what you mean.",
        )
    width = quantity.upper - quantity.lower
    return [(value - quantity.lower) * agreement.plan.steps / width for value in given]


def _round_place(place: Fraction, steps: int, *, inward: bool) -> int:
    low = math.floor(place)
    rest = place - low
    if inward:
        return low + (rest > 0 and 2 * place < steps)
    return low + (secrets.randbelow(rest.denominator) < rest.numerator)
