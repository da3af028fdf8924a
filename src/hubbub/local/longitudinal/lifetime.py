"""The lifetime privacy loss of one client: epochs, remembered answers, and epsilon over all collections.

Three numbers are kept apart, because they answer three questions (``docs/proofs/lifetime.md``):

- *constant*: a value that never changes. A memo protects it with its epsilon, however many epochs there are.
- *values*: what the values were, for somebody who knows when they changed: the memo's epsilon for each kind of value.
  This is what the caps limit.
- *worst case*: everything, also when something changed: each epoch costs its own step. Nothing but fewer epochs, or
  more noise in each, makes it smaller.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from hubbub.local.longitudinal.memories import memory_of
from hubbub.local.randomizers.base import Randomizer
from hubbub.render import Document, Json, Section, TextTable, short
from hubbub.terms import OutOfRange, exact, shown


@dataclass(frozen=True, slots=True)
class Caps:
    """The most epsilon (for *values*) that a client gives away about one attribute, and about all together."""

    attribute: Fraction = Fraction(8)
    total: Fraction = Fraction(32)

    def __post_init__(self) -> None:
        for name in ("attribute", "total"):
            cap = exact(getattr(self, name), name=name)
            if cap <= 0:
                raise OutOfRange(
                    f"the cap {name} must be above 0 and is {shown(cap)}.",
                    why="With a cap of 0 a client would never tell anything.",
                    fix="Give the most epsilon that may be told, or take no part.",
                )
            object.__setattr__(self, name, cap)


@dataclass(frozen=True, slots=True)
class CollectionSpending:
    """What one collection took from this client.

    Without memory, ``charges`` counts epochs, each at ``epsilon``. With memory it counts the memos for which room was
    reserved when the client joined, and ``memos`` those that were made: what is charged must not depend on how often a
    value changes, or other collections would show it. ``informative`` epochs depended on the person's value; in
    ``silent`` ones a cap was reached and the report said nothing. ``again`` is the epsilon of one report given the
    memo, ``delta`` what one report has beside epsilon.
    """

    collection: str
    attribute: str
    epsilon: Fraction
    charges: int
    informative: int
    silent: int
    memoized: bool = False
    memos: int = 0
    again: Fraction | None = None
    delta: Fraction = Fraction(0)

    @property
    def charged(self) -> Fraction:
        """What counts against the caps."""
        return self.charges * self.epsilon

    @property
    def worst_case(self) -> Fraction | None:
        """For any two lives; None if nothing bounds it."""
        if not (self.memoized and self.charges):
            return self.charged
        epochs = self.informative + self.silent  # which of them are silent may depend on the values
        if self.again is None:
            return epochs * self.epsilon if epochs <= 1 else None
        return epochs * self.again

    @property
    def values(self) -> Fraction:
        """For two lives in which changes come at the same times."""
        return _least_known(self.memos * self.epsilon if self.memoized else self.charged, self.worst_case)

    @property
    def constant(self) -> Fraction:
        """For two lives in each of which the value never changes."""
        return _least_known(min(self.memos, 1) * self.epsilon if self.memoized else self.charged, self.worst_case)


@dataclass(frozen=True, slots=True)
class Lifetime(Document):
    """What a client has given away over all its collections, with its caps."""

    spent: tuple[CollectionSpending, ...]
    caps: Caps

    @property
    def constant(self) -> Fraction:
        """Epsilon if no value ever changed."""
        return sum((each.constant for each in self.spent), Fraction(0))

    @property
    def values(self) -> Fraction:
        """Epsilon for what the values were."""
        return sum((each.values for each in self.spent), Fraction(0))

    @property
    def worst_case(self) -> Fraction | None:
        """Epsilon for everything, also when values changed; None if nothing bounds it."""
        return _sum_known(each.worst_case for each in self.spent)

    @property
    def delta(self) -> Fraction:
        """The chance that all of this fails, at most: Gaussian noise has one, and those of all reports add up."""
        return sum((each.charges * each.delta for each in self.spent), Fraction(0))

    def charged(self, attribute: str | None = None) -> Fraction:
        """What counts against the caps: of one attribute, or of all."""
        return sum((s.charged for s in self.spent if attribute in (None, s.attribute)), Fraction(0))

    def room(self, attribute: str) -> Fraction:
        """What may still be charged for an attribute, under both caps."""
        return min(self.caps.attribute - self.charged(attribute), self.caps.total - self.charged())

    @property
    def title(self) -> str:
        """What is told."""
        return "What this client has given away so far"

    def sections(self) -> tuple[Section, ...]:
        """The report, part by part."""
        return self._given_away(), self._sent()

    def _given_away(self) -> Section:
        words = (
            f"About values that never changed, all reports together move the odds at most {_odds_text(self.constant)}; "
            f"about what the values were, {_odds_text(self.values)}; about everything, also when they changed, "
            f"{_odds_text(self.worst_case)}.",
            *([f"With a chance of at most {short(self.delta)} (delta) it is more."] if self.delta else []),
        )
        rows = tuple(
            (each.collection, *(_epsilon_text(epsilon) for epsilon in (each.constant, each.values, each.worst_case)))
            for each in self.spent
        )
        return Section(
            "Epsilon over a lifetime", words, TextTable(("collection", "never changed", "values", "worst case"), rows)
        )

    def _sent(self) -> Section:
        words = (
            f"Caps: {short(self.caps.attribute)} for one attribute, {short(self.caps.total)} in total. Past a cap this "
            "client goes on sending reports that say nothing, because silence would tell.",
        )
        rows = tuple(
            (each.collection, each.attribute, *_epoch_counts(each), _epsilon_text(each.charged)) for each in self.spent
        )
        return Section(
            "What was sent", words, TextTable(("collection", "about", "told", "silent", "memos", "charged"), rows)
        )

    def to_json(self) -> dict[str, Json]:
        """The numbers as one JSON document."""
        return {
            "kind": "lifetime",
            "constant": float(self.constant),
            "values": float(self.values),
            "worst_case": None if self.worst_case is None else float(self.worst_case),
            "delta": float(self.delta),
            "caps": {"attribute": float(self.caps.attribute), "total": float(self.caps.total)},
            "collections": [
                {
                    "collection": spent.collection,
                    "attribute": spent.attribute,
                    "charged": float(spent.charged),
                    "told": spent.informative,
                    "silent": spent.silent,
                    "memos": spent.memos,
                }
                for spent in self.spent
            ],
        }


def most_ever(randomizer: Randomizer, epochs: int) -> Fraction:
    """The most that a collection of so many epochs can take from one client if no cap stops it."""
    memory = memory_of(randomizer)
    return (epochs if memory is None else min(memory.kinds, epochs)) * price_of(randomizer)


def price_of(randomizer: Randomizer) -> Fraction:
    """What is charged at a time: one report, or one memo for ever."""
    memory = memory_of(randomizer)
    return randomizer.epsilon if memory is None else memory.forever


def _epoch_counts(spent: CollectionSpending) -> tuple[str, str, str]:
    """Epochs that told something, epochs that did not, memos."""
    return f"{spent.informative:,}", f"{spent.silent:,}", str(spent.memos) if spent.memoized else "none"


def _epsilon_text(epsilon: Fraction | None) -> str:
    """An epsilon, rounded up to hundredths."""
    return "without bound" if epsilon is None else short(Fraction(math.ceil(100 * epsilon), 100))


def _odds_text(epsilon: Fraction | None) -> str:
    """An epsilon as a change of odds."""
    if epsilon is None:
        return "without any bound"
    if epsilon > 20:
        return f"e^{_epsilon_text(epsilon)}-fold, which is no protection"
    times = math.exp(epsilon)
    return f"{short(times) if times < 100 else f'{times:,.0f}'}-fold (epsilon {_epsilon_text(epsilon)})"


def _least_known(one: Fraction, other: Fraction | None) -> Fraction:
    return one if other is None else min(one, other)


def _sum_known(terms: Iterable[Fraction | None]) -> Fraction | None:
    total = Fraction(0)
    for term in terms:
        if term is None:
            return None
        total += term
    return total
