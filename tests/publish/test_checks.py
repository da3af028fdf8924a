"""Models and checks: each agrees with a slow computation from its definition, alone and for many classes at once."""

from __future__ import annotations

from collections import Counter
from math import exp, inf, log

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hubbub.publish import (
    Categories,
    Checked,
    DistinctL,
    EntropyL,
    Hierarchy,
    Intervals,
    KAnonymity,
    PrivacyModel,
    RecursiveL,
    TCloseness,
    check,
)
from hubbub.terms import EmptyInput, HubbubError, NotANumber, OutOfRange

ILLS = Categories(
    {"lungs": {"virus": ["flu", "cold"], "other": ["asthma"]}, "stomach": {"acid": ["ulcer", "gastritis"]}}
)


def wards(secrets: list[list[object]]) -> pa.Table:
    """One class for each list of sensitive values."""
    classes = [i for i, inside in enumerate(secrets) for _ in inside]
    return pa.table({"ward": classes, "ill": [value for inside in secrets for value in inside]})


def checked(secrets: list[list[object]], hierarchy: Hierarchy | None = None) -> Checked:
    return check(wards(secrets), quasi_identifiers=["ward"], sensitive="ill", hierarchy=hierarchy)


def earth_mover(p: np.ndarray, q: np.ndarray, distance: np.ndarray) -> float:
    """The cheapest way to move p to q, as a linear program."""
    from scipy.optimize import linprog

    m = len(p)
    rows = np.kron(np.eye(m), np.ones(m))
    columns = np.kron(np.ones(m), np.eye(m))
    found = linprog(distance.ravel(), A_eq=np.vstack([rows, columns]), b_eq=np.concatenate([p, q]), method="highs")
    return float(found.fun)


def slow_t(secrets: list[list[object]], values: list[object], distance: np.ndarray) -> float:
    everybody = [value for inside in secrets for value in inside]
    q = np.array([everybody.count(value) for value in values]) / len(everybody)
    return max(
        earth_mover(np.array([inside.count(value) for value in values]) / len(inside), q, distance)
        for inside in secrets
    )


def classes_of(values: list[object]) -> st.SearchStrategy[list[list[object]]]:
    return st.lists(st.lists(st.sampled_from(values), min_size=1, max_size=8), min_size=1, max_size=5)


