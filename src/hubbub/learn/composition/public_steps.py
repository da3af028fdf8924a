"""Public steps of a pipeline: they are fitted on public data or not at all, and treat each row by itself."""

from __future__ import annotations

import warnings
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags

from hubbub.learn.base.inputs import private_table, table_of
from hubbub.learn.training.network import Floats
from hubbub.terms import MixesPeople, NotANumber, WrongShape


class RowTransformer(Protocol):
    """A step that makes features of rows, as scikit-learn has it."""

    def transform(self, rows: Floats, /) -> ArrayLike:
        """The features of each row."""
        ...


def public_width(step: RowTransformer, columns: int) -> int:
    """How many columns leave a public step; it is tried on made-up rows, together and one by one.

    Guarantee: none; a step that mixes rows on the made-up table is refused.
    Because: rows that are transformed one by one stay neighbours: post-processing of each row [DR14, Prop. 2.1].
    """
    if not hasattr(step, "transform") or _needs_fit(step):
        raise NotANumber(
            f"the step {type(step).__name__} is neither private nor frozen.",
            why="Fitting it would read rows for free.",
            fix="Use the one of hubbub.learn, or fit it on public data and give sklearn.frozen.FrozenEstimator(it).",
        )
    made_up = np.random.default_rng(0).uniform(-1, 1, (5, columns))
    together = table_of(step.transform(made_up))
    alone = [table_of(step.transform(made_up[i : i + 1])) for i in range(len(made_up))]
    if any(len(rows) != 1 for rows in alone) or len(together) != len(made_up):
        raise WrongShape(
            f"the step {type(step).__name__} changes the number of rows.",
            why="One row in must be one row out.",
            fix="Leave it out of the pipeline.",
        )
    if not np.allclose(np.vstack(alone), together):
        raise MixesPeople(
            f"the step {type(step).__name__} mixes rows.",
            why="One person's row would change the others', and no clipping could bound that.",
            fix="Use a step that treats each row by itself.",
        )
    return int(together.shape[1])


def transform_rows(step: RowTransformer, rows: Floats) -> Floats:
    """What leaves a public step. If a row makes it raise, rows pass one by one, and that row is all zeros.

    Guarantee: none; each row that leaves depends on the one that entered alone, and nothing raises or warns.
    Because: the step treats each row by itself (``public_width``): post-processing of each row [DR14, Prop. 2.1].
    """
    width = public_width(step, rows.shape[1])
    features = _try_transform(step, rows, width)
    return transform_alone(step, rows, width) if features is None else features


def transform_alone(step: RowTransformer, rows: Floats, width: int) -> Floats:
    """What leaves a step of that width, row by row; a row that makes it raise is all zeros."""
    each = [_try_transform(step, rows[i : i + 1], width) for i in range(len(rows))]
    return np.vstack([np.zeros((0, width)), *(np.zeros((1, width)) if one is None else one for one in each)])


def _try_transform(step: Any, rows: Floats, width: int) -> Floats | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            features = private_table(step.transform(rows.copy()))  # a step may write
    except (Exception, SystemExit):  # whatever it is, it is about rows, and must not be told
        return None
    return features if features.shape == (len(rows), width) else None


def _needs_fit(step: Any) -> bool:
    """Whether scikit-learn says that a step must be fitted, and it is not frozen."""
    if isinstance(step, FrozenEstimator):
        return False
    return hasattr(step, "fit") and bool(get_tags(step).requires_fit)
