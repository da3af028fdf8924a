"""What an audit finds, what it says, and what it refuses. Generators are seeded, so each test sees one sample."""

from __future__ import annotations

import json
import math
import threading
import time
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hubbub.audit import Audit, examine, lower_bound, search
from hubbub.audit._outcomes import tabulate_outcomes
from hubbub.terms import NotANumber, NotAuditable, OutOfRange

from ._laws import laplace, on_grid, response


def bulk(mechanism: Any, a: Any, b: Any, **more: Any) -> Audit:
    return examine(mechanism, a, b, vectorized=True, **more)


# ---------------------------------------------------------------- how much is found


FIGURES = {
    "laplace": (laplace, 0.95, 1.0),
    "half the noise": (lambda seed: laplace(seed, 0.5), 1.9, 2.0),
    "five places": (lambda seed: laplace(seed, places=5), 4.3, 5.0),
    "three quarters": (lambda seed: response(seed, 0.75), 1.05, math.log(3)),
}


@pytest.mark.parametrize("name", FIGURES)
def test_the_figures_that_were_asked_for(name: str) -> None:
    made, least, true = FIGURES[name]
    found = [bulk(made(seed), 0, 1).bound for seed in (1, 2, 3)]
    assert least <= np.median(found)
    assert max(found) <= true


def test_both_directions_are_looked_at() -> None:
    """An event that is certain under b and rare under a, and the other way round."""

    def sometimes(value: int, size: int) -> Any:
        return np.ones(size, dtype=int) if value else np.random.default_rng(5).integers(0, 10, size)

    one, two = bulk(sometimes, 0, 1, trials=20_000), bulk(sometimes, 1, 0, trials=20_000)
    assert one.counted.likelier_under != two.counted.likelier_under
    assert one.bound > 6
    assert two.bound > 6


def test_delta_is_given_for_nothing() -> None:
    """A mechanism that tells everything with probability 0.05 has no epsilon without delta and one of 0 with it."""
    rng = np.random.default_rng(6)

    def leak(value: int, size: int) -> Any:
        return np.where(rng.random(size) < 0.05, value, -1)

    assert bulk(leak, 0, 1).bound > 5
    assert bulk(leak, 0, 1, delta=0.05).bound == 0
    assert bulk(leak, 0, 1, delta=0.02).bound > 5


def test_a_gaussian_needs_its_delta() -> None:
    from hubbub.accounting.gaussian_tradeoff import epsilon_of

    rng = np.random.default_rng(7)
    found = bulk(lambda x, n: on_grid(rng.normal(x, 1, n)), 0, 1, delta=0.01, trials=50_000)
    assert 0.7 * epsilon_of(0.01, 1.0) < found.bound < epsilon_of(0.01, 1.0)


def test_a_change_of_spread_is_found_though_no_threshold_shows_it() -> None:
    rng = np.random.default_rng(8)
    found = bulk(lambda scale, n: on_grid(rng.laplace(0, scale, n)), 1.0, 3.0)
    assert found.bound > 1.2  # ln 3 in the middle, more in the tails


def test_places_that_tell_only_together_are_found() -> None:
    """Each place alone is a fair coin; together they are equal or not."""
    rng = np.random.default_rng(9)

    def pair(same: int, size: int) -> Any:
        first = rng.integers(0, 2, size)
        return np.stack([first, first ^ (rng.random(size) < (0.25 if same else 0.75))], axis=1)

    assert 1.0 < bulk(pair, 0, 1).bound < math.log(3)


def test_noise_in_raw_doubles_is_found_by_its_low_bits_unless_told_otherwise() -> None:
    rng = np.random.default_rng(10)

    def raw(value: float, size: int) -> Any:
        return rng.laplace(value, 1.0, size)

    assert bulk(raw, 0.0, 1.0).bound > 8
    assert 0.9 < bulk(raw, 0.0, 1.0, low_bits=False).bound < 1.02


def test_own_features_show_what_the_search_does_not_think_of() -> None:
    """The parity of a large number: no range and no single value shows it."""
    rng = np.random.default_rng(11)

    def parity(bit: int, size: int) -> Any:
        return 2 * rng.integers(0, 2**40, size) + np.where(rng.random(size) < 0.9, bit, 1 - bit)

    blind = bulk(parity, 0, 1, trials=20_000)
    seeing = bulk(parity, 0, 1, trials=20_000, features=lambda outcomes: np.asarray(outcomes) % 2)
    assert blind.bound < 0.2
    assert 2.0 < seeing.bound < math.log(9)


