"""How good a membership test is: true positives against false ones, above all where false ones are rare.

A test that is a little better than a coin for everybody is harmless next to one that is sure about a few. The average
(AUC) cannot tell them apart; the rate of true positives at 1 false one in 1,000 can [CCNSTT22]. So both axes of the
picture are logarithmic.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hubbub.attacks.requirements import Floats, finite_array
from hubbub.attacks.share_interval import clopper_pearson
from hubbub.explain import true_positives
from hubbub.render import Json, percent
from hubbub.render.charts import Axis, Panel, Series, Tick, line_chart

RARE = (0.001, 0.01)  # the false-positive rates that count
_POINTS = 120  # in a picture


@dataclass(frozen=True, slots=True, eq=False)
class Roc:
    """Scores of members and of others, the higher the likelier a member; ``Roc.of`` makes one."""

    members: Floats
    others: Floats

    @classmethod
    def of(cls, members: ArrayLike, others: ArrayLike) -> Roc:
        """From the scores of those who are in and of those who are not.

        >>> roc = Roc.of(members=[3, 4, 5, 1], others=[0, 1, 2, 2])
        >>> roc.auc, roc.tpr(0.0), roc.tpr(0.25)
        (0.84375, 0.75, 0.75)
        """
        return cls(
            np.sort(finite_array(members, name="members", axes=1)), np.sort(finite_array(others, name="others", axes=1))
        )

    @property
    def auc(self) -> float:
        """The chance that a random member scores above a random other; ties count half."""
        below = np.searchsorted(self.others, self.members, side="left").mean()
        not_above = np.searchsorted(self.others, self.members, side="right").mean()
        return float(below + not_above) / (2 * self.others.size)

    def tpr(self, fpr: float) -> float:
        """The share of members above the lowest threshold that at most ``fpr`` of the others exceed."""
        return self._found(fpr) / self.members.size

    def tpr_interval(self, fpr: float, *, confidence: float = 0.95) -> tuple[float, float]:
        """The Clopper-Pearson interval of ``tpr(fpr)``, for scores that are independent of each other."""
        return clopper_pearson(self._found(fpr), self.members.size, confidence=confidence)

    def _found(self, fpr: float) -> int:
        allowed = math.floor(fpr * self.others.size + 1e-9)
        if allowed >= self.others.size:
            return self.members.size
        threshold = self.others[self.others.size - 1 - allowed]
        return int(self.members.size - np.searchsorted(self.members, threshold, side="right"))

    @property
    def advantage(self) -> float:
        """The most by which true positives exceed false ones, over all thresholds."""
        levels = np.union1d(self.members, self.others)
        hits = 1 - np.searchsorted(self.members, levels, side="left") / self.members.size
        accused = 1 - np.searchsorted(self.others, levels, side="left") / self.others.size
        return float(max(0.0, (hits - accused).max()))

    def resolves(self, fpr: float) -> bool:
        """Whether there are enough others to speak of that false-positive rate: one false positive at least."""
        return fpr * self.others.size >= 1

    @property
    def names_people(self) -> bool:
        """Whether, at 1 false accusation in 100, clearly more than 5 members in 100 are found."""
        return self.resolves(0.01) and self.tpr_interval(0.01)[0] > 0.05

    def rates(self) -> dict[str, Json]:
        """AUC and the true positives at rare false ones (None where there are too few others), for programs."""
        at = {f"tpr_at_{fpr:g}": self.tpr(fpr) if self.resolves(fpr) else None for fpr in RARE}
        return {"auc": self.auc, "advantage": self.advantage, **at}

    def shown(self, fpr: float) -> str:
        """The true positives at that rate, with their interval, in words."""
        if not self.resolves(fpr):
            return "too few others to tell"
        low, high = self.tpr_interval(fpr)
        return f"{percent(self.tpr(fpr))} ({percent(low)} to {percent(high)})"

    def series(self, name: str, *, least: float) -> Series:
        """The curve on logarithmic axes, from the false-positive rate ``least`` on."""
        fprs = np.geomspace(least, 1, _POINTS)
        return Series(name, tuple((math.log10(f), math.log10(max(self.tpr(f), least))) for f in fprs))


def roc_svg(curves: Mapping[str, Roc], *, title: str, description: str, epsilon: float | None = None) -> str:
    """ROC curves on logarithmic axes beside blind guessing and, for an epsilon, the most that any test can reach."""
    decades = min(4, max(1, math.floor(math.log10(min(roc.others.size for roc in curves.values())))))
    least = 10.0**-decades
    drawn = [roc.series(name, least=least) for name, roc in curves.items()]
    if epsilon is not None:
        drawn.append(_dp_bound_curve(epsilon, least))
    blind = Series("guessing blindly", ((-decades, -decades), (0.0, 0.0)))
    panel = Panel("rightly found", (*drawn, blind), show=_decade_tick, height=42 * (decades + 1))
    ticks = tuple(Tick(float(power), _decade_tick(power, 0)) for power in range(-decades, 1))
    axis = Axis("wrongly accused", float(-decades), 0.0, ticks)
    return line_chart(panel, title=title, description=description, x=axis)


def _dp_bound_curve(epsilon: float, least: float) -> Series:
    fprs = np.geomspace(least, 1, _POINTS).tolist()
    points = tuple((math.log10(f), math.log10(true_positives(f, epsilon=epsilon))) for f in fprs)
    return Series(f"no test does better at epsilon = {epsilon:g}", points)


def _decade_tick(power: float, digits: int) -> str:
    """The tick of a power of ten, as a percentage."""
    return f"{100 * 10.0**power:g}%" if power == round(power) else ""
