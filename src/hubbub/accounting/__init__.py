"""What events cost together.

- ``epsilon(events, delta=...)``, ``delta(events, epsilon=...)``: the least of all valid bounds
- ``noise_for``: how much noise a target asks for
- ``filters``: budgets while steps are chosen adaptively; odometers; ``limits``: the arithmetic under them
- ``composition``, ``amplification``, ``groups``, ``conversions``: the theorems of the lectures, one by one
- ``rdp`` (the moments accountant), ``pld`` (privacy-loss distributions), ``gaussian``: single currencies
- ``Compose``, ``Repeat``, ``Parallel``, ``Poisson``, ``WithoutReplacement``: how events are put together
"""

from hubbub.accounting import amplification, composition, conversions, filters
from hubbub.accounting import budget_limits as limits
from hubbub.accounting import gaussian_tradeoff as gaussian
from hubbub.accounting import group_privacy as groups
from hubbub.accounting import privacy_loss_distribution as pld
from hubbub.accounting import renyi as rdp
from hubbub.accounting.budget_limits import (
    DELTA_UNIT,
    LOSS_UNIT,
    OWN_DELTA,
    Amount,
    Currency,
    Limit,
    cost_in,
    covers,
    price_fits,
)
from hubbub.accounting.calibration import noise_for
from hubbub.accounting.conversions import renyi_epsilon, rho_epsilon, rho_for
from hubbub.accounting.costs import concentrated
from hubbub.accounting.epsilon_bounds import Delta, Epsilon, delta, epsilon, quick_epsilon
from hubbub.accounting.filters import ConcentratedFilter
from hubbub.accounting.gaussian_tradeoff import classic_sigma, delta_of, epsilon_of, mu_for, sigma_for
from hubbub.accounting.remeasure import Remeasurement, remeasure
from hubbub.terms import Compose, Parallel, Poisson, Repeat, WithoutReplacement

__all__ = [
    "DELTA_UNIT",
    "LOSS_UNIT",
    "OWN_DELTA",
    "Amount",
    "Compose",
    "ConcentratedFilter",
    "Currency",
    "Delta",
    "Epsilon",
    "Limit",
    "Parallel",
    "Poisson",
    "Remeasurement",
    "Repeat",
    "WithoutReplacement",
    "amplification",
    "classic_sigma",
    "composition",
    "concentrated",
    "conversions",
    "cost_in",
    "covers",
    "delta",
    "delta_of",
    "epsilon",
    "epsilon_of",
    "filters",
    "gaussian",
    "groups",
    "limits",
    "mu_for",
    "noise_for",
    "pld",
    "price_fits",
    "quick_epsilon",
    "rdp",
    "remeasure",
    "renyi_epsilon",
    "rho_epsilon",
    "rho_for",
    "sigma_for",
]
