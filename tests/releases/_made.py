"""Releases and noisy columns for tests."""

from __future__ import annotations

import dataclasses
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from hubbub.noise import discrete_gaussian, discrete_laplace
from hubbub.noise.testing import seeded
from hubbub.releases import KeyColumn, Noise, NoisyColumn, Release, ReleasedColumn
from hubbub.releases.formulas import Key, Mean, Ref
from hubbub.terms import ApproximateDP, GaussianNoise, Guarantee, PureDP, Receipt, Unit, ZeroConcentratedDP

GUARANTEE = Guarantee(ApproximateDP(Fraction(1, 2), Fraction(1, 10**8)), Unit("patients.patient_id"))
QUESTION = "SELECT ward, COUNT(*) AS n, AVG(cost) AS cost FROM visits GROUP BY ward"


def drawn(name: str, truth: int, noise: Noise, *, size: int, seed: int, step: Fraction = Fraction(1)) -> NoisyColumn:
    """The same true integer released again and again, with the noise of real releases."""
    sampler = discrete_gaussian if noise.distribution == "gaussian" else discrete_laplace
    values = sampler(noise.scale, size=size, rng=seeded(seed))
    return NoisyColumn(name, step, noise, tuple(truth + int(value) for value in values))


def receipt(sequence: int = 12) -> Receipt:
    event = GaussianNoise(sigma=Fraction(10), sensitivity=Fraction(1), grid=Fraction(1))
    charged = ZeroConcentratedDP(Fraction(1, 200))
    return Receipt("hospital-patients", sequence, f"{sequence:064x}", "cd" * 32, event, charged, "2026-01-02T03:04:05Z")


def by_ward(**changes: Any) -> Release:
    """Counts and average costs of three wards, one of which is nearly empty."""
    counts = NoisyColumn("COUNT(*)", Fraction(1), Noise("gaussian", Fraction(10)), (1203, 342, -4))
    sums = NoisyColumn(
        "SUM(cost)", Fraction(1, 100), Noise("gaussian", Fraction(1_250_000)), (-190_000_000, 3_500_000, 2_000_000)
    )
    made = Release(
        keys=(KeyColumn("ward", ("north", "south", "east <b>")),),
        measures=(counts, sums),
        columns=(
            ReleasedColumn("ward", Key(0)),
            ReleasedColumn("n", Ref(0), "COUNT(*)", "discrete Gaussian, sigma = 10"),
            ReleasedColumn(
                "cost",
                Mean(Ref(1), Ref(0), Fraction(2500), Fraction(0), Fraction(5000)),
                "AVG(cost), cost in [0, 5000] by 0.01",
            ),
        ),
        guarantee=GUARANTEE,
        receipt=receipt(),
        question=QUESTION,
        notes=("Rows with no ward are left out.",),
        parameters={"epsilon": "0.5", "delta": "1e-8"},
        budget_left="epsilon = 2.5",
    )
    return dataclasses.replace(made, **changes)


def total(value: int = 1203, *, sigma: int = 10, **changes: Any) -> Release:
    """One count."""
    counts = NoisyColumn("COUNT(*)", Fraction(1), Noise("gaussian", Fraction(sigma)), (value,))
    made = Release((), (counts,), (ReleasedColumn("n", Ref(0)),), GUARANTEE)
    return dataclasses.replace(made, **changes)


KEYS = (
    KeyColumn("flag", (True, None)),
    KeyColumn("whole", (2**70, -1)),
    KeyColumn("real", (0.1, float("inf"))),
    KeyColumn("text", ("ä|\n<", None)),
    KeyColumn("day", (date(2025, 1, 2), None)),
    KeyColumn("at", (datetime(2025, 1, 2, 3, 4, 5, 6), None)),
)


def every_key() -> Release:
    """Keys of every kind, with missing values, and integers beyond 64 bits."""
    huge = NoisyColumn("SUM(x)", Fraction(1), Noise("laplace", Fraction(2**80)), (10**30, -(10**30)))
    columns = tuple(ReleasedColumn(key.name, Key(i)) for i, key in enumerate(KEYS))
    return Release(KEYS, (huge,), (*columns, ReleasedColumn("sum", Ref(0))), Guarantee(PureDP(Fraction(1))))
