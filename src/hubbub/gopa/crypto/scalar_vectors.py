"""Lists of scalars modulo the order of the group: inner products, powers, and their sum."""

from __future__ import annotations

from collections.abc import Sequence

from hubbub.gopa.crypto.ristretto import ORDER


def dot(left: Sequence[int], right: Sequence[int]) -> int:
    """The inner product modulo ORDER."""
    return sum(map(int.__mul__, left, right)) % ORDER


def powers(start: int, ratio: int, count: int) -> list[int]:
    """``start, start*ratio, start*ratio^2, ...``"""
    sequence = [start]
    while len(sequence) < count:
        sequence += [value * ratio % ORDER for value in sequence]
        ratio = ratio * ratio % ORDER
    return sequence[:count]


def geometric_sum(ratio: int, size: int) -> int:
    """``1 + ratio + ratio^2 + ...``, ``size`` terms, a power of two: the product of ``1 + ratio^(2^k)``."""
    product = 1
    for _ in range(size.bit_length() - 1):
        product = product * (1 + ratio) % ORDER
        ratio = ratio * ratio % ORDER
    return product
