"""An auction: why noise on the best price fails, and drawing a price by what it earns does not.

A digital good has no limit of copies: everyone who bid at least the price buys at the price. What a price
earns rises with it until it passes somebody's bid, and then drops at once: one cent too high can lose it all.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

from hubbub.explain import exponential_stories
from hubbub.render import Document, Figure, Json, Section, TextTable, as_float, percent, short
from hubbub.render.charts import Axis, Bar, Panel, Series, bar_chart, percentage, stacked_chart
from hubbub.terms import EmptyInput, OutOfRange, Real, TooLarge, exact, positive

EXAMPLE_BIDS = (*(Fraction(1),) * 30, *(Fraction(301, 100),) * 40)  # 30 people bid 1.00 and 40 bid 3.01
_MOST_PRICES = 10_000
_BANDS = 20


def auction(
    bids: Iterable[object],
    *,
    epsilon: Real,
    ceiling: Real = 5,
    step: Real = Fraction(1, 100),
    monotone: bool = True,
) -> Auction:
    """Prices drawn by the exponential mechanism, beside the best price with Laplace noise added.

    The prices on offer are ``step``, 2 ``step``, ... up to ``ceiling``: public numbers, never taken from the
    bids (a list of prices made from bids would give bids away). A bid above the ceiling buys at any price.

    >>> shop = auction([1] * 30 + [3.01] * 40, epsilon=1)
    >>> str(shop.best_price), f"{shop.best_revenue:.2f}", f"{shop.drawn.revenue:.1f}", f"{shop.noised.revenue:.1f}"
    ('301/100', '120.40', '115.6', '16.2')
    """
    known = tuple(sorted(_read_bid(bid) for bid in bids))
    if not known:
        raise EmptyInput("an auction needs a bid.", why="No price earns anything.", fix="Give at least one bid.")
    top, width = positive(ceiling, name="ceiling"), positive(step, name="step")
    if top < 2 * width:
        raise OutOfRange(
            f"step must be at most half the ceiling and is {short(width)}.",
            why="There would be no two prices to choose between.",
            fix="Give a smaller step or a higher ceiling.",
        )
    if top / width > _MOST_PRICES:
        raise TooLarge(
            f"ceiling / step gives more than {_MOST_PRICES:,} prices.",
            why="Every price on offer is worked out.",
            fix="Give a larger step or a lower ceiling.",
        )
    prices = tuple(width * i for i in range(1, int(top / width) + 1))
    return Auction(known, prices, positive(epsilon, name="epsilon"), monotone)


def _read_bid(bid: object) -> Fraction:
    known = exact(bid, name="bid")
    return known if known >= 0 else positive(bid, name="bid")


@dataclass(frozen=True, slots=True)
class Pricing:
    """A way to set the price: the chance of each price on offer, and what follows from it."""

    name: str
    chances: tuple[float, ...]
    revenue: float  # on average
    no_sale: float  # chance that nobody buys


@dataclass(frozen=True)
class Auction(Document):
    """Bids, the public prices on offer, and two private ways to choose one.

    Guarantee: ``drawn`` is epsilon-DP for one bidder more or less, the score being the revenue, with the
    highest price on offer as sensitivity (one bidder buys one copy); a further bidder never lowers it.
    ``noised`` is epsilon-DP with the whole range of prices as sensitivity: one bid can move the best price
    from one end to the other.
    Because: [MT07] (digital goods auction), [DR14], [DMNS06]; rounding to a price is post-processing.
    Not covered: who buys what afterwards; that a buyer pays is not private.
    """

    bids: tuple[Fraction, ...]
    prices: tuple[Fraction, ...]
    epsilon: Fraction
    monotone: bool

    @property
    def title(self) -> str:
        """What is explained."""
        return f"A price for {len(self.bids):,} bidders, epsilon = {short(self.epsilon)}"

    def revenue(self, price: Fraction) -> Fraction:
        """What a price earns: itself times the number of bids that reach it."""
        return price * (len(self.bids) - bisect_left(self.bids, price))

    @cached_property
    def revenues(self) -> tuple[Fraction, ...]:
        """What each price on offer earns."""
        return tuple(map(self.revenue, self.prices))

    @property
    def best_price(self) -> Fraction:
        """The price on offer that earns most (the lowest, if several do)."""
        return self.prices[self.revenues.index(max(self.revenues))]

    @property
    def best_revenue(self) -> float:
        """What the best price earns."""
        return as_float(max(self.revenues))

    @cached_property
    def drawn(self) -> Pricing:
        """The price drawn by the exponential mechanism."""
        top = self.prices[-1]
        drawn = exponential_stories.exponential_chances(
            self.revenues, epsilon=self.epsilon, sensitivity=top, monotone=self.monotone
        )
        return self._pricing("drawn by revenue", drawn)

    @cached_property
    def noised(self) -> Pricing:
        """The best price plus Laplace noise that makes it private, rounded to a price on offer."""
        return self._pricing("best price + noise", self._noisy((self.prices[-1] - self.prices[0]) / self.epsilon))

    @cached_property
    def barely_noised(self) -> Pricing:
        """The best price plus noise of one step, for comparison: far too little to be private."""
        return self._pricing("best price + one step of noise", self._noisy(self.prices[0]))

    @cached_property
    def blind(self) -> Pricing:
        """Any price on offer, whatever the bids."""
        return self._pricing("any price", (1 / len(self.prices),) * len(self.prices))

    def prices_svg(self) -> str:
        """What each price earns, and how likely each way is to choose it."""
        curve = tuple(zip(map(as_float, self.prices), map(as_float, self.revenues), strict=True))
        ways = tuple(Series(way.name, self._bands(way), steps=True) for way in (self.drawn, self.noised))
        top = as_float(self.prices[-1])
        return stacked_chart(
            (
                Panel("revenue", (Series("revenue at that price", curve),), include=(0.0,), height=180),
                Panel("chance of a price in each band", ways, include=(0.0,), show=percentage, height=180),
            ),
            title=f"What a price earns, and how it is chosen, epsilon = {short(self.epsilon)}",
            description=(
                f"Revenue peaks at {short(self.best_price)} and drops at once beyond it. Drawn by revenue, prices "
                "gather just below the peak; the best price with noise falls anywhere."
            ),
            x=Axis.over((0.0, top), label="price", snap=False, count=8),
        )

    def revenue_svg(self) -> str:
        """Average revenue of each way as bars."""
        bars = [Bar(name, value, shown=shown) for name, value, shown in self._revenue_rows()]
        return bar_chart(
            bars,
            title=f"Average revenue, epsilon = {short(self.epsilon)}",
            description="; ".join(f"{bar.label}: {bar.shown}" for bar in bars) + ".",
            label="revenue",
        )

    def sections(self) -> tuple[Section, ...]:
        """The explanation, part by part."""
        rows = tuple((way.name, f"{way.revenue:,.2f}", percent(way.no_sale)) for way in self._ways())
        header = ("how the price is set", "average revenue", "chance of no sale")
        prices = Figure("auction-prices", self.prices_svg(), "Above: the cliffs. Below: where each way puts the price.")
        revenue = Figure("auction-revenue", self.revenue_svg(), "Average revenue over the chances of each price.")
        return (
            Section("One step too high", (self._cliff(),), figure=prices),
            Section("Draw the price by what it earns", (self._draw(),), TextTable(header, rows), revenue),
        )

    def to_json(self) -> dict[str, Json]:
        """The numbers as one JSON document."""
        return {
            "kind": "auction",
            "epsilon": as_float(self.epsilon),
            "monotone": self.monotone,
            "bidders": len(self.bids),
            "best": {"price": as_float(self.best_price), "revenue": self.best_revenue},
            "ways": [{"name": way.name, "revenue": way.revenue, "no_sale": way.no_sale} for way in self._ways()],
            "prices": [
                {"price": as_float(price), "revenue": as_float(revenue), "chance": chance}
                for price, revenue, chance in zip(self.prices, self.revenues, self.drawn.chances, strict=True)
            ],
        }

    def _ways(self) -> tuple[Pricing, ...]:
        return (self.drawn, self.noised, self.blind, self.barely_noised)

    def _revenue_rows(self) -> list[tuple[str, float, str]]:
        best = ("the best price (not private)", self.best_revenue, f"{self.best_revenue:,.2f}")
        return [best, *((way.name, way.revenue, f"{way.revenue:,.2f}") for way in self._ways()[:3])]

    def _cliff(self) -> str:
        above = next((p for p in self.prices if p > self.best_price), None)
        beyond = (
            f"the next price on offer, {short(above)}, earns {as_float(self.revenue(above)):,.2f}"
            if above
            else "no higher one is on offer"
        )
        return (
            f"The best price is {short(self.best_price)} and earns {self.best_revenue:,.2f}; {beyond}. What a price "
            "earns drops at once where it passes a bid, so noise on the best price costs much: even noise of a single "
            f"step, far too little to protect anyone, leaves {self.barely_noised.revenue:,.2f} on average. A good "
            "answer and a useless one may lie side by side."
        )

    def _draw(self) -> str:
        return (
            "The exponential mechanism looks at what a price earns, not at where it lies: it draws each price with "
            f"weight {exponential_stories.describe_weights(monotone=self.monotone)}, the score being the revenue and "
            f"the sensitivity the highest price on offer, {short(self.prices[-1])}. "
            f"{_MONOTONE if self.monotone else _GENERAL}"
        )

    def _pricing(self, name: str, chances: Sequence[float]) -> Pricing:
        earned = math.fsum(c * as_float(r) for c, r in zip(chances, self.revenues, strict=True))
        nothing = math.fsum(c for c, r in zip(chances, self.revenues, strict=True) if r == 0)
        return Pricing(name, tuple(chances), earned, nothing)

    def _noisy(self, scale: Fraction) -> list[float]:
        """The chance that the best price plus Laplace noise is nearest to each price (beyond the ends: the end)."""
        centre, width = self.best_price, self.prices[0]
        edges = [as_float((price + width / 2 - centre) / scale) for price in self.prices[:-1]]
        below = [0.0, *map(_laplace_below, edges), 1.0]
        return [high - low for low, high in pairwise(below)]

    def _bands(self, way: Pricing) -> tuple[tuple[float, float], ...]:
        """The chances added up in equal bands of prices, as the corners of a step line."""
        bands = min(_BANDS, len(self.prices))
        sums = [0.0] * bands
        for i, chance in enumerate(way.chances):
            sums[i * bands // len(self.prices)] += chance
        top = as_float(self.prices[-1])
        return tuple((top * i / bands, value) for i, value in enumerate([*sums, sums[-1]]))


def _laplace_below(x: float) -> float:
    """The chance that Laplace noise of scale 1 is below ``x``."""
    return math.exp(x) / 2 if x < 0 else 1 - math.exp(-x) / 2


_MONOTONE = "Another bidder never lowers a revenue, so the weights need no factor 2 while bidders come or go."
_GENERAL = "The factor 2 is that of scores in general: it holds even if a bidder may change a bid."
