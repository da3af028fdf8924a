"""TPC-H as a private workload: a customer is the unit. The data are generated, never kept in the repository."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bench import cache
from bench.peers import environment

HERE = Path(__file__).parent
EPSILON, DELTA = 1, 1e-6
Answer = dict[tuple[str, ...], float]  # key -> number


@dataclass(frozen=True)
class Form:
    """One question, what is measured of it, and the error of the reference at two scales."""

    id: str
    what: str
    sql: str
    output: str
    keys: list[str]
    groups: int
    l2: float
    person: str
    reference: dict[str, float]


def forms() -> list[Form]:
    return [Form(**form) for form in tomllib.loads((HERE / "queries.toml").read_text())["query"]]


def data(scale: str) -> Path:
    """The folder of Parquet files, with the descriptor beside them; raises RuntimeError where it cannot be made."""
    place = cache.once(cache.folder("tpch") / scale, lambda part: _generate(scale, part))
    shutil.copyfile(HERE / "descriptor.toml", place / "descriptor.toml")
    return place


def _generate(scale: str, place: Path) -> None:
    made = environment("tpch")
    if made.reason:
        raise RuntimeError(made.reason)
    shutil.rmtree(place, ignore_errors=True)
    command = [made.program("tpchgen-cli"), "parquet", "-s", scale, f"--output-dir={place}"]
    subprocess.run(command, check=True, capture_output=True)


class Truth:
    """The exact answers, as they are and with customers clipped, by DuckDB."""

    def __init__(self, place: Path) -> None:
        import duckdb

        self.connection = duckdb.connect()
        self.connection.execute("SET enable_progress_bar = false")  # it would be printed among the figures
        for file in place.glob("*.parquet"):
            self.connection.execute(f"CREATE VIEW {file.stem} AS SELECT * FROM read_parquet('{file}')")

    def answer(self, form: Form) -> Answer:
        return keyed(form, self.connection.sql(form.sql).to_arrow_table().to_pylist())

    def clipped(self, form: Form) -> Answer:
        """The answer after every customer's vector of group totals was shrunk to the bound on its L2 norm."""
        return keyed(form, self.connection.sql(_clipped(form)).to_arrow_table().to_pylist())


def keyed(form: Form, rows: Iterable[dict[str, object]]) -> Answer:
    """Rows as key -> number."""
    return {tuple(str(row[name]) for name in form.keys): float(row[form.output] or 0) for row in rows}


def _clipped(form: Form) -> str:
    import sqlglot

    tree = sqlglot.parse_one(form.sql, read="duckdb")
    tree = tree.select(f"{form.person} AS person", dialect="duckdb").group_by(form.person, dialect="duckdb")
    number, names = f"CAST({form.output} AS DOUBLE)", ", ".join(form.keys)
    return f"""
    WITH totals AS ({tree.sql(dialect="duckdb")}),
    norms AS (SELECT person, sqrt(sum({number} * {number})) AS norm FROM totals GROUP BY person)
    SELECT {names}{"," * bool(names)} sum({number} * least(1, {form.l2} / norm)) AS {form.output}
    FROM totals JOIN norms USING (person) {f"GROUP BY {names}" if names else ""}
    """
