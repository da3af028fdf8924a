"""Windows inside one person: ROW_NUMBER, LAG, running sums and the like, in the SELECT of a subquery."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from hubbub.relations import INTEGER, Expr, ValueFacts, literal
from hubbub.relations.nodes import Frame
from hubbub.schema import Kind
from hubbub.sql.compiler.person_links import refuse_mixed
from hubbub.sql.compiler.question import Field, Item, Windowed, person
from hubbub.sql.compiler.syntax.literals import whole_number
from hubbub.sql.compiler.syntax.source_text import QueryText
from hubbub.sql.compiler.syntax.type_scalars import Misplaced, References, type_scalar
from hubbub.terms import NotAllowed, QueryError, WrongType

_FUNCTIONS: dict[type[exp.Expr], str] = {
    exp.RowNumber: "row_number",
    exp.Rank: "rank",
    exp.DenseRank: "dense_rank",
    exp.Lag: "lag",
    exp.Lead: "lead",
    exp.FirstValue: "first_value",
    exp.Ntile: "ntile",
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
}
_FRAMED = ("count", "sum", "avg", "min", "max", "first_value")  # over so many rows around each
_FARTHEST = 10_000  # rows
_UNKNOWN = 10**9  # where an end of a frame is not understood
MISPLACED_WINDOW = Misplaced(
    NotAllowed,
    "a window can stand in the SELECT of a subquery alone.",
    "There its order is complete, so that nobody's rows decide about another's.",
    "SELECT ... FROM (SELECT ..., ROW_NUMBER() OVER (PARTITION BY person ORDER BY day) AS r FROM t) WHERE r = 1.",
)


def type_window(node: exp.Window, items: tuple[Item, ...], references: References, text: QueryText) -> Expr:
    """The window over one person's rows of these items."""
    function = _FUNCTIONS.get(type(node.this))
    if function is None:
        raise text.refusal(
            NotAllowed, node, "this window cannot be used.", fix=f"Use one of: {', '.join(_FUNCTIONS.values())}."
        )
    parts = [type_scalar(part, references, text) for part in node.args.get("partition_by") or []]
    whom = person(items)
    if not any(part.facts.unit for part in parts) or not whom:
        if function == "ntile":
            raise _refuse_parts_of_everybody(node, text)
        raise refuse_mixed(
            text, node, "a window over several people's rows tells them apart.", "PARTITION BY the person."
        )
    frame = _frame_of(node, function, text)
    own = _window_arguments(node.this, function, references, text)
    order = node.args.get("order")
    ordered = list(order.expressions) if order else []
    args = (*own, *parts, *(type_scalar(part.this, references, text) for part in ordered))
    down, first = (tuple(bool(part.args.get(name)) for part in ordered) for name in ("desc", "nulls_first"))
    return Expr(
        "window",
        args,
        Windowed(function, len(own), down, whom, bool(ordered), first, frame),
        _window_facts(function, own),
    )


def _refuse_parts_of_everybody(node: exp.Window, text: QueryText) -> QueryError:
    return text.refusal(
        NotAllowed,
        node,
        "NTILE cannot be answered privately.",
        "Which part a person falls into depends on everybody else.",
        "Ask for the thresholds first (QUANTILE_CONT(x, 0.25), ...), and write the released numbers into a CASE.",
    )


def _frame_of(node: exp.Window, function: str, text: QueryText) -> Frame | None:
    """The rows that the window looks at, by their places; None for those that it has by itself."""
    spec = node.args.get("spec")
    if spec is None:
        return None
    first = _place_of(spec.args.get("start"), spec.args.get("start_side"), "PRECEDING")
    last = _place_of(spec.args.get("end") or "CURRENT ROW", spec.args.get("end_side"), "FOLLOWING")
    if (spec.args.get("kind"), first, last) == ("RANGE", None, 0):
        return None  # what a window has by itself
    known = spec.args.get("kind") == "ROWS" and function in _FRAMED and _UNKNOWN not in (first, last)
    if not known or (first is not None and last is not None and first > last):
        raise text.refusal(
            NotAllowed,
            node,
            "this frame of a window cannot be used.",
            "A frame is of rows, counted from this one, and begins before it ends.",
            f"Write ROWS BETWEEN 2 PRECEDING AND CURRENT ROW, with one of: {', '.join(_FRAMED)}.",
        )
    return first, last


