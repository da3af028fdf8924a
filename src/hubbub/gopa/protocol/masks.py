"""Masks: what hides a party's number, and what takes the hiding away again.

- an *edge mask* belongs to two parties: both compute it from their mask keys (Diffie-Hellman); one adds it, the other
  takes it away
- a *self mask* belongs to one party, follows from a seed of its own, and stays until all have revealed
- a *seal* closes a share so that only its holder can open it, with keys of its own: a mask key may become public in a
  repair, a seal key never does

Everything depends on the run and on the log's hash after the nonces: a party that is shown two logs has two unrelated
sets of masks, and a mask never hides two numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from hubbub.gopa.crypto.pedersen import commit, commit_vector
from hubbub.gopa.crypto.point_equations import Equation, random_weight
from hubbub.gopa.crypto.ristretto import ORDER, decode_scalar, encode_scalar, times_known
from hubbub.gopa.crypto.secret_streams import Stream


@dataclass(frozen=True, slots=True, repr=False)
class Opening:
    """Numbers modulo the order, one for each coordinate, and the blinder of their commitment."""

    values: tuple[int, ...]
    blinder: int

    def __add__(self, other: Opening) -> Opening:
        values = tuple((a + b) % ORDER for a, b in zip(self.values, other.values, strict=True))
        return Opening(values, (self.blinder + other.blinder) % ORDER)

    def __neg__(self) -> Opening:
        return self.times(-1)

    def times(self, factor: int) -> Opening:
        """Each number multiplied."""
        return Opening(tuple(factor * value % ORDER for value in self.values), factor * self.blinder % ORDER)

    def point(self) -> bytes:
        """The commitment that this opens, in constant time."""
        if len(self.values) == 1:
            return commit(self.values[0], self.blinder)
        return commit_vector(self.values, self.blinder)


def sum_openings(openings: Iterable[Opening], width: int) -> Opening:
    """The sum of openings."""
    terms = list(openings)
    columns = [sum(one.values[c] for one in terms) % ORDER for c in range(width)]
    return Opening(tuple(columns), sum(one.blinder for one in terms) % ORDER)


@dataclass(frozen=True)
class OpeningClaim:
    """That numbers, all public, open the sum of commitments (each with a sign); for `verify_many`."""

    opening: Opening
    points: Sequence[bytes]
    signs: Sequence[int]

    def equation(self) -> Equation | None:
        by = random_weight()
        values = self.opening.values
        return Equation(
            on_g=-by * values[0],
            on_h=-by * self.opening.blinder,
            coordinates=[0, *(-by * value % ORDER for value in values[1:])] if len(values) > 1 else (),
            scalars=[by * sign for sign in self.signs],
            points=self.points,
        )


# ---------------------------------------------------------------- two parties


@dataclass(frozen=True, slots=True)
class MaskContext:
    """What all masks of a run depend on: the run, and the log's hash after the nonces."""

    run: bytes
    hash: bytes


def shared_point(secret: int, key: bytes) -> bytes:
    """The point that two parties share: one's secret times the other's key, which was checked when it joined."""
    return times_known(secret, key)


def edge_mask(view: MaskContext, one: int, other: int, shared: bytes, width: int) -> Opening:
    """What ``one`` adds for its edge with ``other``; the other way round it is the negative."""
    low, high = sorted((one, other))
    stream = Stream(shared, "edge", view.run, view.hash, _encode_place(low), _encode_place(high))
    values = tuple(stream.scalars(width))
    mask = Opening(values, stream.scalar())
    return mask if one == low else -mask


def self_mask(view: MaskContext, party: int, seed: int, width: int) -> Opening:
    """What a party adds for itself."""
    stream = Stream(encode_scalar(seed), "self mask", view.run, view.hash, _encode_place(party))
    values = tuple(stream.scalars(width))
    return Opening(values, stream.scalar())


def _encode_place(party: int) -> bytes:
    return party.to_bytes(4, "little")


# ---------------------------------------------------------------- seals


def seal(view: MaskContext, dealer: int, holder: int, shared: bytes, share: Share) -> bytes:
    """A dealer's share, closed for its holder. There is one share for each key, so the nonce is zero."""
    return _share_cipher(view, dealer, holder, shared).encrypt(bytes(12), share.encoded(), view.run)


def unseal(view: MaskContext, dealer: int, holder: int, shared: bytes, sealed: bytes) -> Share | None:
    """The share that was sealed, or None."""
    try:
        return Share.decoded(_share_cipher(view, dealer, holder, shared).decrypt(bytes(12), sealed, view.run))
    except InvalidTag:
        return None


def _share_cipher(view: MaskContext, dealer: int, holder: int, shared: bytes) -> ChaCha20Poly1305:
    names = (_encode_place(dealer), _encode_place(holder))
    return ChaCha20Poly1305(Stream(shared, "seal", view.run, view.hash, *names).take(32))


@dataclass(frozen=True, slots=True, repr=False)
class Share:
    """A holder's share of a party's two secrets: the seed of its self mask, and its mask key."""

    seed: int
    key: int

    def encoded(self) -> bytes:
        return encode_scalar(self.seed) + encode_scalar(self.key)

    @classmethod
    def decoded(cls, data: bytes) -> Share | None:
        seed, key = decode_scalar(data[:32]), decode_scalar(data[32:])
        return None if seed is None or key is None else cls(seed, key)


SEALED = 64 + 16  # bytes of a sealed share
