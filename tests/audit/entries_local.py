"""Every randomizer of the local model: one person's value against another (neighbours by replacement)."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from hubbub import local
from hubbub.noise.testing import seeded

from ._entries import Entry

BETWEEN = {"lower": 0, "upper": 1}
MADE: dict[str, tuple[dict[str, Any], Any, Any]] = {  # how it is made at epsilon 1, and two values
    "BinaryResponse": ({}, 0, 1),
    "CountMeanSketch": ({"domain": 4, "rows": 4, "width": 8}, 0, 3),
    "DBitFlip": ({"domain": 4, "flips": 2}, 0, 3),
    "Duchi": (BETWEEN, 0.0, 1.0),
    "HadamardCountMeanSketch": ({"domain": 4, "rows": 4, "width": 8}, 0, 3),
    "HadamardResponse": ({"domain": 4}, 0, 3),
    "Hybrid": (BETWEEN, 0.0, 1.0),
    "KaryResponse": ({"domain": 4}, 0, 3),
    "LocalGaussian": ({**BETWEEN, "delta": 0.01}, 0.0, 1.0),
    "LocalHashing": ({"domain": 4}, 0, 3),
    "LocalLaplace": (BETWEEN, 0.0, 1.0),
    "Loloha": ({"domain": 4, "forever": 2, "functions": 16}, 0, 3),
    "OneBitHadamard": ({"domain": 4}, 0, 3),
    "OneBitMean": (BETWEEN, 0.0, 1.0),
    "Piecewise": (BETWEEN, 0.0, 1.0),
    "PrivUnitG": ({"dimension": 3}, (1.0, 0.0, 0.0), (-1.0, 0.0, 0.0)),
    "ProjectiveGeometry": ({"domain": 4}, 0, 3),
    "Rappor": ({"domain": 4, "bits": 16, "hashes": 2, "cohorts": 2}, 0, 3),
    "SignResponse": ({}, -1, 1),
    "SubsetSelection": ({"domain": 4}, 0, 3),
    "UnaryEncoding": ({"domain": 4}, 0, 3),
}

SCRAMBLED = {"LocalHashing", "PrivUnitG", "Rappor"}  # reports that speak only once they are looked up


def public() -> list[str]:
    """The names of all randomizers that one can make."""
    named = ((name, getattr(local, name)) for name in local.__all__)
    return [n for n, kind in named if inspect.isclass(kind) and issubclass(kind, local.Randomizer) and _real(kind)]


def _real(kind: type) -> bool:
    return not inspect.isabstract(kind)


def _entry(name: str, place: int) -> Entry:
    if name == "FiniteRandomizer":
        made, a, b = local.FiniteRandomizer([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]), 0, 1
    else:
        options, a, b = MADE[name]
        made = getattr(local, name)(epsilon=1, **options)
    return entry_of(made, a, b, name=name, seed=2000 + place)


def entry_of(made: Any, a: Any, b: Any, *, name: str, seed: int) -> Entry:
    rng = seeded(seed)

    def draw(value: Any, size: int) -> Any:
        return np.asarray(made.randomize(np.array([value] * size), rng=rng))

    def states(reports: Any) -> Any:
        """What the collector makes of each report alone."""
        return [made.accumulate(reports[i : i + 1]) for i in range(len(reports))]

    return Entry(
        name=f"local {name}",
        covers=name,
        draw=draw,
        a=a,
        b=b,
        epsilon=float(made.epsilon),
        delta=float(getattr(made.event, "delta", 0) or (0.01 if name == "LocalGaussian" else 0)),
        trials=3_000 if name in SCRAMBLED else 20_000,
        features=states if name in SCRAMBLED else None,
        neighbours="replace",
    )


ENTRIES = [_entry(name, place) for place, name in enumerate(public()) if name in {*MADE, "FiniteRandomizer"}]
