"""The words under which models are stored and told apart, written out: no class, field or module gives them.

A class or a parameter may be renamed: files keep their words, and what was paid for is found again. Here a stored key
then gets the attribute that holds it, ``stored_keys("... batch ...", batch="batch_size")``, and that is all.
"""

from __future__ import annotations

import hashlib
import io
import pickle
import secrets
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any

from hubbub.terms import Budget, Event, Guarantee, PrivacyBound, Receipt, Unit, stored_keys, to_json

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

_TERMS = (Event, Guarantee, Receipt, PrivacyBound, Budget, Unit)
_PAID = " rows neighbours unit account population dataset"
_TRAINED = " rows neighbours unit sampling batch steps clip learning_rate account population dataset"
_NOW = {"batch": "batch_size", "steps": "max_iter", "hidden": "hidden_layer_sizes"}  # parameters of 0.1 by their names
_LEARNED = stored_keys(
    "answers_ asked_ best_estimator_ best_params_ bins_ bounds_ class_count_ class_prior_ classes_ cluster_centers_ "
    "coef_ columns_ components_ estimator_ event_ explained_variance_ explained_variance_ratio_ feature_names_in_ "
    "guarantee_ intercept_ mean_ n_components_ n_features_in_ n_iter_ network_ norm_ receipt_ recipe_ report_ ridge_ "
    "rows_ scale_ score_ steps_ target_bounds_ term_scores_ theta_ var_ weights_"
)
_KEY_OF_LEARNED = {attribute: key for key, attribute in _LEARNED.items()}
_PARAMETERS = {
    "AdditiveTreesClassifier": stored_keys("epsilon delta bounds bins classes rounds leaves learning_rate" + _PAID),
    "AdditiveTreesRegressor": stored_keys(
        "epsilon delta bounds target_bounds bins rounds leaves learning_rate" + _PAID
    ),
    "BipartiteRanker": stored_keys("epsilon delta norm classes" + _TRAINED, **_NOW),
    "CentreScaler": stored_keys("epsilon delta norm" + _PAID),
    "GaussianNB": stored_keys("epsilon delta bounds classes" + _PAID),
    "KMeans": stored_keys("n_clusters epsilon delta bounds steps" + _PAID, **_NOW),
    "LinearRegression": stored_keys("epsilon delta norm target_bounds fit_intercept" + _PAID),
    "LinearSVC": stored_keys("epsilon delta norm classes" + _TRAINED, **_NOW),
    "LogisticRegression": stored_keys("epsilon delta norm classes" + _TRAINED, **_NOW),
    "MLPClassifier": stored_keys("epsilon delta norm hidden classes" + _TRAINED, **_NOW),
    "MLPRegressor": stored_keys("epsilon delta norm target_bounds hidden" + _TRAINED, **_NOW),
    "Measured": stored_keys("estimator share epsilon delta" + _PAID),
    "MetricLearner": stored_keys("epsilon delta norm classes" + _TRAINED, **_NOW),
    "PATEClassifier": stored_keys(
        "public epsilon delta teachers teacher student aggregator threshold queries answers data_dependent classes"
        + _PAID
    ),
    "PCA": stored_keys("n_components epsilon delta norm" + _PAID),
    "Pipeline": stored_keys("steps epsilon delta shares" + _PAID),
    "PrivateColumns": stored_keys("columns style epsilon delta" + _PAID),
    "PrivateSearch": stored_keys("estimator candidates validation trials epsilon delta" + _PAID),
    "Ridge": stored_keys("alpha epsilon delta norm target_bounds fit_intercept" + _PAID),
    "StandardScaler": stored_keys("epsilon delta bounds" + _PAID),
}
_FIELDS = {
    "Bins": stored_keys("edges"),
    "Category": stored_keys("name values"),
    "Curve": stored_keys("widths bias"),
    "Margins": stored_keys("widths bias"),
    "Network": stored_keys("widths bias"),
    "Number": stored_keys("name lower upper"),
    "Recipe": stored_keys("steps batch clip rate momentum tail"),
    "Score": stored_keys("missed rows noise width"),
    "TableModel": stored_keys("columns target style estimator guarantee event receipt score notes"),
}
_PUBLIC = {
    "FrozenEncoder": stored_keys("encode name cache batch", **_NOW),
    "OrientedGradients": stored_keys("shape directions bounds upright"),
    "LeastSquaresTeacher": stored_keys("l2"),
}


