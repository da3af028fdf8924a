"""Aggregates and keys: COUNT, SUM, quantiles and the like, GROUP BY, ROLLUP, and what may stand beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

from sqlglot import exp

from hubbub.relations import DOUBLE, INTEGER, Expr, ValueFacts, limits, readable
from hubbub.schema import Kind
from hubbub.sql.compiler.person_links import aggregate_facts
from hubbub.sql.compiler.question import Aggregated, Field
from hubbub.sql.compiler.scopes import Names, NameScope, bare
from hubbub.sql.compiler.type_scalars import Scalars, Special, number_in, number_of
from hubbub.terms import NotAllowed, QueryError, UnknownName, WrongType

FUNCTIONS: dict[type[exp.Expr], str] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
    exp.Variance: "var_samp",
    exp.VariancePop: "var_pop",
    exp.Stddev: "stddev_samp",
    exp.StddevSamp: "stddev_samp",
    exp.StddevPop: "stddev_pop",
    exp.Median: "quantile",
    exp.Quantile: "quantile",
    exp.PercentileCont: "quantile",
    exp.PercentileDisc: "quantile",
    exp.ApproxQuantile: "quantile",
}
AGGREGATES = tuple(FUNCTIONS)
_SAME_TYPE = ("sum", "min", "max")
_INSIDE = ("count", "sum", "avg", "min", "max")  # what a subquery may work out exactly about one person


class Aggregates(Names):
    """Reads aggregates and keys."""

    def _aggregates(self, tree: exp.Select) -> bool:
        """Whether the SELECT itself (not its subqueries) aggregates."""
        if tree.args.get("group") is not None or tree.args.get("having") is not None:
            return True
        return any(is_aggregate(node) for part in tree.expressions for node in own_parts(part))

    def _aggregate_of(self, node: exp.Expr, rows: Scalars) -> Expr:
        condition = None
        if isinstance(node, exp.Filter):
            condition = self._condition(node.expression, rows)
            node = node.this
        if not isinstance(node, (*AGGREGATES, exp.WithinGroup)):
            raise self._refused(NotAllowed, node, "FILTER goes with an aggregate.", "It says which rows are added up.")
        quantile: Fraction | None = None
        if isinstance(node, exp.WithinGroup):
            self._check_within(node)
            ordered = node.expression.expressions[0]
            quantile = self._level(node.this.this, bool(ordered.args.get("desc")))
            function, argument, distinct = "quantile", ordered.this, False
        else:
            function, argument, distinct = FUNCTIONS[type(node)], node.this, False
            if function == "quantile":
                given = node.args.get("quantile") or node.args.get("expression")
                quantile = Fraction(1, 2) if isinstance(node, exp.Median) else self._level(given, False)
        if isinstance(argument, exp.Distinct):
            distinct = True
            if len(argument.expressions) != 1:
                raise self._refused(NotAllowed, node, "DISTINCT takes one column here.")
            argument = argument.expressions[0]
        if distinct and function != "count":
            raise self._refused(
                NotAllowed, node, "DISTINCT goes with COUNT alone.", "A sum of distinct values has no bound."
            )
        star = argument is None or isinstance(argument, exp.Star)
        if star and (function != "count" or distinct):
            raise self._refused(NotAllowed, node, "* goes with COUNT alone, and without DISTINCT.")
        args = [] if star else [rows.build(argument)]
        if args and args[0].op == "literal" and args[0].param is None:
            raise self._refused(WrongType, node, "NULL has nothing to add up.")
        numbers = function not in ("count",) and not (args and args[0].kind is Kind.DATE and function in ("min", "max"))
        if args and numbers and not args[0].kind.is_number:
            raise self._no_number(node, args[0])
        if condition is not None:
            args.append(condition)
        spec = Aggregated(function, distinct, quantile)
        kind = Kind.INTEGER if function == "count" else Kind.NUMBER
        number = INTEGER if function == "count" else args[0].facts.number if function in _SAME_TYPE else DOUBLE
        facts = ValueFacts(kind=kind, number=number)
        return Expr("aggregate" if condition is None else "aggregate_if", tuple(args), spec, facts)

    def _no_number(self, node: exp.Expr, argument: Expr) -> QueryError:
        what = "a number is needed here."
        if argument.op != "column" or argument.kind is not Kind.TEXT:
            return self._refused(WrongType, node, what)
        name = readable(argument)
        return self._refused(
            WrongType,
            node,
            what,
            why=f"{name} is text: every column of a CSV file is, until more is declared of it, and no type is guessed "
            "from rows.",
            fix=f"If it holds numbers, say in which bounds: bounds={{{name!r}: (0, 2000)}}, --bound {name}=0:2000, or "
            f"in a descriptor {name} = {{ lower = 0, upper = 2000 }}.",
        )

    def _check_within(self, node: exp.WithinGroup) -> None:
        """A percentile with one level, ordered by one column."""
        percentile = isinstance(node.this, exp.PercentileCont | exp.PercentileDisc)
        if not percentile or node.this.args.get("expression") is not None or len(node.expression.expressions) != 1:
            raise self._refused(NotAllowed, node, "WITHIN GROUP orders a percentile by one column.")

    def _level(self, node: exp.Expr | None, descending: bool) -> Fraction:
        if isinstance(node, exp.Literal) and not node.is_string:
            level = number_of(str(node.this))
            if level is not None and 0 < level < 1:
                return 1 - level if descending else level
        raise self._refused(WrongType, node, "a quantile is a literal number between 0 and 1.")

    def _keys(
        self, tree: exp.Select, scope: NameScope, rows: Scalars
    ) -> tuple[tuple[Field, ...], tuple[tuple[int, ...], ...]]:
        group = tree.args.get("group")
        if group is None:
            return (), ()
        selected = {part.alias.lower(): part.this for part in tree.expressions if isinstance(part, exp.Alias)}
        keys: list[Field] = []

        def index(node: exp.Expr) -> int:
            key = self._key(node, tree, selected, scope, rows)
            for i, known in enumerate(keys):
                if known.value == key.value:
                    return i
            keys.append(key)
            return len(keys) - 1

        levels: list[tuple[int, ...]] = [()]
        for node in group.expressions:
            sets = _sets(node, index)
            if len(levels) * len(sets) > limits.LEVELS:
                raise limits.over(
                    f"ROLLUP, CUBE and GROUPING SETS make more than {limits.LEVELS} levels of totals.",
                    "Each is a part of the answer by itself.",
                    "Name the levels that you need in GROUPING SETS.",
                )
            levels = [(*level, *more) for level in levels for more in sets]
        several = any(isinstance(node, _SETS) for node in group.expressions)
        unique = tuple(dict.fromkeys(tuple(sorted(set(level))) for level in levels))
        return tuple(keys), unique if several else ()

    def _key(
        self,
        node: exp.Expr,
        tree: exp.Select,
        selected: Mapping[str, exp.Expr],
        scope: NameScope,
        rows: Scalars,
    ) -> Field:
        if isinstance(node, exp.Literal) and not node.is_string:
            place = number_in(node) or 0
            if not 1 <= place <= len(tree.expressions):
                raise self._refused(UnknownName, node, "there is no column at this place of SELECT.")
            part = tree.expressions[place - 1]
            return Field(self._name(part, place - 1), rows.build(bare(part)))
        if isinstance(node, exp.Column) and not node.table and node.name.lower() in selected:
            known = [self._column_of(item, node.name) for _, item in scope.items]
            if not any(known):
                return Field(node.name, rows.build(selected[node.name.lower()]))
        value = rows.build(node)
        named = next((name for name, part in selected.items() if part == node), node.name or f"key_{value.op}")
        return Field(named, value)

    def _result(self, keys: tuple[Field, ...], scope: NameScope, rows: Scalars, *, after: bool) -> Special:
        """Expressions about one row of the answer: keys, aggregates, and (in HAVING and ORDER BY) output names."""

        def special(node: exp.Expr) -> Expr | None:
            if is_aggregate(node):
                return self._aggregate_of(node, rows)
            if isinstance(node, exp.Literal | exp.Boolean | exp.Null | exp.Paren | exp.Alias):
                return None
            place = self._place_of_key(node, keys, scope, rows, after=after)
            if place is not None:
                return Expr("key", param=place, facts=keys[place].value.facts)
            if after and (named := _output(node, scope)) is not None:
                return named
            if isinstance(node, exp.Column):
                raise self._refused(
                    NotAllowed,
                    node,
                    f"{node.name!r} is neither aggregated nor a key.",
                    "Its value would be that of a single row.",
                    f"Add it to GROUP BY, or use COUNT, SUM or AVG of {node.name}.",
                )
            return None

        return special

    def _inside(self, keys: tuple[Field, ...], scope: NameScope, rows: Scalars, cap: int | None) -> Special:
        """Expressions about one person: keys and exact aggregates of that person's rows."""

        def special(node: exp.Expr) -> Expr | None:
            if is_aggregate(node):
                told = self._aggregate_of(node, rows)
                if told.param.function not in _INSIDE:
                    raise self._refused(NotAllowed, node, "per person, COUNT, SUM, AVG, MIN and MAX can be worked out.")
                return replace(told, facts=aggregate_facts(told, cap))
            if isinstance(node, exp.Literal | exp.Boolean | exp.Null | exp.Paren):
                return None
            place = self._place_of_key(node, keys, scope, rows, after=bool(scope.outputs))
            if place is not None:
                return keys[place].value
            if (named := _output(node, scope)) is not None:
                return named
            if isinstance(node, exp.Column):
                raise self._refused(NotAllowed, node, f"{node.name!r} is neither aggregated nor a key.")
            return None

        return special

    def _place_of_key(
        self, node: exp.Expr, keys: tuple[Field, ...], scope: NameScope, rows: Scalars, *, after: bool
    ) -> int | None:
        """Which key an expression is; a name is that of a key before it is that of a column of the answer."""
        if any(is_aggregate(part) for part in node.walk()):
            return None
        try:
            value = rows.build(node)
        except QueryError:
            if after and _names_output(node, scope):
                return None
            raise
        return next((i for i, key in enumerate(keys) if key.value == value), None)

    def _refuse_distinct(self, tree: exp.Select) -> None:
        if tree.args.get("distinct") is not None:
            raise self._refused(
                NotAllowed, tree, "SELECT DISTINCT of aggregates has no meaning.", fix="Leave DISTINCT out."
            )


