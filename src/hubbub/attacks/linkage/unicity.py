"""Unicity: how many points of a trace, such as antenna and hour, are enough to tell it from all others [MHVB13]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hubbub.attacks import plain_tables
from hubbub.attacks.plain_tables import PlainTable
from hubbub.attacks.report import Attack, count_of, share_of
from hubbub.explain import Figure
from hubbub.render import Json, out_of_100
from hubbub.render import bars as text_bars
from hubbub.render.charts import Bar, bar_chart, percentage
from hubbub.terms import Unsuitable, whole


def unicity(
    trajectories: PlainTable, *, person: str, at: Sequence[str], points: int = 4, people: int = 500, seed: int = 0
) -> Unicity:
    """Draw ``points`` random points of a person's trace, and count whose traces have all of them.

    ``trajectories`` has a row per sighting; the columns ``at`` make a point, for example antenna and hour: coarser
    columns, such as region and week, show what coarsening buys. ``people`` are drawn among those who have enough
    different points, and the count is made for 1, 2, ... ``points`` points.

    >>> from hubbub.attacks import populations
    >>> found = unicity(populations.places(people=300), person="person", at=["antenna", "hour"])
    >>> found.share > 0.9
    True
    """
    rows = plain_tables.read_table(trajectories, called="trajectories")
    plain_tables.known_columns(rows, [person, *at], called="trajectories")
    most, wanted = whole(points, name="points"), whole(people, name="people")
    traces, owners = _index_points(plain_tables.row_codes(rows, [person]), plain_tables.row_codes(rows, at))
    rng = np.random.default_rng(seed)
    able = [i for i, trace in enumerate(traces) if len(trace) >= most]
    if not able or len(traces) < 2:
        raise Unsuitable(
            f"nobody has {most:,} different points, or there is only one person.",
            why="A trace is told from others by some of its points.",
            fix="Ask for fewer points, or give longer traces.",
        )
    chosen = rng.choice(able, size=min(wanted, len(able)), replace=False)
    crowds = np.array([_crowd_sizes(rng.permutation(traces[i])[:most], owners) for i in chosen])
    return Unicity(tuple(at), len(traces), crowds)


@dataclass(frozen=True, slots=True, eq=False)
class Unicity(Attack):
    """How many traces have all of the first 1, 2, ... points: a row per tried person, a column per number of points."""

    kind: ClassVar[str] = "unicity"
    name: ClassVar[str] = "A few points"

    at: tuple[str, ...]
    people: int
    crowds: NDArray[np.int64]

    @property
    def points(self) -> int:
        """The largest number of points that was tried."""
        return int(self.crowds.shape[1])

    @property
    def shares(self) -> tuple[float, ...]:
        """The share of people who are alone with 1, 2, ... points."""
        return tuple(float(share) for share in np.mean(self.crowds == 1, axis=0))

    @property
    def share(self) -> float:
        """The share of people who are alone with all points."""
        return self.shares[-1]

    @property
    def succeeded(self) -> bool:
        """Whether so few points tell most people from all others."""
        return self.share > 0.5

    @property
    def title(self) -> str:
        """What was tried."""
        return f"How many people are alone with {self.points} points of their trace?"

    @property
    def headline(self) -> str:
        """What was found, in one sentence."""
        people = "All" if self.share == 1 else out_of_100(self.share).capitalize()
        points = f"{self.points} random points ({' and '.join(self.at)})"
        return f"{people} people are alone among {self.people:,} with {points} of their trace."

    def numbers(self) -> dict[str, Json]:
        """What was found, for programs."""
        return {
            "at": list(self.at),
            "people": self.people,
            "tried": len(self.crowds),
            "unique_share": {str(i): share for i, share in enumerate(self.shares, 1)},
        }

    def facts(self) -> tuple[tuple[str, str], ...]:
        """What was found, for people."""
        alone = np.sum(self.crowds == 1, axis=0)
        return (
            ("traces", f"{self.people:,}"),
            ("tried", f"{len(self.crowds):,}"),
            *((f"alone with {_points_text(i)}", count_of(int(n), len(self.crowds))) for i, n in enumerate(alone, 1)),
        )

    def figure(self) -> Figure:
        """The share of people who are alone, by the number of points."""
        steps = [(_points_text(i), share, share_of(share)) for i, share in enumerate(self.shares, 1)]
        svg = bar_chart(
            [Bar(name, share, shown=shown) for name, share, shown in steps],
            title="Who is alone, by the number of points known",
            description="; ".join(f"{name}: {shown}" for name, _, shown in steps) + ".",
            label="share of people who are alone",
            show=percentage,
            include=(1.0,),
        )
        return Figure(self.kind, svg, "Each point known cuts the crowd further.", text_bars(steps))

    def meaning(self) -> tuple[str, ...]:
        """What it means for the people in the data."""
        if not self.succeeded:
            return (
                "These points are coarse enough that most people share them with somebody. More points may not be.",
            )
        return (
            "A pseudonym does not hide a trace. Whoever saw somebody a few times, or has a few receipts or photographs "
            "with a place and a time, finds the trace, and with it everywhere else that this person was.",
        )

    def remedy(self) -> tuple[str, ...]:
        """What would have helped."""
        return (
            "Coarser places and times help slowly: [MHVB13] found that the share falls only with a small power of the "
            "resolution, and a few more points make up for it. Counts of people by place and hour, with noise for "
            "all points of a person together, can be published instead.",
        )


def _points_text(number: int) -> str:
    return f"{number} point{'s' if number > 1 else ''}"


def _index_points(
    people: NDArray[np.int64], points: NDArray[np.int64]
) -> tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]]:
    """The different points of each person, and the different people of each point, both in order."""
    seen = np.unique(np.stack([people, points]), axis=1)
    traces = np.split(seen[1], np.flatnonzero(np.diff(seen[0])) + 1)
    turned = seen[:, np.lexsort((seen[0], seen[1]))]
    return traces, np.split(turned[0], np.flatnonzero(np.diff(turned[1])) + 1)


def _crowd_sizes(trace: NDArray[np.int64], owners: list[NDArray[np.int64]]) -> list[int]:
    """How many people have the first point, the first two, and so on."""
    crowd, sizes = owners[trace[0]], []
    for point in trace:
        crowd = np.intersect1d(crowd, owners[point], assume_unique=True)
        sizes.append(len(crowd))
    return sizes
