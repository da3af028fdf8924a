"""The reports of every randomizer for a repeatable source, as 0.1 made them: which random words go where is a format.

Reports in the world, and the permanent noise of clients, were made by these distributions from these words. A change
of a digest here is a new protocol, not a correction; the fixture is never written anew.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hubbub import local
from hubbub.local import Randomizer
from hubbub.noise.testing import seeded

from ._vectors import RANDOMIZERS

PATH = Path(__file__).parents[1] / "fixtures" / "local" / "reports.json"
MANY, ALONE = 3000, 60

EVERY: dict[str, Randomizer] = {
    **RANDOMIZERS,
    "kary of 2": local.KaryResponse(epsilon=0.25, domain=2),
    "kary of 2^24": local.KaryResponse(epsilon=12, domain=1 << 24),
    "hashing to 65536 buckets": local.LocalHashing(epsilon=11, domain=1 << 24, buckets=1 << 16),
    "hadamard of 2": local.HadamardResponse(epsilon=4, domain=2),
    "hadamard of 2^20": local.HadamardResponse(epsilon=2, domain=1 << 20, missing=77),
    "onebit of 2": local.OneBitHadamard(epsilon=3, domain=2),
    "projective, order 2": local.ProjectiveGeometry(epsilon=0.5, domain=15, order=2),
    "projective, a line": local.ProjectiveGeometry(epsilon=5, domain=30, order=31),
    "projective of 2^21": local.ProjectiveGeometry(epsilon=1, domain=1 << 21),
    "piecewise, small epsilon": local.Piecewise(epsilon=0.01, lower=-5, upper=7, missing=1),
    "piecewise, large epsilon": local.Piecewise(epsilon=30, lower=-5, upper=7),
    "hybrid that is one bit": local.Hybrid(epsilon=0.5, lower=0, upper=1),
    "hybrid, large epsilon": local.Hybrid(epsilon=6, lower=0, upper=1),
    "loloha, 256 buckets": local.Loloha(epsilon=1, forever=4, domain=1000, buckets=256),
    "hcms, narrow": local.HadamardCountMeanSketch(epsilon=2, domain=50, rows=7, width=2, seed=5),
    "privunitg": local.PrivUnitG(epsilon=4, dimension=3),
    "privunitg, 2 candidates": local.PrivUnitG(epsilon=1, dimension=2, candidates=2),
}


def people(randomizer: Randomizer) -> list[Any]:
    """Values inside, at the ends and outside."""
    if isinstance(randomizer, local.PrivUnitG):
        return [[(i * 7 + j * 3) % 11 / 11 - 0.4 for j in range(randomizer.dimension)] for i in range(50)]
    if hasattr(randomizer, "domain"):
        last = randomizer.domain - 1
        return [0, last, 1, last // 2, last + 1, -1, last // 3, *range(min(9, last))]
    if randomizer.protocol == "sign":
        return [1, -1, 0]
    low, high = float(randomizer.lower), float(randomizer.upper)  # type: ignore[attr-defined]
    return [low, high, low + 0.3 * (high - low), low - 1, high + 1e300, low + 0.7654321 * (high - low)]


def digest(randomizer: Randomizer) -> dict[str, str]:
    """Hashes of many reports, of reports one by one, of the words that come next, and of the parameters."""
    values = people(randomizer)
    crowd, source = [values[i % len(values)] for i in range(MANY)], seeded(11)
    many = randomizer.pack(randomizer.randomize(crowd, rng=source)).tobytes()
    after = source.random_words(4).tobytes()
    alone = b"".join(
        np.ascontiguousarray(randomizer.pack([randomizer.randomize(value, rng=source)])).tobytes()
        for value in crowd[:ALONE]
    )
    parameters = json.dumps(randomizer.parameters(), sort_keys=True, separators=(",", ":"))
    parts = {"many": many, "after": after, "alone": alone, "end": source.random_words(4).tobytes()}
    return {name: hashlib.sha256(part).hexdigest()[:32] for name, part in parts.items()} | {
        "parameters": hashlib.sha256(parameters.encode()).hexdigest()[:32]
    }


@pytest.mark.parametrize("name", EVERY)
def test_the_same_words_make_the_same_reports_as_ever(name: str) -> None:
    assert digest(EVERY[name]) == json.loads(PATH.read_text())[name]
