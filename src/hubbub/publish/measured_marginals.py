"""What is released: noisy marginals, coarser cells and found domains, as one text of a size known beforehand.

Everything else (the model, the rows) is worked out from it, always in the same way.
"""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hubbub.publish.cells import Codes
from hubbub.publish.domains import Found
from hubbub.publish.marginal_counts import Measurement
from hubbub.terms import Unreadable


@dataclass(frozen=True, slots=True)
class MeasuredMarginals:
    """All noisy marginals of one table: of single columns on the declared cells, of pairs on coarser ones."""

    found_domains: dict[str, Found]
    singles: tuple[Measurement, ...]
    groups: tuple[Codes, ...]
    pairs: tuple[Measurement, ...]

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "found": self.found_domains,
            "groups": [group.tolist() for group in self.groups],
            "singles": [_measurement_json(m) for m in self.singles],
            "pairs": [_measurement_json(m) for m in self.pairs],
        }

    @classmethod
    def read(cls, document: dict[str, Any]) -> MeasuredMarginals:
        """What ``to_json`` says."""
        return cls(
            found_domains=document["found"],
            singles=tuple(map(_read_measurement, document["singles"])),
            groups=tuple(np.array(group, dtype=np.int64) for group in document["groups"]),
            pairs=tuple(map(_read_measurement, document["pairs"])),
        )


def text_of(tables: Sequence[MeasuredMarginals]) -> str:
    """The answer as it is stored. The seed is for drawing rows: the same answer gives the same rows."""
    document = {"kind": "synthetic", "format": 1, "seed": secrets.randbits(62), "tables": [t.to_json() for t in tables]}
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def read_text(text: str) -> tuple[list[MeasuredMarginals], int]:
    """The tables and the seed."""
    try:
        document = json.loads(text)
        return [MeasuredMarginals.read(table) for table in document["tables"]], int(document["seed"])
    except (ValueError, KeyError, TypeError):
        raise Unreadable(
            "the stored answer is no synthetic model.",
            why="It was written by something else, or changed.",
            fix="Check the ledger: hubbub ledger verify.",
        ) from None


def _measurement_json(measured: Measurement) -> dict[str, Any]:
    values = measured.values.astype("<i8")
    return {
        "columns": list(measured.columns),
        "shape": list(values.shape),
        "variance": float(measured.variance.flat[0]),
        "counts": base64.b64encode(values.tobytes()).decode(),
    }


def _read_measurement(document: dict[str, Any]) -> Measurement:
    counts = (
        np.frombuffer(base64.b64decode(document["counts"]), dtype="<i8").reshape(document["shape"]).astype(np.float64)
    )
    return Measurement(tuple(document["columns"]), counts, np.full(counts.shape, document["variance"]))
