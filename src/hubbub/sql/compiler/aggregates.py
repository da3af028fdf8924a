"""Aggregates: COUNT, SUM, quantiles and the like as expressions, and what may stand beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial

from sqlglot import exp

from hubbub.relations import DOUBLE, INTEGER, Expr, ValueFacts, build, check_made, literal, readable
from hubbub.schema import Kind
from hubbub.sql.compiler.person_links import aggregate_facts
from hubbub.sql.compiler.question import Aggregated, Field
from hubbub.sql.compiler.rewrites.conditional_aggregates import as_filtered
from hubbub.sql.compiler.syntax.functions import AGGREGATES, PAIRED
from hubbub.sql.compiler.syntax.literals import exact_number
from hubbub.sql.compiler.syntax.scopes import NoColumn
from hubbub.sql.compiler.syntax.source_text import QueryText
from hubbub.sql.compiler.syntax.tree_parts import is_aggregate, scalar_parts
from hubbub.sql.compiler.syntax.type_scalars import Misplaced, References, type_condition, type_scalar
from hubbub.terms import NotAllowed, QueryError, WrongType

_SAME_TYPE = ("sum", "min", "max")
_EXACT = ("count", "sum", "avg", "min", "max")  # what a subquery may work out exactly about one person
_GROUPING = (exp.Grouping, exp.GroupingId)
_PLAIN = (exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.Alias)


@dataclass(frozen=True, slots=True)
class GroupedRows:
    """Rows in groups: what expressions refer to in one row, the keys, and the columns that already have a name."""

    references: References
    keys: tuple[Field, ...]
    text: QueryText
    outputs: Mapping[str, Expr] = field(default_factory=dict)  # in HAVING and ORDER BY


def refer_to_answer(node: exp.Expr, grouped: GroupedRows) -> References:
    """What an expression about one row of the answer refers to: keys, aggregates, columns of the answer."""
    keys = [Expr("key", param=index, facts=key.value.facts) for index, key in enumerate(grouped.keys)]
    return _refer_to_groups(node, _Meanings(grouped, keys, _noisy_aggregate, _misplaced_in_answer))


def refer_to_person(node: exp.Expr, grouped: GroupedRows, cap: int | None) -> References:
    """What an expression about one person refers to: keys, and exact aggregates of that person's rows."""
    keys = [key.value for key in grouped.keys]
    return _refer_to_groups(node, _Meanings(grouped, keys, partial(_exact_aggregate, cap=cap), _misplaced_in_person))


# ---------------------------------------------------------------- what stands beside aggregates


@dataclass(frozen=True, slots=True)
class _Meanings:
    """What keys, aggregates and other columns mean where an expression stands."""

    grouped: GroupedRows
    keys: Sequence[Expr]
    aggregate: Callable[[exp.Expr, GroupedRows], Expr]
    misplaced: Callable[[exp.Column], Misplaced]


def _refer_to_groups(node: exp.Expr, meanings: _Meanings) -> References:
    grouped = meanings.grouped
    if is_aggregate(node):
        return {id(node): meanings.aggregate(node, grouped)}
    if isinstance(node, _GROUPING):
        return {id(node): _type_grouping(node, grouped)}
    if not isinstance(node, _PLAIN):
        index = _key_index(node, grouped)
        if index is not None:
            return {id(node): meanings.keys[index]}
        if isinstance(node, exp.Column):
            output = None if node.table else grouped.outputs.get(node.name.lower())
            return {id(node): meanings.misplaced(node) if output is None else output}
    references: dict[int, Expr | NoColumn | Misplaced] = {}
    for part in scalar_parts(node):
        references |= _refer_to_groups(part, meanings)
    return references


