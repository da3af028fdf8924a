"""DuckDB alone, in a process of its own: the exact answers, and the hand-written bounded plans. No privacy."""

from __future__ import annotations

from bench.sql.exact import Exact


class Peer:
    def __init__(self, plan: str = "plain") -> None:
        self.plan = plan

    def load(self, path: str) -> None:
        self.exact = Exact(path)

    def __getattr__(self, question: str) -> object:
        return lambda: len(self.exact.ask(self.plan, question))
