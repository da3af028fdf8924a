"""DuckDB: TRY_CAST from every type to every other, doubles that never fail, integers of 128 bits."""

from __future__ import annotations

from hubbub.relations.dialects.dialect import OPERATIONS, Dialect
from hubbub.relations.moments import SHORT_UNITS, TIME_SIGNS
from hubbub.schema import Kind

_TYPES = {
    Kind.BOOLEAN: "BOOLEAN",
    Kind.INTEGER: "BIGINT",
    Kind.NUMBER: "DOUBLE",
    Kind.TEXT: "VARCHAR",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP",
}
_CASTS = {kind: f"TRY_CAST({{0}} AS {name})" for kind, name in _TYPES.items()}
_NATIVE = "TRY_CAST({0} AS {type})"
_LEAST = "CAST(5e-324 AS DOUBLE)"  # the smallest double above 0
_WHOLE = "TRY_CAST(CASE WHEN {0} = trunc({0}) THEN {0} END AS HUGEINT)"

DUCKDB = Dialect(
    name="duckdb",
    types=_TYPES,
    tells_natives=True,
    double="CAST({0} AS DOUBLE)",
    casts=_CASTS,
    stored=_CASTS,
    native=_NATIVE,
    narrow=_NATIVE,
    decimal="TRY_CAST({0} AS DECIMAL({width}, {digits}))",
    decimal_of_double="TRY_CAST({0} AS DECIMAL(38, {digits}))",
    integer_of_boolean=_NATIVE,
    text="CAST({0} AS VARCHAR)",
    number_text=f"coalesce(TRY_CAST({_WHOLE} AS VARCHAR), TRY_CAST({{0}} AS VARCHAR))",
    is_nan="isnan({0})",
    is_finite="isfinite({0})",
    is_negative="signbit({0})",
    short="CASE WHEN strlen({0}) <= {most} THEN {0} ELSE left({0}, {most}) END",  # counting bytes takes no time
    rounded="round({0}, {digits})",
    remainder="({0} % NULLIF({1}, 0))",
    double_remainder="({0} % {1})",
    operations={
        **OPERATIONS,
        # Of doubles: infinite, or no number, where the bottom is 0; and 0 and -0 are equal, so they divide alike.
        "div": "({n[0]} / ({n[1]} + 0.0))",
        "exp": "exp({n[0]})",
        "strftime": "strftime({0}, {form})",
        "ln": f"(CASE WHEN {{n[0]}} > 0 THEN ln(greatest({{n[0]}}, {_LEAST})) END)",
        "log10": f"(CASE WHEN {{n[0]}} > 0 THEN log10(greatest({{n[0]}}, {_LEAST})) END)",
    },
    date_diff={
        unit: f"date_diff('{unit}', {{c[0]}}, {{c[1]}})"
        for unit in ("day", "week", "month", "quarter", "year", *SHORT_UNITS)
    },
    match_part="regexp_extract({0}, {pattern}, {group})",
    time_signs={sign: f"%{sign}" for sign in TIME_SIGNS},
    collations={"NOCASE": "lower({0})", "NOACCENT": "strip_accents({0})", "NFC": "nfc_normalize({0})"},
    binary='{0} COLLATE "binary"',
    huge="TRY_CAST({0} AS HUGEINT)",
    toward_zero="(CASE WHEN {0} < 0 THEN -((-({0})) // ({1})) ELSE ({0}) // ({1}) END)",
    root_above=("(TRY_CAST(ceil(sqrt(greatest(TRY_CAST({0} AS DOUBLE), 0)) * 1.000000000001) AS HUGEINT) + 1)"),
    hash="hash({texts})",
    keyed_hash="hash({secret}, {texts})",
    hints={None: "", True: " MATERIALIZED", False: " NOT MATERIALIZED"},
    first_of_key="SELECT DISTINCT ON ({key}) {columns} FROM {source} ORDER BY {order}",
)