# ---------------------------------------------------------------- kinds of outcomes


def coin(seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return lambda value: bool(rng.random() < (0.8 if value else 0.2))


SHAPES = {
    "truth values": lambda yes: yes,
    "strings": lambda yes: "yes" if yes else "no",
    "strings of one length": lambda yes: "abc" if yes else "abd",
    "bytes": lambda yes: b"\x01\x02" if yes else b"\x01\x03",
    "None or a number": lambda yes: 3.5 if yes else None,
    "a word or a number": lambda yes: 3.5 if yes else "suppressed",
    "tuples": lambda yes: (1, "x", yes),
    "lists of varying length": lambda yes: ["below"] * 3 if yes else ["below", "above"],
    "empty or not": lambda yes: [1] if yes else [],
    "dictionaries": lambda yes: {"n": 5, "rare": 1} if yes else {"n": 5},
    "values of dictionaries": lambda yes: {"n": 5 + yes},
    "sets": lambda yes: {1, 2} if yes else {1},
    "nested": lambda yes: {"rows": [(1, {"x": yes})]},
    "arrays": lambda yes: np.array([[1.0, 2.0], [3.0, 4.0 + yes]]),
    "arrays of words": lambda yes: np.array(["a", "b" if yes else "c"]),
    "a list or nothing": lambda yes: [1, 2] if yes else None,
    "integers beyond the doubles": lambda yes: 10**400 + yes,
    "frozen": lambda yes: frozenset({yes}),
    "complex numbers": lambda yes: np.complex128(1 + 1j * yes),
    "spans of time": lambda yes: np.timedelta64(int(yes), "s"),
    "exact decimals": lambda yes: Decimal(int(yes)),
    "the end of a long list": lambda yes: [0] * 99 + [int(yes)],
    "the end of a long list of words": lambda yes: ["x"] * 99 + [str(yes)],
    "the end of a long dictionary": lambda yes: {i: i == 99 and yes for i in range(100)},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_outcomes_of_any_shape_are_compared(shape: str) -> None:
    tell = SHAPES[shape]
    toss = coin(12)
    found = examine(lambda value: tell(toss(value)), 0, 1, trials=4_000)
    assert found.problem is None
    assert 1.0 < found.bound <= math.log(4)


ONCE = {
    "strings": lambda rng: str(rng.random()),
    "strings, some of them twice": lambda rng: f"k{rng.integers(3000)}",
    "integers beyond the doubles": lambda rng: 10**400 + int(rng.integers(2**60)),
    "dates": lambda rng: datetime.fromtimestamp(1e9 * rng.random(), tz=UTC),
    "keys of dictionaries": lambda rng: {int(rng.integers(2**60)): 1},
    "members of sets": lambda rng: {int(rng.integers(2**60))},
    "words in tuples": lambda rng: (1, f"k{rng.integers(3000)}"),
}


@pytest.mark.parametrize("kind", ONCE)
def test_outcomes_that_come_only_once_tell_nothing(kind: str) -> None:
    """Each is on one side only, whatever the input: a list of all of them would tell the sides apart."""
    rng = np.random.default_rng(21)
    found = examine(lambda _: ONCE[kind](rng), 0, 1, trials=2_000)
    assert found.problem is None
    assert found.bound < 0.1


def test_long_vectors_are_looked_at_as_a_whole() -> None:
    rng = np.random.default_rng(13)
    found = bulk(lambda x, n: rng.integers(0, 2, (n, 200)) + 0.05 * x * (np.arange(200) > 150), 0, 1, trials=4_000)
    assert found.bound > 3


# ---------------------------------------------------------------- what gives no bound


class New:
    """Something that equals nothing else."""


class Leaving(BaseException):
    """Not even an Exception."""


class Unprintable:
    """Something that can be compared and not printed."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1

    def __repr__(self) -> str:
        raise ZeroDivisionError


PROBLEMS = {
    "raises": (lambda x: 1 / 0, "raised ZeroDivisionError"),
    "leaves": (lambda x: exit(1), "raised SystemExit"),
    "NaN": (lambda x: math.nan, "NaN"),
    "NaN inside": (lambda x: (1.0, math.nan), "NaN"),
    "the same constant": (lambda x: 7, "same constant"),
    "the same constant list": (lambda x: [7, "x"], "same constant"),
    "arrays of varying shape": (lambda x: np.zeros(np.random.default_rng().integers(1, 3)), "vary in shape"),
    "numbers and lists": (lambda x: [1] if np.random.default_rng().random() < 0.5 else 1.0, "varies in shape"),
    "something new each time": (lambda x: New(), "each time"),
    "something that has no hash": (lambda x: [type("T", (), {"__eq__": lambda a, b: True})()], "cannot be compared"),
    "something that cannot be printed": (lambda x: Unprintable(), "raise ZeroDivisionError"),
    "leaves in its own way": (lambda x: (_ for _ in ()).throw(Leaving()), "raised Leaving"),
    "empty arrays": (lambda x: np.zeros(0), "empty"),
}


@pytest.mark.parametrize("problem", PROBLEMS)
def test_what_cannot_be_audited_is_said_and_has_no_bound(problem: str) -> None:
    mechanism, words = PROBLEMS[problem]
    found = examine(mechanism, 0, 1, trials=400, claim=1)
    assert found.bound is None
    assert not found.refuted
    assert words in found.problem
    assert words in str(found)
    assert found.to_json()["bound"] is None
    with pytest.raises(NotAuditable, match=r"P901"):
        lower_bound(mechanism, 0, 1, trials=400)


def test_a_mechanism_that_fails_now_and_then_has_no_bound() -> None:
    rng = np.random.default_rng(14)

    def flaky(value: int) -> float:
        if rng.random() < 0.001:
            raise KeyError(value)
        return float(rng.random())

    assert "raised KeyError on" in examine(flaky, 0, 1, trials=5_000).problem


@pytest.mark.parametrize("features", [lambda _: 1 / 0, lambda _: np.zeros(3), lambda _: ["x"]])
def test_features_that_cannot_be_used_give_no_bound(features: Any) -> None:
    found = bulk(lambda x, n: np.arange(n), 0, 1, trials=400, features=features)
    assert found.bound is None
    assert "the features that were given raise" in found.problem


def test_one_that_returns_too_few_has_no_bound() -> None:
    assert "returned 3 outcomes" in bulk(lambda x, n: np.zeros(3), 0, 1, trials=400).problem


@pytest.mark.parametrize("hang", [lambda x: time.sleep(60), lambda x: time.sleep(0.02)], ids=["a call", "all calls"])
def test_one_that_hangs_is_stopped(hang: Any) -> None:
    start = time.monotonic()
    assert "did not finish in time" in examine(hang, 0, 1, trials=4_000, timeout=0.3).problem
    assert time.monotonic() - start < 30


def test_slow_calls_are_stopped_outside_the_main_thread_too() -> None:
    found: list[Audit] = []
    thread = threading.Thread(
        target=lambda: found.append(examine(lambda x: time.sleep(0.001), 0, 1, trials=4_000, timeout=0.1))
    )
    thread.start()
    thread.join(30)
    assert "did not finish in time" in found[0].problem


def test_constants_that_differ_are_a_leak_without_noise() -> None:
    found = examine(lambda x: x, 0, 1, trials=2_000, claim=1)
    assert found.refuted
    assert found.deterministic
    assert found.bound == pytest.approx(found.counted.most[-1][1])
    assert "no noise at all" in " ".join(str(found).split())


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"trials": 10}, OutOfRange),
        ({"trials": 1.5}, OutOfRange),
        ({"trials": 10**30}, OutOfRange),
        ({"delta": 1}, OutOfRange),
        ({"delta": -0.1}, OutOfRange),
        ({"confidence": 1}, OutOfRange),
        ({"confidence": "high"}, NotANumber),
        ({"claim": 0}, OutOfRange),
        ({"claim": math.nan}, OutOfRange),
        ({"neighbours": "siblings"}, OutOfRange),
    ],
)
def test_options_that_make_no_sense_are_refused_before_anything_runs(wrong: dict[str, Any], error: type) -> None:
    with pytest.raises(error):
        examine(lambda x: pytest.fail("it ran"), 0, 1, **wrong)


def test_more_runs_than_a_machine_can_hold_are_refused_in_a_search_too() -> None:
    with pytest.raises(OutOfRange, match="trials must be at most 100,000,000"):
        search(lambda x: pytest.fail("it ran"), [(0, 1)], trials=10**30)


# ---------------------------------------------------------------- numbers that doubles round


LARGE: dict[str, Any] = {
    "a whole number": lambda base, x: base + x,
    "a whole number below zero": lambda base, x: -base - x,
    "a place of a tuple": lambda base, x: (0, base + x),
    "a value at a key": lambda base, x: {"n": base + x},
    "a fraction": lambda base, x: Fraction(base + x, 3),
    "a decimal": lambda base, x: Decimal(base + x),
    "the last of very many": lambda base, x: (*[0] * 100, base + x),
}


@pytest.mark.parametrize("bits", [50, 53, 54, 60, 63, 64, 100, 105, 200, 2000])
@pytest.mark.parametrize("shape", LARGE)
def test_whole_numbers_beyond_the_doubles_are_told_apart(shape: str, bits: int) -> None:
    found = examine(lambda x: LARGE[shape](2**bits, x), 0, 1, trials=400)
    assert found.problem is None and found.deterministic
    same = examine(lambda x: LARGE[shape](2**bits, 1), 0, 1, trials=400)
    assert same.problem is not None and "same constant" in same.problem


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
@pytest.mark.parametrize("width", [1, 3, 100])
def test_arrays_of_large_whole_numbers_are_told_apart(width: int, dtype: Any) -> None:
    def vector(x: int, kind: Any = dtype) -> np.ndarray[Any, Any]:
        return np.array([0] * (width - 1) + [2**62 + x], dtype=kind)

    found = [
        bulk(lambda x, size: np.stack([vector(x)] * size), 0, 1, trials=400),
        examine(vector, 0, 1, trials=400),
        bulk(lambda x, size: np.stack([vector(x, [np.int64, np.uint64][x])] * size), 0, 1, trials=400),
        examine(lambda x: vector(x, [np.int64, np.uint64][x]), 0, 1, trials=400),
        examine(lambda x: vector(x).tolist(), 0, 1, trials=400),
    ]
    assert all(each.problem is None and each.deterministic for each in found)


def test_noise_on_a_large_number_is_seen_as_on_a_small_one() -> None:
    def bound(base: int) -> float:
        law = laplace(7, scale=2.0)
        return bulk(lambda x, size: np.rint(law(x, size)).astype(np.int64) + base, 0, 1, trials=50_000).bound or 0.0

    assert 0.3 < bound(0) < 0.6
    assert bound(2**60) == pytest.approx(bound(0), abs=0.05)


def test_a_large_number_among_those_that_are_counted_alone_shapes_no_event() -> None:
    columns = tabulate_outcomes([1] * 9 + [2**60 + 1], [1] * 9 + [2**60], learned=5)
    assert [column.name for column in columns] == ["the output"]
    columns = tabulate_outcomes([2**60 + 1] * 10, [1] * 10, learned=5)
    assert [column.name for column in columns] == ["the output", "the low bits of the output"]


# ---------------------------------------------------------------- what is told


def test_the_report_tells_the_verdict_the_event_and_the_counts() -> None:
    found = bulk(laplace(15, 0.5), 0, 1, trials=20_000, claim=1, neighbours="replace", name="half the noise")
    told = str(found)
    assert found.refuted
    assert "Refuted: epsilon is at least" in told
    assert found.event in told.replace("\n", " ")
    assert f"{found.counted.hits[0]:,}" in told
    assert set(found.svgs()) == {"bound", "roc"}
    assert "claimed: 1" in found.svgs()["bound"]
    assert found.title in found.html()
    document = json.loads(json.dumps(found.to_json()))
    assert document["bound"] == found.bound
    assert document["neighbours"] == "replace"
    assert document["hits"][found.counted.likelier_under] == found.counted.hits[0]
    assert document["curve"][-1] == {"trials": found.counted.trials, "bound": found.bound}


def test_a_claim_that_stands_is_not_called_proved() -> None:
    told = bulk(laplace(16), 0, 1, trials=20_000, claim=1)
    assert not told.refuted
    assert "proves nothing" in told.verdict


def test_runs_that_chose_the_event_are_not_counted() -> None:
    found = bulk(laplace(17), 0, 1, trials=10_000)
    assert found.counted.trials == 6_000


@pytest.mark.parametrize(
    ("mechanism", "words"),
    [
        (laplace(18), "the output is"),
        (lambda x, n: ["yes" if y else "no" for y in response(19, 0.9)(x, n)], "the output"),
        (lambda x, n: [{"a": 1, **({"b": 1} if y else {})} for y in response(20, 0.9)(x, n)], "keys"),
    ],
)
def test_the_event_is_said_in_words(mechanism: Any, words: str) -> None:
    found = bulk(mechanism, 0, 1, trials=4_000)
    assert words in found.event
    assert "lambda" not in found.event
