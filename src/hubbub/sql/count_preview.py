"""A question whose price hangs on a count, before it is asked: what is bought first, and what may follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Self

from hubbub.render import Document, Json, Section, TextTable
from hubbub.sql.preview import Preview


@dataclass(frozen=True, slots=True)
class LaterStep:
    """What the question costs if every group has so many rows: in words, and whether that fits after the count."""

    rows: int
    charged: str
    fits: bool


@dataclass(frozen=True, slots=True)
class CountPreview(Document):
    """The preview of the count that is bought first, and the price that the question has for some results of it."""

    question: str
    within: float
    columns: tuple[str, ...]
    confidence: float
    first: Preview
    later: tuple[LaterStep, ...]

    @property
    def title(self) -> str:
        """What it is about."""
        return "Before you ask"

    @property
    def affordable(self) -> bool:
        """Whether the count fits; what follows is charged by itself, or refused."""
        return self.first.affordable

    @property
    def repeated(self) -> bool:
        """Never: once the count is there, the preview is that of the question itself."""
        return False

    @property
    def errors(self) -> Mapping[str, float | None]:
        """The error of each noisy column of the answer, which is the one that was asked for."""
        return dict.fromkeys(self.columns, self.within)

    def with_refusal(self, change: Callable[[str], str]) -> Self:
        """The same, the ledger's refusal in the words of another surface."""
        return replace(self, first=self.first.with_refusal(change))

    def sections(self) -> tuple[Section, ...]:
        """The two steps, and the first of them."""
        words = (
            f"An error of at most {self.within:g} hangs on how many rows there are, which is private. So a noisy count "
            "of them is bought first; the rest is priced from what it tells at least.",
            "Once the count is there, this preview shows the price that follows, and the count is free to use again.",
        )
        header = ("rows in each group, at least", "then charged", "fits")
        rows = tuple((f"{each.rows:,}", each.charged, "yes" if each.fits else "no") for each in self.later)
        steps = (
            Section(f"First: {section.heading}", section.paragraphs, section.table, section.figure)
            for section in self.first.sections()
        )
        return (Section("In two steps", words, TextTable(header, rows)), *steps)

    def to_json(self) -> dict[str, Json]:
        """Both steps as one JSON document."""
        return {
            "kind": "preview of two steps",
            "question": self.question,
            "within": self.within,
            "confidence": self.confidence,
            "affordable": self.affordable,
            "first": self.first.to_json(),
            "later": [{"rows": each.rows, "charged": each.charged, "fits": each.fits} for each in self.later],
        }
