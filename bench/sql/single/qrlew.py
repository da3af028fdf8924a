"""Qrlew: the noise stands in the SQL that it writes. What it says a query costs is not checked here."""

from __future__ import annotations

import json
import re

from bench.sql import single
from bench.sql.peers import qrlew

WORDS = {
    "COUNT": "COUNT(user_id)",
    "COUNT DISTINCT person": "COUNT(DISTINCT user_id)",
    "SUM": "SUM(amount)",
    "AVG": "AVG(amount)",
}
LISTED = 50  # of 5,000 values it chooses some privately, whatever is listed
NOISE = re.compile(r"\(\(([0-9.]+)\) \* \(\(SQRT\(\(-2\) \* \(LN\(RANDOM")


class Peer:
    def load(self, path: str) -> None:
        import duckdb
        import pyqrlew

        self.library, self.connection = pyqrlew, duckdb.connect()
        self.connection.execute("SET enable_progress_bar = false")  # it would be printed among the figures
        self.connection.execute(f"CREATE VIEW t AS SELECT * FROM read_parquet('{path}')")

    def law(self, measure: str, keys: int, epsilon: str) -> dict[str, object]:
        if measure not in WORDS:
            return {"reason": "cannot express it"}
        if keys > LISTED:
            return {"reason": f"of {keys:,} listed values it makes no public keys"}
        sigmas = [float(found) for found in NOISE.findall(self._text(measure, keys, epsilon))]
        if measure == "AVG":  # the noise on the sum is the larger one
            total, count = max(sigmas), min(sigmas)
            return {"form": "ratio", "noise": [["gaussian", total], ["gaussian", count]]}
        return {"form": "number", "noise": [["gaussian", sigmas[0]]]}

    def answer(self, measure: str, keys: int, epsilon: str) -> dict[str, float]:
        return dict(self.connection.execute(self._text(measure, keys, epsilon)).fetchall())

    def _text(self, measure: str, keys: int, epsilon: str) -> str:
        key, dialect = f"k{keys}", self.library.Dialect.PostgreSql
        head, tail = (f"{key}, ", f" GROUP BY {key}") if keys > 1 else ("", "")
        parts = (qrlew._dataset(), _schema(keys), qrlew._size(single.PEOPLE * single.ROWS_EACH))
        make = getattr(self.library.Dataset, "from_str", self.library.Dataset)
        dataset = make(*(json.dumps(part) for part in parts))
        relation = dataset.relation(f"SELECT {head}{WORDS[measure]} AS x FROM t{tail}", dialect)
        once = measure == "COUNT DISTINCT person" and keys == 1
        budget = {"epsilon": float(epsilon), "delta": single.DELTA}
        limit = 1 if once else single.ROWS_EACH
        made = relation.rewrite_with_differential_privacy(dataset, [("t", [], "user_id")], budget, limit, 1.0)
        return made.relation().to_query(dialect)


def _schema(keys: int) -> dict[str, object]:
    """Values that are listed are public keys."""
    most = {"base": "INT64", "min": "0", "max": str(single.LARGEST), "possible_values": []}
    fields = {"user_id": qrlew._integer(100_000_000), "amount": qrlew._type("Integer", integer=most)}
    if keys > 1:
        fields[f"k{keys}"] = qrlew._text(single.names(keys))
    table = qrlew._type("Struct", struct={"fields": [{"name": name, "type": kind} for name, kind in fields.items()]})
    tables = qrlew._type("Union", union={"fields": [{"name": "t", "type": table}]})
    tables["properties"] = {"public_fields": "[]"}
    whole = qrlew._schema()
    whole["type"] = qrlew._type("d", struct={"fields": [{"name": "sarus_data", "type": tables}]})
    return whole
