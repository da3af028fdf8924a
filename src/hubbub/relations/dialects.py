"""How each operation reads in an engine's SQL. Every template is total: it gives a value or NULL, and never fails.

It is so by the functions it is made of, with or without the CASE around them: an engine may drop a condition that its
statistics call always true, and a guard is gone with it. Numbers are computed as doubles, which overflow to infinity
instead of raising; casts give NULL where they cannot be made; what a function cannot take is held to what it can.
"""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction
from typing import ClassVar

from hubbub.relations import limits
from hubbub.relations.expressions import Expr
from hubbub.relations.number_types import DOUBLE
from hubbub.relations.readable_columns import with_text
from hubbub.schema import Column, Kind, Value

_BINARY = {"add": "+", "sub": "-", "mul": "*"}
_COMPARE = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_PLAIN = {"abs", "floor", "ceil", "sign"}
_FAMILIES = {
    **dict.fromkeys(("FLOAT", "DOUBLE", "DECIMAL"), "float"),
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "BOOLEAN"), "whole"),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"), "whole"),
    **dict.fromkeys(("DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), "moment"),
    "TIMESTAMP WITH TIME ZONE": "moment",
}
_NUMBERS = (Kind.INTEGER, Kind.NUMBER, Kind.BOOLEAN)
_READABLE = {"float": _NUMBERS, "whole": _NUMBERS, "moment": (Kind.DATE, Kind.TIMESTAMP)}
_DOUBLES = {*_BINARY, *_PLAIN, "exp", "div", "int_div", "mod", "neg", "trunc", "round", "sqrt", "ln", "log10", "power"}


class Dialect:
    """DuckDB's way of writing, which the others change where they differ."""

    name = "duckdb"
    types: ClassVar[dict[Kind, str]] = {
        Kind.BOOLEAN: "BOOLEAN",
        Kind.INTEGER: "BIGINT",
        Kind.NUMBER: "DOUBLE",
        Kind.TEXT: "VARCHAR",
        Kind.DATE: "DATE",
        Kind.TIMESTAMP: "TIMESTAMP",
    }
    huge = "HUGEINT"
    least_positive = "CAST(5e-324 AS DOUBLE)"

    # ------------------------------------------------------------ words

    def quoted(self, name: str) -> str:
        """A name from the schema."""
        return '"' + name.replace('"', '""') + '"'

    def literal(self, value: Value | Fraction | None) -> str:
        """A public value."""
        if value is None or isinstance(value, bool):
            return {None: "NULL", True: "TRUE", False: "FALSE"}[value]
        if isinstance(value, str):
            return "'" + value.replace("'", "''") + "'"
        if isinstance(value, datetime):
            return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
        if isinstance(value, date):
            return f"DATE '{value.isoformat()}'"
        if isinstance(value, int) and abs(value) < 2**62:
            return str(value)
        return self.double(float(value))

    def double(self, value: float) -> str:
        """A floating-point constant."""
        return f"CAST({value!r} AS {self.types[Kind.NUMBER]})"

    def try_cast(self, text: str, kind: Kind) -> str:
        """A cast that gives NULL where it cannot be made."""
        return f"TRY_CAST({text} AS {self.types[kind]})"

    def stored(self, text: str, kind: Kind) -> str:
        """A column of a table, as the type that its kind stands for."""
        return self.try_cast(text, kind)

    def cut(self, text: str) -> str:
        """The first characters of a text, as many as are kept of any."""
        return f"left({text}, {limits.TEXT})"

    def short(self, text: str) -> str:
        """The same for a text that is read: counting bytes takes no time, and few texts are long."""
        return f"CASE WHEN strlen({text}) <= {limits.TEXT} THEN {text} ELSE {self.cut(text)} END"

    def readable(self, text: str, column: Column) -> str:
        """A column of another type than its kind, in a form that can be read as the kind.

        Numbers become text in one way, whether whole numbers are stored as such or, since one is missing, as doubles.
        """
        family = _FAMILIES.get(column.native.split("(", maxsplit=1)[0])
        if column.kind is Kind.TEXT and family == "float":
            whole = f"TRY_CAST(CASE WHEN {text} = trunc({text}) THEN {text} END AS {self.huge})"
            return f"coalesce(TRY_CAST({whole} AS VARCHAR), TRY_CAST({text} AS VARCHAR))"
        if family is None or column.kind in _READABLE[family]:
            return text
        if family == "moment":
            text = with_text(text, column.native)
        return text if column.kind is Kind.TEXT else f"TRY_CAST({text} AS VARCHAR)"

    def is_nan(self, text: str) -> str:
        """Whether a double is no number."""
        return f"isnan({text})"

    def keyed_hash(self, secret: str | None, texts: list[str]) -> str:
        """A number that only depends on a row's own content and on a secret."""
        return f"hash({', '.join([*([] if secret is None else [self.literal(secret)]), *texts])})"

    def whole(self, text: str) -> str:
        """A bounded double as a 64-bit integer."""
        return self.try_cast(f"floor({text} + 0.5)", Kind.INTEGER)

    def huge_of(self, text: str) -> str:
        """A sum of integers as one of many digits, which it is already where its sum is exact."""
        return f"TRY_CAST({text} AS {self.huge})"

    def toward_zero(self, top: str, bottom: str) -> str:
        """Integer division of huge integers, rounded toward zero; the bottom is positive."""
        return f"(CASE WHEN {top} < 0 THEN -((-({top})) // ({bottom})) ELSE ({top}) // ({bottom}) END)"

    def root_above(self, text: str) -> str:
        """An integer at least the root of a huge integer; a double's root is off by far less than the margin."""
        root = f"sqrt(greatest(TRY_CAST({text} AS DOUBLE), 0))"
        return f"(TRY_CAST(ceil({root} * 1.000000000001) AS {self.huge}) + 1)"

    def inline(self) -> str:
        """The hint that a WITH part is cheap to read again."""
        return " NOT MATERIALIZED"

    def calendar(self, value: Expr, text: str) -> str:
        """A date or timestamp inside the years 1 to 9999, else NULL."""
        first, last = _calendar_ends(value.kind)
        inside = f"{text} BETWEEN {self.literal(first)} AND {self.literal(last)}"
        return f"(CASE WHEN {inside} THEN {self.in_calendar(value, text)} END)"

    def in_calendar(self, value: Expr, text: str) -> str:
        """A date or timestamp, moved into the years 1 to 9999: functions of the calendar fail far outside of them."""
        first, last = _calendar_ends(value.kind)
        return f"least(greatest({text}, {self.literal(first)}), {self.literal(last)})"

    # ------------------------------------------------------------ operations

    def number(self, value: Expr, text: str) -> str:
        """The value as a double."""
        if value.op in _DOUBLES or (value.op == "column" and value.kind is Kind.NUMBER):
            return text
        return self.try_cast(text, Kind.NUMBER)

    def operation(self, value: Expr, parts: list[str]) -> str:
        """The operation on parts that are printed already."""
        op, args = value.op, value.args
        numbers = [self.number(arg, part) for arg, part in zip(args, parts, strict=True)]
        if op in _BINARY:
            return self.nearest(value, f"({numbers[0]} {_BINARY[op]} {numbers[1]})")
        if op in _COMPARE:
            return f"({parts[0]} {_COMPARE[op]} {parts[1]})"
        if op in _PLAIN:
            return f"{op}({numbers[0]})"
        simple = _SIMPLE.get(op)
        if simple is not None:
            return simple.format(*parts, n=numbers, least=self.least_positive)
        return getattr(self, f"_{op}")(value, parts, numbers)  # type: ignore[no-any-return]

    def nearest(self, value: Expr, text: str) -> str:
        """The double nearest to a decimal, where SQL has one: equal decimals must be equal doubles."""
        number = value.facts.number
        if not number.is_decimal or not number.digits:
            return text
        scale = self.double(10.0**number.digits)
        return f"(round({text} * {scale}) / {scale})"

    def steps(self, value: Expr, text: str) -> str:
        """A decimal, counted in its last digit."""
        digits = value.facts.number.digits
        return f"round({text} * {self.double(10.0**digits)})" if digits else text

    def _present(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        """Whether there is a value, and it is a number."""
        there = f"({parts[0]} IS NOT NULL)"
        return there if value.args[0].kind is not Kind.NUMBER else f"({there} AND NOT {self.is_nan(numbers[0])})"

    def _exp(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        return f"exp({numbers[0]})"

    def _div(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        # Of doubles: infinite, or no number, where the bottom is 0; and 0 and -0 are equal, so they divide alike.
        return f"({numbers[0]} / ({numbers[1]} + 0.0))"

    def _mod(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        number = value.facts.number
        if number == DOUBLE:
            return self.double_remainder(*numbers)
        if not number.digits:
            return self.remainder(*numbers)
        scale = self.double(10.0**number.digits)  # of decimals: counted in the last digit of the finer one
        return f"({self.remainder(*(f'round({text} * {scale})' for text in numbers))} / {scale})"

    def remainder(self, top: str, bottom: str) -> str:
        """What is left of a division, with the sign of the top; of whole numbers and decimals, missing if by 0."""
        return f"({top} % NULLIF({bottom}, 0))"

    def double_remainder(self, top: str, bottom: str) -> str:
        """What is left of a division of doubles; no number if by 0."""
        return f"({top} % {bottom})"

    def _round(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        before, digits = value.args[0].facts.number, value.param
        if not before.is_decimal:
            return self.rounded(numbers[0], digits)
        if digits >= before.digits:
            return numbers[0]
        finer = self.double(10.0 ** (before.digits - digits))  # a half is a half only where digits are counted
        return self.rescaled(self.rounded(f"({self.steps(value.args[0], numbers[0])} / {finer})", 0), digits)

    def rescaled(self, text: str, digits: int) -> str:
        """A whole number of last digits as a number."""
        scale = self.double(10.0 ** abs(digits))
        return f"({text} {'/' if digits >= 0 else '*'} {scale})" if digits else text

    def rounded(self, text: str, digits: int) -> str:
        """A double, rounded."""
        return f"round({text}, {digits})"

    def _in(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        return f"({parts[0]} IN ({', '.join(parts[1:])}))"

    def _and(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        return f"({' AND '.join(parts)})"

    def _least(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        return f"{value.op}({', '.join(numbers if value.kind.is_number else parts)})"

    _greatest = _least

    def _coalesce(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        return f"coalesce({', '.join(numbers if value.kind is Kind.NUMBER else parts)})"

    def _case(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        branches = " ".join(f"WHEN {c} THEN {v}" for c, v in zip(parts[:-1:2], parts[1:-1:2], strict=True))
        return f"(CASE {branches} ELSE {parts[-1]} END)"

    def _like(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        return f"({parts[0]} {value.op.upper()} {self.literal(value.param)})"

    _ilike = _like

    def _substring(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        start, length = value.param
        return f"substring({parts[0]}, {start}{'' if length is None else f', {max(0, length)}'})"

    def _left(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        return f"{value.op}({parts[0]}, {value.param})"

    _right = _left

    def _concat(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        return f"concat({', '.join(parts)})"

    def _replace(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        return f"replace({parts[0]}, {self.literal(value.param[0])}, {self.literal(value.param[1])})"

    def _starts_with(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        return f"starts_with({parts[0]}, {self.literal(value.param)})"

    def _contains(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        return f"(position({self.literal(value.param)} IN {parts[0]}) > 0)"

    def _extract(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        safe = self.calendar(value.args[0], parts[0])
        part = f"extract({value.param} FROM {self.try_cast(safe, Kind.TIMESTAMP)})"
        return self.try_cast(f"floor({part})", Kind.INTEGER)

    def _date_trunc(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        safe = self.calendar(value.args[0], parts[0])
        return self.try_cast(f"date_trunc('{value.param}', {safe})", value.kind)

    def _date_diff(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        first, second = (self.calendar(arg, part) for arg, part in zip(value.args, parts, strict=True))
        return f"date_diff('{value.param}', {first}, {second})"

    def _cast(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        target, inner = value.param, value.args[0]
        text = parts[0]
        if inner.kind is Kind.INTEGER and inner.op in _DOUBLES:
            text = self.try_cast(text, Kind.INTEGER)  # a whole number reads 3, and a double 3.0
        elif inner.facts.number.is_decimal and inner.facts.number.digits and target.kind is Kind.INTEGER:
            text = self.rounded(numbers[0], 0)  # decimals are rounded away from zero, doubles to the even neighbour
        elif target.kind is Kind.TEXT and inner.kind in (Kind.DATE, Kind.TIMESTAMP):
            text = self.calendar(inner, text)  # far outside of it even TRY_CAST fails
        if target.width:
            return self.try_cast(self.decimal(inner, text, target.width, target.digits), Kind.NUMBER)
        return self.narrow(text, target.name) if target.name else self.try_cast(text, target.kind)

    def decimal(self, value: Expr, text: str, width: int, digits: int) -> str:
        """A value as a decimal; what does not fit is NULL."""
        before = value.facts.number
        if value.kind.is_number and before.is_decimal and before.digits:
            text = f"TRY_CAST({text} AS DECIMAL(38, {before.digits}))"
        return f"TRY_CAST({text} AS DECIMAL({width}, {digits}))"

    def narrow(self, text: str, name: str) -> str:
        """A value as a narrower whole number; what does not fit is NULL."""
        return f"TRY_CAST({text} AS {name})"


class PostgresDialect(Dialect):
    """PostgreSQL. Doubles raise on overflow there, so numbers are held to 10^30 where they are read.

    Casts from text raise on bad text before version 16; the engine that runs this text must refuse them.
    """

    name = "postgres"
    types = Dialect.types | {Kind.NUMBER: "double precision", Kind.TEXT: "text", Kind.BOOLEAN: "boolean"}
    huge = "numeric"
    least_positive = "1e-300"
    _LARGEST = "1e30"  # products of ten such numbers are still doubles

    def stored(self, text: str, kind: Kind) -> str:
        cast = f"CAST({text} AS {self.types[kind]})"
        if kind is not Kind.NUMBER:
            return cast
        return (
            f"(CASE WHEN {text} = 'NaN' THEN NULL WHEN {text} > {self._LARGEST} THEN {self._LARGEST} "
            f"WHEN {text} < -{self._LARGEST} THEN -{self._LARGEST} ELSE {cast} END)"
        )

    def try_cast(self, text: str, kind: Kind) -> str:
        if kind is Kind.INTEGER:
            return f"(CASE WHEN {text} BETWEEN -9e18 AND 9e18 THEN CAST({text} AS bigint) END)"
        return f"CAST({text} AS {self.types[kind]})"

    def short(self, text: str) -> str:
        return self.cut(text)

    def huge_of(self, text: str) -> str:
        return f"CAST({text} AS {self.huge})"

    def is_nan(self, text: str) -> str:
        return f"({text} = 'NaN'::double precision)"

    def keyed_hash(self, secret: str | None, texts: list[str]) -> str:
        return f"hashtextextended(ROW({', '.join(texts)})::text, {int((secret or '0')[:15], 16)})"

    def toward_zero(self, top: str, bottom: str) -> str:
        return f"div({top}, {bottom})"

    def root_above(self, text: str) -> str:
        return f"(ceil(sqrt({text})) + 1)"

    def _exp(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        x = numbers[0]
        return f"(CASE WHEN {x} > 600 THEN 1e260 WHEN {x} IS NOT NULL THEN exp(greatest({x}, -600)) END)"

    def _div(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        top, bottom = numbers  # dividing by 0 fails there
        none = f"CASE WHEN {bottom} = 0 THEN {top} * CAST('Infinity' AS double precision) END"
        return f"coalesce({top} / NULLIF({bottom}, 0), {none})"

    def remainder(self, top: str, bottom: str) -> str:
        return f"({top} - {bottom} * trunc({top} / NULLIF({bottom}, 0)))"

    def double_remainder(self, top: str, bottom: str) -> str:
        none = f"CASE WHEN {bottom} = 0 AND {top} IS NOT NULL THEN CAST('NaN' AS double precision) END"
        return f"coalesce({none}, {self.remainder(top, bottom)})"

    def _cast(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        if value.kind is Kind.INTEGER and value.args[0].kind is Kind.BOOLEAN:
            return f"CAST(CAST({parts[0]} AS integer) AS bigint)"
        return super()._cast(value, parts, numbers)

    def decimal(self, value: Expr, text: str, width: int, digits: int) -> str:
        most = 10 ** (width - digits)
        held = f"(CASE WHEN {text} > -{most} AND {text} < {most} THEN {text} END)"
        return f"round(CAST({held} AS numeric), {digits})"

    def narrow(self, text: str, name: str) -> str:
        most = 2 ** {"TINYINT": 7, "SMALLINT": 15, "INTEGER": 31}[name]
        return f"(CASE WHEN {text} BETWEEN {-most} AND {most - 1} THEN CAST({text} AS bigint) END)"

    def rounded(self, text: str, digits: int) -> str:
        scale = self.double(10.0**digits)
        return f"(trunc({text} * {scale} + sign({text}) * 0.5) / {scale})"  # round goes to the even neighbour there

    def _like(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        return f"({parts[0]} {value.op.upper()} {self.literal(value.param)} ESCAPE '')"

    _ilike = _like

    def _date_diff(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        first, second = (f"CAST({part} AS date)" for part in parts)
        if value.param == "day":
            return f"({second} - {first})"
        starts = [f"CAST(date_trunc('{value.param}', {day}) AS date)" for day in (first, second)]
        if value.param == "week":
            return f"(({starts[1]} - {starts[0]}) / 7)"
        months = [f"(extract(year FROM {start}) * 12 + extract(month FROM {start}))" for start in starts]
        size = {"month": 1, "quarter": 3, "year": 12}[value.param]
        return f"CAST(floor(({months[1]} - {months[0]}) / {size}) AS bigint)"


_SIMPLE = {
    "int_div": "trunc({n[0]} / NULLIF({n[1]}, 0))",
    "neg": "(-{n[0]})",
    "trunc": "trunc({n[0]})",
    "sqrt": "(CASE WHEN {n[0]} >= 0 THEN sqrt(greatest({n[0]}, 0)) END)",
    "ln": "(CASE WHEN {n[0]} > 0 THEN ln(greatest({n[0]}, {least})) END)",
    "log10": "(CASE WHEN {n[0]} > 0 THEN log10(greatest({n[0]}, {least})) END)",
    "power": "pow({n[0]} + 0.0, {n[1]})",
    "or": "({0} OR {1})",
    "pipe": "({0} || {1})",
    "not": "(NOT {0})",
    "isnull": "({0} IS NULL)",
    "not_null": "({0} IS NOT NULL)",
    "same": "({0} IS NOT DISTINCT FROM {1})",
    "nullif": "NULLIF({0}, {1})",
    "lower": "lower({0})",
    "upper": "upper({0})",
    "trim": "trim({0})",
    "length": "length({0})",
}


def _calendar_ends(kind: Kind) -> tuple[date, date]:
    """The first and last day, or moment, of the years 1 to 9999."""
    if kind is Kind.TIMESTAMP:
        return datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)
    return date(1, 1, 1), date(9999, 12, 31)


DIALECTS: dict[str, Dialect] = {"duckdb": Dialect(), "postgres": PostgresDialect()}
