"""A small collection, its reports, and a collector to send them to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hubbub.local.collection import report_wire
from hubbub.local.collection.collection import Collection
from hubbub.local.collection.collector import Collector, Rules
from hubbub.local.collection.report_store import Store
from hubbub.local.collection.signed_configuration import new_key, public_text, sign
from hubbub.local.randomizers.base import Randomizer
from hubbub.local.randomizers.kary import KaryResponse
from hubbub.noise.testing import seeded

FRUIT = ("apple", "pear", "plum", "fig")


def collection(
    randomizer: Randomizer | None = None, *, epochs: int = 1, minimum_batch: int = 100, **fields: object
) -> Collection:
    """A question about fruit, unless something else is asked."""
    answers = {"answers": FRUIT} if randomizer is None else {}
    return Collection(
        name="fruit",
        question="Which fruit do you like best?",
        randomizer=randomizer or KaryResponse(epsilon=1, domain=4),
        epochs=epochs,
        minimum_batch=minimum_batch,
        **answers,
        **fields,  # type: ignore[arg-type]
    )


@dataclass
class Desk:
    """A collection with its key, and a folder for stores."""

    collection: Collection
    folder: Path

    def __post_init__(self) -> None:
        self.key = new_key()
        self.public_key = public_text(self.key)
        self.signed = sign(self.collection, self.key)

    def store(self, name: str = "reports.db") -> Store:
        """A new store."""
        return Store.create(self.folder / name, configuration=self.signed, public_key=self.public_key)

    def collector(self, name: str = "reports.db", rules: Rules | None = None) -> Collector:
        """A collector over a new store."""
        return Collector(self.store(name), rules=rules)


def packed(of: Collection, count: int, *, epoch: int = 0, seed: int = 1, value: int | None = None) -> list[bytes]:
    """Reports of so many people: of one value, or of values in a fixed uneven mix."""
    people = np.random.default_rng(seed)
    values = np.full(count, value) if value is not None else np.minimum(people.geometric(0.5, count) - 1, 3)
    payloads = of.randomizer.pack(of.randomizer.randomize(values, rng=seeded(seed)))
    return [
        report_wire.pack(of, report_wire.Report(epoch=epoch, id=people.bytes(16), payload=payload.tobytes()))
        for payload in payloads
    ]


def frame(reports: Sequence[bytes]) -> bytes:
    """A batch."""
    return report_wire.pack_batch(reports)
