"""What a saved model consists of: which values each class has, of which kinds and shapes. One table per class.

A file may come from anybody. What it says is checked against these tables when it is read, so that a model that was
loaded can be used: kinds, shapes that fit each other, finite numbers. A size that has a name (``columns``, ``classes``)
is the same wherever it stands in a model. The same tables are asked before a file is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from hubbub.learn.base.private_estimator import PrivateEstimator
from hubbub.learn.composition.held_out_score import ModelScore
from hubbub.learn.stored_words import stored_values
from hubbub.learn.tables.features import Category, NumberFeature, Style
from hubbub.learn.tables.form_checks import (
    Check,
    Sizes,
    a,
    double,
    doubles,
    ends,
    labels,
    maybe,
    named,
    not_negative,
    places,
    plain,
    positive,
    several,
    share,
    table,
    typed,
    whole,
    word,
    words,
)
from hubbub.learn.training.boosting import Bins
from hubbub.learn.training.recipes import Recipe
from hubbub.terms import Event, Guarantee, Receipt


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


# ---------------------------------------------------------------- values of ours


def network(kind: str) -> Check:
    """Layers from the columns to one output for each class (two need one), or to one number."""

    def check(value: Any, sizes: Sizes) -> bool:
        widths = sizes["columns"], _outputs(sizes)
        if type(value) is not stored_values()[kind] or (value.widths[0], value.widths[-1]) != widths:
            return False
        sizes["weights"] = value.size
        return True

    return check


def _outputs(sizes: Sizes) -> int:
    """One number, or one for each of more than two classes."""
    classes = sizes.get("classes", 2)
    return 1 if classes == 2 else classes


def scores(value: Any, sizes: Sizes) -> bool:
    """The scores of the bins of each column, after these bins."""
    return (
        type(value) is list
        and len(value) == sizes["columns"]
        and all(doubles(sizes[f"bins {place}"], _outputs(sizes))(each, sizes) for place, each in enumerate(value))
    )


def cuts(value: Any, sizes: Sizes) -> bool:
    """Where each column is cut."""
    if type(value) is not Bins or len(value.edges) != sizes["columns"]:
        return False
    sizes.update({f"bins {place}": size for place, size in enumerate(value.sizes)})
    return True


def style(value: Any, sizes: Sizes) -> bool:
    """What features are made of codes."""
    return type(value) is str and value in list(Style)


def answers(value: Any, sizes: Sizes) -> bool:
    """The class of each question, -1 where there is none."""
    known = doubles("asked")(value, sizes) and value == np.floor(value)
    return bool(np.all(known)) and bool(((value >= -1) & (value < sizes["classes"])).all())


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
