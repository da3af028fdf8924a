"""Terms survive JSON, match their schema, and everything ever written stays readable."""

from __future__ import annotations

import dataclasses
import json
import pickle
from fractions import Fraction
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub.terms import (
    ApproximateDP,
    ApproximateStep,
    Budget,
    Compose,
    ConcentratedStep,
    EmptyInput,
    Event,
    ExponentialChoice,
    GaussianDP,
    GaussianKeys,
    GaussianNoise,
    Guarantee,
    HubbubError,
    LaplaceNoise,
    Neighbours,
    NewerFormat,
    Parallel,
    Poisson,
    PureDP,
    PureStep,
    Receipt,
    RenyiDP,
    Repeat,
    Unit,
    Unreadable,
    WithoutReplacement,
    WrongShape,
    ZeroConcentratedDP,
    from_json,
    schema,
    to_json,
)
from hubbub.terms.json_form import _KEYS

from ..renaming import renamed_classes

FIXTURES = Path(__file__).parent.parent / "fixtures" / "terms"

positive = st.fractions(min_value=Fraction(1, 10**9), max_value=10**9)
chance = st.fractions(min_value=Fraction(1, 10**9), max_value=Fraction(999, 1000))
words = st.text(st.characters(exclude_categories=["C", "Z"]), max_size=20)  # what a terminal shows as it is
about = {"neighbours": st.sampled_from(Neighbours), "unit": st.builds(Unit, words)}
steps = st.one_of(
    st.builds(LaplaceNoise, scale=positive, sensitivity=positive, grid=positive, dimension=st.integers(1, 99), **about),
    st.builds(GaussianNoise, sigma=positive, sensitivity=positive, grid=positive, **about),
    st.builds(GaussianKeys, sigma=positive, sensitivity=positive, grid=positive, own=chance, **about),
    st.builds(ExponentialChoice, epsilon=positive, **about),
    st.builds(PureStep, mechanism=words, epsilon=positive, **about),
    st.builds(ApproximateStep, mechanism=st.just("keys"), epsilon=positive, delta=chance, **about),
    st.builds(ConcentratedStep, mechanism=st.just("x"), rho=positive, delta=chance, **about),
)


def composed(inner: st.SearchStrategy[Event]) -> st.SearchStrategy[Event]:
    several = st.lists(inner, min_size=1, max_size=3).map(tuple)
    return st.one_of(
        st.builds(Compose, several),
        st.builds(Parallel, several),
        st.builds(Repeat, inner, st.integers(1, 10**6)),
        st.builds(Poisson, inner, chance),
        st.builds(WithoutReplacement, inner, st.integers(1, 10), st.integers(10, 100)),
    )


events = st.recursive(steps, composed, max_leaves=5)
measures = st.one_of(
    st.builds(PureDP, positive),
    st.builds(ApproximateDP, positive, chance),
    st.builds(ZeroConcentratedDP, positive, chance),
    st.builds(GaussianDP, positive),
    st.just(RenyiDP((2.0, 4.0), (0.5, 1.0))),
)
terms = st.one_of(
    events,
    measures,
    st.builds(Guarantee, measures, about["unit"], about["neighbours"], st.just(("Charged to no ledger.",))),
    st.builds(Budget, positive, chance),
    st.builds(
        Receipt, st.text(), st.integers(0), st.text(), st.text(), events, measures, st.just("2026-01-01T00:00:00Z")
    ),
    about["unit"],
)


@given(terms)
def test_json_gives_back_the_same_term(term) -> None:
    text = json.dumps(to_json(term))
    assert from_json(json.loads(text)) == term


@given(terms)
def test_json_matches_its_schema(term) -> None:
    document = to_json(term)
    jsonschema.validate(document, schema(document["hubbub"].partition("/")[0]))


@given(events)
def test_events_are_values(event: Event) -> None:
    assert hash(pickle.loads(pickle.dumps(event))) == hash(event)
    assert list(event.steps())
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(event, dataclasses.fields(event)[0].name, None)


