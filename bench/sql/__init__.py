"""Private SQL beside exact SQL, hand-written plans, peers, and TPC-H."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.rows import Row

PARTS = (
    "single",
    "medians",
    "questions",
    "front",
    "speed",
    "peers",
    "accuracy",
    "intervals",
    "keys",
    "budgets",
    "fifty",
    "levels",
    "tpch",
)


def rows(quick: bool, *, parts: tuple[str, ...] = PARTS, peers_again: bool = True) -> list[Row]:
    """Everything measured in one run; with ``peers_again`` off, what was kept of peers is used."""
    from bench.sql import (
        accuracy,
        beside,
        budgets,
        fifty,
        front,
        intervals,
        levels,
        ours,
        questions,
        selection,
        speed,
        table,
    )
    from bench.sql.single import NUMBERS
    from bench.sql.single import rows as single
    from bench.sql.tpch import rows as tpch

    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        prepared: dict[int, Path] = {}
        for size in {table.FEWER, speed.size(quick)} if {"speed", "peers"} & set(parts) else ():
            place = Path(folder, str(size))
            place.mkdir()
            prepared[size] = ours.prepare(table.path(size), place)
        work = {
            "single": lambda: single.rows(quick, again=peers_again, measures=NUMBERS),
            "medians": lambda: single.rows(quick, again=False, measures=("median",)),
            "questions": lambda: questions.rows(quick),
            "front": lambda: front.rows(quick),
            "speed": lambda: speed.rows(quick, prepared[speed.size(quick)]),
            "peers": lambda: beside.rows(quick, prepared, again=peers_again),
            "accuracy": lambda: accuracy.rows(quick),
            "intervals": lambda: intervals.rows(quick),
            "keys": lambda: selection.rows(quick),
            "budgets": lambda: budgets.rows(quick),
            "levels": lambda: levels.rows(quick),
            "fifty": lambda: fifty.rows(quick),
            "tpch": lambda: tpch.rows(quick),
        }
        return [row for part in parts for row in work[part]()]
