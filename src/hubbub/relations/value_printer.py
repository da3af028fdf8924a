"""Expressions in an engine's words: an analyst's operations by the dialect's templates, and what plans add to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from hashlib import sha256
from typing import Any, Protocol

from hubbub.relations import limits
from hubbub.relations.column_printer import as_native, calendar, id_from, id_in, in_calendar, read_as
from hubbub.relations.dialects import Dialect
from hubbub.relations.expressions import Expr
from hubbub.relations.nodes.engine_values import BucketEdges, CellGrid, Frame, IntegerGrid, NormClip, WindowSpec
from hubbub.relations.operation_printer import OperationPrinter
from hubbub.relations.text_work import is_cut
from hubbub.schema import Kind, Value

_OWN = "_hb_"  # columns whose names are ours stand without quotes
_COARSE = 2.0**62  # a value is summed per person within so many grid steps; without a grid, of a millionth


class PersonFunction(Protocol):
    """An exact aggregate of one person's rows."""

    @property
    def function(self) -> str:
        """count, sum, avg, min or max."""

    @property
    def distinct(self) -> bool:
        """Whether of distinct values."""


class ValuePrinter:
    """Prints expressions; ``exists`` prints a relation that rows are looked up in."""

    def __init__(self, dialect: Dialect, exists: Callable[[Any], str]) -> None:
        self.dialect, self._exists = dialect, exists
        self.operations = OperationPrinter(dialect)
        self._names: dict[str, str] = {}

    def name(self, name: str) -> str:
        """A column's name."""
        known = self._names.get(name)
        if known is None:
            known = self._names[name] = name if name.startswith(_OWN) else self.operations.quoted(name)
        return known

    def print_value(self, value: Expr) -> str:
        """The expression as text."""
        if value.op == "column":
            alias, name = value.param
            return f"{alias}.{self.name(name)}" if alias else self.name(name)
        if value.op == "literal":
            return self.operations.literal(value.param)
        if value.op == "integer":
            return str(value.param)
        if value.op == "exists":
            return self._exists(value.param)
        parts = [self.print_value(part) for part in value.args]
        simple = _SIMPLE.get(value.op)
        if simple is not None:
            return simple.format(*parts)
        template = _TEMPLATES.get(value.op)
        return template(self, value, parts) if template is not None else self._operation(value, parts)

    def _operation(self, value: Expr, parts: list[str]) -> str:
        """What a function makes, cut where it may be long. Templates name parts twice, and that must not double on."""
        text = self.operations.operation(value, parts)
        if len(text) > limits.EXPRESSION:
            raise limits.too_large()
        return self.dialect.cut.format(text, most=limits.TEXT) if is_cut(value) else text

    # ------------------------------------------------------------ one row

    def _typed(self, value: Expr, text: str) -> str:
        if value.kind is Kind.INTEGER and value.op not in ("column", "literal"):
            return self.dialect.casts[Kind.INTEGER].format(text)
        return text

    def _group_key(self, value: Expr, text: str) -> str:
        """What the engine tells apart, everybody does; no one person's way of writing is told: 0 and -0 are 0."""
        text = self._typed(value, text)
        if value.kind is Kind.NUMBER:
            return f"({self.operations.number(value, text)} + 0.0)"
        return calendar(text, value.kind, self.dialect) if value.kind in (Kind.DATE, Kind.TIMESTAMP) else text

    def _listed(self, text: str, domain: tuple[Value, ...]) -> str:
        ends = _consecutive_ends(domain)
        if ends is not None:
            return f"{text} BETWEEN {ends[0]} AND {ends[1]}"
        return f"{text} IN ({', '.join(self.operations.literal(value) for value in domain)})"

    def _when(self, value: Expr, parts: list[str]) -> str:
        otherwise = f" ELSE {parts[2]}" if len(parts) > 2 else ""
        return f"CASE WHEN {parts[0]} THEN {parts[1]}{otherwise} END"

    def _on_grid(self, value: Expr, text: str, grid: IntegerGrid) -> str:
        low, high = grid.lower, grid.upper
        if value.kind is Kind.INTEGER and grid.step == 1 and value.op == "column":
            # least and greatest skip what is missing
            held = f"CASE WHEN {text} IS NOT NULL THEN least(greatest({text}, {low}), {high}) END"
        else:
            steps = self._divided(self.operations.number(value, text), grid.step)
            ends = self.operations.double(float(low)), self.operations.double(float(high))
            # between two integers a number is rounded to one between them; what is no number is above every number
            inside = self.dialect.casts[Kind.INTEGER].format(f"least(greatest({steps}, {ends[0]}), {ends[1]})")
            held = f"CASE WHEN NOT {self.dialect.is_nan.format(steps)} THEN {inside} END"
        centred = held if not grid.centre else f"({held} - {grid.centre})"
        if grid.other is not None:
            return f"(2 * ({centred}) * ({grid.other} - {held}))"
        return f"(({centred}) * ({centred}))" if grid.square else centred

    def _whole(self, text: str) -> str:
        """A bounded double as a 64-bit integer."""
        return self.dialect.casts[Kind.INTEGER].format(f"floor({text} + 0.5)")

    def _divided(self, number: str, step: Fraction) -> str:
        if step == 1:
            return number
        if step.numerator == 1:
            return f"({number} * {self.operations.double(float(step.denominator))})"
        return f"({number} / {self.operations.double(float(step))})"

    def _cell(self, value: Expr, text: str, grid: CellGrid) -> str:
        number = self._place(value, text)
        shifted = (
            f"({number} - {self.operations.double(float(grid.lower))}) / {self.operations.double(float(grid.width))}"
        )
        ends = self.operations.double(0.0), self.operations.double(float(grid.cells - 1))
        held = f"least(greatest(floor({shifted} + {self.operations.double(1e-9)}), {ends[0]}), {ends[1]})"
        return self._whole(held)

    def _place(self, value: Expr, text: str) -> str:
        """A number, or a date in days since 1970."""
        if value.kind is Kind.DATE:
            days = self.dialect.days.format(in_calendar(text, value.kind, self.dialect))
            return self.dialect.casts[Kind.NUMBER].format(days)
        return self.operations.number(value, text)

    def _bucket(self, text: str, scale: BucketEdges) -> str:
        """Comparisons with the edges, halving each time."""
        edges = [str(edge) if isinstance(edge, int) else self.operations.double(edge) for edge in scale.edges]
        zero, last = (len(edges) if scale.signed else 0), len(edges) - 1
        up = _halve_edges(text, edges, 0, last, lambda place: zero + 1 + place)
        down = _halve_edges(f"(-{text})", edges, 0, last, lambda place: zero - 1 - place) if scale.signed else "0"
        known = f"CASE WHEN {text} > 0 THEN {up} WHEN {text} < 0 THEN {down} ELSE {zero} END"
        return f"CASE WHEN {text} IS NOT NULL THEN {known} END"

    def _step(self, text: str, steps: Sequence[tuple[int, int]]) -> str:
        """Comparisons with the numbers, halving each time; what stands beside them fits 32 bits, and sums of it 64."""
        edges = [str(most) for most, _ in steps]
        return _halve_edges(text, edges, 0, len(edges) - 1, lambda place: steps[place][1])

    def _known_number(self, value: Expr, text: str) -> str:
        number = self.operations.number(value, text)
        return f"CASE WHEN NOT {self.dialect.is_nan.format(number)} THEN {number} END"

    def _size(self, value: Expr, text: str, largest: float, parts: int) -> str:
        number = self.operations.number(value, text)
        size = f"least(abs({number}), {self.operations.double(largest)}) * {self.operations.double(float(parts))}"
        return f"CASE WHEN NOT {self.dialect.is_nan.format(number)} THEN {self._whole(size)} END"

    # ------------------------------------------------------------ one person's rows

    def _over(self, value: Expr, parts: list[str]) -> str:
        spec: WindowSpec = value.param
        own, rest = parts[: spec.arguments], parts[spec.arguments + spec.partition :]
        partition = parts[spec.arguments : spec.arguments + spec.partition]
        order = [
            f"{text} {'DESC' if down else 'ASC'} NULLS {'FIRST' if first else 'LAST'}"
            for text, down, first in zip(rest, spec.descending, spec.nulls_first, strict=False)
        ]
        order += rest[len(order) :]  # what breaks ties
        over = f"PARTITION BY {', '.join(partition)}" + (f" ORDER BY {', '.join(order)}" if order else "")
        over += _frame_words(spec.frame)
        if spec.function in ("sum", "avg"):
            total = f"{self.dialect.sum.format(self._fine(value.args[0], own[0]))} OVER ({over})"
            return self._scaled(value.args[0], total, f"count({own[0]}) OVER ({over})", spec.function)
        if spec.function == "ntile":
            own[0] = str(int(value.args[0].param))
        if spec.function in ("lag", "lead") and spec.arguments == 2:
            own[1] = str(int(value.args[1].param)) if value.args[1].op == "literal" else "1"
        return f"{spec.function}({', '.join(own) or ('*' if spec.function == 'count' else '')}) OVER ({over})"

    def _aggregate(self, value: Expr, parts: list[str]) -> str:
        """An exact aggregate of one person's rows, clamped to the bounds that are claimed of it."""
        spec: PersonFunction = value.param
        given = f" FILTER (WHERE {parts[-1]})" if value.op == "aggregate_if" else ""
        argument = parts[0] if len(parts) > bool(given) else None
        if spec.function == "count":
            inside = "*" if argument is None else f"{'DISTINCT ' if spec.distinct else ''}{argument}"
            text = f"count({inside}){given}"
        elif spec.function in ("sum", "avg"):
            assert argument is not None
            total = f"{self.dialect.sum.format(self._fine(value.args[0], argument))}{given}"
            text = self._scaled(value.args[0], total, f"count({argument}){given}", spec.function)
        else:
            text = f"{spec.function}({argument}){given}"
        return self._within_facts(value, text, spec.function)

    def _fine(self, value: Expr, text: str) -> str:
        """A number as an integer on a grid, so that its sum does not depend on the order of rows."""
        number = self.operations.number(value, text)
        step = float(value.facts.step) if value.facts.step else 1e-6
        ends = (self.operations.double(-_COARSE), self.operations.double(_COARSE))
        held = f"least(greatest({number} / {self.operations.double(step)}, {ends[0]}), {ends[1]})"
        return f"CASE WHEN NOT {self.dialect.is_nan.format(number)} THEN {self._whole(held)} END"

    def _scaled(self, value: Expr, total: str, count: str, function: str) -> str:
        step = value.facts.step or Fraction(1, 10**6)
        top, bottom = (self.operations.double(float(part)) for part in (step.numerator, step.denominator))
        scaled = self.dialect.casts[Kind.NUMBER].format(total)
        scaled += f" * {top}" if step.numerator != 1 else ""
        scaled += f" / {bottom}" if step.denominator != 1 else ""
        return f"({scaled})" if function == "sum" else f"({scaled} / NULLIF({count}, 0))"

    def _within_facts(self, value: Expr, text: str, function: str) -> str:
        facts = value.facts
        if not facts.kind.is_number or function not in ("count", "sum"):
            return text
        held = text
        if facts.upper is not None:
            held = f"least({held}, {self.operations.literal(facts.upper)})"
        if function == "count":
            return held
        if facts.lower is not None:
            held = f"greatest({held}, {self.operations.literal(facts.lower)})"
        return text if held == text else f"CASE WHEN {text} IS NOT NULL THEN {held} END"  # both skip what is missing

    # ------------------------------------------------------------ totals

    def _total(self, text: str) -> str:
        return f"coalesce({self.dialect.sum.format(text)}, 0)"

    def _centred_total(self, text: str, centre: int) -> str:
        # The analyst chooses the centre: in 64 bits the product would fail from a chosen number of rows on.
        return f"({self._total(text)} - {self.dialect.huge.format(centre)} * count({text}))"

    def _clamped_total(self, text: str, most: int, parts: int) -> str:
        total = self.dialect.huge.format(self.dialect.sum.format(text))
        return f"least(greatest(coalesce({total}, 0), -{most}), {most}) * {parts}"  # greatest skips what is missing

    def _norm(self, text: str, clip: NormClip) -> str:
        return self.dialect.sum.format(f"{text} * {text}" if clip.squared else f"abs({text})")

    def _clipped_total(self, total: str, size: str, clip: NormClip) -> str:
        length = self.dialect.root_above.format(size) if clip.squared else size
        scaled = self.dialect.toward_zero.format(f"{total} * {clip.norm}", length)
        shrunk = f"CASE WHEN {size} > {clip.limit} THEN {scaled} ELSE {total} END"
        return self.dialect.huge.format(self._total(shrunk))

    def keyed_hash(self, secret: str | None, texts: list[str]) -> str:
        """A number that only depends on a row's own content and on a secret."""
        if secret is None:
            return self.dialect.hash.format(texts=", ".join(texts))
        words = {"secret": self.operations.literal(secret), "seed": _seed(secret)}
        return self.dialect.keyed_hash.format(texts=", ".join(texts), **words)


