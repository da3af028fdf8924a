"""``within`` for an average: how many rows it is over is private, so a noisy count of them is bought first.

The count has a fixed small price. What it tells at least, with nine tenths of the doubt left for the average's own
noise, takes the place of a stated ``assume``: the price that follows from it is found as from that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from hubbub.accounting import LOSS_UNIT, Currency, Limit
from hubbub.releases import Release
from hubbub.sql.compiler.query_plan import readings_in
from hubbub.sql.pricing.noise_choice import Alternative
from hubbub.sql.pricing.price import PriceTerms
from hubbub.sql.quote import QueryPlan
from hubbub.terms import CannotPromise, exact, fraction_of

PART = Fraction(1, 50)  # of the budget, for the count
_DOUBT = Fraction(1, 10)  # of what a promise may miss, for the count


@dataclass(frozen=True, slots=True)
class CountFirst:
    """A question that is priced in two steps: its count, priced, and the plans that are priced from what that tells."""

    text: str
    count: Sequence[Alternative]  # best first
    plans: Sequence[QueryPlan]
    terms: PriceTerms

    @property
    def within(self) -> float:
        """The error that was asked for."""
        return float(exact(self.terms.within, name="within"))

    @property
    def columns(self) -> tuple[str, ...]:
        """The noisy columns of the answer, which are to keep within it."""
        [plan] = self.plans[0].plans
        return tuple(output.name for output in plan.outputs if readings_in(output.value))

    def least_rows(self, count: Release) -> int:
        """How many rows every group of every average has at least, as a released count tells it.

        Guarantee: of each group this is too many with a probability of at most a tenth of 1 - ``confidence``.
        Because: it is at most the lower end of that group's own interval.
        Not covered: rows beyond the cap, of which the count may have left out others than the average does.
        """
        missed = (1 - fraction_of(self.terms.confidence, name="confidence")) * _DOUBT
        ends = [count.told(place, float(1 - 2 * missed))[1][0] for place in range(len(count.columns))]
        noisy = [lows for place, lows in enumerate(ends) if count.is_noisy(place)]
        return min(int(low or 0) for lows in noisy for low in lows)

    def terms_after(self, count: Release) -> PriceTerms:
        """The price of the question, once the count is there."""
        rows = self.least_rows(count)
        if rows < 1:
            raise CannotPromise(
                "no error can be promised: there is a group whose number of rows cannot be told from noise.",
                why="The count that was bought first, which is free to ask again, may be 0 as well.",
                fix="Ask by larger groups, give assume=1000 (rows per group), or a price (epsilon=...) and read the "
                "interval of the answer.",
            )
        return self.terms_for(rows)

    def terms_for(self, rows: int) -> PriceTerms:
        """The price of the question if every group has so many rows."""
        missed = 1 - fraction_of(self.terms.confidence, name="confidence")
        return replace(self.terms, assume=rows, confidence=1 - missed * (1 - _DOUBT))

    def note(self, count: Release) -> str:
        """What an answer says of its first step."""
        rows, sure = self.least_rows(count), 1 - (1 - exact(self.terms.confidence, name="confidence")) * _DOUBT
        paid = "" if count.receipt is None else f" (receipt #{count.receipt.sequence})"
        groups = " in each group" if len(count) > 1 else ""
        return (
            f"The number of rows was bought first{paid}: at least {rows:,}{groups}, with {float(100 * sure):g}% "
            f"confidence. From that follows the price of an error of at most {self.within:g}."
        )


def count_terms(terms: PriceTerms, limit: Limit) -> PriceTerms:
    """What the count costs: a part of the budget as it was opened, whatever is spent, so that it is bought once."""
    whole = limit.whole.epsilon if limit.currency is Currency.EITHER else limit.whole.loss
    part = Fraction(int(whole * PART), LOSS_UNIT)
    if limit.currency is Currency.CONCENTRATED:
        return replace(terms, within=None, rho=part)
    return replace(terms, within=None, epsilon=part)
