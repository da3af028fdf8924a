"""Group privacy: what a guarantee for one unit means for k of them."""

from __future__ import annotations

import math
from fractions import Fraction

from hubbub.terms import ApproximateDP, PureDP, Real, ZeroConcentratedDP, fraction_of, positive, round_up, whole


def pure(*, epsilon: Real, size: int) -> PureDP:
    """An epsilon-DP mechanism is k epsilon-DP for groups of k.

    Guarantee: k epsilon-DP for any ``size`` = k units.
    Because: [DR14, Thm. 2.2].
    """
    return PureDP(positive(epsilon, name="epsilon") * whole(size, name="size"))


def approximate(*, epsilon: Real, delta: Real, size: int) -> ApproximateDP:
    """An (epsilon, delta)-DP mechanism for groups of k: delta grows by 1 + e^epsilon + ... + e^((k-1) epsilon).

    The lectures state the simpler and larger k e^((k-1) epsilon) delta.

    Guarantee: (k epsilon, (e^(k epsilon) - 1)/(e^epsilon - 1) delta)-DP for any ``size`` = k units.
    Because: [Vad17, Lem. 2.2].
    """
    e, count = positive(epsilon, name="epsilon"), whole(size, name="size")
    d = fraction_of(delta, name="delta", zero=True)
    if count * e > 700:
        return ApproximateDP(count * e, Fraction(1) if d else d)
    growth = Fraction(1) if count == 1 else round_up(math.expm1(float(count * e)) / math.expm1(float(e)), steps=8)
    return ApproximateDP(count * e, min(Fraction(1), d * growth))


def concentrated(*, rho: Real, size: int) -> ZeroConcentratedDP:
    """A rho-zCDP mechanism is k^2 rho-zCDP for groups of k.

    Guarantee: k^2 rho-zCDP for any ``size`` = k units.
    Because: [BS16, Prop. 1.9].
    """
    return ZeroConcentratedDP(positive(rho, name="rho") * whole(size, name="size") ** 2)


def local(*, epsilon: Real, size: int, delta: Real) -> ApproximateDP:
    """Advanced grouposition: in the local model a group of k pays about sqrt(k), not k.

    Each of the k people randomizes alone, so their losses are independent and concentrate.

    Guarantee: (k epsilon^2/2 + epsilon sqrt(2 k ln(1/delta)), delta)-DP for any ``size`` = k people, if each
    report is epsilon-DP and no report depends on another person's; never more than k epsilon.
    Because: [BNS19, Thm. 4.2]; the expected loss is at most epsilon^2/2 and Hoeffding's inequality.

    >>> round(float(local(epsilon=0.1, size=100, delta=1e-6).epsilon), 3)
    5.757
    """
    e, count = positive(epsilon, name="epsilon"), whole(size, name="size")
    d = fraction_of(delta, name="delta")
    spread = float(e) * math.sqrt(2 * count * math.log(1 / float(d)))
    return ApproximateDP(min(count * e, count * e**2 / 2 + round_up(spread, steps=4)), d)
