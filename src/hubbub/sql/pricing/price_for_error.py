"""An error -> a price: the cheapest noise with which every column keeps within the error that was asked for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from hubbub.accounting import Limit
from hubbub.relations import Expr
from hubbub.sql.compiler.query_plan import AggregateReading, How, NoiseKind, QuestionPlan, readings_in, whole_shares
from hubbub.sql.pricing.error_prediction import assumed_count, predict_errors
from hubbub.sql.pricing.noise_allocation import NoiseAllocation
from hubbub.sql.pricing.price import Price, PriceTerms, price_in_epsilon, price_in_rho
from hubbub.sql.pricing.promised_error import keeps_mean, mean_reach
from hubbub.sql.quote import QueryPlan, quote_plan
from hubbub.terms import CannotPromise, exact, fraction_of, positive

_DEAREST, _CHEAPEST = 10**12, Fraction(1, 10**12)  # prices between which a search makes sense


def price_within(planned: QueryPlan, terms: PriceTerms, limit: Limit) -> tuple[QueryPlan, Price]:
    """The price at which the error of every column is at most ``within``, and the plan that shares it accordingly."""
    wanted = float(positive(terms.within, name="within"))
    level = float(fraction_of(terms.confidence, name="confidence"))
    reckoned = None if terms.assume is None else exact(terms.assume, name="assume")
    _check_promise(planned, reckoned)
    laplace = planned.noise is NoiseKind.LAPLACE
    planned = replace(planned, plans=tuple(_share_cost(plan, reckoned, laplace) for plan in planned.plans))

    def price(amount: Fraction) -> Price:
        if laplace:
            return price_in_epsilon(amount, planned.noise, limit, choosing=planned.chooses_keys)
        return price_in_rho(amount, limit, choosing=planned.chooses_keys)

    def enough(amount: Fraction) -> bool:
        return _keeps_promise(planned, price(amount), level, reckoned, wanted)

    return planned, price(_least_price(enough))


def lacks_count(planned: QueryPlan) -> bool:
    """Whether an error could be promised if it were known how many rows each group has, and is not without that."""
    if planned.chooses_keys or len(planned.plans) > 1:
        return False
    _check_promise(planned, Fraction(1))
    [plan] = planned.plans
    readings = [reading for output in plan.outputs for reading in readings_in(output.value)]
    return any(reading.how is How.MEAN for reading in readings) and not assumed_count(plan, None)


def _least_price(enough: Callable[[Fraction], bool]) -> Fraction:
    """The least amount that is enough, to a thousandth; errors never grow with the price."""
    low, high = Fraction(1, 2), Fraction(1)
    while not enough(high):
        low, high = high, 4 * high
        if high > _DEAREST:
            raise CannotPromise(
                "no noise that is any is so exact.",
                why="Values are told on their grid (counts in whole numbers), and no error is finer than that.",
                fix="Ask for a larger error.",
            )
    while enough(low) and low > _CHEAPEST:
        low, high = low / 4, low
    while high / low > Fraction(1001, 1000):
        middle = Fraction(math.sqrt(low * high)).limit_denominator(10**15)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _share_cost(plan: QuestionPlan, reckoned: Fraction | None, laplace: bool) -> QuestionPlan:
    """The plan with the cost shared so that every column comes out equally exact, in its own units."""
    groups = plan.groups
    place = {index: number for number, group in enumerate(groups) for index in group}
    needs = [0.0] * (len(groups) + len(plan.weights) - len(plan.measures))
    for output in plan.outputs:
        for reading in readings_in(output.value):
            spread = _noise_effects(reading, plan, reckoned, laplace)
            for index, part in spread.items():
                need = part if laplace else part * sum(spread.values())  # a mean's two noises share its error
                needs[place[index]] = max(needs[place[index]], need)
    if not any(needs):
        return plan
    least = max(needs) / 1000  # what only chooses groups still needs something
    shares = whole_shares([max(need, least) for need in needs])
    each = (shares[place[index]] for index in range(len(plan.measures)))
    return replace(plan, weights=(*each, *shares[len(groups) :]))


def _noise_effects(
    reading: AggregateReading, plan: QuestionPlan, reckoned: Fraction | None, laplace: bool
) -> dict[int, float]:
    """How much each measure's noise moves the column, at one unit of cost."""
    moved = {
        i: float((plan.moved[i].l1 if laplace else plan.moved[i].l2) * plan.measures[i].unit) for i in reading.measures
    }
    if reading.how in (How.REF, How.CHOSEN):
        return moved
    if reading.how is How.LINEAR:
        weights = zip(reading.measures, reading.weights, strict=True)
        return {index: moved[index] * abs(float(weight)) for index, weight in weights}
    total, count = reading.measures[:2]
    rows = assumed_count(plan, reckoned) or 1.0
    if reading.lines:  # the parts of a value share a price: how it is shared among them is no question
        return {index: size / rows for index, size in moved.items()}
    return {total: moved[total] / rows, count: moved[count] / rows * float(mean_reach(reading))}


def _keeps_promise(planned: QueryPlan, price: Price, level: float, reckoned: Fraction | None, wanted: float) -> bool:
    """Whether each column of each group is off by at most ``wanted`` with that noise, whatever the data are."""
    quote = quote_plan(planned, price)
    return all(
        _plan_keeps(plan, spent, level, reckoned, wanted)
        for plan, spent in zip(planned.plans, quote.spent, strict=True)
    )


def _plan_keeps(
    plan: QuestionPlan, spent: NoiseAllocation, level: float, reckoned: Fraction | None, wanted: float
) -> bool:
    """The same of one plan; what previews say of averages is less than what is kept, and not worked out."""
    rows = assumed_count(plan, reckoned) or 0.0
    means = [output.value.param for output in plan.outputs if _is_mean(output.value)]
    others = replace(plan, outputs=tuple(output for output in plan.outputs if not _is_mean(output.value)))
    return all(keeps_mean(mean, plan, spent, rows=rows, wanted=wanted, confidence=level) for mean in means) and all(
        each.error is None or each.error <= wanted
        for each in predict_errors(others, spent, confidence=level, assume=reckoned)
    )


def _is_mean(value: Expr) -> bool:
    return value.op == "read" and value.param.how is How.MEAN


def _check_promise(planned: QueryPlan, reckoned: Fraction | None) -> None:
    """Refuse what no public fact can promise."""
    for plan in planned.plans:
        for output in plan.outputs:
            for reading in readings_in(output.value):
                if output.value.op != "read" or reading.how in (How.QUANTILE, How.VARIANCE):
                    raise _refuse_promise(output.name, "Its error depends on the data, or on several noisy numbers.")
                if reading.how is How.MEAN and not assumed_count(plan, reckoned):
                    why = "The error of an average depends on how many rows there are."
                    raise _refuse_promise(output.name, why, "assume=1000 (rows per group), or ")


def _refuse_promise(name: str, why: str, assumed: str = "") -> CannotPromise:
    return CannotPromise(
        f"no error can be promised for {name!r}.",
        why=why,
        fix=f"Give {assumed}a price (epsilon=...) and read the interval of the answer.",
    )
