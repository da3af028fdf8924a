"""Post-processing is asked for, says that it is biased, and has no intervals; confidence sets hold at once."""

from __future__ import annotations

import numpy as np
import pytest

from hubbub.local import FiniteRandomizer, KaryResponse, ProjectiveGeometry, confidence_set, iterative_bayes, simplex
from hubbub.noise.testing import seeded
from hubbub.terms import NotProved, OutOfRange, WrongShape

RNG = np.random.default_rng(3)
SHARES = np.array([0.4, 0.3, 0.15, 0.1, 0.05, 0, 0, 0, 0, 0])
VALUES = RNG.choice(10, 3000, p=SHARES)
TRUE = np.bincount(VALUES, minlength=10) / 3000
SURVEY = KaryResponse(epsilon=1, domain=10)


def test_unbiased_estimates_are_never_touched() -> None:
    found = SURVEY.estimate(SURVEY.randomize(VALUES, rng=seeded(1)))
    before = found.values.copy()
    simplex(found)
    assert (found.values == before).all()
    assert (found.values < 0).any()


def test_the_projection_is_the_nearest_table() -> None:
    found = SURVEY.estimate(SURVEY.randomize(VALUES, rng=seeded(1)))
    near = simplex(found).values
    assert near.min() >= 0
    assert near.sum() == pytest.approx(1)
    for _ in range(300):
        other = RNG.dirichlet(np.full(10, 0.5))
        assert np.sum((near - found.values) ** 2) <= np.sum((other - found.values) ** 2) + 1e-9


def test_both_lower_the_error_of_sparse_tables_and_are_biased() -> None:
    errors: dict[str, list[float]] = {"raw": [], "simplex": [], "bayes": []}
    rare = []
    for seed in range(40):
        reports = SURVEY.randomize(VALUES, rng=seeded(seed))
        raw = SURVEY.estimate(reports)
        near, bayes = simplex(raw), iterative_bayes(SURVEY, reports)
        for name, one in (("raw", raw), ("simplex", near), ("bayes", bayes)):
            errors[name].append(float(np.sum((one.values - TRUE) ** 2)))
        rare.append((near.values[9], bayes.values[9]))
    assert np.mean(errors["simplex"]) < np.mean(errors["raw"])
    assert np.mean(errors["bayes"]) < np.mean(errors["raw"])
    assert (np.mean(rare, axis=0) > 0.003).all()  # nobody has it


def test_iterative_bayes_finds_the_likeliest_shares() -> None:
    reports = SURVEY.randomize(VALUES, rng=seeded(1))
    seen = np.bincount(reports, minlength=10)
    law = np.full((10, 10), SURVEY.q) + SURVEY.contrast * np.eye(10)

    def likelihood(shares: np.ndarray) -> float:
        return float(seen @ np.log(shares @ law))

    best = iterative_bayes(SURVEY, reports, rounds=20_000).values
    for _ in range(300):
        other = 0.98 * best + 0.02 * RNG.dirichlet(np.ones(10))
        assert likelihood(best) >= likelihood(other) - 1e-4
    twin = FiniteRandomizer.of(SURVEY, range(10))
    assert iterative_bayes(twin, reports).values == pytest.approx(iterative_bayes(SURVEY, reports).values, abs=1e-9)


def test_what_is_processed_says_biased_and_has_no_intervals() -> None:
    done = simplex(SURVEY.estimate(SURVEY.randomize(VALUES, rng=seeded(1))))
    assert done.label == "biased"
    assert "biased" in done.text()
    assert done.to_json()["label"] == "biased"
    with pytest.raises(NotProved):
        done.intervals(0.95)
    with pytest.raises(WrongShape):
        iterative_bayes(ProjectiveGeometry(epsilon=1, domain=9), [1])  # type: ignore[arg-type]


# ---------------------------------------------------------------- confidence sets


def test_the_set_holds_all_shares_at_once(soak: int) -> None:
    rounds = 120 * soak
    sets = [confidence_set(SURVEY.estimate(SURVEY.randomize(VALUES, rng=seeded(s))), 0.9) for s in range(rounds)]
    assert np.mean([one.contains(TRUE) for one in sets]) > 0.88
    single = [SURVEY.estimate(SURVEY.randomize(VALUES, rng=seeded(s))).intervals(0.9) for s in range(60)]
    assert np.mean([np.all((e[:, 0] <= TRUE) & (e[:, 1] >= TRUE)) for e in single]) < 0.7


def test_ranks_and_the_most_frequent_follow_from_the_set() -> None:
    survey = KaryResponse(epsilon=4, domain=10)
    found = confidence_set(survey.estimate(survey.randomize(VALUES, rng=seeded(1))))
    order = np.argsort(-TRUE, kind="stable")
    ranks = found.ranks()
    for place, value in enumerate(order[:5], start=1):
        assert ranks[value, 0] <= place <= ranks[value, 1]
    sure, maybe = found.top(2)
    assert set(sure) <= set(order[:2]) <= set(maybe)
    assert found.surely_larger(0, 9)
    assert not found.surely_larger(9, 0)
    assert not found.surely_larger(8, 9)


def test_sets_refuse_other_tables() -> None:
    found = confidence_set(SURVEY.estimate(SURVEY.randomize(VALUES, rng=seeded(1))))
    with pytest.raises(WrongShape):
        found.contains(np.ones(3))
    with pytest.raises(OutOfRange):
        found.top(11)
    assert "at once" in found.text()
    assert found.to_json()["confidence"] == 0.95
