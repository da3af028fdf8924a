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
from hubbub.accounting.calibration import noise_for
from hubbub.accounting.epsilon_bounds import Delta, Epsilon, delta, epsilon
from hubbub.accounting.gaussian_tradeoff import classic_sigma
from hubbub.terms import Compose, Parallel, Poisson, Repeat, WithoutReplacement

__all__ = [
    "Compose",
    "Delta",
    "Epsilon",
    "Parallel",
    "Poisson",
    "Repeat",
    "WithoutReplacement",
    "amplification",
    "classic_sigma",
    "composition",
    "conversions",
    "delta",
    "epsilon",
    "filters",
    "gaussian",
    "groups",
    "limits",
    "noise_for",
    "pld",
    "rdp",
]
