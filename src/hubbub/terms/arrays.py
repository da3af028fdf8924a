"""Arrays as they come from a caller, as the plain arrays that they hide, or refused by their type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hubbub.terms.errors import WrongShape

if TYPE_CHECKING:
    from numpy.typing import NDArray


def plain_array(values: object, *, name: str = "values") -> NDArray[Any]:
    """``values`` as an ordinary numpy array, entry by entry what came; masks and nullable columns are refused.

    A masked array keeps what it hides and skips it in arithmetic: noise added to one is not added to the hidden
    entries, which are then released as they are. A nullable column (pandas' Int64, Polars) becomes an array of
    another type as soon as one value is missing. Both are refused by their type, whatever they hold. Other
    subclasses (a matrix, a file mapped into memory) are read as the array below them. Lists keep their entries:
    numpy alone would turn some lists of whole numbers into doubles.

    >>> plain_array([1, 2]).tolist()
    [1, 2]
    """
    import numpy as np

    refuse_masked(values, name=name)
    if isinstance(values, np.ndarray):
        return _without_masked(values.view(np.ndarray))
    own = getattr(values, "dtype", None)
    try:
        return _without_masked(np.array(values) if isinstance(own, np.dtype) else np.array(values, dtype=object))
    except (ValueError, TypeError):
        raise WrongShape(
            f"{name} do not form one array.",
            why="Rows of different lengths have no common shape.",
            fix="Give one number, a flat list, or an array.",
        ) from None


def _without_masked(array: NDArray[Any]) -> NDArray[Any]:
    """Single masked values as NaN: to make a number of one warns, and so would tell of it."""
    import numpy as np

    if array.dtype != object or not any(isinstance(entry, np.ma.MaskedArray) for entry in array.flat):
        return array
    entries = [float("nan") if isinstance(entry, np.ma.MaskedArray) else entry for entry in array.flat]
    values = np.empty(len(entries), dtype=object)
    values[:] = entries
    return values.reshape(array.shape)


def refuse_masked(values: object, *, name: str = "values") -> None:
    """Refuse masked arrays, alone or in a list of arrays, and columns whose type has a mask of its own."""
    import numpy as np

    within = values if isinstance(values, list | tuple) else ()
    masked = isinstance(values, np.ma.MaskedArray) or any(  # a single masked value is one person's, and no number
        isinstance(part, np.ma.MaskedArray) and part.ndim > 0 for part in within
    )
    if masked or _is_nullable(values):
        raise WrongShape(
            f"{name} come with a mask: a masked array, or a column of a nullable type.",
            why="Arithmetic skips what a mask hides, so it would be released without noise.",
            fix="Say what the hidden entries are: array.filled(0), or column.to_numpy(dtype=float, na_value=0).",
        )


def _is_nullable(values: object) -> bool:
    """Whether the column's type is not numpy's own: pandas' masked and Arrow types, Polars' series."""
    import numpy as np

    own = getattr(values, "dtype", None)
    return own is not None and not isinstance(own, np.dtype) and hasattr(values, "__array__")
