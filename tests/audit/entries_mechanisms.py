"""Every mechanism, on the worst pair that its own tests know."""

from __future__ import annotations

from typing import Any

from hubbub.noise.testing import seeded
from tests.mechanisms.contract import Contract
from tests.mechanisms.test_every_mechanism import contracts

from ._entries import Entry

IN_BULK = {  # which give many outcomes at once
    "DiscreteGaussian",
    "Gaussian",
    "Geometric",
    "Histogram",
    "Laplace",
    "NoisyCDF",
    "OptimalPartitionSelection",
    "RandomizedResponse",
    "ThresholdPartitionSelection",
    "WeightedPartitionSelection",
}


def _entry(contract: type[Contract], place: int) -> Entry:
    case = contract()
    rng = seeded(1000 + place)

    def draw(data: Any, size: int) -> Any:
        if contract.kind.__name__ == "TreeCounter":  # its own tests take every sum for an outcome
            return [tuple(case.make().release(data, rng=rng).tolist()) for _ in range(size)]
        return list(case.outcomes(data, size, rng))

    a, b = case.neighbours
    return Entry(
        name=contract.__name__.removeprefix("Test"),
        covers=contract.kind.__name__,
        draw=draw,
        a=a,
        b=b,
        epsilon=case.epsilon,
        delta=case.delta,
        trials=30_000 if contract.kind.__name__ in IN_BULK else 1_000,
    )


ENTRIES = [_entry(contract, place) for place, contract in enumerate(sorted(contracts(), key=lambda c: c.__name__))]
