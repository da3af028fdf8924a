"""Chapter: the same question in SQL, exact and private, with a preview, a refusal and a repeat."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from hubbub.releases import Release, text
from hubbub.render import Section, TextTable
from hubbub.sql import Connection, connect
from hubbub.studies.demo.hospital import Hospital
from hubbub.terms import Budget, QueryError

WARDS = ("north", "south", "east")
MOST, DEAREST = 3, 500  # visits of one patient, and what one can cost
BUDGET = Budget(Fraction(3), Fraction(1, 10**6))
EPSILON = 0.5
QUESTION = "SELECT ward, COUNT(*) AS visits, AVG(cost) AS cost FROM visits GROUP BY ward"
FORBIDDEN = "SELECT patient, ward FROM visits WHERE cost > 400"


@dataclass(frozen=True, slots=True)
class Visit:
    """One made-up visit."""

    patient: int
    ward: str
    cost: int


def chapter(hospital: Hospital) -> Section:
    """Ask the visits of the hospital's patients in SQL."""
    visits = made_up(len(hospital.patients))
    with tempfile.TemporaryDirectory() as folder, _open_connection(visits, Path(folder)) as db:
        before = db.preview(QUESTION, epsilon=EPSILON)
        first = db.sql(QUESTION, epsilon=EPSILON)
        again = db.sql(QUESTION, epsilon=EPSILON)
        refused = _try_forbidden(db)
    return Section(
        "6. The same in SQL",
        (
            f"The patients' {len(visits):,} visits lie in a Parquet file. The owner declares who is protected (the "
            f"patient), that at most {MOST} visits of each count, the wards, and that a visit costs at most {DEAREST}; "
            f"the budget is {BUDGET.measure().describe()}. An analyst types: {QUESTION}",
            f"A preview is free: ±{before.errors['visits']:,.0f} visits a ward, 95 times out of 100, for epsilon = "
            f"{EPSILON:g}. The answer is below, beside the exact one, which nobody sees. Asked again it is "
            f"{_describe_repeat(first, again)} and {'free' if again.repeated else 'charged'}. Left: "
            f"{again.budget_left}.",
            f"{FORBIDDEN}: {refused} Nothing was charged for that, and no row was read.",
        ),
        _answers_table(exact_answers(visits), first),
    )


def made_up(patients: int) -> list[Visit]:
    """The same visits every time: of each patient one to three; noise never comes from a seed."""
    chance = random.Random(1854)  # noqa: S311 - invents visits, protects nobody
    return [
        Visit(patient, chance.choices(WARDS, weights=(5, 3, 2))[0], min(DEAREST, round(chance.expovariate(1 / 160))))
        for patient in range(patients)
        for _ in range(chance.randint(1, MOST))
    ]


def exact_answers(visits: Sequence[Visit]) -> dict[str, tuple[int, float]]:
    """Visits and their average cost by ward, without noise."""
    costs = {ward: [visit.cost for visit in visits if visit.ward == ward] for ward in WARDS}
    return {ward: (len(bills), sum(bills) / len(bills)) for ward, bills in costs.items()}


def _open_connection(visits: Sequence[Visit], folder: Path) -> Connection:
    import pyarrow
    from pyarrow import parquet

    from hubbub.ledger import Ledger

    columns: dict[str, list[Any]] = {
        name: [getattr(visit, name) for visit in visits] for name in ("patient", "ward", "cost")
    }
    file = folder / "visits.parquet"
    parquet.write_table(pyarrow.table(columns), file)
    return connect(
        file,
        unit="patient",
        max_rows_per_unit=MOST,
        bounds={"cost": (0, DEAREST)},
        keys={"ward": WARDS},
        budget=BUDGET,
        ledger=Ledger(folder / "ledger.db", state=folder / "second place"),
    )


def _try_forbidden(db: Connection) -> str:
    try:
        db.sql(FORBIDDEN, epsilon=EPSILON)
    except QueryError as no:
        return f"refused, for {no.what.partition(' At line')[0]} {no.why} {no.fix}"
    return "answered."


def _describe_repeat(first: Release, again: Release) -> str:
    return "the same answer" if first.dbapi_rows() == again.dbapi_rows() else "another answer"


def _answers_table(truth: dict[str, tuple[int, float]], release: Release) -> TextTable:
    wards, visits, costs = (text.format_cells(*release.told(place)) for place in range(3))
    rows = tuple(
        (ward, f"{truth[ward][0]:,}", visits[i], f"{truth[ward][1]:.0f}", costs[i]) for i, ward in enumerate(wards)
    )
    return TextTable(("ward", "visits, exact", "private", "cost, exact", "private cost"), rows)
