"""DuckDB's exact answers, and the hand-written plans that bound each person first: what an engine alone would cost."""

from __future__ import annotations

from pathlib import Path

CENTS = "CAST(round(amount * 100) AS BIGINT)"
CLAMPED = "CAST(round(least(greatest(amount, 0), 200) * 100) AS BIGINT)"

PLAIN = {
    "regions": f"SELECT region, count(*) AS n, sum({CENTS}) AS cents, sum({CENTS}) / count(*) AS a FROM t GROUP BY 1",
    "total": "SELECT '' AS k, count(*) AS n FROM t",
    "counts": "SELECT region, count(*) AS n FROM t GROUP BY 1",
    "sums": f"SELECT region, sum({CENTS}) / 100 AS s, sum({CENTS}) / count(*) / 100 AS a FROM t GROUP BY 1",
    "quantiles": "SELECT unnest(quantile_cont(amount, [0.5, 0.9])) FROM t",
    "products": "SELECT product, count(*) AS n FROM t GROUP BY 1",
}


def _keys_times_rows(key: str, *, keys: int, rows: int, value: str = "0") -> str:
    """At most ``keys`` groups of a person, chosen by a hash, and ``rows`` rows in each."""
    pairs = f"SELECT user_id, {key} AS k, count(*) AS n, sum({value}) AS s FROM t GROUP BY 1, 2"
    ranked = f"SELECT *, row_number() OVER (PARTITION BY user_id ORDER BY hash(user_id, k, 17)) AS r FROM ({pairs})"
    return (
        f"SELECT k, sum(least(n, {rows})) AS n, sum(s * least(n, {rows}) // n) AS s "
        f"FROM ({ranked}) WHERE r <= {keys} GROUP BY 1"
    )


BOUNDED = {
    "regions": _keys_times_rows("region", keys=4, rows=30, value=CLAMPED),
    "products": _keys_times_rows("product", keys=20, rows=2),
    "quantiles": "SELECT floor(least(greatest(amount, 0), 500) * 4) AS bin, sum(w) AS w FROM (SELECT amount, "
    "least(1.0, 40.0 / count(*) OVER (PARTITION BY user_id)) AS w FROM t) GROUP BY 1",
}
PLANS = {"plain": PLAIN, "bounded": BOUNDED}


class Exact:
    """A connection of DuckDB on the table, with its default settings, as Hubbub's engine has."""

    def __init__(self, path: Path | str) -> None:
        import duckdb

        self.connection = duckdb.connect()
        self.connection.execute("SET enable_progress_bar = false")  # it would be printed among the figures
        self.connection.execute(f"CREATE VIEW t AS SELECT * FROM read_parquet('{path}')")

    def ask(self, plan: str, question: str) -> list[tuple[object, ...]]:
        return self.connection.execute(PLANS[plan][question]).fetchall()

    def truth(self, question: str) -> dict[str, tuple[float, ...]]:
        """The unbounded, unclamped answer: key -> numbers."""
        found = self.ask("plain", question)
        if question == "quantiles":
            return {"p50": (found[0][0],), "p90": (found[1][0],)}
        return {str(key): tuple(float(number) for number in numbers) for key, *numbers in found}
