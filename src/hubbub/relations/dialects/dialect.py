"""A dialect is data: the words of one engine, and a template for everything that a printer writes with them.

Every template is total: it gives a value or NULL, and never fails. It is so by the functions it is made of, with or
without the CASE around them: an engine may drop a condition that its statistics call always true, and a guard is gone
with it. Numbers are computed as doubles, which overflow to infinity instead of raising; casts give NULL where they
cannot be made; what a function cannot take is held to what it can.

A template is filled by ``str.format``: ``{0}``, ``{1}`` are the parts, as text; other fields are named beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hubbub.schema import Kind


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """How one engine writes what a printer puts together."""

    name: str

    # ------------------------------------------------------------ words
    types: Mapping[Kind, str]
    natives: Mapping[str, str] = field(default_factory=dict)  # types that it calls otherwise than DuckDB
    tells_natives: bool  # its schema tells such types of columns; else ids are compared as they are, or as text
    quote: str = '"'  # around a name, and doubled inside of one
    escapes: Mapping[int, str] = field(default_factory=lambda: {ord("'"): "''"})  # of signs in a text
    double: str  # a constant
    date: str = "DATE '{0}'"
    timestamp: str = "TIMESTAMP '{0}'"

    # ------------------------------------------------------------ casts: what does not fit is NULL
    casts: Mapping[Kind, str]
    stored: Mapping[Kind, str]  # of a column of a table to the type of its kind
    native: str  # to the engine's {type}
    narrow: str  # to a smaller integer {type}, between {lower} and {upper}
    decimal: str  # to a decimal of {width} digits, {digits} after the point, below {most}
    decimal_of_double: str  # a double that shows a decimal of {digits} as that decimal
    integer_of_boolean: str  # to {type}
    text: str  # of any type, whose values all have one
    number_text: str  # of a float: whole ones as integers are written, also where they are stored as doubles

    # ------------------------------------------------------------ one value
    is_nan: str
    is_finite: str
    is_negative: str  # of a double, also of -0
    cut: str = "left({0}, {most})"  # the first characters of a text
    short: str  # the same for a text that is read: few are long
    days: str = "{0} - DATE '1970-01-01'"
    rounded: str  # a double to {digits}, half away from zero; {scale} is 10^{digits}
    remainder: str  # with the sign of {0}; of whole numbers, missing if {1} is 0
    double_remainder: str  # of doubles; no number if {1} is 0
    operations: Mapping[
        str, str
    ]  # {n[0]}: a part as a double; {p[0]}: a fixed parameter, as a literal; {all}: all parts
    date_diff: Mapping[str, str]  # by unit; {c[0]}, {c[1]}: the parts inside of the calendar
    time_signs: Mapping[str, str]  # of a moment as text: %Y and the like
    time_text: str = "{0}"  # what stands between them
    match_part: str = ""  # the {group} of the first match of a {pattern}; empty if the engine takes another match
    collations: Mapping[str, str] = field(default_factory=dict)  # to the spelling that all equal texts share
    binary: str = "{0}"  # a text that is compared byte by byte

    # ------------------------------------------------------------ integers of many digits
    sum: str = "sum({0})"  # of 64-bit integers: exact, however many there are
    huge: str
    toward_zero: str  # a division; {1} is positive
    root_above: str  # an integer at least the root of {0}; a double's root is off by far less than the margin

    # ------------------------------------------------------------ rows
    hash: str  # of {texts}: a number that only depends on a row's own content
    keyed_hash: str  # and on a secret: {secret} as a literal, {seed} as a number
    hints: Mapping[bool | None, str]  # a part of WITH that is kept (True), or cheap to read again (False)
    values: str = "SELECT * FROM (VALUES {rows}) AS listed({names})"
    first_of_key: str  # one row for each {key} of {columns} FROM {source}, by {order}; {names} of the columns


OPERATIONS: Mapping[str, str] = {
    "add": "({n[0]} + {n[1]})",
    "sub": "({n[0]} - {n[1]})",
    "mul": "({n[0]} * {n[1]})",
    "int_div": "trunc({n[0]} / NULLIF({n[1]}, 0))",
    "neg": "(-{n[0]})",
    "abs": "abs({n[0]})",
    "sign": "sign({n[0]})",
    "floor": "floor({n[0]})",
    "ceil": "ceil({n[0]})",
    "trunc": "trunc({n[0]})",
    "sqrt": "(CASE WHEN {n[0]} >= 0 THEN sqrt(greatest({n[0]}, 0)) END)",
    "power": "pow({n[0]} + 0.0, {n[1]})",
    "eq": "({0} = {1})",
    "ne": "({0} <> {1})",
    "lt": "({0} < {1})",
    "le": "({0} <= {1})",
    "gt": "({0} > {1})",
    "ge": "({0} >= {1})",
    "or": "({0} OR {1})",
    "not": "(NOT {0})",
    "isnull": "({0} IS NULL)",
    "not_null": "({0} IS NOT NULL)",
    "same": "({0} IS NOT DISTINCT FROM {1})",
    "nullif": "NULLIF({0}, {1})",
    "coalesce": "coalesce({all})",
    "least": "least({all})",
    "greatest": "greatest({all})",
    "like": "({0} LIKE {p[0]})",
    "ilike": "({0} ILIKE {p[0]})",
    "matches": "regexp_matches({0}, {p[0]})",
    "contains": "(position({p[0]} IN {0}) > 0)",
    "starts_with": "starts_with({0}, {p[0]})",
    "lower": "lower({0})",
    "upper": "upper({0})",
    "trim": "trim({0})",
    "length": "length({0})",
    "left": "left({0}, {p[0]})",
    "right": "right({0}, {p[0]})",
    "substring": "substring({0}, {p[0]}, {p[1]})",
    "substring_from": "substring({0}, {p[0]})",
    "concat": "concat({all})",
    "pipe": "({0} || {1})",
    "replace": "replace({0}, {p[0]}, {p[1]})",
    "extract": "extract({unit} FROM {0})",
    "date_trunc": "date_trunc('{unit}', {0})",
    "shift": "({0} + INTERVAL '{months} months {days} days {seconds} seconds')",
}
"""Operations that most engines write alike; ``div``, ``ln``, ``log10`` and ``exp`` each writes for itself."""
