"""What a saved model consists of: which values each class has, of which kinds and shapes. One table per class.

A file may come from anybody. What it says is checked against these tables when it is read, so that a model that was
loaded can be used: kinds, shapes that fit each other, finite numbers. A size that has a name (``columns``, ``classes``)
is the same wherever it stands in a model. The same tables are asked before a file is written.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from hubbub.learn.base.private_estimator import PrivateEstimator
from hubbub.learn.composition.held_out_score import ModelScore
from hubbub.learn.stored_words import stored_values
from hubbub.learn.tables.features import Category, NumberFeature, Style
from hubbub.learn.training.boosting import Bins
from hubbub.learn.training.recipes import Recipe
from hubbub.terms import Event, Guarantee, Receipt

Sizes = dict[str, int]  # by name, as far as they are known
Check = Callable[[Any, Sizes], bool]

_MOST_DIGITS = 1000  # of a number that somebody typed
_ONE_KIND = [{kind} for kind in (bool, int, float, str)]


def fits_learned(tag: str, learned: Mapping[str, Any], parameters: Mapping[str, Any]) -> bool:
    """Whether an estimator of this stored name could have learned that, with these parameters."""
    form, public = learned_forms()[tag], parameters.get("public")
    sizes = {} if public is None else {"public": len(public)}
    known = form.keys() <= learned.keys() <= form.keys() | _MAY_HAVE.keys()
    checks = {**form, **_MAY_HAVE}
    return known and all(checks[name](learned[name], sizes) for name in checks if name in learned)


def fits_fields(tag: str, fields: Mapping[str, Any]) -> bool:
    """Whether a value of this stored name could have these fields; some may be left to their defaults."""
    form = field_forms()[tag]
    return fields.keys() <= form.keys() and all(form[key](value, {}) for key, value in fields.items())


def fits_parameters(parameters: Mapping[str, Any]) -> bool:
    """Whether parameters could have these values. What is read only at another fit may be any plain value."""
    return all(_PARAMETERS.get(name, plain)(value, {}) for name, value in parameters.items())


# ---------------------------------------------------------------- kinds of values


def a(*kinds: type[Any] | None) -> Check:
    """One of these classes."""
    allowed = tuple(type(None) if kind is None else kind for kind in kinds)
    return lambda value, sizes: isinstance(value, allowed)


def word(value: Any, sizes: Sizes) -> bool:
    """A text."""
    return type(value) is str


def style(value: Any, sizes: Sizes) -> bool:
    """What features are made of codes."""
    return type(value) is str and value in list(Style)


def whole(size: str | None = None, *, least: int = 0) -> Check:
    """A whole number; with a name, it is that size."""
    return lambda value, sizes: (
        type(value) is int and least <= value < 1 << 62 and (size is None or sizes.setdefault(size, value) == value)
    )


def double(value: Any, sizes: Sizes) -> bool:
    """A number that is finite as a double."""
    return type(value) in (int, float) and abs(value) < 1e308


def positive(value: Any, sizes: Sizes) -> bool:
    """Such a number above 0."""
    return double(value, sizes) and value > 0


def not_negative(value: Any, sizes: Sizes) -> bool:
    """Such a number from 0."""
    return double(value, sizes) and value >= 0


def share(value: Any, sizes: Sizes) -> bool:
    """Such a number from 0 to 1."""
    return double(value, sizes) and 0 <= value <= 1


def typed(value: Any, sizes: Sizes) -> bool:
    """A number as people type them, exact or not, of a size that can be written out."""
    if type(value) is Decimal:
        return value.is_finite() and abs(value.adjusted()) < _MOST_DIGITS
    if type(value) is Fraction:
        return max(value.numerator.bit_length(), value.denominator.bit_length()) < 3 * _MOST_DIGITS
    return (type(value) is int and value.bit_length() < 3 * _MOST_DIGITS) or (
        type(value) is float and math.isfinite(value)
    )


def maybe(check: Check) -> Check:
    """That, or nothing."""
    return lambda value, sizes: value is None or check(value, sizes)


def several(check: Check, *, least: int = 0) -> Check:
    """A list or tuple of such values."""
    return lambda value, sizes: (
        type(value) in (list, tuple) and len(value) >= least and all(check(each, sizes) for each in value)
    )


def ends(value: Any, sizes: Sizes) -> bool:
    """A lower and a higher number."""
    return (
        type(value) is tuple and len(value) == 2 and all(double(each, sizes) for each in value) and value[0] < value[1]
    )


def named(check: Check) -> Check:
    """Such values by names."""
    return lambda value, sizes: (
        type(value) is dict and all(type(name) is str and check(each, sizes) for name, each in value.items())
    )


# ---------------------------------------------------------------- arrays


def doubles(*shape: str | int) -> Check:
    """Finite doubles in an array of this shape."""
    return lambda value, sizes: (
        _has_shape(value, shape, sizes) and value.dtype == np.float64 and np.isfinite(value).all()
    )


def places(size: str, *, below: str) -> Check:
    """Places in something of a known size."""
    return lambda value, sizes: (
        _has_shape(value, (size,), sizes)
        and value.dtype == np.int64
        and bool(((value >= 0) & (value < sizes.get(below, 0))).all())
    )


def answers(value: Any, sizes: Sizes) -> bool:
    """The class of each question, -1 where there is none."""
    known = doubles("asked")(value, sizes) and value == np.floor(value)
    return bool(np.all(known)) and bool(((value >= -1) & (value < sizes["classes"])).all())


def labels(value: Any, sizes: Sizes) -> bool:
    """Two classes or more, in order, of numbers or words."""
    if not _has_shape(value, ("classes",), sizes) or len(value) < 2:
        return False
    if value.dtype.kind == "O" and {type(each) for each in value.tolist()} not in _ONE_KIND:
        return False
    return bool(np.array_equal(np.unique(value), value))


def words(size: str) -> Check:
    """Texts in an array of objects."""
    return lambda value, sizes: _has_shape(value, (size,), sizes) and all(type(each) is str for each in value.tolist())


def table(value: Any, sizes: Sizes) -> bool:
    """Rows or a column of plain values, as somebody gave them."""
    return isinstance(value, np.ndarray) or plain(value, sizes)


def plain(value: Any, sizes: Sizes) -> bool:
    """A value that somebody may have typed: nothing, a number, a text, or several of these."""
    if type(value) in (list, tuple):
        return all(plain(each, sizes) for each in value)
    return value is None or type(value) in (bool, str) or typed(value, sizes) or isinstance(value, np.ndarray)


def _has_shape(value: Any, shape: tuple[str | int, ...], sizes: Sizes) -> bool:
    if not isinstance(value, np.ndarray) or value.ndim != len(shape):
        return False
    lengths = zip(value.shape, shape, strict=True)
    return all(
        length == (size if isinstance(size, int) else sizes.setdefault(size, length)) for length, size in lengths
    )


# ---------------------------------------------------------------- values of ours


def network(kind: str) -> Check:
    """Layers from the columns to one output for each class (two need one), or to one number."""

    def check(value: Any, sizes: Sizes) -> bool:
        classes = sizes.get("classes", 2)
        outputs = 1 if classes == 2 else classes
        if type(value) is not stored_values()[kind] or (value.widths[0], value.widths[-1]) != (
            sizes["columns"],
            outputs,
        ):
            return False
        sizes["weights"] = value.size
        return True

    return check


def scores(value: Any, sizes: Sizes) -> bool:
    """The scores of the bins of each column, after these bins."""
    classes = sizes.get("classes", 2)
    outputs = 1 if classes == 2 else classes
    return (
        type(value) is list
        and [getattr(each, "shape", None) for each in value]
        == [(sizes[f"bins {place}"], outputs) for place in range(sizes["columns"])]
        and all(each.dtype == np.float64 and np.isfinite(each).all() for each in value)
    )


def cuts(value: Any, sizes: Sizes) -> bool:
    """Where each column is cut."""
    if type(value) is not Bins or len(value.edges) != sizes["columns"]:
        return False
    sizes.update({f"bins {place}": size for place, size in enumerate(value.sizes)})
    return True


def growing(value: Any, sizes: Sizes) -> bool:
    """Numbers, each above the one before."""
    return type(value) is tuple and all(double(each, sizes) for each in value) and list(value) == sorted(set(value))


def fitted(value: Any, sizes: Sizes) -> bool:
    """An estimator of ours that has learned."""
    return isinstance(value, PrivateEstimator) and value.__sklearn_is_fitted__()


def features(value: Any, sizes: Sizes) -> bool:
    """Columns of a table whose bounds or values are known."""
    return several(a(Category, NumberFeature), least=1)(value, sizes) and all(
        getattr(each, "bounded", True) for each in value
    )


# ---------------------------------------------------------------- one table per class

_EACH: dict[str, Check] = {
    "n_features_in_": whole("columns", least=1),
    "event_": a(Event),
    "guarantee_": a(Guarantee),
    "receipt_": a(Receipt, None),
}
_MAY_HAVE: dict[str, Check] = {"rows_": whole(least=-(1 << 62)), "feature_names_in_": words("columns")}


def _trained(kind: str, target: dict[str, Check]) -> dict[str, Check]:
    return {
        **_EACH,
        **target,
        "network_": network(kind),
        "weights_": doubles("weights"),
        "norm_": positive,
        "recipe_": a(Recipe),
    }


@cache
def learned_forms() -> dict[str, dict[str, Check]]:
    """What a fit sets, by the stored names of estimators. Of others there are no files."""
    classes: dict[str, Check] = {"classes_": labels}
    target: dict[str, Check] = {"target_bounds_": ends}
    linear = {**_EACH, **target, "coef_": doubles("columns"), "intercept_": double, "norm_": positive, "ridge_": double}
    trees = {"bins_": cuts, "term_scores_": scores}
    bounds = {"bounds_": doubles("columns", 2)}
    return {
        "AdditiveTreesClassifier": {**_EACH, **classes, **trees},
        "AdditiveTreesRegressor": {**_EACH, **target, **trees},
        "CentreScaler": {**_EACH, "mean_": doubles("columns"), "norm_": positive},
        "GaussianNB": {
            **_EACH,
            **classes,
            **bounds,
            "class_count_": doubles("classes"),
            "class_prior_": doubles("classes"),
            "theta_": doubles("classes", "columns"),
            "var_": doubles("classes", "columns"),
        },
        "KMeans": {**_EACH, **bounds, "cluster_centers_": doubles("clusters", "columns"), "n_iter_": whole()},
        "LinearRegression": linear,
        "LinearSVC": _trained("Margins", classes),
        "LogisticRegression": _trained("Network", classes),
        "MLPClassifier": _trained("Network", classes),
        "MLPRegressor": _trained("Curve", target),
        "Measured": {**_EACH, "estimator_": fitted, "score_": a(ModelScore)},
        "PATEClassifier": {
            **_EACH,
            **classes,
            "asked_": places("asked", below="public"),
            "answers_": answers,
            "report_": maybe(several(double)),
        },
        "PCA": {
            **_EACH,
            "components_": doubles("components", "columns"),
            "explained_variance_": doubles("components"),
            "explained_variance_ratio_": doubles("components"),
            "mean_": doubles("columns"),
            "n_components_": whole("components"),
        },
        "Pipeline": {**_EACH, "steps_": several(fitted, least=1)},
        "PrivateColumns": {**_EACH, "columns_": features},
        "PrivateSearch": {**_EACH, "best_estimator_": fitted, "best_params_": named(plain)},
        "Ridge": linear,
        "StandardScaler": {
            **_EACH,
            **bounds,
            "mean_": doubles("columns"),
            "scale_": doubles("columns"),
            "var_": doubles("columns"),
        },
    }


@cache
def field_forms() -> dict[str, dict[str, Check]]:
    """The fields of values of ours, by their stored names and keys."""
    layers: dict[str, Check] = {"widths": several(whole(least=1), least=2), "bias": double}
    return {
        "Bins": {"edges": several(growing)},
        "Category": {"name": word, "values": several(word)},
        "Curve": layers,
        "Margins": layers,
        "Network": layers,
        "Number": {"name": word, "lower": maybe(double), "upper": maybe(double)},
        "Recipe": {
            "steps": whole(),
            "batch": double,
            **dict.fromkeys(("clip", "rate", "momentum", "tail"), double),
        },
        "Score": {"missed": share, "rows": positive, "noise": not_negative, "width": not_negative},
        "TableModel": {
            "columns": features,
            "target": a(Category, NumberFeature),
            "style": style,
            "estimator": fitted,
            "guarantee": a(Guarantee),
            "event": a(Event),
            "receipt": a(Receipt, None),
            "score": a(ModelScore, None),
            "notes": named(word),
        },
    }


_UNFITTED = a(PrivateEstimator, None)
_PARAMETERS: dict[str, Check] = {
    "account": a(None),
    "candidates": several(named(plain)),
    "columns": several(a(Category, NumberFeature)),
    "estimator": _UNFITTED,
    "public": maybe(table),
    "steps": several(_UNFITTED),
    "student": a(None),
    "style": style,
    "teacher": a(None),
    "validation": maybe(several(table)),
    **dict.fromkeys(("neighbours", "unit", "aggregator"), word),
    **dict.fromkeys(("population", "dataset"), maybe(word)),
    **dict.fromkeys(("epsilon", "delta", "norm", "clip", "learning_rate", "data_dependent"), maybe(typed)),
    **dict.fromkeys(("alpha", "share", "threshold", "trials"), typed),
}
