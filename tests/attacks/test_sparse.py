"""Sparse data: a few ratings find a record, four points a trace, and coarse or mixed data keep theirs."""

from __future__ import annotations

import numpy as np
import pyarrow
import pytest

from hubbub.attacks import link_sparse, populations, unicity
from hubbub.attacks.linkage.sparse_linkage import SparseLinkage
from hubbub.attacks.populations import Ratings
from hubbub.terms import OutOfRange, Unsuitable


@pytest.fixture(scope="module")
def films() -> Ratings:
    return populations.ratings()


def attack(films: Ratings, released: pyarrow.Table | None = None, **options: object) -> SparseLinkage:
    told = {"record": "record", "person": "name", "item": "film", "tolerances": {"stars": 1.5, "day": 30}}
    return link_sparse(
        films.released if released is None else released, films.public, truth=films.truth, **told | options
    )


def test_eight_reviews_find_nearly_every_record(films: Ratings) -> None:
    found = attack(films)
    assert found.right >= 90
    assert found.succeeded


def test_strangers_are_mostly_left_alone(films: Ratings) -> None:
    assert attack(films).wrong <= 5


def test_a_lower_threshold_names_more_strangers(films: Ratings) -> None:
    assert attack(films, eccentricity=0).wrong > 50
    assert attack(films, eccentricity=1.5).wrong > attack(films).wrong


def test_an_infinitely_cautious_attacker_names_nobody(films: Ratings) -> None:
    found = attack(films, eccentricity=10**6)
    assert found.named == {}
    assert not found.succeeded


def test_four_reviews_still_find_most() -> None:
    assert attack(populations.ratings(reviews=4)).right > 60


def test_without_dates_and_stars_fewer_are_found(films: Ratings) -> None:
    assert attack(films, tolerances=None).right < attack(films).right


def test_ratings_dealt_out_anew_keep_everybody_hidden(films: Ratings) -> None:
    """Each film keeps its ratings; whose they are is mixed, so there is nobody to find."""
    mixed = np.random.default_rng(1).permutation(np.asarray(films.released.column("record")))
    found = attack(films, films.released.set_column(0, "record", pyarrow.array(mixed)))
    assert found.right <= 2
    assert not found.succeeded


def test_items_that_nobody_shares_are_refused(films: Ratings) -> None:
    other = films.public.set_column(1, "film", pyarrow.array(np.full(films.public.num_rows, -1)))
    with pytest.raises(Unsuitable, match="no film in common"):
        link_sparse(films.released, other, record="record", person="name", item="film")


def test_bad_columns_and_tolerances_are_refused(films: Ratings) -> None:
    with pytest.raises(Unsuitable, match="no column 'price'"):
        attack(films, tolerances={"price": 1})
    with pytest.raises(OutOfRange):
        attack(films, tolerances={"stars": 0})
    words = films.released.set_column(2, "stars", pyarrow.array(["many"] * films.released.num_rows))
    with pytest.raises(Unsuitable, match="does not hold numbers or dates"):
        attack(films, words)


# ---------------------------------------------------------------- four points


@pytest.fixture(scope="module")
def city() -> pyarrow.Table:
    return populations.places()


def test_four_points_tell_nearly_everybody_from_all_others(city: pyarrow.Table) -> None:
    found = unicity(city, person="person", at=["antenna", "hour"], points=4, people=300)
    assert found.share > 0.95
    assert found.shares[0] < 0.5
    assert list(found.shares) == sorted(found.shares)


def test_regions_and_weeks_tell_nobody(city: pyarrow.Table) -> None:
    found = unicity(city, person="person", at=["region", "week"], points=4, people=300)
    assert found.share < 0.02
    assert not found.succeeded


def test_coarser_hours_alone_hardly_help(city: pyarrow.Table) -> None:
    assert unicity(city, person="person", at=["antenna", "week"], points=4, people=300).share > 0.8


def test_crowds_are_those_of_a_nested_loop() -> None:
    rng = np.random.default_rng(0)
    table = {"who": rng.integers(0, 12, 200), "where": rng.integers(0, 15, 200)}
    traces = {w: {p for q, p in zip(table["who"], table["where"], strict=True) if q == w} for w in set(table["who"])}
    found = unicity(table, person="who", at=["where"], points=3, people=12, seed=5)
    assert (found.crowds[:, 0] >= found.crowds[:, 1]).all()
    singles = {sum(p in trace for trace in traces.values()) for p in set(table["where"])}
    assert set(found.crowds[:, 0].tolist()) <= singles
    assert found.people == len(traces)


def test_traces_that_are_too_short_are_refused(city: pyarrow.Table) -> None:
    with pytest.raises(Unsuitable, match="different points"):
        unicity(city, person="person", at=["week"], points=5)
