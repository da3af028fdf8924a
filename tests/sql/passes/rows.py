"""Small tables for the fixtures' datasets, the same in every engine, and the statements that make them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import Any

from hubbub.schema.tables import Dataset, Kind

Rows = dict[str, list[tuple[Any, ...]]]

_TYPES = {
    Kind.BOOLEAN: "boolean",
    Kind.INTEGER: "bigint",
    Kind.NUMBER: "double precision",
    Kind.TEXT: "text",
    Kind.DATE: "date",
    Kind.TIMESTAMP: "timestamp",
    Kind.OPAQUE: "integer[]",
}
_WARDS = ("north", "south", "east", "attic", None)
_DIAGNOSES = ("flu", "cold", " Flu", "it's", None, "7.5", "2025-01-01")
_COSTS = (12.5, 99.99, 100.0, 2500.25, None, -3.0, 9000.0, 10.0)
_WEIGHTS = (70.0, 55.5, None, 0.0, -1.0, float("inf"), 1e200, 64.25)
PEOPLE = 9


def hospital(heavy: int = 0) -> Rows:
    """Nine people with a few rows each; person 1 has so many visits more, and some rows belong to nobody."""
    visits = [_visit(number, 1 + number % PEOPLE) for number in range(34)]
    visits += [_visit(100 + number, 1) for number in range(heavy)]
    visits += [_visit(90, None), _visit(91, 4), _visit(91, 7)]  # nobody's, and a key that two people share
    return {
        "patients": [(p, 1950 + 7 * p if p != 3 else None, "fm"[p % 2], f"town {p % 2}") for p in range(1, PEOPLE + 1)],
        "visits": visits,
        "stays": [(n % 40, n % 33, datetime(2025, 1, 1 + n % 28, n % 24), None) for n in range(30)]
        + [(91, 2, None, None)],
        "drugs": [_drug(n) for n in range(30 + heavy)],
        "wards": [("north", 1), ("south", 2), ("east", 2)],
    }


def survey(people: int = 20) -> Rows:
    """Answers, each by somebody else."""
    return {
        "answers": [(n % 130, _WARDS[n % 5], (n % 12) + 0.1, f"town {n % 3}") for n in range(people)],
        "wards": [("north", 1), ("south", 2), ("east", 2)],
    }


def _visit(number: int, person: int | None) -> tuple[Any, ...]:
    return (
        number,
        person,
        _WARDS[number % 5],
        _COSTS[number % 8],
        date(2025, 1 + number % 12, 1 + number % 28) if number % 11 else None,
        _DIAGNOSES[number % 7],
        _WEIGHTS[number % 8],
        (True, False, None)[number % 3],
    )


def _drug(number: int) -> tuple[Any, ...]:
    maker = number % 3 if number < 30 else number % 6  # more than the cap only where somebody is heavy
    return (1 + number % 7, ("aspirin", "insulin", "tea")[number % 3], f"maker {maker}", 10.5 * number)


def statements(dataset: Dataset, rows: Rows) -> Iterable[tuple[str, Sequence[tuple[Any, ...]]]]:
    """CREATE TABLE for each table, and its rows."""
    for table in dataset.tables:
        columns = ", ".join(f'"{column.name}" {_TYPES[column.kind]}' for column in table.columns)
        yield f'CREATE TABLE "{table.name}" ({columns})', rows[table.name]


def without(rows: Rows, person: int) -> Rows:
    """The hospital without a person and everything that is this person's: stays go with the visit that owns them."""
    owners: dict[Any, Any] = {}
    for visit in rows["visits"]:
        if visit[1] is not None:
            owners[visit[0]] = min(owners.get(visit[0], visit[1]), visit[1])
    return {
        "patients": [row for row in rows["patients"] if row[0] != person],
        "visits": [row for row in rows["visits"] if row[1] != person],
        "stays": [row for row in rows["stays"] if owners.get(row[0]) != person],
        "drugs": [row for row in rows["drugs"] if row[0] != person],
        "wards": rows["wards"],
    }
