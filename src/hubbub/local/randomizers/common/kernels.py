"""Counting bits and hash hits; the second is compiled where numba is installed, with the same integers either way."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from hubbub.local.randomizers.common.hash_family import hash_bucket, hash_line

Counts = NDArray[np.int64]
_MUCH = 4_000_000  # steps from which loading the compiler pays
_CHUNK = 1 << 16  # hashes at a time, so that they stay in the cache
_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(np.int64)


def count_bits(rows: NDArray[np.uint8]) -> Counts:
    """In how many rows each bit is set, the first bit lowest in its byte: by counting how often each byte occurs."""
    if len(rows) < len(_BITS):
        return np.asarray(np.unpackbits(rows, axis=1, bitorder="little").sum(axis=0), dtype=np.int64)
    bytes_seen = np.stack([np.bincount(column, minlength=len(_BITS)) for column in rows.T])
    return np.asarray(bytes_seen @ _BITS, dtype=np.int64).ravel()


def count_hits(seeds: Counts, answers: Counts, codes: Counts, buckets: int) -> Counts:
    """For each code, how many reports name the bucket that the report's own hash function sends it to."""
    if seeds.size * codes.size > _MUCH and (fast := _compiled_hits()):
        slope, start = hash_line(seeds)
        return fast(slope, start, answers.astype(np.uint64), codes.astype(np.uint64), np.uint64(buckets))
    total = np.zeros(codes.size, dtype=np.int64)
    step = max(1, _CHUNK // max(1, codes.size))
    for begin in range(0, seeds.size, step):
        part = slice(begin, begin + step)
        hashed = hash_bucket(seeds[part, None], codes[None, :], buckets)
        total += (hashed == answers[part, None]).sum(axis=0)
    return total


@cache
def _compiled_hits() -> Callable[..., Counts] | None:
    """The loop compiled by numba, or None where numba is missing or finds no place for its compiled code."""
    try:
        from hubbub.local.randomizers.common.kernels_numba import count_hits_compiled
    except (ImportError, RuntimeError):
        return None
    return count_hits_compiled
