"""An anonymized table as it is handed out: the rows, what they cost, and what they do not protect against."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from hubbub.explain import Document, Figure, Section, TextTable
from hubbub.publish.anonymize.coded_columns import Codes, value_ranks
from hubbub.publish.anonymize.identifiers import identifying_columns
from hubbub.publish.anonymize.losses import Metrics
from hubbub.publish.anonymize.manifest import Manifest
from hubbub.publish.anonymize.privacy_models import PrivacyModel
from hubbub.render import Json, percent, short
from hubbub.render import bars as text_bars
from hubbub.render.charts import Bar, bar_chart, percentage

if TYPE_CHECKING:
    import pyarrow

NO_GUARANTEE = (
    "None of this is differential privacy. It says how the table looks, and bounds nothing that a person can learn who "
    "knows more than was thought of, or who has another release about the same people."
)

EACH_ROW = "Each row counts as a person; who has several rows is told apart by unit=."


@dataclass(frozen=True, slots=True, eq=False)
class Anonymized(Document):
    """A table whose classes fulfil the models, without the suppressed rows.

    The rows stand in the order of what they say, not in that of the table given: files are often sorted by name, and
    then a row's place would be a name. ``kept`` says which row of the table given each one is: it stays with the owner.

    Not covered: what the models do not cover (``gaps``). The attacks that match are ``hubbub.attacks.homogeneity`` and
    ``background`` on ``table``, ``quasi_identifiers`` and each of ``sensitive``, and ``link`` against a list of names.
    """

    table: pyarrow.Table = field(repr=False)
    classes: Codes = field(repr=False)  # the class of each row of ``table``
    kept: Codes = field(repr=False)  # which rows of the table given these are: for the owner alone
    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...]
    models: tuple[PrivacyModel, ...]
    metrics: Metrics
    manifest: Manifest
    search: tuple[str, ...] = ()  # how it was found, in sentences
    people: Codes | None = field(default=None, repr=False)  # whose each row is, if not its own: for the owner alone

    @property
    def k(self) -> int:
        """The size of the smallest class: in people, if a unit tells them apart, else in rows."""
        return self.metrics.smallest

    @property
    def counted(self) -> str:
        """What classes are counted in, in a word."""
        return "rows" if self.people is None else "people"

    @property
    def gaps(self) -> tuple[str, ...]:
        """What the models do not protect against, in plain words."""
        return tuple(dict.fromkeys(model.gaps for model in self.models))

    @property
    def title(self) -> str:
        """What was made."""
        return f"An anonymized table: {self.manifest.method}"

    @property
    def headline(self) -> str:
        """What was made, in one sentence."""
        left = f" {self.metrics.suppressed:,} rows were left out." if self.metrics.suppressed else ""
        return (
            f"{self.table.num_rows:,} rows in {self.metrics.classes:,} classes, the smallest of {self.k:,} "
            f"{self.counted}.{left} "
            f"Of what the quasi-identifiers said, {percent(self.metrics.gcp)} is gone."
        )

    def sections(self) -> tuple[Section, ...]:
        """What was made, what it does not protect against, what it cost."""
        held = tuple(f"Holds: {words}" for words in self.manifest.models)
        each = () if self.people is not None else (EACH_ROW,)
        return (
            Section("What was made", (self.headline, *held, *each, *self.search)),
            Section("What this does not protect against", (*self.gaps, *self._passed_on(), NO_GUARANTEE)),
            Section("What it cost", (), self._costs(), self._figure()),
            Section("What was generalized", (), self.manifest.table()),
        )

    def to_json(self) -> dict[str, Json]:
        """The numbers and sentences as one JSON document, without the table."""
        return {
            "kind": "anonymised",
            "title": self.title,
            "headline": self.headline,
            "quasi_identifiers": list(self.quasi_identifiers),
            "sensitive": list(self.sensitive),
            "metrics": self.metrics.to_json(),
            "manifest": self.manifest.to_json(),
            "not_protected": [*self.gaps, *self._passed_on(), NO_GUARANTEE],
            "search": list(self.search),
        }

    def _passed_on(self) -> tuple[str, ...]:
        """A word about the columns that nobody looked at."""
        names = [name for name in self.manifest.untouched if name not in self.sensitive]
        if not names:
            return ()
        sentence = (
            f"Published as they were, and in no model: {', '.join(names)}. Whoever knows one of them of a person can "
            "use it like a quasi-identifier."
        )
        named = [*self.quasi_identifiers, *self.sensitive]
        kept = identifying_columns(self.table, named, self.k, people=self.people)
        if not kept:
            return (sentence,)
        return (
            f"{', '.join(kept)}: the values differ from row to row, so they name people. Kept on purpose.",
            sentence,
        )

    def _costs(self) -> TextTable:
        cost = self.metrics
        return TextTable(
            ("measure", "value", "best possible"),
            (
                ("information lost (GCP)", percent(cost.gcp), "0%"),
                ("rows left out", f"{cost.suppressed:,} ({percent(cost.suppression)})", "0"),
                ("classes", f"{cost.classes:,}", ""),
                ("rows per class, over k", short(cost.average_size), "1"),
                ("discernibility", f"{cost.discernibility:,}", f"{cost.rows:,}"),
            ),
        )

    def _figure(self) -> Figure:
        bars = [(one.name, one.width, percent(one.width)) for one in self.manifest.columns]
        svg = bar_chart(
            [Bar(name, width, shown=shown) for name, width, shown in bars],
            title="How coarse each column is now",
            description="; ".join(f"{name}: {shown}" for name, _, shown in bars) + ".",
            label="mean width of what is published: 0 is the value itself, 100% is *",
            show=percentage,
            include=(1.0,),
        )
        return Figure("widths", svg, "The longer the bar, the less the column still says.", text_bars(bars))


def by_values(rows: pyarrow.Table) -> Codes:
    """The places of the rows in an order that depends on what they say alone; rows that say the same are alike."""
    return np.lexsort([value_ranks(column) for column in reversed(rows.columns)])
