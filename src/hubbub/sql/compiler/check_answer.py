"""What cannot be told although every part of it can: answers without an interval, totals that do not add up."""

from __future__ import annotations

from hubbub.sql.compiler.query_plan import AggregatePlan, PlannedColumn, SumKind, can_evaluate, can_tell
from hubbub.sql.compiler.question import Question
from hubbub.terms import NoKeys, NotAllowed


def check_answer(question: Question, plan: AggregatePlan, *, gaussian: bool) -> None:
    """Refuse what cannot be told although every part of it can."""
    if not plan.measures and not plan.curves:
        raise NotAllowed(
            "nothing is asked about people here.",
            why="The keys are public already; only aggregates tell something.",
            fix="Add COUNT(*), SUM, AVG or a quantile.",
        )
    for output in plan.outputs:
        _check_output(output)
    _check_after_noise(plan)
    _check_sizes(plan)
    if question.levels:
        _check_levels(plan, gaussian)
    if plan.curves and plan.number is None:
        raise NoKeys(
            "quantiles by keys that are not public cannot be told.",
            why="A curve is measured for every key, also for those that nobody has.",
            fix="Declare the values of the key, or ask for COUNT, SUM and AVG.",
        )


def _check_output(output: PlannedColumn) -> None:
    """Refuse a column that could not carry an interval."""
    if not can_tell(output.value) and output.value.op != "literal":
        raise NotAllowed(
            f"{output.name!r} does more with its aggregates than can be carried with an interval.",
            why="Every number leaves with an interval; arithmetic, ROUND, ABS, SQRT, LN, EXP, LEAST and GREATEST "
            "keep one.",
            fix="Select the aggregates and work the rest out from the release.",
        )


def _check_after_noise(plan: AggregatePlan) -> None:
    """Refuse what HAVING and ORDER BY could not work out from noisy rows."""
    for part in (*([plan.having] if plan.having is not None else []), *(each.value for each in plan.order)):
        if not can_evaluate(part):
            raise NotAllowed(
                "HAVING or ORDER BY does more with the noisy rows than can be worked out here.",
                why="They are worked out from the release: comparisons, logic, CASE and arithmetic.",
                fix="Put conditions on keys into WHERE, and work the rest out from the release.",
            )


def _check_sizes(plan: AggregatePlan) -> None:
    """Refuse sums that no row can move."""
    for measure in plan.measures:
        if measure.largest == 0:
            raise NotAllowed(
                f"{measure.name} is 0 whatever the data are.",
                why="The declared bounds leave no other value.",
                fix="Leave it out, or check the bounds and CLIP.",
            )


def _check_levels(plan: AggregatePlan, gaussian: bool) -> None:
    """Refuse totals that would not be sums of the finest groups, with noise of a known distribution."""
    values = [output.value for output in plan.outputs]
    if (
        plan.number is None
        or not gaussian
        or plan.curves
        or any(part.value not in values for part in plan.order)
        or any(measure.counted is not SumKind.SUM for measure in plan.measures)
    ):
        raise NotAllowed(
            "ROLLUP, CUBE and GROUPING SETS need public keys, a budget with delta, sums and counts of rows, and ORDER "
            "BY columns of the answer.",
            why="Totals are sums over the finest groups, whose noise must add up to a known law.",
            fix="Ask for each level by itself, joined by UNION ALL.",
        )
