"""A randomizer's parameters as a configuration carries them: with every number that a client cannot work out itself.

A client in another language has whole numbers only. What follows from epsilon by an exponential or a logarithm is
written down here, is under the digest, and is compared with our own when it is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hubbub.local.randomizers.base import Randomizer, from_parameters
from hubbub.local.randomizers.bounded_means import Hybrid, Piecewise
from hubbub.local.randomizers.finite import FiniteRandomizer


def distribution_parameters(randomizer: Randomizer) -> dict[str, Any]:
    """All that determines a report, for clients.

    >>> from hubbub.local import Piecewise
    >>> sorted(distribution_parameters(Piecewise(epsilon=1, lower=0, upper=1)).keys() - {"lower", "upper", "missing"})
    ['epsilon', 'protocol', 'thresholds', 'window']
    """
    return {**randomizer.parameters(), **_derived_parameters(randomizer)}


def read_distribution(parameters: Mapping[str, Any]) -> Randomizer:
    """The randomizer with these parameters; whoever reads compares ``distribution_parameters`` of it with them."""
    worked_out = {"piecewise": {"window"}, "hybrid": {"window"}, "finite": {"epsilon"}}.get(
        str(parameters.get("protocol")), ()
    )
    return from_parameters({name: value for name, value in parameters.items() if name not in worked_out})


def _derived_parameters(randomizer: Randomizer) -> dict[str, Any]:
    if isinstance(randomizer, Piecewise | Hybrid):
        return {"window": randomizer._window.size}
    return {"epsilon": str(randomizer.epsilon)} if isinstance(randomizer, FiniteRandomizer) else {}