def _type_grouping(node: exp.Expr, grouped: GroupedRows) -> Expr:
    """GROUPING(key, ...): for each key a digit, 1 in totals over it; the last key has the last digit."""
    places = [_named_key(part, grouped) for part in node.expressions]
    if not places or None in places:
        raise grouped.text.refusal(
            NotAllowed,
            node,
            "GROUPING takes keys of GROUP BY.",
            "It tells in which rows a key is missing because they are totals over it.",
            "Write the key as GROUP BY has it: GROUPING(ward) with GROUP BY ROLLUP (ward).",
        )
    return Expr("grouping", param=tuple(places), facts=ValueFacts(kind=Kind.INTEGER, number=INTEGER))


def _named_key(node: exp.Expr, grouped: GroupedRows) -> int | None:
    """Which key an argument of GROUPING is, by its name or as an expression."""
    names = [key.name.lower() for key in grouped.keys]
    if isinstance(node, exp.Column) and not node.table and node.name.lower() in names:
        return names.index(node.name.lower())
    return _key_index(node, grouped)


def _key_index(node: exp.Expr, grouped: GroupedRows) -> int | None:
    """Which key an expression is; a name is that of a key before it is that of a column of the answer."""
    if any(is_aggregate(part) or isinstance(part, _GROUPING) for part in node.walk()):
        return None
    try:
        value = type_scalar(node, grouped.references, grouped.text)
    except QueryError:
        if _names_output(node, grouped.outputs):
            return None
        raise
    return next((index for index, key in enumerate(grouped.keys) if key.value == value), None)


def _names_output(node: exp.Expr, outputs: Mapping[str, Expr]) -> bool:
    """Whether a column of the answer is named somewhere inside."""
    columns = [part for part in node.walk() if isinstance(part, exp.Column) and not part.table]
    return any(part.name.lower() in outputs for part in columns)


def _misplaced_in_answer(node: exp.Column) -> Misplaced:
    return Misplaced(
        NotAllowed,
        f"{node.name!r} is neither aggregated nor a key.",
        "Its value would be that of a single row.",
        f"Add it to GROUP BY, or use COUNT, SUM or AVG of {node.name}.",
    )


def _misplaced_in_person(node: exp.Column) -> Misplaced:
    return Misplaced(NotAllowed, f"{node.name!r} is neither aggregated nor a key.")


# ---------------------------------------------------------------- aggregates


def _noisy_aggregate(node: exp.Expr, grouped: GroupedRows) -> Expr:
    return as_filtered(type_aggregate(node, grouped.references, grouped.text))


def _exact_aggregate(node: exp.Expr, grouped: GroupedRows, *, cap: int | None) -> Expr:
    aggregate = type_aggregate(node, grouped.references, grouped.text, exact=True)
    if aggregate.param.function not in _EXACT:
        raise grouped.text.refusal(
            NotAllowed, node, "per person, COUNT, SUM, AVG, MIN, MAX, BOOL_OR and BOOL_AND can be worked out."
        )
    if _is_extreme(aggregate.param.function, aggregate.args[:1]):
        return build("eq", [_as_number(aggregate), literal(1)])
    return replace(aggregate, facts=aggregate_facts(aggregate, cap))


def _as_number(aggregate: Expr) -> Expr:
    """The largest or smallest of conditions, of which one is 1 if it holds, 0 if not, and missing if that is open."""
    holds, *rest = aggregate.args
    if holds.op == "cast" and holds.args[0].kind is Kind.BOOLEAN:  # as a parser prints BOOL_OR(holds)
        holds = holds.args[0]
    value = build("case", [holds, literal(1), build("not", [holds]), literal(0), literal(None)])
    number = replace(aggregate, args=(value, *rest), facts=_aggregate_facts(aggregate.param.function, [value]))
    return replace(number, facts=aggregate_facts(number, None))


def _is_extreme(function: str, args: Sequence[Expr]) -> bool:
    """Whether it is whether any condition holds, or whether all do: MAX or MIN of them."""
    return function in ("min", "max") and bool(args) and args[0].kind is Kind.BOOLEAN


