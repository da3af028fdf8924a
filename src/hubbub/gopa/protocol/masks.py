"""Masks: what hides a party's number, and what takes the hiding away again.

- an *edge mask* belongs to two parties: both compute it from their mask keys (Diffie-Hellman); one adds it, the other
  takes it away
- a *self mask* belongs to one party, follows from a seed of its own, and stays until all have revealed

Everything depends on the run and on the log's hash after the nonces: a party that is shown two logs has two unrelated
sets of masks, and a mask never hides two numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hubbub.gopa.crypto.pedersen import commit, commit_vector
from hubbub.gopa.crypto.point_equations import Equation, random_weight
from hubbub.gopa.crypto.ristretto import ORDER, encode_scalar, times_known
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
    stream = Stream(shared, "edge", view.run, view.hash, encode_place(low), encode_place(high))
    values = tuple(stream.scalars(width))
    mask = Opening(values, stream.scalar())
    return mask if one == low else -mask


def self_mask(view: MaskContext, party: int, seed: int, width: int) -> Opening:
    """What a party adds for itself."""
    stream = Stream(encode_scalar(seed), "self mask", view.run, view.hash, encode_place(party))
    values = tuple(stream.scalars(width))
    return Opening(values, stream.scalar())


def encode_place(party: int) -> bytes:
    """A place on the roster, as keys are named by it."""
    return party.to_bytes(4, "little")
