"""What holds for every randomizer. A new one subclasses one of these and says how it is made."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import islice, pairwise, product
from typing import Any, ClassVar

import numpy as np
import pytest

from hubbub import local
from hubbub.local import Randomizer, exact_distribution, from_parameters, largest_ratio
from hubbub.local.randomizers.common.exact_words import from_bytes
from hubbub.local.randomizers.two_sets import TwoSets
from hubbub.noise.testing import seeded
from hubbub.terms import (
    BadCollection,
    BadReport,
    EmptyInput,
    HubbubError,
    Neighbours,
    NotANumber,
    OutOfRange,
    from_json,
    to_json,
)

WORD = 1 << 64
BAD_EPSILONS = [(0, OutOfRange), (-1, OutOfRange), (65, OutOfRange), (1e-7, OutOfRange), ("1", NotANumber)]


def exp(epsilon: Fraction) -> Fraction:
    """e^epsilon to sixty digits, by another way than the one under test."""
    with localcontext() as context:
        context.prec = 60
        return Fraction((Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp())


def zipf(people: int, domain: int, seed: int) -> Any:
    """A crowd in which some values are common and most are rare."""
    weights = 1 / np.arange(1, domain + 1) ** 1.1
    return np.random.default_rng(seed).choice(domain, size=people, p=weights / weights.sum())


def loosen(randomizer: Any, name: str, step: int) -> None:
    """Move a threshold up: one of its own, or the coin of its two sets."""
    now = getattr(randomizer, name)
    setattr(randomizer, name, replace(now, keep=now.keep + step) if isinstance(now, TwoSets) else now + step)


class Contract:
    """Hooks first, then what must hold."""

    kind: ClassVar[Callable[..., Randomizer]]
    small: ClassVar[dict[str, Any]]  # how one is made whose law can be written down
    values: ClassVar[Sequence[Any]]  # what people may hold there
    odd: ClassVar[Sequence[Any]]  # what counts as missing
    looser: ClassVar[dict[str, int]] = {"sets": 1}  # thresholds that, moved so far, break the promise
    bad: ClassVar[dict[str, Sequence[tuple[Any, type[HubbubError]]]]] = {}
    bad_payload: ClassVar[bytes | None] = None
    public: ClassVar[frozenset[int]] = frozenset()  # words that everybody may know: the law is the one given them

    def make(self, **changes: Any) -> Any:
        return type(self).kind(**{**self.small, **changes})

    def default(self, randomizer: Any) -> Any:
        return randomizer.missing

    def promised(self, randomizer: Randomizer) -> Fraction:
        return randomizer.epsilon

    # the law

    @pytest.mark.parametrize("epsilon", [Fraction(1, 10), 1, Fraction(7, 2), 8])
    def test_the_law_keeps_epsilon_exactly_and_wastes_nothing(self, epsilon: Any) -> None:
        randomizer = self.make(epsilon=epsilon)
        bound = exp(self.promised(randomizer))
        assert bound * (1 - Fraction(1, 10**9)) <= largest_ratio(randomizer, self.values) <= bound

    def test_a_threshold_too_high_is_noticed(self) -> None:
        randomizer = self.make()
        for name, step in self.looser.items():
            loosen(randomizer, name, step)
        assert largest_ratio(randomizer, self.values) > exp(self.promised(randomizer))

    def test_the_probabilities_add_up_to_one(self) -> None:
        for value in self.values:
            assert sum(exact_distribution(self.make(), value).values()) == 1

    def test_between_two_cuts_the_report_does_not_change(self) -> None:
        """Which the exact law relies on: first, last and some word of every interval give the same report."""
        randomizer, generator = self.make(), np.random.default_rng(5)
        for value in self.values:
            code = int(randomizer.codes([value])[0])
            edges = [sorted({0, *cuts, WORD}) for cuts in randomizer.word_cuts(code)]
            cells = list(islice(product(*(list(pairwise(ends)) for ends in edges)), 2000))
            open_ = [place not in self.public for place in range(len(edges))]
            first = [[low for low, _ in cell] for cell in cells]
            last = [
                [high - 1 if whole else low for whole, (low, high) in zip(open_, cell, strict=True)] for cell in cells
            ]
            inside = [
                [
                    low + int(generator.random() * (high - low)) if whole else low
                    for whole, (low, high) in zip(open_, cell, strict=True)
                ]
                for cell in cells
            ]
            reports = [
                randomizer.respond([value] * len(cells), np.array(w, dtype=np.uint64)) for w in (first, last, inside)
            ]
            assert np.array_equal(reports[0], reports[1])
            assert np.array_equal(reports[0], reports[2])

    def test_the_law_of_words_is_the_law_of_draws(self, soak: int) -> None:
        randomizer, value, people = self.make(), self.values[-1], 20_000 * soak
        reports = randomizer.pack(randomizer.randomize([value] * people, rng=seeded(3)))
        seen, counts = np.unique(reports, axis=0, return_counts=True)
        law = exact_distribution(randomizer, value)
        for report, count in zip(seen, counts, strict=True):
            chance = float(law[report.tobytes()])
            assert abs(count - people * chance) <= 6 * np.sqrt(people * chance) + 6

    # words and bytes

    def test_one_report_is_the_same_as_in_bulk(self) -> None:
        randomizer = self.make()
        words = np.random.default_rng(1).integers(0, WORD, size=(200, randomizer.words), dtype=np.uint64)
        values = [self.values[i % len(self.values)] for i in range(200)]
        bulk = randomizer.respond(values, words)
        for value, row, report in zip(values, words, bulk, strict=True):
            assert np.array_equal(randomizer._respond_one(value, row.tolist()), report)

    def test_words_are_consumed_in_order(self) -> None:
        randomizer, values = self.make(), list(self.values) * 3
        words = seeded(2).random_words(len(values) * randomizer.words).reshape(len(values), randomizer.words)
        assert np.array_equal(randomizer.randomize(values, rng=seeded(2)), randomizer.respond(values, words))

    def test_the_wrong_number_of_words_is_refused(self) -> None:
        randomizer = self.make()
        with pytest.raises(HubbubError):
            randomizer.respond(self.values, np.zeros((len(self.values), randomizer.words + 1), dtype=np.uint64))

    def test_bytes_go_and_come_back(self) -> None:
        randomizer = self.make()
        reports = randomizer.randomize(list(self.values) * 50, rng=seeded(4))
        payload = randomizer.pack(reports)
        assert payload.dtype == np.uint8
        assert payload.shape == (len(reports), randomizer.payload_bytes)
        assert randomizer.valid(payload).all()
        assert np.array_equal(randomizer.unpack(payload), reports)

    def test_bytes_that_are_no_report_are_refused(self) -> None:
        randomizer = self.make()
        with pytest.raises(BadReport) as refusal:
            randomizer.valid(np.zeros((1, randomizer.payload_bytes + 1), dtype=np.uint8))
        assert refusal.value.reason == "malformed"
        if self.bad_payload is not None:
            payload = np.frombuffer(self.bad_payload, dtype=np.uint8)[None]
            assert not randomizer.valid(payload).any()
            with pytest.raises(BadReport) as refusal:
                randomizer.unpack(payload)
            assert refusal.value.reason == "domain"

    def test_parameters_go_through_json_and_come_back(self) -> None:
        randomizer = self.make()
        assert from_parameters(json.loads(json.dumps(randomizer.parameters()))) == randomizer

    def test_parameters_of_another_law_are_refused(self) -> None:
        parameters = self.make().parameters()
        if parameters.get("thresholds"):
            with pytest.raises(BadCollection):
                from_parameters({**parameters, "thresholds": ["1"] * len(parameters["thresholds"])})
        with pytest.raises(BadCollection):
            from_parameters({**parameters, "protocol": "no-such"})
        with pytest.raises(BadCollection):
            from_parameters({**parameters, "unheard": 1})

    # states and values

    def test_states_add_up(self) -> None:
        randomizer = self.make()
        reports = randomizer.randomize(list(self.values) * 20, rng=seeded(6))
        whole = randomizer.accumulate(reports)
        assert whole.dtype == np.int64
        assert whole.shape == (randomizer.state_size,)
        assert np.array_equal(whole, randomizer.accumulate(reports[:7]) + randomizer.accumulate(reports[7:]))
        if randomizer.symbols is not None:
            assert np.array_equal(whole, np.bincount(reports, minlength=randomizer.symbols))

    def test_values_outside_count_as_missing_and_never_fail(self) -> None:
        randomizer = self.make()
        for value in self.odd:
            assert np.array_equal(randomizer.codes([value]), randomizer.codes([self.default(randomizer)]))
            randomizer.randomize(value, rng=seeded(1))

    def test_reports_of_another_kind_are_refused(self) -> None:
        randomizer = self.make()
        with pytest.raises(EmptyInput):
            randomizer.estimate(randomizer.randomize(list(self.values), rng=seeded(1))[:0])
        with pytest.raises(BadReport):
            randomizer.estimate(np.array([["a"]]))

    def test_bad_parameters_are_refused(self) -> None:
        for name, cases in {"epsilon": BAD_EPSILONS, **self.bad}.items():
            for value, error in cases:
                with pytest.raises(error):
                    self.make(**{name: value})

    def test_the_event_says_what_was_done(self) -> None:
        randomizer = self.make()
        assert from_json(to_json(randomizer.event)) == randomizer.event
        assert randomizer.event.neighbours is Neighbours.REPLACE
        assert randomizer.event.mechanism == f"local-{randomizer.protocol}"
        assert randomizer.event.epsilon == randomizer.epsilon

    def test_the_secure_source_is_the_default(self) -> None:
        randomizer = self.make()
        values = list(self.values) * 100
        assert not np.array_equal(randomizer.randomize(values), randomizer.randomize(values))

    def test_a_black_box_finds_no_more_than_epsilon(self) -> None:
        """And it sees if there is twice as much to find."""
        assert 0.4 < self.audited(1) <= 1 < self.audited(2)

    def audited(self, epsilon: int) -> float:
        from hubbub import audit

        randomizer = self.make(epsilon=epsilon)
        source = seeded(9)

        def reports(value: Any, size: int) -> Any:
            payload = randomizer.pack(randomizer.randomize([value] * size, rng=source))
            return from_bytes(payload)

        return audit.lower_bound(reports, *self.farthest(randomizer), trials=10_000, vectorized=True, low_bits=False)

    def farthest(self, randomizer: Randomizer) -> tuple[Any, Any]:
        return self.values[0], self.values[-1]


class FrequencyContract(Contract):
    """Randomizers for shares."""

    large: ClassVar[dict[str, Any]] = {"epsilon": 1, "domain": 1000}
    people: ClassVar[int] = 20_000
    repeats: ClassVar[int] = 20
    best: ClassVar[float | None] = None  # n * variance for a rare value in ``large``, by the closed form of the paper
    tight: ClassVar[bool] = True

    odd = [-1, 10**30, -(10**30), 1 << 40]
    bad = {"domain": [(1, OutOfRange), (1 << 40, HubbubError)], "missing": [(-1, OutOfRange), (99, OutOfRange)]}

    def errors(self, randomizer: Any, people: int, repeats: int) -> tuple[float, float, float]:
        """n * mean squared error, what was told, and the share of 95% intervals that held."""
        seen, told, held = [], [], []
        for seed in range(repeats):
            values = zipf(people, randomizer.domain, seed)
            truth = np.bincount(values, minlength=randomizer.domain) / people
            found = randomizer.estimate(randomizer.randomize(values, rng=seeded(100 + seed)))
            ends = found.intervals(0.95)
            seen.append(people * np.mean((found.values - truth) ** 2))
            told.append(people * np.mean(randomizer._variances(truth, people)))
            held.append(np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1])))
        return float(np.mean(seen)), float(np.mean(told)), float(np.mean(held))

    def test_the_error_is_the_stated_one_and_intervals_hold(self, soak: int) -> None:
        randomizer = type(self).kind(**self.large)
        seen, told, held = self.errors(randomizer, self.people, self.repeats * (1 if soak == 1 else 4))
        assert abs(seen / told - 1) < 0.05
        assert not abs(seen / (1.15 * told) - 1) < 0.05  # a formula that is off would be seen
        assert 0.93 <= held <= 0.97

    def test_the_variance_is_that_of_the_literature(self) -> None:
        if self.best is not None:
            assert type(self).kind(**self.large).variance(count=1) == pytest.approx(self.best, rel=2e-3)

    def test_twice_the_people_have_half_the_variance(self) -> None:
        randomizer = self.make()
        for share in (0.0, 0.5, 1.0):
            half = randomizer.variance(count=20, frequency=share)
            assert half == pytest.approx(randomizer.variance(count=10, frequency=share) / 2)

    def test_influence_is_what_the_worst_report_does(self) -> None:
        randomizer = self.make()
        reports = [np.frombuffer(r, dtype=np.uint8) for v in self.values for r in exact_distribution(randomizer, v)]
        scores = np.array([randomizer.estimate(randomizer.unpack(r[None])).values for r in reports])
        worst = max(scores.max(), 1 - scores.min())
        assert worst <= randomizer.influence(1.0) + 1e-9
        assert not self.tight or worst == pytest.approx(randomizer.influence(1.0))
        assert randomizer.influence(0.01) == pytest.approx(randomizer.influence(1.0) / 100)

    def test_estimates_tell_themselves(self) -> None:
        randomizer = self.make()
        found = randomizer.estimate(randomizer.randomize(list(self.values) * 200, rng=seeded(8)))
        assert isinstance(found, local.FrequencyEstimate)
        assert "fake clients" in found.text()
        assert "<svg" in found.html()
        assert json.loads(json.dumps(found.to_json()))["count"] == 200 * len(self.values)


class LargeDomains(FrequencyContract):
    """Randomizers for shares of a hundred thousand values."""

    def test_the_error_is_the_stated_one_for_a_hundred_thousand_values(self, soak: int) -> None:
        randomizer = type(self).kind(**{**self.large, "domain": 100_000})
        seen, told, held = self.errors(randomizer, 100_000 * soak, 1)
        assert abs(seen / told - 1) < 0.05
        if randomizer.q * 100_000 > 50:  # with fewer supporting reports the normal law is far
            assert 0.93 <= held <= 0.97


class MeanContract(Contract):
    """Randomizers for means of numbers."""

    values = [-1.0, 0.25, 1.0]
    odd = [float("nan")]
    bad = {"upper": [(-1, HubbubError), (-2, HubbubError)], "missing": [(7, OutOfRange)]}
    people: ClassVar[int] = 2_000
    repeats: ClassVar[int] = 400
    spreads: ClassVar[dict[tuple[float, float], float]] = {}  # (epsilon, value): n * variance on [-1, 1], by the paper

    def crowd(self, seed: int) -> Any:
        return np.random.default_rng(seed).uniform(-0.2, 1, self.people)

    centre: ClassVar[float] = 0.4

    def test_the_mean_is_unbiased_with_the_stated_error_and_intervals_hold(self, soak: int) -> None:
        randomizer = self.make()
        found = [
            randomizer.estimate(randomizer.randomize(self.crowd(seed), rng=seeded(seed)))
            for seed in range(self.repeats * (1 if soak == 1 else 4))
        ]
        errors = np.array([f.value - self.truth(seed) for seed, f in enumerate(found)])
        told = float(np.mean([f.variance for f in found]))
        assert abs(errors.mean()) < 5 * np.sqrt(told / len(errors))
        assert abs(float(np.mean(errors**2)) / told - 1) < 5 * np.sqrt(2 / len(errors))
        held = np.mean(
            [f.interval(0.95)[0] <= f.value - e <= f.interval(0.95)[1] for f, e in zip(found, errors, strict=True)]
        )
        assert 0.92 <= held <= 0.98

    def truth(self, seed: int) -> float:
        return self.centre

    def test_the_variance_is_that_of_the_literature(self) -> None:
        for (epsilon, value), spread in self.spreads.items():
            made = self.make(epsilon=epsilon)
            assert made.variance(count=1, frequency=value) == pytest.approx(spread, abs=0.006), (epsilon, value)

    def test_values_outside_go_to_the_bounds(self) -> None:
        randomizer = self.make()
        assert randomizer.codes([-5, -1, 1, 5, 1e300, 10**400, float("-inf")]).tolist() == [
            *([0] * 2),
            *([randomizer.steps] * 4),
            0,
        ]

    def test_one_value_is_rounded_as_in_bulk(self) -> None:
        randomizer = self.make()
        values = [*np.random.default_rng(1).uniform(-1.5, 1.5, 500).tolist(), 10**400, -(10**400), float("nan"), 1]
        assert [randomizer._code(v) for v in values] == randomizer.codes(values).tolist()

    def test_what_is_no_number_is_refused_by_its_type(self) -> None:
        for value in ("1", None, 1j, b"1"):
            with pytest.raises(NotANumber):
                self.make().randomize([0.5, value])

    def test_influence_is_what_the_worst_report_does(self) -> None:
        randomizer = self.make()
        scores = [
            randomizer.estimate(randomizer.unpack(np.frombuffer(report, dtype=np.uint8)[None])).value
            for report in exact_distribution(randomizer, self.values[0])
        ]
        assert max(max(scores) + 1, 1 - min(scores)) == pytest.approx(randomizer.influence(1.0))