def type_aggregate(node: exp.Expr, references: References, text: QueryText, *, exact: bool = False) -> Expr:
    """An aggregate of rows, with its FILTER; ``exact`` if it is of one person's rows."""
    condition = None
    if isinstance(node, exp.Filter):
        condition = type_condition(node.expression, references, text)
        node = node.this
    if not isinstance(node, (*AGGREGATES, exp.WithinGroup)):
        raise text.refusal(NotAllowed, node, "FILTER goes with an aggregate.", "It says which rows are added up.")
    if AGGREGATES.get(type(node)) in PAIRED:
        return _pair_aggregate(node, condition, references, text)
    spec, argument = _read_function(node, text)
    args = [] if argument is None else [_type_argument(argument, references, text)]
    if args and spec.function == "sum" and args[0].kind is Kind.BOOLEAN:
        args = [build("case", [args[0], literal(1), literal(0)])]  # a sum of no rows is told as 0, too
    if args:
        _check_argument(node, spec.function, args[0], text, exact=exact)
    facts = _aggregate_facts(spec.function, args)
    if condition is None:
        return Expr("aggregate", tuple(args), spec, facts)
    return Expr("aggregate_if", (*args, condition), spec, facts)


def _pair_aggregate(node: exp.Expr, condition: Expr | None, references: References, text: QueryText) -> Expr:
    """CORR(y, x) and the like, of the rows that have both."""
    spec = Aggregated(AGGREGATES[type(node)])
    args = [type_scalar(part, references, text) for part in (node.this, node.args["expression"])]
    for argument in args:
        _check_argument(node, spec.function, argument, text, exact=False)
    given = [] if condition is None else [condition]
    facts = ValueFacts(kind=Kind.NUMBER)
    if spec.function == "regr_count":
        facts = ValueFacts(kind=Kind.INTEGER, number=INTEGER)
    return Expr("aggregate_if" if given else "aggregate", (*args, *given), spec, facts)


def _type_argument(node: exp.Expr, references: References, text: QueryText) -> Expr:
    """What an aggregate is of: a value, or of DISTINCT several, as one text that tells them apart."""
    if not isinstance(node, exp.Distinct):
        return type_scalar(node, references, text)
    first = node.expressions[0].unnest()
    is_tuple = isinstance(first, exp.Tuple)  # one with a missing value is one as well, as in DuckDB
    parts = [type_scalar(part, references, text) for part in (first.expressions if is_tuple else node.expressions)]
    several = build("spelled", parts)
    check_made(several)
    if is_tuple:
        return several
    there = build("and", [build("not_null", [part]) for part in parts])
    return build("case", [there, several, literal(None)])


def _read_function(node: exp.Expr, text: QueryText) -> tuple[Aggregated, exp.Expr | None]:
    """What an aggregate does, and what of; None for all rows."""
    if isinstance(node, exp.WithinGroup):
        _check_within(node, text)
        ordered = node.expression.expressions[0]
        level = _quantile_level(node.this.this, bool(ordered.args.get("desc")), text)
        function, argument, quantile = "quantile", ordered.this, level
    else:
        function, argument, quantile = AGGREGATES[type(node)], node.this, None
        if function == "quantile":
            level_node = node.args.get("quantile") or node.args.get("expression")
            is_median = isinstance(node, exp.Median)
            quantile = Fraction(1, 2) if is_median else _quantile_level(level_node, False, text)
    distinct = isinstance(argument, exp.Distinct)
    if distinct:
        is_tuple = isinstance(argument.expressions[0].unnest(), exp.Tuple)
        argument = argument if is_tuple or len(argument.expressions) > 1 else argument.expressions[0]
    if distinct and function != "count":
        raise text.refusal(
            NotAllowed, node, "DISTINCT goes with COUNT alone.", "A sum of distinct values has no bound."
        )
    star = argument is None or isinstance(argument, exp.Star)
    if star and (function != "count" or distinct):
        raise text.refusal(NotAllowed, node, "* goes with COUNT alone, and without DISTINCT.")
    return Aggregated(function, distinct, quantile), None if star else argument