@settings(max_examples=40, deadline=None)
@given(classes_of([3, 5, 9, 40, 41]))
def test_the_ordered_distance_is_the_earth_movers(secrets: list[list[object]]) -> None:
    values = sorted({value for inside in secrets for value in inside})  # type: ignore[type-var]
    places = np.arange(len(values))
    distance = np.abs(places[:, None] - places) / max(len(values) - 1, 1)
    assert checked(secrets).measures[0].t == pytest.approx(slow_t(secrets, values, distance), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(classes_of(["flu", "cold", "asthma", "ulcer"]))
def test_the_equal_distance_is_the_earth_movers(secrets: list[list[object]]) -> None:
    values = sorted({value for inside in secrets for value in inside})  # type: ignore[type-var]
    expected = slow_t(secrets, values, 1.0 - np.eye(len(values)))
    assert checked(secrets).measures[0].t == pytest.approx(expected, abs=1e-9)


def climb(one: str, other: str) -> float:
    """How far up the tree of illnesses two of them meet, as a share of its height."""
    paths = [(name, *ILLS.paths[name], "*") for name in (one, other)]
    return next(i for i, (a, b) in enumerate(zip(*paths, strict=True)) if a == b) / 3


@settings(max_examples=40, deadline=None)
@given(classes_of(list(ILLS.paths)))
def test_the_hierarchical_distance_is_the_earth_movers(secrets: list[list[object]]) -> None:
    values = list(ILLS.paths)
    distance = np.array([[climb(a, b) for b in values] for a in values])
    found = checked(secrets, ILLS).measures[0].t
    assert found == pytest.approx(slow_t(secrets, list(values), distance), abs=1e-9)


def test_the_salaries_of_the_paper() -> None:
    """The example of [LLV07]: salaries 3k..11k; {3k, 4k, 5k} is 0.375 away and {6k, 8k, 11k} 0.167."""
    salaries = [3, 4, 5, 6, 7, 8, 9, 10, 11]
    near, far = [6, 8, 11], [3, 4, 5]
    for inside, expected in ((far, 0.375), (near, 1 / 6)):
        rest = [s for s in salaries if s not in inside]
        found = check(wards([inside, rest]), quasi_identifiers=["ward"], models=[TCloseness(expected, "ill")])
        assert found.holds
        alone = TCloseness(expected - 0.001, "ill")
        assert check(wards([inside, rest]), quasi_identifiers=["ward"], models=[alone]).broken == (alone,)


@pytest.mark.parametrize("model", [DistinctL(2, "ill"), EntropyL(1.5, "ill"), RecursiveL(3, 2, "ill")], ids=str)
def test_a_missing_value_makes_no_class_diverse(model: PrivacyModel) -> None:
    """Of flu, flu and missing, everybody whose illness is known has flu."""

    def holds(*secrets: list[object]) -> bool:
        return check(wards(list(secrets)), quasi_identifiers=["ward"], models=[model]).holds

    mixed: list[object] = ["flu", "hay", None]
    assert holds(mixed, mixed)
    assert not holds(mixed, ["flu", "flu", None])
    assert not holds(mixed, [None, None, None])  # no value, so not two
    assert not holds([None, None], ["flu", "flu"])


@settings(max_examples=80, deadline=None)
@given(classes_of(["a", "b", "c", "d"]), st.integers(2, 4), st.sampled_from([0.5, 1, 2.0, 3]))
def test_diversity_is_as_defined(secrets: list[list[object]], l: int, c: float) -> None:  # noqa: E741
    counts = [sorted(Counter(inside).values(), reverse=True) for inside in secrets]
    shares = [[count / sum(inside) for count in inside] for inside in counts]
    entropy = min(-sum(share * log(share) for share in inside) for inside in shares)
    [found] = checked(secrets).measures
    assert found.distinct_l == min(map(len, counts))
    assert found.entropy_l == pytest.approx(exp(entropy))
    assert found.recursive_c == max(inside[0] / sum(inside[1:]) if len(inside) > 1 else inf for inside in counts)
    expected = {
        DistinctL(l, "ill"): all(len(inside) >= l for inside in counts),
        RecursiveL(c, l, "ill"): all(inside[0] < c * sum(inside[l - 1 :]) for inside in counts),
        EntropyL(l, "ill"): entropy >= log(l) - 1e-12,
    }
    table = wards(secrets)
    for model, held in expected.items():
        assert check(table, quasi_identifiers=["ward"], models=[model]).holds is held


@settings(max_examples=60, deadline=None)
@given(classes_of(["a", "b", "c"]), st.randoms(use_true_random=False))
def test_merging_classes_that_hold_never_breaks_a_model(secrets: list[list[object]], random: object) -> None:
    models = [KAnonymity(2), DistinctL(2, "ill"), EntropyL(1.5, "ill"), RecursiveL(2, 2, "ill"), TCloseness(0.3, "ill")]
    before = check(wards(secrets), quasi_identifiers=["ward"], models=models)
    merged = [[*secrets[0], *secrets[-1]], *secrets[1:-1]] if len(secrets) > 1 else secrets
    after = check(wards(merged), quasi_identifiers=["ward"], models=models)
    assert set(after.broken) <= set(before.broken)


def test_the_lectures_class_with_one_illness_is_anonymous_and_not_diverse() -> None:
    found = checked([["cancer"] * 4, ["flu", "asthma", "flu"]])
    assert (found.k, found.measures[0].distinct_l, found.measures[0].recursive_c) == (3, 1, inf)
    told = found.text(width=1000)
    assert "homogeneity" in told and "inf" in told
    assert found.to_json()["measures"][0]["recursive_c"] is None  # type: ignore[index,call-overload]


def test_missing_values_of_quasi_identifiers_are_values_of_their_own() -> None:
    table = pa.table({"age": [1, 1, None, None, None], "ill": ["flu", "hay", None, "flu", "gout"]})
    found = check(table, quasi_identifiers=["age"], sensitive="ill")
    assert (found.k, found.number, found.measures[0].distinct_l) == (2, 2, 2)
    assert check(pa.table({"age": [1, 1, None]}), quasi_identifiers=["age"]).k == 1


def test_a_class_exactly_at_the_limit_holds() -> None:
    even = [["a", "b", "c"]] * 2
    for model in (EntropyL(3, "ill"), DistinctL(3, "ill"), TCloseness(0, "ill"), KAnonymity(3)):
        assert check(wards(even), quasi_identifiers=["ward"], models=[model]).holds
    assert not check(wards(even), quasi_identifiers=["ward"], models=[RecursiveL(1, 3, "ill")]).holds  # less than c
    assert check(wards(even), quasi_identifiers=["ward"], models=[RecursiveL(1.01, 3, "ill")]).holds


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: KAnonymity(1), OutOfRange),
        (lambda: KAnonymity("5"), NotANumber),
        (lambda: DistinctL(1, "ill"), OutOfRange),
        (lambda: EntropyL(1, "ill"), OutOfRange),
        (lambda: RecursiveL(0, 2, "ill"), OutOfRange),
        (lambda: RecursiveL(1, 1, "ill"), OutOfRange),
        (lambda: TCloseness(1, "ill"), OutOfRange),
        (lambda: TCloseness(-0.1, "ill"), OutOfRange),
        (lambda: check(wards([]), quasi_identifiers=["ward"]), EmptyInput),
        (lambda: check(wards([["a"]]), quasi_identifiers=["ward"], sensitive="shoe"), OutOfRange),
        (lambda: check(wards([["a"]]), quasi_identifiers=["ward"], sensitive="ill", hierarchy=ILLS), OutOfRange),
        (
            lambda: check(wards([["a"]]), quasi_identifiers=["ward"], sensitive="ill", hierarchy=Intervals([2])),
            OutOfRange,
        ),
    ],
)
def test_models_that_ask_for_nothing_are_refused(make: object, error: type[HubbubError]) -> None:
    with pytest.raises(error):
        make()  # type: ignore[operator]


@pytest.mark.parametrize(
    "model", [KAnonymity(5), DistinctL(3, "ill"), EntropyL(2, "ill"), RecursiveL(3, 2, "ill"), TCloseness(0.2, "ill")]
)
def test_every_model_says_what_it_does_not_protect_against(model: KAnonymity) -> None:
    assert "does not hide who is in the table" in model.gaps
    assert model.words.endswith(".") and "  " not in model.words + model.gaps
