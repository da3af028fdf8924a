"""PostgreSQL. Doubles raise on overflow there, so numbers are held to 10^30 where they are read.

Casts from text raise on bad text before version 16; the engine that runs this text must refuse them.
"""

from __future__ import annotations

from hubbub.relations.dialects.dialect import OPERATIONS, Dialect
from hubbub.relations.moments import SHORT_UNITS
from hubbub.schema import Kind

_TYPES = {
    Kind.BOOLEAN: "boolean",
    Kind.INTEGER: "BIGINT",
    Kind.NUMBER: "double precision",
    Kind.TEXT: "text",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP",
}
_CASTS = {kind: f"CAST({{0}} AS {name})" for kind, name in _TYPES.items()}
_WITHIN = "(CASE WHEN {{0}} BETWEEN {} AND {} THEN CAST({{0}} AS bigint) END)"
_NUMBER = (  # products of ten such numbers are still doubles
    "(CASE WHEN {0} = 'NaN' THEN NULL WHEN {0} > 1e30 THEN 1e30 "
    "WHEN {0} < -1e30 THEN -1e30 ELSE CAST({0} AS double precision) END)"
)
_REMAINDER = "({0} - {1} * trunc({0} / NULLIF({1}, 0)))"
_NO_NUMBER = "CASE WHEN {1} = 0 AND {0} IS NOT NULL THEN CAST('NaN' AS double precision) END"
_INFINITE = "CASE WHEN {n[1]} = 0 THEN {n[0]} * CAST('Infinity' AS double precision) END"  # dividing by 0 fails there
_DAYS = tuple(f"CAST({{{place}}} AS date)" for place in (0, 1))


_TIME_SIGNS = {"Y": "YYYY", "y": "YY", "m": "MM", "d": "DD", "j": "DDD", "H": "HH24", "M": "MI", "S": "SS"}
_TIME_SIGNS |= {"a": "Dy", "A": "FMDay", "b": "Mon", "B": "FMMonth"}


def _starts(unit: str) -> list[str]:
    """The first days of the periods that two days lie in."""
    return [f"CAST(date_trunc('{unit}', {day}) AS date)" for day in _DAYS]


def _short(unit: str, size: int) -> str:
    """How many short periods begin between two moments."""
    first, second = (f"date_trunc('{unit}', {{c[{place}]}})" for place in (0, 1))
    return f"CAST(extract(epoch FROM ({second} - {first})) * 1000000 AS bigint) / {size}"


def _months(unit: str, size: int) -> str:
    """How many periods of so many months begin between two days."""
    first, second = (f"(extract(year FROM {day}) * 12 + extract(month FROM {day}))" for day in _starts(unit))
    return f"CAST(floor(({second} - {first}) / {size}) AS bigint)"


POSTGRES = Dialect(
    name="postgres",
    types=_TYPES,
    natives={"DOUBLE": "double precision", "FLOAT": "real", "HUGEINT": "numeric", "VARCHAR": "text"},
    tells_natives=False,
    double="CAST({0} AS double precision)",
    casts={**_CASTS, Kind.INTEGER: _WITHIN.format("-9e18", "9e18")},
    stored={**_CASTS, Kind.NUMBER: _NUMBER},
    native="CAST({0} AS {type})",
    narrow=_WITHIN.format("{lower}", "{upper}"),
    decimal="round(CAST((CASE WHEN {0} > -{most} AND {0} < {most} THEN {0} END) AS numeric), {digits})",
    decimal_of_double="{0}",
    integer_of_boolean="CAST(CAST({0} AS integer) AS bigint)",
    text="CAST({0} AS text)",
    number_text="CAST({0} AS text)",
    is_nan="({0} = 'NaN'::double precision)",
    is_finite="({0} < CAST('Infinity' AS double precision) AND {0} > CAST('-Infinity' AS double precision))",
    is_negative="(CAST({0} AS text) LIKE '-%')",
    short="left({0}, {most})",
    rounded="(trunc({0} * {scale} + sign({0}) * 0.5) / {scale})",  # round goes to the even neighbour there
    remainder=_REMAINDER,
    double_remainder=f"coalesce({_NO_NUMBER}, {_REMAINDER})",
    operations={
        **OPERATIONS,
        "div": f"coalesce({{n[0]}} / NULLIF({{n[1]}}, 0), {_INFINITE})",
        "exp": "(CASE WHEN {n[0]} > 600 THEN 1e260 WHEN {n[0]} IS NOT NULL THEN exp(greatest({n[0]}, -600)) END)",
        "ln": "(CASE WHEN {n[0]} > 0 THEN ln(greatest({n[0]}, 1e-300)) END)",
        "log10": "(CASE WHEN {n[0]} > 0 THEN log10(greatest({n[0]}, 1e-300)) END)",
        "matches": "({0} ~ {p[0]})",
        "strftime": "to_char({0}, {form})",
        "like": "({0} LIKE {p[0]} ESCAPE '')",
        "ilike": "({0} ILIKE {p[0]} ESCAPE '')",
    },
    date_diff={
        "day": f"({_DAYS[1]} - {_DAYS[0]})",
        "week": "(({1} - {0}) / 7)".format(*_starts("week")),
        "month": _months("month", 1),
        "quarter": _months("quarter", 3),
        "year": _months("year", 12),
        **{unit: f"({_short(unit, size)})" for unit, size in SHORT_UNITS.items()},
    },
    time_signs=_TIME_SIGNS,
    time_text='"{0}"',
    huge="CAST({0} AS numeric)",
    toward_zero="div({0}, {1})",
    root_above="(ceil(sqrt({0})) + 1)",
    hash="hashtextextended(ROW({texts})::text, 0)",
    keyed_hash="hashtextextended(ROW({texts})::text, {seed})",
    hints={None: "", True: " MATERIALIZED", False: " NOT MATERIALIZED"},
    first_of_key="SELECT DISTINCT ON ({key}) {columns} FROM {source} ORDER BY {order}",
)
