"""Where randomness comes from: the operating system, anew for every request.

There is no generator object with a state between two calls, so there is nothing that a fork, a thread, a
copy, a pickle or a restored virtual machine could repeat (``docs/decisions/0001-no-generator-state.md``).
A small request is answered by the operating system itself; a large one by ChaCha20 under a key that the
operating system made for this request and that is forgotten after it.
"""

from __future__ import annotations

import os
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]

_DIRECT = 4096  # bytes; beyond, setting up a cipher is cheaper than the system call
_ZEROS = memoryview(bytes(1 << 20))  # what is encrypted, piece by piece: the key stream alone comes out


class RandomSource(Protocol):
    """Uniform random bits: production has one source; another exists for tests only."""

    def random_words(self, count: int) -> Words:
        """``count`` independent uniform 64-bit words."""
        ...

    def bits(self, count: int) -> int:
        """One uniform integer of ``count`` bits."""
        ...


class SecureSource:
    """The operating system's random source, stretched by ChaCha20 for large requests."""

    __slots__ = ()

    def random_words(self, count: int) -> Words:
        """``count`` independent uniform 64-bit words."""
        size = 8 * count
        if size <= _DIRECT:
            return np.frombuffer(os.urandom(size), dtype=np.uint64)
        return _key_stream(size).view(np.uint64)

    def bits(self, count: int) -> int:
        """One uniform integer of ``count`` bits."""
        size = (count + 7) // 8
        return int.from_bytes(os.urandom(size), "little") >> (8 * size - count)


def _key_stream(size: int) -> NDArray[np.uint8]:
    """``size`` bytes of ChaCha20 key stream under a fresh key: far less than its limit of 2^38."""
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

    stream = Cipher(ChaCha20(os.urandom(32), bytes(16)), mode=None).encryptor()
    out = np.empty(size, dtype=np.uint8)
    for start in range(0, size, len(_ZEROS)):
        piece = out.data[start : start + len(_ZEROS)]
        stream.update_into(_ZEROS[: len(piece)], piece)
    return out


SECURE = SecureSource()
