"""A tally: the additive state of one epoch of a collection, which is all that an estimate needs.

Reports are counted by adding whole numbers, so it does not matter in which order they come or who adds them up: the
tallies of several shards, added, are the tally of all their reports, exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hubbub.terms import BadCollection, EmptyInput, Unreadable

if TYPE_CHECKING:
    from hubbub.local.collection.collection import Collection
    from hubbub.local.estimates import Estimate

KIND = "hubbub/tally/1"


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """How often what was reported in one epoch: ``state`` has one whole number per counter of the randomizer."""

    collection: Collection
    epoch: int
    state: NDArray[np.int64]
    reports: int

    @classmethod
    def empty(cls, collection: Collection, epoch: int) -> Tally:
        """Nothing yet."""
        return cls(collection, epoch, np.zeros(collection.randomizer.state_size, dtype=np.int64), 0)

    def __add__(self, other: Tally) -> Tally:
        """Both together, exactly; they must be of the same epoch of the same collection."""
        if (self.collection.digest, self.epoch) != (other.collection.digest, other.epoch):
            raise BadCollection(
                "these tallies are of different collections or epochs.",
                why="Counts mean something only under the parameters and in the epoch in which they were reported.",
                fix="Add up shards of one epoch of one collection.",
            )
        return Tally(self.collection, self.epoch, self.state + other.state, self.reports + other.reports)

    def estimate(self) -> Estimate:
        """What the reports say together: unbiased, with intervals; nothing below the collection's minimum batch."""
        least = self.collection.minimum_batch
        if self.reports < max(1, least):
            raise EmptyInput(
                f"{self.reports} reports have come, and nothing is estimated from fewer than {max(1, least)}.",
                why="The collection's configuration, which every client has seen, promises that.",
                fix="Wait for more reports.",
            )
        return self.collection.randomizer.decode(self.state, count=self.reports)

    def to_json(self) -> dict[str, Any]:
        """The tally as a document, for another machine to add up."""
        return {
            "kind": KIND,
            "collection": self.collection.id,
            "digest": self.collection.digest.hex(),
            "epoch": self.epoch,
            "reports": self.reports,
            "state": self.state.tolist(),
        }

    @classmethod
    def from_json(cls, collection: Collection, document: Mapping[str, Any]) -> Tally:
        """The tally that a document holds; one of another collection is refused."""
        try:
            if document["kind"] != KIND:
                raise ValueError("another kind of document")
            digest, numbers = bytes.fromhex(document["digest"]), document["state"]
            epoch, reports = document["epoch"], document["reports"]
            if not all(type(number) is int for number in (epoch, reports, *numbers)):
                raise ValueError("another number than a whole one")
            state = np.array(numbers, dtype=np.int64)
        except (KeyError, TypeError, ValueError, OverflowError):
            raise _unreadable_tally() from None
        if digest != collection.digest:
            raise BadCollection(
                "this tally was made under other parameters.",
                why="Counts mean something only under the parameters under which they were reported.",
                fix="Give the configuration that the tally was collected under.",
            )
        randomizer = collection.randomizer
        counted = randomizer.symbols is None or (state.min(initial=0) >= 0 and int(state.sum()) == reports)
        if state.shape != (randomizer.state_size,) or reports < 0 or not 0 <= epoch < collection.epochs or not counted:
            raise _unreadable_tally()
        return cls(collection, epoch, state, reports)


def _unreadable_tally() -> Unreadable:
    return Unreadable(
        "a tally could not be read.",
        why=f'It is a document of kind "{KIND}", as Tally.to_json writes it.',
        fix="Make it again from the reports.",
    )
