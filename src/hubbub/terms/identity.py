"""Plain values as JSON that tells each from all others: what requests are told apart by.

Words of people (values of a column, names of classes, bounds as they were written) become part of a fingerprint. They
are written by what they are and hold, and never by the name of a class of ours, which may change.
"""

from __future__ import annotations

import datetime
import hashlib
import sys
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

_TAGGED: tuple[tuple[type | tuple[type, ...], str, Callable[[Any], Any]], ...] = (
    (float, "float", float.hex),  # exact, and 1.0 is not 1
    (complex, "complex", lambda value: [value.real.hex(), value.imag.hex()]),
    (bytes, "bytes", bytes.hex),
    (Fraction, "fraction", str),
    (Decimal, "decimal", str),
    (datetime.datetime, "datetime", datetime.datetime.isoformat),  # before dates: each is one
    (datetime.date, "date", datetime.date.isoformat),
    (datetime.time, "time", datetime.time.isoformat),
    (datetime.timedelta, "days-seconds-microseconds", lambda value: [value.days, value.seconds, value.microseconds]),
    (range, "range", lambda value: [value.start, value.stop, value.step]),
)


def identity_of(value: object) -> Any:
    """A value as JSON: the same for the same value, and another for any other. 1, True, 1.0 and "1" are four.

    What is neither plain nor a container of such is told by its type and its ``repr``: a class of somebody else's.

    >>> identity_of((1, "1", True, None))
    {'tuple': [1, '1', True, None]}
    >>> identity_of({"age": [0.5]})
    {'dict': [['age', [{'float': '0x1.0000000000000p-1'}]]]}
    """
    value = _plain_scalar(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, str):
        return str(value)  # also an enumeration's word
    for kind, tag, write in _TAGGED:
        if isinstance(value, kind):
            return {tag: write(value)}
    return _container_identity(value)


def _plain_scalar(value: Any) -> Any:
    """A number of numpy's as the plain one, or as an array where there is none. Importing numpy takes long."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, numpy.generic):
        return value
    return value.item() if value.dtype.kind in "biufcUS" else numpy.asarray(value)


def _container_identity(value: Any) -> Any:
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray):
        return {"array": _array_identity(value)}
    if isinstance(value, list):
        return [identity_of(each) for each in value]
    if isinstance(value, tuple):
        return {"tuple": [identity_of(each) for each in value]}
    if isinstance(value, set | frozenset):
        return {"set": sorted((identity_of(each) for each in value), key=repr)}  # plain JSON: lists, texts, numbers
    if isinstance(value, Mapping):
        return {"dict": [[identity_of(key), identity_of(each)] for key, each in value.items()]}
    return {"other": [f"{type(value).__module__}.{type(value).__qualname__}", repr(value)]}


def _array_identity(value: np.ndarray[Any, Any]) -> list[Any]:
    if value.dtype.kind == "O":
        return [list(value.shape), [identity_of(each) for each in value.ravel().tolist()]]
    return [value.dtype.str, list(value.shape), hashlib.sha256(value.tobytes()).hexdigest()]
