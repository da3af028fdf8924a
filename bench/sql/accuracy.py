"""How far answers to two of the workload's questions stray from the exact ones, with what bounds cut off."""

from __future__ import annotations

import statistics

import numpy as np

from bench.rows import Row
from bench.sql import ours, speed, table
from bench.sql.exact import Exact


def rows(quick: bool) -> list[Row]:
    return [_by_region(quick), _quantiles(quick)]


def _by_region(quick: bool) -> Row:
    """Against the exact answer without bounds, so that what bounding cuts off counts too."""
    size, asked = speed.size(quick), ours.QUESTIONS["counts"]
    truth = Exact(table.path(size)).truth("counts")
    errors = []
    with ours.connected(table.path(size), max_rows_per_unit=asked.max_rows_per_unit) as connection:
        for _ in range(5):
            release = ours.ask(connection, asked.sql)
            errors += [abs(row["n"] / truth[row["region"]][0] - 1) for row in ours.records(release)]
    note = f"epsilon 1, delta 1e-8, 120 rows a person, {size:,} rows; the worst of {len(errors)}: {max(errors):.2%}"
    return Row("COUNT by region, median relative error", statistics.median(errors) * 100, "%", 1, "lower", note)


def _quantiles(quick: bool) -> Row:
    """Q4 in cents, against the exact answer without bounds: the cap moves the median by about a cent by itself."""
    path, asked = table.path(table.FEWER), ours.QUESTIONS["quantiles"]
    truth = Exact(path).truth("quantiles")
    cents, told = (*asked.amount, 0.01), []
    for _ in range(4 if quick else 25):  # each has a secret of its own, by which people over the cap keep their rows
        with ours.connected(path, max_rows_per_unit=asked.max_rows_per_unit, amount=cents) as connection:
            told += [ours.records(ours.ask(connection, asked.sql))[0] for _ in range(5 if quick else 20)]
    off = {name: [abs(float(row[name]) / exact - 1) for row in told] for name, (exact,) in truth.items()}
    medians = {name: statistics.median(errors) * 100 for name, errors in off.items()}
    each = ", ".join(f"{name} {error:.3f}%" for name, error in medians.items())
    worst = max(float(np.quantile(errors, 0.95)) for errors in off.values())
    note = (
        f"epsilon 1 for both, {asked.max_rows_per_unit} rows a person, {table.FEWER:,} rows; medians of {len(told)}: "
    )
    note += f"{each}; 95% of the worse one within {worst:.3%}"
    name = "Q4 (quantiles), mean of the median relative errors of p50 and p90"
    return Row(name, statistics.mean(medians.values()), "%", 0.05, "lower", note)
