"""Oriented gradients: one image at a time, bounded norms for whatever comes, and features that are of use."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from hubbub.learn import LogisticRegression, make_pipeline
from hubbub.learn.public import OrientedGradients
from hubbub.learn.public.arrays import halve_maps, oriented_growth, sum_by_halves
from hubbub.terms import MissingParameter, MixesPeople, OutOfRange, ReversedBounds, WrongShape

KINDS: dict[str, OrientedGradients] = {
    "grey": OrientedGradients((28, 28)),
    "upright": OrientedGradients((28, 28), upright=True),
    "colour": OrientedGradients((32, 32, 3)),
    "odd sides": OrientedGradients((9, 15), directions=6),
    "tiny": OrientedGradients((1, 1)),
}
kinds = pytest.mark.parametrize("kind", KINDS)


def images(kind: str, count: int, seed: int = 1) -> Any:
    return np.random.default_rng(seed).integers(0, 256, (count, *KINDS[kind].shape))


# ---------------------------------------------------------------- one image at a time


@kinds
def test_an_image_alone_has_the_same_features_as_among_many_bit_for_bit(kind: str) -> None:
    step, many = KINDS[kind], images(kind, 150)
    together = step.transform(many)
    assert all(np.array_equal(step.transform(many[i : i + 1])[0], together[i]) for i in (0, 1, 63, 64, 149))
    assert np.array_equal(step.transform(many[::-1])[::-1], together)
    assert np.array_equal(step.transform(many[7:82]), together[7:82])


@kinds
def test_changing_one_image_changes_no_other(kind: str) -> None:
    step, many = KINDS[kind], images(kind, 70)
    before = step.transform(many)
    for worst in (images(kind, 1, seed=2)[0], np.full(step.shape, np.nan), np.full(step.shape, 1e308)):
        changed = many.astype(float)
        changed[5] = worst
        after = step.transform(changed)
        assert np.array_equal(np.delete(after, 5, axis=0), np.delete(before, 5, axis=0))


def test_a_step_that_looks_at_the_whole_batch_would_be_noticed() -> None:
    class Brightened(OrientedGradients):
        def transform(self, X: Any) -> Any:
            return super().transform(X) * np.float32(np.asarray(X).mean())

    step, many = Brightened((28, 28)), images("grey", 10)
    assert not np.array_equal(step.transform(many[:1])[0], step.transform(many)[0])
    with pytest.raises(MixesPeople):
        make_pipeline(step, LogisticRegression(norm=1.0), epsilon=1, delta=1e-5).fit(many.reshape(10, -1), [0, 1] * 5)


def test_adding_up_by_halves_does_not_depend_on_the_other_columns_as_a_plain_sum_does() -> None:
    values = np.random.default_rng(1).standard_normal((1000, 64)).astype(np.float32)
    alone = np.array([sum_by_halves(np.ascontiguousarray(values[:, j : j + 1]))[0] for j in range(64)])
    assert np.array_equal(alone, sum_by_halves(values))
    plain = np.array([np.ascontiguousarray(values[:, j]).sum() for j in range(64)])
    assert not np.array_equal(plain, values.sum(axis=0))  # which is why it is not used


# ---------------------------------------------------------------- norms


@kinds
def test_norms_are_at_most_one_for_whatever_comes(kind: str) -> None:
    step = KINDS[kind]
    generator = np.random.default_rng(3)
    odd = np.array([0, 255, -1, 256, np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 1e-30], dtype=float)
    strange = odd[generator.integers(0, len(odd), (60, *step.shape))]
    found = step.transform(np.concatenate([strange, images(kind, 60), np.zeros((1, *step.shape))]))
    lengths = np.linalg.norm(found.astype(np.longdouble), axis=1)
    assert np.isfinite(found).all() and (lengths <= 1).all()
    assert kind == "tiny" or (lengths[:-1] > 0.99999).all()
    assert not found[-1].any()  # a black image has no features


def test_values_that_are_no_numbers_count_as_the_lowest() -> None:
    step, many = KINDS["grey"], images("grey", 3)
    holes, zeros = many.astype(object), many.copy()
    holes[1, :4], zeros[1, :4] = "secret", 0
    assert np.array_equal(step.transform(holes), step.transform(zeros))


def test_pixels_are_measured_by_their_bounds_and_clipped_to_them() -> None:
    many = images("grey", 3)
    assert np.allclose(OrientedGradients((28, 28), bounds=(0, 1)).transform(many / 255), KINDS["grey"].transform(many))
    over = np.where(many == many.max(), 10_000, many)
    under = OrientedGradients((28, 28), bounds=(0, int(many.max())))
    assert np.array_equal(under.transform(over), under.transform(many))


# ---------------------------------------------------------------- what the features are


def test_brightness_and_contrast_do_not_change_the_features_of_an_image() -> None:
    many = np.random.default_rng(1).integers(10, 60, (3, 28, 28))
    assert np.allclose(KINDS["grey"].transform(many), KINDS["grey"].transform(2 * many), atol=1e-5)


def test_a_gradient_lies_in_its_own_direction_alone() -> None:
    slope = np.tile(np.arange(12, dtype=np.float32), (12, 1))[None, :, :, None]
    inside = oriented_growth(slope, 8)[:, 2:-2, 2:-2, 0]
    assert (inside[0] > 0).all() and not inside[1:].any()
    turned = oriented_growth(np.moveaxis(slope, 1, 2), 8)[:, 2:-2, 2:-2, 0]
    assert (turned[2] > 0).all() and not np.delete(turned, 2, axis=0).any()


def test_halving_is_a_smooth_average() -> None:
    maps = np.random.default_rng(2).uniform(0, 1, (2, 7, 8, 3)).astype(np.float32)
    found = halve_maps(maps)
    padded = np.pad(maps, ((0, 0), (1, 2), (1, 1), (0, 0)))
    weights = np.outer([1, 3, 3, 1], [1, 3, 3, 1])
    by_hand = np.einsum("crsn,rs->cn", padded[:, 2:6, 4:8], weights)
    assert found.shape == (2, 4, 4, 3) and np.allclose(found[:, 1, 2], by_hand, rtol=1e-5)


def test_upright_images_differ_less() -> None:
    """A bar, and the same bar leaning and moved to the side."""
    bar = np.zeros((2, 28, 28))
    for line in range(6, 22):
        bar[0, line, 13:16] = bar[1, line, 10 + (21 - line) // 3 : 13 + (21 - line) // 3] = 255
    plain, straight = (OrientedGradients((28, 28), upright=up).transform(bar) for up in (False, True))
    assert float(straight[0] @ straight[1]) > 0.85 > 0.8 > float(plain[0] @ plain[1])


def test_bundled_digits_are_told_apart_privately() -> None:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    model = make_pipeline(
        OrientedGradients((8, 8), bounds=(0, 16)), LogisticRegression(norm=1.0), epsilon=3, delta=1e-5
    ).fit(X[:1400], y[:1400])
    assert model.score(X[1400:], y[1400:]) > 0.87


# ---------------------------------------------------------------- conventions


def test_it_is_a_step_of_scikit_learn_that_needs_no_fit() -> None:
    from sklearn.base import clone
    from sklearn.linear_model import LogisticRegression as Plain
    from sklearn.pipeline import make_pipeline as plain_pipeline

    many, step = images("grey", 12).reshape(12, -1), KINDS["upright"]
    same = clone(step)
    assert same.get_params() == step.get_params() and repr(step) == "OrientedGradients(shape=(28, 28), upright=True)"
    assert np.array_equal(same.fit(None).transform(many), step.fit_transform(many))
    assert np.array_equal(pickle.loads(pickle.dumps(step)).transform(many), step.transform(many))
    assert plain_pipeline(step, Plain()).fit(many, [0, 1] * 6).predict(many).shape == (12,)
    assert step.transform(many[:0]).shape == (0, 1416)


@pytest.mark.parametrize(
    ("step", "error"),
    [
        (OrientedGradients(), MissingParameter),
        (OrientedGradients((28,)), WrongShape),
        (OrientedGradients((28, 28, 2)), WrongShape),
        (OrientedGradients((28, 0)), OutOfRange),
        (OrientedGradients((14, 14)), WrongShape),
        (OrientedGradients((28, 28), directions=7), OutOfRange),
        (OrientedGradients((28, 28), bounds=(1, 0)), ReversedBounds),
        (OrientedGradients((32, 32, 3), upright=True), OutOfRange),
    ],
)
def test_what_is_wrong_is_refused(step: OrientedGradients, error: type[Exception]) -> None:
    with pytest.raises(error):
        step.transform(images("grey", 2))
