"""A small file of made-up visits."""

from __future__ import annotations

from pathlib import Path

import pyarrow
import pyarrow.csv
import pyarrow.parquet

WARDS = ("north", "south", "east")
FACTS = "--unit patient_id --max-rows 50 --bound cost=0:5000 --key ward=north,south,east"
BY_WARD = "SELECT ward, COUNT(*) AS n, AVG(cost) AS cost FROM visits GROUP BY ward"
PEOPLE = "SELECT COUNT(DISTINCT patient_id) AS people FROM visits"
PATIENTS = 400


def visits() -> pyarrow.Table:
    """Two visits of each of 400 patients."""
    patients = [patient for patient in range(PATIENTS) for _ in range(2)]
    return pyarrow.table(
        {
            "patient_id": patients,
            "ward": [WARDS[i % 3] for i in range(len(patients))],
            "cost": [float(i % 1000) for i in range(len(patients))],
            "code": [i % 4 for i in range(len(patients))],
        }
    )


def write(folder: Path) -> None:
    """The visits as Parquet and as CSV."""
    pyarrow.parquet.write_table(visits(), folder / "visits.parquet")
    pyarrow.csv.write_csv(visits(), folder / "visits.csv")
