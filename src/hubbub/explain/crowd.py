"""Charlie in the crowd: the same count with and without one person, and how alike the two answers look."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from hubbub.render import Document, Figure, Json, Section, TextTable, as_float, percent, short
from hubbub.render.charts import Rule, Series, density_chart
from hubbub.terms import OutOfRange, Real, exact, positive, sensitivity_of

_LARGEST_PICTURE = 20  # beyond this epsilon the two peaks are far apart and there is nothing left to compare


def charlie(epsilon: Real, *, count: Real = 101, sensitivity: Real = 1) -> Charlie:
    """Two Laplace densities, with Charlie in and out, and their ratio, never above e^epsilon.

    >>> charlie(0.5).scale
    Fraction(2, 1)
    """
    known = positive(epsilon, name="epsilon")
    if known > _LARGEST_PICTURE:
        raise OutOfRange(
            f"epsilon must be at most {_LARGEST_PICTURE} for this picture and is {short(known)}.",
            why="Beyond that the two curves no longer overlap: every answer gives Charlie away.",
            fix="Pick a smaller epsilon; `explain.epsilon` explains any.",
        )
    return Charlie(known, exact(count, name="count"), sensitivity_of(sensitivity))


@dataclass(frozen=True, slots=True)
class Charlie(Document):
    """A count with Charlie in it (``count``) and one without, both with Laplace noise of scale sensitivity/epsilon.

    Guarantee: the ratio of the two densities lies within [e^-epsilon, e^epsilon] everywhere.
    Because: [DMNS06]; it is e^((|x - out| - |x - in|) / scale), and the triangle inequality bounds the
    difference of the distances by in - out = sensitivity.
    Not covered: floating-point noise, which breaks this on a computer; ``hubbub.noise`` draws exact integers.
    """

    epsilon: Fraction
    count: Fraction
    sensitivity: Fraction

    @property
    def title(self) -> str:
        """What is explained."""
        return f"Charlie in the crowd, epsilon = {short(self.epsilon)}"

    @property
    def scale(self) -> Fraction:
        """The scale of the noise."""
        return self.sensitivity / self.epsilon

    @property
    def without(self) -> Fraction:
        """The count when Charlie stays away."""
        return self.count - self.sensitivity

    def density(self, x: float, *, charlie_is_in: bool) -> float:
        """How likely (as a density) the noisy answer ``x`` is."""
        scale, centre = as_float(self.scale), as_float(self.count if charlie_is_in else self.without)
        return math.exp(-abs(x - centre) / scale) / (2 * scale)

    def ratio(self, x: float) -> float:
        """How many times likelier ``x`` is with Charlie in than out."""
        distance = abs(x - as_float(self.without)) - abs(x - as_float(self.count))
        return math.exp(distance / as_float(self.scale))

    def error(self, confidence: float = 0.95) -> float:
        """How far from the count the answer falls at most, with that confidence."""
        return as_float(self.scale) * -math.log1p(-confidence)

    def svg(self) -> str:
        """The two densities and their ratio."""
        bound, xs = math.exp(as_float(self.epsilon)), self._xs()
        return density_chart(
            Series("Charlie is in", tuple((x, self.density(x, charlie_is_in=True)) for x in xs), filled=True),
            Series("Charlie is out", tuple((x, self.density(x, charlie_is_in=False)) for x in xs), filled=True),
            ratio=Series("ratio in / out", tuple((x, self.ratio(x)) for x in xs)),
            bounds=(
                Rule(bound, f"never above e^epsilon = {short(bound)}"),
                Rule(1 / bound, f"never below e^-epsilon = {short(1 / bound)}"),
            ),
            title=f"{short(self.count)} with Charlie, {short(self.without)} without: epsilon = {short(self.epsilon)}",
            description=(
                f"Two Laplace curves of scale {short(self.scale)} around {short(self.count)} and "
                f"{short(self.without)}, and their ratio, always between {short(1 / bound)} and {short(bound)}."
            ),
            x="noisy answer",
        )

    def sections(self) -> tuple[Section, ...]:
        """The explanation, part by part."""
        bound = short(math.exp(as_float(self.epsilon)))
        seen = (
            f"With Charlie in the data the count is {short(self.count)}, without Charlie {short(self.without)}. "
            f"Noise of scale {short(self.scale)} is added before anyone sees it. Any answer that may come out is at "
            f"most {bound} times likelier in one world than in the other{_describe_verdict(self.epsilon)}."
        )
        why = (
            "Why Laplace noise does this: its density falls by a factor e for every step of one scale. The two "
            f"curves are {short(self.sensitivity)} apart, which is epsilon = {short(self.epsilon)} scales, so their "
            "heights differ by at most e^epsilon, on either side and in between."
        )
        price = f"The price: 95 answers out of 100 lie within ±{short(self.error())} of the count."
        figure = Figure("charlie", self.svg(), "Above: how likely each answer is. Below: the ratio of the two curves.")
        return (Section("Two worlds", (seen,), self._table(), figure), Section("Why it works", (why, price)))

    def to_json(self) -> dict[str, Json]:
        """The numbers as one JSON document."""
        return {
            "kind": "charlie",
            "epsilon": as_float(self.epsilon),
            "count_with": as_float(self.count),
            "count_without": as_float(self.without),
            "sensitivity": as_float(self.sensitivity),
            "scale": as_float(self.scale),
            "ratio_at_most": math.exp(as_float(self.epsilon)),
            "error_95": self.error(),
            "answers": [{"answer": x, "ratio": self.ratio(x)} for x in self._examples()],
        }

    def _table(self) -> TextTable:
        def row(x: float) -> tuple[str, ...]:
            belief = self.ratio(x) / (1 + self.ratio(x))
            return (short_answer(x), f"{self.ratio(x):.3f}", percent(belief))

        return TextTable(("answer seen", "likelier with Charlie by", "50% becomes"), tuple(map(row, self._examples())))

    def _examples(self) -> tuple[float, ...]:
        scale, low, high = map(as_float, (self.scale, self.without, self.count))
        return (low - 2 * scale, low, (low + high) / 2, high, high + 2 * scale)

    def _xs(self) -> list[float]:
        scale, low, high = map(as_float, (self.scale, self.without, self.count))
        start, width = low - 4 * scale, high - low + 8 * scale
        return sorted({low, high, *(start + width * i / 160 for i in range(161))})


def short_answer(x: float) -> str:
    """An answer to a few digits, without an exponent where it can be avoided."""
    return f"{x:.6g}"


def _describe_verdict(epsilon: Fraction) -> str:
    if epsilon <= 1:
        return ": so it hardly tells which world it comes from"
    return ", which leaves room for some that tell much: a smaller epsilon tells less"
