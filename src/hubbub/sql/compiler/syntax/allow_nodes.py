"""Tree -> checked tree: node types that are known are let through, every other is refused.

The parser turns what it does not understand (LOAD, CALL, PREPARE, EXPLAIN ANALYZE) into opaque commands, and reads far
more than can be answered; a list of what is forbidden would always be behind. So this is a list of what is allowed.
"""

from __future__ import annotations

import re

from sqlglot import exp

from hubbub.relations import limits
from hubbub.sql.compiler.syntax.functions import AGGREGATES, FUNCTIONS, NOW, PAIRED
from hubbub.sql.compiler.syntax.source_text import QueryText
from hubbub.terms import NotAllowed, QueryError

_STRUCTURE = frozenset(
    (
        *("Select", "From", "Join", "Where", "Group", "Having", "Order", "Ordered", "Limit", "Offset", "Subquery"),
        *("CTE", "With", "Union", "Alias", "TableAlias", "Table", "Column", "Identifier", "Star", "Paren", "Tuple"),
        *("Literal", "Boolean", "Null", "Is", "In", "Between", "Case", "If", "Cast", "TryCast", "DataType"),
        *("DataTypeParam", "Interval", "Var", "Filter", "Window", "WindowSpec", "Exists", "Distinct"),
        *("Rollup", "GroupingSets", "Cube", "Grouping", "GroupingId", "WithinGroup", "Qualify"),
    )
)
_AGGREGATES = frozenset(
    (
        *(
            "Count",
            "Sum",
            "Avg",
            "Min",
            "Max",
            "LogicalOr",
            "LogicalAnd",
            "Variance",
            "VariancePop",
            "Stddev",
            "StddevPop",
            "StddevSamp",
            "Median",
        ),
        "ApproxDistinct",
        "CountIf",
    )
)
_PAIRS = frozenset(node.__name__ for node, function in AGGREGATES.items() if function in PAIRED)
_QUANTILES = frozenset(("Quantile", "PercentileCont", "PercentileDisc", "ApproxQuantile"))
_WINDOWS = frozenset(("RowNumber", "Rank", "DenseRank", "Lag", "Lead", "FirstValue", "Ntile"))
_TODAY = frozenset(("CurrentDate", "CurrentTimestamp", "Localtimestamp"))
_SCALARS = frozenset(name for name in FUNCTIONS if name[0].isupper())
_CALLED = frozenset(name for name in FUNCTIONS if name[0].islower()) | NOW
ALLOWED = _STRUCTURE | _AGGREGATES | _PAIRS | _QUANTILES | _WINDOWS | _SCALARS | _TODAY

_REASONS = {
    "Command": ("this command", "Only SELECT reads data here; commands of the engine are never passed on."),
    "RegexpReplace": ("a regular expression that replaces", "What it makes can be much longer than what it is given."),
    "RegexpILike": ("a regular expression in any case", "Engines disagree on which letters are alike."),
    "Mode": ("MODE", "The most frequent value of a few people would be told whoever they are."),
    "Rand": ("a random function", "Noise comes from one secure source, and answers must be repeatable."),
    "Insert": ("INSERT", "A question changes nothing."),
    "Update": ("UPDATE", "A question changes nothing."),
    "Delete": ("DELETE", "A question changes nothing."),
    "Create": ("CREATE", "A question changes nothing."),
    "Drop": ("DROP", "A question changes nothing."),
    "Set": ("SET", "No setting can be changed from a question."),
    "Pragma": ("PRAGMA", "No setting can be changed from a question."),
    "Attach": ("ATTACH", "Only declared tables can be read."),
    "Copy": ("COPY", "Answers leave as releases alone."),
    "Except": ("EXCEPT", "It compares rows of different people exactly."),
    "Intersect": ("INTERSECT", "It compares rows of different people exactly."),
    "ArrayAgg": ("ARRAY_AGG", "It would hand out values of single rows."),
    "GroupConcat": ("STRING_AGG", "It would hand out values of single rows."),
    "First": ("FIRST", "It would hand out the value of a single row."),
    "Last": ("LAST", "It would hand out the value of a single row."),
    "AnyValue": ("ANY_VALUE", "It would hand out the value of a single row."),
    "ArgMax": ("ARG_MAX", "It would hand out the value of a single row."),
    "ArgMin": ("ARG_MIN", "It would hand out the value of a single row."),
    "LastValue": ("LAST_VALUE", "Its window ends at the rows that stand beside this one, whatever their order."),
    "Placeholder": ("a parameter", "The text is planned as it stands."),
    "Pivot": ("PIVOT", "Which columns an answer has would depend on rows."),
    "NthValue": ("NTH_VALUE", "Its window ends at the rows that stand beside this one, whatever their order."),
    "Parameter": ("a parameter", "The text is planned as it stands."),
    "Array": ("a list", "Lists are the levels of a quantile that is a column by itself, as plain numbers."),
}
_ALONE = {"Mode": "SELECT {value}, COUNT(*) AS n FROM {rows} GROUP BY {value} ORDER BY n DESC LIMIT 1"}
_NEAREST = {
    "Mode": "Count the rows of each value, and take the most frequent one after the noise.",
    "Array": "SELECT QUANTILE_CONT(x, [0.25, 0.5, 0.75]) AS q, or one call for each level.",
    "Except": "Count each part, or use NOT EXISTS on the same person's rows.",
    "Intersect": "Count each part, or use EXISTS on the same person's rows.",
    "Pivot": "Write a column for each value: COUNT(*) FILTER (WHERE channel = 'web') AS web.",
    "NthValue": "Number the rows in a subquery, and keep one: QUALIFY ROW_NUMBER() OVER (PARTITION BY person ORDER BY "
    "day) = 2.",
    "LastValue": "Use FIRST_VALUE in the opposite order.",
    "RegexpReplace": "Use REPLACE, REGEXP_EXTRACT or a CASE with REGEXP_MATCHES.",
    "RegexpILike": "Write REGEXP_MATCHES(LOWER(s), pattern).",
    "ArrayAgg": "Use COUNT, SUM, AVG, a quantile, or GROUP BY the value.",
    "GroupConcat": "Use COUNT, SUM, AVG, a quantile, or GROUP BY the value.",
}


