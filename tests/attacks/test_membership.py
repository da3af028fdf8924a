"""Membership: who took part, from published shares and from trained models."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from hubbub.attacks import (
    Roc,
    Shadows,
    TrainingComparison,
    confidence_attack,
    homer_statistic,
    inner_product,
    likelihood_ratio,
    lira,
    lira_scores,
    separation,
    shadow_attack,
    shadow_models,
    trace,
)
from hubbub.mechanisms import DiscreteGaussian
from hubbub.terms import EmptyInput, OutOfRange, Unsuitable

# ---------------------------------------------------------------- ROC


def test_a_roc_counts_pairs_and_thresholds() -> None:
    roc = Roc.of(members=[3, 4, 5, 1], others=[0, 1, 2, 2])
    pairs = [(m > o) + (m == o) / 2 for m in (3, 4, 5, 1) for o in (0, 1, 2, 2)]
    assert roc.auc == np.mean(pairs)
    assert (roc.tpr(0), roc.tpr(0.5), roc.tpr(0.75), roc.tpr(1)) == (0.75, 0.75, 1, 1)
    assert roc.advantage == 0.75


def test_true_positives_at_a_rate_never_use_more_false_ones() -> None:
    random = np.random.default_rng(0)
    members, others = random.integers(0, 5, 300), random.integers(0, 5, 200)  # many ties
    roc = Roc.of(members, others)
    for fpr in (0, 0.01, 0.1, 0.3, 0.9):
        best = max(np.mean(members > t) for t in range(-1, 6) if np.mean(others > t) <= fpr)
        assert roc.tpr(fpr) == best


def test_the_interval_of_a_rate_holds_it_and_shrinks() -> None:
    few, many = Roc.of([1] * 5 + [0] * 5, [0] * 100), Roc.of([1] * 500 + [0] * 500, [0] * 100)
    for roc in (few, many):
        low, high = roc.tpr_interval(0.01)
        assert low < roc.tpr(0.01) == 0.5 < high
    assert np.ptp(many.tpr_interval(0.01)) < np.ptp(few.tpr_interval(0.01)) / 5


def test_a_rate_that_the_others_cannot_resolve_is_not_told() -> None:
    roc = Roc.of([1, 2], [0, 0.5] * 50)
    assert roc.rates()["tpr_at_0.001"] is None
    assert roc.shown(0.001) == "too few others to tell"
    assert roc.rates()["tpr_at_0.01"] == 1


# ---------------------------------------------------------------- published shares

PEOPLE, ATTRIBUTES = 100, 400


class Study:
    """People with independent attributes, of whom some took part."""

    def __init__(self, seed: int = 1, others: int = 3000) -> None:
        random = np.random.default_rng(seed)
        self.reference = random.uniform(0.05, 0.5, ATTRIBUTES)
        self.members = (random.random((PEOPLE, ATTRIBUTES)) < self.reference).astype(np.int8)
        self.others = (random.random((others, ATTRIBUTES)) < self.reference).astype(np.int8)
        self.counts = self.members.sum(axis=0, dtype=np.int64)


@pytest.fixture(scope="module")
def study() -> Study:
    return Study()


@pytest.mark.parametrize("statistic", ["likelihood-ratio", "inner-product"])
def test_exact_shares_give_members_away_as_theory_says(study: Study, statistic: str) -> None:
    found = trace(
        study.counts / PEOPLE, study.reference, members=study.members, others=study.others, statistic=statistic
    )
    assert found.separation == pytest.approx(math.sqrt(ATTRIBUTES / PEOPLE))
    assert found.roc.auc == pytest.approx(found.expected_auc, abs=0.03)
    assert found.roc.tpr(0.01) == pytest.approx(found.expected_tpr(0.01), abs=0.15)
    assert found.succeeded


def test_mean_and_variance_of_the_scores_are_those_of_the_theory() -> None:
    members, others = [], []
    for seed in range(12):
        one = Study(seed, others=200)
        shares = one.counts / PEOPLE
        scale = math.sqrt(PEOPLE * ATTRIBUTES)  # the standard deviation of an other's score
        members.append(inner_product(one.members, shares, one.reference, size=PEOPLE) / scale)
        others.append(inner_product(one.others, shares, one.reference, size=PEOPLE) / scale)
    assert np.mean(others) == pytest.approx(0, abs=0.1)
    assert np.std(others) == pytest.approx(1, abs=0.1)
    assert np.mean(members) == pytest.approx(separation(Study().reference, size=PEOPLE), abs=0.15)


def test_homers_statistic_finds_members_too(study: Study) -> None:
    shares = study.counts / PEOPLE
    found = trace(shares, study.reference, members=study.members, others=study.others, statistic="homer")
    assert 0.8 < found.roc.auc <= found.expected_auc + 0.03


def test_private_shares_hide_members(study: Study) -> None:
    noise = DiscreteGaussian(sensitivity=math.isqrt(ATTRIBUTES), epsilon=1, delta=1e-6, dimension=ATTRIBUTES)
    shares = np.asarray(noise.release(study.counts)) / PEOPLE
    added = float(noise.event.sigma) / PEOPLE
    found = trace(
        shares,
        study.reference,
        members=study.members,
        others=study.others,
        statistic="inner-product",
        noise=added,
        epsilon=1,
    )
    assert found.expected_auc < 0.55
    assert found.roc.auc < 0.72  # five standard errors above theory
    assert not found.succeeded
    assert found.html().count("<svg") == 1


@pytest.mark.parametrize(
    ("people", "published", "reference"),
    [
        ([[1, 0]], [0.5], [0.5]),
        ([[1, 0]], [0.5, 0.5], [0.5]),
        ([[1, 0]], [0.5, 0.5], [0.5, 1.0]),
        ([[2, 0]], [0.5, 0.5], [0.5, 0.5]),
        ([1, 0], [0.5, 0.5], [0.5, 0.5]),
        ([[1, 0]], [math.inf, 0.5], [0.5, 0.5]),
    ],
)
def test_unsuitable_shares_are_refused(people: Any, published: Any, reference: Any) -> None:
    for statistic in (homer_statistic, likelihood_ratio):
        with pytest.raises(Unsuitable, match="P911"):
            statistic(people, published, reference)


def test_an_unknown_statistic_is_refused(study: Study) -> None:
    with pytest.raises(OutOfRange, match="no statistic"):
        trace([0.5], [0.5], members=[[1]], others=[[0]], statistic="magic")


# ---------------------------------------------------------------- models


class Memory:
    """A classifier that is sure of what it has seen and guesses the rest: as overfitted as can be."""

    def __init__(self, X: np.ndarray, y: np.ndarray, sure: float) -> None:
        self.classes_ = np.unique(y)
        self.seen = {row.tobytes(): label for row, label in zip(X, y, strict=True)}
        self.sure = sure

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        random = np.random.default_rng(len(self.seen))
        first = np.full(len(X), 0.5) + random.uniform(-0.1, 0.1, len(X))
        for i, row in enumerate(X):
            if row.tobytes() in self.seen:
                first[i] += self.sure * (1 if self.seen[row.tobytes()] == self.classes_[0] else -1)
        return np.column_stack([first, 1 - first])


def blobs(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, 12))
    return X, np.where(X[:, 0] + random.normal(size=rows) > 0, "ill", "well")


def shadows(sure: float) -> Shadows:
    X, y = blobs(60)
    return shadow_models(lambda a, b: Memory(a, b, sure), X, y, models=24)


@pytest.mark.parametrize("attack", [lira, shadow_attack, confidence_attack])
def test_a_model_that_remembers_is_found_out_and_one_that_does_not_is_not(attack: Any) -> None:
    assert attack(shadows(0.3)).roc.tpr(0.01) > 0.95
    assert attack(shadows(0.3)).succeeded
    assert abs(attack(shadows(0.0)).roc.auc - 0.5) < 0.06
    assert not attack(shadows(0.0)).succeeded


def test_each_example_is_in_half_of_the_models() -> None:
    found = shadows(0.1)
    assert (found.inside.sum(axis=0) == 12).all()
    assert found.probabilities.shape == (24, 60, 2)


@pytest.fixture(scope="module")
def overfitted() -> Shadows:
    from sklearn.tree import DecisionTreeClassifier

    X, y = blobs(100)
    return shadow_models(
        lambda a, b: DecisionTreeClassifier(max_features=4, min_samples_leaf=2, random_state=0).fit(a, b),
        X,
        y,
        models=64,
    )


def test_lira_finds_members_of_an_overfitted_model_at_rare_false_positives(overfitted: Shadows) -> None:
    online, offline = lira(overfitted), lira(overfitted, online=False)
    assert online.roc.auc > 0.7
    assert online.roc.tpr(0.01) > 0.03
    assert offline.roc.auc > 0.6
    assert online.roc.auc >= shadow_attack(overfitted).roc.auc - 0.02


def test_lira_scores_a_model_that_is_not_among_the_shadows() -> None:
    known = shadows(0.3)
    target = known.inside[0]
    names = np.asarray(known.classes)[known.labels]
    model = Memory(known.examples[target], names[target], 0.3)
    for online in (True, False):
        scores = lira_scores(known, model, online=online)
        assert Roc.of(scores[target], scores[~target]).auc > 0.99


def test_leaving_a_model_out_is_what_a_stranger_would_see() -> None:
    known = shadows(0.2)
    rest = Shadows(known.examples, known.labels, known.classes, known.inside[1:], known.probabilities[1:])

    class First:
        classes_ = known.classes

        def predict_proba(self, X: np.ndarray) -> np.ndarray:
            return known.probabilities[0]

    expected = lira_scores(rest, First())
    roc = Roc.of(expected[known.inside[0]], expected[~known.inside[0]])
    alone = Shadows(known.examples, known.labels, known.classes, known.inside, known.probabilities)
    assert lira(alone).roc.members.size == known.inside.sum()
    assert set(np.round(roc.members, 9)) <= set(np.round(lira(known).roc.members, 9))


def test_a_torch_module_can_be_attacked() -> None:
    torch = pytest.importorskip("torch", reason="torch is an extra")
    torch.manual_seed(0)

    def train(a: np.ndarray, b: np.ndarray) -> Any:
        model = torch.nn.Sequential(torch.nn.Linear(12, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
        steps = torch.optim.Adam(model.parameters(), lr=0.05)
        inputs, targets = torch.tensor(a, dtype=torch.float32), torch.tensor(b)
        for _ in range(60):
            steps.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), targets).backward()
            steps.step()
        return model

    X, y = blobs(40)
    found = lira(shadow_models(train, X, (y == "ill").astype(int), models=16))
    assert found.roc.auc > 0.65


def test_a_private_model_hides_what_it_was_trained_on() -> None:
    from hubbub.learn import LogisticRegression

    X, y = blobs(60)

    def train(a: np.ndarray, b: np.ndarray) -> Any:
        return LogisticRegression(epsilon=1, delta=1e-4, norm=4.0, classes=["ill", "well"], rows=30, max_iter=20).fit(
            a, b
        )

    found = lira(shadow_models(train, X, y, models=16), epsilon=1)
    assert found.roc.auc < 0.7
    assert not found.succeeded


def test_ways_to_train_are_compared_side_by_side() -> None:
    both = TrainingComparison({"remembers": lira(shadows(0.3)), "forgets": lira(shadows(0.0))})
    assert both.succeeded
    assert set(both.numbers()) == {"remembers", "forgets"}
    assert len(both.table().rows) == 2
    assert "guessing blindly" in both.figure().svg
    with pytest.raises(EmptyInput):
        TrainingComparison({})


@pytest.mark.parametrize(
    ("X", "y"),
    [
        ([[1.0], [2.0]], [0, 0]),
        ([[1.0], [2.0]], [0, 1, 1]),
        ([1.0, 2.0], [0, 1]),
        ([[1.0]] * 40, [0] * 39 + [1]),
    ],
)
def test_unsuitable_examples_are_refused(X: Any, y: Any) -> None:
    with pytest.raises(Unsuitable, match="P911"):
        shadow_models(lambda a, b: Memory(a, b, 0.1), X, y, models=8)


@pytest.mark.parametrize("model", [object(), None, lambda X: X])
def test_a_model_without_probabilities_is_refused(model: Any) -> None:
    X, y = blobs(20)
    with pytest.raises(Unsuitable, match="tells no probabilities"):
        shadow_models(lambda a, b: model, X, y, models=8)


def test_probabilities_of_a_wrong_shape_are_refused() -> None:
    class Odd:
        def predict_proba(self, X: np.ndarray) -> np.ndarray:
            return np.ones((len(X), 5))

    class Other(Memory):
        def __init__(self, X: np.ndarray, y: np.ndarray) -> None:
            super().__init__(X, y, 0.1)
            self.classes_ = np.array(["cats", "dogs"])

    X, y = blobs(20)
    with pytest.raises(Unsuitable, match="shape"):
        shadow_models(lambda a, b: Odd(), X, y, models=8)
    with pytest.raises(Unsuitable, match="other classes"):
        shadow_models(Other, X, y, models=8)
