"""OpenDP with Polars: its own summary of a query names the noise."""

from __future__ import annotations

from bench.sql import single


class Peer:
    def load(self, path: str) -> None:
        import opendp.prelude as dp
        import polars

        dp.enable_features("contrib")
        self.dp, self.polars, self.table = dp, polars, polars.scan_parquet(path)

    def law(self, measure: str, keys: int, epsilon: str) -> dict[str, object]:
        return self._law(measure, self._query(measure, keys, self._pure(epsilon)))

    def share(self, measure: str, keys: int) -> dict[str, object]:
        """A fiftieth of the budget, in rho: with Gaussian noise."""
        from opendp.context import _translate_measure_distance

        dp = self.dp
        measures = dp.fixed_smoothed_max_divergence(), dp.zero_concentrated_divergence()
        rho = _translate_measure_distance(single.BUDGET, *measures)
        return self._law(measure, self._query(measure, keys, dp.loss_of(rho=rho / len(single.FIFTY))))

    def _law(self, measure: str, query: object) -> dict[str, object]:
        found = query.summarize()
        if measure == "median":
            return {"form": "median", "scale": found["scale"][0]}
        laws = {"Integer Laplace": "discrete laplace", "Integer Gaussian": "gaussian"}
        noise = [[laws[name], scale] for name, scale in zip(found["distribution"], found["scale"], strict=True)]
        return {"form": "ratio" if measure == "AVG" else "number", "noise": noise}

    def answer(self, measure: str, keys: int, epsilon: str) -> dict[str, float]:
        found = self._query(measure, keys, self._pure(epsilon)).release().collect()
        if measure == "AVG":
            found = found.with_columns(x=found["s"] / found["n"].clip(1, None))
        return dict(zip(found[f"k{keys}"], found["x"], strict=True))

    def _query(self, measure: str, keys: int, loss: object) -> object:
        each, polars = single.ROWS_EACH, self.polars
        amount = polars.col("amount").fill_null(0)
        price = polars.col("price").fill_null(0.0).fill_nan(0.0)
        cents = [place * single.CENT for place in range(round(single.DEAREST / single.CENT) + 1)]
        wanted = {
            "COUNT": [self.dp.len(signed=True).alias("x")],
            "COUNT DISTINCT person": [self._people(keys).alias("x")],
            "SUM": [amount.dp.sum((0, single.LARGEST)).alias("x")],
            "AVG": [amount.dp.sum((0, single.LARGEST)).alias("s"), self.dp.len(signed=True).alias("n")],
            "median": [price.dp.quantile(0.5, candidates=cents).alias("x")],
        }[measure]
        once = measure == "COUNT DISTINCT person" and keys == 1
        query = self._context(keys, loss).query().truncate_per_group(1 if once else each)
        if keys == 1:
            return query.select(*wanted)
        listed = polars.LazyFrame({f"k{keys}": single.names(keys)})
        return query.group_by(f"k{keys}").agg(*wanted).with_keys(listed)

    def _pure(self, epsilon: str) -> object:
        return self.dp.loss_of(epsilon=float(epsilon))

    def _people(self, keys: int) -> object:
        """Of one row each, their number is the number of rows."""
        return self.dp.len(signed=True) if keys == 1 else self.polars.col("user_id").dp.n_unique()

    def _context(self, keys: int, loss: object) -> object:
        margin, rows = self.dp.polars.Margin, single.PEOPLE * single.ROWS_EACH
        grouped = [margin(by=[f"k{keys}"], max_groups=keys, max_length=rows)] if keys > 1 else []
        return self.dp.Context.compositor(
            data=self.table,
            privacy_unit=self.dp.unit_of(contributions=1, identifier=self.polars.col("user_id")),
            privacy_loss=loss,
            split_evenly_over=1,
            margins=[margin(by=[], max_length=rows), *grouped],
        )
