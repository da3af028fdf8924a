"""Question, aggregates and bounds -> plan: everything that is decided before data is read."""

from __future__ import annotations

from dataclasses import replace

from hubbub.relations import limits
from hubbub.sql.compiler import fan_out
from hubbub.sql.compiler.bound_contribution import Bounded
from hubbub.sql.compiler.query_plan import AggregatePlan, BoundedSum, GroupKey, QuestionPlan
from hubbub.sql.compiler.question import Question


def plan_question(question: Question, aggregates: AggregatePlan, bounded: Bounded, *, texts: bool) -> QuestionPlan:
    """The plan of a question; ``texts`` tells whether it works on texts, of which only a part is looked at."""
    return QuestionPlan(
        source=question.source,
        where=question.where,
        keys=aggregates.keys,
        measures=_fine_measures(aggregates.measures, bounded),
        curves=aggregates.curves,
        bounding=bounded.bounding,
        moved=bounded.moved,
        curve_rows=bounded.curve_rows,
        weights=aggregates.weights,
        outputs=aggregates.outputs,
        having=aggregates.having,
        order=aggregates.order,
        limit=question.limit,
        offset=question.offset,
        levels=question.levels,
        notes=_plan_notes(question, aggregates.keys, texts),
        clamped=aggregates.clamped,
    )


def _fine_measures(measures: tuple[BoundedSum, ...], bounded: Bounded) -> tuple[BoundedSum, ...]:
    """The measures in parts of a step, where totals are scaled down in such parts."""
    fine = bounded.bounding.fine
    if not fine:
        return measures
    return tuple(replace(measure, fine=parts) for measure, parts in zip(measures, fine, strict=True))


def _plan_notes(question: Question, keys: tuple[GroupKey, ...], texts: bool) -> tuple[str, ...]:
    public = [key.name for key in keys if key.domain is not None]
    notes = [f"Rows with no {' or '.join(public)}, or one outside the public values, are left out."] if public else []
    if question.today is not None:
        notes.append(
            f"CURRENT_DATE is {question.today} here, and NOW() its first moment (UTC): the day of the question."
        )
    if question.levels:
        notes.append("Totals of several groups are sums of these groups: what is left out of them is in no total.")
    if len(public) < len(keys):
        notes.append("Groups of few people usually do not appear, and some others may be missing by chance.")
    if texts:
        notes.append(f"Of a text the first {limits.TEXT:,} characters are looked at.")
    return (*notes, *dict.fromkeys(fan_out.join_notes(question.source)))
