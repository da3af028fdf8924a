"""One circle of friends on two networks: who knows whom, seen twice, incompletely each time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hubbub.terms import Real, fraction_of, whole

Edges = NDArray[np.int64]  # a row per friendship: two people


@dataclass(frozen=True, eq=False)
class Networks:
    """Two networks as lists of friendships; ``truth`` maps people of the first to the same people in the second."""

    released: Edges
    known: Edges
    truth: dict[int, int]

    def seeds(self, count: int) -> dict[int, int]:
        """The best connected people of both: those whom an attacker recognizes first."""
        degree = np.bincount(self.released.ravel())
        best = sorted(self.truth, key=lambda person: (-degree[person], person))
        return {person: self.truth[person] for person in best[:count]}


def friends(people: int = 1_000, *, mean: int = 20, kept: Real = 0.8, present: Real = 0.9, seed: int = 0) -> Networks:
    """A network in which few have many friends, and friends of friends are often friends; and two views of it.

    Each view has each person with chance ``present`` and each friendship among those with chance ``kept``, and its
    own numbers for the people.

    >>> both = friends(people=200)
    >>> both.released.shape[1], len(both.truth) > 140
    (2, True)
    """
    size, rng = whole(people, name="people", least=50), np.random.default_rng(seed)
    edges = _befriend_people(size, whole(mean, name="mean") // 2, rng)
    share, there = (
        float(fraction_of(kept, name="kept", one=True)),
        float(fraction_of(present, name="present", one=True)),
    )
    views = [_observed_network(edges, size, share, there, rng) for _ in range(2)]
    (released, one), (known, other) = views
    return Networks(released, known, {int(one[i]): int(other[i]) for i in range(size) if one[i] >= 0 <= other[i]})


def _befriend_people(size: int, links: int, rng: np.random.Generator) -> Edges:
    """Newcomers befriend somebody well connected, and then friends of theirs, as often as not."""
    neighbours: list[list[int]] = [[j for j in range(links + 1) if j != i] for i in range(links + 1)]
    ends = [i for i in range(links + 1) for _ in range(links)]
    for newcomer in range(links + 1, size):
        chosen: set[int] = set()
        friend = ends[rng.integers(len(ends))]
        while len(chosen) < links:
            chosen.add(friend)
            near = neighbours[friend]
            friend = near[rng.integers(len(near))] if rng.random() < 0.5 else ends[rng.integers(len(ends))]
        neighbours.append(sorted(chosen))
        for other in neighbours[newcomer]:
            neighbours[other].append(newcomer)
            ends += [other, newcomer]
    return np.array([(i, j) for i, near in enumerate(neighbours) for j in near if i < j])


def _observed_network(
    edges: Edges, size: int, kept: float, present: float, rng: np.random.Generator
) -> tuple[Edges, NDArray[np.int64]]:
    """The friendships that one network shows, and the number that it gives to each person (-1: not there)."""
    numbers = rng.permutation(size)
    numbers[rng.random(size) >= present] = -1
    seen = numbers[edges[rng.random(len(edges)) < kept]]
    seen = seen[(seen >= 0).all(axis=1)]
    alone = np.setdiff1d(np.arange(size), seen)
    numbers[np.isin(numbers, alone)] = -1
    return seen, numbers
