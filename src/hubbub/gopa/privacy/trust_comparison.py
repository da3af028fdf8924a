"""How accurate an average is with a curator, with GOPA, and with nobody: variances by the number of parties."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from hubbub.accounting import mu_for
from hubbub.explain import Document, Figure, Section, TextTable, response_error
from hubbub.gopa.privacy.calibration import RunPlan, plan
from hubbub.render import Json, percent, short
from hubbub.render.charts import Axis, Mark, Panel, Series, Tick, line_chart
from hubbub.terms import Real, fraction_of, positive

SIZES = (100, 1_000, 10_000, 100_000)


@dataclass(frozen=True, slots=True)
class Point:
    """The variance of a mean of values in [0, 1] among so many parties, three ways at the same (epsilon, delta)."""

    parties: int
    curator: float
    gopa: float
    local: float
    agreed: RunPlan

    @property
    def over_curator(self) -> float:
        """How many times the curator's variance GOPA's is: about one over the honest share that stays."""
        return self.gopa / self.curator

    @property
    def under_local(self) -> float:
        """How many times GOPA's variance the best local protocol's is: it grows with the number of parties."""
        return self.local / self.gopa


@dataclass(frozen=True, slots=True)
class TrustComparison(Document):
    """Three degrees of trust at the same (epsilon, delta).

    The curator adds Gaussian noise, calibrated analytically [BW18]. Each local report is a randomized bit [Warner65]: a
    value is rounded to 0 or 1 by a coin, and what rounding adds is left out, in favour of the local model. GOPA is the
    plan that a run would use, with its rounding, thresholds and dropouts.
    """

    epsilon: Fraction
    delta: Fraction
    honest: Fraction
    dropouts: Fraction
    points: tuple[Point, ...]

    @property
    def title(self) -> str:
        """What is compared."""
        return f"An average without a curator: epsilon = {short(self.epsilon)}, delta = {short(self.delta)}"

    def sections(self) -> tuple[Section, ...]:
        """The comparison, part by part."""
        middle = self.points[min(1, len(self.points) - 1)]
        sentences = (
            f"With {middle.parties:,} parties, of which {percent(float(self.honest), digits=0)} are honest and "
            f"{percent(float(self.dropouts), digits=0)} may drop out, the mean by GOPA is off by about "
            f"{math.sqrt(middle.gopa):.2g} of the range. A curator whom all trust would be off by "
            f"{math.sqrt(middle.curator):.2g}, and the best local protocol by {math.sqrt(middle.local):.2g}.",
            "GOPA's variance is the curator's, divided by the share of the parties that are honest and stay: their "
            "noise alone has to hide a value, since the others may tell theirs. Towards the local model it gains with "
            "every party: noise is added once to the sum and not once to each value.",
        )
        figure = Figure("gopa-error", self.svg(), "Both axes are logarithmic: the local line falls half as steeply.")
        return (Section("How far the mean is off", sentences, self._table(), figure),)

    def svg(self) -> str:
        """The standard deviation of the mean by the number of parties, on logarithmic axes."""
        series = tuple(
            Series(name, tuple((math.log10(p.parties), math.log10(math.sqrt(getattr(p, field)))) for p in self.points))
            for name, field in (("trusted curator", "curator"), ("GOPA", "gopa"), ("best local protocol", "local"))
        )
        last = self.points[-1]
        mark = Mark(
            math.log10(last.parties),
            math.log10(math.sqrt(last.local)),
            f"{math.sqrt(last.under_local):.0f} times GOPA's error",
        )
        low, high = math.log10(self.points[0].parties), math.log10(last.parties)
        ticks = tuple(Tick(float(i), f"{10**i:,}") for i in range(math.ceil(low), math.floor(high) + 1))
        return line_chart(
            Panel("standard deviation of the mean", series, marks=(mark,), show=_tick_label, height=340),
            title=self.title,
            description=f"Error against number of parties, from {self.points[0].parties:,} to {last.parties:,}.",
            x=Axis("parties", low, high, ticks),
        )

    def to_json(self) -> dict[str, Json]:
        """The numbers as one JSON document."""
        return {
            "kind": "gopa-comparison",
            "epsilon": float(self.epsilon),
            "delta": float(self.delta),
            "honest": float(self.honest),
            "dropouts": float(self.dropouts),
            "variances": [
                {
                    "parties": point.parties,
                    "curator": point.curator,
                    "gopa": point.gopa,
                    "local": point.local,
                    "neighbours": point.agreed.degree,
                    "noise_bits": point.agreed.noise_bits,
                    "steps": point.agreed.steps,
                }
                for point in self.points
            ],
        }

    def _table(self) -> TextTable:
        rows = tuple(
            (
                f"{point.parties:,}",
                *(f"{math.sqrt(variance):.2g}" for variance in (point.curator, point.gopa, point.local)),
                f"{point.over_curator:.2f}",
                f"{point.under_local:.0f}",
            )
            for point in self.points
        )
        return TextTable(
            ("parties", "curator", "GOPA", "best local", "variance over curator's", "local variance over GOPA's"), rows
        )


def compare(
    epsilon: Real,
    delta: Real,
    honest: Real = Fraction(1, 2),
    dropouts: Real = Fraction(1, 20),
    *,
    sizes: tuple[int, ...] = SIZES,
) -> TrustComparison:
    """The standard deviation of a mean among so many parties: with a curator, with GOPA, and locally.

    >>> [(point.parties, round(point.over_curator, 2)) for point in compare(1, 1e-6, sizes=(1_000,)).points]
    [(1000, 2.29)]
    """
    cost, slack = positive(epsilon, name="epsilon"), fraction_of(delta, name="delta")
    mu = mu_for(float(cost), float(slack))

    def point(parties: int) -> Point:
        agreed = plan(cost, slack, parties, honest, dropouts)
        local = response_error(float(cost), parties) ** 2
        return Point(parties, 1 / (mu * parties) ** 2, agreed.variance, local, agreed)

    return TrustComparison(
        cost,
        slack,
        fraction_of(honest, name="honest", one=True),
        fraction_of(dropouts, name="dropouts", zero=True),
        tuple(point(parties) for parties in sizes),
    )


def _tick_label(value: float, digits: int) -> str:
    """A tick of a logarithmic axis."""
    return f"{10**value:.2g}"