_TEMPLATES: dict[str, Callable[[ValuePrinter, Expr, list[str]], str]] = {
    "over": ValuePrinter._over,
    "aggregate": ValuePrinter._aggregate,
    "aggregate_if": ValuePrinter._aggregate,
    "when": ValuePrinter._when,
    "typed": lambda own, value, parts: own._typed(value.args[0], parts[0]),
    "group_key": lambda own, value, parts: own._group_key(value.args[0], parts[0]),
    "listed": lambda own, value, parts: own._listed(parts[0], value.param),
    "on_grid": lambda own, value, parts: own._on_grid(value.args[0], parts[0], value.param),
    "cell": lambda own, value, parts: own._cell(value.args[0], parts[0], value.param),
    "bucket": lambda own, value, parts: own._bucket(parts[0], value.param),
    "step": lambda own, value, parts: own._step(parts[0], value.param),
    "known_number": lambda own, value, parts: own._known_number(value.args[0], parts[0]),
    "size": lambda own, value, parts: own._size(value.args[0], parts[0], *value.param),
    "sum_of": lambda own, _, parts: own.dialect.sum.format(parts[0]),
    "total": lambda own, _, parts: own._total(parts[0]),
    "centred_total": lambda own, value, parts: own._centred_total(parts[0], value.param),
    "whole": lambda own, _, parts: own.dialect.casts[Kind.INTEGER].format(parts[0]),
    "clamped_total": lambda own, value, parts: own._clamped_total(parts[0], *value.param),
    "norm": lambda own, value, parts: own._norm(parts[0], value.param),
    "clipped_total": lambda own, value, parts: own._clipped_total(parts[0], parts[1], value.param),
    "person_id": lambda own, value, parts: id_from(parts[0], value.param[0], value.param[1], own.dialect),
    "declared_id": lambda own, value, parts: id_in(parts[0], value.param[0], value.param[1], own.dialect),
    "read_as": lambda own, value, parts: read_as(parts[0], value.param[0], value.param[1], own.dialect),
    "as_type": lambda own, value, parts: as_native(parts[0], value.param, own.dialect),
    "as_text": lambda own, _, parts: own.dialect.text.format(parts[0]),
    "sign_of": lambda own, _, parts: own.dialect.is_negative.format(parts[0]),
    "hashed": lambda own, value, parts: own.keyed_hash(value.param, parts),
}
_SIMPLE = {
    "count_rows": "count(*)",
    "count_of": "count({0})",
    "count_missing": "(count(*) - count({0}))",
    "count_distinct": "count(DISTINCT {0})",
    "max_of": "max({0})",
    "min_of": "min({0})",
    "negated": "-({0})",
}


