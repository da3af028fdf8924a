"""The engines' own types, by the names that DuckDB gives them: the kind of each, and how ids of several compare."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hubbub.schema import Column, Kind

SIGNED = {"TINYINT": 3, "SMALLINT": 5, "INTEGER": 10, "BIGINT": 19, "HUGEINT": 39}  # digits
UNSIGNED = {"UTINYINT": 3, "USMALLINT": 5, "UINTEGER": 10, "UBIGINT": 20, "UHUGEINT": 39}
INTEGERS = SIGNED | UNSIGNED
SMALL_INTEGERS = frozenset(name for name, digits in INTEGERS.items() if digits <= 19)
FLOATS = ("FLOAT", "DOUBLE")
COLLATED = "VARCHAR COLLATE "  # and the collation's name
TYPES = {
    Kind.BOOLEAN: "BOOLEAN",
    Kind.INTEGER: "BIGINT",
    Kind.NUMBER: "DOUBLE",
    Kind.TEXT: "VARCHAR",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP",
    Kind.OPAQUE: "BLOB",
}
_MOST_DIGITS = 38  # of a decimal
_COLLATIONS = ("NOCASE", "NOACCENT", "NFC")
_KINDS = {
    "BOOLEAN": "boolean",
    **dict.fromkeys(INTEGERS, "integer"),
    **dict.fromkeys((*FLOATS, "DECIMAL"), "number"),
    **dict.fromkeys(("VARCHAR", "UUID", "ENUM", "NULL"), "text"),
    "DATE": "date",
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), "timestamp"),
    "TIMESTAMP WITH TIME ZONE": "timestamp",
}


def shown_type(native: str) -> str:
    """A type as people are told it: without what is in its brackets, since an ENUM lists its values there."""
    return native.partition("(")[0]


def kind_of_type(native: str) -> str:
    """Our kind for one of the engine's types; ``opaque`` for what a query cannot speak of."""
    base = native.split("(", maxsplit=1)[0].strip('" ').upper()
    return "opaque" if native.endswith("]") else _KINDS.get(base, "opaque")


def is_number_type(native: str) -> bool:
    """Whether its values are numbers, which are compared as such."""
    return native in INTEGERS or native in FLOATS or native.startswith("DECIMAL")


# ---------------------------------------------------------------- ids


def form_of(natives: Sequence[str]) -> str | None:
    """The form in which ids of these types are compared; None if they cannot be."""
    if all(is_number_type(native) for native in natives):
        return _number_form(natives)
    if all(_is_text(native) for native in natives):
        return _text_form(natives)
    return natives[0] if len(set(natives)) == 1 else None


def type_of(column: Column) -> str:
    """The engine's type that a column's ids are of: the declared one, and the source's where that is of this kind."""
    plain = column.native.partition(" COLLATE ")[0]
    return column.native if plain and is_kind(kind_of_type(plain), column.kind) else TYPES[column.kind]


def is_kind(stored: str, kind: Kind) -> bool:
    """Whether a source's kind is the declared one; numbers are of one kind, and their ids are told apart exactly."""
    return stored == kind.value or (kind.is_number and Kind(stored).is_number)


def _is_text(native: str) -> bool:
    return native == "VARCHAR" or native.startswith((COLLATED, "ENUM"))


def _number_form(natives: Sequence[str]) -> str:
    floats = [native for native in natives if native in FLOATS]
    if floats:
        return "FLOAT" if "FLOAT" in floats else "DOUBLE"
    if SMALL_INTEGERS.issuperset(natives):
        return "BIGINT"
    if set(UNSIGNED).issuperset(natives) and "UHUGEINT" in natives:
        return "UHUGEINT"
    sizes = [_digits_of(native) for native in natives]
    digits, scale = (max(parts) for parts in zip(*sizes, strict=True))
    if scale == 0 and "UHUGEINT" not in natives:
        return "HUGEINT"
    return f"DECIMAL({digits + scale},{scale})" if digits + scale <= _MOST_DIGITS else "DOUBLE"


def _digits_of(native: str) -> tuple[int, int]:
    """Digits before and after the point."""
    if native in INTEGERS:
        return INTEGERS[native], 0
    width, scale = map(int, re.findall(r"\d+", native)[:2])
    return width - scale, scale


def _text_form(natives: Sequence[str]) -> str | None:
    rules = {native.removeprefix(COLLATED).upper() for native in natives if native.startswith(COLLATED)}
    if not rules:
        return "VARCHAR"
    [rule, *others] = rules
    known = all(part in _COLLATIONS for part in rule.split("."))
    return None if others or not known else f"{COLLATED}{rule}"
