"""Hubbub, asked as its peers are: in a process of its own, from a Parquet file that may be prepared."""

from __future__ import annotations


class Peer:
    def load(self, path: str) -> None:
        from contextlib import ExitStack

        from bench.sql import ours

        self.ours, self.path = ours, path
        self.open, self.connections = ExitStack(), {}  # a connection stays open, as Qrlew's does

    def regions(self) -> dict[str, list[float]]:
        return self._ask("regions")

    def counts(self) -> dict[str, list[float]]:
        return self._ask("counts")

    def sums(self) -> dict[str, list[float]]:
        return self._ask("sums")

    def products(self) -> dict[str, list[float]]:
        return self._ask("products")

    def quantiles(self) -> dict[str, list[float]]:
        (row,) = self._rows("quantiles")
        return {"p50": [row[0]], "p90": [row[1]]}

    def _ask(self, name: str) -> dict[str, list[float]]:
        return {key: list(numbers) for key, *numbers in self._rows(name)}

    def _rows(self, name: str) -> list[tuple[object, ...]]:
        """The first time a connection is opened with the bounds of the question."""
        question = self.ours.QUESTIONS[name]
        if name not in self.connections:
            bounds = {"max_rows_per_unit": question.max_rows_per_unit, "amount": question.amount}
            self.connections[name] = self.open.enter_context(self.ours.connected(self.path, **bounds))
        return list(self.ours.ask(self.connections[name], question.sql))
