"""A statement around private questions before it is asked: what each of them costs, and how exact each will be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Self

from hubbub.accounting import Amount
from hubbub.ledger import AccountBalance, amount_words
from hubbub.render import Document, Json, Section
from hubbub.sql.explain_plan import PlanExplanation
from hubbub.sql.preview import Preview

AROUND = (
    "What stands around the private questions runs on their noisy tables alone: it is free, and its intervals follow "
    "from the noise that they have."
)
SHARED = "The price is shared out equally among {count} questions; a repeat of any of them is free."


@dataclass(frozen=True, slots=True)
class RelationPreview(Document):
    """The previews of all inner questions, and whether they fit together."""

    question: str
    inner: tuple[Preview, ...]
    together: Amount
    line: AccountBalance
    around: tuple[str, ...] = ()  # what is to be said of the statement around them
    refused: str = ""  # why the ledger would refuse all of it: a budget, a share or a window that is too small

    @property
    def title(self) -> str:
        """What it is about."""
        return "Before you ask"

    @property
    def affordable(self) -> bool:
        """Whether all of it fits into what is left, and the owner's rules let each question cost what it does."""
        return not self.refused

    @property
    def repeated(self) -> bool:
        """Whether every question was answered before, so that all of it is free."""
        return all(each.repeated for each in self.inner)

    @property
    def errors(self) -> Mapping[str, float | None]:
        """The error of each noisy column of the inner questions; the first question's, where names are alike."""
        return {name: error for each in reversed(self.inner) for name, error in each.errors.items()}

    def with_refusal(self, change: Callable[[str], str]) -> Self:
        """The same, the ledger's refusals in the words of another surface."""
        inner = tuple(each.with_refusal(change) for each in self.inner)
        return replace(self, refused=change(self.refused), inner=inner)

    def sections(self) -> tuple[Section, ...]:
        """What stands around, and then each question."""
        parts = [Section("Around the private questions", self._words())]
        for number, each in enumerate(self.inner, start=1):
            for section in each.sections():
                heading = f"Question {number}: {section.heading}"
                words = (each.question, *section.paragraphs) if section.heading == "How exact" else section.paragraphs
                parts.append(Section(heading, words, section.table, section.figure))
        return tuple(parts)

    def _words(self) -> tuple[str, ...]:
        words = [AROUND, *self.around]
        if len(self.inner) > 1:
            words += [SHARED.format(count=len(self.inner)), *self._cost_words()]
        if self.refused:
            words.append(self.refused)
        return tuple(words)

    def _cost_words(self) -> tuple[str, ...]:
        """What all questions cost together, what is left, and how many statements like this one fit."""
        limit = self.line.limit
        if self.repeated or limit is None:
            return ()
        cost = amount_words(self.together, self.line.currency)
        together = f"Together they cost {cost}; {limit.left_words(self.line.spent)} is left."
        more = limit.how_many(self.line.spent + self.together, self.together)
        return (together, f"After it, {more:,} more like it fit.") if self.affordable else (together,)

    def to_json(self) -> dict[str, Json]:
        """Everything as one JSON document."""
        return {
            "kind": "relation preview",
            "question": self.question,
            "affordable": self.affordable,
            "already_answered": self.repeated,
            "around": list(self.around),
            "inner": [each.to_json() for each in self.inner],
        }


@dataclass(frozen=True, slots=True)
class RelationExplanation(Document):
    """The way of each inner question from rows to noisy numbers, and what stands around them."""

    question: str
    outer: str
    inner: tuple[PlanExplanation, ...]
    around: tuple[str, ...] = ()  # what is to be said of the statement around them

    @property
    def title(self) -> str:
        """What is explained."""
        return "Where bounds and noise enter"

    def sections(self) -> tuple[Section, ...]:
        """What stands around, and then each question."""
        parts = [Section("Around the private questions", (AROUND, *self.around, f"after noise: {self.outer}"))]
        for number, each in enumerate(self.inner, start=1):
            parts += [
                Section(f"Question {number}: {section.heading}", section.paragraphs, section.table)
                for section in each.sections()
            ]
        return tuple(parts)

    def to_json(self) -> dict[str, Json]:
        """The outer statement, and the explanation of each question."""
        return {
            "kind": "relation explanation",
            "question": self.question,
            "outer": self.outer,
            "around": list(self.around),
            "inner": [each.to_json() for each in self.inner],
        }
