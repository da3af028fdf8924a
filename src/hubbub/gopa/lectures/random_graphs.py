"""Who shares a mask with whom: random graphs in which everybody picks k others.

Each party picks k others; the edges are the union. Here all picks come from one seed, for simulations and for whoever
wants to look at such graphs; in a run each party's own committed nonce is the seed of its picks (``net``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hubbub.terms import EmptyInput, OutOfRange, WrongShape, whole

Integers = NDArray[np.int64]
SEED_BYTES = 32
_LABEL = b"hubbub gopa graph 1"


@dataclass(frozen=True, eq=False)
class Graph:
    """Parties in rising order and the pairs of them that share a mask, each once, as rows (i, j) with i < j."""

    parties: tuple[int, ...]
    edges: Integers

    def neighbours(self, party: int) -> tuple[int, ...]:
        """With whom a party shares a mask, in rising order."""
        return self._around[party]

    def degree(self, party: int) -> int:
        """With how many others a party shares a mask."""
        return len(self._around[party])

    def connected(self, among: Iterable[int] | None = None) -> bool:
        """Whether these parties (all, if not said) are one piece by the edges between them alone."""
        return len(self.pieces(among)) == 1

    def pieces(self, among: Iterable[int] | None = None) -> list[tuple[int, ...]]:
        """The connected pieces of these parties, by the edges between them alone."""
        left = set(self.parties if among is None else among)
        components = []
        while left:
            piece, border = set[int](), [left.pop()]
            while border:
                one = border.pop()
                piece.add(one)
                near = left.intersection(self._around[one])
                left -= near
                border += near
            components.append(tuple(sorted(piece)))
        return sorted(components)

    @cached_property
    def _around(self) -> dict[int, tuple[int, ...]]:
        ends = np.concatenate([self.edges, self.edges[:, ::-1]])
        ends = ends[np.lexsort((ends[:, 1], ends[:, 0]))]
        cuts = np.searchsorted(ends[:, 0], np.asarray(self.parties))
        others = ends[:, 1].tolist()
        stops = [*cuts.tolist()[1:], len(others)]
        return {
            party: tuple(others[start:stop])
            for party, start, stop in zip(self.parties, cuts.tolist(), stops, strict=True)
        }


def graph(seed: bytes, parties: Sequence[int], k: int) -> Graph:
    """The graph in which each party picks ``k`` others, drawn from a public seed; complete if k reaches all others.

    The same seed, parties and k give the same graph everywhere and for ever. Each party's k others are a uniform subset
    (Floyd's method on words of SHAKE-256, words that would favour anybody are drawn again).

    >>> drawn = graph(bytes(32), range(6), 2)
    >>> drawn.neighbours(0), len(drawn.edges), drawn.connected()
    ((2, 3, 4, 5), 11, True)
    """
    members = _require_members(parties)
    if len(seed) != SEED_BYTES:
        raise WrongShape(
            f"the seed of a graph has {SEED_BYTES} bytes and this one has {len(seed)}.",
            why="A shorter seed could be guessed before it is drawn, and the graph with it.",
            fix=f"Pass {SEED_BYTES} bytes that nobody could choose alone.",
        )
    return between(members, picks(seed, len(members), whole(k, name="k")))


def between(members: Sequence[int], chosen: Integers) -> Graph:
    """The graph of parties and the positions that each of them picks: column i is what position i picks."""
    names = np.asarray(members, dtype=np.int64)
    return Graph(tuple(names.tolist()), names[pairs(chosen)])


def pairs(chosen: Integers) -> Integers:
    """Each pair of positions of which one picks the other, once, as rows (i, j) with i < j."""
    count = chosen.shape[1]
    places = np.arange(count)
    codes = np.sort((np.minimum(chosen, places) * count + np.maximum(chosen, places)).ravel())
    codes = codes[np.diff(codes, prepend=-1) > 0]  # faster than numpy.unique by an order of magnitude
    return np.stack([codes // count, codes % count], axis=1)


def picks(seed: bytes, count: int, k: int) -> Integers:
    """In column i, the k other positions that position i picks: a uniform subset, independent of all others."""
    others = count - 1
    if k >= others:
        chosen = np.tile(np.arange(others)[:, None], (1, count))
    else:
        chosen = np.empty((k, count), dtype=np.int64)
        for i in range(k):
            last = others - k + i
            drawn = _uniform_integers(seed, i, last + 1, count)
            taken = (chosen[:i] == drawn).any(axis=0)
            chosen[i] = np.where(taken, last, drawn)
    return chosen + (chosen >= np.arange(count))  # position i is not among its own others


def _uniform_integers(seed: bytes, column: int, below: int, count: int) -> Integers:
    """One whole number below ``below`` for each position, each as likely as the others."""
    limit = np.uint64((1 << 64) // below * below - 1)
    words = _seeded_words(seed, column, 0, count)
    again = 1
    while (bad := words > limit).any():
        words = np.where(bad, _seeded_words(seed, column, again, count), words)
        again += 1
    return np.asarray(words % np.uint64(below), dtype=np.int64)


def _seeded_words(seed: bytes, column: int, again: int, count: int) -> NDArray[np.uint64]:
    stream = hashlib.shake_256(_LABEL + seed + column.to_bytes(4, "big") + again.to_bytes(4, "big"))
    return np.frombuffer(stream.digest(8 * count), dtype="<u8").astype(np.uint64)


def _require_members(parties: Sequence[int]) -> list[int]:
    members = sorted(parties)
    if not members:
        raise EmptyInput("a graph needs parties.", why="Nobody was named.", fix="Pass at least two parties.")
    if len(members) < 2 or len(set(members)) < len(members):
        raise OutOfRange(
            "a graph needs at least two parties, each named once.",
            why="A mask is shared by two, and a party that is named twice would share one with itself.",
            fix="Pass different numbers.",
        )
    return members
