"""Small private tables for the tests of synthetic data, and noise that is the same in every run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow
import pytest

from hubbub import noise
from hubbub.noise.testing import seeded
from hubbub.publish import Categorical, Numeric

DOMAIN = {
    "age": Numeric(lower=0, upper=99),
    "sex": Categorical(["f", "m"]),
    "smokes": Categorical(["no", "yes"]),
    "ward": Categorical(["north", "south", "east"]),
}


def seed_noise(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """All noise of production from one seeded source."""
    source = seeded(seed)

    def drawing(draw: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given, rng=None, **more: draw(*given, rng=rng or source, **more)

    for name in ("discrete_gaussian", "discrete_laplace", "choose_exp"):
        monkeypatch.setattr(noise, name, drawing(getattr(noise, name)))


def people(count: int = 4000, seed: int = 1) -> pyarrow.Table:
    """Old people smoke and lie in the north; the young do not."""
    generator = np.random.default_rng(seed)
    age = generator.integers(18, 90, count)
    old = age >= 60
    return pyarrow.table(
        {
            "age": age,
            "sex": generator.choice(["f", "m"], count),
            "smokes": np.where(generator.random(count) < np.where(old, 0.8, 0.1), "yes", "no"),
            "ward": np.where(generator.random(count) < np.where(old, 0.9, 0.1), "north", "south"),
        }
    )


def distance(one: pyarrow.Table, other: pyarrow.Table, columns: list[str]) -> float:
    """The total variation between the joint distributions of some columns."""
    shares = [table.group_by(columns).aggregate([([], "count_all")]).to_pylist() for table in (one, other)]
    found: list[dict[Any, float]] = []
    for table, rows in zip((one, other), shares, strict=True):
        found.append({tuple(row[c] for c in columns): row["count_all"] / table.num_rows for row in rows})
    return 0.5 * sum(abs(found[0].get(k, 0.0) - found[1].get(k, 0.0)) for k in {*found[0], *found[1]})
