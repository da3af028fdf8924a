"""What events cost together.

- ``epsilon(events, delta=...)``, ``delta(events, epsilon=...)``: the least of all valid bounds
- ``noise_for``: how much noise a target asks for
- ``filters``: budgets while steps are chosen adaptively; odometers; ``budget_limits``: the arithmetic under them;
  ``either_way``: a budget counted in epsilon and in rho at once
- ``composition``, ``amplification``, ``group_privacy``, ``conversions``: the theorems of the lectures, one by one
- ``renyi`` (the moments accountant), ``privacy_loss_distribution``, ``gaussian_tradeoff``: single currencies
- ``Compose``, ``Repeat``, ``Parallel``, ``Poisson``, ``WithoutReplacement``: how events are put together

From outside all of it is imported from here. Start with ``epsilon_bounds``, then ``costs``.
"""

from hubbub.accounting import (
    amplification,
    budget_limits,
    composition,
    conversions,
    costs,
    filters,
    gaussian_tradeoff,
    group_privacy,
    privacy_loss_distribution,
    renyi,
)
from hubbub.accounting.budget_limits import (
    DELTA_UNIT,
    LOSS_UNIT,
    UNKNOWN,
    Amount,
    Currency,
    Limit,
    cost_in,
    covers,
    price_fits,
)
from hubbub.accounting.calibration import noise_for
from hubbub.accounting.conversions import pure_epsilon_for, renyi_epsilon, rho_epsilon, rho_for
from hubbub.accounting.costs import concentrated
from hubbub.accounting.either_way import FIRST_SPLIT, SPLIT, BasicCost, DeltaSplit, basic_cost
from hubbub.accounting.epsilon_bounds import Delta, Epsilon, delta, epsilon, quick_epsilon
from hubbub.accounting.filters import ConcentratedFilter, EitherWayFilter, cost_both_ways
from hubbub.accounting.gaussian_tradeoff import classic_sigma, delta_of, epsilon_of, mu_for, sigma_for
from hubbub.accounting.remeasure import Remeasurement, remeasure
from hubbub.terms import Compose, Parallel, Poisson, Repeat, WithoutReplacement

__all__ = [
    "DELTA_UNIT",
    "FIRST_SPLIT",
    "LOSS_UNIT",
    "SPLIT",
    "UNKNOWN",
    "Amount",
    "BasicCost",
    "Compose",
    "ConcentratedFilter",
    "Currency",
    "Delta",
    "DeltaSplit",
    "EitherWayFilter",
    "Epsilon",
    "Limit",
    "Parallel",
    "Poisson",
    "Remeasurement",
    "Repeat",
    "WithoutReplacement",
    "amplification",
    "basic_cost",
    "budget_limits",
    "classic_sigma",
    "composition",
    "concentrated",
    "conversions",
    "cost_both_ways",
    "cost_in",
    "costs",
    "covers",
    "delta",
    "delta_of",
    "epsilon",
    "epsilon_of",
    "filters",
    "gaussian_tradeoff",
    "group_privacy",
    "mu_for",
    "noise_for",
    "price_fits",
    "privacy_loss_distribution",
    "pure_epsilon_for",
    "quick_epsilon",
    "remeasure",
    "renyi",
    "renyi_epsilon",
    "rho_epsilon",
    "rho_for",
    "sigma_for",
]