def _place_of(end: object, side: object, outward: str) -> int | None:
    """How many rows after this one an end of a frame is; None without end."""
    if end == "CURRENT ROW":
        return 0
    if end == "UNBOUNDED":
        return None if side == outward else _UNKNOWN
    steps = whole_number(end) if isinstance(end, exp.Expr) else None
    if steps is None or steps > _FARTHEST or side not in ("PRECEDING", "FOLLOWING"):
        return _UNKNOWN
    return -steps if side == "PRECEDING" else steps


def _window_arguments(node: exp.Expr, function: str, references: References, text: QueryText) -> list[Expr]:
    """The window's own arguments: a value of the right kind, and for LAG and LEAD a public distance."""
    star = node.this is None or isinstance(node.this, exp.Star)
    if function in ("row_number", "rank", "dense_rank"):
        if not star:
            raise text.refusal(WrongType, node, f"{function.upper()} takes no argument.")
        return []
    if function == "ntile":
        parts = None if star else whole_number(node.this)
        if parts is None or not 1 <= parts <= _FARTHEST:
            raise text.refusal(WrongType, node, f"NTILE takes a whole number from 1 to {_FARTHEST:,}.")
        return [literal(parts)]
    if star:
        if function != "count":
            raise text.refusal(WrongType, node, f"{function.upper()} needs a value.")
        return []
    value = type_scalar(node.this, references, text)
    if _windows_in(value):
        raise text.refusal(NotAllowed, node, "a window cannot stand inside a window.", fix="Use two subqueries.")
    if value.kind is Kind.OPAQUE or (function in ("sum", "avg") and not value.kind.is_number):
        raise text.refusal(WrongType, node, "a value of this kind cannot be used in this window.")
    distance = node.args.get("offset")
    if distance is None:
        return [value]
    steps = whole_number(distance)
    if steps is None or steps > _FARTHEST:
        raise text.refusal(WrongType, distance, "a distance is a whole number up to 10,000.")
    return [value, literal(steps)]


def _window_facts(function: str, own: list[Expr]) -> ValueFacts:
    if function in ("lag", "lead", "first_value", "min", "max"):
        return replace(own[0].facts, origin=None, unit=False, image=None)
    if function == "ntile":
        parts = Fraction(own[0].param)
        return ValueFacts(kind=Kind.INTEGER, lower=Fraction(1), upper=parts, step=Fraction(1), number=INTEGER)
    if function in ("row_number", "rank", "dense_rank", "count"):
        return ValueFacts(kind=Kind.INTEGER, lower=Fraction(0), step=Fraction(1), number=INTEGER)
    inner = own[0].facts
    if function == "avg":
        return ValueFacts(kind=Kind.NUMBER, lower=inner.lower)
    return ValueFacts(kind=inner.kind, step=inner.step, number=inner.number)


def check_orders(tree: exp.Select, fields: Sequence[Field], text: QueryText) -> None:
    """Rows that are alike in every column that is used can be told apart by their places in two orders alone."""
    windows = [part for each in fields for part in _windows_in(each.value) if part.param.is_positional]
    orders = {(part.args[part.param.arguments :], part.param.descending, part.param.nulls_first) for part in windows}
    if len(orders) > 1:
        raise text.refusal(
            NotAllowed,
            tree,
            "windows that go by places (ROW_NUMBER, LAG, LEAD, NTILE, ROWS BETWEEN) have one PARTITION BY and ORDER BY "
            "in a subquery.",
            "Rows that are alike have no order of their own, and two orders would tell them apart by accident.",
            "Use one order, or two subqueries.",
        )


def _windows_in(value: Expr) -> list[Expr]:
    """The windows inside an expression."""
    return [value] if value.op == "window" else [part for arg in value.args for part in _windows_in(arg)]
