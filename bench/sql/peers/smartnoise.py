"""SmartNoise SQL over SQLite in memory; loading is not counted. It has no quantiles, and its bound is on rows alone."""

from __future__ import annotations

from bench.sql import peers

COLUMNS = ("user_id", "region", "product", "amount", "day")


class Peer:
    def load(self, path: str) -> None:
        import sqlite3

        import pyarrow.parquet as parquet

        self.database = sqlite3.connect(":memory:")
        self.database.execute("CREATE TABLE t (user_id INT, region TEXT, product TEXT, amount REAL, day INT)")
        self.rows = 0
        for batch in parquet.ParquetFile(path).iter_batches(500_000, columns=list(COLUMNS)):
            columns = batch.to_pydict()
            rows = zip(*(columns[name] for name in COLUMNS), strict=True)
            self.database.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", rows)
            self.rows += batch.num_rows

    def counts(self) -> dict[str, list[float]]:
        limit = peers.REGIONS_EACH * peers.ROWS_PER_REGION
        return self._ask("SELECT region, COUNT(*) AS n FROM t GROUP BY region", limit)

    def sums(self) -> dict[str, list[float]]:
        """Half of epsilon for each column; with censoring on, no region would be released."""
        limit, text = peers.REGIONS_EACH * peers.ROWS_PER_REGION, "SUM(amount) AS s, AVG(amount) AS a"
        return self._ask(f"SELECT region, {text} FROM t GROUP BY region", limit, epsilon=peers.EPSILON / 2)

    def products(self) -> dict[str, list[float]]:
        limit = peers.PRODUCTS_EACH * peers.ROWS_PER_PRODUCT
        return self._ask("SELECT product, COUNT(*) AS n FROM t GROUP BY product", limit, censor=True)

    def _ask(self, text: str, limit: int, *, epsilon: float = peers.EPSILON, censor: bool = False) -> dict:
        import snsql

        privacy = snsql.Privacy(epsilon=epsilon, delta=peers.DELTA)
        metadata = {"": {"": {"t": self._metadata(limit, censor)}}}
        reader = snsql.from_connection(self.database, privacy=privacy, metadata=metadata, engine="sqlite")
        return {key: list(numbers) for key, *numbers in reader.execute(text)[1:]}

    def _metadata(self, limit: int, censor: bool) -> dict[str, object]:
        lower, upper = peers.CLAMP
        return {
            "max_ids": limit,
            "row_privacy": False,
            "sample_max_ids": True,
            "censor_dims": censor,
            "clamp_counts": False,
            "clamp_columns": True,
            "rows": self.rows,
            "user_id": {"type": "int", "private_id": True},
            "region": {"type": "string"},
            "product": {"type": "string"},
            "amount": {"type": "float", "lower": lower, "upper": upper},
            "day": {"type": "int"},
        }
