"""An error -> a price: the cheapest noise with which every column keeps within the error that was asked for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from hubbub.sql.compiler.query_plan import AggregateReading, How, QuestionPlan, readings_in
from hubbub.sql.error_prediction import assumed_count, predict_errors
from hubbub.sql.price import Price
from hubbub.sql.quote import QueryPlan, quote_plan
from hubbub.terms import Budget, CannotPromise, MissingParameter, Real, exact, fraction_of, positive

_DEAREST, _CHEAPEST = 10**12, Fraction(1, 10**12)  # prices between which a search makes sense


def price_within(
    planned: QueryPlan,
    budget: Budget,
    *,
    within: Real,
    confidence: Real,
    assume: Real | None,
    others: tuple[object, ...],
) -> tuple[QueryPlan, Price]:
    """The price at which the error of every column is at most ``within``, and the plan that shares it accordingly."""
    if any(other is not None for other in others):
        raise MissingParameter(
            "within goes without epsilon, delta and rho.",
            why="Either the cost is given or the error, and the other follows.",
            fix="Leave one of them out.",
        )
    wanted = float(positive(within, name="within"))
    level = float(fraction_of(confidence, name="confidence"))
    reckoned = None if assume is None else exact(assume, name="assume")
    _check_promise(planned, reckoned)
    pure = budget.epsilon is not None and budget.delta == 0
    planned = replace(planned, plans=tuple(_share_cost(plan, reckoned, pure) for plan in planned.plans))

    def enough(amount: Fraction) -> bool:
        return _worst_error(planned, _price_of_amount(amount, budget, pure), level, reckoned) <= wanted

    return planned, _price_of_amount(_least_price(enough), budget, pure)


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


def _share_cost(plan: QuestionPlan, reckoned: Fraction | None, pure: bool) -> QuestionPlan:
    """The plan with the cost shared so that every column comes out equally exact, in its own units."""
    needs = [0.0] * len(plan.weights)
    for output in plan.outputs:
        for reading in readings_in(output.value):
            spread = _noise_effects(reading, plan, reckoned, pure)
            for index, part in spread.items():
                need = part if pure else part * sum(spread.values())  # a mean's two noises share its error
                needs[index] = max(needs[index], need)
    if not any(needs):
        return plan
    least = max(needs) / 1000  # what only chooses groups still needs something
    whole = [max(1, round(max(need, least) / max(needs) * 1_000_000)) for need in needs]
    return replace(plan, weights=tuple(Fraction(part, sum(whole)) for part in whole))


def _noise_effects(
    reading: AggregateReading, plan: QuestionPlan, reckoned: Fraction | None, pure: bool
) -> dict[int, float]:
    """How much each measure's noise moves the column, at one unit of cost."""
    moved = {
        i: float((plan.moved[i].l1 if pure else plan.moved[i].l2) * plan.measures[i].unit) for i in reading.measures
    }
    if reading.how in (How.REF, How.CHOSEN):
        return moved
    total, count = reading.measures[:2]
    rows = assumed_count(plan, reckoned) or 1.0
    assert reading.lower is not None and reading.upper is not None
    return {total: moved[total] / rows, count: moved[count] / rows * float(reading.upper - reading.lower) / 4}


def _price_of_amount(amount: Fraction, budget: Budget, pure: bool) -> Price:
    if pure:
        return Price(epsilon=amount)
    return Price(rho=amount, delta=budget.delta / 100)


def _worst_error(planned: QueryPlan, price: Price, level: float, reckoned: Fraction | None) -> float:
    quote = quote_plan(planned, price)
    errors = [
        each.error
        for plan, spent in zip(planned.plans, quote.spent, strict=True)
        for each in predict_errors(plan, spent, confidence=level, assume=reckoned)
    ]
    return max(error for error in errors if error is not None)


def _check_promise(planned: QueryPlan, reckoned: Fraction | None) -> None:
    """Refuse what no public fact can promise."""
    for plan in planned.plans:
        for output in plan.outputs:
            for reading in readings_in(output.value):
                if output.value.op != "read" or reading.how in (How.QUANTILE, How.VARIANCE):
                    raise _refuse_promise(output.name, "Its error depends on the data, or on several noisy numbers.")
                if reading.how is How.MEAN and not assumed_count(plan, reckoned):
                    raise _refuse_promise(output.name, "The error of an average depends on how many rows there are.")


def _refuse_promise(name: str, why: str) -> CannotPromise:
    return CannotPromise(
        f"no error can be promised for {name!r}.",
        why=why,
        fix="Give assume=1000 (rows per group), or a price (epsilon=...) and read the interval of the answer.",
    )
