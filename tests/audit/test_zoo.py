"""The auditor catches every broken mechanism of the zoo, and leaves its repaired twin alone.

The zoo is seeded, so these are the same samples each time; with fresh ones, each twin whose claim is tight would be
refuted wrongly with a probability of at most 5%.
"""

from __future__ import annotations

import json
import math
import os
import re
from pathlib import Path

import numpy as np
import pytest

from hubbub.audit import zoo
from hubbub.audit._confidence_limits import largest_bound

EXHIBITS = list(zoo.EXHIBITS.values())
NAMES = list(zoo.EXHIBITS)
REFERENCES = (Path(__file__).parents[2] / "docs" / "references.bib").read_text(encoding="utf-8")


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=NAMES)
def test_a_broken_mechanism_is_caught_and_its_twin_is_left_alone(exhibit: zoo.Exhibit) -> None:
    broken, fixed = exhibit.audit(), exhibit.audit(fixed=True)
    assert broken.refuted, broken.verdict
    assert not fixed.refuted, fixed.verdict


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=NAMES)
def test_no_bound_is_above_the_truth(exhibit: zoo.Exhibit) -> None:
    assert exhibit.true is not None
    assert exhibit.audit(trials=20_000).bound <= min(exhibit.true, largest_bound(20_000))


def test_every_fault_that_must_be_there_is() -> None:
    for words in (
        "off by two",
        "dimension",
        "clipped",
        "square root",
        "subsampling",
        "wrong coin",
        "releases the value",
        "without the half",
        "doubles",
        "fork",
        "group keys",
        "Gaussian at epsilon 10",
    ):
        assert any(words in name for name in NAMES), words
    assert sum("sparse vector" in name for name in NAMES) == 4


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("sparse vector without noise on the answers", 7.0),
        ("noisy max that releases the value", 3.5),
        ("exponential mechanism without the half", 1.7),
        ("sparse vector with unlimited positives", 2.0),
    ],
)
def test_as_much_is_found_as_was_asked_for(name: str, least: float) -> None:
    assert np.median([zoo.EXHIBITS[name].audit().bound for _ in range(3)]) >= least


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=NAMES)
def test_every_exhibit_tells_its_story_and_its_source(exhibit: zoo.Exhibit) -> None:
    assert len(exhibit.story) > 30
    assert re.search(rf"^@\w+\{{{exhibit.source},", REFERENCES, re.MULTILINE)


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=NAMES)
def test_one_outcome_at_a_time_works_too(exhibit: zoo.Exhibit) -> None:
    for mechanism in (exhibit.broken, exhibit.fixed):
        assert len(mechanism(exhibit.a, 1)) == len(mechanism(exhibit.b, 1)) == 1


def test_a_forked_worker_really_repeats_the_noise() -> None:
    """What the exhibit copies by hand is what a fork does."""
    generator = np.random.default_rng(1)
    drawn = []
    for _ in range(2):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writer, generator.laplace(0, 2.0, 4).tobytes())
            os._exit(0)
        os.close(writer)
        drawn.append(np.frombuffer(os.read(reader, 1000)))
        os.close(reader)
        os.waitpid(child, 0)
    assert np.array_equal(*drawn)
    assert len(drawn[0]) == 4


def test_the_holes_of_doubles_are_those_of_the_literature() -> None:
    """[Mir12]: below 1/2, noise alone has bits finer than 2^-53, and a sum with 1 never has."""
    from hubbub.audit.zoo.machines import textbook_laplace

    alone, shifted = textbook_laplace(0.0, 20_000), textbook_laplace(1.0, 20_000)
    assert np.mean(alone * 2.0**53 != np.rint(alone * 2.0**53)) > 0.2
    assert np.all(shifted * 2.0**53 == np.rint(shifted * 2.0**53))


def test_a_tour_is_a_table_a_picture_and_a_document() -> None:
    few = [zoo.EXHIBITS["sensitivity off by two"], zoo.EXHIBITS["noise in porous doubles"]]
    told = zoo.tour(few, trials=20_000)
    assert all(stop.caught for stop in told.stops)
    assert "2 of 2 exhibits" in str(told)
    assert "caught" in str(told)
    document = json.loads(json.dumps(told.to_json()))
    assert [one["infinite"] for one in document["exhibits"]] == [False, True]
    assert document["exhibits"][0]["true"] == 2.0
    assert set(told.svgs()) == {"zoo"}


def test_a_twin_that_is_broken_too_would_not_pass() -> None:
    exhibit = zoo.EXHIBITS["sensitivity off by two"]
    twin = zoo.Exhibit(**{**{f: getattr(exhibit, f) for f in exhibit.__slots__}, "fixed": exhibit.broken})
    [stop] = zoo.tour([twin], trials=20_000).stops
    assert not stop.caught
    assert not math.isinf(exhibit.true)
