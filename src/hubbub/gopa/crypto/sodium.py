"""libsodium's ristretto255 with its return codes, which tell a bad point from the identity.

The package ``rbcl`` carries libsodium; its own functions for sums drop the return code, and a sum with bytes that are
no point would come back as the identity. Everything here runs in constant time: no branch and no memory address
depends on a scalar.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
from typing import Protocol, TypeAlias, cast

from hubbub.terms import MissingExtra, install_command

PointBuffer: TypeAlias = "ctypes.Array[ctypes.c_char]"


class Sodium(Protocol):
    """The functions of libsodium that are used; each returns 0, or -1 where the result is refused."""

    def crypto_core_ristretto255_add(self, out: PointBuffer, p: PointBuffer | bytes, q: PointBuffer | bytes) -> int: ...
    def crypto_core_ristretto255_sub(self, out: PointBuffer, p: bytes, q: bytes) -> int: ...
    def crypto_core_ristretto255_is_valid_point(self, p: bytes) -> int: ...
    def crypto_core_ristretto255_from_hash(self, out: PointBuffer, digest: bytes) -> int: ...
    def crypto_scalarmult_ristretto255(self, out: PointBuffer, scalar: bytes, p: bytes) -> int: ...
    def crypto_scalarmult_ristretto255_base(self, out: PointBuffer, scalar: bytes) -> int: ...


@functools.cache
def load_sodium() -> Sodium:
    """The library, loaded once."""
    try:
        return cast(Sodium, importlib.import_module("rbcl")._sodium)
    except ImportError:
        raise MissingExtra(
            "commitments and proofs need rbcl, which is not installed.",
            why="It carries libsodium's ristretto255 and is part of the extra 'gopa'.",
            fix=f"Install it: {install_command('gopa')}.",
        ) from None


def point_buffer() -> PointBuffer:
    """Space for one point."""
    return ctypes.create_string_buffer(32)
