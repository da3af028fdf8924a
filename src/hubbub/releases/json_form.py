"""The stored form of a release: plain JSON, exact both ways. Tags and keys are written out here, and never change.

Rationals are strings; integers beyond 2^53 too, since not every reader of JSON keeps them; dates, timestamps and
floats that JSON cannot hold are ``{"date": ...}`` and the like. Guarantee and receipt are terms and keep their form.
"""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Mapping
from datetime import date, datetime
from fractions import Fraction
from functools import cache
from typing import Any

from hubbub import terms
from hubbub.releases import formulas
from hubbub.releases.noisy_columns import KeyColumn, Noise, NoisyColumn
from hubbub.releases.release import Release, ReleasedColumn
from hubbub.terms import HubbubError, NewerFormat, Unreadable, stored_keys

VERSION = 1
_LARGEST = 2**53
_TAGS: dict[str, type[formulas.Formula]] = {
    "bent": formulas.Bent,
    "function": formulas.Function,
    "given": formulas.GivenIntervals,
    "key": formulas.Key,
    "mean": formulas.Mean,
    "minus": formulas.Minus,
    "nearest": formulas.NearestWhole,
    "negate": formulas.Negate,
    "number": formulas.Number,
    "over": formulas.Over,
    "pair": formulas.PairStatistic,
    "plus": formulas.Plus,
    "ref": formulas.Ref,
    "thresholded": formulas.Thresholded,
    "times": formulas.Times,
    "variance": formulas.Variance,
}
_TAG_OF = {kind: tag for tag, kind in _TAGS.items()}
_OPTIONAL = frozenset({"dense"})  # left out where there is none
_PLAIN = stored_keys("question repeated parameters budget_left clipped looked_at")  # of a release, as they are
_KEYS: dict[type[Any], dict[str, str]] = {
    KeyColumn: stored_keys("name values kind"),
    NoisyColumn: stored_keys("name step noise values"),
    Noise: stored_keys("law scale", law="distribution"),
    ReleasedColumn: stored_keys("name formula about mechanism notes"),
    formulas.Bent: stored_keys("name args"),
    formulas.Function: stored_keys("name args"),
    formulas.GivenIntervals: stored_keys("values levels lows highs dense"),
    formulas.Key: stored_keys("index"),
    formulas.Mean: stored_keys("total count centre lower upper"),
    formulas.Minus: stored_keys("a b"),
    formulas.NearestWhole: stored_keys("a"),
    formulas.Negate: stored_keys("a"),
    formulas.Number: stored_keys("value"),
    formulas.Over: stored_keys("a b"),
    formulas.PairStatistic: stored_keys("function count y x y_squares x_squares products y_centre x_centre largest"),
    formulas.Plus: stored_keys("a b"),
    formulas.Ref: stored_keys("index"),
    formulas.Thresholded: stored_keys("index least"),
    formulas.Times: stored_keys("a b"),
    formulas.Variance: stored_keys("total squares count centre spread_upper root sample"),
}


def encode_release(release: Release) -> dict[str, Any]:
    """The stored form."""
    return {
        "hubbub": f"release/{VERSION}",
        "question": release.question,
        "columns": [_encode_value(column) for column in release.columns],
        "keys": [_encode_value(column) for column in release.keys],
        "measures": [_encode_value(measure) for measure in release.measures],
        "guarantee": terms.to_json(release.guarantee),
        "receipt": None if release.receipt is None else terms.to_json(release.receipt),
        "repeated": release.repeated,
        "notes": list(release.notes),
        "parameters": dict(release.parameters),
        "budget_left": release.budget_left,
        "clipped": dict(release.clipped),
        **({"looked_at": release.looked_at} if release.looked_at > 1 else {}),
    }


