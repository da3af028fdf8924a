"""What noise leaves of a difference, as if it were normal: margins, and how often a guess is right."""

from __future__ import annotations

from math import erf, sqrt

SURE = 0.95  # an attacker who is right this often has learned it
NORMAL_95 = 1.959964  # so many standard deviations around it hold the exact value 95 times out of 100


def error_margin(std_dev: float) -> float:
    """How far off a number with that noise is, at most, 95 times out of 100."""
    return NORMAL_95 * std_dev


def chance_right(std_dev: float, *, apart: float = 1.0) -> float:
    """How often the better of two equally likely worlds is guessed, if their answers are so far apart.

    >>> chance_right(0), round(chance_right(1), 3), round(chance_right(100), 3)
    (1.0, 0.691, 0.502)
    """
    return (1 + erf(apart / std_dev / 2 / sqrt(2))) / 2 if std_dev else 1.0
