"""Models in files: what was learned, with its guarantee, its event and its receipt. Reading one runs no code.

A file is a ZIP archive with ``model.json`` and the arrays that it names, each in numpy's ``.npy`` format without
pickles. The JSON says of each value what it is, from a closed list: plain values, arrays, terms of Hubbub (events,
guarantees, receipts), a few value classes, and estimators of this package, by the names that ``identity`` writes out.
Nothing else can be in a file, and an account never is. A file unpacks to at most 256 MB, of which 16 MB are JSON; more
is neither written nor read.

    {"hubbub": "model/1", "model": {"estimator": "LogisticRegression", "parameters": {...}, "learned": {...}}}
"""

from __future__ import annotations

import io
import json
import math
import re
import zipfile
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hubbub.durable import replacing_file
from hubbub.learn.base.private_estimator import PrivateEstimator, need_fit
from hubbub.learn.stored_words import (
    estimator_from,
    learned_name,
    stored_estimators,
    stored_fields,
    stored_learned,
    stored_parameters,
    stored_tag,
    stored_values,
    value_from,
)
from hubbub.learn.tables.model_form import fits_fields, fits_learned, fits_parameters, fitted
from hubbub.terms import (
    Budget,
    Event,
    Guarantee,
    HubbubError,
    NewerFormat,
    PrivacyBound,
    Receipt,
    TooLarge,
    Unit,
    Unreadable,
    WrongShape,
    from_json,
    to_json,
)

if TYPE_CHECKING:
    from hubbub.learn.tables.table_model import TableModel

VERSION = 1
_HEADER, _JSON = "model/", "model.json"
_TERMS = (Event, Guarantee, Receipt, PrivacyBound, Budget, Unit)
_LEARNED = re.compile(r"[a-z][a-z0-9_]*_")  # names that fit sets
_KINDS = "biufmMSU"  # of arrays: numbers, dates and words
_MOST, _MOST_JSON = 1 << 28, 1 << 24  # bytes that a file unpacks to, and those of its JSON
_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # other ways unpack without limit
_HUGE = re.compile(r"\s*[-+]?[\d_.]+e[-+]?[\d_]{5,}\s*", re.IGNORECASE)  # a text of few signs and a number of millions


def save(model: PrivateEstimator | TableModel, path: str | Path) -> None:
    """Write a fitted estimator, pipeline or table model into a file.

    >>> import tempfile, numpy as np
    >>> from hubbub.learn import LogisticRegression, load, save
    >>> X = np.random.default_rng(1).uniform(-0.5, 0.5, (500, 2))
    >>> model = LogisticRegression(epsilon=1, delta=1e-6, norm=1.0).fit(X, X[:, 0] > 0)
    >>> folder = tempfile.TemporaryDirectory()
    >>> save(model, f"{folder.name}/model.hubbub")
    >>> again = load(f"{folder.name}/model.hubbub")
    >>> again.guarantee_ == model.guarantee_, bool((again.predict(X) == model.predict(X)).all())
    (True, True)
    >>> folder.cleanup()
    """
    if isinstance(model, PrivateEstimator):
        need_fit(model)
    arrays: list[np.ndarray[Any, Any]] = []
    text = json.dumps(
        {"hubbub": f"{_HEADER}{VERSION}", "model": _encode_value(model, arrays)}, allow_nan=False, indent=1
    )
    _refuse_large(len(text), sum(array.nbytes for array in arrays))
    _refuse_unreadable(json.loads(text), arrays)
    place = Path(path)
    with replacing_file(place) as draft, zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(_JSON, text)
        for number, array in enumerate(arrays):
            held = io.BytesIO()
            np.lib.format.write_array(held, array, allow_pickle=False)
            archive.writestr(f"{number}.npy", held.getvalue())


def _refuse_large(words: int, numbers: int) -> None:
    if words > _MOST_JSON or words + numbers + _MOST_JSON > _MOST:
        raise TooLarge(
            "the model is too large for a file.",
            why="Files unpack to at most 256 MB, so that reading one from others is safe.",
            fix="Fit with fewer columns or hidden units, or with fewer public rows where the model keeps them.",
        )


