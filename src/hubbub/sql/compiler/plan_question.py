"""Question, aggregates and bounds -> plan: everything that is decided before data is read."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from hubbub.relations import limits, readable
from hubbub.sql.compiler import fan_out
from hubbub.sql.compiler.bound_contribution import Bounded
from hubbub.sql.compiler.query_plan import (
    AggregatePlan,
    BoundedSum,
    GroupKey,
    QuestionPlan,
    price_groups,
    whole_shares,
)
from hubbub.sql.compiler.question import Question


def plan_question(
    question: Question, aggregates: AggregatePlan, bounded: Bounded, *, gaussian: bool, texts: bool
) -> QuestionPlan:
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
        weights=_joint_shares(aggregates, bounded.joint, gaussian=gaussian),
        outputs=aggregates.outputs,
        having=aggregates.having,
        order=aggregates.order,
        limit=question.limit,
        offset=question.offset,
        levels=question.levels,
        one_level=question.one_level,
        notes=_plan_notes(question, aggregates.keys, texts),
        clamped=aggregates.clamped,
        joint=bounded.joint,
        selection=bounded.selection,
    )


def _joint_shares(
    aggregates: AggregatePlan, joint: tuple[tuple[int, ...], ...], *, gaussian: bool
) -> tuple[Fraction, ...]:
    """The shares of the cost, where each group of joint measures has one: by the importance of all of them.

    Shares are as importances for Gaussian noise, and as their powers 2/3 for Laplace noise; importances add up as
    squares.
    """
    if joint == aggregates.joint:
        return aggregates.weights
    measures, power = len(aggregates.measures), 2.0 if gaussian else 3.0
    groups = price_groups(measures, joint)
    units = price_groups(measures, aggregates.joint)
    first = {unit[0]: float(aggregates.weights[unit[0]]) for unit in units}  # each unit once
    parts = [math.fsum(first[i] ** power for i in group if i in first) ** (1 / power) for group in groups]
    shares = whole_shares([*parts, *map(float, aggregates.weights[measures:])])
    place = {i: shares[number] for number, group in enumerate(groups) for i in group}
    return (*(place[i] for i in range(measures)), *shares[len(groups) :])


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
    if question.one_level:
        notes.append(
            "Levels are measured each by itself, for equal shares of the price: totals count all rows, also those "
            "without a public key, and are no sums of their groups."
        )
    if len(public) < len(keys):
        notes.append("Groups of few people usually do not appear, and some others may be missing by chance.")
    notes += [_long_key_note(key) for key in keys if key.possible]
    if texts:
        notes.append(f"Of a text the first {limits.TEXT:,} characters are looked at.")
    return (*notes, *dict.fromkeys(fan_out.join_notes(question.source)))


def _long_key_note(key: GroupKey) -> str:
    return (
        f"The {key.possible:,} values that {key.name} can have are too many to have a row each, so those of many "
        f"people are chosen. Fewer are listed: WHERE {readable(key.value)} BETWEEN ... AND ..., or a coarser key."
    )
