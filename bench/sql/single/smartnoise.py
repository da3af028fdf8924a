"""SmartNoise SQL over SQLite: its own mechanisms name the noise, and what it says a query costs is the price."""

from __future__ import annotations

from bench.sql import single

WORDS = {
    "COUNT": "COUNT(*)",
    "COUNT DISTINCT person": "COUNT(DISTINCT user_id)",
    "SUM": "SUM(amount)",
    "AVG": "AVG(amount)",
}


class Peer:
    def load(self, path: str) -> None:
        import sqlite3

        import pyarrow.parquet as parquet

        self.database = sqlite3.connect(":memory:")
        table = parquet.read_table(path).to_pydict()
        self.columns = list(table)
        kinds = ", ".join(f"{name} {'TEXT' if name.startswith('k') else 'NUMERIC'}" for name in self.columns)
        self.database.execute(f"CREATE TABLE t ({kinds})")
        marks = ", ".join("?" * len(table))
        self.database.executemany(f"INSERT INTO t VALUES ({marks})", zip(*table.values(), strict=True))

    def law(self, measure: str, keys: int, epsilon: str) -> dict[str, object]:
        if measure not in WORDS:
            return {"reason": "cannot express it"}
        reader, text = self._reader(measure, keys, epsilon)
        rewritten, _ = reader._rewrite(text)
        laws = {"Laplace": "laplace", "Geometric": "discrete laplace", "DiscreteLaplace": "discrete laplace"}
        used = [each for each in reader._get_mechanisms(rewritten) if each]
        noise = [[laws[type(each).__name__], float(each.scale)] for each in used]
        return {"form": "ratio" if measure == "AVG" else "number", "noise": noise}

    def share(self, measure: str, keys: int) -> dict[str, object]:
        """The largest epsilon of which its odometer lets fifty into the budget."""
        import snsql
        from snsql.sql.odometer import OdometerHeterogeneous

        (whole, delta), low, high = single.BUDGET, 0.0, float(single.BUDGET[0])
        for _ in range(40):
            middle = (low + high) / 2
            odometer = OdometerHeterogeneous(snsql.Privacy(epsilon=middle, delta=delta))
            for _ in single.FIFTY:
                odometer.spend(snsql.Privacy(epsilon=middle, delta=0.0))
            low, high = (middle, high) if odometer.spent[0] <= whole else (low, middle)
        return self.law(measure, keys, str(low))

    def answer(self, measure: str, keys: int, epsilon: str) -> dict[str, float]:
        reader, text = self._reader(measure, keys, epsilon)
        return dict(reader.execute(text)[1:])

    def _reader(self, measure: str, keys: int, epsilon: str) -> tuple[object, str]:
        key = f"k{keys}"
        head, tail = (f"{key}, ", f" GROUP BY {key}") if keys > 1 else ("", "")
        text = f"SELECT {head}{WORDS[measure]} AS x FROM t{tail}"
        whole = self._priced(measure, keys, float(epsilon))
        cost = float(whole.get_privacy_cost(text)[0]) / float(epsilon)
        return self._priced(measure, keys, float(epsilon) / cost), text

    def _priced(self, measure: str, keys: int, epsilon: float) -> object:
        """With censoring off, since keys are public; of one row each, people are counted most exactly."""
        import snsql

        once = measure == "COUNT DISTINCT person" and keys == 1
        about = {name: {"type": "string" if name.startswith("k") else "int"} for name in self.columns}
        about["user_id"]["private_id"] = True
        about["price"] |= {"type": "float", "lower": 0, "upper": single.DEAREST}
        about["amount"] |= {"lower": 0, "upper": single.LARGEST}
        table = {
            "max_ids": 1 if once else single.ROWS_EACH,
            "row_privacy": False,
            "sample_max_ids": True,
            "censor_dims": False,
            "clamp_counts": False,
            "clamp_columns": True,
            "rows": single.PEOPLE * single.ROWS_EACH,
            **about,
        }
        privacy = snsql.Privacy(epsilon=epsilon, delta=single.DELTA)
        return snsql.from_connection(self.database, privacy=privacy, metadata={"": {"": {"t": table}}}, engine="sqlite")
