"""Everything of ours that claims an epsilon is audited: mechanisms, plans of SQL, randomizers, estimators.

Each audit is at 99.99%: a correct one would be refuted with probability 1e-4 at most, so all of them together with
probability 1% at most. Noise is seeded where a source can be given; `make soak` runs ten times as long.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from hubbub import mechanisms, noise
from hubbub.noise.testing import seeded
from hubbub.sql.pricing.price import Price
from hubbub.terms import Neighbours

from . import entries_learn, entries_local, entries_mechanisms, entries_sql
from ._entries import SURE, Entry

ALL = [*entries_mechanisms.ENTRIES, *entries_sql.ENTRIES, *entries_local.ENTRIES, *entries_learn.ENTRIES]


@pytest.fixture
def same_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """The noise of whatever takes no source of its own, from a seeded one."""
    source = seeded(30)

    def drawing(draw: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given, rng=None, **more: draw(*given, rng=rng or source, **more)

    for name in ("discrete_gaussian", "discrete_laplace"):
        monkeypatch.setattr(noise, name, drawing(getattr(noise, name)))


@pytest.mark.usefixtures("same_noise")
@pytest.mark.parametrize("entry", ALL, ids=[entry.name for entry in ALL])
def test_what_we_claim_is_not_refuted(entry: Entry, soak: int) -> None:
    found = entry.audit(soak)
    assert found.problem is None
    assert not found.refuted, found.verdict


def test_all_audits_together_cry_wolf_at_most_once_in_a_hundred() -> None:
    assert len(ALL) * (1 - SURE) <= 0.01


# ---------------------------------------------------------------- nothing is left out


def test_every_mechanism_is_audited() -> None:
    assert {entry.covers for entry in entries_mechanisms.ENTRIES} == set(mechanisms.__all__)


def test_every_randomizer_is_audited() -> None:
    assert {entry.covers for entry in entries_local.ENTRIES} == set(entries_local.public())


def test_every_estimator_and_solver_is_audited() -> None:
    assert {entry.covers for entry in entries_learn.ENTRIES} == set(entries_learn.public())


def test_plans_are_audited_under_both_relations() -> None:
    assert {entry.neighbours for entry in entries_sql.ENTRIES} == {relation.value for relation in Neighbours}


# ---------------------------------------------------------------- and these audits can fail


@pytest.mark.parametrize("name", ["Geometric", "RandomizedResponse", "Laplace", "Histogram", "DiscreteGaussian"])
def test_a_mechanism_that_claims_half_its_cost_is_refuted(name: str) -> None:
    entry = next(entry for entry in entries_mechanisms.ENTRIES if entry.covers == name)
    assert replace(entry, epsilon=entry.epsilon / 2).audit().refuted


@pytest.mark.usefixtures("same_noise")
@pytest.mark.parametrize("question", ["count", "sum", "public keys"])
def test_a_plan_with_an_eighth_of_the_noise_is_refuted(question: str) -> None:
    price = replace(entries_sql.QUESTIONS[question][1], epsilon=Fraction(8))
    assert entries_sql.entry(question, Neighbours.ADD_REMOVE, price=price).audit().refuted


@pytest.mark.usefixtures("same_noise")
def test_a_plan_whose_keys_are_not_chosen_privately_is_refuted() -> None:
    half = Fraction(495, 1000)  # so large a delta lets a single person's key pass
    everything = Price(epsilon=Fraction(1), tail=half, own=half)
    entry = entries_sql.entry("unknown keys", Neighbours.ADD_REMOVE, price=everything)
    assert entry.audit(4).refuted


@pytest.mark.parametrize("name", ["KaryResponse", "UnaryEncoding", "Piecewise", "LocalLaplace"])
def test_a_randomizer_that_claims_half_its_cost_is_refuted(name: str) -> None:
    entry = next(entry for entry in entries_local.ENTRIES if entry.covers == name)
    assert replace(entry, epsilon=entry.epsilon / 2).audit().refuted


@pytest.mark.parametrize("name", ["LogisticRegression", "output_perturbation", "gradient_descent"])
def test_an_estimator_with_a_tenth_of_the_noise_is_refuted(name: str) -> None:
    assert entries_learn.entry(name, epsilon=60, claim=1.0).audit(2).refuted
