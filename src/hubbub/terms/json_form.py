"""The JSON form of every term, and its schema: keys as they are written out here, types as the dataclass has them.

A document is ``{"hubbub": "<family>/<version>", "kind": ..., fields...}``. Rational numbers are strings
("1/3", "0.1"), since JSON's own numbers would round them. Unknown fields are refused: they might have
changed the meaning. No class and no field gives a stored form its words: each may be renamed, and no byte changes.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from functools import cache
from typing import Any, TypeAlias

from hubbub.terms import events, guarantees
from hubbub.terms.budgets import Budget, Receipt
from hubbub.terms.errors import HubbubError, NewerFormat, Unreadable
from hubbub.terms.events import (
    ApproximateStep,
    Compose,
    ConcentratedStep,
    Event,
    ExponentialChoice,
    GaussianKeys,
    GaussianNoise,
    LaplaceNoise,
    Parallel,
    Poisson,
    PureStep,
    Repeat,
    WithoutReplacement,
)
from hubbub.terms.guarantees import (
    ApproximateDP,
    GaussianDP,
    Guarantee,
    PrivacyBound,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from hubbub.terms.numbers import parse
from hubbub.terms.units import Neighbours, Unit

VERSION = 1
Json = dict[str, Any]
Term: TypeAlias = Event | PrivacyBound | Guarantee | Budget | Receipt | Unit

_FAMILIES: dict[str, type[Any]] = {
    "event": Event,
    "measure": PrivacyBound,
    "guarantee": Guarantee,
    "budget": Budget,
    "receipt": Receipt,
    "unit": Unit,
}


def stored_keys(keys: str, **attributes: str) -> dict[str, str]:
    """The keys of a stored form, in their order, each with the attribute that it holds: of the same name, if nothing
    else is said. A stored key is never renamed; an attribute may be, and is then said here.

    >>> stored_keys("total count centre", centre="center")
    {'total': 'total', 'count': 'count', 'centre': 'center'}
    """
    return {key: attributes.get(key, key) for key in keys.split()}


_STEP = "mechanism neighbours unit "
_KEYS: dict[type[Any], dict[str, str]] = {
    LaplaceNoise: stored_keys(_STEP + "scale sensitivity grid dimension"),
    GaussianNoise: stored_keys(_STEP + "sigma sensitivity grid dimension"),
    GaussianKeys: stored_keys(_STEP + "sigma sensitivity grid own dimension"),
    ExponentialChoice: stored_keys(_STEP + "epsilon"),
    PureStep: stored_keys(_STEP + "epsilon"),
    ApproximateStep: stored_keys(_STEP + "epsilon delta"),
    ConcentratedStep: stored_keys(_STEP + "rho delta"),
    Compose: stored_keys("events"),
    Parallel: stored_keys("events"),
    Repeat: stored_keys("event times"),
    Poisson: stored_keys("event rate"),
    WithoutReplacement: stored_keys("event sample population"),
    PureDP: stored_keys("epsilon"),
    ApproximateDP: stored_keys("epsilon delta"),
    ZeroConcentratedDP: stored_keys("rho delta"),
    RenyiDP: stored_keys("orders epsilons"),
    GaussianDP: stored_keys("mu"),
    Guarantee: stored_keys("holds unit neighbours caveats"),
    Budget: stored_keys("epsilon delta rho"),
    Receipt: stored_keys("population sequence head fingerprint event charged at"),
    Unit: stored_keys("path"),
}


def to_json(term: Term) -> Json:
    """The stored form of a term.

    >>> to_json(Budget(3, 1e-6))
    {'hubbub': 'budget/1', 'epsilon': '3', 'delta': '0.000001', 'rho': None}
    """
    return {"hubbub": f"{_family_name(type(term))}/{VERSION}", **_encode_fields(term)}


def from_json(document: Mapping[str, Any]) -> Any:
    """The term that a stored form says; an unknown kind, field or version is an error."""
    family, version = _document_header(document)
    if version > VERSION:
        raise NewerFormat(
            f"this is a {family} of format {version}; this version of Hubbub reads up to {VERSION}.",
            why="A newer format may mean something that an older reader would get wrong.",
            fix="Install a newer Hubbub.",
        )
    body = {key: value for key, value in document.items() if key != "hubbub"}
    try:
        return _decode_value(_FAMILIES[family], body)
    except (HubbubError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, NewerFormat):
            raise
        raise _unreadable_term(f"a {family} could not be read") from error


def schema(family: str) -> Json:
    """The JSON Schema of a family of terms: ``"event"``, ``"budget"``, ``"receipt"``, ..."""
    definitions: Json = {}
    body = _schema_of(_FAMILIES[family], definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"hubbub {family}, format {VERSION}",
        "type": "object",
        "properties": {"hubbub": {"const": f"{family}/{VERSION}"}},
        "required": ["hubbub"],
        "allOf": [body],
        "$defs": definitions,
    }


def _document_header(document: Mapping[str, Any]) -> tuple[str, int]:
    family, _, version = str(document.get("hubbub", "")).partition("/")
    if family not in _FAMILIES or not version.isdigit():
        raise _unreadable_term("the document does not say which term it is")
    return family, int(version)


def _unreadable_term(what: str) -> Unreadable:
    return Unreadable(
        f"{what}.",
        why='A stored term starts with "hubbub": "<family>/<version>" and has exactly the fields of its schema.',
        fix="Check that the file was not edited by hand; hubbub.terms.schema(family) shows the form.",
    )


def _family_name(kind: type) -> str:
    return next(name for name, parent in _FAMILIES.items() if issubclass(kind, parent))


@cache
def _concrete_kinds(parent: type[Any]) -> dict[str, type[Any]]:
    """Concrete classes below ``parent`` by their ``kind``; empty if the class itself is concrete."""
    room: types.ModuleType | None = {Event: events, PrivacyBound: guarantees}.get(parent)
    classes: list[Any] = [c for c in vars(room).values() if isinstance(c, type)] if room else []
    return {c.kind: c for c in classes if issubclass(c, parent) and c.kind}


@cache
def _key_types(kind: type) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    return {key: hints[attribute] for key, attribute in _KEYS[kind].items()}


def _encode_fields(term: Any) -> Json:
    body = {"kind": term.kind} if isinstance(term, Event | PrivacyBound) else {}
    return body | {key: _encode_value(getattr(term, attribute)) for key, attribute in _KEYS[type(term)].items()}


def _encode_value(value: Any) -> Any:
    if isinstance(value, Fraction):
        return _fraction_text(value)
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, tuple):
        return [_encode_value(item) for item in value]
    return _encode_fields(value) if dataclasses.is_dataclass(value) else value


def _fraction_text(value: Fraction) -> str:
    """A short decimal where there is one, else numerator/denominator."""
    short = 10**15 % value.denominator == 0 and abs(value.numerator) < 10**12  # exact within Decimal's 28 digits
    return format(Decimal(value.numerator) / value.denominator, "f") if short else str(value)


def _decode_value(wanted: Any, data: Any) -> Any:
    origin = typing.get_origin(wanted)
    if origin is types.UnionType:
        inner = next(t for t in typing.get_args(wanted) if t is not type(None))
        return None if data is None else _decode_value(inner, data)
    if origin is tuple:
        return tuple(_decode_value(typing.get_args(wanted)[0], item) for item in data)
    if wanted is Fraction:
        return parse(_check_instance(data, str))
    if wanted is Neighbours:
        return Neighbours.parse(data)
    if dataclasses.is_dataclass(wanted):
        return _decode_fields(typing.cast("type", wanted), _check_instance(data, dict))
    return float(_check_instance(data, int | float)) if wanted is float else _check_instance(data, wanted)


def _decode_fields(wanted: type, data: Json) -> Any:
    kinds = _concrete_kinds(wanted)
    if kinds:
        wanted = kinds[data["kind"]]
        data = {key: value for key, value in data.items() if key != "kind"}
    types_of, attributes = _key_types(wanted), _KEYS[wanted]
    if extra := data.keys() - types_of.keys():
        raise KeyError(*extra)
    return wanted(**{attributes[key]: _decode_value(types_of[key], value) for key, value in data.items()})


def _check_instance(value: Any, wanted: Any) -> Any:
    if not isinstance(value, wanted) or isinstance(value, bool):
        raise TypeError("a field of another type was expected")
    return value


def _schema_of(wanted: Any, definitions: Json) -> Json:
    origin = typing.get_origin(wanted)
    if origin is types.UnionType:
        return {"anyOf": [_schema_of(t, definitions) for t in typing.get_args(wanted)]}
    if origin is tuple:
        return {"type": "array", "items": _schema_of(typing.get_args(wanted)[0], definitions)}
    if wanted is Fraction:
        return {"type": "string", "pattern": r"^-?\d+(\.\d+)?(/\d+)?$"}
    if wanted is Neighbours:
        return {"enum": [n.value for n in Neighbours]}
    if not dataclasses.is_dataclass(wanted):
        return {"type": {int: "integer", float: "number", str: "string", type(None): "null"}[wanted]}
    name = _family_name(typing.cast("type", wanted)).capitalize()
    if name not in definitions:
        definitions[name] = {}  # reserves the name: events contain events
        definitions[name] = _object_schema(typing.cast("type", wanted), definitions)
    return {"$ref": f"#/$defs/{name}"}


def _object_schema(wanted: type, definitions: Json) -> Json:
    if kinds := _concrete_kinds(wanted):
        return {"oneOf": [_kind_schema(kind, c, definitions) for kind, c in kinds.items()]}
    return _fields_schema(wanted, definitions)


def _kind_schema(kind: str, wanted: type, definitions: Json) -> Json:
    body = _fields_schema(wanted, definitions)
    body["properties"]["kind"] = {"const": kind}
    body["required"].append("kind")
    return body


def _fields_schema(wanted: type, definitions: Json) -> Json:
    needed = {
        f.name
        for f in dataclasses.fields(wanted)
        if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
    }
    return {
        "type": "object",
        "properties": {key: _schema_of(hint, definitions) for key, hint in _key_types(wanted).items()},
        "required": [key for key, attribute in _KEYS[wanted].items() if attribute in needed],
    }
