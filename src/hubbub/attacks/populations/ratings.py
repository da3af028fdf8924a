"""Ratings of films, released without names, and the few that some of the same people made public elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hubbub.terms import whole

if TYPE_CHECKING:
    import pyarrow

_DAYS = 6 * 365  # over which the ratings are spread


@dataclass(frozen=True, eq=False)
class Ratings:
    """The release (``record``, ``film``, ``stars``, ``day``) and public reviews, with ``name`` in place of ``record``.

    ``truth`` says which record belongs to a name, and leaves out the names that were never in the release.
    """

    released: pyarrow.Table
    public: pyarrow.Table
    truth: dict[str, int]


def ratings(
    people: int = 2_000,
    *,
    films: int = 1_500,
    reviewers: int = 100,
    strangers: int = 100,
    reviews: int = 8,
    seed: int = 0,
) -> Ratings:
    """People who rate about 40 films each, few of them popular and most obscure, as in any such collection.

    ``reviewers`` of them publish ``reviews`` of their ratings under a name, two weeks late or early and sometimes a
    star off, a quarter of them of films that they never rated in the release. As many reviews come from
    ``strangers`` who are not in the release at all: whoever finds them there is wrong.

    >>> small = ratings(people=200, films=300, reviewers=5, strangers=5)
    >>> len(small.truth), small.public.num_rows
    (5, 80)
    """
    count, rng = whole(people, name="people", least=2), np.random.default_rng(seed)
    popularity = 1 / np.arange(1, whole(films, name="films", least=50) + 1) ** 0.8
    everybody = [_draw_ratings(popularity, rng) for _ in range(count + strangers)]
    chosen = [*rng.choice(count, size=reviewers, replace=False), *range(count, count + strangers)]
    public = [_public_reviews(everybody[person], len(popularity), reviews, rng) for person in chosen]
    names = [f"reviewer {i:03d}" for i in rng.permutation(len(chosen))]
    truth = {name: int(person) for name, person in zip(names, chosen, strict=True) if person < count}
    return Ratings(
        _ratings_table(everybody[:count], range(count), "record"), _ratings_table(public, names, "name"), truth
    )


_Rows = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]  # films, stars, days


def _draw_ratings(popularity: NDArray[np.float64], rng: np.random.Generator) -> _Rows:
    size = min(len(popularity) // 2, 5 + int(rng.lognormal(3.3, 0.6)))
    films = np.argsort(-(np.log(popularity) + rng.gumbel(size=len(popularity))))[:size]  # drawn without replacement
    stars = np.clip(np.rint(rng.normal(3.6, 1.1, size)), 1, 5).astype(np.int64)
    return films, stars, rng.integers(0, _DAYS, size)


def _public_reviews(rows: _Rows, catalogue: int, size: int, rng: np.random.Generator) -> _Rows:
    films, stars, days = rows
    mine = rng.choice(len(films), size=min(size, len(films)), replace=False)
    shown = films[mine].copy()
    invented = rng.random(len(mine)) < 0.25
    shown[invented] = rng.integers(0, catalogue, invented.sum())
    slips = rng.choice([-1, 0, 1], p=[0.15, 0.7, 0.15], size=len(mine))
    return shown, np.clip(stars[mine] + slips, 1, 5), days[mine] + rng.integers(-14, 15, len(mine))


def _ratings_table(rows: Sequence[_Rows], owners: Sequence[object], called: str) -> pyarrow.Table:
    import pyarrow as pa

    lengths = [len(films) for films, _, _ in rows]
    who = pa.array(owners).take(pa.array(np.repeat(np.arange(len(rows)), lengths)))
    films, stars, days = (np.concatenate(parts) for parts in zip(*rows, strict=True))
    return pa.table({called: who, "film": films, "stars": stars, "day": days})
