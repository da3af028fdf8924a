"""Scalar parts of the checked tree -> typed expressions, with what is known of their values.

What a part refers to outside itself (a column, an EXISTS, a key, an aggregate) stands in a table, by the node's id: the
passes that know the surroundings fill it, and here it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import TypeAlias, TypeGuard

from sqlglot import exp

from hubbub.relations import (
    MOST_DIGITS,
    TARGETS,
    BadPattern,
    CastTarget,
    Expr,
    TextPattern,
    bucket_number,
    build,
    can_cast,
    check_made,
    limits,
    literal,
    read_pattern,
    time_signs,
)
from hubbub.schema import Kind, Value
from hubbub.sql.compiler.syntax.functions import (
    DIFFERENCES,
    SAME_PART,
    TIME_PARTS,
    TRUNCATIONS,
    ScalarFunction,
    find_function,
)
from hubbub.sql.compiler.syntax.literals import (
    WORK_IS_BOUNDED,
    check_length,
    has_exponent,
    refuse_kind,
    type_date,
    type_literal,
    whole_number,
)
from hubbub.sql.compiler.syntax.scopes import NoColumn, refuse_column
from hubbub.sql.compiler.syntax.source_text import COVERAGE, UNCLEAR, QueryText
from hubbub.sql.compiler.syntax.type_moments import type_difference, type_moment
from hubbub.terms import NotAllowed, OverLimit, QueryError, WrongType

_WORDS = {"n": "a number", "t": "a text", "d": "a date or timestamp", "b": "a condition"}


@dataclass(frozen=True, slots=True)
class Misplaced:
    """A part that has no value where it stands, and why."""

    error: type[QueryError]
    what: str
    why: str = UNCLEAR
    fix: str = COVERAGE


References: TypeAlias = Mapping[int, Expr | NoColumn | Misplaced]


def type_scalar(node: exp.Expr, references: References, text: QueryText) -> Expr:
    """The typed expression of a node."""
    return _Scalars(text, references).build(node)


def type_condition(node: exp.Expr | None, references: References, text: QueryText) -> Expr | None:
    """The condition of a WHERE, HAVING or FILTER, if there is one."""
    if node is None:
        return None
    value = type_scalar(node.this if isinstance(node, exp.Where | exp.Having) else node, references, text)
    if value.kind is not Kind.BOOLEAN:
        raise text.refusal(WrongType, node, "a condition is needed here.")
    return value


def bring_alike(node: exp.Expr, args: Sequence[Expr], text: QueryText) -> list[Expr]:
    """The values brought to one kind: texts beside dates are read as dates, numbers compare with numbers."""
    alike = list(args)
    kinds = {arg.kind for arg in alike if not _is_null(arg)}
    if kinds & {Kind.DATE, Kind.TIMESTAMP} and Kind.TEXT in kinds:
        alike = [type_date(node, arg.param, text) if _is_text(arg) else arg for arg in alike]
        if Kind.TIMESTAMP not in kinds and any(isinstance(arg.param, datetime) for arg in alike):
            raise refuse_kind(
                text,
                WrongType,
                node,
                "a text with a time of day stands beside a date.",
                "SQL would leave the time out without a word.",
                "Write the day alone, or TIMESTAMP '2025-12-31 18:30:00'.",
            )
        kinds = {arg.kind for arg in alike if not _is_null(arg)}
    if kinds == {Kind.DATE, Kind.TIMESTAMP}:
        alike = [arg if arg.kind is Kind.TIMESTAMP or _is_null(arg) else _to_timestamp(arg) for arg in alike]
        kinds = {Kind.TIMESTAMP}
    if len(kinds) > 1 and not all(kind.is_number for kind in kinds):
        names = " and ".join(sorted(_with_article(kind) for kind in kinds))
        if Kind.TEXT in kinds and Kind.OPAQUE not in kinds:
            raise text.refusal(WrongType, node, f"{names} cannot be compared.", *_TEXT_BESIDE)
        raise refuse_kind(text, WrongType, node, f"{names} cannot be compared.")
    if Kind.OPAQUE in kinds:
        raise refuse_kind(text, WrongType, node, "a column of this type cannot be compared.")
    return alike


_TEXT_BESIDE = (
    "The kinds of values must be clear before data is read.",
    "Write texts in quotes ('17') and numbers without; a column of numbers in a CSV file is text until it is declared.",
)
_SUBQUERY = (
    "a subquery cannot stand beside what is asked here.",
    "It would be another question, whose answer has noise of its own.",
    "Ask both, and put them together afterwards: WITH a AS (SELECT ward, AVG(cost) AS m FROM visits GROUP BY ward), "
    "b AS (SELECT AVG(cost) AS o FROM visits) SELECT ward, m - o AS more FROM a, b.",
)


@dataclass(frozen=True, slots=True)
class _Scalars:
    """Types the nodes of one expression."""

    text: QueryText
    references: References

    def build(self, node: exp.Expr) -> Expr:
        """The expression of a node."""
        reference = self.references.get(id(node))
        if isinstance(reference, Expr):
            return reference
        if isinstance(reference, NoColumn):
            raise refuse_column(node, reference, self.text)
        if isinstance(reference, Misplaced):
            raise self.text.refusal(reference.error, node, reference.what, reference.why, reference.fix)
        handler = _HANDLERS.get(type(node))
        if handler is not None:
            return handler(self, node)
        if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) and not node.this.is_string:
            inner = self._literal(node.this)
            return literal(-inner.param, exponent=has_exponent(node.this))
        function = find_function(node)
        if function is None and isinstance(node, exp.Query):
            raise self.text.refusal(NotAllowed, node, *_SUBQUERY)
        if function is None:
            raise refuse_kind(self.text, NotAllowed, node, "this cannot stand here.", "It is no value of one row.")
        parts = function.arguments(node)
        if not function.takes(len(parts)):
            raise refuse_kind(
                self.text, WrongType, node, f"it is {function.about}.", "Another number of arguments came."
            )
        moment = type_moment(node, self.build, self.text)
        value = self._call(node, function, parts) if moment is None else moment
        return build("not", [value]) if node.args.get("negate") else value

    # ------------------------------------------------------------ functions

    def _call(self, node: exp.Expr, function: ScalarFunction, parts: Sequence[exp.Expr]) -> Expr:
        if function.op in ("add", "sub"):
            return self._sum(node, function.op, parts)
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
            fixed = kinds.index("*")
            args = [*args[:fixed], *bring_alike(node, args[fixed:], self.text)]
        composed = _MADE_OF.get(function.op)
        return self._finish(node, function, args, params) if composed is None else composed(args)

    def _sum(self, node: exp.Expr, op: str, parts: Sequence[exp.Expr]) -> Expr:
        """x + y and x - y: of numbers, or of moments."""
        values = [self.build(part) for part in parts]
        moment = type_difference(node, op, values, self.text)
        if moment is not None:
            return moment
        return build(op, [self._fits(part, value, "n") for part, value in zip(parts, values, strict=True)])

    def _finish(self, node: exp.Expr, function: ScalarFunction, args: list[Expr], params: list[Value]) -> Expr:
        op, _, part = function.op.partition(":")
        composed = _MADE_OF.get(op)
        if composed is not None:
            return composed(args)
        read = _READ_BY.get(op)
        if read is not None:
            return read(self, node, args, params, part)
        if op == "int_div" and not all(arg.facts.number.is_integer for arg in args):
            raise refuse_kind(
                self.text,
                WrongType,
                node,
                "// divides whole numbers.",
                "Of others, engines disagree.",
                "Write FLOOR(x / y).",
            )
        param = tuple(params) if len(params) > 1 else params[0] if params else None
        value = build(op, args, part or param)
        check_made(value)
        return value

    def _date_part(self, node: exp.Expr, args: list[Expr], params: list[Value], part: str) -> Expr:
        return build("extract", args, self._part(node, str(params[0])))

    def _round(self, node: exp.Expr, args: list[Expr], params: list[Value], part: str) -> Expr:
        digits = int(str(params[0])) if params else 0
        if abs(digits) > 15:
            raise refuse_kind(self.text, WrongType, node, "ROUND takes between -15 and 15 digits.")
        return build("round", args, digits)

    def _substring(self, node: exp.Expr, args: list[Expr], params: list[Value], part: str) -> Expr:
        if len(params) == 2 and int(str(params[1])) < 0:
            raise refuse_kind(self.text, WrongType, node, "the length of a SUBSTRING is not below 0.")
        return build("substring", args, tuple(params) if len(params) == 2 else (params[0], None))

    def _bucket(self, node: exp.Expr, args: list[Expr], params: list[Value], part: str) -> Expr:
        lower, upper, buckets = (Fraction(each) if _is_numeral(each) else None for each in params)
        if lower is None or upper is None or lower >= upper or not buckets or buckets < 1:
            raise refuse_kind(
                self.text,
                WrongType,
                node,
                "WIDTH_BUCKET takes a lower number, an upper one, and how many buckets lie between them.",
            )
        return bucket_number(args[0], literal(params[0]), literal(params[1]), literal(params[2]))

    def _matches(self, node: exp.Expr, args: list[Expr], params: list[Value], part: str) -> Expr:
        """Whether a regular expression matches: anywhere, or (a part is named) the whole text."""
        written = str(params[0])
        pattern = self._pattern(node, f"^(?:{written})$" if part else written)
        return build("matches", args, (pattern.text, pattern.size))

    def _match_part(self, node: exp.Expr, args: list[Expr], params: list[Value], part: str) -> Expr:
        """What a regular expression, or a group of it, matches first."""
        pattern = self._pattern(node, str(params[0]))
        group = int(str(params[1])) if len(params) > 1 else 0
        if not 0 <= group <= min(pattern.groups, 9):
            raise refuse_kind(self.text, WrongType, node, f"the pattern has {pattern.groups} groups.")
        return build("match_part", args, (pattern.text, group, pattern.size))

    def _pattern(self, node: exp.Expr, written: str) -> TextPattern:
        try:
            return read_pattern(written)
        except BadPattern as error:
            raise refuse_kind(
                self.text,
                NotAllowed,
                node,
                f"this regular expression cannot be used: {error}.",
                "Only what takes one step for each character is let through, and what all engines read alike.",
                "Use signs, [a-z], \\d \\w \\s . ^ $ | ( ) * + ? {2,5}, or LIKE.",
            ) from None

    def _strftime(self, node: exp.Expr, args: list[Expr], params: list[Value], part: str) -> Expr:
        form = part or str(params[0])
        if time_signs(form) is None:
            raise refuse_kind(
                self.text,
                NotAllowed,
                node,
                "this form of a date cannot be used.",
                "Signs mean different things in different engines.",
                "Write %Y %y %m %d %j %a %A %b %B %H %M %S, with letters, digits and - / : . , between them.",
            )
        return build("strftime", args, form)

    def _of_kind(self, node: exp.Expr, kind: str) -> Expr:
        return self._fits(node, self.build(node), kind)

    def _fits(self, node: exp.Expr, value: Expr, kind: str) -> Expr:
        """The value, if it is of the kind."""
        if kind == "d" and value.op == "literal" and isinstance(value.param, str):
            value = type_date(node, value.param, self.text)
        fits = {
            "n": value.kind.is_number,
            "t": value.kind is Kind.TEXT,
            "d": value.kind in (Kind.DATE, Kind.TIMESTAMP),
            "b": value.kind is Kind.BOOLEAN,
            "*": True,
        }[kind]
        if not fits and not (value.op == "literal" and value.param is None):
            raise refuse_kind(
                self.text, WrongType, node, f"{_WORDS[kind]} is needed here and this is {_with_article(value.kind)}."
            )
        return value

    # ------------------------------------------------------------ constants

    def _constant(self, node: exp.Expr, kind: str) -> Value:
        value = self.build(node)
        if value.op == "neg" and value.args[0].op == "literal":
            value = literal(-value.args[0].param)
        if value.op != "literal" or value.param is None:
            raise refuse_kind(
                self.text,
                NotAllowed,
                node,
                "a literal is needed here.",
                "What a row contains may not steer how long it takes.",
            )
        if kind == "N" and not (type(value.param) is int and abs(value.param) <= 10_000):
            raise refuse_kind(self.text, WrongType, node, "a whole number up to 10,000 is needed here.")
        if kind == "T":
            if not isinstance(value.param, str):
                raise refuse_kind(self.text, WrongType, node, "a text in quotes is needed here.")
            return check_length(node, value.param, limits.PATTERN, self.text)
        return value.param  # type: ignore[no-any-return]

    def _time_unit(self, node: exp.Expr, op: str) -> str:
        name = str(node.this if isinstance(node, exp.Var | exp.Literal) else node).lower()
        if op == "extract":
            return self._part(node, name)
        allowed = DIFFERENCES if op == "date_diff" else TRUNCATIONS
        name = name.removesuffix("s") if name.removesuffix("s") in allowed else name
        if name not in allowed:
            raise refuse_kind(
                self.text,
                NotAllowed,
                node,
                f"{name[:20]!r} is no unit of time that can be used here.",
                fix=_use_one_of(allowed),
            )
        return name

    def _part(self, node: exp.Expr, name: str) -> str:
        part = SAME_PART.get(name.lower(), name.lower())
        if part not in TIME_PARTS:
            raise refuse_kind(
                self.text,
                NotAllowed,
                node,
                f"{part[:20]!r} is no part of a date that can be used.",
                fix=_use_one_of(TIME_PARTS),
            )
        return part

    # ------------------------------------------------------------ nodes of their own shape

    def _literal(self, node: exp.Literal) -> Expr:
        return type_literal(node, self.text)

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
        raise refuse_kind(self.text, NotAllowed, node, "IS is followed by NULL, TRUE or FALSE.")

    def _in(self, node: exp.In) -> Expr:
        if len(node.expressions) > limits.LISTED:
            what = f"IN has at most {limits.LISTED:,} values."
            raise refuse_kind(self.text, OverLimit, node, what, WORK_IS_BOUNDED, "Ask for a range, or split the list.")
        options = [self.build(part) for part in node.expressions]
        if not options or any(option.op != "literal" for option in options):
            raise refuse_kind(
                self.text, NotAllowed, node, "IN needs a list of literals or a subquery on the same person's rows."
            )
        args = bring_alike(node, [self.build(node.this), *options], self.text)
        return build("in", args)

    def _between(self, node: exp.Between) -> Expr:
        ends = [node.this, node.args["low"], node.args["high"]]
        value, low, high = bring_alike(node, [self.build(part) for part in ends], self.text)
        return build("and", [build("ge", [value, low]), build("le", [value, high])])

    def _case(self, node: exp.Case) -> Expr:
        parts: list[Expr] = []
        for branch in node.args.get("ifs") or []:
            if branch.args.get("false") is not None:
                raise refuse_kind(self.text, NotAllowed, branch, "a branch of CASE has one value.")
            if node.this:
                condition = build("eq", bring_alike(node, [self.build(node.this), self.build(branch.this)], self.text))
            else:
                condition = self._of_kind(branch.this, "b")
            parts += [condition, self.build(branch.args["true"])]
        default = node.args.get("default")
        parts.append(self.build(default) if default is not None else literal(None))
        values = bring_alike(node, [*parts[1:-1:2], parts[-1]], self.text)
        conditions = parts[0:-1:2]
        paired = [item for pair in zip(conditions, values[:-1], strict=True) for item in pair]
        return build("case", [*paired, values[-1]])

    def _cast(self, node: exp.Cast) -> Expr:
        target = self._target(node)
        value = self.build(node.this)
        if value.op == "literal" and isinstance(value.param, str) and target.kind in (Kind.DATE, Kind.TIMESTAMP):
            given = type_date(node, value.param, self.text)
            return _to_timestamp(given) if target.kind is Kind.TIMESTAMP else _to_date(given)
        if not _is_null(value) and not can_cast(value, target):
            raise refuse_kind(
                self.text,
                WrongType,
                node,
                f"{_with_article(value.kind)} cannot be cast to {target.words()} here.",
                "How it would read or round is not the same everywhere.",
                "Of a number, write CAST(ROUND(x) AS BIGINT) first.",
            )
        return build("cast", [value], target)

    def _target(self, node: exp.Cast) -> CastTarget:
        """The type that is cast to, with the digits of a decimal."""
        name = node.to.this.value if hasattr(node.to.this, "value") else str(node.to.this)
        target, given = TARGETS.get(name), [whole_number(part.this) for part in node.to.expressions]
        if target is None or (given and not target.width):
            raise refuse_kind(
                self.text, NotAllowed, node, "values cannot be cast to this type.", fix=_use_one_of(sorted(TARGETS))
            )
        if not given:
            return target
        width, digits = (*given, 0)[:2]
        if width is None or digits is None or not 1 <= width <= 38 or not digits <= min(width, MOST_DIGITS):
            raise refuse_kind(
                self.text,
                WrongType,
                node,
                f"a DECIMAL has up to 38 digits, of which up to {MOST_DIGITS} after the point.",
            )
        return CastTarget(Kind.NUMBER, width, digits)


_MADE_OF: dict[str, Callable[[list[Expr]], Expr]] = {  # operations that are made of others
    "clip": lambda args: build(
        "case", [build("isnull", args[:1]), literal(None), build("least", [build("greatest", args[:2]), args[2]])]
    ),
    "log": lambda args: (
        build("log10", args)
        if len(args) == 1
        else build("log10", args[1:])
        if args[0].param == 10
        else build("div", [build("log10", args[1:]), build("log10", args[:1])])
    ),
    "if": lambda args: build("case", args if len(args) == 3 else [*args, literal(None)]),
}
_READ_BY: dict[str, Callable[[_Scalars, exp.Expr, list[Expr], list[Value], str], Expr]] = {
    "date_part": _Scalars._date_part,
    "match_part": _Scalars._match_part,
    "matches": _Scalars._matches,
    "round": _Scalars._round,
    "strftime": _Scalars._strftime,
    "substring": _Scalars._substring,
    "width_bucket": _Scalars._bucket,
}
_HANDLERS: dict[type, Callable[[_Scalars, exp.Expr], Expr]] = {
    exp.Literal: _Scalars._literal,  # type: ignore[dict-item]
    exp.Boolean: _Scalars._boolean,  # type: ignore[dict-item]
    exp.Null: _Scalars._null_literal,  # type: ignore[dict-item]
    exp.Paren: _Scalars._paren,  # type: ignore[dict-item]
    exp.Is: _Scalars._is,  # type: ignore[dict-item]
    exp.In: _Scalars._in,  # type: ignore[dict-item]
    exp.Between: _Scalars._between,  # type: ignore[dict-item]
    exp.Case: _Scalars._case,  # type: ignore[dict-item]
    exp.Cast: _Scalars._cast,  # type: ignore[dict-item]
    exp.TryCast: _Scalars._cast,  # type: ignore[dict-item]
}


def _is_null(value: Expr) -> bool:
    return value.op == "literal" and value.param is None


def _is_numeral(value: Value) -> TypeGuard[int | float | Fraction]:
    return isinstance(value, int | float | Fraction) and not isinstance(value, bool)


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


def _with_article(kind: Kind) -> str:
    return f"{'an' if kind in (Kind.INTEGER, Kind.OPAQUE) else 'a'} {kind.value}"


def _use_one_of(names: Sequence[str]) -> str:
    return f"Use one of: {', '.join(names)}."
