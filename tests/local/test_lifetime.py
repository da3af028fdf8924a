"""A lifetime: what all reports of a person protect together, exactly where it can be computed."""

from __future__ import annotations

import math
import os
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hubbub import local
from hubbub.local import Caps, Client, Collection, CollectionSpending, Lifetime, Loloha
from hubbub.local.collection import report_wire
from hubbub.local.randomizers.common.exact_words import WORD
from hubbub.terms import OutOfRange

pytestmark = pytest.mark.usefixtures("quick_disk")

BREAD = Loloha(epsilon=1, forever=2, domain=2)
WEEKS = 20 * 52
Life = tuple[int, ...]


@pytest.fixture
def quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of reports and a slow disk: nothing is forced to it."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


def chances(survey: Loloha) -> tuple[list[list[float]], list[list[float]]]:
    """For each bucket the chances of its memo, and for each memo those of a report (two buckets)."""
    keep, step = (float(Fraction(t, WORD)) for t in (survey._memo.keep, survey.sets.keep))
    return [[keep, 1 - keep], [1 - keep, keep]], [[step, 1 - step], [1 - step, step]]


def likelihood(survey: Loloha, life: Life, seen: Life) -> float:
    """The exact chance of seeing these answers of somebody whose buckets over time are these: sums over all memos."""
    memo, step = chances(survey)
    return sum(
        memo[0][m[0]] * memo[1][m[1]] * math.prod(step[m[b]][y] for b, y in zip(life, seen, strict=True))
        for m in product(range(2), repeat=2)
    )


def loss(survey: Loloha, one: Life, other: Life) -> float:
    """The largest log ratio over everything that can be seen."""
    seen = list(product(range(2), repeat=len(one)))
    return max(abs(math.log(likelihood(survey, one, s) / likelihood(survey, other, s))) for s in seen)


def test_the_likelihoods_are_those_of_the_client(tmp_path: Path) -> None:
    """The model above against real clients: how often all three answers are the first one."""
    life, people = (0, 0, 1), 500
    collection = Collection(name="bread", question="?", randomizer=BREAD, epochs=3)
    hits = 0
    for number in range(people):
        client = Client(collection, state=tmp_path / f"{number}")
        part = None
        answers = []
        for epoch, kind in enumerate(life):
            if part is None:
                seed = report_wire.parse(collection, client.report(0, epoch=0)).payload
                part = int.from_bytes(seed[:4], "little")
                answers.append((seed[4], BREAD.kind(part, 0)))
                continue
            same = BREAD.kind(part, 0) == BREAD.kind(part, 1)
            value = 1 if kind and not same else 0
            data = report_wire.parse(collection, client.report(value, epoch=epoch)).payload
            answers.append((data[4], BREAD.kind(part, value)))
        first = answers[0][1]
        hits += [a for a, _ in answers] == [first] * 3 and answers[2][1] != first
    memo = likelihood(BREAD, life, (0, 0, 0)) / 2  # the two values fall into different buckets half of the time
    assert hits / people == pytest.approx(memo, abs=4 * (memo / people) ** 0.5)


@pytest.mark.parametrize("epochs", [1, 2, 5, 9])
def test_a_value_that_never_changes_costs_no_more_than_forever(epochs: int) -> None:
    found = loss(BREAD, (0,) * epochs, (1,) * epochs)
    assert found <= min(2, epochs * BREAD.again)
    if epochs == 1:
        assert found == pytest.approx(1, abs=1e-9)
    if epochs == 9:
        assert found > 1.9  # and it is used up: more epochs tell more, up to there


def test_lives_that_change_at_the_same_times_cost_forever_for_each_bucket() -> None:
    for life in product(range(2), repeat=6):
        other = tuple(1 - bucket for bucket in life)
        assert loss(BREAD, life, other) <= len(set(life)) * 2


def test_lives_that_differ_in_k_epochs_cost_k_steps() -> None:
    for one, other in product(product(range(2), repeat=4), repeat=2):
        differing = sum(a != b for a, b in zip(one, other, strict=True))
        assert loss(BREAD, one, other) <= differing * float(BREAD.again) + 1e-9


