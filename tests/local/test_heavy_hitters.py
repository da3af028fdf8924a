"""Frequent strings that nobody listed: found above the limit, and nothing found in noise."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from hubbub.local import HeavyHitters
from hubbub.noise.testing import seeded
from hubbub.terms import BadReport, EmptyInput, OutOfRange, TooLarge

PLANTED = {"privacy": 0.12, "hubbub": 0.10, "noise": 0.08, "a": 0.07}
PEOPLE = 20_000


def crowd(shares: dict[str, float], people: int = PEOPLE) -> list[str]:
    rng = np.random.default_rng(1)
    known = [word for word, share in shares.items() for _ in range(round(share * people))]
    letters = rng.integers(97, 123, (people - len(known), 7)).astype(np.uint8)
    return known + [bytes(row).decode() for row in letters]


@pytest.mark.parametrize(("epsilon", "step"), [(4, 1), (2, 2)])
def test_planted_strings_are_found_and_nothing_else(epsilon: int, step: int) -> None:
    words = HeavyHitters(epsilon=epsilon, length=8, step=step)
    found = words.estimate(words.randomize(crowd(PLANTED), rng=seeded(3)))
    assert set(found.strings) == set(PLANTED)
    ends = found.intervals(0.95)
    for (word, _), (low, high) in zip(found.shares.items(), ends, strict=True):
        assert low < PLANTED[word] < high
    assert min(PLANTED.values()) > 0.8 * words.detection_limit(PEOPLE)


def test_nothing_is_found_where_nothing_is_frequent() -> None:
    words = HeavyHitters(epsilon=4, length=4, alphabet="abcdefgh")
    rng = np.random.default_rng(2)
    people = ["".join(rng.choice(list("abcdefgh"), 4)) for _ in range(8000)]
    assert sum(bool(words.estimate(words.randomize(people, rng=seeded(s))).strings) for s in range(10)) <= 2


def test_strings_at_the_limit_are_found_as_often_as_it_says(soak: int) -> None:
    words = HeavyHitters(epsilon=4, length=3, alphabet="abcd", keep=8)
    limit = words.detection_limit(4000)
    many = round(limit * 4000)
    rest = ["".join(letters) for letters in product("abc", repeat=3)]  # nine prefixes are more frequent than "da"
    people = ["dad"] * many + (rest * 150)[: 4000 - many]
    told = ["dad" in words.estimate(words.randomize(people, rng=seeded(s))).strings for s in range(40 * soak)]
    assert np.mean(told) > 0.85
    assert words.detection_limit(16_000) == pytest.approx(limit / 2, rel=0.01)


def test_the_limit_shrinks_with_more_people_and_epsilon() -> None:
    limits = [HeavyHitters(epsilon=e).detection_limit(n) for e, n in ((1, 10**5), (2, 10**5), (4, 10**5), (4, 10**6))]
    assert limits == sorted(limits, reverse=True)


def test_any_string_is_taken() -> None:
    words = HeavyHitters(epsilon=4, length=3, alphabet="ab")
    people = ["ab\0", "Zürich", "", 7, None, b"ab", "aaaaaaaa", "ab"] * 500
    found = words.estimate(words.randomize(people, rng=seeded(1)))
    assert set(found.strings) == {"", "aaa", "ab"}  # what has other signs counts as empty, what is longer is cut
    assert found.shares[""] == pytest.approx(6 / 8, abs=0.1)


def test_what_makes_no_sense_is_refused() -> None:
    for alphabet in ("", "aa", "a\0"):
        with pytest.raises(OutOfRange):
            HeavyHitters(epsilon=1, alphabet=alphabet)
    with pytest.raises(TooLarge):
        HeavyHitters(epsilon=1, step=5)
    words = HeavyHitters(epsilon=1, length=2)
    with pytest.raises(BadReport):
        words.estimate([1, 2, 3])
    for reports in (np.zeros((0, 2), dtype=np.int64), [[0, 5]], [[0, 5], [9, 5]]):
        with pytest.raises(EmptyInput):
            words.estimate(reports)


def test_the_report_reads_and_draws() -> None:
    words = HeavyHitters(epsilon=4, length=3, alphabet="ab")
    found = words.estimate(words.randomize(["ab"] * 3000, rng=seeded(1)))
    assert "nobody listed them" in " ".join(found.text().split())
    assert "<svg" in found.html()
    assert found.to_json()["kind"] == "frequent-strings"
    nothing = words.estimate(words.randomize(["a"] * 6, rng=seeded(5)))
    assert "strings were found" in " ".join(nothing.text().split())


def test_intervals_are_for_the_shares_among_all_people(soak: int) -> None:
    """A string is counted among those of the last round: that they are a sample adds to its error."""
    words, people, runs = HeavyHitters(epsilon=4, alphabet="ab", length=4), 4000, 60 * soak
    errors, told = [], []
    for run in range(runs):
        found = words.estimate(words.randomize(["abba"] * (people // 2) + ["b"] * (people // 2), rng=seeded(run)))
        place = found.strings.index("abba")
        errors.append(found.values[place] - 0.5)
        told.append(found.variances[place])
    ratio = np.mean(np.square(errors)) / np.mean(told)
    assert abs(ratio - 1) < 4 * (2 / runs) ** 0.5
    sampling = 0.25 * (4 / people - 1 / people)
    assert np.mean(told) == pytest.approx(
        sampling + words.randomizer.variance(count=people // 4, frequency=0.5), rel=0.1
    )
