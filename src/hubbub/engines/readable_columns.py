"""Columns in a form whose reading cannot fail: what a type cannot hold is missing, what no form can hold is left out.

Whether a column is read, and as which type, follows from its declared type alone, never from a value.
"""

from __future__ import annotations

import re
from collections.abc import Callable

# A column's name and the engine's type of it -> an expression, or None.
ReadForm = Callable[[str, str], str | None]


FIRST, LAST = -62_135_596_800_000, 253_402_300_799_999  # the years 1 to 9999, in milliseconds since 1970
_LEAVES = {
    *("BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DATE"),
    *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT", "VARCHAR", "UUID", "ENUM", "BLOB", "BIT", "INTERVAL"),
}
_MOMENTS = {"TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE"}
_ZONED_NS = "TIMESTAMPTZ_NS"
_CANONICAL = {"nocase": "lower({})", "noaccent": "strip_accents({})", "nfc": "nfc_normalize({})"}


def readable_form(name: str, native: str) -> str | None:
    """A column of a table in memory or in a DuckDB file, as an expression that never fails; None: it is left out."""
    base, _, collation = native.partition(" COLLATE ")
    if collation:
        return _canonical_spelling(name, collation)
    if base in _MOMENTS:
        return f"TRY_CAST({name} AS TIMESTAMP)"
    if base == _ZONED_NS:
        return f"TRY_CAST(TRY_CAST({name} AS TIMESTAMP WITH TIME ZONE) AS TIMESTAMP)"
    if base.startswith("DECIMAL(") and base.endswith(")"):
        return _readable_decimal(name, base)
    if base in ("TIME", "JSON", "INTERVAL"):  # casts of JSON to other types fail, and files hold no negative interval
        part = f"epoch_us({name})" if base == "TIME" else name  # a time outside of the day cannot be written as text
        return f"encode(CAST({part} AS VARCHAR))"
    return name if base in ("TIMESTAMP", '"NULL"') or _is_plain(base) else None


def parquet_form(name: str, native: str) -> str | None:
    """A column of a Parquet file: times of day and JSON are checked by the reader, so they cannot be read at all."""
    if native in ("TIME", "JSON"):
        return None
    if native == "VARCHAR":
        # The reader prunes by statistics of the bytes as they were before bad ones were replaced: whether a row meets
        # a condition would depend on others'. The optimizer does not see through `least` of one value.
        return f"least({name})"
    return readable_form(name, native)


def _is_plain(native: str) -> bool:
    """Whether a type, nested ones included, consists of parts that always have a text."""
    unquoted = re.sub(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"", "", native)  # values of an ENUM, names in a STRUCT
    unnamed = re.sub(r"(?<=[(,])\s*\w+ (?=[A-Z])", "", unquoted)
    return set(re.findall(r"[A-Z_]{3,}", unnamed)) <= _LEAVES | {"STRUCT", "MAP"}


def _readable_decimal(name: str, native: str) -> str:
    """A decimal, missing where it has more digits than its type: files and tables in memory may hold such."""
    width, scale = map(int, re.findall(r"\d+", native))
    digits = "9" * (width - scale) + ("." + "9" * scale if scale else "")
    return _clamp_between(name, *(f"CAST('{sign}{digits}' AS {native})" for sign in ("-", "")))


def _clamp_between(text: str, first: str, last: str) -> str:
    """A value inside of an interval, else NULL; it is held there also where an engine drops the condition."""
    return f"CASE WHEN {text} BETWEEN {first} AND {last} THEN least(greatest({text}, {first}), {last}) END"


def _canonical_spelling(name: str, collation: str) -> str | None:
    """A text under a collation, as the one spelling that all equal texts share."""
    text = name
    for part in collation.lower().split("."):
        if part not in _CANONICAL:
            return None
        text = _CANONICAL[part].format(text)
    return f'({text} COLLATE "binary")'  # else whatever is made of it is compared by the collation again


def from_milliseconds(name: str) -> str:
    """A count of milliseconds as a timestamp: held to the calendar before it is turned, and missing outside of it."""
    held = f"least(greatest({name}, {FIRST}), {LAST})"
    return f"CASE WHEN {name} BETWEEN {FIRST} AND {LAST} THEN make_timestamp({held} * 1000) END"
