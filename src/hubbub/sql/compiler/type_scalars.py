"""Scalar parts of the checked tree -> typed expressions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from sqlglot import exp

from hubbub.relations import MOST_DIGITS, TARGETS, CastTarget, Expr, build, can_cast, kind_of, limits, literal, shifted
from hubbub.schema import Kind, Value
from hubbub.sql.compiler.functions import FUNCTIONS, SAME_PART, TIME_PARTS, TIME_UNITS, TRUNCATIONS, ScalarFunction
from hubbub.sql.compiler.source_text import QueryText
from hubbub.sql.compiler.text_work import check_made
from hubbub.terms import NotAllowed, OverLimit, QueryError, WrongType

Special = Callable[[exp.Expr], Expr | None]
_WORDS = {"n": "a number", "t": "a text", "d": "a date or timestamp", "b": "a condition"}
_WORK = "How much work one row can cause is bounded beforehand."
_DAY_TEXT = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIME_TEXT = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?", re.ASCII)
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_DAYS = {"DAY": 1, "WEEK": 7}
_DIGITS = 30  # of a number before or after the point


class Scalars:
    """Builds expressions; ``special`` handles what only the surrounding scope knows (columns, windows, subqueries)."""

    def __init__(self, text: QueryText, special: Special) -> None:
        self._text, self._special = text, special

    def build(self, node: exp.Expr) -> Expr:
        """The expression of a node."""
        known = self._special(node)
        if known is not None:
            return known
        handler = _HANDLERS.get(type(node))
        if handler is not None:
            return handler(self, node)
        name = str(node.this).lower() if isinstance(node, exp.Anonymous) else type(node).__name__
        if isinstance(node, exp.Like | exp.ILike) and node.args.get("negate"):
            return build("not", [self._call(node, FUNCTIONS[name])])
        if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) and not node.this.is_string:
            inner = self._literal(node.this)
            return literal(-inner.param, exponent=_has_exponent(node.this))
        function = FUNCTIONS.get(name)
        if function is None:
            raise self._refused(NotAllowed, node, "this cannot stand here.", "It is no value of one row.")
        return self._call(node, function)

    # ------------------------------------------------------------ functions

    def _call(self, node: exp.Expr, function: ScalarFunction) -> Expr:
        parts = [part for name in function.parts for part in _listed(node.args.get(name))]
        if (folded := self._dates(node, function.op, parts)) is not None:
            return folded
        if not function.takes(len(parts)):
            raise self._refused(WrongType, node, f"it is {function.about}.", "Another number of arguments came.")
        kinds = function.kinds * len(parts) if len(function.kinds) == 1 else function.kinds
        args: list[Expr] = []
        params: list[Value] = []
        for part, kind in zip(parts, kinds, strict=False):
            if kind == "U":
                params.append(self._time_unit(part, function.op))
            elif kind.isupper():
                params.append(self._constant(part, kind))
            else:
                args.append(self._of_kind(part, kind))
        if "*" in kinds:
            args = self.alike(node, args, skip=kinds.index("*"))
        return self._finish(node, function, args, params)

    def _finish(self, node: exp.Expr, function: ScalarFunction, args: list[Expr], params: list[Value]) -> Expr:
        op, _, part = function.op.partition(":")
        made = _MADE_OF.get(op)
        if made is not None:
            return made(args)
        if op == "date_part":
            return build("extract", args, self._part(node, str(params[0])))
        if op == "round":
            digits = int(str(params[0])) if params else 0
            if abs(digits) > 15:
                raise self._refused(WrongType, node, "ROUND takes between -15 and 15 digits.")
            return build("round", args, digits)
        if op == "int_div" and not all(arg.facts.number.is_integer for arg in args):
            raise self._refused(
                WrongType, node, "// divides whole numbers.", "Of others, engines disagree.", "Write FLOOR(x / y)."
            )
        if op == "substring":
            if len(params) == 2 and int(str(params[1])) < 0:
                raise self._refused(WrongType, node, "the length of a SUBSTRING is not below 0.")
            return build(op, args, tuple(params) if len(params) == 2 else (params[0], None))
        param = tuple(params) if len(params) > 1 else params[0] if params else None
        value = build(op, args, part or param)
        check_made(value)
        return value

    def _of_kind(self, node: exp.Expr, kind: str) -> Expr:
        value = self.build(node)
        if kind == "d" and value.op == "literal" and isinstance(value.param, str):
            value = self._as_date(node, value.param)
        fits = {
            "n": value.kind.is_number,
            "t": value.kind is Kind.TEXT,
            "d": value.kind in (Kind.DATE, Kind.TIMESTAMP),
            "b": value.kind is Kind.BOOLEAN,
            "*": True,
        }[kind]
        if not fits and not (value.op == "literal" and value.param is None):
            raise self._refused(WrongType, node, f"{_WORDS[kind]} is needed here and this is {_a(value.kind)}.")
        return value

    def alike(self, node: exp.Expr, args: list[Expr], *, skip: int) -> list[Expr]:
        """Bring the arguments to one kind: texts beside dates are read as dates, numbers compare with numbers."""
        fixed, free = args[:skip], args[skip:]
        kinds = {arg.kind for arg in free if not _null(arg)}
        if kinds & {Kind.DATE, Kind.TIMESTAMP} and Kind.TEXT in kinds:
            free = [self._as_date(node, arg.param) if _is_text(arg) else arg for arg in free]
            if Kind.TIMESTAMP not in kinds and any(isinstance(arg.param, datetime) for arg in free):
                raise self._refused(
                    WrongType,
                    node,
                    "a text with a time of day stands beside a date.",
                    "SQL would leave the time out without a word.",
                    "Write the day alone, or TIMESTAMP '2025-12-31 18:30:00'.",
                )
            kinds = {arg.kind for arg in free if not _null(arg)}
        if kinds == {Kind.DATE, Kind.TIMESTAMP}:
            free = [arg if arg.kind is Kind.TIMESTAMP or _null(arg) else _to_timestamp(arg) for arg in free]
            kinds = {Kind.TIMESTAMP}
        if len(kinds) > 1 and not all(kind.is_number for kind in kinds):
            names = " and ".join(sorted(_a(kind) for kind in kinds))
            raise self._refused(WrongType, node, f"{names} cannot be compared.")
        if Kind.OPAQUE in kinds:
            raise self._refused(WrongType, node, "a column of this type cannot be compared.")
        return [*fixed, *free]

    # ------------------------------------------------------------ constants and dates

    def _constant(self, node: exp.Expr, kind: str) -> Value:
        value = self.build(node)
        if value.op == "neg" and value.args[0].op == "literal":
            value = literal(-value.args[0].param)
        if value.op != "literal" or value.param is None:
            raise self._refused(
                NotAllowed, node, "a literal is needed here.", "What a row contains may not steer how long it takes."
            )
        if kind == "N" and not (type(value.param) is int and abs(value.param) <= 10_000):
            raise self._refused(WrongType, node, "a whole number up to 10,000 is needed here.")
        if kind == "T":
            if not isinstance(value.param, str):
                raise self._refused(WrongType, node, "a text in quotes is needed here.")
            return self._short(node, value.param, limits.PATTERN)
        return value.param  # type: ignore[no-any-return]

    def _time_unit(self, node: exp.Expr, op: str) -> str:
        name = str(node.this if isinstance(node, exp.Var | exp.Literal) else node).lower()
        if op == "extract":
            return self._part(node, name)
        allowed = TIME_UNITS if op == "date_diff" else TRUNCATIONS
        if name not in allowed:
            raise self._refused(
                NotAllowed, node, f"{name[:20]!r} is no unit of time that can be used here.", fix=_list(allowed)
            )
        return name

    def _part(self, node: exp.Expr, name: str) -> str:
        part = SAME_PART.get(name.lower(), name.lower())
        if part not in TIME_PARTS:
            raise self._refused(
                NotAllowed, node, f"{part[:20]!r} is no part of a date that can be used.", fix=_list(TIME_PARTS)
            )
        return part

    def _dates(self, node: exp.Expr, op: str, parts: Sequence[exp.Expr]) -> Expr | None:
        """DATE '...' + INTERVAL ... is worked out here; on columns it could leave the calendar and fail."""
        if op not in ("add", "sub") or len(parts) != 2:
            return None
        if not isinstance(parts[1], exp.Interval):
            left = self._special(parts[0]) if isinstance(parts[0], exp.Column) else None
            if left is not None and left.kind is Kind.DATE and op == "sub":
                args = self.alike(node, [left, self.build(parts[1])], skip=0)
                if args[0].kind is not Kind.DATE:
                    raise self._refused(
                        WrongType, node, "a date less a timestamp is an interval.", fix="Write DATE_DIFF('day', x, y)."
                    )
                return build("date_diff", [args[1], args[0]], "day")
            return None
        start = self.build(parts[0])
        if start.op != "literal" or not isinstance(start.param, date):
            raise self._refused(
                NotAllowed,
                node,
                "an interval can be added to a literal date alone.",
                "On a column it could leave the calendar, and fail because of one row.",
                "Compare the column with a literal date, or use DATE_DIFF.",
            )
        return literal(self._moved(start.param, parts[1], -1 if op == "sub" else 1))

    def _moved(self, start: date, interval: exp.Interval, sign: int) -> date:
        unit = str(interval.args.get("unit") or "").upper().removesuffix("S")
        try:
            amount = sign * int(str(interval.this.this))
            if unit in _MONTHS:
                return shifted(start, amount * _MONTHS[unit])
            if unit in _DAYS:
                return start + timedelta(days=amount * _DAYS[unit])
            if isinstance(start, datetime) and unit in ("HOUR", "MINUTE", "SECOND"):
                return start + timedelta(**{f"{unit.lower()}s": amount})
        except (ValueError, OverflowError, AttributeError):
            pass
        raise self._refused(
            NotAllowed, interval, "this interval cannot be read.", fix="Write INTERVAL 3 MONTH, for example."
        )

    def _as_date(self, node: exp.Expr, text: str) -> Expr:
        with suppress(ValueError):
            if _DAY_TEXT.fullmatch(text):
                return literal(date.fromisoformat(text))
            if _TIME_TEXT.fullmatch(text):
                return literal(datetime.fromisoformat(text))
        raise self._refused(
            WrongType,
            node,
            "this text is no date.",
            "Other forms, and offsets from UTC, mean different things in different engines.",
            "Write '2025-12-31' or '2025-12-31 18:30:00'.",
        )

    # ------------------------------------------------------------ nodes of their own shape

    def _literal(self, node: exp.Literal) -> Expr:
        if node.is_string:
            return literal(self._short(node, str(node.this), limits.LITERAL))
        number = number_of(str(node.this))
        if number is None:
            raise self._refused(
                WrongType, node, f"a number has at most {limits.DIGITS} digits and lies between 10^-30 and 10^30 here."
            )
        plain = int(number) if number.denominator == 1 else number
        return literal(plain, exponent=_has_exponent(node))  # type: ignore[arg-type]

    def _short(self, node: exp.Expr, text: str, most: int) -> str:
        if len(text) > most:
            raise self._refused(OverLimit, node, f"a text here has at most {most:,} characters.", _WORK, "Shorten it.")
        return text

    def _boolean(self, node: exp.Boolean) -> Expr:
        return literal(bool(node.this))

    def _null_literal(self, node: exp.Null) -> Expr:
        return literal(None)

    def _paren(self, node: exp.Paren) -> Expr:
        return self.build(node.this)

    def _is(self, node: exp.Is) -> Expr:
        if isinstance(node.expression, exp.Null):
            return build("isnull", [self.build(node.this)])
        if isinstance(node.expression, exp.Boolean):
            return build("same", [self._of_kind(node.this, "b"), literal(bool(node.expression.this))])
        raise self._refused(NotAllowed, node, "IS is followed by NULL, TRUE or FALSE.")

    def _in(self, node: exp.In) -> Expr:
        if len(node.expressions) > limits.LISTED:
            what = f"IN has at most {limits.LISTED:,} values."
            raise self._refused(OverLimit, node, what, _WORK, "Ask for a range, or split the list.")
        options = [self.build(part) for part in node.expressions]
        if not options or any(option.op != "literal" for option in options):
            raise self._refused(
                NotAllowed, node, "IN needs a list of literals or a subquery on the same person's rows."
            )
        args = self.alike(node, [self.build(node.this), *options], skip=0)
        return build("in", args)

    def _between(self, node: exp.Between) -> Expr:
        ends = [node.this, node.args["low"], node.args["high"]]
        value, low, high = self.alike(node, [self.build(part) for part in ends], skip=0)
        return build("and", [build("ge", [value, low]), build("le", [value, high])])

    def _case(self, node: exp.Case) -> Expr:
        parts: list[Expr] = []
        for branch in node.args.get("ifs") or []:
            if branch.args.get("false") is not None:
                raise self._refused(NotAllowed, branch, "a branch of CASE has one value.")
            if node.this:
                condition = build("eq", self.alike(node, [self.build(node.this), self.build(branch.this)], skip=0))
            else:
                condition = self._of_kind(branch.this, "b")
            parts += [condition, self.build(branch.args["true"])]
        default = node.args.get("default")
        parts.append(self.build(default) if default is not None else literal(None))
        values = self.alike(node, [*parts[1:-1:2], parts[-1]], skip=0)
        conditions = parts[0:-1:2]
        paired = [item for pair in zip(conditions, values[:-1], strict=True) for item in pair]
        return build("case", [*paired, values[-1]])

    def _cast(self, node: exp.Cast) -> Expr:
        target = self._target(node)
        value = self.build(node.this)
        if value.op == "literal" and isinstance(value.param, str) and target.kind in (Kind.DATE, Kind.TIMESTAMP):
            given = self._as_date(node, value.param)
            return _to_timestamp(given) if target.kind is Kind.TIMESTAMP else _to_date(given)
        if not _null(value) and not can_cast(value, target):
            raise self._refused(
                WrongType,
                node,
                f"{_a(value.kind)} cannot be cast to {target.words()} here.",
                "How it would read or round is not the same everywhere.",
                "Of a number, write CAST(ROUND(x) AS BIGINT) first.",
            )
        return build("cast", [value], target)

    def _target(self, node: exp.Cast) -> CastTarget:
        """The type that is cast to, with the digits of a decimal."""
        name = node.to.this.value if hasattr(node.to.this, "value") else str(node.to.this)
        target, given = TARGETS.get(name), [number_in(part.this) for part in node.to.expressions]
        if target is None or (given and not target.width):
            raise self._refused(NotAllowed, node, "values cannot be cast to this type.", fix=_list(sorted(TARGETS)))
        if not given:
            return target
        width, digits = (*given, 0)[:2]
        if width is None or digits is None or not 1 <= width <= 38 or not digits <= min(width, MOST_DIGITS):
            raise self._refused(
                WrongType, node, f"a DECIMAL has up to 38 digits, of which up to {MOST_DIGITS} after the point."
            )
        return CastTarget(Kind.NUMBER, width, digits)

    def _refused(
        self,
        error: type[QueryError],
        node: exp.Expr,
        what: str,
        why: str = "The kinds of values must be clear before data is read.",
        fix: str = "docs/sql-coverage.md lists what can be written.",
    ) -> QueryError:
        return self._text.refusal(error, node, what, why=why, fix=fix)


_MADE_OF: dict[str, Callable[[list[Expr]], Expr]] = {  # operations that are made of others
    "clip": lambda args: build(
        "case", [build("isnull", args[:1]), literal(None), build("least", [build("greatest", args[:2]), args[2]])]
    ),
    "if": lambda args: build("case", args if len(args) == 3 else [*args, literal(None)]),
}
_HANDLERS: dict[type, Callable[[Scalars, exp.Expr], Expr]] = {
    exp.Literal: Scalars._literal,  # type: ignore[dict-item]
    exp.Boolean: Scalars._boolean,  # type: ignore[dict-item]
    exp.Null: Scalars._null_literal,  # type: ignore[dict-item]
    exp.Paren: Scalars._paren,  # type: ignore[dict-item]
    exp.Is: Scalars._is,  # type: ignore[dict-item]
    exp.In: Scalars._in,  # type: ignore[dict-item]
    exp.Between: Scalars._between,  # type: ignore[dict-item]
    exp.Case: Scalars._case,  # type: ignore[dict-item]
    exp.Cast: Scalars._cast,  # type: ignore[dict-item]
    exp.TryCast: Scalars._cast,  # type: ignore[dict-item]
}


def number_of(text: str) -> Fraction | None:
    """The number that a literal shows, if it has few digits and is neither huge nor tiny."""
    if len(text) > limits.DIGITS or not text.isascii():
        return None
    try:
        decimal = Decimal(text)
    except InvalidOperation:
        return None
    if not decimal.is_finite() or not decimal:
        return Fraction(0) if decimal.is_finite() else None
    if abs(decimal.adjusted()) > _DIGITS:  # 1e99999999 is not worked out
        return None
    number = Fraction(decimal)
    return number if Fraction(1, limits.LARGEST) <= abs(number) <= limits.LARGEST else None


def _listed(part: object) -> list[exp.Expr]:
    if part is None:
        return []
    return list(part) if isinstance(part, list) else [part]  # type: ignore[list-item]


def _null(value: Expr) -> bool:
    return value.op == "literal" and value.param is None


def _has_exponent(node: exp.Expr) -> bool:
    return "e" in str(node.this).lower()


def _is_text(value: Expr) -> bool:
    return value.op == "literal" and isinstance(value.param, str)


def _to_timestamp(value: Expr) -> Expr:
    if value.op == "literal" and isinstance(value.param, date):
        if isinstance(value.param, datetime):
            return value
        return literal(datetime(value.param.year, value.param.month, value.param.day))
    return build("cast", [value], CastTarget(Kind.TIMESTAMP))


def _to_date(value: Expr) -> Expr:
    return literal(value.param.date()) if isinstance(value.param, datetime) else value


def number_in(node: exp.Expr | None) -> int | None:
    """The whole number that a literal is, if it is one of at most 15 digits."""
    text = str(node.this) if isinstance(node, exp.Literal) and not node.is_string else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 15 else None


def _a(kind: Kind) -> str:
    return f"{'an' if kind in (Kind.INTEGER, Kind.OPAQUE) else 'a'} {kind.value}"


def _list(names: Sequence[str]) -> str:
    return f"Use one of: {', '.join(names)}."


def is_condition(value: Expr) -> bool:
    """Whether it can stand in WHERE."""
    return value.kind is Kind.BOOLEAN or _null(value) or kind_of(value.param) is Kind.BOOLEAN
