"""PipelineDP on its local backend."""

from __future__ import annotations

from bench.sql import peers


class Peer:
    def load(self, path: str) -> None:
        import pipeline_dp

        self.library, self.path = pipeline_dp, path

    def total(self) -> dict[str, list[float]]:
        found = self._aggregate(None, None, [self.library.Metrics.COUNT], (1, peers.ROWS_PER_PERSON), public=[0])
        return {"": [found[0].count]}

    def counts(self) -> dict[str, list[float]]:
        metrics, each = [self.library.Metrics.COUNT], (peers.REGIONS_EACH, peers.ROWS_PER_REGION)
        found = self._aggregate("region", None, metrics, each, public=peers.REGIONS)
        return {key: [made.count] for key, made in found.items()}

    def sums(self) -> dict[str, list[float]]:
        metrics = [self.library.Metrics.SUM, self.library.Metrics.MEAN]
        each = (peers.REGIONS_EACH, peers.ROWS_PER_REGION)
        found = self._aggregate("region", "amount", metrics, each, public=peers.REGIONS)
        return {key: [made.sum, made.mean] for key, made in found.items()}

    def quantiles(self) -> dict[str, list[float]]:
        percentile, each = self.library.Metrics.PERCENTILE, (1, peers.ROWS_PER_PERSON)
        wanted = [percentile(50), percentile(90)]
        made = self._aggregate(None, "amount", wanted, each, public=[0], bounds=peers.WIDE)[0]
        return {"p50": [made.percentile_50], "p90": [made.percentile_90]}

    def products(self) -> dict[str, list[float]]:
        metrics, each = [self.library.Metrics.COUNT], (peers.PRODUCTS_EACH, peers.ROWS_PER_PRODUCT)
        return {key: [made.count] for key, made in self._aggregate("product", None, metrics, each).items()}

    def _aggregate(self, key, value, metrics, each, *, public=None, bounds=peers.CLAMP) -> dict:
        import pandas

        library = self.library
        columns = ["user_id", *([key] if key else []), *([value] if value else [])]
        rows = list(pandas.read_parquet(self.path, columns=columns).itertuples(index=False, name=None))
        accountant = library.NaiveBudgetAccountant(total_epsilon=peers.EPSILON, total_delta=peers.DELTA)
        extractors = library.DataExtractors(
            privacy_id_extractor=lambda row: row[0],
            partition_extractor=(lambda row: row[1]) if key else (lambda row: 0),
            value_extractor=(lambda row: row[-1]) if value else (lambda row: 0),
        )
        parameters = library.AggregateParams(
            noise_kind=library.NoiseKind.LAPLACE,
            metrics=metrics,
            max_partitions_contributed=each[0],
            max_contributions_per_partition=each[1],
            **({"min_value": bounds[0], "max_value": bounds[1]} if value else {}),
        )
        engine = library.DPEngine(accountant, library.LocalBackend())
        found = engine.aggregate(rows, parameters, extractors, public_partitions=public)
        accountant.compute_budgets()
        return dict(found)
