"""An attack on a masked array would count what the mask hides: it is refused, as in every room."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas
import pytest

from hubbub.attacks.requirements import bit_array, finite_array, rectangular_array
from hubbub.terms import WrongShape

CHECKS: dict[str, Callable[[object], object]] = {
    "numbers": lambda values: finite_array(values, name="values", axes=1),  # type: ignore[arg-type]
    "bits": lambda values: bit_array(values, name="values", axes=1),  # type: ignore[arg-type]
    "rectangle": rectangular_array,
}


@pytest.mark.parametrize("values", [np.ma.masked_less([0, 1, 1], 1), pandas.array([0, None, 1], dtype="Int64")])
@pytest.mark.parametrize("check", CHECKS)
def test_masks_are_refused(check: str, values: object) -> None:
    assert np.asarray(CHECKS[check](np.array([0, 1, 1]))).tolist() == [0, 1, 1]
    with pytest.raises(WrongShape, match="mask"):
        CHECKS[check](values)
