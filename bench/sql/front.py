"""How long the longest refusal or plan takes, and what reading with expressions that cannot fail costs."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pandas
from tests.sql.test_front_end import DEEP, NUMBERS, PLACES, WIDE

from bench.rows import Row, side_by_side
from bench.sql import table
from hubbub import Budget
from hubbub.ledger import Ledger
from hubbub.sql import Connection, connect
from hubbub.terms import HubbubError

SIZES = (1, 5, 12, 20, 30, 45, 70, 100, 200, 1000, 5000)


def rows(quick: bool) -> list[Row]:
    """The front end by itself, and one pass over a source."""
    with tempfile.TemporaryDirectory() as folder:
        return [*_front(Path(folder), quick), *_reading(Path(folder), quick)]


def _front(folder: Path, quick: bool) -> list[Row]:
    frame = pandas.DataFrame(
        {"p": [1, 2], "sex": ["f", "m"], "cost": [1.5, 2], "k": [1, 2], "txt": ["a", "b"], "day": pandas.Timestamp(0)}
    )
    facts = {"max_rows_per_unit": 2, "bounds": {"cost": (0, 10), "k": (0, 4)}, "keys": {"sex": ["f", "m"]}}
    ledger = Ledger(folder / "front.db", state=folder / "state")
    shapes = [grow(size) for grow in (*DEEP.values(), *WIDE.values()) for size in SIZES]
    numbers = [place.replace("{0}", "{}").replace("{}", number) for place in PLACES for number in NUMBERS]
    with connect(frame, unit="p", budget=Budget(10**6, 1e-3), ledger=ledger, **facts) as db:
        took = {text: _preview(db, text) for text in (shapes[::7] + numbers[::20] if quick else shapes + numbers)}
    slowest = max(took, key=lambda text: took[text])
    note = f"{len(took):,} texts, median {statistics.median(took.values()) * 1000:.1f} ms; slowest: {slowest[:60]}..."
    return [Row("the longest preview of a hostile question", took[slowest] * 1000, "ms", 200, "lower", note)]


def _preview(db: Connection, text: str) -> float:
    """The shorter of two: what another process took in between counts for nobody."""
    times = []
    for _ in range(2):
        start = time.process_time()
        with suppress(HubbubError):
            db.preview(text, rho=0.001)
        times.append(time.process_time() - start)
    return min(times)


def _reading(folder: Path, quick: bool) -> list[Row]:
    import duckdb

    from hubbub.engines import DuckDB

    source = table.path(table.FEWER if quick else table.ROWS)
    csv = folder / "t.csv"
    duckdb.sql(f"COPY (SELECT * FROM '{source}' LIMIT {200_000 if quick else 2_000_000}) TO '{csv}' (HEADER)")
    asked = "SELECT region, COUNT(*), SUM(TRY_CAST(amount AS DOUBLE)) FROM t GROUP BY region"
    found = []
    for name, file, plain in [
        ("Parquet", source, f"'{source}'"),
        ("CSV, from the second question on", csv, f"read_csv('{csv}')"),
    ]:
        engine, bare = DuckDB({"t": str(file)}), duckdb.connect()
        bare.execute(f"CREATE VIEW t AS SELECT * FROM {plain}")
        works: dict[str, Callable[[], object]] = {
            "ours": lambda engine=engine: engine.rows(asked),
            "plain": lambda bare=bare: bare.execute(asked).fetchall(),
        }
        took = side_by_side(works, rounds=5)
        engine.close()
        note = f"{took['ours']:.3f} s of processor time against {took['plain']:.3f}"
        found.append(Row(f"reading {name}, over DuckDB's own", took["ours"] / took["plain"], "x", 1.5, "lower", note))
    return found