_INSTEAD = {  # what other engines call it
    "date_format": "Write STRFTIME(day, '%Y-%m').",
    "datepart": "Write EXTRACT(MONTH FROM day).",
    "getdate": "Write CURRENT_DATE.",
    "format_date": "Write STRFTIME(day, '%Y-%m').",
    "to_char": "Write STRFTIME(day, '%Y-%m').",
    "to_date": "Write CAST(day AS DATE).",
    "str_to_date": "Write CAST(day AS DATE).",
    "iif": "Write IF(condition, x, y), or CASE.",
    "percentile": "Write QUANTILE_CONT(x, 0.9).",
    "approx_percentile": "Write QUANTILE_CONT(x, 0.9).",
    "geomean": "Write EXP(AVG(LN(CLIP(x, 1, 100)))).",
}

_CALLED_PARTS = {"pivots": "PIVOT", "sample": "TABLESAMPLE"}
_WIDEST = {"Select": (limits.COLUMNS, "SELECT has"), "Group": (limits.KEYS, "GROUP BY has")}


def allow_nodes(tree: exp.Expr, text: QueryText) -> exp.Expr:
    """The tree itself, once every node in it is one that the later passes know."""
    if not isinstance(tree, exp.Select | exp.Union | exp.Subquery):
        raise _refuse_node(tree, text)
    for count, node in enumerate(tree.walk()):
        if count > limits.NODES or node.depth > limits.DEPTH:
            raise limits.too_large()
        _check_width(node)
        _check_node(node, text)
    return tree


def _check_width(node: exp.Expr) -> None:
    """Refuse lists that take long to plan."""
    most, what = _WIDEST.get(type(node).__name__, (limits.ARGUMENTS, "a function has") if _is_call(node) else (0, ""))
    if most and len(node.expressions) > most:
        raise limits.over(
            f"{what} at most {most} parts.",
            "Each is worked out for every row, and planned before.",
            "Split it into several questions.",
        )


def _is_call(node: exp.Expr) -> bool:
    return isinstance(node, exp.Func) and not isinstance(node, exp.Connector)


def _check_node(node: exp.Expr, text: QueryText) -> None:
    name = type(node).__name__
    if isinstance(node, exp.Anonymous):
        if str(node.this).lower() not in _CALLED:
            raise _refuse_function(node, str(node.this), text)
    elif name not in ALLOWED:
        if isinstance(node, exp.Func) and name not in _REASONS:
            raise _refuse_function(node, node.sql_name(), text)
        raise _refuse_node(node, text)
    extra = {key for key, value in node.args.items() if value not in (None, False, [], "")} - _known_parts(node)
    if extra:
        first = sorted(extra)[0]
        raise text.refusal(
            NotAllowed,
            node,
            f"{_CALLED_PARTS.get(first, first.replace('_', ' ').upper().strip())} is not understood here.",
            why="A part of a question that is not understood would be silently left out.",
            fix="Leave it out.",
        )


def _known_parts(node: exp.Expr) -> set[str]:
    name = type(node).__name__
    own = _PARTS.get(name, set())
    if isinstance(node, exp.Distinct) and not isinstance(node.parent, exp.Select):
        own = own - {"on"}  # DISTINCT ON is one of rows
    return own | {*FUNCTIONS[name].parts, *_FLAGS} if name in FUNCTIONS else own


