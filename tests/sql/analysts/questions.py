"""A hundred questions of analysts of a shop, a clinic and an app, as they are written.

Each file has questions that end with a semicolon, with a title above, and below it what stands in the way of an answer:

    -- waits for: relation        an outer SELECT over released numbers answers it
    -- refused: why
    -- rewrite: the shortest question that is answered (to the end of the comment)
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
DATASETS = ("shop", "clinic", "app")


@dataclass(frozen=True, slots=True)
class AnalystQuestion:
    """One question, and what the list says of it."""

    dataset: str
    title: str
    sql: str
    waits_for: str = ""
    refused: str = ""
    rewrite: str = ""


def questions() -> list[AnalystQuestion]:
    """All hundred."""
    return [_read(name, part) for name in DATASETS for part in _parts(name)]


def _parts(name: str) -> list[str]:
    text = (HERE / f"{name}.sql").read_text(encoding="utf-8")
    return [part.strip() for part in text.split(";\n") if part.strip()]


def _read(dataset: str, part: str) -> AnalystQuestion:
    lines = part.split("\n")
    above = [line.removeprefix("-- ") for line in lines if line.startswith("-- ")]
    sql = "\n".join(line for line in lines if not line.startswith("-- "))
    marks = {key: value for line in above[1:] for key, _, value in [line.partition(": ")]}
    return AnalystQuestion(
        dataset, above[0], sql, marks.get("waits for", ""), marks.get("refused", ""), marks.get("rewrite", "")
    )
