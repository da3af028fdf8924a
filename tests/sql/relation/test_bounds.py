"""A value with two public bounds, and its interval, lie within them; numbers with one bound stay as they were told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sqlglot
from sqlglot import exp

import hubbub as hb
from hubbub.ledger import Ledger
from hubbub.sql import Connection
from hubbub.sql.relation.cell_bounds import Bounds, OuterBounds

INNER = {"n": Bounds(0.0), "a": Bounds(0.0, 10.0), "b": Bounds(-2.0, 3.0)}


def bounds_of(text: str, name: str = "v") -> tuple[float, float]:
    tree = sqlglot.parse_one(text, read="duckdb")
    assert isinstance(tree, exp.Query)
    bounds = OuterBounds(tree, INNER).of_name(name)
    return bounds.low, bounds.high


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [
        ("a", 0, 10),
        ("a + b", -2, 13),
        ("a - b", -3, 12),
        ("-b", -3, 2),
        ("a * b", -20, 30),
        ("a / 4", 0, 2.5),
        ("ROUND(a / 3, 1)", 0, 3.3),
        ("AVG(a) OVER ()", 0, 10),
        ("MAX(b)", -2, 3),
        ("LAG(a) OVER (ORDER BY k)", 0, 10),
        ("GREATEST(a, 12)", 0, 12),
        ("COALESCE(a, -1)", -1, 10),
        ("CASE WHEN n > 3 THEN a ELSE NULL END", 0, 10),
        ("n / SUM(n) OVER ()", 0, 1),
        ("100 * n / NULLIF(SUM(n) OVER (PARTITION BY k), 0)", 0, 100),
        ("100 * (n / SUM(n) OVER ())", 0, 100),
        ("n", 0, np.inf),
        ("SUM(n) OVER ()", 0, np.inf),
        ("n / 2", 0, np.inf),
        ("b / SUM(b) OVER ()", -np.inf, np.inf),  # parts of both signs
        ("n / SUM(a) OVER ()", -np.inf, np.inf),  # a total of something else
        ("n / SUM(n) OVER (ORDER BY k ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING)", -np.inf, np.inf),
        ("n / a", -np.inf, np.inf),
        ("LAG(a, 1, 50) OVER (ORDER BY k)", -np.inf, np.inf),
        ("SIN(a)", -np.inf, np.inf),
    ],
)
def test_bounds_follow_from_those_of_the_inner_columns(value: str, low: float, high: float) -> None:
    assert bounds_of(f"SELECT k, {value} AS v FROM t") == (low, high)


def test_a_name_has_the_bounds_of_everything_that_is_called_so() -> None:
    assert bounds_of("SELECT a * 2 AS a FROM t", "a") == (0, 20)
    assert bounds_of("SELECT v + 1 AS w FROM (SELECT a AS v FROM t)", "w") == (1, 11)
    assert bounds_of("SELECT total, n / total AS v FROM (SELECT n, SUM(n) OVER () AS total FROM t)") == (0, 1)
    assert bounds_of("SELECT a FROM t UNION ALL SELECT b FROM t", "a") == (-2, 10)
    nothing = (-np.inf, np.inf)
    assert bounds_of("SELECT a * 2 AS a FROM (SELECT a * 2 AS a FROM t)", "a") == nothing  # twice: not followed
    assert bounds_of("SELECT a FROM (SELECT n FROM t) AS q(a)", "a") == nothing
    assert bounds_of("SELECT COLUMNS(*) * 5 FROM t", "a") == nothing


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Connection]:
    rng = np.random.default_rng(3)
    rows = {"person": range(60), "ward": ["north", "south", "east"] * 20, "cost": rng.random(60)}
    with hb.connect(
        pd.DataFrame(rows),
        name="visits",
        unit="person",
        max_rows_per_unit=1,
        bounds={"cost": (0, 1)},
        keys={"ward": ["north", "south", "east"]},
        budget=hb.Budget(1000, 1e-6),
        ledger=Ledger(tmp_path / "ledger.db", state=tmp_path / "state"),
    ) as connection:
        yield connection


def test_values_lie_in_their_intervals_and_these_within_the_bounds(db: Connection) -> None:
    inner = (
        "SELECT ward, COUNT(*) AS n, SUM(cost) AS s, AVG(cost) AS a, MEDIAN(cost) AS m, STDDEV(cost) AS d, "
        "MAX(cost) AS most FROM visits GROUP BY ward"
    )
    text = (
        "SELECT ward, n / SUM(n) OVER () AS share, s / SUM(s) OVER () AS part, AVG(a) OVER () AS mean, "
        f"AVG(m) OVER () AS middle, d * 1 AS spread, (m + most) / 2 AS between, n FROM ({inner})"
    )
    for _ in range(12):
        answer = db.sql(text, epsilon=0.2, fresh=True)
        for name in ("share", "part", "mean", "middle", "spread", "between"):
            for value, (low, high) in zip(answer[name].values, answer.intervals()[name], strict=True):
                assert value is None or 0 <= low <= value <= high <= 1, (name, value, low, high)  # type: ignore[operator]
        negative = any(n < 0 for n in answer["n"].values if n is not None)
        assert any("few or none" in remark for remark in answer.remarks()) == negative
