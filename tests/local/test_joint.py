"""Joint tables: both methods unbiased, with honest variances, and the cheaper one chosen."""

from __future__ import annotations

import numpy as np
import pytest

from hubbub.local import JointTable
from hubbub.noise.testing import seeded
from hubbub.terms import BadReport, Compose, OutOfRange, PureStep, TooLarge, WrongShape

RNG = np.random.default_rng(6)
ROWS = RNG.integers(0, 4, 5000)
COLUMNS = (ROWS + RNG.integers(0, 3, 5000)) % 6
TRUE = np.bincount(ROWS * 6 + COLUMNS, minlength=24).reshape(4, 6) / 5000


@pytest.mark.parametrize("method", ["product", "split"])
def test_all_cells_and_margins_are_unbiased_with_honest_variances(method: str, soak: int) -> None:
    table = JointTable(epsilon=1.5, rows=4, columns=6, method=method)
    found = [table.estimate(table.randomize(ROWS, COLUMNS, rng=seeded(s))) for s in range(80 * soak)]
    parts = (
        ("values", "variances", TRUE),
        ("rows", "row_variances", TRUE.sum(axis=1)),
        ("columns", "column_variances", TRUE.sum(axis=0)),
    )
    for name, spread, truth in parts:
        told = np.array([getattr(one, name) for one in found])
        stated = np.mean([getattr(one, spread) for one in found], axis=0)
        assert np.abs(told.mean(axis=0) - truth).max() < 5 * np.sqrt(stated.max() / len(found))
        assert np.mean(told.var(axis=0) / stated) == pytest.approx(1, abs=0.15)
    inside = [np.mean((e[..., 0] <= TRUE) & (e[..., 1] >= TRUE)) for e in (one.intervals() for one in found)]
    assert 0.93 < np.mean(inside) < 0.97
    at_once = [
        np.all((e[..., 0] <= TRUE) & (e[..., 1] >= TRUE)) for e in (f.intervals(simultaneous=True) for f in found)
    ]
    assert np.mean(at_once) > 0.9


def test_the_method_with_less_noise_is_taken() -> None:
    assert JointTable(epsilon=1, rows=10, columns=10).method == "product"
    for epsilon in (0.5, 2, 8):
        table = JointTable(epsilon=epsilon, rows=3, columns=3)
        other = "split" if table.method == "product" else "product"
        assert table._rare_variance(table.method) <= table._rare_variance(other)


def test_events_say_whether_reports_add_up() -> None:
    assert isinstance(JointTable(epsilon=1, rows=3, columns=3, method="product").event, PureStep)
    split = JointTable(epsilon=1, rows=3, columns=3, method="split").event
    assert isinstance(split, Compose)
    assert sum(step.epsilon for step in split.events) == 1  # type: ignore[attr-defined]


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(OutOfRange):
        JointTable(epsilon=1, rows=3, columns=3, method="both")
    with pytest.raises(WrongShape):
        JointTable(epsilon=1, rows=3, columns=3).randomize([1, 2], [1])
    with pytest.raises(BadReport):
        JointTable(epsilon=1, rows=3, columns=3, method="split").estimate([1, 2])


def test_the_report_reads_and_draws() -> None:
    table = JointTable(epsilon=2, rows=4, columns=6)
    found = table.estimate(table.randomize(ROWS, COLUMNS, rng=seeded(1)))
    assert "if they were independent" in found.text()
    assert "<svg" in found.html()
    assert np.shape(found.to_json()["values"]) == (4, 6)  # type: ignore[arg-type]


def test_a_large_table_can_be_split() -> None:
    table = JointTable(epsilon=1, rows=5000, columns=5000, method="split")
    assert table.randomize([4999], [0]).shape == (1, 2)
    with pytest.raises(TooLarge):
        JointTable(epsilon=1, rows=5000, columns=5000, method="product").randomize([1], [1])