def test_when_a_value_changed_is_not_covered_by_forever() -> None:
    """The bound of one epsilon per bucket is for values, not for times: here it fails, and n steps still hold."""
    weak = Loloha(epsilon=0.2, forever=0.4, domain=2)
    weeks = 30
    stays, stops = (0,) * weeks, (0,) * (weeks // 2) + (1,) * (weeks // 2)
    seen = stops
    found = math.log(likelihood(weak, stops, seen) / likelihood(weak, stays, seen))
    assert found > 2 * 0.4
    assert found <= weeks * float(weak.again)


def test_alice_followed_for_twenty_years(tmp_path: Path) -> None:
    """She buys bread every week for nineteen years, and then stops."""
    collection = Collection(name="bread", question="Bread this week?", randomizer=BREAD, epochs=WEEKS)
    alice = Client(collection, state=tmp_path / "alice")
    reports = [alice.report(week < 19 * 52, epoch=week) for week in range(WEEKS)]
    told = alice.lifetime()
    assert told.constant == 2
    assert told.values in (2, 4)  # if both answers fall into one bucket, nothing ever changed
    assert told.worst_case == WEEKS * BREAD.again > 1000
    assert told.spent[0].informative == WEEKS
    assert {len(report) for report in reports} == {64 + BREAD.payload_bytes}
    assert report_wire.parse_batch(collection, report_wire.pack_batch(reports)).counts() == {}


def test_without_memory_twenty_years_cost_twenty_years(tmp_path: Path) -> None:
    fresh = Collection(
        name="bread", question="?", randomizer=local.KaryResponse(epsilon=1, domain=2), epochs=WEEKS, lifetime=WEEKS
    )
    assert fresh.lifetime == WEEKS
    alice = Client(fresh, state=tmp_path / "alice", caps=Caps(attribute=8, total=32))
    for week in range(40):
        alice.report(1, epoch=week)
    told = alice.lifetime()
    assert told.constant == told.values == told.worst_case == 8
    assert (told.spent[0].informative, told.spent[0].silent) == (8, 32)


collections = st.lists(
    st.tuples(st.sampled_from(["kary", "hashed", "flips"]), st.sampled_from(["food", "sleep"]), st.integers(1, 6)),
    min_size=1,
    max_size=4,
)


@given(collections, st.integers(1, 9), st.integers(1, 12), st.lists(st.integers(0, 4), min_size=6, max_size=6))
@settings(max_examples=25)
def test_the_caps_hold_over_all_collections(
    tmp_path_factory: pytest.TempPathFactory, kinds: list[tuple[str, str, int]], attribute: int, total: int, life: Life
) -> None:
    caps = Caps(attribute=attribute, total=total)
    state = tmp_path_factory.mktemp("alice") / "memory"
    makers = {
        "kary": local.KaryResponse(epsilon=1, domain=5),
        "hashed": Loloha(epsilon=1, forever=2, domain=5),
        "flips": local.DBitFlip(epsilon=1, domain=5, flips=2),
    }
    clients = [
        Client(
            Collection(name=f"c{i}", question="?", attribute=a, randomizer=makers[k], epochs=e), state=state, caps=caps
        )
        for i, (k, a, e) in enumerate(kinds)
    ]
    for epoch, value in enumerate(life):
        for client in clients:
            if epoch < client.collection.epochs:
                assert client.report(value, epoch=epoch)
    told = clients[0].lifetime()
    assert told.charged() <= total
    assert all(told.charged(name) <= attribute for name in ("food", "sleep"))
    assert told.constant <= told.values <= told.charged()
    assert all(
        each.charged <= c.collection.cap for each in told.spent for c in clients if c.collection.name == each.collection
    )


def test_what_is_charged_does_not_depend_on_how_often_a_value_changes(tmp_path: Path) -> None:
    """Else another collection, which falls silent when nothing is left, would show it."""
    hashed = Loloha(epsilon=1, forever=2, domain=50, buckets=3)
    first = Collection(name="first", question="?", attribute="food", randomizer=hashed, epochs=9)
    second = Collection(
        name="second", question="?", attribute="food", randomizer=local.KaryResponse(epsilon=1, domain=2), epochs=9
    )
    silent = []
    for name, life in (("steady", [7] * 9), ("restless", list(range(9)))):
        clients = [Client(c, state=tmp_path / name, caps=Caps(attribute=8, total=20)) for c in (first, second)]
        for epoch, value in enumerate(life):
            for client in clients:
                client.report(value, epoch=epoch)
        told = clients[0].lifetime()
        silent.append((told.spent[1].informative, told.spent[1].silent, told.charged()))
    assert silent[0] == silent[1] == (2, 7, 8)


def test_the_three_numbers_stand_side_by_side() -> None:
    spent = CollectionSpending(
        collection="bread", attribute="food", epsilon=Fraction(2), charges=2, informative=1040, silent=0,
        memoized=True, memos=2, again=Fraction(3, 2),
    )  # fmt: skip
    told = Lifetime(spent=(spent,), caps=Caps())
    assert (told.constant, told.values, told.worst_case) == (2, 4, 1560)
    text = told.text()
    assert "7.39-fold (epsilon 2)" in text
    assert "which is no protection" in text
    assert "1,040" in text
    assert told.to_json()["worst_case"] == 1560
    assert "<table" in told.html()


def test_a_memo_that_is_sent_as_it_is_has_no_worst_case() -> None:
    sent = CollectionSpending(
        collection="b", attribute="b", epsilon=Fraction(1), charges=2, informative=2, silent=0, memoized=True, memos=1
    )
    told = Lifetime(spent=(sent,), caps=Caps())
    assert told.worst_case is None
    assert "without any bound" in told.text()
    assert told.to_json()["worst_case"] is None


def test_few_epochs_cost_less_than_a_memo() -> None:
    spent = CollectionSpending(
        collection="b", attribute="b", epsilon=Fraction(4), charges=2, informative=1, silent=0,
        memoized=True, memos=1, again=Fraction(3, 2),
    )  # fmt: skip
    assert spent.constant == spent.values == spent.worst_case == Fraction(3, 2)


def test_silent_epochs_count_in_the_worst_case_of_a_memory() -> None:
    """Which epochs are silent depends on the values, so they tell something too."""
    spent = CollectionSpending(
        collection="b", attribute="b", epsilon=Fraction(2), charges=1, informative=3, silent=4,
        memoized=True, memos=1, again=Fraction(3, 2),
    )  # fmt: skip
    assert spent.worst_case == 7 * Fraction(3, 2)


def test_caps_are_positive() -> None:
    with pytest.raises(OutOfRange):
        Caps(attribute=0)
    with pytest.raises(OutOfRange):
        Caps(total=-1)


def test_estimates_stay_right_over_the_epochs(tmp_path: Path) -> None:
    """A crowd that changes its mind: each epoch's estimate follows, from memos and fresh steps alone."""
    people = 400
    survey = Loloha(epsilon=3, forever=5, domain=4, buckets=4)
    collection = Collection(name="mood", question="?", randomizer=survey, epochs=2)
    for epoch in range(2):
        rows = []
        for number in range(people):
            client = Client(collection, state=tmp_path / f"{number}", caps=Caps(attribute=50, total=50))
            rows.append(list(report_wire.parse(collection, client.report(3 * epoch, epoch=epoch)).payload))
        found = survey.estimate(survey.unpack(np.array(rows, dtype=np.uint8)))
        assert abs(found.values[3 * epoch] - 1) < 5 * (found.variances[3 * epoch] + 1e-9) ** 0.5


def test_a_cap_is_above_zero() -> None:
    for wrong in ({"attribute": 0}, {"total": -1}):
        with pytest.raises(OutOfRange, match="must be above 0"):
            Caps(**wrong)  # type: ignore[arg-type]