def _check_argument(node: exp.Expr, function: str, argument: Expr, text: QueryText, *, exact: bool) -> None:
    if argument.op == "literal" and argument.param is None:
        raise text.refusal(WrongType, node, "NULL has nothing to add up.")
    if isinstance(node, exp.LogicalOr | exp.LogicalAnd) and argument.kind is not Kind.BOOLEAN:
        raise text.refusal(WrongType, node, "a condition is needed here.", fix="Write BOOL_OR(x > 0).")
    if _is_extreme(function, [argument]):
        if exact:
            return
        raise _refuse_extreme(node, function, text)
    any_kind = function == "count" or (argument.kind is Kind.DATE and function in ("min", "max", "quantile"))
    if argument.kind is Kind.TIMESTAMP and function in ("min", "max", "quantile"):
        if exact and function != "quantile":
            return
        day = f"CAST({readable(argument) if argument.op == 'column' else 'x'} AS DATE)"
        what, instead = "the first and last moment of many people", f"{function.upper()}({day})"
        if function == "quantile":
            what, instead = "quantiles of moments", f"MEDIAN({day}), or another quantile of {day}"
        raise text.refusal(
            WrongType,
            node,
            f"{what} are told by the day.",
            "They are quantiles of a curve, which has a step for every day.",
            f"Write {instead}.",
        )
    if not any_kind and not argument.kind.is_number:
        raise _refuse_text(node, argument, text)


def _refuse_extreme(node: exp.Expr, function: str, text: QueryText) -> QueryError:
    called = "BOOL_OR" if function == "max" else "BOOL_AND"
    return text.refusal(
        NotAllowed,
        node,
        f"{called} of many people cannot be answered privately.",
        "A single row decides it. Inside one person, in a subquery with GROUP BY the person, it can be worked out.",
        f"Use COUNT(*) FILTER (WHERE {'condition' if function == 'max' else 'NOT condition'}), and compare it with 0.",
    )


def _refuse_text(node: exp.Expr, argument: Expr, text: QueryText) -> QueryError:
    what = "a number is needed here."
    if argument.kind is Kind.BOOLEAN:
        return text.refusal(
            WrongType, node, what, "This is true or false.", "Write CAST(condition AS INTEGER), which is 1 or 0."
        )
    if argument.op != "column" or argument.kind is not Kind.TEXT:
        return text.refusal(WrongType, node, what)
    name = readable(argument)
    return text.refusal(
        WrongType,
        node,
        what,
        why=f"{name} is text: every column of a CSV file is, until more is declared of it, and no type is guessed "
        "from rows.",
        fix=f"If it holds numbers, say in which bounds: bounds={{{name!r}: (0, 2000)}}, --bound {name}=0:2000, or "
        f"in a descriptor {name} = {{ lower = 0, upper = 2000 }}.",
    )


def _aggregate_facts(function: str, args: Sequence[Expr]) -> ValueFacts:
    if function == "count":
        return ValueFacts(kind=Kind.INTEGER, number=INTEGER)
    return ValueFacts(kind=Kind.NUMBER, number=args[0].facts.number if function in _SAME_TYPE else DOUBLE)


def _check_within(node: exp.WithinGroup, text: QueryText) -> None:
    """A percentile with one level, ordered by one column."""
    percentile = isinstance(node.this, exp.PercentileCont | exp.PercentileDisc)
    if not percentile or node.this.args.get("expression") is not None or len(node.expression.expressions) != 1:
        raise text.refusal(NotAllowed, node, "WITHIN GROUP orders a percentile by one column.")


def _quantile_level(node: exp.Expr | None, descending: bool, text: QueryText) -> Fraction:
    if isinstance(node, exp.Literal) and not node.is_string:
        level = exact_number(str(node.this))
        if level is not None and 0 < level < 1:
            return 1 - level if descending else level
    raise text.refusal(WrongType, node, "a quantile is a literal number between 0 and 1.")
