"""Which noise a question gets: at a stated price the one of least error, for a stated error the one that costs least.

Discrete Laplace or discrete Gaussian: ``docs/proofs/either-way.md`` has what each costs. Nothing here depends on rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from hubbub.accounting import Amount, Currency, cost_both_ways, cost_in
from hubbub.ledger import AccountBalance, Population
from hubbub.sql.compiler.query_plan import NoiseKind
from hubbub.sql.pricing.error_prediction import typical_error
from hubbub.sql.quote import QueryQuote

_NEARLY = 1.03  # errors this close count as equal, and the cheaper noise is taken


@dataclass(frozen=True)
class Alternative:
    """A question with one kind of noise: its error, what is charged for it, and how many more like it fit."""

    quote: QueryQuote
    cost: Amount
    line: Callable[[], AccountBalance]

    @property
    def noise(self) -> NoiseKind:
        """The kind of noise."""
        return self.quote.planned.noise

    @cached_property
    def error(self) -> float:
        """The typical error of its columns, for comparing."""
        return typical_error(self.quote.plans, self.quote.spent, 0.95)

    @cached_property
    def fits(self) -> bool:
        """Whether it fits into what is left."""
        line = self.line()
        return line.limit is not None and line.limit.fits(line.spent + self.cost)

    @cached_property
    def more(self) -> int:
        """How many more like it fit after this one."""
        line = self.line()
        if line.limit is None or not self.fits:
            return 0
        return line.limit.how_many(line.spent + self.cost, self.cost)

    @cached_property
    def closes(self) -> bool:
        """Whether it closes the concentrated account for good: afterwards questions add up in epsilon only."""
        line = self.line()
        if line.limit is None or line.currency is not Currency.EITHER or not line.limit.whole.loss:
            return False
        return line.limit.fits_loss(line.spent) and not line.limit.fits_loss(line.spent + self.cost)


def alternative_of(quote: QueryQuote, who: Population, line: Callable[[], AccountBalance]) -> Alternative:
    """A quote with what the people's budget is charged for it."""
    price, limit = quote.price, who.first_limit
    if limit.currency is Currency.EITHER:
        cost = cost_both_ways(limit, quote.event, who.neighbours, tail=price.tail, stated=price.epsilon)
        return Alternative(quote, cost, line)
    return Alternative(quote, cost_in(limit.currency, quote.event, who.neighbours), line)


def rank_alternatives(alternatives: Sequence[Alternative], *, for_error: bool) -> tuple[list[Alternative], bool]:
    """Best first, the best of each noise alone, and whether that depends on what was spent before.

    At a stated price the least error is best of those that fit, and among those that are nearly as good the cheapest;
    ``for_error``, the one of which most fit.
    """
    if for_error:
        return _best_of_each(sorted(alternatives, key=lambda each: (-each.more, each.error))), True
    ranked = _best_of_each(sorted(alternatives, key=lambda each: each.error))
    if len(ranked) > 1 and not ranked[0].fits:
        return sorted(ranked, key=lambda each: not each.fits), True
    near = [each for each in ranked if each.error <= _NEARLY * ranked[0].error]
    if len(near) > 1:
        near.sort(key=lambda each: -each.more)
    return near + ranked[len(near) :], len(near) > 1


def _best_of_each(ranked: Sequence[Alternative]) -> list[Alternative]:
    """The first of each kind of noise; one that is the same as another stands once."""
    firsts: dict[NoiseKind, Alternative] = {}
    for each in ranked:
        if all(each.quote.event != other.quote.event for other in firsts.values()):
            firsts.setdefault(each.noise, each)
    return list(firsts.values())
