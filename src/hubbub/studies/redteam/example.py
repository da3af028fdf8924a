"""A made-up clinic to attack, for those who bring no dataset of their own."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

from hubbub.terms import Budget

PATIENTS = 1200
OUTBREAK = "west"  # the ward of an outbreak: everybody there has the same illness
DISTRICTS = [f"123{place:02d}" for place in range(100)]
WARDS = ("north", "south", "east", "west")
BLOOD = ("0", "A", "B", "AB")
INSURERS = ("Alba", "Borea", "Corva", "Delta", "Esto", "Faro")
REASONS = ("flu", "injury", "asthma", "diabetes", "legionnaires")
BUDGET = Budget(Fraction(1), Fraction(1, 10**6))
DECLARED: dict[str, Any] = {
    "unit": "patient",
    "max_rows_per_unit": 1,
    "bounds": {"age": (0, 120)},
    "keys": {"gender": ["f", "m"], "ward": WARDS, "blood": BLOOD, "insurer": INSURERS, "diagnosis": REASONS},
    "budget": BUDGET,
}


@contextmanager
def open_clinic() -> Iterator[tuple[str, dict[str, Any]]]:
    """The patients as a file, and what their owner declares."""
    import pyarrow
    from pyarrow import parquet

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "patients.parquet"
        parquet.write_table(pyarrow.Table.from_pylist(invent_patients()), file)
        yield str(file), DECLARED


def invent_patients() -> list[dict[str, Any]]:
    """The same people every time: they are made up from a fixed seed; noise never is."""
    chance = random.Random(1976)  # noqa: S311 - invents people, protects nobody
    return [_invent_patient(number, chance) for number in range(PATIENTS)]


def _invent_patient(number: int, chance: random.Random) -> dict[str, Any]:
    ward = chance.choice(WARDS)
    reason = "legionnaires" if ward == OUTBREAK else chance.choices(REASONS[:4], weights=(50, 20, 15, 15))[0]
    return {
        "patient": number,
        "age": chance.randrange(18, 95),
        "district": chance.choice(DISTRICTS),
        "gender": chance.choice("fm"),
        "ward": ward,
        "blood": chance.choices(BLOOD, weights=(45, 40, 11, 4))[0],
        "insurer": chance.choice(INSURERS),
        "diagnosis": reason,
    }
