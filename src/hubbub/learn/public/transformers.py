"""What public steps share: scikit-learn's conventions, and nothing to fit."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import TransformerTags


class PublicStep(BaseEstimator):  # type: ignore[misc]
    """A transformer that learns nothing from rows: it makes of each row what it makes of it, whoever else is there.

    Guarantee: two tables that differ in one row still differ in one row after ``transform``; it costs nothing.
    Because: a function of each row by itself keeps neighbours neighbours: post-processing [DR14, Prop. 2.1].
    """

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Nothing: there is nothing to learn, and X is not looked at."""
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.float32]:
        """The features of each row."""
        raise NotImplementedError  # pragma: no cover

    def fit_transform(self, X: ArrayLike, y: ArrayLike | None = None) -> NDArray[np.float32]:
        """The features of each row."""
        return self.transform(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.transformer_tags = "transformer", TransformerTags()
        tags.input_tags.allow_nan, tags.input_tags.three_d_array = True, True
        tags.requires_fit = False
        return tags
