"""PipelineDP on its local backend: its own report of a computation names the noise."""

from __future__ import annotations

import re

from bench.sql import single


class Peer:
    def load(self, path: str) -> None:
        import pandas
        import pipeline_dp

        self.library, self.table = pipeline_dp, pandas.read_parquet(path)

    def law(self, measure: str, keys: int, epsilon: str) -> dict[str, object]:
        if measure == "median":
            return {"reason": "its answers are measured"}
        text = self._aggregate(measure, keys, epsilon, self.table.iloc[: single.ROWS_EACH])[1]
        scales = [float(found) for found in re.findall(r"Laplace mechanism:\s*parameter=([0-9.e+-]+)", text)]
        if measure == "AVG":  # the count stands first
            count, total = scales
            noise = [["laplace", total], ["laplace", count]]
            return {"form": "centred", "centre": single.LARGEST / 2, "noise": noise}
        return {"form": "number", "noise": [["laplace", scales[0]]]}

    def share(self, measure: str, keys: int) -> dict[str, object]:
        """Epsilons add up: its accountant of losses does not work with its engine yet."""
        return self.law(measure, keys, str(single.BUDGET[0] / len(single.FIFTY)))

    def answer(self, measure: str, keys: int, epsilon: str) -> dict[str, float]:
        return self._aggregate(measure, keys, epsilon, self.table)[0]

    def _aggregate(self, measure: str, keys: int, epsilon: str, table: object) -> tuple[dict[str, float], str]:
        library, metrics = self.library, self.library.Metrics
        metric, name = {
            "COUNT": (metrics.COUNT, "count"),
            "COUNT DISTINCT person": (metrics.PRIVACY_ID_COUNT, "privacy_id_count"),
            "SUM": (metrics.SUM, "sum"),
            "AVG": (metrics.MEAN, "mean"),
            "median": (metrics.PERCENTILE(50), "percentile_50"),
        }[measure]
        value, largest = ("price", single.DEAREST) if measure == "median" else ("amount", single.LARGEST)
        columns = ["user_id", *([f"k{keys}"] if keys > 1 else []), value]
        accountant = library.NaiveBudgetAccountant(total_epsilon=float(epsilon), total_delta=single.DELTA)
        parameters = library.AggregateParams(
            noise_kind=library.NoiseKind.LAPLACE,
            metrics=[metric],
            min_value=0,
            max_value=largest,
            **_bound(measure, keys),
        )
        extractors = library.DataExtractors(
            privacy_id_extractor=lambda row: row[0],
            partition_extractor=(lambda row: row[1]) if keys > 1 else (lambda row: "K0000"),
            value_extractor=lambda row: row[-1],
        )
        engine = library.DPEngine(accountant, library.LocalBackend())
        report = library.report_generator.ExplainComputationReport()
        found = engine.aggregate(
            list(table[columns].itertuples(index=False, name=None)),
            parameters,
            extractors,
            public_partitions=single.names(keys),
            out_explain_computation_report=report,
        )
        accountant.compute_budgets()
        answer = {key: getattr(made, name) for key, made in found}
        return answer, report.text()


def _bound(measure: str, keys: int) -> dict[str, int]:
    """So many rows in all, where that is offered; people count once per key."""
    if measure == "median":
        most = min(keys, single.ROWS_EACH)
        return {"max_partitions_contributed": most, "max_contributions_per_partition": single.ROWS_EACH}
    if measure == "COUNT DISTINCT person":
        return {"max_partitions_contributed": min(keys, single.ROWS_EACH), "max_contributions_per_partition": 1}
    return {"max_contributions": single.ROWS_EACH}
