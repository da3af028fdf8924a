"""An epsilon in odds: how many guesses out of 100, how sure one can get, how good a test can be.

Nothing here touches data or spends budget. People understand odds and frequencies better than a bare
epsilon [NCKS23], so those come first and the Greek letters last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from hubbub.explain import attacker_bounds
from hubbub.render import (
    Document,
    Figure,
    Json,
    Section,
    TextTable,
    as_float,
    at_most,
    hundredths,
    one_in,
    out_of_100,
    percent,
    short,
    text,
)
from hubbub.render.charts import Axis, Icons, Mark, Panel, Series, icon_array, line_chart, percentage
from hubbub.terms import Real, fraction_of, positive

PRIORS = (0.01, 0.1, 0.5, 0.9)
FALSE_POSITIVES = (0.001, 0.01, 0.05, 0.1)
_GRID = tuple(i / 200 for i in range(201))


def epsilon(value: Real, *, delta: Real = 0) -> Explanation:
    """What ``value`` promises, in odds, beliefs and tests, in words and pictures.

    >>> print(epsilon(1).odds_sentence)  # doctest: +NORMALIZE_WHITESPACE
    Toss a coin for whether your data are used. Someone who then sees the answer and guesses is right at most
    about 73 out of 100 times; without the answer it would be 50.
    """
    return Explanation(positive(value, name="epsilon"), fraction_of(delta, name="delta", zero=True))


@dataclass(frozen=True, slots=True)
class Explanation(Document):
    """One (epsilon, delta), explained: bounds for the strongest attacker, who knows all but whether you are in.

    Guarantee: the numbers are upper bounds on what one release with this guarantee tells about one unit.
    Because: [WZ10], [KOV15]; see ``hubbub.explain.attacker_bounds``.
    Not covered: what several releases tell together, and what ``not_promised()`` lists.
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    @property
    def title(self) -> str:
        """What is explained."""
        return f"What {self._parameters()} promises"

    @property
    def odds_sentence(self) -> str:
        """The promise as a frequency."""
        return (
            "Toss a coin for whether your data are used. Someone who then sees the answer and guesses is right "
            f"{at_most(out_of_100(self.belief(0.5)))} times; without the answer it would be 50."
        )

    @property
    def odds_factor(self) -> float:
        """The most by which an answer can multiply the odds of anything about one person (delta aside)."""
        return attacker_bounds.odds_factor(as_float(self.epsilon))

    def belief(self, prior: float) -> float:
        """The most that someone who held ``prior`` likely can come to believe; see ``bounds.belief``."""
        known = as_float(fraction_of(prior, name="prior", zero=True, one=True))
        return attacker_bounds.belief(known, epsilon=as_float(self.epsilon), delta=as_float(self.delta))

    def true_positives(self, false_positives: float) -> float:
        """The best true-positive rate of a test at that false-positive rate; see ``bounds.true_positives``."""
        rate = as_float(fraction_of(false_positives, name="false_positives", zero=True, one=True))
        return attacker_bounds.true_positives(rate, epsilon=as_float(self.epsilon), delta=as_float(self.delta))

    def icons_svg(self) -> str:
        """Right guesses out of 100, without and with the answer, as an icon array."""
        after = self.belief(0.5)
        return icon_array(
            (
                Icons("Without the answer: 50 out of 100", 50),
                Icons(f"With the answer: {at_most(out_of_100(after))}", hundredths(after)),
            ),
            title=f"Right guesses whether you are in the data, {self._parameters()}",
            description=f"Two groups of 100 figures. Without the answer 50 are filled, with it {hundredths(after)}.",
            yes="a right guess",
            no="a wrong guess",
        )

    def belief_svg(self) -> str:
        """The highest belief after the answer, for every belief before it."""
        after = Series("at most, after the answer", tuple((p, self.belief(p)) for p in _GRID))
        same = Series("no answer at all", ((0.0, 0.0), (1.0, 1.0)))
        mark = Mark(0.5, self.belief(0.5), f"50% becomes {at_most(percent(self.belief(0.5)))}")
        beliefs = ", ".join(f"from {percent(p, digits=0)} to {percent(self.belief(p))}" for p in PRIORS)
        return line_chart(
            Panel("belief after the answer", (after, same), marks=(mark,), show=percentage, height=300),
            title=f"How sure someone can get that you are in the data, {self._parameters()}",
            description=f"A curve above the diagonal: belief rises at most {beliefs}.",
            x=Axis.over((0.0, 1.0), label="belief before the answer", show=percentage, count=6),
        )

    def roc_svg(self, also: Sequence[Series] = ()) -> str:
        """The best any test can do; ``also`` draws further curves, such as one mechanism's own."""
        turn, _ = attacker_bounds.roc_corner(epsilon=as_float(self.epsilon), delta=as_float(self.delta))
        bent = sorted({0.0, turn, max(0.0, 1 - as_float(self.delta)), 1.0})
        best = Series("no test does better", tuple((f, self.true_positives(f)) for f in bent))
        blind = Series("guessing blindly", ((0.0, 0.0), (1.0, 1.0)))
        mark = Mark(
            0.01, self.true_positives(0.01), f"1% wrongly accused: {at_most(percent(self.true_positives(0.01)))} found"
        )
        rates = ", ".join(f"{percent(self.true_positives(f))} at {percent(f)}" for f in FALSE_POSITIVES)
        return line_chart(
            Panel("rightly found", (best, *also, blind), marks=(mark,), show=percentage, height=300),
            title=f"The best test for who is in the data, {self._parameters()}",
            description=f"Share rightly found against share wrongly accused. At most {rates}.",
            x=Axis.over((0.0, 1.0), label="wrongly accused", show=percentage, count=6),
        )

    def sections(self) -> tuple[Section, ...]:
        """The explanation, part by part."""
        parts = (self._odds(), self._beliefs(), self._tests())
        return (*parts, self._failures(), _FINE_PRINT) if self.delta else (*parts, _FINE_PRINT)

    def to_json(self) -> dict[str, Json]:
        """The numbers and sentences as one JSON document."""
        return {
            "kind": "explanation",
            "epsilon": as_float(self.epsilon),
            "delta": as_float(self.delta),
            "odds_sentence": self.odds_sentence,
            "odds_factor": self.odds_factor,
            "right_guesses_out_of_100": hundredths(self.belief(0.5)),
            "belief": [{"prior": p, "at_most": self.belief(p)} for p in PRIORS],
            "roc": [{"false_positives": f, "true_positives_at_most": self.true_positives(f)} for f in FALSE_POSITIVES],
        }

    def _parameters(self) -> str:
        parameters = f"epsilon = {short(self.epsilon)}"
        return f"{parameters}, delta = {short(self.delta)}" if self.delta else parameters

    def _odds(self) -> Section:
        after = hundredths(self.belief(0.5))
        figure = Figure(
            "icons",
            self.icons_svg(),
            "Filled figures are right guesses, hollow ones wrong guesses.",
            text.icons((("50 without", 50), (f"{after} with the answer", after))),
        )
        spared = f"But for cases of total probability {short(self.delta)}, no" if self.delta else "No"
        words = f"{spared} answer multiplies the odds of anything about you by more than {short(self.odds_factor)}."
        return Section("The odds", (self.odds_sentence, words), figure=figure)

    def _beliefs(self) -> Section:
        rows = tuple((percent(p, digits=0), percent(self.belief(p))) for p in PRIORS)
        caption = "The further the curve is above the diagonal, the more an answer can tell."
        words = "How sure someone can get that you are in the data depends on how sure they were before."
        figure = Figure("belief", self.belief_svg(), caption)
        return Section(
            "What someone can come to believe", (words,), TextTable(("before", "after, at most"), rows), figure
        )

    def _tests(self) -> Section:
        rows = tuple((percent(f), percent(self.true_positives(f))) for f in FALSE_POSITIVES)
        words = (
            "A test that accuses people of being in the data finds some who are, and accuses some who are not. "
            "This is the best that any test can do."
        )
        caption = "The region above the curve cannot be reached by any test."
        figure = Figure("roc", self.roc_svg(), caption)
        return Section(
            "How good a test can be", (words,), TextTable(("wrongly accused", "rightly found, at most"), rows), figure
        )

    def _failures(self) -> Section:
        words = (
            f"With probability {short(self.delta)} ({one_in(self.delta)}) an answer may tell everything. The numbers "
            "here count those cases as if it did; in all others the odds hold as stated. Delta should be far below "
            "one in the number of people in the data."
        )
        return Section("What delta adds", (words,))


_FINE_PRINT = Section(
    "How to read this",
    (
        "These are limits, not estimates: they hold for someone who knows everything about everybody else, for "
        "ever, whatever else is or becomes known. Most answers tell much less.",
        "They hold for one person (or whatever the unit of protection is) and for the cost of all answers "
        "together. What is not promised at all: `hubbub explain limits`.",
    ),
)
