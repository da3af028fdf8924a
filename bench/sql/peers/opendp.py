"""OpenDP with Polars. ``keep="first"``, because sampling the groups to keep fails with one grouping column."""

from __future__ import annotations

from bench.sql import peers


class Peer:
    def load(self, path: str) -> None:
        import opendp.prelude as dp
        import polars

        dp.enable_features("contrib")
        self.dp, self.polars, self.path = dp, polars, path
        self.rows = polars.scan_parquet(path).select(polars.len()).collect().item()

    def total(self) -> dict[str, list[float]]:
        query = self._context().query().truncate_per_group(peers.ROWS_PER_PERSON)
        return {"": [query.select(self.dp.len()).release().collect().item()]}

    def counts(self) -> dict[str, list[float]]:
        found = self._by_region(self.dp.len().alias("n"))
        return {key: [n] for key, n in zip(found["region"], found["n"], strict=True)}

    def sums(self) -> dict[str, list[float]]:
        amount = self._amount().dp.sum(peers.CLAMP).alias("s")
        found = self._by_region(amount, self.dp.len().alias("n"))
        triples = zip(found["region"], found["s"], found["n"], strict=True)
        return {key: [s, s / max(n, 1)] for key, s, n in triples}

    def quantiles(self) -> dict[str, list[float]]:
        candidates = [x / 4 for x in range(2001)]
        wanted = [
            self._amount().dp.quantile(alpha, candidates=candidates).alias(name)
            for name, alpha in (("p50", 0.5), ("p90", 0.9))
        ]
        query = self._context(self.dp.polars.Margin(max_length=2 * self.rows)).query()
        found = query.truncate_per_group(peers.ROWS_PER_PERSON).select(*wanted).release().collect()
        return {name: [found[name].item()] for name in ("p50", "p90")}

    def products(self) -> dict[str, list[float]]:
        query = self._truncated(
            self._context(delta=peers.DELTA), "product", peers.PRODUCTS_EACH, peers.ROWS_PER_PRODUCT
        )
        found = query.group_by("product").agg(self.dp.len().alias("n")).release().collect()
        return {key: [n] for key, n in zip(found["product"], found["n"], strict=True)}

    def _by_region(self, *wanted: object) -> object:
        margin = self.dp.polars.Margin(by=["region"], max_groups=50, max_length=2 * self.rows)
        keys = self.polars.LazyFrame({"region": peers.REGIONS})
        query = self._truncated(self._context(margin), "region", peers.REGIONS_EACH, peers.ROWS_PER_REGION)
        return query.group_by("region").agg(*wanted).with_keys(keys).release().collect()

    def _truncated(self, context: object, by: str, groups: int, rows: int) -> object:
        few = context.query().truncate_num_groups(groups, by=[by], keep="first")
        return few.truncate_per_group(rows, by=[by])

    def _amount(self) -> object:
        return self.polars.col("amount").fill_null(0.0).fill_nan(0.0)

    def _context(self, *margins: object, delta: float | None = None) -> object:
        loss = {"epsilon": peers.EPSILON} | ({"delta": delta} if delta else {})
        return self.dp.Context.compositor(
            data=self.polars.scan_parquet(self.path),
            privacy_unit=self.dp.unit_of(contributions=1, identifier=self.polars.col("user_id")),
            privacy_loss=self.dp.loss_of(**loss),
            split_evenly_over=1,
            margins=list(margins),
        )
