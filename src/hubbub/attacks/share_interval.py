"""An honest interval for a share that was counted."""

from __future__ import annotations


def clopper_pearson(hits: int, tries: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """The Clopper-Pearson interval for the chance behind ``hits`` out of ``tries``.

    Guarantee: it holds the true chance with at least that confidence, whatever that chance is.
    Because: [CP34]: it inverts the exact binomial test on either side.

    >>> low, high = clopper_pearson(0, 100)
    >>> low, round(high, 3)
    (0.0, 0.036)
    """
    from scipy.special import betaincinv

    tail = (1 - confidence) / 2
    low = float(betaincinv(hits, tries - hits + 1, tail)) if hits else 0.0
    high = float(betaincinv(hits + 1, tries - hits, 1 - tail)) if hits < tries else 1.0
    return low, high
