"""The forms of TPC-H by Hubbub, beside the reference."""

from __future__ import annotations

import math
import statistics

from bench.rows import Row
from bench.sql import ours
from bench.sql.tpch import DELTA, EPSILON, Form, Truth, data, forms, keyed
from bench.sql.tpch.reference import error, relative

DRAWS = 150  # numbers of each form at least: their median strays by a tenth, the worst of 14 by a fifth
TOLERANCE = 1.25


def rows(quick: bool) -> list[Row]:
    scale = "0.1" if quick else "1"
    try:
        place = data(scale)
    except RuntimeError as reason:
        return [Row("TPC-H", 0, "x", 0, "higher", f"nothing to compare with: {reason}")]
    truth, found, ratios = Truth(place), [], []
    with ours.described(place / "descriptor.toml") as connection:
        for form in forms():
            measured, expected = _error(connection, truth, form), form.reference[scale]
            ratios.append(measured / expected)
            note = f"reference {expected:.3g}, measured here {error(truth, form):.3g}; scale {scale}"
            name = f"{form.id} {form.what}, median relative error"
            found.append(Row(name, measured, "", TOLERANCE * expected, "lower", note))
    mean = math.prod(ratios) ** (1 / len(ratios))
    return [*found, Row("TPC-H, error over the reference, geometric mean", mean, "x", 1.1, "lower", f"scale {scale}")]


def _error(connection: object, truth: Truth, form: Form) -> float:
    exact, errors = truth.answer(form), []
    for _ in range(max(4, math.ceil(DRAWS / form.groups))):
        release = ours.asked_with_totals(connection, form, epsilon=EPSILON, delta=DELTA)
        errors += relative(keyed(form, ours.records(release)), exact)
    return statistics.median(errors)
