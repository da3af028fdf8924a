"""``EXPLAIN PRIVATE``: where bounds, limits and noise enter a question, in words and as a tree."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hubbub.render import Document, Json, Section, TextTable
from hubbub.sql.compiler.query_plan import BoundedSum, QuestionPlan, SumKind
from hubbub.sql.compiler.question import Item, Scan, Subquery
from hubbub.sql.quote import QueryPlan

_KEY = "a secret of the connection"  # by which a person's rows are ranked
_EXPLAIN = re.compile(r"\s*EXPLAIN\s+PRIVATE\b", re.IGNORECASE)


def explained_question(text: str) -> str | None:
    """The question inside ``EXPLAIN PRIVATE ...``, or None if the text is no such request."""
    match = _EXPLAIN.match(text) if isinstance(text, str) else None
    return text[match.end() :] if match else None


@dataclass(frozen=True, slots=True)
class PlanExplanation(Document):
    """The way of one question from rows to noisy numbers."""

    planned: QueryPlan

    @property
    def title(self) -> str:
        """What is explained."""
        return "Where bounds and noise enter"

    def sections(self) -> tuple[Section, ...]:
        """One section per part of a UNION ALL."""
        many = len(self.planned.plans) > 1
        return tuple(
            section
            for i, plan in enumerate(self.planned.plans)
            for section in _plan_sections(plan, self.planned, f"Part {i + 1}: " if many else "")
        )

    def to_json(self) -> dict[str, Json]:
        """The tree, the measures and the engine's text."""
        return {
            "kind": "explanation",
            "question": self.planned.text,
            "parts": [
                {
                    "tree": list(plan_stages(plan)),
                    "bounding": plan.bound_words,
                    "measures": [
                        {"name": m.name, "l1": moved.l1, "l2_squared": moved.l2_squared, "step": float(m.unit)}
                        for m, moved in zip(plan.measures, plan.moved, strict=True)
                    ],
                    "engine": [statement.sql for statement in statements],
                }
                for plan, statements in zip(
                    self.planned.plans, self.planned.statements("duckdb", secret=_KEY), strict=True
                )
            ],
        }


def explain_plan(planned: QueryPlan) -> PlanExplanation:
    """The explanation of a planned question."""
    return PlanExplanation(planned)


def _plan_sections(plan: QuestionPlan, planned: QueryPlan, prefix: str) -> tuple[Section, ...]:
    header = ("measure", "what one row adds", "one unit moves all groups together by", "share of the cost")
    cells = tuple(
        (measure.name, _sum_words(measure), f"L1 {moved.l1:,}, L2 {moved.l2:,.6g} steps", f"{float(100 * share):.3g}%")
        for measure, moved, share in zip(plan.measures, plan.moved, plan.weights, strict=False)
    )
    cells += tuple(
        (curve.name, f"1 in one of {curve.cells:,} cells", f"{plan.curve_rows:,} rows", f"{float(100 * share):.3g}%")
        for curve, share in zip(plan.curves, plan.weights[len(plan.measures) :], strict=False)
    )
    return (
        Section(f"{prefix}From rows to noisy numbers", plan_stages(plan)),
        Section(f"{prefix}What gets noise", (), TextTable(header, cells)),
    )


def plan_stages(plan: QuestionPlan) -> tuple[str, ...]:
    """The stages, from the outside to the tables; each says what it bounds or adds."""
    lines = []
    if plan.limit is not None or plan.order or plan.having is not None:
        lines.append("after noise: HAVING, ORDER BY and LIMIT look at noisy values only")
    lines.append("noise: discrete noise from a secure source is added to each integer")
    lines.append(f"keys: {_key_words(plan)}")
    lines.append("aggregate: integers are added up per key inside the engine")
    lines.append(f"bound: {plan.bound_words}")
    lines += [f"clamp: {words}" for measure in plan.measures if (words := _clamp_words(measure))]
    if plan.where is not None:
        lines.append(f"filter: {plan.where.words()}")
    lines += [line for item in plan.source for line in _item_lines(item)]
    return tuple(lines)


def _key_words(plan: QuestionPlan) -> str:
    if plan.selection is not None:
        return f"chosen privately: {plan.selection.words()}"
    return f"{plan.size:,} public rows, also those that are empty" if plan.keys else "none, one row"


def _item_lines(item: Item) -> list[str]:
    if isinstance(item.rows, Scan):
        table = item.rows.table
        whose = "public" if table.public else "about people"
        how = {"from": "read", "inner": "join", "left": "left join"}[item.how]
        same = "" if table.public or item.how == "from" else ", on the same person's rows"
        return [f"{how}: {table.name} ({whose}){same}"]
    rows: Subquery = item.rows
    what = "select rows" if rows.keys is None else "aggregate exactly inside each person"
    return [f"subquery: {what}", *(f"  {line}" for part in rows.source for line in _item_lines(part))]


def _sum_words(measure: BoundedSum) -> str:
    if measure.counted is SumKind.PEOPLE:
        return "1 per person"
    if measure.counted is SumKind.DISTINCT:
        return "1 per distinct value"
    low, high = measure.interval
    return f"{low:,}" if low == high else f"{low:,} to {high:,} steps of {float(measure.step):g}"


def _clamp_words(measure: BoundedSum) -> str:
    if measure.value is None or measure.counted is not SumKind.SUM:
        return ""
    step = measure.step
    return f"{measure.name} to [{measure.lower:,}, {measure.upper:,}] steps of {float(step):g}"
