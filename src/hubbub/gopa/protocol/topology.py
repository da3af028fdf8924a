"""Who shares a mask with whom in a run, and who holds whose shares.

Each party picks k others by its own nonce, which it committed to before any was shown. So nobody can move the picks of
an honest party: whoever withholds a nonce loses its own picks and no more. The picking and the picked party share the
edge's mask; the picker posts its commitment (if both picked, the lower of the two). The picked ones hold the shares.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Net:
    """The picks of all members of a run, as places on the roster; all of ``joined`` could be picked."""

    joined: tuple[int, ...]
    picks: Mapping[int, tuple[int, ...]]

    @cached_property
    def around(self) -> Mapping[int, tuple[int, ...]]:
        """For each party, everybody it shares an edge with, in rising order."""
        neighbours: dict[int, set[int]] = {one: set() for one in self.picks}
        for one, chosen in self.picks.items():
            for other in chosen:
                if other in neighbours:
                    neighbours[one].add(other)
                    neighbours[other].add(one)
        return {one: tuple(sorted(near)) for one, near in neighbours.items()}

    @cached_property
    def posts(self) -> Mapping[int, tuple[int, ...]]:
        """For each party, the neighbours for whose edge it posts the commitment, in the order in which it does."""
        picked = {one: set(chosen) for one, chosen in self.picks.items()}
        return {
            one: tuple(o for o in chosen if o in picked and (one not in picked[o] or one < o))
            for one, chosen in self.picks.items()
        }

    @cached_property
    def held(self) -> Mapping[int, tuple[tuple[int, int], ...]]:
        """For each party, whose shares it holds: (dealer, place of the share)."""
        held_by: dict[int, list[tuple[int, int]]] = {one: [] for one in self.picks}
        for dealer, chosen in self.picks.items():
            for place, holder in enumerate(chosen, start=1):
                if holder in held_by:
                    held_by[holder].append((dealer, place))
        return {one: tuple(dealers) for one, dealers in held_by.items()}

    def place(self, dealer: int, holder: int) -> int | None:
        """Which of a dealer's shares somebody holds."""
        chosen = self.picks.get(dealer, ())
        return chosen.index(holder) + 1 if holder in chosen else None

    def core(self, members: Iterable[int], least: int) -> tuple[int, ...]:
        """The largest part of the members in which everybody has so many own picks, in the members' order.

        Who has fewer is left out, and then those who are thin without them, until nobody is. So whomever a lying board
        hides, nobody is left in whose crowd is gone.
        """
        left = list(members)
        inside = set(left)
        count = {one: sum(pick in inside for pick in self.picks[one]) for one in left}
        thin = [one for one in left if count[one] < least]
        inside -= set(thin)
        while thin:
            gone = thin.pop()
            for dealer, _ in self.held[gone]:
                if dealer in inside:
                    count[dealer] -= 1
                    if count[dealer] < least:
                        inside.discard(dealer)
                        thin.append(dealer)
        return tuple(one for one in left if one in inside)

    @cached_property
    def edges(self) -> Mapping[tuple[int, int], int]:
        """For each edge (who posts it, with whom), its place among those that its poster posts."""
        return {(one, other): at for one, near in self.posts.items() for at, other in enumerate(near)}


def pick_parties(seed: bytes, me: int, joined: Sequence[int], k: int) -> tuple[int, ...]:
    """The k others that a party picks: a uniform subset of all who joined (in rising order), or everybody.

    >>> pick_parties(bytes(32), 2, range(6), 3)
    (3, 4, 0)
    """
    others, mine = len(joined) - 1, bisect_left(joined, me)
    words = _Words(seed)
    chosen: dict[int, None] = {}  # Floyd's method: a uniform subset with k draws
    for last in range(max(0, others - k), others):
        drawn = words.below(last + 1) if k < others else last
        chosen[drawn if drawn not in chosen else last] = None
    return tuple(joined[place + (place >= mine)] for place in chosen)


class _Words:
    """Whole numbers below a bound, each as likely as the others, from a seed."""

    def __init__(self, seed: bytes) -> None:
        self._seed, self._block, self._left = seed, 0, b""

    def below(self, bound: int) -> int:
        limit = (1 << 64) // bound * bound
        while (word := self._next()) >= limit:
            pass
        return word % bound

    def _next(self) -> int:
        if not self._left:
            name = b"hubbub gopa picks 1" + self._seed + self._block.to_bytes(4, "big")
            self._left, self._block = hashlib.shake_256(name).digest(1024), self._block + 1
        word, self._left = self._left[:8], self._left[8:]
        return int.from_bytes(word, "little")
