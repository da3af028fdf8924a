"""The shared vectors: what every client must send for given values and given random bytes.

`ACCEPT=1 .venv/bin/python -m pytest tests/local/test_javascript.py` writes them anew; then read what changed. Reports
in the world were made by these laws: a change here is a new protocol, not a correction.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hubbub import local
from hubbub.local.collection import report_wire
from hubbub.local.collection.randomizer_config import distribution_parameters
from hubbub.local.randomizers.base import Randomizer

PATH = Path(__file__).parents[1] / "fixtures" / "local" / "vectors.json"
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))

RANDOMIZERS: dict[str, Randomizer] = {
    "binary": local.BinaryResponse(epsilon=1),
    "sign": local.SignResponse(epsilon=0.5),
    "kary of 3": local.KaryResponse(epsilon=1, domain=3),
    "kary of 1000": local.KaryResponse(epsilon=3, domain=1000, missing=999),
    "unary": local.UnaryEncoding(epsilon=1, domain=11),
    "unary, symmetric": local.UnaryEncoding(epsilon=2, domain=16, optimized=False),
    "hashing": local.LocalHashing(epsilon=1, domain=100),
    "hashing to 300 buckets": local.LocalHashing(epsilon=5, domain=100_000, buckets=300),
    "hadamard": local.HadamardResponse(epsilon=1, domain=100),
    "onebit": local.OneBitHadamard(epsilon=0.5, domain=100_000),
    "subset": local.SubsetSelection(epsilon=1, domain=10),
    "projective, order 3": local.ProjectiveGeometry(epsilon=1, domain=1000),
    "projective, order 7": local.ProjectiveGeometry(epsilon=2, domain=100_000, order=7),
    "rappor": local.Rappor(epsilon=4, domain=20, bits=32, cohorts=4),
    "cms": local.CountMeanSketch(epsilon=2, domain=1000, rows=300, width=64, seed=3),
    "hcms": local.HadamardCountMeanSketch(epsilon=2, domain=1000),
    "onebitmean": local.OneBitMean(epsilon=1, lower=0, upper=24),
    "dbitflip": local.DBitFlip(epsilon=2, domain=32, flips=5),
    "duchi": local.Duchi(epsilon=1, lower=-1, upper=1),
    "duchi, uneven bounds": local.Duchi(epsilon=1, lower=0.1, upper=2.7, missing=1.3),
    "piecewise": local.Piecewise(epsilon=4, lower=0, upper=100),
    "hybrid": local.Hybrid(epsilon=1, lower=0, upper=100),
    "loloha": local.Loloha(epsilon=1, forever=2, domain=100),
    "loloha, 5 buckets": local.Loloha(epsilon=1.5, forever=2.5, domain=100_000, buckets=5, functions=1000),
    "finite": local.FiniteRandomizer([[0.5, 0.3, 0.2], [0.25, 0.25, 0.5]]),
}
LIVES: dict[str, tuple[str, list[Any], dict[str, Any], local.Caps]] = {
    "a fresh report in each epoch, past its cap": ("kary of 3", [0, 1, 2, 2, 7], {}, local.Caps(attribute=3, total=10)),
    "a mean, past its cap": ("hybrid", [20, 33.3, 99, 1e9], {"lifetime": 2}, local.Caps()),
    "remembered by bucket": ("loloha", [5, 5, 6, 7, 8, 9, 10, 5], {}, local.Caps()),
    "remembered, past its cap": ("loloha, 5 buckets", list(range(0, 5000, 311)), {"lifetime": 5}, local.Caps()),
    "remembered bits": ("dbitflip", [1, 2, 3, 31, 30, 1], {}, local.Caps(attribute=20)),
    "one remembered bit": ("onebitmean", [1.5, 23, 1.5, 12], {}, local.Caps()),
    "Bloom filters": ("rappor", [1, 1, 2, 3, 4], {}, local.Caps(attribute=9)),
    "in words": (
        "kary of 3",
        ["yes", "no", "perhaps", "nonsense"],
        {"answers": ("yes", "no", "perhaps")},
        local.Caps(),
    ),
}


class Tape:
    """A source that plays given bytes."""

    def __init__(self, data: bytes) -> None:
        self._data, self._place = data, 0

    def random_words(self, count: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
        part = self._data[self._place : self._place + 8 * count]
        assert len(part) == 8 * count, "the tape is too short"
        self._place += 8 * count
        return np.frombuffer(part, dtype="<u8").astype(np.uint64)


def stretch(label: str, size: int) -> bytes:
    """Bytes that look random and are always the same."""
    return hashlib.shake_256(label.encode()).digest(size)


def collection(name: str, randomizer: Randomizer, epochs: int, **more: Any) -> local.Collection:
    mark = stretch(f"id of {name}", 16).hex()
    return local.Collection(name="life", question="How?", randomizer=randomizer, epochs=epochs, id=mark, **more)


def made() -> dict[str, Any]:
    """The vectors as this version makes them."""
    return {
        "randomizers": [_randomizer(name, each) for name, each in RANDOMIZERS.items()],
        "clients": [_client(name, *life) for name, life in LIVES.items()],
    }


def stored() -> dict[str, Any]:
    vectors: dict[str, Any] = json.loads(PATH.read_text())
    return vectors


def write() -> None:
    PATH.parent.mkdir(exist_ok=True)
    PATH.write_text(json.dumps(made(), indent=1) + "\n")


def _randomizer(name: str, randomizer: Randomizer) -> dict[str, Any]:
    parameters = distribution_parameters(randomizer)
    cases = [_case(randomizer, value, words) for value, words in _inputs(name, randomizer)]
    return {"name": name, "parameters": parameters, "cases": cases}


def _inputs(name: str, randomizer: Randomizer) -> list[tuple[Any, bytes]]:
    """Values inside, at the ends and outside; random words, and words at every threshold and one below."""
    size = 8 * randomizer.words
    edges = [int(t) for t in randomizer.parameters().get("thresholds", [])]  # type: ignore[union-attr]
    words = [0, (1 << 64) - 1, *(t + d for t in edges for d in (-1, 0)), *((1 << 64) - t for t in edges)]
    tapes = [stretch(f"{name} {i}", size) for i in range(12)]
    tapes += [(word % (1 << 64)).to_bytes(8, "little") * randomizer.words for word in words]
    values = _values(randomizer)
    return [(values[i % len(values)], tape) for i, tape in enumerate(tapes)]


def _values(randomizer: Randomizer) -> list[Any]:
    if hasattr(randomizer, "domain"):
        last = randomizer.domain - 1
        return [0, last, 1, last // 2, last + 1, -1]
    if randomizer.protocol == "sign":
        return [1, -1, 0]
    low, high = float(randomizer.lower), float(randomizer.upper)
    return [low, high, low + 0.3 * (high - low), low - 1, high + 1e300, low + 0.7654321 * (high - low)]


def _case(randomizer: Randomizer, value: Any, tape: bytes) -> dict[str, Any]:
    report = randomizer.respond([value], Tape(tape).random_words(randomizer.words).reshape(1, -1))
    return {"value": value, "random": tape.hex(), "payload": randomizer.pack(report)[0].tobytes().hex()}


def _client(name: str, kind: str, life: list[Any], more: dict[str, Any], caps: local.Caps) -> dict[str, Any]:
    asked = collection(name, RANDOMIZERS[kind], len(life), **more)
    tape = Tape(stretch(name, 1 << 16))
    with tempfile.TemporaryDirectory() as home:
        client = local.Client(asked, state=f"{home}/memory", caps=caps)
        reports = [client.report(value, epoch=epoch, rng=tape) for epoch, value in enumerate(life)]
        lifetime = client.lifetime().to_json()
    return {
        "name": name,
        "config": local.sign(asked, KEY),
        "digest": asked.digest.hex(),
        "caps": {"attribute": str(caps.attribute), "total": str(caps.total)},
        "label": name,
        "life": life,
        "random": stretch(name, 1 << 16).hex()[: 2 * tape._place],
        "reports": [report.hex() for report in reports],
        "twins": [report_wire.to_json(asked, report_wire.parse(asked, report)) for report in reports],
        "batch": report_wire.pack_batch(reports).hex(),
        "lifetime": {key: lifetime[key] for key in ("constant", "values", "worst_case")},
    }
