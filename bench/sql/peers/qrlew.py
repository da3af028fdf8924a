"""Qrlew rewrites SQL into SQL; its PostgreSQL text is run here by DuckDB. It has no quantiles.

Its noise is ``RANDOM()`` of the engine inside the text: neither exact nor cryptographic.
"""

from __future__ import annotations

import json

from bench.sql import peers


class Peer:
    def load(self, path: str) -> None:
        import duckdb
        import pyqrlew

        self.library = pyqrlew
        self.connection = duckdb.connect()
        self.connection.execute("SET enable_progress_bar = false")  # it would be printed among the figures
        self.connection.execute(f"CREATE VIEW t AS SELECT * FROM read_parquet('{path}')")
        rows = self.connection.execute("SELECT count(*) FROM t").fetchone()[0]
        parts = [json.dumps(part) for part in (_dataset(), _schema(), _size(rows))]
        make = getattr(pyqrlew.Dataset, "from_str", pyqrlew.Dataset)
        self.dataset = make(*parts)

    def total(self) -> dict[str, list[float]]:
        found = self._ask("SELECT '' AS k, COUNT(user_id) AS n FROM t", peers.ROWS_PER_PERSON)
        return {"": next(iter(found.values()))}

    def counts(self) -> dict[str, list[float]]:
        return self._by_region("COUNT(user_id) AS n")

    def sums(self) -> dict[str, list[float]]:
        return self._by_region("SUM(amount) AS s, AVG(amount) AS a")

    def products(self) -> dict[str, list[float]]:
        text = "SELECT product, COUNT(user_id) AS n FROM t GROUP BY product"
        return self._ask(text, peers.PRODUCTS_EACH * peers.ROWS_PER_PRODUCT)

    def _by_region(self, wanted: str) -> dict[str, list[float]]:
        text = f"SELECT region, {wanted} FROM t GROUP BY region"
        return self._ask(text, peers.REGIONS_EACH * peers.ROWS_PER_REGION)

    def _ask(self, text: str, limit: int) -> dict[str, list[float]]:
        dialect = self.library.Dialect.PostgreSql
        budget = {"epsilon": peers.EPSILON, "delta": peers.DELTA}
        relation = self.dataset.relation(text, dialect)
        unit = [("t", [], "user_id")]
        rewritten = relation.rewrite_with_differential_privacy(self.dataset, unit, budget, limit, 1.0)
        found = self.connection.execute(rewritten.relation().to_query(dialect)).fetchall()
        return {key: list(numbers) for key, *numbers in found}


KIND = "sarus_data_spec/sarus_data_spec."


def _dataset() -> dict[str, object]:
    spec = {"transformed": {"transform": "0" * 32, "arguments": [], "named_arguments": {}}}
    about = {"@type": f"{KIND}Dataset", "uuid": "0" * 32, "name": "d"}
    return {**about, "spec": spec, "properties": {}, "doc": ""}


def _schema() -> dict[str, object]:
    lower, upper = peers.CLAMP
    fields = {
        "user_id": _integer(100_000_000),
        "region": _text(peers.REGIONS),
        "product": _text([]),
        "amount": _type("Float64", float={"base": "FLOAT64", "min": lower, "max": upper, "possible_values": []}),
        "day": _integer(365),
    }
    table = _type("Struct", struct={"fields": [{"name": name, "type": kind} for name, kind in fields.items()]})
    tables = _type("Union", union={"fields": [{"name": "t", "type": table}]})
    tables["properties"] = {"public_fields": "[]"}
    return {
        "@type": f"{KIND}Schema",
        "uuid": "1" * 32,
        "dataset": "0" * 32,
        "name": "d",
        "privacy_unit": {"label": "data", "paths": [], "properties": {}},
        "type": _type("d", struct={"fields": [{"name": "sarus_data", "type": tables}]}),
        "properties": {"max_max_multiplicity": "1", "foreign_keys": "", "primary_keys": ""},
    }


def _size(rows: int) -> dict[str, object]:
    size = {"size": str(rows), "multiplicity": 1.0}
    table = {"name": "t", "statistics": {"name": "Struct", "struct": {"fields": [], **size}}}
    about = {"@type": f"{KIND}Size", "uuid": "2" * 32, "dataset": "0" * 32, "name": "d"}
    return {**about, "statistics": _type("Union", union={"fields": [table], **size}), "properties": {}}


def _type(name: str, **parts: object) -> dict[str, object]:
    return {"name": name, **parts, "properties": {}}


def _integer(most: int) -> dict[str, object]:
    return _type("Integer", integer={"base": "INT64", "min": "0", "max": str(most), "possible_values": []})


def _text(values: list[str]) -> dict[str, object]:
    return _type("Text UTF-8", text={"encoding": "UTF-8", "possible_values": values})