@cache
def stored_estimators() -> dict[str, type[Any]]:
    """Every estimator that a file may hold, by its stored name."""
    from hubbub.learn.composition.held_out_score import WithHeldOutScore
    from hubbub.learn.composition.pipeline import Pipeline
    from hubbub.learn.composition.search import PrivateSearch
    from hubbub.learn.estimators.additive_trees import AdditiveTreesClassifier, AdditiveTreesRegressor
    from hubbub.learn.estimators.directions import CentreScaler
    from hubbub.learn.estimators.kmeans import KMeans
    from hubbub.learn.estimators.linear_regression import LinearRegression, Ridge
    from hubbub.learn.estimators.linear_svc import LinearSVC
    from hubbub.learn.estimators.logistic_regression import LogisticRegression
    from hubbub.learn.estimators.mlp_classifier import MLPClassifier
    from hubbub.learn.estimators.mlp_regressor import MLPRegressor
    from hubbub.learn.estimators.naive_bayes import GaussianNB
    from hubbub.learn.estimators.pairwise import BipartiteRanker, MetricLearner
    from hubbub.learn.estimators.pca import PCA
    from hubbub.learn.estimators.scaler import StandardScaler
    from hubbub.learn.pate import PATEClassifier
    from hubbub.learn.tables.table_model import PrivateColumns

    return {
        "AdditiveTreesClassifier": AdditiveTreesClassifier,
        "AdditiveTreesRegressor": AdditiveTreesRegressor,
        "BipartiteRanker": BipartiteRanker,
        "CentreScaler": CentreScaler,
        "GaussianNB": GaussianNB,
        "KMeans": KMeans,
        "LinearRegression": LinearRegression,
        "LinearSVC": LinearSVC,
        "LogisticRegression": LogisticRegression,
        "MLPClassifier": MLPClassifier,
        "MLPRegressor": MLPRegressor,
        "Measured": WithHeldOutScore,
        "MetricLearner": MetricLearner,
        "PATEClassifier": PATEClassifier,
        "PCA": PCA,
        "Pipeline": Pipeline,
        "PrivateColumns": PrivateColumns,
        "PrivateSearch": PrivateSearch,
        "Ridge": Ridge,
        "StandardScaler": StandardScaler,
    }


@cache
def stored_values() -> dict[str, type[Any]]:
    """Frozen dataclasses that do nothing when they are made but check their fields, by their stored names."""
    from hubbub.learn.composition.held_out_score import ModelScore
    from hubbub.learn.estimators.linear_svc import Margins
    from hubbub.learn.estimators.mlp_regressor import RegressionNetwork
    from hubbub.learn.tables import Category, NumberFeature
    from hubbub.learn.tables.table_model import TableModel
    from hubbub.learn.training.boosting import Bins
    from hubbub.learn.training.network import Network
    from hubbub.learn.training.recipes import Recipe

    return {
        "Bins": Bins,
        "Category": Category,
        "Curve": RegressionNetwork,
        "Margins": Margins,
        "Network": Network,
        "Number": NumberFeature,
        "Recipe": Recipe,
        "Score": ModelScore,
        "TableModel": TableModel,
    }


@cache
def _public_parts() -> dict[str, type[Any]]:
    """What no file holds, and may be part of a fit: public steps and teachers."""
    from hubbub.learn.pate.teachers import LeastSquaresTeacher
    from hubbub.learn.public import FrozenEncoder, OrientedGradients

    return {
        "FrozenEncoder": FrozenEncoder,
        "LeastSquaresTeacher": LeastSquaresTeacher,
        "OrientedGradients": OrientedGradients,
    }


