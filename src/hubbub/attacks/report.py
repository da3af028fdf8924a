"""What every attack hands back: the numbers, one picture, what it means, and what would have helped."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from hubbub.explain import Document, Figure, Section, TextTable
from hubbub.render import Json, percent


def share_of(part: float) -> str:
    """A share in percent; all is "100%", and nothing else is."""
    return "100%" if part == 1 else percent(part)


def count_of(part: int, whole: int) -> str:
    """A count and its share, such as ``12 (3.0%)``.

    >>> count_of(5289, 9929), count_of(7, 7), count_of(0, 0)
    ('5,289 (53.3%)', '7 (100%)', '0 (0%)')
    """
    return f"{part:,} ({share_of(part / max(whole, 1))})"


class Attack(Document):
    """The result of an attack, as a document: terminal, notebook, HTML and JSON from the same object.

    A subclass is a frozen dataclass that says what it found. The parts have headings that begin with its ``name``,
    so that the ``sections()`` of several attacks can stand one after another on one page.
    """

    __slots__ = ()

    kind: ClassVar[str]
    """One lower-case word or two for programs, such as ``"linkage"``; also the name of the picture."""
    name: ClassVar[str]
    """The same for people, such as ``"Linkage"``."""

    @property
    @abstractmethod
    def succeeded(self) -> bool:
        """Whether the attacker learned about a person what the data were not meant to tell."""

    @property
    @abstractmethod
    def headline(self) -> str:
        """What was found, in one plain sentence with its frequency."""

    @abstractmethod
    def numbers(self) -> dict[str, Json]:
        """What was found, for programs."""

    @abstractmethod
    def facts(self) -> tuple[tuple[str, str], ...]:
        """What was found, for people: pairs of words and how much."""

    @abstractmethod
    def figure(self) -> Figure:
        """The one picture."""

    @abstractmethod
    def meaning(self) -> tuple[str, ...]:
        """What it means for the people in the data: a paragraph or a few."""

    @abstractmethod
    def remedy(self) -> tuple[str, ...]:
        """What would have helped, and what would not."""

    @property
    def title(self) -> str:
        """What was tried."""
        return self.name

    def table(self) -> TextTable:
        """The facts as a table; an attack that compares several things has columns of its own."""
        return TextTable(("what", "found"), self.facts())

    def sections(self) -> tuple[Section, ...]:
        """What was found, what it means, and what would have helped."""
        return (
            Section(f"{self.name}: what was found", (self.headline,), self.table(), self.figure()),
            Section(f"{self.name}: what it means", self.meaning()),
            Section(f"{self.name}: what would have helped", self.remedy()),
        )

    def to_json(self) -> dict[str, Json]:
        """The numbers and sentences as one JSON document."""
        return {
            "kind": self.kind,
            "title": self.title,
            "succeeded": self.succeeded,
            "headline": self.headline,
            "numbers": self.numbers(),
            "meaning": list(self.meaning()),
            "remedy": list(self.remedy()),
        }
