"""The group ristretto255: points as canonical 32 bytes, scalars as integers modulo ORDER.

The group has prime order, so there are no points of small order, and each point has exactly one encoding [VGT23].
Whatever comes from outside passes ``require_point`` or ``require_nonzero_point``; inside the room a point is ``bytes``.

Generators are hashes of their names, so nobody knows a relation between them: ``G`` and ``H`` for commitments to one
number, ``coordinate_generator(c)`` for vectors (``coordinate_generator(0)`` is ``G``), ``bit_generator(i)``,
``complement_generator(i)`` and ``U`` for vectors of bits.

    >>> from hubbub.gopa import ristretto
    >>> ristretto.plus(ristretto.base(2), ristretto.base(3)) == ristretto.base(5)
    True
"""

from __future__ import annotations

import functools
import hashlib
import secrets
from collections.abc import Iterable, Sequence
from typing import TypeGuard

from hubbub.gopa.crypto.framing import NAME, frame_parts
from hubbub.gopa.crypto.sodium import load_sodium, point_buffer
from hubbub.terms import OutOfRange

ORDER = 2**252 + 27742317777372353535851937790883648493
IDENTITY = bytes(32)
G = bytes.fromhex("e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76")
# hash_to_group("blinder") and hash_to_group("inner product"), written out so that importing needs no library.
H = bytes.fromhex("8234d7b52e99e5e10b862f8d9103a324e359bfcc98ffba2753e4fd11e0db0b6a")
U = bytes.fromhex("5051689fcdb8a8fa5d27ad6b8ffef88d4e7f17dbcb22b66dec297ff0f750cf68")


def hash_to_group(label: str, *parts: bytes) -> bytes:
    """A point of which nobody knows a logarithm, from a name."""
    out = point_buffer()
    load_sodium().crypto_core_ristretto255_from_hash(
        out, hashlib.sha512(frame_parts(NAME, label.encode(), *parts)).digest()
    )
    return out.raw


def hash_to_scalar(label: str, *parts: bytes) -> int:
    """A scalar within 2^-259 of uniform, if the hash is a random oracle."""
    digest = hashlib.sha512(frame_parts(NAME, b"scalar", label.encode(), *parts)).digest()
    return int.from_bytes(digest, "little") % ORDER


def random_scalar() -> int:
    """A uniform scalar from the operating system."""
    return secrets.randbelow(ORDER)


# ---------------------------------------------------------------- generators


@functools.cache
def coordinate_generator(index: int) -> bytes:
    """The generator of a vector commitment's coordinate."""
    return G if index == 0 else hash_to_group("coordinate", index.to_bytes(4, "little"))


@functools.cache
def bit_generator(index: int) -> bytes:
    """The generator of bit ``index``."""
    return hash_to_group("bit", index.to_bytes(4, "little"))


@functools.cache
def complement_generator(index: int) -> bytes:
    """The generator of bit ``index`` less one."""
    return hash_to_group("bit less one", index.to_bytes(4, "little"))


# ---------------------------------------------------------------- points


def is_point(data: object) -> bool:
    """Whether these are the canonical 32 bytes of a point."""
    return _has_point_form(data) and load_sodium().crypto_core_ristretto255_is_valid_point(data) == 1


def _has_point_form(data: object) -> TypeGuard[bytes]:
    """32 bytes without the top bit: libsodium 1.0.18 ignores that bit, and would let a point have two encodings."""
    return isinstance(data, bytes) and len(data) == 32 and data[31] < 128


def no_point() -> OutOfRange:
    """The error for bytes that are none."""
    return OutOfRange(
        "these bytes are not a point of the group.",
        why="A point is the 32 bytes of a canonical ristretto255 encoding.",
        fix="Refuse the message; whoever sent it is at fault.",
    )


def require_point(data: object) -> bytes:
    """The same bytes, if they are a point in its one encoding."""
    if not is_point(data):
        raise no_point()
    assert isinstance(data, bytes)
    return data


def require_nonzero_point(data: object) -> bytes:
    """A point other than the identity: an honest commitment or key is never that."""
    point = require_point(data)
    if point == IDENTITY:
        raise OutOfRange(
            "the identity is no commitment and no key.",
            why="It commits to zero with no blinding, and a key of zero hides nothing.",
            fix="Refuse the message; whoever sent it is at fault.",
        )
    return point


def look_like_points(points: Iterable[object]) -> bool:
    """Whether each has a point's length and is not the identity; whether it is a point is seen when it is used."""
    return all(isinstance(point, bytes) and len(point) == 32 and point != IDENTITY for point in points)


def base(scalar: int) -> bytes:
    """``scalar * G``, in constant time."""
    out = point_buffer()
    load_sodium().crypto_scalarmult_ristretto255_base(
        out, encode_scalar(scalar)
    )  # -1 means the identity, which is all right
    return out.raw


def times(scalar: int, point: bytes) -> bytes:
    """``scalar * point`` for any point, in constant time."""
    return times_known(scalar, require_point(point))


def times_known(scalar: int, point: bytes) -> bytes:
    """The same for a point that was checked before: a generator, or a sum of our own.

    A zero scalar takes the same path as any other: the code that reports the identity is not looked at.
    """
    out = point_buffer()
    load_sodium().crypto_scalarmult_ristretto255(out, encode_scalar(scalar), point)
    return out.raw


def weighted_sum(scalars: Sequence[int], points: Sequence[bytes]) -> bytes:
    """``sum scalars[i] * points[i]`` for points that were checked before, in constant time: for secrets."""
    library, one, sum_ = load_sodium(), point_buffer(), point_buffer()
    for scalar, point in zip(scalars, points, strict=True):
        library.crypto_scalarmult_ristretto255(one, encode_scalar(scalar), point)
        library.crypto_core_ristretto255_add(sum_, sum_, one)
    return sum_.raw


def plus(left: bytes, right: bytes) -> bytes:
    """The sum of two points."""
    out = point_buffer()
    if not (_has_point_form(left) and _has_point_form(right)) or load_sodium().crypto_core_ristretto255_add(
        out, left, right
    ):
        raise no_point()
    return out.raw


def minus(left: bytes, right: bytes) -> bytes:
    """The difference of two points."""
    out = point_buffer()
    if not (_has_point_form(left) and _has_point_form(right)) or load_sodium().crypto_core_ristretto255_sub(
        out, left, right
    ):
        raise no_point()
    return out.raw


def select_point(bit: int, zero: bytes, one: bytes) -> bytes:
    """One of two points, without a branch or an address that depends on the secret bit."""
    low, high = int.from_bytes(zero, "little"), int.from_bytes(one, "little")
    return (low * (1 - bit) + high * bit).to_bytes(32, "little")


def sum_points(points: Iterable[bytes]) -> bytes:
    """The sum of any number of points."""
    return functools.reduce(plus, points, IDENTITY)


# ---------------------------------------------------------------- scalars


def encode_scalar(scalar: int) -> bytes:
    """32 bytes, least significant first."""
    return (scalar % ORDER).to_bytes(32, "little")


def decode_scalar(data: bytes) -> int | None:
    """The scalar, or None if the bytes are not its one encoding."""
    value = int.from_bytes(data, "little")
    return value if len(data) == 32 and value < ORDER else None
