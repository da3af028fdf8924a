"""Where phones were, hour by hour: people who sleep, work and stroll, seen by the nearest antenna."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hubbub.terms import whole

if TYPE_CHECKING:
    import pyarrow

_SIDE = 20  # antennas along each side of the city
_REGION = 10  # antennas along each side of a region
_WORK = range(9, 18)


def places(people: int = 2_000, *, days: int = 28, calls: int = 4, seed: int = 0) -> pyarrow.Table:
    """Traces of ``people`` with about ``calls`` sightings a day, each with antenna, region, hour and week.

    Everybody has a home, a place of work, and other places nearby. An hour is one of the whole time, so a point is
    an antenna and an hour; a region has 100 antennas, a week 168 hours.

    >>> places(people=10, days=7).column_names
    ['person', 'antenna', 'region', 'hour', 'week']
    """
    import pyarrow as pa

    count, rng = whole(people, name="people", least=2), np.random.default_rng(seed)
    per_person = rng.poisson(whole(calls, name="calls") * whole(days, name="days"), size=count) + 1
    who = np.repeat(np.arange(count), per_person)
    hour = rng.integers(0, days, len(who)) * 24 + _waking_hours(len(who), rng)
    home, work = _central_points(count, rng, 0.3), _central_points(count, rng, 0.15)
    at = np.where(np.isin(hour % 24, _WORK)[:, None], work[who], home[who])
    stroll = rng.random(len(who)) < 0.35
    at[stroll] += rng.normal(0, 0.12, size=(int(stroll.sum()), 2))
    cell = np.clip((at * _SIDE).astype(np.int64), 0, _SIDE - 1)
    antenna, region = _cell_number(cell, _SIDE), _cell_number(cell // _REGION, _SIDE // _REGION)
    return pa.table({"person": who, "antenna": antenna, "region": region, "hour": hour, "week": hour // 168})


def _waking_hours(count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Hours of the day, mostly between seven and midnight."""
    return np.clip(np.rint(rng.normal(15, 4.5, count)), 0, 23).astype(np.int64)


def _central_points(count: int, rng: np.random.Generator, spread: float) -> NDArray[np.float64]:
    """Points in the unit square, denser towards the middle."""
    return np.clip(rng.normal(0.5, spread, size=(count, 2)), 0, 0.999)


def _cell_number(cell: NDArray[np.int64], side: int) -> NDArray[np.int64]:
    return cell[:, 0] * side + cell[:, 1]