def _refuse_unreadable(document: dict[str, Any], arrays: list[np.ndarray[Any, Any]]) -> None:
    """Refuse to write what could not be read again."""
    try:
        _decode_value(document["model"], arrays.__getitem__)
    except (ValueError, LookupError):
        raise WrongShape(
            "this model cannot be saved in a file.",
            why="Some value of it is not what a fit sets, such as a number that is not finite.",
            fix="Fit it again, with other bounds or a smaller norm.",
        ) from None


def load(path: str | Path) -> Any:
    """The estimator or table model in a file that ``save`` or ``hubbub fit`` wrote."""
    place = Path(path)
    try:
        with zipfile.ZipFile(place) as archive:
            return _model_in(_Members(archive), place.name)
    except HubbubError:
        raise
    except Exception:  # whatever a damaged or foreign file makes of it
        raise _unreadable_file(place.name) from None


_ARRAY_HEADERS: dict[tuple[int, int], Callable[[io.BytesIO], tuple[tuple[int, ...], bool, np.dtype[Any]]]] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


class _Members:
    """The members of an archive, of which no more is unpacked than a model may have."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive, self._left = archive, _MOST

    def read(self, name: str, most: int = _MOST) -> bytes:
        """One member: never more bytes than it says to have, whatever is packed."""
        entry = self._archive.getinfo(name)
        if entry.file_size > min(most, self._left) or entry.compress_type not in _PACKED:
            raise ValueError(name)
        self._left -= entry.file_size
        with self._archive.open(entry) as member:
            return member.read(entry.file_size)

    def array(self, number: int) -> Any:
        """The array of that number, whose bytes are all there."""
        if type(number) is not int:
            raise ValueError(number)
        content = io.BytesIO(self.read(f"{number}.npy"))
        version = np.lib.format.read_magic(content)
        shape, _, kind = _ARRAY_HEADERS[version](content)
        stored = len(content.getvalue()) - content.tell()
        if kind.kind not in _KINDS or kind.itemsize == 0 or math.prod(shape) * kind.itemsize != stored:
            raise ValueError(kind)
        content.seek(0)
        return np.lib.format.read_array(content, allow_pickle=False)


def _model_in(members: _Members, name: str) -> Any:
    document = json.loads(members.read(_JSON, _MOST_JSON))
    if _format_version(document, name) > VERSION:
        raise _newer_format(name)
    model = _decode_value(document["model"], members.array)
    if not fitted(model, {}) and not isinstance(model, stored_values()["TableModel"]):
        raise _unreadable_file(name)
    return model


def _format_version(document: Any, name: str) -> int:
    header = re.fullmatch(_HEADER + r"([1-9][0-9]*)", document.get("hubbub", ""))
    if header is None:
        raise _unreadable_file(name)
    return int(header[1])


# ---------------------------------------------------------------- values <-> JSON


def _encode_value(value: Any, arrays: list[np.ndarray[Any, Any]]) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return str(value)  # also an enumeration's word
    if isinstance(value, np.ndarray):
        return _encode_array(value, arrays)
    if isinstance(value, list | tuple):
        return {"list" if isinstance(value, list) else "tuple": [_encode_value(each, arrays) for each in value]}
    return _encode_object(value, arrays)


def _encode_array(value: np.ndarray[Any, Any], arrays: list[np.ndarray[Any, Any]]) -> Any:
    if value.dtype.kind == "O":  # words, as of columns and classes
        return {"objects": [_encode_value(each, arrays) for each in value.tolist()]}
    arrays.append(value)
    return {"array": len(arrays) - 1}


def _encode_object(value: Any, arrays: list[np.ndarray[Any, Any]]) -> Any:
    if isinstance(value, Fraction | Decimal):
        return {"fraction" if isinstance(value, Fraction) else "decimal": str(value)}
    if isinstance(value, _TERMS):
        return {"term": to_json(value)}
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        return {"dict": {name: _encode_value(each, arrays) for name, each in value.items()}}
    return _encode_ours(value, arrays)


def _encode_ours(value: Any, arrays: list[np.ndarray[Any, Any]]) -> Any:
    tag = stored_tag(value)
    if tag in stored_values():
        fields = {key: _encode_value(each, arrays) for key, each in stored_fields(value).items()}
        return {"value": tag, "fields": fields}
    if tag in stored_estimators():
        learned = {stored_learned(name): each for name, each in vars(value).items() if _LEARNED.fullmatch(name)}
        return {
            "estimator": tag,
            "parameters": {key: _encode_value(each, arrays) for key, each in stored_parameters(value).items()},
            "learned": {key: _encode_value(each, arrays) for key, each in learned.items()},
        }
    raise WrongShape(
        f"a {type(value).__name__} cannot be saved in a model's file.",
        why="A file holds estimators of hubbub.learn and plain values, so that reading it runs no code.",
        fix="Save the private step alone, or keep this part with the tools of its own library.",
    )


def _decode_value(document: Any, array: Callable[[int], Any]) -> Any:
    if not isinstance(document, dict):
        return document
    if "value" in document:
        tag, fields = document["value"], _decode_fields(document["fields"], array)
        if not fits_fields(tag, fields):
            raise ValueError(tag)
        return value_from(tag, fields)
    if "estimator" in document:
        return _decode_estimator(document, array)
    [(kind, inner)] = document.items()
    return _READ[kind](inner, array)


def _decode_fields(fields: dict[str, Any], array: Callable[[int], Any]) -> dict[str, Any]:
    return {name: _decode_value(each, array) for name, each in fields.items()}


def _decode_estimator(document: dict[str, Any], array: Callable[[int], Any]) -> PrivateEstimator:
    tag, parameters, learned = (
        document["estimator"],
        *(_decode_fields(document[part], array) for part in ("parameters", "learned")),
    )
    estimator: PrivateEstimator = estimator_from(tag, parameters)
    values = {learned_name(key): value for key, value in learned.items()}
    if not fits_parameters(estimator.get_params(deep=False)) or (values and not fits_learned(tag, values, parameters)):
        raise ValueError(tag)
    for name, value in values.items():
        setattr(estimator, name, value)
    return estimator


def _decode_objects(entries: list[Any], array: Callable[[int], Any]) -> Any:
    array_of_objects = np.empty(len(entries), dtype=object)
    array_of_objects[:] = [_decode_value(each, array) for each in entries]
    return array_of_objects


def _refuse_huge(value: Any) -> Any:
    """What was told, if no text in it is a number that takes long to write out, as 1e30000000 does."""
    if isinstance(value, str) and _HUGE.fullmatch(value):
        raise ValueError("a huge number")
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _refuse_huge(each)
    return value


_READ: dict[str, Callable[[Any, Callable[[int], Any]], Any]] = {
    "array": lambda told, array: array(told),
    "objects": _decode_objects,
    "decimal": lambda told, array: Decimal(told),
    "fraction": lambda told, array: Fraction(_refuse_huge(told)),
    "term": lambda told, array: from_json(_refuse_huge(told)),
    "list": lambda told, array: [_decode_value(each, array) for each in told],
    "tuple": lambda told, array: tuple(_decode_value(each, array) for each in told),
    "dict": _decode_fields,
}


def _unreadable_file(name: str) -> Unreadable:
    return Unreadable(
        f"{name} is no saved model.",
        why="It is damaged, or another kind of file.",
        fix="Give a file that `hubbub fit --out` or hubbub.learn.save wrote.",
    )


def _newer_format(name: str) -> NewerFormat:
    return NewerFormat(
        f"{name} was written by a newer version of Hubbub.",
        why="What it means may have changed.",
        fix="Install a newer Hubbub.",
    )