def decode_release(document: Mapping[str, Any]) -> Release:
    """The release again; another kind of document, or one of a newer format, is refused."""
    family, _, version = str(document.get("hubbub", "")).partition("/")
    if family != "release" or not version.isdigit():
        raise _unreadable_release()
    if int(version) > VERSION:
        raise NewerFormat(
            f"this is a release of format {version}; this version of Hubbub reads up to {VERSION}.",
            why="A newer format may mean something that an older reader would get wrong.",
            fix="Install a newer Hubbub.",
        )
    try:
        return _release_from({key: value for key, value in document.items() if key != "hubbub"})
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError, HubbubError) as error:
        if isinstance(error, NewerFormat):
            raise
        raise _unreadable_release() from error


def _release_from(body: dict[str, Any]) -> Release:
    receipt = body.pop("receipt")
    return Release(
        keys=tuple(_decode_value(KeyColumn, item) for item in body.pop("keys")),
        measures=tuple(_decode_value(NoisyColumn, item) for item in body.pop("measures")),
        columns=tuple(_decode_value(ReleasedColumn, item) for item in body.pop("columns")),
        guarantee=terms.from_json(body.pop("guarantee")),
        notes=tuple(body.pop("notes")),
        receipt=None if receipt is None else terms.from_json(receipt),
        **{_PLAIN[key]: value for key, value in body.items()},
    )


def _unreadable_release() -> Unreadable:
    return Unreadable(
        "a release could not be read.",
        why='A stored release starts with "hubbub": "release/1" and has exactly the fields of that form.',
        fix="Check that the file was not edited by hand.",
    )


def _encode_value(value: Any) -> Any:
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, tuple):
        return [_encode_value(item) for item in value]
    if isinstance(value, formulas.Formula):
        return {"formula": _TAG_OF[type(value)], **_fields_out(value)}
    return _fields_out(value) if type(value) in _KEYS else _plain_out(value)


def _fields_out(value: Any) -> dict[str, Any]:
    fields = {key: getattr(value, attribute) for key, attribute in _KEYS[type(value)].items()}
    return {key: _encode_value(field) for key, field in fields.items() if field is not None or key not in _OPTIONAL}


def _plain_out(value: Any) -> Any:
    if isinstance(value, datetime):
        return {"datetime": value.isoformat()}
    if isinstance(value, date):
        return {"date": value.isoformat()}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _LARGEST:
        return {"int": str(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise Unreadable(
        f"a key of type {type(value).__name__} cannot be stored.",
        why="Keys are booleans, numbers, text, dates, timestamps or missing.",
        fix="Turn it into one of those.",
    )


_PLAIN_TAGS: dict[str, typing.Callable[[str], object]] = {
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "float": float,
    "int": int,
}


def _plain_in(data: Any) -> Any:
    if isinstance(data, dict):
        [(tag, text)] = data.items()
        return _PLAIN_TAGS[tag](text)
    return data


@cache
def _type_hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _decode_value(wanted: Any, data: Any) -> Any:
    origin = typing.get_origin(wanted)
    if origin is types.UnionType:
        inner = next(kind for kind in typing.get_args(wanted) if kind is not type(None))
        return None if data is None else _decode_value(inner, data)
    if origin is tuple:
        return tuple(_decode_value(typing.get_args(wanted)[0], item) for item in data)
    if wanted is Fraction:
        return Fraction(data)
    if isinstance(wanted, type) and issubclass(wanted, formulas.Formula):
        return _formula_in(wanted, dict(data))
    if wanted in _KEYS:
        return _fields_in(wanted, data)
    return _leaf_in(wanted, _plain_in(data))


def _leaf_in(wanted: Any, value: Any) -> Any:
    allowed: Any = (int, float) if wanted is float else wanted
    if not isinstance(value, allowed) or (isinstance(value, bool) and wanted not in (bool, object)):
        raise TypeError("a field of another type was expected")
    return value


def _formula_in(wanted: type, data: dict[str, Any]) -> Any:
    kind = _TAGS[data.pop("formula")]
    if not issubclass(kind, wanted):
        raise TypeError("another formula was expected")
    return _fields_in(kind, data)


def _fields_in(kind: Any, data: Mapping[str, Any]) -> Any:
    hints, attributes = _type_hints(kind), _KEYS[kind]
    return kind(**{attributes[key]: _decode_value(hints[attributes[key]], value) for key, value in data.items()})
