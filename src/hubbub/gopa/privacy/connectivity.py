"""How often the random picks fail the honest: somebody's secrets can be opened, or a few are cut off from the others.

Each honest party picks k others, uniformly and independently of everybody; corrupted parties may pick whom they like.
All chances are upper bounds: full union bounds over sets, with the exact chance of each set, rounded up.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_UP = 1 + 1e-6  # the logarithms of factorials below are good to about 1e-8
_SINGLE = 64  # sizes of sets that are summed one by one; larger ones in blocks
_BLOCK = 1.02


@lru_cache(maxsize=4096)
def cut_off(joined: int, k: int, corrupted: int, threshold: int) -> float:
    """At least the chance that an adversary can cut some honest parties off, whomever it lets drop out afterwards.

    Cut off is a set of at most half of the honest if each of its members has ``threshold`` or more of its own picks in
    the set or among the corrupted. For a single party: so many corrupted ones pool their shares of its secrets.

    Guarantee: unless that happens, whatever honest parties are left in the end are one piece, as long as no secret of a
    party is opened without ``threshold`` of its own picks, those being left or corrupted.
    Because: the union bound over all sets; the picks of different parties are independent, and how many of k picks fall
    into a given set is hypergeometric: docs/proofs/gopa.md, with the protocol's checks, which are those of [BBGLR20].

    >>> cut_off(1000, 100, 500, 83) < 1e-7 < cut_off(1000, 100, 500, 78)
    True
    """
    others, honest = joined - 1, joined - corrupted
    if k >= others:
        return float(corrupted >= threshold)
    first, last = _size_blocks(honest // 2)
    inside = _at_least(others, corrupted + last - 1, k, threshold)
    with np.errstate(invalid="ignore"):  # in a block, the chance of the last size and the power of the first
        logs = _log_choose(honest, last) + np.where(inside > -np.inf, first * inside, -np.inf)
    return _sum_chances(logs + np.log(last - first + 1))


@lru_cache(maxsize=4096)
def disconnection_chance(parties: int, k: int, honest: int) -> float:
    """At least the chance that ``honest`` parties, fixed beforehand, fall into pieces by the edges between them.

    >>> disconnection_chance(1000, 30, 450) < 1e-9 < disconnection_chance(1000, 12, 450)
    True
    """
    others = parties - 1
    if honest <= 1 or k >= others:
        return 0.0
    sizes = np.arange(1, honest // 2 + 1, dtype=np.float64)  # of the smaller side
    rest = honest - sizes
    apart = sizes * _log_miss_chance(others, k, rest) + rest * _log_miss_chance(others, k, sizes)
    return _sum_chances(_log_choose(honest, sizes) + apart)


@lru_cache(maxsize=4096)
def stuck_chance(joined: int, k: int, dropped: int, threshold: int) -> float:
    """At least the chance that so many accidental dropouts leave some party fewer than ``threshold`` of its picks.

    This is about finishing, not about privacy: such a party refuses, and its secrets cannot be brought back.
    """
    picked = min(k, joined - 1)
    return min(
        1.0, joined * _sum_chances(_at_least(joined - 1, np.array([float(dropped)]), picked, picked - threshold + 1))
    )


def _at_least(others: int, marked: Floats, k: int, least: int) -> Floats:
    """ln of at least the chance that ``least`` or more of k picks out of ``others`` are among ``marked`` ones."""
    counts = np.arange(max(0, least), k + 1, dtype=np.float64)[:, None]
    logs = _log_choose(marked, counts) + _log_choose(others - marked, k - counts) - _log_choose(others, k)
    largest = np.maximum(np.max(logs, axis=0, initial=-np.inf), -1e300)
    with np.errstate(divide="ignore"):
        total = largest + np.log(np.sum(np.exp(logs - largest), axis=0) * _UP)
    return np.asarray(np.minimum(0.0, total))


def _size_blocks(most: int) -> tuple[Floats, Floats]:
    """The sizes 1, ..., most in blocks: the first and the last size of each."""
    ends = [*range(1, min(most, _SINGLE) + 1)]
    while ends and ends[-1] < most:
        ends.append(min(most, math.ceil(ends[-1] * _BLOCK)))
    last = np.array(ends, dtype=np.float64)
    return np.concatenate([[1.0], last[:-1] + 1])[: len(last)], last


def _log_choose(n: float | Floats, k: float | Floats) -> Floats:
    """ln C(n, k), minus infinity where there is no way."""
    from scipy.special import gammaln

    top, part = np.broadcast_arrays(np.asarray(n, dtype=np.float64), np.asarray(k, dtype=np.float64))
    inside = (part >= 0) & (part <= top)
    part, top = np.where(inside, part, 0.0), np.where(inside, top, 0.0)
    return np.where(inside, gammaln(top + 1) - gammaln(part + 1) - gammaln(top - part + 1), -np.inf)


def _log_miss_chance(others: int, k: int, avoided: Floats) -> Floats:
    """ln of the chance that k picks out of ``others`` all avoid a set of that size."""
    return np.asarray(_log_choose(others - avoided, k) - _log_choose(others, k))


def _sum_chances(logs: Floats) -> float:
    """The sum of chances whose logarithms are given, rounded up, and never above 1."""
    largest = float(np.max(logs, initial=-math.inf))
    if largest == -math.inf:
        return 0.0
    if largest > 0:
        return 1.0
    return min(1.0, math.exp(largest) * float(np.sum(np.exp(logs - largest))) * _UP)