@cache
def _tags_by_class() -> dict[type[Any], str]:
    return {kind: tag for tag, kind in {**stored_estimators(), **stored_values(), **_public_parts()}.items()}


def stored_tag(thing: object) -> str | None:
    """The stored name of an estimator or a value of ours, of exactly this class; None for anything else."""
    tag = _tags_by_class().get(type(thing))
    return tag if tag in _PARAMETERS or tag in _FIELDS else None


def tag_of(estimator: BaseEstimator) -> str:
    """What an estimator is called in a fingerprint. A class that somebody derived from ours is another one."""
    kind = type(estimator)
    return _tags_by_class().get(kind) or f"{kind.__module__}.{kind.__qualname__}"


def stored_fields(value: object) -> dict[str, Any]:
    """The fields of a value of ours, by their stored keys."""
    return {key: getattr(value, attribute) for key, attribute in _FIELDS[_tags_by_class()[type(value)]].items()}


def stored_parameters(estimator: BaseEstimator) -> dict[str, Any]:
    """The parameters of an estimator of ours, by their stored keys; an account is never among them."""
    keys = _PARAMETERS[_tags_by_class()[type(estimator)]]
    return {key: None if key == "account" else getattr(estimator, attribute) for key, attribute in keys.items()}


def stored_names(tag: str, given: dict[str, Any]) -> dict[str, Any]:
    """Parameters that were typed for the estimator of this name, by their stored keys; others as they are."""
    keys = {attribute: key for key, attribute in _PARAMETERS.get(tag, {}).items()}
    return {keys.get(name, name): value for name, value in given.items()}


def stored_learned(name: str) -> str:
    """The stored key of what a fit has set under this name."""
    return _KEY_OF_LEARNED.get(name, name)


def value_from(tag: str, fields: dict[str, Any]) -> Any:
    """The value of this stored name."""
    keys = _FIELDS[tag]
    return stored_values()[tag](**{keys[key]: value for key, value in fields.items()})


def estimator_from(tag: str, parameters: dict[str, Any]) -> Any:
    """The estimator of this stored name, unfitted."""
    keys = _PARAMETERS[tag]
    return stored_estimators()[tag](**{keys[key]: value for key, value in parameters.items()})


def learned_name(key: str) -> str:
    """The name under which a fit sets what is stored under this key."""
    return _LEARNED.get(key, key)


# ---------------------------------------------------------------- public steps and teachers


def identity_of_step(step: object) -> dict[str, object]:
    """A public step or a teacher by what it holds, which its ``repr`` need not tell; what cannot be pickled is like no
    other. What is ours in it is told by its stored words, where a pickle would tell where its class lies."""
    held = io.BytesIO()
    try:
        _Pickler(held, protocol=5).dump(step)
    except Exception:  # whatever its parts raise
        return {"once": secrets.token_hex(16)}
    return {"public": hashlib.sha256(held.getvalue()).hexdigest()}


class _Pickler(pickle.Pickler):
    """Pickles what others wrote, and says the stored words of what we wrote."""

    def persistent_id(self, thing: object) -> Any:
        if isinstance(thing, type):
            return ("class", tag) if (tag := _tags_by_class().get(thing)) else None
        if isinstance(thing, _TERMS):
            return "term", to_json(thing)
        if isinstance(thing, Enum) and type(thing).__module__.partition(".")[0] == "hubbub":
            return "word", thing.value
        tag = _tags_by_class().get(type(thing))
        return None if tag is None else ("held", tag, _stored_contents(thing, tag))


def _stored_contents(thing: Any, tag: str) -> dict[str, Any]:
    if tag in _FIELDS:
        return stored_fields(thing)
    if tag in _PUBLIC:
        return {key: getattr(thing, attribute) for key, attribute in _PUBLIC[tag].items()}
    learned = {stored_learned(name): value for name, value in vars(thing).items() if name.endswith("_")}
    return {"parameters": stored_parameters(thing), "learned": dict(sorted(learned.items()))}
