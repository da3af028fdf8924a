"""Membership in published frequencies: was this person among those whose shares were printed?

A study publishes, for m yes-or-no attributes (genomic variants, say), the share of its n participants who have each.
Someone who knows a person's m attributes and the shares in the general public can test whether the person took part:
every attribute leans a little towards the published share, and m of them add up [HSR08].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from hubbub.attacks.report import Attack
from hubbub.attacks.requirements import Bits, Floats, bit_array, check_lengths, finite_array
from hubbub.attacks.roc import RARE, Roc, roc_svg
from hubbub.explain import Figure
from hubbub.render import Json, out_of_100, percent, short
from hubbub.terms import OutOfRange, Unsuitable, whole


def homer_statistic(people: ArrayLike, published: ArrayLike, reference: ArrayLike) -> Floats:
    """How much nearer each person (a row of 0/1 attributes) is to the published shares than to the public's [HSR08].

    >>> homer_statistic([[1, 0], [0, 1]], published=[0.7, 0.2], reference=[0.5, 0.5]).round(3).tolist()
    [0.5, -0.5]
    """
    rows, study, public = _check_shapes(people, published, reference)
    return np.asarray((np.abs(rows - public) - np.abs(rows - study)).sum(axis=1), dtype=np.float64)


def likelihood_ratio(people: ArrayLike, published: ArrayLike, reference: ArrayLike) -> Floats:
    """The log of how much likelier each person is under the published shares than under the public's [SOJH09].

    The most powerful test where shares are exact. Shares of 0 or 1, and noisy ones beyond, are first moved inside.
    """
    rows, study, public = _check_shapes(people, published, reference)
    inside = np.clip(study, 1e-3, 1 - 1e-3)
    return np.asarray(
        rows @ np.log(inside / public) + (1 - rows) @ np.log((1 - inside) / (1 - public)), dtype=np.float64
    )


def inner_product(
    people: ArrayLike, published: ArrayLike, reference: ArrayLike, *, size: int, noise: float = 0.0
) -> Floats:
    """How far each person leans the way the published shares lean, each weighed by its variance [DSSUV15].

    ``size`` is the number of participants and ``noise`` the standard deviation of what was added to each share. It
    is as powerful as the likelihood ratio where many attributes tell a little each, and stays right under noise.
    """
    rows, study, public = _check_shapes(people, published, reference)
    return np.asarray((rows - public) @ ((study - public) / _score_spread(public, size, noise)), dtype=np.float64)


def separation(reference: ArrayLike, *, size: int, noise: float = 0.0) -> float:
    """By how many standard deviations members score above others with ``inner_product``, in theory.

    For independent attributes with true shares p and published ones of variance s^2 = p(1-p)/size + noise^2, an
    other's score has mean 0 and variance V = sum p(1-p)/s^2, and a member's has mean V/size: they are sqrt(V)/size
    apart, which without noise is sqrt(attributes / size).

    >>> round(separation(np.full(10_000, 0.3), size=100), 6)
    10.0
    """
    public = finite_array(reference, name="reference", axes=1)
    variances = public * (1 - public)
    return math.sqrt(float((variances / _score_spread(public, size, noise)).sum())) / size


def _score_spread(public: Floats, size: int, noise: float) -> Floats:
    return np.asarray(public * (1 - public) / whole(size, name="size") + noise**2, dtype=np.float64)


def _check_shapes(people: ArrayLike, published: ArrayLike, reference: ArrayLike) -> tuple[Bits, Floats, Floats]:
    rows = bit_array(people, name="people", axes=2)
    study, public = (finite_array(x, name=n, axes=1) for x, n in ((published, "published"), (reference, "reference")))
    check_lengths(len(study), len(public), what="published and reference shares")
    check_lengths(rows.shape[1], len(public), what="attributes of people and reference shares")
    if public.min() <= 0 or public.max() >= 1:
        raise Unsuitable(
            "reference shares must lie strictly between 0 and 1.",
            why="An attribute that everybody or nobody has tells nothing about who took part.",
            fix="Leave those attributes out.",
        )
    return rows, study, public


def trace(
    published: ArrayLike,
    reference: ArrayLike,
    *,
    members: ArrayLike,
    others: ArrayLike,
    size: int | None = None,
    noise: float = 0.0,
    statistic: str = "likelihood-ratio",
    epsilon: float | None = None,
) -> Tracing:
    """Test members and others against published shares, and report how well they are told apart.

    ``size`` is the number of participants (as many as ``members`` if not given), ``noise`` the standard deviation of
    noise on each share, ``statistic`` one of "likelihood-ratio", "homer" and "inner-product" (the one for noise).
    """
    count = len(bit_array(members, name="members", axes=2)) if size is None else whole(size, name="size")

    def score(people: ArrayLike) -> Floats:
        if statistic == "homer":
            return homer_statistic(people, published, reference)
        if statistic == "inner-product":
            return inner_product(people, published, reference, size=count, noise=noise)
        if statistic == "likelihood-ratio":
            return likelihood_ratio(people, published, reference)
        raise OutOfRange(
            f"there is no statistic {statistic!r}.",
            why="A person is scored in one of three ways.",
            fix="One of likelihood-ratio, homer, inner-product.",
        )

    roc = Roc.of(score(members), score(others))
    shares = finite_array(reference, name="reference", axes=1)
    return Tracing(roc, len(shares), count, noise, statistic, separation(shares, size=count, noise=noise), epsilon)


@dataclass(frozen=True, slots=True, eq=False)
class Tracing(Attack):
    """How well members are told from others by published shares, beside what theory says the best test does."""

    kind: ClassVar[str] = "membership"
    name: ClassVar[str] = "Membership in published shares"

    roc: Roc
    attributes: int
    size: int
    noise: float
    statistic: str
    separation: float
    epsilon: float | None = None

    @property
    def expected_auc(self) -> float:
        """The AUC of the best test in theory: Phi(separation / sqrt 2)."""
        return _normal_cdf(self.separation / math.sqrt(2))

    def expected_tpr(self, fpr: float) -> float:
        """The true-positive rate of the best test in theory: Phi(Phi^-1(fpr) + separation)."""
        from scipy.special import ndtri

        return _normal_cdf(float(ndtri(fpr)) + self.separation)

    @property
    def succeeded(self) -> bool:
        """Whether, at 1 false accusation in 100, clearly more than 5 members in 100 are found."""
        return self.roc.names_people

    @property
    def headline(self) -> str:
        """What was found, in one plain sentence."""
        return (
            f"From {self.attributes:,} published shares of {self.size:,} people, {out_of_100(self.roc.tpr(0.01))} "
            "members are found while 1 in 100 others is wrongly accused."
        )

    def numbers(self) -> dict[str, Json]:
        """What was found, for programs."""
        about: dict[str, Json] = {
            "attributes": self.attributes,
            "size": self.size,
            "noise": self.noise,
            "statistic": self.statistic,
        }
        return {**about, **self.roc.rates(), "expected_auc": self.expected_auc, "epsilon": self.epsilon}

    def facts(self) -> tuple[tuple[str, str], ...]:
        """What was found, for people."""
        rows = [("test", self.statistic), ("noise on each share", short(self.noise) if self.noise else "none")]
        rows.append(("AUC", f"{self.roc.auc:.3f} (in theory {self.expected_auc:.3f})"))
        for fpr in RARE:
            theory = percent(self.expected_tpr(fpr))
            rows.append(
                (f"members found at {percent(fpr)} wrongly accused", f"{self.roc.shown(fpr)}; in theory {theory}")
            )
        return tuple(rows)

    def figure(self) -> Figure:
        """The ROC on logarithmic axes."""
        drawn = roc_svg(
            {"this test": self.roc},
            title="Who took part, by published shares",
            description=self.headline,
            epsilon=self.epsilon,
        )
        return Figure(self.kind, drawn, "The further up on the left, the more people are found with certainty.")

    def meaning(self) -> tuple[str, ...]:
        """What it means for the people in the data."""
        sentence = (
            "Each share is an average over many people and looks harmless. But a member pulls every share a little "
            f"towards themselves, and {self.attributes:,} pulls together are {short(self.separation)} standard "
            "deviations."
        )
        if not self.succeeded:
            return (sentence, "Here that is too little to accuse anybody: members hide among the others.")
        return (sentence, "To be in such a study may itself be the secret: participants in it all have the disease.")

    def remedy(self) -> tuple[str, ...]:
        """What would have helped, and what would not."""
        return (
            "Noise on the shares from one budget for all of them, or fewer shares: what counts is the number of "
            "attributes against the number of people.",
            "Leaving out names does not help: the test needs no name in the study. Nor does rounding to two digits.",
        )


def _normal_cdf(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2