def _seed(secret: str) -> int:
    """The secret as a number of 60 bits: by its own digits, or, of an owner's words, by those of their hash."""
    is_hex = bool(secret) and set(secret) <= set("0123456789abcdef")
    return int((secret if is_hex else sha256(secret.encode()).hexdigest())[:15], 16)


def _consecutive_ends(domain: tuple[Value, ...]) -> tuple[int, int] | None:
    """(first, last) of a list of consecutive integers."""
    if len(domain) < 2:
        return None
    numbers = sorted(value for value in domain if isinstance(value, int) and not isinstance(value, bool))
    run = len(numbers) == len(domain) and numbers[-1] - numbers[0] == len(set(numbers)) - 1
    return (numbers[0], numbers[-1]) if run else None


def _halve_edges(value: str, edges: Sequence[str], first: int, last: int, cell: Callable[[int], int]) -> str:
    """The place of the first edge that is not below the value, from ``first`` to ``last``; beyond all, the last."""
    if first == last:
        return str(cell(first))
    middle = (first + last) // 2
    below, above = _halve_edges(value, edges, first, middle, cell), _halve_edges(value, edges, middle + 1, last, cell)
    return f"CASE WHEN {value} <= {edges[middle]} THEN {below} ELSE {above} END"


def _frame_words(frame: Frame | None) -> str:
    """The rows that a window looks at, by their places; nothing for those that it has by itself."""
    if frame is None:
        return ""
    first, last = (_place_words(place, side) for place, side in zip(frame, ("PRECEDING", "FOLLOWING"), strict=True))
    return f" ROWS BETWEEN {first} AND {last}"


def _place_words(place: int | None, side: str) -> str:
    if place is None:
        return f"UNBOUNDED {side}"
    return "CURRENT ROW" if place == 0 else f"{abs(place)} {'PRECEDING' if place < 0 else 'FOLLOWING'}"