# What the later passes read of each node. Any other part that is set could change the meaning, and is refused.
_FLAGS = (
    "ignore_nulls",
    "safe",
    "coalesce",
    "date_part_boundary",
    "null_if_pos_overflow",
)  # set by the parser, for this dialect, always
_PARTS: dict[str, set[str]] = {
    "Select": {"with_", "expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset"}
    | {"distinct", "qualify"},
    "Union": {"this", "expression", "distinct", "with_", "order", "limit", "offset"},
    "From": {"this"},
    "Table": {"this", "alias", "db"},
    "Join": {"this", "on", "side", "kind", "using"},
    "Where": {"this"},
    "Having": {"this"},
    "Group": {"expressions", "all"},
    "Qualify": {"this"},
    "Order": {"expressions"},
    "Ordered": {"this", "desc", "nulls_first"},
    "Limit": {"expression"},
    "Offset": {"expression"},
    "Subquery": {"this", "alias"},
    "CTE": {"this", "alias"},
    "With": {"expressions"},
    "Alias": {"this", "alias"},
    "TableAlias": {"this"},
    "Column": {"this", "table"},
    "Identifier": {"this", "quoted"},
    "Paren": {"this"},
    "Tuple": {"expressions"},
    "Literal": {"this", "is_string"},
    "Boolean": {"this"},
    "Is": {"this", "expression"},
    "In": {"this", "expressions", "query"},
    "Between": {"this", "low", "high"},
    "Like": {"negate"},
    "ILike": {"negate"},
    "Case": {"this", "ifs", "default"},
    "Cast": {"this", "to", "_type"},
    "TryCast": {"this", "to", "safe", "_type"},
    "DataType": {"this", "expressions", "nested"},
    "DataTypeParam": {"this"},
    "Interval": {"this", "unit"},
    "Var": {"this"},
    "Filter": {"this", "expression"},
    "WithinGroup": {"this", "expression"},
    "Window": {"this", "partition_by", "order", "over", "spec"},
    "WindowSpec": {"kind", "start", "start_side", "end", "end_side"},
    "Exists": {"this"},
    "Distinct": {"expressions", "on"},
    "Rollup": {"expressions"},
    "Cube": {"expressions"},
    "GroupingSets": {"expressions"},
    "Grouping": {"expressions"},
    "GroupingId": {"expressions"},
    "Anonymous": {"this", "expressions"},
    "Count": {"this", "big_int"},
    **{name: {"this", "offset"} for name in _WINDOWS},
    **{name: {"this"} for name in _AGGREGATES - {"Count"}},
    **{name: {"this", "expression"} for name in _PAIRS},
    **{name: {"this", "expression", "quantile"} for name in _QUANTILES},
}


def _refuse_node(node: exp.Expr, text: QueryText) -> QueryError:
    is_wrapped = isinstance(node, exp.IgnoreNulls)  # as the parser does with ANY_VALUE
    name = type(node.this if is_wrapped else node).__name__
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).upper()
    called, why = _REASONS.get(name, (words, "Only constructs whose privacy is understood are let through."))
    if isinstance(node, exp.Command):
        called = f"the command {str(node.this).upper()[:20]}"
    return text.refusal(
        NotAllowed,
        None if isinstance(node, exp.Command) else node,
        f"{called} cannot be answered privately.",
        why=why,
        fix=_nearest(node),
    )


def _nearest(node: exp.Expr) -> str:
    """The shortest way on; of a simple question, the question itself."""
    table = node.find_ancestor(exp.Select)
    if isinstance(node, exp.Mode) and (table is None or (table.args.get("group") is None and table.parent is None)):
        column = node.parent.expression.expressions[0].this if isinstance(node.parent, exp.WithinGroup) else node.this
        value = column.sql(dialect="duckdb") if isinstance(column, exp.Column) else "x"
        source = table.args.get("from_") if table is not None else None
        rows = source.this.sql(dialect="duckdb") if source is not None and isinstance(source.this, exp.Table) else "t"
        return _ALONE["Mode"].format(value=value, rows=rows)
    return _NEAREST.get(type(node).__name__, "docs/sql-coverage.md lists what can be asked.")


def _refuse_function(node: exp.Expr, called: str, text: QueryText) -> QueryError:
    return text.refusal(
        NotAllowed,
        node,
        f"the function {called.upper()[:40]} is not one of those that can be used.",
        why="Only functions that never fail, read nothing and always give the same value are let through.",
        fix=_INSTEAD.get(called.lower(), "docs/sql-coverage.md lists the functions that can be used."),
    )
