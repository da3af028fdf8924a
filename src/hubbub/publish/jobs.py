"""Publications as jobs: planned from columns and domains, charged before a row is read, stored before shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hubbub.publish.cells import kind_of
from hubbub.publish.domains import column_identity
from hubbub.releases import JobFacts, Progress
from hubbub.terms import Event, Receipt, to_json


@dataclass(frozen=True)
class TableJob:
    """Something to publish, planned from columns and domains; ``measure`` reads the rows and gives what is stored."""

    facts: JobFacts
    measure: Callable[[], str]

    def bind(self) -> None:
        """Nothing to try: columns and domains were checked when it was planned."""

    def run(self, progress: Progress) -> str:
        """Read and noise."""
        progress("reading")
        return self.measure()

    def show(self, answer: str, receipt: Receipt | None, *, repeated: bool) -> tuple[str, Receipt | None]:
        """What is stored, and the receipt: tables are made from it."""
        return answer, receipt


def table_facts(
    event: Event, *, size: int, delta: Fraction, job: str, title: str, dataset: str | None, parts: Mapping[str, Any]
) -> JobFacts:
    """The facts of a publication.

    Without a ``dataset`` name no two runs are the same: each is charged. ``job`` and ``parts`` say as JSON everything
    else that was asked: two requests that differ in it get different answers, and whatever changes what a stored number
    means is in it. The ``title`` is for people, and may change.
    """
    identity = {"kind": "publish", "event": to_json(event), "job": job, "parts": dict(parts), "dataset": dataset}
    return JobFacts(
        event=event,
        identity=None if dataset is None else identity,
        size=size,
        title=title,
        fixed_in_advance=True,
        delta=delta,
    )


def columns_told(domain: Mapping[str, object]) -> list[list[Any]]:
    """Columns for ``parts``: name, declared type and domain of each, in their order. Stored tables know columns by
    their place, and cells by their number, which all three decide."""
    return [[name, kind_of(column), column_identity(column)] for name, column in domain.items()]
