"""Whether 95% intervals hold, and are no wider than they need be: of single numbers, after LIMIT, and over relations.

On a table that no bound cuts the bounded answer is the exact one, so that what is covered is noise alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bench.rows import Row
from bench.sql import ours, table
from bench.sql.exact import Exact

PEOPLE, EACH = 2000, 2
LEAST, MOST = 94, 96.5  # percent
CENTS = 0.01


@dataclass(frozen=True)
class _Column:
    """A question of one number, the exact answer in DuckDB's words, and the grid that its interval lies on."""

    text: str
    plain: str
    step: float = 0.0


COLUMNS = {
    "COUNT": _Column("COUNT(*)", "count(*)", 1),
    "COUNT DISTINCT person": _Column("COUNT(DISTINCT user_id)", "count(DISTINCT user_id)", 1),
    "SUM": _Column("SUM(amount)", "sum(CAST(round(amount * 100) AS BIGINT)) / 100", CENTS),
    "AVG": _Column("AVG(amount)", "avg(amount)"),
    "quantile": _Column("QUANTILE_CONT(amount, 0.5)", "quantile_cont(amount, 0.5)", CENTS),
}
COUNTS = "SELECT region, COUNT(*) AS n FROM t GROUP BY region"
AROUND = {  # statements around COUNTS, by the label of their intervals
    "exact": "SELECT LEFT(region, 2) AS k, SUM(n) AS x FROM q GROUP BY k",
    "Fieller": "SELECT region AS k, n / (SELECT SUM(n) FROM q) AS x FROM q",
    "redrawn, approximate": "SELECT LEFT(region, 2) AS k, SUM(n * n) AS x FROM q GROUP BY k",
    "simultaneous": "SELECT LEFT(region, 2) AS k, MAX(n) AS x FROM q GROUP BY k",
}


def rows(quick: bool) -> list[Row]:
    path = table.modest(PEOPLE, EACH)
    exact = Exact(path)
    return [*_single(path, exact, quick), *_limited(path, exact, quick), *_around(path, exact, quick)]


# ---------------------------------------------------------------- single numbers


def _single(path: object, exact: Exact, quick: bool) -> Iterator[Row]:
    times = 300 if quick else 2000
    for name, column in COLUMNS.items():
        truth = float(exact.connection.execute(f"SELECT {column.plain} FROM t").fetchone()[0])
        with ours.connected(path, max_rows_per_unit=EACH) as connection:
            releases = [ours.ask(connection, f"SELECT {column.text} AS x FROM t") for _ in range(times)]
        yield from _judged(name, truth, np.array([ours.told(each, "x") for each in releases]), column.step)
        if name == "quantile":
            short = np.array([ours.told(each, "x", dense=True) for each in releases])
            yield from _judged("quantile, if values lie densely", truth, short, column.step)


def _judged(name: str, truth: float, told: np.ndarray, step: float) -> Iterator[Row]:
    value, low, high = told.T
    covered = _covered(truth, low, high)
    shortest = 2 * np.quantile(np.abs(value - truth), 0.95)  # around the value, what 95% of these releases need
    note = f"{len(told):,} releases; mean width {np.mean(high - low):.4g}, shortest {shortest:.4g}"
    yield Row(f"coverage of the 95% interval of {name}", covered, "%", LEAST, "higher", note)
    yield _not_too_wide(f"coverage of the 95% interval of {name}, at most", covered, truth, (low, high), step)
    if shortest:
        yield Row(f"its width over the shortest, {name}", np.mean(high - low) / shortest, "x", 1.1, "lower", note)


def _not_too_wide(name: str, covered: float, truth: float, ends: tuple[np.ndarray, np.ndarray], step: float) -> Row:
    """What covers more than it need is all right where the next shorter interval of the grid covers too little."""
    if covered <= MOST or not step:
        return Row(name, covered, "%", MOST, "lower")
    low, high = ends
    shorter = _covered(truth, low + step * 1.001, high - step * 1.001)
    note = f"of the next shorter interval on its grid, since this one covers {covered:.1f}%"
    return Row(name, shorter, "%", 95, "lower", note)


def _covered(truth: float, low: np.ndarray, high: np.ndarray) -> float:
    return float(np.mean((low <= truth) & (truth <= high))) * 100


# ---------------------------------------------------------------- rows that noise chose


def _limited(path: object, exact: Exact, quick: bool) -> Iterator[Row]:
    """All rows that are shown, together."""
    truth, times = dict(exact.connection.execute(COUNTS).fetchall()), 100 if quick else 500
    for shown in (1, 10):
        together = []
        with ours.connected(path, max_rows_per_unit=EACH) as connection:
            for _ in range(times):
                release = ours.ask(connection, f"{COUNTS} ORDER BY n DESC LIMIT {shown}")
                together.append(all(_hits(release, "region", "n", truth)))
        name = f"coverage of the rows after ORDER BY ... LIMIT {shown} of 50, all together"
        yield Row(name, 100 * float(np.mean(together)), "%", LEAST, "higher", f"{times:,} releases")


def _hits(release: object, key: str, name: str, truth: dict[str, float]) -> list[bool]:
    """Whether the interval of each row covers."""
    low, high = release[name].interval(0.95)
    keys = [row[key] for row in ours.records(release)]
    return [a <= truth[each] <= b for each, a, b in zip(keys, low, high, strict=True)]


# ---------------------------------------------------------------- statements around private questions


def _around(path: object, exact: Exact, quick: bool) -> Iterator[Row]:
    """As they are labelled; the same statement runs on the exact table."""
    times = 20 if quick else 100
    for label, outer in AROUND.items():
        text = f"WITH q AS ({COUNTS}) {outer}"
        truth = {key: float(x) for key, x in exact.connection.execute(text).fetchall()}
        hits, labels = [], set()
        with ours.connected(path, max_rows_per_unit=EACH) as connection:
            for _ in range(times):
                release = ours.ask(connection, text)
                hits += _hits(release, "k", "x", truth)
                labels |= {column.mechanism for column in release.columns if column.name == "x"}
        note = f"{len(hits):,} cells of {times} releases; {'; '.join(sorted(labels))}"
        name = f"coverage over a noisy table: {outer.partition(' FROM')[0].removeprefix('SELECT ')}, {label}"
        yield Row(name, 100 * float(np.mean(hits)), "%", LEAST, "higher", note)