def test_no_class_name_is_in_what_is_stored() -> None:
    stored = [entry["stored"] for entry in json.loads((FIXTURES / "format-1.json").read_text())]
    families = [schema(name) for name in ("event", "measure", "guarantee", "budget", "receipt", "unit")]
    read = [from_json(document) for document in stored]
    before = [json.dumps(to_json(term)) for term in read]
    with renamed_classes() as count:
        assert count
        assert [json.dumps(to_json(term)) for term in read] == before
        assert [from_json(json.loads(text)) for text in before] == read
        assert [schema(family["title"].split()[1].rstrip(",")) for family in families] == families


def test_every_field_has_its_stored_key() -> None:
    for kind, keys in _KEYS.items():
        assert list(keys.values()) == [field.name for field in dataclasses.fields(kind)], kind


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.json")), ids=lambda p: p.stem)
def test_every_form_ever_written_stays_readable(path: Path) -> None:
    """Never edit these fixtures: they are what ledgers hold. A new form is a new file."""
    for entry in json.loads(path.read_text()):
        assert repr(from_json(entry["stored"])) == entry["means"]


def test_there_is_a_fixture_for_every_kind() -> None:
    files = sorted(FIXTURES.glob("*.json"))
    stored = [entry for path in files for entry in json.loads(path.read_text())]
    kinds = {entry["stored"].get("kind", entry["stored"]["hubbub"].partition("/")[0]) for entry in stored}
    assert kinds == {
        *("laplace", "gaussian", "exponential", "pure", "approximate", "concentrated"),
        "gaussian-keys",
        *("compose", "repeat", "parallel", "poisson", "without-replacement"),
        *("pure-dp", "approximate-dp", "zcdp", "renyi-dp", "gaussian-dp"),
        *("guarantee", "budget", "receipt", "unit"),
    }


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"hubbub": "event"},
        {"hubbub": "spell/1"},
        {"hubbub": "event/1", "kind": "unheard-of"},
        {"hubbub": "event/1", "kind": "pure", "mechanism": "x", "epsilon": 1.0},
        {"hubbub": "event/1", "kind": "pure", "mechanism": "x", "epsilon": "1", "extra": 1},
        {"hubbub": "event/1", "kind": "pure", "mechanism": "x", "epsilon": "-1"},
        {"hubbub": "event/1", "kind": "pure", "mechanism": "x"},
        {"hubbub": "event/1", "kind": "repeat", "event": [], "times": 2},
        {"hubbub": "event/1", "kind": "repeat", "event": {"kind": "pure"}, "times": True},
        {"hubbub": "budget/1", "epsilon": "1", "delta": "zero", "rho": None},
    ],
    ids=str,
)
def test_anything_else_is_unreadable(document: dict) -> None:
    with pytest.raises(Unreadable):
        from_json(document)


def test_a_newer_format_is_not_guessed_at() -> None:
    with pytest.raises(NewerFormat):
        from_json({"hubbub": "event/2", "kind": "pure"})


def test_nonsense_events_cannot_be_made() -> None:
    one = PureStep(mechanism="x", epsilon=Fraction(1))
    for make in (
        lambda: LaplaceNoise(scale=Fraction(0), sensitivity=Fraction(1), grid=Fraction(1)),
        lambda: PureStep(mechanism="x", epsilon=Fraction(-1)),
        lambda: ApproximateStep(mechanism="x", epsilon=Fraction(1), delta=Fraction(1)),
        lambda: Repeat(one, 0),
        lambda: Poisson(one, Fraction(2)),
        lambda: WithoutReplacement(one, 5, 4),
    ):
        with pytest.raises(HubbubError):
            make()
    with pytest.raises(EmptyInput):
        Compose(())
    with pytest.raises(WrongShape):
        RenyiDP((2.0,), ())


def test_a_guarantee_reads_as_sentences() -> None:
    person = Guarantee(PureDP(Fraction(1)), Unit("patients.id"), Neighbours.ADD_REMOVE, ("Time is not covered.",))
    assert person.describe() == (
        "Whether everything about one person (patients.id) is in the data or not changes little: epsilon = 1. "
        "Time is not covered."
    )
    assert "one row has these or any other values" in Guarantee(PureDP(1), Unit(), Neighbours.REPLACE).describe()


def test_errors_survive_pickling_with_their_parts() -> None:
    error = NewerFormat("a", why="b", fix="c")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.what, again.why, again.fix) == (NewerFormat, "a", "b", "c")
    assert str(again) == "NewerFormat [P302]: a\n  b\n  c\n  docs: errors/P302"
