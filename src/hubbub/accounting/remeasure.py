"""Ask the same question with more accuracy, and pay for the difference.

Gaussian noise adds up in precision: an answer with noise sigma_1 and a second, independent one with sigma_d, weighted
by 1/sigma^2, are together as accurate as one with 1/sigma_2^2 = 1/sigma_1^2 + 1/sigma_d^2, and cost
rho_1 + rho_d = rho_2. So whoever has the first pays rho_2 - rho_1. No other noise does this: there the full price
is due.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from hubbub.terms import Compose, Event, GaussianNoise, OutOfRange, WrongShape, root_of


@dataclass(frozen=True, slots=True)
class Remeasurement:
    """What to draw and charge now, and how to put old and new together.

    ``weights`` are (old, new) for each Gaussian of the event and add up to one; None where the old answer cannot help.
    """

    event: Event
    weights: tuple[tuple[Fraction, Fraction], ...] | None
    words: str

    def combine(self, old: Sequence[Fraction], new: Sequence[Fraction], *, part: int = 0) -> list[Fraction]:
        """Old and new values of one Gaussian of the event, weighted by precision, exactly."""
        if len(old) != len(new):
            raise WrongShape(
                f"{len(old)} old values and {len(new)} new ones cannot be put together.",
                why="A remeasurement answers the same question, for the same keys.",
                fix="Remeasure with the same version, bounds and keys.",
            )
        if self.weights is None:
            return [Fraction(value) for value in new]
        first, second = self.weights[part]
        return [first * Fraction(a) + second * Fraction(b) for a, b in zip(old, new, strict=True)]


def remeasure(spent: Sequence[Event], target: Event) -> Remeasurement:
    """How to reach the accuracy of ``target`` after the events ``spent`` on the same question.

    Guarantee: the events spent and the one returned are together (sum of rho)-zCDP, at most that of ``target`` plus
    nothing: the new sigma is rounded up, so its rho is at most the difference.
    Because: zCDP adds up [BS16, Lem. 2.3], and weighting old and new answers looks at no data (post-processing).

    >>> from hubbub.mechanisms import DiscreteGaussian
    >>> first, better = (DiscreteGaussian(sensitivity=1, sigma=sigma).event for sigma in (40, 20))
    >>> plan = remeasure([first], better)
    >>> float(first.rho + plan.event.rho) <= float(better.rho), plan.words
    (True, 'costs the difference: rho = 0.0009375')
    """
    wanted = _gaussian_parts(target)
    had = [_gaussian_parts(event) for event in spent]
    if wanted is None or not had or any(h is None or not _same_shape(h, wanted) for h in had):
        return Remeasurement(target, None, "costs the full price: only Gaussian answers to the same question add up")
    precisions = [sum(((1 / h[i].sigma) ** 2 for h in had if h), Fraction(0)) for i in range(len(wanted))]
    parts = [_missing_noise(old, step) for old, step in zip(precisions, wanted, strict=True)]
    event = parts[0] if len(parts) == 1 else Compose(tuple(parts))
    weights = tuple(
        (old / (old + 1 / part.sigma**2), 1 / part.sigma**2 / (old + 1 / part.sigma**2))
        for old, part in zip(precisions, parts, strict=True)
    )
    rho = float(sum(part.rho for part in parts))
    return Remeasurement(event, weights, f"costs the difference: rho = {rho:.6g}")


def _gaussian_parts(event: Event) -> list[GaussianNoise] | None:
    """The Gaussians an event consists of, or None if anything else is in it."""
    if isinstance(event, GaussianNoise):
        return [event]
    if not isinstance(event, Compose):
        return None
    inner = [_gaussian_parts(part) for part in event.events]
    return None if None in inner else [step for part in inner if part is not None for step in part]


def _same_shape(had: list[GaussianNoise], wanted: list[GaussianNoise]) -> bool:
    names = ("sensitivity", "grid", "dimension", "neighbours", "unit", "mechanism")
    return len(had) == len(wanted) and all(
        getattr(a, name) == getattr(b, name) for a, b in zip(had, wanted, strict=True) for name in names
    )


def _missing_noise(precision: Fraction, wanted: GaussianNoise) -> GaussianNoise:
    """The Gaussian that is missing between a precision and the one wanted, its sigma rounded up."""
    missing = 1 / wanted.sigma**2 - precision
    if missing <= 0:
        raise OutOfRange(
            "the answer there is already has that accuracy.",
            why="A remeasurement adds accuracy; it cannot take any away, and nothing is refunded.",
            fix="Use the stored answer, or ask for less noise.",
        )
    finest = 1 << 40  # sigma is rounded up by less than 2^-50 of itself
    sigma = root_of((1 / missing) * finest**2) / finest
    return GaussianNoise(
        sigma=sigma,
        sensitivity=wanted.sensitivity,
        grid=wanted.grid,
        dimension=wanted.dimension,
        neighbours=wanted.neighbours,
        unit=wanted.unit,
        mechanism=wanted.mechanism,
    )
