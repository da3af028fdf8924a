"""Columns of a table in an engine's words: as the type of their kind, and as somebody's id. What is no such value is
missing, whatever the source's own type is, and no row can make a reading fail."""

from __future__ import annotations

from datetime import date, datetime

from hubbub.relations import limits
from hubbub.relations.dialects import Dialect
from hubbub.relations.native_types import (
    COLLATED,
    FLOATS,
    INTEGERS,
    SMALL_INTEGERS,
    TYPES,
    is_number_type,
    kind_of_type,
)
from hubbub.schema import Column, Kind

_WHOLE = ("BIGINT", "HUGEINT", "UHUGEINT")
_FIRST_DAY, _LAST_DAY = date(1, 1, 1), date(9999, 12, 31)
_FIRST, _LAST = datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)
_READABLE = {
    **dict.fromkeys((Kind.BOOLEAN, Kind.INTEGER, Kind.NUMBER), (Kind.BOOLEAN, Kind.INTEGER, Kind.NUMBER)),
    **dict.fromkeys((Kind.DATE, Kind.TIMESTAMP), (Kind.DATE, Kind.TIMESTAMP)),
}


def stored_column(text: str, column: Column, dialect: Dialect) -> str:
    """A column as the type of its declared kind."""
    if column.kind is Kind.OPAQUE:
        return dialect.short.format(dialect.casts[Kind.TEXT].format(text), most=limits.TEXT)
    stored = dialect.stored[column.kind].format(_readable(text, column, dialect))
    return dialect.short.format(stored, most=limits.TEXT) if column.kind is Kind.TEXT else stored


def _readable(text: str, column: Column, dialect: Dialect) -> str:
    """A column of another type than its kind, in a form that can be read as the kind.

    Numbers become text in one way, whether whole numbers are stored as such or, since one is missing, as doubles.
    """
    stored = Kind(kind_of_type(column.native))
    if column.kind is Kind.TEXT and stored is Kind.NUMBER:
        return dialect.number_text.format(text)
    if stored not in _READABLE or column.kind in _READABLE[stored]:
        return text
    text = with_text(text, column.native, dialect)
    return text if column.kind is Kind.TEXT else dialect.casts[Kind.TEXT].format(text)


def read_as(text: str, native: str, kind: Kind, dialect: Dialect) -> str:
    """A column of one of the engine's types as a kind."""
    return dialect.casts[kind].format(with_text(text, native, dialect) if kind is Kind.TEXT else text)


def as_native(text: str, native: str, dialect: Dialect) -> str:
    """A value as one of the engine's own types."""
    return dialect.native.format(text, type=dialect.natives.get(native, native))


# ---------------------------------------------------------------- dates and moments


def with_text(text: str, native: str, dialect: Dialect) -> str:
    """A value that can be written as text, else NULL: an engine breaks at moments near the end of their range."""
    return _clamp_calendar(text, Kind.TIMESTAMP, dialect) if native == "TIMESTAMP" else text


def calendar(text: str, kind: Kind, dialect: Dialect) -> str:
    """A date or timestamp inside the years 1 to 9999, else NULL."""
    return f"({_clamp_calendar(text, kind, dialect)})"


def _clamp_calendar(text: str, kind: Kind, dialect: Dialect) -> str:
    """It is held there also where an engine drops the condition."""
    first, last = _calendar_ends(kind, dialect)
    return f"CASE WHEN {text} BETWEEN {first} AND {last} THEN {in_calendar(text, kind, dialect)} END"


def in_calendar(text: str, kind: Kind, dialect: Dialect) -> str:
    """A date or timestamp, moved into the years 1 to 9999: functions of the calendar fail far outside of them."""
    first, last = _calendar_ends(kind, dialect)
    return f"least(greatest({text}, {first}), {last})"


def _calendar_ends(kind: Kind, dialect: Dialect) -> tuple[str, str]:
    if kind is Kind.TIMESTAMP:
        return dialect.timestamp.format(_FIRST.isoformat(sep=" ")), dialect.timestamp.format(_LAST.isoformat(sep=" "))
    return dialect.date.format(_FIRST_DAY.isoformat()), dialect.date.format(_LAST_DAY.isoformat())


# ---------------------------------------------------------------- ids


def id_in(text: str, column: Column, form: str, dialect: Dialect) -> str:
    """The id that a column holds, in the form in which ids are compared."""
    if not dialect.tells_natives:
        plain = form == "BIGINT" and not column.from_text
        return text if plain else dialect.stored[Kind.TEXT].format(text)
    return id_from(text, column.native or TYPES[column.kind], form, dialect)


def id_from(text: str, native: str, form: str, dialect: Dialect) -> str:
    """The same for a column of one of the engine's own types."""
    if native != form:
        text = with_text(text, native, dialect)
    if form in _WHOLE:
        return _whole_id(text, native, form, dialect)
    if form in FLOATS:
        return _float_id(text, native, form, dialect)
    if form.startswith("VARCHAR"):
        return _text_id(text, native, form, dialect)
    if form.startswith("DECIMAL") or form in TYPES.values():
        return text if native == form else as_native(text, form, dialect)
    return text if form == "UUID" else dialect.casts[Kind.TEXT].format(text)


def _whole_id(text: str, native: str, form: str, dialect: Dialect) -> str:
    if native == form or (form == "BIGINT" and native in SMALL_INTEGERS):
        return text
    if native in INTEGERS:
        return as_native(text, form, dialect)
    if is_number_type(native):  # a cast to an integer rounds, and 1.5 is not the person 2
        whole_part = dialect.operations["trunc"].format(n=[text])
        return as_native(f"CASE WHEN {text} = {whole_part} THEN {text} END", form, dialect)
    whole, double = as_native(text, form, dialect), dialect.casts[Kind.NUMBER]
    return f"CASE WHEN {double.format(text)} = {double.format(dialect.text.format(whole))} THEN {whole} END"


def _float_id(text: str, native: str, form: str, dialect: Dialect) -> str:
    """A finite number; the two zeros are one.

    What is no float comes by its digits: a cast from a huge negative integer rounds otherwise than one from a BIGINT.
    """
    if native not in FLOATS:
        number = as_native(dialect.text.format(text), form, dialect)
    else:
        number = text if native == form else as_native(text, form, dialect)
    zero = f"CAST(0 AS {dialect.natives.get(form, form)})"
    return f"CASE WHEN {number} = {zero} THEN {zero} WHEN {dialect.is_finite.format(number)} THEN {number} END"


def _text_id(text: str, native: str, form: str, dialect: Dialect) -> str:
    """Compared byte by byte, after what the column's own collation takes for the same has become so."""
    plain = text if native == "VARCHAR" else dialect.casts[Kind.TEXT].format(text)
    if not form.startswith(COLLATED):
        return plain
    for part in form.removeprefix(COLLATED).split("."):
        plain = dialect.collations[part].format(plain)
    return dialect.binary.format(plain)
