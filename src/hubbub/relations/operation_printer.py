"""An analyst's operations in an engine's words: each by its template, on parts that are printed already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction

from hubbub.relations.casts import CastTarget, whole_bounds
from hubbub.relations.column_printer import calendar
from hubbub.relations.dialects import Dialect
from hubbub.relations.expressions import Expr
from hubbub.relations.moments import SHORT_UNITS, time_signs
from hubbub.relations.number_types import DOUBLE
from hubbub.schema import Kind, Value
from hubbub.terms import NotAllowed

_DOUBLES = {
    *("add", "sub", "mul", "div", "int_div", "mod", "neg", "abs", "sign", "floor", "ceil", "trunc", "round"),
    *("sqrt", "ln", "log10", "exp", "power"),
}


@dataclass(frozen=True, slots=True)
class OperationPrinter:
    """Fills the templates of one dialect."""

    dialect: Dialect

    # ------------------------------------------------------------ words

    def quoted(self, name: str) -> str:
        """A name from the schema."""
        quote = self.dialect.quote
        return f"{quote}{name.replace(quote, 2 * quote)}{quote}"

    def literal(self, value: Value | Fraction | None) -> str:
        """A public value."""
        if value is None or isinstance(value, bool):
            return {None: "NULL", True: "TRUE", False: "FALSE"}[value]
        if isinstance(value, str):
            return f"'{value.translate(self.dialect.escapes)}'"
        if isinstance(value, datetime):
            return self.dialect.timestamp.format(value.isoformat(sep=" "))
        if isinstance(value, date):
            return self.dialect.date.format(value.isoformat())
        if isinstance(value, int) and abs(value) < 2**62:
            return str(value)
        return self.double(float(value))

    def double(self, value: float) -> str:
        """A floating-point constant."""
        return self.dialect.double.format(repr(value))

    def number(self, value: Expr, text: str) -> str:
        """The value as a double."""
        if value.op in _DOUBLES or (value.op == "column" and value.kind is Kind.NUMBER):
            return text
        return self.dialect.casts[Kind.NUMBER].format(text)

    # ------------------------------------------------------------ operations

    def operation(self, value: Expr, parts: list[str]) -> str:
        """The operation on its parts."""
        numbers = [self.number(arg, part) for arg, part in zip(value.args, parts, strict=True)]
        rule = _RULES.get(value.op)
        return (
            self._filled(value.op, parts, numbers, value.param) if rule is None else rule(self, value, parts, numbers)
        )

    def _filled(self, op: str, parts: Sequence[str], numbers: Sequence[str], param: object = None) -> str:
        fixed = param if isinstance(param, tuple) else () if param is None else (param,)
        literals = [self.literal(each) for each in fixed]
        return self.dialect.operations[op].format(*parts, n=numbers, p=literals, all=", ".join(parts))

    def _nearest(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        """The double nearest to a decimal, where SQL has one: equal decimals must be equal doubles."""
        text, number = self._filled(value.op, parts, numbers), value.facts.number
        if not number.is_decimal or not number.digits:
            return text
        scale = self.double(10.0**number.digits)
        return f"(round({text} * {scale}) / {scale})"

    def _choice(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        """One of several values, in one type."""
        as_doubles = value.kind is Kind.NUMBER or (value.kind.is_number and value.op != "coalesce")
        return self._filled(value.op, numbers if as_doubles else parts, numbers)

    def _present(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        """Whether there is a value, and it is a number."""
        there = self._filled("not_null", parts, numbers)
        is_number = value.args[0].kind is Kind.NUMBER
        return f"({there} AND NOT {self.dialect.is_nan.format(numbers[0])})" if is_number else there

    def _mod(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        number = value.facts.number
        if number == DOUBLE:
            return self.dialect.double_remainder.format(*numbers)
        if not number.digits:
            return self.dialect.remainder.format(*numbers)
        scale = self.double(10.0**number.digits)  # of decimals: counted in the last digit of the finer one
        return f"({self.dialect.remainder.format(*(f'round({text} * {scale})' for text in numbers))} / {scale})"

    def _round(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        before, digits = value.args[0].facts.number, value.param
        if not before.is_decimal:
            return self._rounded(numbers[0], digits)
        if digits >= before.digits:
            return numbers[0]
        # a half is a half only where digits are counted
        steps = f"round({numbers[0]} * {self.double(10.0**before.digits)})" if before.digits else numbers[0]
        whole = self._rounded(f"({steps} / {self.double(10.0 ** (before.digits - digits))})", 0)
        scale = self.double(10.0 ** abs(digits))
        return f"({whole} {'/' if digits > 0 else '*'} {scale})" if digits else whole

    def _rounded(self, text: str, digits: int) -> str:
        return self.dialect.rounded.format(text, digits=digits, scale=self.double(10.0**digits))

    def _case(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        branches = " ".join(f"WHEN {c} THEN {v}" for c, v in zip(parts[:-1:2], parts[1:-1:2], strict=True))
        return f"(CASE {branches} ELSE {parts[-1]} END)"

    def _substring(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        start, length = value.param
        if length is None:
            return self._filled("substring_from", parts, numbers, start)
        return self._filled("substring", parts, numbers, (start, max(0, length)))

    # ------------------------------------------------------------ dates

    def _extract(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        moment = self.dialect.casts[Kind.TIMESTAMP].format(calendar(parts[0], value.args[0].kind, self.dialect))
        part = self.dialect.operations["extract"].format(moment, unit=value.param)
        return self.dialect.casts[Kind.INTEGER].format(f"floor({part})")

    def _date_trunc(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        safe = calendar(parts[0], value.args[0].kind, self.dialect)
        start = self.dialect.operations["date_trunc"].format(safe, unit=value.param)
        return self.dialect.casts[value.kind].format(start)

    def _date_diff(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        safe = [calendar(part, arg.kind, self.dialect) for arg, part in zip(value.args, parts, strict=True)]
        if value.param in SHORT_UNITS:
            safe = [self._moment(arg, part) for arg, part in zip(value.args, parts, strict=True)]
        return self.dialect.date_diff[value.param].format(*parts, c=safe)

    def _moment(self, value: Expr, text: str) -> str:
        """A date or timestamp inside the calendar, as a timestamp."""
        safe = calendar(text, value.kind, self.dialect)
        return safe if value.kind is Kind.TIMESTAMP else self.dialect.casts[Kind.TIMESTAMP].format(safe)

    def _shift(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        """A moment so much later: a short interval leaves the calendar by little, and what does is missing."""
        shift = value.param
        words = {"months": shift.months, "days": shift.days, "seconds": shift.seconds}
        later = self.dialect.operations["shift"].format(self._moment(value.args[0], parts[0]), **words)
        safe = calendar(later, Kind.TIMESTAMP, self.dialect)
        return self.dialect.casts[Kind.DATE].format(safe) if shift.as_date else safe

    def _match_part(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        if not self.dialect.match_part:
            raise NotAllowed(
                f"a part of a text that a pattern matches cannot be taken on {self.dialect.name}.",
                why="Of several matches it takes the longest, and other engines the first.",
                fix="Use LEFT, SUBSTRING, or CASE with REGEXP_MATCHES.",
            )
        pattern, group = (self.literal(each) for each in value.param[:2])
        return self.dialect.match_part.format(parts[0], pattern=pattern, group=group)

    def _strftime(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        signs = time_signs(value.param) or []
        words = [self.dialect.time_signs[sign] if sign else self.dialect.time_text.format(text) for sign, text in signs]
        form = self.literal("".join(words))
        return self.dialect.operations["strftime"].format(self._moment(value.args[0], parts[0]), form=form)

    def _spelled(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        """Several values as one text: of each its length and itself, so that no two lists look alike."""
        texts = []
        for arg, part, number in zip(value.args, parts, numbers, strict=True):
            moment = arg.kind in (Kind.DATE, Kind.TIMESTAMP)
            plain = calendar(part, arg.kind, self.dialect) if moment else part
            if arg.kind is Kind.NUMBER:
                plain = f"({number} + 0.0)"  # 0 and -0 are one number
            elif arg.kind is Kind.INTEGER and arg.op not in ("column", "literal"):
                plain = self.dialect.casts[Kind.INTEGER].format(part)
            text = self.dialect.casts[Kind.TEXT].format(plain)
            size = self.dialect.casts[Kind.TEXT].format(f"length({text})")
            texts.append(f"coalesce({size} || ':' || {text}, '-')")
        return f"({' || '.join(texts)})"

    # ------------------------------------------------------------ casts

    def _cast(self, value: Expr, parts: list[str], numbers: list[str]) -> str:
        target, inner, dialect = value.param, value.args[0], self.dialect
        if target.kind is Kind.INTEGER and inner.kind is Kind.BOOLEAN:
            return dialect.integer_of_boolean.format(parts[0], type=self._type(target))
        text = self._castable(inner, target, parts[0], numbers[0])
        if target.width:
            return dialect.casts[Kind.NUMBER].format(self._decimal(inner, target, text))
        if not target.name:
            return dialect.casts[target.kind].format(text)
        lower, upper = whole_bounds(target)
        return dialect.narrow.format(text, type=self._type(target), lower=lower, upper=upper)

    def _castable(self, inner: Expr, target: CastTarget, text: str, number: str) -> str:
        """What is cast: the same value, such that the cast means what SQL says."""
        if inner.kind is Kind.INTEGER and inner.op in _DOUBLES:
            return self.dialect.casts[Kind.INTEGER].format(text)  # a whole number reads 3, and a double 3.0
        if inner.facts.number.is_decimal and inner.facts.number.digits and target.kind is Kind.INTEGER:
            return self._rounded(number, 0)  # decimals are rounded away from zero, doubles to the even neighbour
        if target.kind is Kind.TEXT and inner.kind in (Kind.DATE, Kind.TIMESTAMP):
            return calendar(text, inner.kind, self.dialect)  # far outside of it even TRY_CAST fails
        return text

    def _decimal(self, inner: Expr, target: CastTarget, text: str) -> str:
        before, most = inner.facts.number, 10 ** (target.width - target.digits)
        if inner.kind.is_number and before.is_decimal and before.digits:
            text = self.dialect.decimal_of_double.format(text, digits=before.digits)
        return self.dialect.decimal.format(text, width=target.width, digits=target.digits, most=most)

    def _type(self, target: CastTarget) -> str:
        """The engine's word for a type of whole numbers."""
        name = target.name or self.dialect.types[Kind.INTEGER]
        return self.dialect.natives.get(name, name)


_RULES: dict[str, Callable[[OperationPrinter, Expr, list[str], list[str]], str]] = {
    **dict.fromkeys(("add", "sub", "mul"), OperationPrinter._nearest),
    **dict.fromkeys(("least", "greatest", "coalesce"), OperationPrinter._choice),
    "mod": OperationPrinter._mod,
    "round": OperationPrinter._round,
    "present": OperationPrinter._present,
    "in": lambda own, value, parts, numbers: f"({parts[0]} IN ({', '.join(parts[1:])}))",
    "and": lambda own, value, parts, numbers: f"({' AND '.join(parts)})",
    "case": OperationPrinter._case,
    "substring": OperationPrinter._substring,
    "extract": OperationPrinter._extract,
    "date_trunc": OperationPrinter._date_trunc,
    "date_diff": OperationPrinter._date_diff,
    "shift": OperationPrinter._shift,
    "match_part": OperationPrinter._match_part,
    "strftime": OperationPrinter._strftime,
    "cast": OperationPrinter._cast,
    "spelled": OperationPrinter._spelled,
}
