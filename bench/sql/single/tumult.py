"""Tumult Analytics on Spark: its own noise information names the noise."""

from __future__ import annotations

import os
import sys
import tempfile

from bench.sql import single


class Peer:
    def load(self, path: str) -> None:
        os.environ["PYSPARK_PYTHON"] = sys.executable
        import tmlt.analytics
        from pyspark.sql import SparkSession

        opened = "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED --add-opens=java.base/java.nio=ALL-UNNAMED"
        settings = {
            "spark.driver.memory": "3g",
            "spark.sql.shuffle.partitions": "2",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.extraJavaOptions": f"{opened} -Dio.netty.tryReflectionSetAccessible=true",
            "spark.sql.warehouse.dir": tempfile.mkdtemp(),
        }
        builder = SparkSession.builder.master("local[2]")
        for name, value in settings.items():
            builder = builder.config(name, value)
        spark = builder.getOrCreate()
        spark.sparkContext.setLogLevel("OFF")
        library = self.library = tmlt.analytics
        table = spark.read.parquet(path)
        self.session, self.concentrated = (
            library.Session.from_dataframe(
                budget, "t", table, protected_change=library.AddRowsWithID(id_column="user_id")
            )
            for budget in (library.PureDPBudget(10**6), library.RhoZCDPBudget(10**6))
        )

    def law(self, measure: str, keys: int, epsilon: str) -> dict[str, object]:
        return self._law(self.session, measure, keys, self._price(epsilon))

    def share(self, measure: str, keys: int) -> dict[str, object]:
        """A fiftieth of the rho that is the budget by the tightest conversion, which its user has to work out."""
        price = self.library.RhoZCDPBudget(single.RHO / len(single.FIFTY))
        return self._law(self.concentrated, measure, keys, price)

    def _law(self, session: object, measure: str, keys: int, price: object) -> dict[str, object]:
        told = session._noise_info(self._query(measure, keys), price)
        if measure == "median":  # the rate is of ranks
            return {"form": "median", "rate": float(told[0]["noise_parameter"])}
        noise = [_noise(each["noise_mechanism"].name, float(each["noise_parameter"])) for each in told]
        if measure == "AVG":
            return {"form": "centred", "centre": single.LARGEST / 2, "noise": noise}
        return {"form": "number", "noise": noise}

    def answer(self, measure: str, keys: int, epsilon: str) -> dict[str, float]:
        return dict(map(tuple, self.session.evaluate(self._query(measure, keys), self._price(epsilon)).collect()))

    def _price(self, epsilon: str) -> object:
        from tmlt.core.utils.exact_number import ExactNumber

        return self.library.PureDPBudget(ExactNumber.from_float(float(epsilon), round_up=False))

    def _query(self, measure: str, keys: int) -> object:
        library, top = self.library, single.LARGEST
        query = library.QueryBuilder("t").enforce(library.MaxRowsPerID(single.ROWS_EACH))
        if keys > 1:
            query = query.groupby(library.KeySet.from_dict({f"k{keys}": single.names(keys)}))
        return {
            "COUNT": query.count,
            "COUNT DISTINCT person": lambda: query.count_distinct(["user_id"]),
            "SUM": lambda: query.sum("amount", 0, top),
            "AVG": lambda: query.average("amount", 0, top),
            "median": lambda: query.quantile("price", 0.5, 0, single.DEAREST),
        }[measure]()


def _noise(mechanism: str, parameter: float) -> list[object]:
    """Of Gaussian noise the parameter is the variance."""
    if mechanism == "DISCRETE_GAUSSIAN":
        return ["gaussian", parameter**0.5]
    return [{"GEOMETRIC": "discrete laplace", "LAPLACE": "laplace"}[mechanism], parameter]
