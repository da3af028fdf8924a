"""A made-up hospital of a thousand patients. Nobody in it exists."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

DIAGNOSES = ("flu", "asthma", "diabetes", "cancer", "injury")


@dataclass(frozen=True, slots=True)
class Patient:
    """One made-up person."""

    name: str
    age: int
    zip: str
    gender: str
    diagnosis: str


BILL = Patient("Bill", 26, "12345", "m", "flu")


@dataclass(frozen=True, slots=True)
class Hospital:
    """The patients, and the one question that a data set answers."""

    patients: tuple[Patient, ...]

    def count(self, where: Callable[[Patient], bool]) -> int:
        """How many patients fit, exactly."""
        return sum(map(where, self.patients))


def open_hospital() -> Hospital:
    """The same hospital every time: the *people* are made up from a fixed seed; noise never is."""
    made_up = random.Random(2006)  # noqa: S311 - invents people, protects nobody
    others = [
        Patient(
            name=f"patient {i}",
            age=made_up.choice([a for a in range(18, 95) if a != BILL.age]),
            zip=f"123{made_up.randrange(100):02d}",
            gender=made_up.choice("fm"),
            diagnosis=made_up.choices(DIAGNOSES, weights=(10, 25, 25, 15, 25))[0],
        )
        for i in range(999)
    ]
    return Hospital((*others, BILL))
