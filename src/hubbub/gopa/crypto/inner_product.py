"""The inner-product argument of Bulletproofs [BBB18, Sec. 3]: two vectors of length n in 2 log2 n points.

Given ``P = <a, gv> + <b, factor^-i hv> + <a, b> w U``, the prover shows that it knows ``a`` and ``b``. The vectors
are not hidden: whoever calls this has masked them before, so variable time is all right here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hubbub.gopa.crypto.multi_scalar import Basis
from hubbub.gopa.crypto.point_equations import Equation
from hubbub.gopa.crypto.ristretto import IDENTITY, ORDER, decode_scalar, encode_scalar
from hubbub.gopa.crypto.scalar_vectors import dot, powers
from hubbub.gopa.crypto.transcript import Transcript


def halving_rounds(size: int) -> int:
    """How often a vector of this length (a power of two) is halved."""
    return size.bit_length() - 1


def argument_length(size: int) -> int:
    """Bytes of the argument."""
    return 64 * halving_rounds(size) + 64


def prove(transcript: Transcript, a: list[int], b: list[int], factor: int, generators: Basis) -> bytes:
    """The argument, as bytes: each round's two points, then the two numbers that are left.

    ``generators`` are as many as ``a`` has numbers, as many as ``b`` has, then G, H, U.
    """
    size, w = len(a), transcript.challenge("inner")
    on_left, on_right = [1] * size, powers(1, pow(factor, -1, ORDER), size)
    argument: list[bytes] = []
    while len(a) > 1:
        half = len(a) // 2
        low_a, high_a, low_b, high_b = a[:half], a[half:], b[:half], b[half:]
        first = [*_on_high_half(on_left, low_a), *_on_low_half(on_right, high_b), 0, 0, dot(low_a, high_b) * w]
        second = [*_on_low_half(on_left, high_a), *_on_high_half(on_right, low_b), 0, 0, dot(high_a, low_b) * w]
        pair = generators.combine(first), generators.combine(second)
        argument += pair
        u = transcript.append("halves", *pair).challenge("half")
        inverse = pow(u, -1, ORDER)
        a = [(u * low + inverse * high) % ORDER for low, high in zip(low_a, high_a, strict=True)]
        b = [(inverse * low + u * high) % ORDER for low, high in zip(low_b, high_b, strict=True)]
        on_left, on_right = _fold_weights(on_left, half, inverse, u), _fold_weights(on_right, half, u, inverse)
    return b"".join([*argument, encode_scalar(a[0]), encode_scalar(b[0])])


def _on_low_half(weights: Sequence[int], values: Sequence[int]) -> list[int]:
    """Scalars on the original generators for ``values`` on the low halves of the folded ones."""
    half, zeros = len(values), [0] * len(values)
    scalars: list[int] = []
    for start in range(0, len(weights), 2 * half):
        scalars += [w * v % ORDER for w, v in zip(weights[start : start + half], values, strict=True)]
        scalars += zeros
    return scalars


def _on_high_half(weights: Sequence[int], values: Sequence[int]) -> list[int]:
    half, zeros = len(values), [0] * len(values)
    scalars: list[int] = []
    for start in range(half, len(weights), 2 * half):
        scalars += zeros
        scalars += [w * v % ORDER for w, v in zip(weights[start : start + half], values, strict=True)]
    return scalars


def _fold_weights(weights: Sequence[int], half: int, low: int, high: int) -> list[int]:
    """The original generators' share in the folded ones after a round."""
    factors = ([low] * half + [high] * half) * (len(weights) // (2 * half))
    return [w * factor % ORDER for w, factor in zip(weights, factors, strict=True)]


@dataclass(frozen=True)
class Argument:
    """A parsed argument."""

    points: tuple[bytes, ...]
    a: int
    b: int

    @classmethod
    def parsed(cls, data: bytes) -> Argument | None:
        """The argument, or None if the bytes are none; whether the points are points is seen later."""
        points = tuple(data[i : i + 32] for i in range(0, len(data) - 64, 32))
        a, b = decode_scalar(data[-64:-32]), decode_scalar(data[-32:])
        return None if a is None or b is None or IDENTITY in points else cls(points, a, b)

    def equation(self, transcript: Transcript, size: int, factor: int, weight: int) -> tuple[Equation, int, int]:
        """``weight * (sum of halves - what a and b give)``, w and 1/factor; the caller adds ``weight * P``."""
        w = transcript.challenge("inner")
        challenges = [self._challenge(transcript, k) for k in range(halving_rounds(size))]
        inverses = invert_all([*challenges, factor])
        per_place = inverses.pop()
        left, right = weight * self.a, weight * self.b
        for u, inverse in zip(challenges, inverses, strict=True):
            left, right = left * inverse % ORDER, right * u % ORDER
        squares = [u * u % ORDER for u in challenges]
        unsquares = [v * v % ORDER for v in inverses]
        steps = [v * power % ORDER for v, power in zip(reversed(unsquares), _repeated_squares(per_place), strict=False)]
        equation = Equation(
            on_u=-weight * self.a % ORDER * self.b % ORDER * w,
            left=_subset_products(-left, squares[::-1]),
            right=_subset_products(-right, steps),
            scalars=[weight * s for pair in zip(squares, unsquares, strict=True) for s in pair],
            points=self.points,
        )
        return equation, w, per_place

    def _challenge(self, transcript: Transcript, k: int) -> int:
        return transcript.append("halves", *self.points[2 * k : 2 * k + 2]).challenge("half")


def _repeated_squares(value: int) -> Iterator[int]:
    """value, value^2, value^4, ..."""
    while True:
        yield value
        value = value * value % ORDER


def _subset_products(start: int, steps: Sequence[int]) -> list[int]:
    """``start`` times the product of the steps at the set bits of i, for each i."""
    products = [start % ORDER]
    for step in steps:
        products += [value * step % ORDER for value in products]
    return products


def invert_all(values: Sequence[int]) -> list[int]:
    """All inverses at the price of one."""
    before, product = [], 1
    for value in values:
        before.append(product)
        product = product * value % ORDER
    inverse, inverses = pow(product, -1, ORDER), []
    for value, earlier in zip(reversed(values), reversed(before), strict=True):
        inverses.append(inverse * earlier % ORDER)
        inverse = inverse * value % ORDER
    return inverses[::-1]
