"""Pedersen commitments [Ped91]: perfectly hiding, binding as long as logarithms are hard.

>>> from hubbub.gopa import pedersen, ristretto
>>> three = pedersen.commit(3, 17)
>>> ristretto.plus(three, pedersen.commit(4, 5)) == pedersen.commit(7, 22)
True
>>> pedersen.is_opening(three, 4, 17)
False
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence

from hubbub.gopa.crypto.ristretto import H, base, coordinate_generator, plus, times_known, weighted_sum


def commit(value: int, blinder: int) -> bytes:
    """``value * G + blinder * H``, in constant time.

    Guarantee: the point says nothing about the value if the blinder is a uniform scalar that is used once.
    Because: [Ped91]: for each value exactly one blinder gives this point.
    Not covered: the time that Python's own integers take.
    """
    return plus(base(value), times_known(blinder, H))


def commit_vector(values: Sequence[int], blinder: int) -> bytes:
    """``sum of values[c] * coordinate(c) + blinder * H``, in constant time: many numbers in one point.

    Guarantee: as for `commit`.
    Because: [Ped91], with a generator for each coordinate.
    Not covered: the time that Python's own integers take; how many values there are is public.
    """
    return weighted_sum([blinder, *values], [H, *map(coordinate_generator, range(len(values)))])


def is_opening(point: bytes, value: int, blinder: int) -> bool:
    """Whether this is the opening of a commitment."""
    return hmac.compare_digest(point, commit(value, blinder))


def opens_vector(point: bytes, values: Sequence[int], blinder: int) -> bool:
    """Whether this is the opening of a vector commitment."""
    return hmac.compare_digest(point, commit_vector(values, blinder))
