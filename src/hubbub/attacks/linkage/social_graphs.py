"""Matching two social networks: from a few people known in both to nearly everybody [NS09]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub.attacks.report import Attack, count_of, share_of
from hubbub.attacks.requirements import rectangular_array
from hubbub.explain import Figure
from hubbub.render import Json
from hubbub.render import bars as text_bars
from hubbub.render.charts import Panel, Series, line_chart
from hubbub.terms import Real, Unsuitable, exact, whole

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_LARGEST = 6_000  # people in a network: scores are a full matrix


def match_graphs(
    released: ArrayLike,
    known: ArrayLike,
    *,
    seeds: Mapping[int, int],
    eccentricity: Real = 0.5,
    sweeps: int = 50,
    truth: Mapping[int, int] | None = None,
) -> GraphMatch:
    """Extend ``seeds`` (people of ``released`` and who they are in ``known``) along the friendships of both.

    Networks are lists of pairs of whole numbers. In each sweep, two people score a point for every pair of friends
    that are already matched to each other, divided by the square roots of their numbers of friends. They are
    matched if each is the other's best, and leads the second best by ``eccentricity`` standard deviations of the
    scores [NS09, Sec. 5.2]. Earlier matches (but not the seeds) are thought over in each sweep, until nothing
    changes.

    >>> from hubbub.attacks import populations
    >>> both = populations.friends(people=300)
    >>> found = match_graphs(both.released, both.known, seeds=both.seeds(20), truth=both.truth)
    >>> found.precision > 0.9
    True
    """
    left, right = _Network.of(released, called="released"), _Network.of(known, called="known")
    fixed = _seed_positions(left, right, seeds)
    least, matched, history = float(exact(eccentricity, name="eccentricity")), fixed, [len(fixed)]
    for _ in range(whole(sweeps, name="sweeps")):
        grown = _sweep_matches(left, right, matched, fixed, least)
        if grown == matched:
            break
        matched = grown
        history.append(len(matched))
    named = {int(left.people[i]): int(right.people[j]) for i, j in matched.items()}
    return GraphMatch(named, dict(seeds), len(left.people), tuple(history), None if truth is None else dict(truth))


@dataclass(frozen=True, slots=True, eq=False)
class GraphMatch(Attack):
    """Who was matched with whom, seeds included, and how the number grew."""

    kind: ClassVar[str] = "graph-matching"
    name: ClassVar[str] = "Matching networks"

    matches: dict[int, int]
    seeds: dict[int, int]
    people: int
    history: tuple[int, ...]
    truth: dict[int, int] | None = None

    @property
    def new_matches(self) -> dict[int, int]:
        """The matches that were not given."""
        return {one: other for one, other in self.matches.items() if one not in self.seeds}

    @property
    def right(self) -> int:
        """How many of the found matches are right; 0 where the truth is not known."""
        return sum((self.truth or {}).get(one) == other for one, other in self.new_matches.items())

    @property
    def precision(self) -> float:
        """The share of the found matches that are right."""
        return self.right / max(len(self.new_matches), 1)

    @property
    def recall(self) -> float:
        """The share of people in both networks, seeds aside, who were rightly found."""
        return self.right / max(len((self.truth or {}).keys() - self.seeds.keys()), 1)

    @property
    def succeeded(self) -> bool:
        """Whether more people were found than given, and (where that is known) most of them rightly."""
        return len(self.new_matches) > len(self.seeds) and (self.truth is None or self.precision > 0.5)

    @property
    def headline(self) -> str:
        """What was found, in one sentence."""
        sentence = (
            f"From {len(self.seeds):,} known people, {len(self.new_matches):,} more of {self.people:,} got a name"
        )
        return (
            f"{sentence}." if self.truth is None else f"{sentence}, {share_of(self.precision)} of them the right one."
        )

    def numbers(self) -> dict[str, Json]:
        """What was found, for programs."""
        known = self.truth is not None
        return {
            "people": self.people,
            "seeds": len(self.seeds),
            "found": len(self.new_matches),
            "right": self.right if known else None,
            "precision": self.precision if known else None,
            "recall": self.recall if known else None,
            "history": list(self.history),
        }

    def facts(self) -> tuple[tuple[str, str], ...]:
        """What was found, for people."""
        rows = [
            ("people without names", f"{self.people:,}"),
            ("known beforehand", f"{len(self.seeds):,}"),
            ("found", f"{len(self.new_matches):,}"),
        ]
        if self.truth is not None:
            both = len(self.truth.keys() - self.seeds.keys())
            rows += [("of these, right", count_of(self.right, len(self.new_matches)))]
            rows += [("of all who are in both networks", count_of(self.right, both))]
        return tuple(rows)

    def figure(self) -> Figure:
        """How the matches grew, sweep by sweep."""
        steps = [(f"sweep {i}", float(count), f"{count:,}") for i, count in enumerate(self.history)]
        svg = line_chart(
            Panel(
                "matched",
                (Series("matched", tuple((float(i), n) for i, (_, n, _) in enumerate(steps))),),
                include=(0.0,),
            ),
            title=f"From {self.history[0]:,} matched people to {self.history[-1]:,}",
            description="; ".join(f"{name}: {shown}" for name, _, shown in steps) + ".",
            x="sweep",
        )
        return Figure(self.kind, svg, "Each match helps to find the next.", text_bars(steps))

    def meaning(self) -> tuple[str, ...]:
        """What it means for the people in the data."""
        if not self.succeeded:
            return ("The few known people did not lead to others: the two networks have too little in common.",)
        return (
            "Who knows whom is as telling as a name. A network without names can be laid over another that has them: a "
            "few people who are recognized are enough to start, and each one found helps to find friends.",
        )

    def remedy(self) -> tuple[str, ...]:
        """What would have helped."""
        return (
            "Removing some friendships, or adding some, does not help: the two networks here agree only in part. "
            "Statistics of a network (how many have so many friends) can be released with differential privacy; the "
            "network itself cannot be released and stay useful.",
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Network:
    """Friendships as a symmetric 0/1 matrix, and the number of the person of each row."""

    people: NDArray[np.int64]
    links: csr_array

    @classmethod
    def of(cls, edges: ArrayLike, *, called: str) -> _Network:
        from scipy.sparse import csr_array

        pairs = rectangular_array(edges)
        if pairs.ndim != 2 or pairs.shape[1] != 2 or not len(pairs) or pairs.dtype.kind not in "iu":
            raise Unsuitable(
                f"{called} is not a list of friendships.",
                why="A network is read as pairs of whole numbers, one pair for each two people who know each other.",
                fix="Give an array with two columns and at least one row.",
            )
        people, places = np.unique(pairs, return_inverse=True)
        if len(people) > _LARGEST:
            raise Unsuitable(
                f"{called} has more than {_LARGEST:,} people.",
                why="Everybody is compared with everybody.",
                fix="Give a part of the network.",
            )
        ends = places.reshape(pairs.shape)
        both = np.concatenate([ends, ends[:, ::-1]])
        links = csr_array((np.ones(len(both)), (both[:, 0], both[:, 1])), shape=(len(people), len(people)))
        links.data[:] = 1.0  # a friendship that is listed twice is still one
        return cls(people, links)

    @property
    def degrees(self) -> NDArray[np.float64]:
        return np.asarray(self.links.sum(axis=1), dtype=np.float64).ravel()


def _seed_positions(left: _Network, right: _Network, seeds: Mapping[int, int]) -> dict[int, int]:
    """The seeds by their places in the two networks."""
    ours, theirs = ({int(name): i for i, name in enumerate(network.people)} for network in (left, right))
    given = dict(seeds) if isinstance(seeds, Mapping) else {}
    fixed = {ours[one]: theirs[other] for one, other in given.items() if one in ours and other in theirs}
    if not fixed or len(fixed) < len(given) or len(set(fixed.values())) < len(fixed):
        raise Unsuitable(
            "the seeds are not different people of both networks.",
            why="Matches spread from people who are known in both.",
            fix="Give a mapping from people of the released network to people of the known one.",
        )
    return fixed


def _sweep_matches(
    left: _Network, right: _Network, matched: dict[int, int], fixed: dict[int, int], least: float
) -> dict[int, int]:
    """The matches that the present ones lead to."""
    ours, theirs = np.array(list(matched.keys())), np.array(list(matched.values()))
    scores = (left.links[:, ours] @ right.links[theirs, :]).toarray()
    scores /= np.sqrt(left.degrees)[:, None] * np.sqrt(right.degrees)[None, :]
    scores[list(fixed.keys()), :] = 0
    scores[:, list(fixed.values())] = 0
    best, leads = scores.argmax(axis=1), _score_leads(scores)
    back, counter = scores.argmax(axis=0), _score_leads(scores.T)
    sure = (leads >= least) & (counter[best] >= least) & (back[best] == np.arange(len(best)))
    return {**fixed, **{int(i): int(best[i]) for i in np.flatnonzero(sure)}}


def _score_leads(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """By how many standard deviations the best score of each row leads the second."""
    if scores.shape[1] < 2:
        return np.zeros(len(scores))
    top = np.partition(scores, -2, axis=1)[:, -2:]
    spread = scores.std(axis=1)
    return np.asarray((top[:, 1] - top[:, 0]) / np.where(spread > 0, spread, 1.0))