def _output(node: exp.Expr, scope: NameScope) -> Expr | None:
    """The column of the answer that a node names."""
    if not isinstance(node, exp.Column) or node.table:
        return None
    return scope.outputs.get(node.name.lower())


def _names_output(node: exp.Expr, scope: NameScope) -> bool:
    """Whether a column of the answer is named somewhere inside."""
    columns = [part for part in node.walk() if isinstance(part, exp.Column) and not part.table]
    return any(part.name.lower() in scope.outputs for part in columns)


def is_aggregate(node: object) -> bool:
    """Whether the node is an aggregate, with its FILTER or WITHIN GROUP."""
    return isinstance(node, (*AGGREGATES, exp.Filter, exp.WithinGroup))


def own_parts(node: exp.Expr) -> Iterable[exp.Expr]:
    """The node's parts, not looking into windows and subqueries."""
    return node.walk(prune=lambda part: isinstance(part, exp.Window | exp.Subquery | exp.Select | exp.Exists))


_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)


def _sets(node: exp.Expr, index: Callable[[exp.Expr], int]) -> list[tuple[int, ...]]:
    """The grouping sets that a part of GROUP BY stands for, by the places of their keys."""
    if not isinstance(node, _SETS):
        return [(index(node),)]
    parts = [_members(part, index) for part in node.expressions]
    if isinstance(node, exp.GroupingSets):
        return parts
    if isinstance(node, exp.Cube) and 1 << len(parts) > limits.LEVELS:
        return [()] * (limits.LEVELS + 1)  # too many to be worked out, and refused for that
    sizes = range(len(parts), -1, -1)
    chosen = (
        [parts[:n] for n in sizes]
        if isinstance(node, exp.Rollup)
        else [c for n in sizes for c in combinations(parts, n)]
    )
    return [tuple(i for part in some for i in part) for some in chosen]


def _members(node: exp.Expr, index: Callable[[exp.Expr], int]) -> tuple[int, ...]:
    if isinstance(node, exp.Paren):
        node = node.this
    return tuple(index(each) for each in (node.expressions if isinstance(node, exp.Tuple) else [node]))
