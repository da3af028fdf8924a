"""Sums of many multiples of points, for PUBLIC data only: the time depends on the scalars.

A verifier's sums go to C code that was compiled with the package, if it could be; else to libsodium. The environment
variable ``HUBBUB_GOPA_ACCELERATOR=off`` keeps to libsodium, and ``accelerator()`` says what is used.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence

from hubbub.gopa.crypto.accelerator import native
from hubbub.gopa.crypto.ristretto import IDENTITY, ORDER, no_point, plus, require_point, times_known


class Basis:
    """Points that are used again and again, such as generators: decoded once."""

    def __init__(self, points: Sequence[bytes]) -> None:
        self.points = [require_point(point) for point in points]
        self._loaded: int | None = None
        if library := native():
            self._loaded = library.load(self.points)
            if self._loaded is None:
                raise MemoryError
            weakref.finalize(self, library.free, self._loaded)

    def combine(self, weights: Sequence[int], scalars: Sequence[int] = (), points: Sequence[bytes] = ()) -> bytes:
        """``sum weights[i] * basis[i] + sum scalars[i] * points[i]``; raises if one of ``points`` is none."""
        if len(weights) != len(self.points) or len(scalars) != len(points):
            raise ValueError("a scalar for each point")
        if self._loaded is None or (library := native()) is None:
            return _combine_by_sodium([*weights, *scalars], [*self.points, *map(require_point, points)])
        result = library.combine(self._loaded, weights, scalars, points)
        if result is None:
            raise no_point()
        return result


def combine(scalars: Sequence[int], points: Sequence[bytes]) -> bytes:
    """``sum scalars[i] * points[i]``; raises if one of them is no point. Public data only: variable time."""
    if len(scalars) != len(points):
        raise ValueError("a scalar for each point")
    if (library := native()) is None:
        return _combine_by_sodium(scalars, [*map(require_point, points)])
    result = library.combine(None, (), scalars, points)
    if result is None:
        raise no_point()
    return result


def _combine_by_sodium(scalars: Sequence[int], points: Sequence[bytes]) -> bytes:
    """The same sum by libsodium, for points that were checked."""
    result = IDENTITY
    for scalar, point in zip(scalars, points, strict=True):
        if scalar % ORDER:
            result = plus(result, point if scalar == 1 else times_known(scalar, point))
    return result


def accelerator() -> str | None:
    """What does the work faster than libsodium, if anything."""
    library = native()
    return library.name if library else None
