"""Chapter: a budget fixed in advance, and an analyst who asks until it is gone."""

from __future__ import annotations

from hubbub.accounting import LOSS_UNIT, EitherWayFilter
from hubbub.mechanisms import DiscreteGaussian
from hubbub.render import Figure, Section
from hubbub.render.charts import Panel, Series, step_chart
from hubbub.studies.demo.hospital import Hospital
from hubbub.terms import BudgetExceeded


def chapter(hospital: Hospital) -> Section:
    """Ask the same count again and again, and average: the attack that budgets are for."""
    mechanism = DiscreteGaussian(sensitivity=1, epsilon=0.1, delta=1e-7)
    budget, answers, spent = EitherWayFilter(epsilon=1, delta=1e-6), [], [0.0]
    truth = hospital.count(lambda patient: patient.diagnosis == "flu")
    while True:
        try:
            budget.append(mechanism.event)  # charged first: no answer without it
        except BudgetExceeded as refused:
            words = refused.what
            break
        answers.append(mechanism.release(truth))
        spent.append(budget.spent.loss / LOSS_UNIT)
    mean = sum(answers) / len(answers)
    spread = mechanism.error(0.95) / len(answers) ** 0.5
    return Section(
        "4. A budget that cannot be overspent",
        (
            "Noise averages out, so somebody who may ask for ever learns everything. Here an analyst asks for the "
            f"number of flu patients again and again, at epsilon = 0.1 and delta = 1e-7 (±{mechanism.error(0.95)}) "
            "each, under a budget of epsilon = 1 and delta = 1e-6.",
            f"After {len(answers)} answers the budget says no: {words} Adding up epsilons alone would have stopped at "
            "10. A budget is counted both ways, in epsilon and in rho, and an answer passes while one of them has "
            "room: rho knows what Gaussian noise costs together, and with Laplace noise ten "
            f"answers at epsilon = 0.1 fit, as everybody expects. The average of all answers is {mean:.1f} ± "
            f"{spread:.1f}, no closer to anybody than the budget allows.",
        ),
        figure=_draw_spending(spent),
    )


def _draw_spending(spent: list[float]) -> Figure:
    points = tuple((float(i), rho) for i, rho in enumerate(spent))
    svg = step_chart(
        Panel("rho spent", (Series("spent", points, filled=True),), include=(0.0,)),
        title="What was spent, answer by answer",
        description=f"A staircase of {len(spent) - 1} equal steps up to rho = {spent[-1]:.4f}.",
        x="answers",
    )
    return Figure("budget", svg, "Each answer is charged before it is computed; one more step would not fit.")
