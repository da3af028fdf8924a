"""The epsilon of a single report, where a theorem needs one that holds without a delta."""

from __future__ import annotations

from fractions import Fraction

from hubbub.local.randomizers.base import Randomizer
from hubbub.local.randomizers.common.values import epsilon_of
from hubbub.terms import GaussianNoise, NotProved, Real


def pure_epsilon(what: Randomizer | Real) -> Fraction:
    """The epsilon of a randomizer, or the one that is given; refused for a report that needs a delta."""
    if not isinstance(what, Randomizer):
        return epsilon_of(what)
    if isinstance(what.event, GaussianNoise):
        raise NotProved(
            f"{what.protocol} is (epsilon, delta)-LDP.",
            why="The bounds on shuffled reports and on groups here are proved for pure epsilon-LDP reports.",
            fix="Use a pure randomizer, such as Hybrid for means.",
        )
    return what.epsilon
