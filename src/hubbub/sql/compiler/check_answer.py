"""What cannot be told although every part of it can: answers without an interval, totals that do not add up."""

from __future__ import annotations

from hubbub.relations import Expr
from hubbub.schema import Kind
from hubbub.sql.compiler.query_plan import AggregatePlan, PlannedColumn, SumKind, quantile_readings
from hubbub.sql.compiler.question import Question
from hubbub.terms import NotAllowed, TooLarge

_ARITHMETIC = {"add", "sub", "mul", "div", "neg", "abs", "round", "floor", "ceil", "sqrt", "ln", "exp"}
_ARITHMETIC |= {"least", "greatest", "coalesce"}
_EVALUATED = _ARITHMETIC | {"mod", "trunc", "sign", "and", "or", "not", "eq", "ne", "lt", "le", "gt", "ge", "in"}
_EVALUATED |= {"isnull", "same", "nullif", "case"}

MOST_AT_ONCE = 20  # quantiles of one value by keys that are not public


def check_answer(question: Question, plan: AggregatePlan) -> None:
    """Refuse what cannot be told although every part of it can."""
    if not plan.measures and not plan.curves and not plan.tells_people:
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
        _check_levels(plan)
    if plan.number is None:
        _check_levels_at_once(plan)


def _check_levels_at_once(plan: AggregatePlan) -> None:
    """Refuse more quantiles by keys that are chosen than one choice of cells can tell."""
    readings = quantile_readings(plan)
    if any(sum(each.curve == curve for each in readings) > MOST_AT_ONCE for curve in range(len(plan.curves))):
        raise TooLarge(
            f"by keys that are not public at most {MOST_AT_ONCE} quantiles of one value can be told at once.",
            why="More of them are read off a curve, which is measured for every key, also for those that nobody has.",
            fix="Declare the values of the key, or ask for fewer levels.",
        )


def _check_output(output: PlannedColumn) -> None:
    """Refuse a column that could not carry an interval."""
    if not _can_tell(output.value) and output.value.op != "literal":
        raise NotAllowed(
            f"{output.name!r} does more with its aggregates than can be carried with an interval.",
            why="Every number leaves with an interval; arithmetic, ROUND, ABS, SQRT, LN, EXP, LEAST and GREATEST "
            "keep one.",
            fix="Select the aggregates and work the rest out from the release.",
        )


def _check_after_noise(plan: AggregatePlan) -> None:
    """Refuse what HAVING and ORDER BY could not work out from noisy rows."""
    for part in (*([plan.having] if plan.having is not None else []), *(each.value for each in plan.order)):
        if not _can_evaluate(part):
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


def _check_levels(plan: AggregatePlan) -> None:
    """Refuse totals that would not be sums of the finest groups."""
    values = [output.value for output in plan.outputs]
    if (
        plan.number is None
        or plan.curves
        or any(part.value not in values for part in plan.order)
        or any(measure.counted is not SumKind.SUM for measure in plan.measures)
    ):
        raise NotAllowed(
            "with ROLLUP, CUBE and GROUPING SETS, ORDER BY takes columns of the answer; and beside people, distinct "
            "values, quantiles or keys that are not public, a key stands by itself.",
            why="The levels are put below each other, with keys that some of them do not have.",
            fix="Ask for each level by itself, joined by UNION ALL.",
        )


def _can_tell(value: Expr) -> bool:
    """Whether arithmetic on aggregates is such that a release can carry an interval through it."""
    if value.op in ("key", "read", "grouping"):
        return True
    return _is_number(value) or (
        (value.op in _ARITHMETIC or _keeps_number(value)) and all(_can_calculate(arg) for arg in value.args)
    )


def _can_calculate(value: Expr) -> bool:
    return value.kind.is_number and _can_tell(value)


def _is_number(value: Expr) -> bool:
    return value.op == "literal" and value.kind.is_number


def _keeps_number(value: Expr) -> bool:
    """Whether it is a cast of a number that changes nothing: to DOUBLE, or of a whole number to BIGINT."""
    if value.op != "cast" or value.param.width or value.param.name:
        return False
    return value.kind is Kind.NUMBER or value.args[0].facts.number.is_integer


def _can_evaluate(value: Expr) -> bool:
    """Whether HAVING and ORDER BY know how to work it out on noisy rows."""
    if value.op in ("key", "read", "output", "literal", "grouping"):
        return True
    return (value.op in _EVALUATED or _keeps_number(value)) and all(_can_evaluate(arg) for arg in value.args)
