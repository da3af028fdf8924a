"""The engines' own types, by the names that DuckDB gives them: of which kind each is, and which are numbers."""

from __future__ import annotations

from hubbub.schema import Kind

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
_KINDS = {
    "BOOLEAN": "boolean",
    **dict.fromkeys(INTEGERS, "integer"),
    **dict.fromkeys((*FLOATS, "DECIMAL"), "number"),
    **dict.fromkeys(("VARCHAR", "UUID", "ENUM", "NULL"), "text"),
    "DATE": "date",
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), "timestamp"),
    "TIMESTAMP WITH TIME ZONE": "timestamp",
}


def kind_of_type(native: str) -> str:
    """Our kind for one of the engine's types; ``opaque`` for what a query cannot speak of."""
    base = native.split("(", maxsplit=1)[0].strip('" ').upper()
    return "opaque" if native.endswith("]") else _KINDS.get(base, "opaque")


def is_number_type(native: str) -> bool:
    """Whether its values are numbers, which are compared as such."""
    return native in INTEGERS or native in FLOATS or native.startswith("DECIMAL")
