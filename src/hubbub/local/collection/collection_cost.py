"""What a collection costs one person if they take part to the end, and how that is charged to a ledger."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from hubbub.local.longitudinal.lifetime import Caps, CollectionSpending, price_of
from hubbub.local.longitudinal.memories import memory_of
from hubbub.terms import ApproximateDP, Event, NoBound, PureDP, PureStep, Receipt, Repeat

if TYPE_CHECKING:
    from hubbub.ledger import AccountLike
    from hubbub.local.collection.collection import Collection
    from hubbub.releases import JobFacts, Progress
    from hubbub.terms import PrivacyBound


def whole_life(collection: Collection) -> CollectionSpending:
    """What a client that reports in every epoch gives away, within the collection's ``lifetime``."""
    memory, named = memory_of(collection.randomizer), (collection.name, collection.attribute)
    if memory is None:
        price = collection.randomizer.epsilon
        charges = min(collection.epochs, int(collection.cap / price))
        return CollectionSpending(*named, price, charges, informative=charges, silent=collection.epochs - charges)
    kinds = min(memory.kinds, int(collection.cap / memory.forever))
    return CollectionSpending(
        *named,
        memory.forever,
        charges=kinds,
        informative=collection.epochs,
        silent=0,
        memoized=True,
        memos=min(kinds, collection.epochs),
        again=memory.again,
    )


def silent_from(collection: Collection) -> int | None:
    """The first epoch in which a client that reported in all before it may have to say nothing; None if there is none.

    The collection's ``lifetime`` and the caps that clients have unless they choose others pay for so many reports, or
    for so many memos.
    """
    usual = Caps()
    paid = int(min(collection.cap, usual.attribute, usual.total) / price_of(collection.randomizer))
    memory = memory_of(collection.randomizer)
    most = collection.epochs if memory is None else min(memory.kinds, collection.epochs)
    return paid if paid < most else None


def lifetime_bound(collection: Collection) -> PrivacyBound:
    """What holds about the values of a person who reports in every epoch."""
    spent, delta = whole_life(collection), _report_delta(collection)
    return ApproximateDP(spent.values, spent.charges * delta) if delta else PureDP(spent.values)


def event_of(collection: Collection) -> Event:
    """All that the collection does to one person, as one event: any two lives are told apart by no more than this."""
    spent, once = whole_life(collection), collection.randomizer.event
    if _report_delta(collection):
        return Repeat(once, max(1, spent.charges))
    if spent.worst_case is None:
        raise NoBound(
            f"no epsilon bounds what {collection.name!r} tells of a person whose value changes.",
            why="Its reports are memos sent as they are, so that a change is seen as it happens.",
            fix="Collect one epoch, or take a randomizer with a step of its own in each epoch.",
        )
    return PureStep(
        mechanism=f"collection-{collection.randomizer.protocol}",
        epsilon=spent.worst_case,
        neighbours=once.neighbours,
        unit=once.unit,
    )


def _report_delta(collection: Collection) -> Fraction:
    """The delta of one report: Gaussian noise has one."""
    return Fraction(getattr(collection.randomizer, "delta", 0))


@dataclass(frozen=True)
class CollectionJob:
    """A whole collection, charged once: it reads no rows, and nothing of it leaves before the charge."""

    collection: Collection

    @property
    def facts(self) -> JobFacts:
        """What is charged."""
        from hubbub.releases import JobFacts

        return JobFacts(
            event=event_of(self.collection),
            identity={"collection": self.collection.digest.hex()},
            size=256,
            title=f"collection {self.collection.name}",
            seconds=10.0,
        )

    def bind(self) -> None:
        """Nothing to try: the collection was checked when it was made."""

    def run(self, progress: Progress) -> str:
        """What is stored: which collection was paid for."""
        return json.dumps({"collection": self.collection.id, "digest": self.collection.digest.hex()})

    def show(self, answer: str, receipt: Receipt | None, *, repeated: bool) -> Receipt:
        """The receipt."""
        assert receipt is not None  # a collection is charged to an account, or not at all
        return receipt


def charge_collection(collection: Collection, account: AccountLike) -> Receipt:
    """Charge the whole collection to an account, once: the same collection again is free."""
    from hubbub.releases import release_job

    return release_job(CollectionJob(collection), account)
