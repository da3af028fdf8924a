"""A release worked out of other releases: what a statement around private questions gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hubbub.releases.release import Release
from hubbub.terms import Guarantee, Receipt, added_bounds


@dataclass(frozen=True)
class DerivedRelease(Release):
    """The rows of an outer statement. ``inner`` are the answers to its private questions, each with its own receipt.

    Its values and intervals are stored as they were worked out, so that its JSON is that of any release; ``inner`` is
    not in it, and has forms of its own.

    Guarantee: that of all inner releases together, however often and in whatever way they are read.
    Because: [DR14], post-processing and basic composition: nothing else was read.
    """

    inner: tuple[Release, ...] = ()

    __repr__ = Release.__repr__
    __str__ = Release.__str__

    @property
    def receipts(self) -> tuple[Receipt, ...]:
        """The receipts of the inner releases, each once."""
        return tuple(dict.fromkeys(each.receipt for each in self.inner if each.receipt is not None))

    def price(self) -> str:
        """What it cost, and where that is written."""
        new = [each.receipt for each in self.inner if not each.repeated and each.receipt is not None]
        free = [receipt for receipt in self.receipts if receipt not in new]
        parts = [self.cost_words()]
        parts += [f"receipt #{receipt.sequence} of {receipt.population}" for receipt in dict.fromkeys(new)]
        parts += [f"repeat of #{receipt.sequence}: free" for receipt in free]
        return " · ".join([*parts, f"left: {self.budget_left}"] if self.budget_left else parts)


def guarantee_together(releases: Sequence[Release]) -> Guarantee:
    """What holds for several releases of one population together: the sum of what they cost, each counted once."""
    counted = {_identity(place, each): each.guarantee for place, each in enumerate(releases)}
    first = next(iter(counted.values()))
    return Guarantee(
        added_bounds([each.holds for each in counted.values()]), first.unit, first.neighbours, first.caveats
    )


def _identity(place: int, release: Release) -> object:
    receipt = release.receipt
    return place if receipt is None else (receipt.population, receipt.sequence)
