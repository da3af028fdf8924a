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

    def total(self) -> dict[str, list[float]]:
        return {"": [self._reader("total").execute(self._text("total"))[1][0]]}

    def counts(self) -> dict[str, list[float]]:
        return self._ask("counts")

    def sums(self) -> dict[str, list[float]]:
        return self._ask("sums")

    def products(self) -> dict[str, list[float]]:
        return self._ask("products")

    def scales(self, question: str) -> list[float]:
        """Of its noise, which is Laplace noise, in the order of its columns."""
        reader = self._reader(question)
        rewritten, _ = reader._rewrite(self._text(question))
        return [float(each.scale) for each in reader._get_mechanisms(rewritten) if each]

    def _ask(self, question: str) -> dict[str, list[float]]:
        return {key: list(numbers) for key, *numbers in self._reader(question).execute(self._text(question))[1:]}

    def _text(self, question: str) -> str:
        return {
            "total": "SELECT COUNT(*) AS n FROM t",
            "counts": "SELECT region, COUNT(*) AS n FROM t GROUP BY region",
            "sums": "SELECT region, SUM(amount) AS s, AVG(amount) AS a FROM t GROUP BY region",
            "products": "SELECT product, COUNT(*) AS n FROM t GROUP BY product",
        }[question]

    def _reader(self, question: str) -> object:
        """Sums have half of epsilon for each column; with censoring on, no region would be released."""
        import snsql

        limit = {
            "total": peers.ROWS_PER_PERSON,
            "products": peers.PRODUCTS_EACH * peers.ROWS_PER_PRODUCT,
        }.get(question, peers.REGIONS_EACH * peers.ROWS_PER_REGION)
        epsilon = peers.EPSILON / 2 if question == "sums" else peers.EPSILON
        privacy = snsql.Privacy(epsilon=epsilon, delta=peers.DELTA)
        metadata = {"": {"": {"t": self._metadata(limit, question == "products")}}}
        return snsql.from_connection(self.database, privacy=privacy, metadata=metadata, engine="sqlite")

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
