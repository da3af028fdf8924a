"""The forms of TPC-H by Hubbub, beside the reference."""

from __future__ import annotations

import math
import statistics

from bench.rows import Row
from bench.sql import ours, redrawn
from bench.sql.tpch import DELTA, EPSILON, Form, Truth, data, forms, keyed
from bench.sql.tpch.reference import error, relative

DRAWS = 5000  # numbers of each form at least: their median strays by 2%
MOST = 1.0  # of the reference, on the geometric mean
EACH = 1.1  # a form by itself, which strays by as much and whose totals are clipped on a grid


def rows(quick: bool) -> list[Row]:
    scale = "0.1" if quick else "1"
    try:
        place = data(scale)
    except RuntimeError as reason:
        return [Row("TPC-H", 0, "x", 0, "higher", f"nothing to compare with: {reason}")]
    truth, found, ratios = Truth(place), [], []
    with ours.described(place / "descriptor.toml") as connection:
        for form in forms():
            times = math.ceil(DRAWS / form.groups)
            measured, expected = _error(connection, truth, form, times), error(truth, form, draws=max(100, times))
            ratios.append(measured / expected)
            note = f"reference {expected:.3g}, as it was given {form.reference[scale]:.3g}; scale {scale}"
            name = f"{form.id} {form.what}, median relative error"
            found.append(Row(name, measured, "", EACH * expected, "lower", note))
    mean = statistics.geometric_mean(ratios)
    return [*found, Row("TPC-H, error over the reference, geometric mean", mean, "x", MOST, "lower", f"scale {scale}")]


def _error(connection: object, truth: Truth, form: Form, times: int) -> float:
    """Of many draws on the same integers: a customer's totals are clipped alike each time."""
    totals = {form.output: form.l2}
    asked = {"times": times, "totals": totals, "epsilon": EPSILON, "delta": DELTA}
    exact = truth.answer(form)
    found = [relative(keyed(form, rows), exact) for rows in redrawn.records(connection, form.sql, **asked)]
    return statistics.median(each for one in found for each in one)
