"""The chapters of the demo, put together. A new chapter is one new file and one word in ``tell_story``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hubbub.render import Document, Json, Section
from hubbub.studies.demo import (
    attacked,
    budget,
    choice,
    gopa,
    leak,
    ledger_book,
    local,
    meaning,
    model,
    private,
    published,
    sql,
)
from hubbub.studies.demo.hospital import Hospital, open_hospital

Chapter = Callable[[Hospital], Section]


@dataclass(frozen=True, slots=True)
class Demo(Document):
    """The chapters as they came out in this run."""

    chapters: tuple[Section, ...]

    @property
    def title(self) -> str:
        """What is shown."""
        return "Hubbub: answers about people that tell nothing about a person"

    def sections(self) -> tuple[Section, ...]:
        """The chapters."""
        return self.chapters

    def to_json(self) -> dict[str, Json]:
        """The chapters with their words and tables."""
        return {"chapters": [_chapter_json(chapter) for chapter in self.chapters]}


def tell_story() -> Demo:
    """Run every chapter."""
    hospital = open_hospital()
    chapters: list[Chapter] = [
        leak.chapter,
        private.chapter,
        choice.chapter,
        budget.chapter,
        ledger_book.chapter,
        sql.chapter,
        meaning.chapter,
        local.chapter,
        attacked.chapter,
        model.chapter,
        gopa.chapter,
        published.chapter,
    ]
    return Demo(tuple(chapter(hospital) for chapter in chapters))


def _chapter_json(chapter: Section) -> Json:
    table = chapter.table
    rows = [dict(zip(table.header, row, strict=True)) for row in table.rows] if table else []
    return {"heading": chapter.heading, "paragraphs": list(chapter.paragraphs), "table": rows}
