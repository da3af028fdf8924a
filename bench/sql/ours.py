"""Hubbub's part of the comparison: connect, prepare and ask, by its public names alone."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import hubbub as hb
from bench.sql import single
from bench.sql.table import REGIONS
from hubbub.ledger import Ledger

EPSILON, DELTA = 1, 1e-8
PLENTY = (10**6, 1e-2)  # for figures that need thousands of releases of synthetic data
AMOUNT, WIDE = (0, 200), (0, 500)
PRODUCTS_EACH = 20  # of one person, as peers are told


@dataclass(frozen=True)
class Question:
    """What is asked, and the bounds under which it is: the same as for the peers."""

    sql: str
    max_rows_per_unit: int
    amount: tuple[int, int] = AMOUNT


QUESTIONS = {
    "regions": Question("SELECT region, COUNT(*) AS n, SUM(amount) AS s, AVG(amount) AS a FROM t GROUP BY region", 120),
    "total": Question("SELECT COUNT(*) AS n FROM t", 40),
    "counts": Question("SELECT region, COUNT(*) AS n FROM t GROUP BY region", 120),
    "sums": Question("SELECT region, SUM(amount) AS s, AVG(amount) AS a FROM t GROUP BY region", 120),
    "quantiles": Question(
        "SELECT QUANTILE_CONT(amount, 0.5) AS p50, QUANTILE_CONT(amount, 0.9) AS p90 FROM t", 40, WIDE
    ),
    "products": Question("SELECT product, COUNT(*) AS n FROM t GROUP BY product", 40),
}


DESCRIPTOR = """
dataset = {{ name = "purchases", engine = "duckdb" }}
privacy = {{ population = "buyers", unit = "t.user_id", budget = {{ epsilon = {budget[0]}, delta = {budget[1]} }} }}
[tables.t]
source = "{source}"
unit = "user_id"
max_rows_per_unit = {rows}
columns.amount = {{ lower = {amount[0]}, upper = {amount[1]} }}
columns.region = {{ values = {regions} }}
columns.product = {{ max_per_unit = {products} }}
"""


@contextmanager
def connected(
    source: Path | str,
    *,
    max_rows_per_unit: int,
    amount: tuple[float, ...] = AMOUNT,
    budget: tuple[float, float] = PLENTY,
) -> Iterator[object]:
    """A connection on a file whose table is ``t``, with a ledger of its own on the disk of the project."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        place = Path(folder, "purchases.toml")
        facts = {"source": Path(source).resolve(), "rows": max_rows_per_unit, "amount": amount, "budget": budget}
        place.write_text(DESCRIPTOR.format(**facts, regions=REGIONS, products=PRODUCTS_EACH))
        with closing(hb.connect(place, ledger=_ledger(folder))) as connection:
            yield connection


SINGLE = """
dataset = {{ name = "single", engine = "duckdb" }}
privacy = {{ population = "single", unit = "t.user_id", budget = {{ epsilon = {budget[0]}, delta = {budget[1]} }} }}
[tables.t]
source = "{source}"
unit = "user_id"
max_rows_per_unit = {rows}
columns.amount = {{ type = "integer", lower = 0, upper = {largest} }}
columns.price = {{ lower = 0, upper = {dearest}, step = {step} }}
{keys}
"""


@contextmanager
def single_table(source: Path, *, budget: tuple[float, float] = PLENTY) -> Iterator[object]:
    """A connection on the table of single questions, with the bounds and public keys that peers are told."""
    listed = [f"columns.k{keys} = {{ values = {single.names(keys)} }}" for keys in single.KEYS[1:]]
    facts = {"source": source.resolve(), "rows": single.ROWS_EACH, "budget": budget}
    facts |= {"largest": single.LARGEST, "dearest": single.DEAREST, "step": single.STEP}
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        place = Path(folder, "single.toml")
        place.write_text(SINGLE.format(**facts, keys="\n".join(listed)))
        with closing(hb.connect(place, ledger=_ledger(folder))) as connection:
            yield connection


@contextmanager
def described(place: Path) -> Iterator[object]:
    """A connection on the data set that a descriptor declares."""
    with (
        tempfile.TemporaryDirectory(dir=Path.cwd()) as folder,
        closing(hb.connect(place, ledger=_ledger(folder))) as connection,
    ):
        yield connection


def _ledger(folder: str) -> Ledger:
    """Both places of it in one folder; the connection closes it."""
    return Ledger(Path(folder, "ledger.db"), state=Path(folder, "state"))


def prepare(source: Path, folder: Path) -> Path:
    """The table with everyone's rows ranked once, written by ``hubbub prepare`` under the same name."""
    made = folder / source.name
    command = [sys.executable, "-m", "hubbub.cli", "prepare", str(source), "--unit", "user_id", "--out", str(made)]
    subprocess.run(command, check=True, capture_output=True)
    return made


def ask(connection: object, text: str, **price: object) -> object:
    """A new answer, paid for; at epsilon 1 and delta 1e-8 unless another price is given."""
    return connection.sql(text, fresh=True, **(price or {"epsilon": EPSILON, "delta": DELTA}))


def preview(connection: object, text: str) -> object:
    """Parsed, checked, planned and priced; no data are read."""
    return connection.preview(text, epsilon=EPSILON, delta=DELTA)


def records(release: object) -> list[dict[str, object]]:
    """The rows of a release by the names of its columns."""
    return [dict(zip(release.columns_names, row, strict=True)) for row in release]


def told(release: object, name: str, *, dense: bool = False) -> tuple[float, float, float]:
    """The value of a column with one row, and both ends of its 95% interval, or of the shorter one of a quantile."""
    column = release[name]
    (low,), (high,) = (column.dense_interval if dense else column.interval)(0.95)
    return float(column.value), float(low), float(high)
