"""An answer on the command line: the table to stdout, what it cost and what to bear in mind to stderr."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from hubbub import terms
from hubbub.cli.output import streams as output
from hubbub.cli.output.terminal import draw_table
from hubbub.releases import frames, text
from hubbub.render import TextTable, printable

if TYPE_CHECKING:
    from hubbub.releases import Release
    from hubbub.render import Json

_WIDTH = 80
_IN_PYTHON, _ON_THE_COMMAND_LINE = (
    "release[name].dense_interval() is shorter, and",
    "a shorter interval is in --json, and",
)


def show_answer(release: Release, *, form: str = "table", intervals: bool = True, confidence: float = 0.95) -> None:
    """Print an answer as a table, as CSV or as a document (``form``), and talk about it on the side."""
    if form == "json":
        output.print_json(answer_to_json(release, intervals=intervals, confidence=confidence))
    elif form == "csv":
        output.print_data(release.to_csv(intervals=intervals, confidence=confidence))
    else:
        output.print_data(format_answer(release, intervals=intervals, confidence=confidence))
    for words in describe_answer(release, intervals=intervals, confidence=confidence):
        output.talk(textwrap.fill(words, _WIDTH))


def format_answer(release: Release, *, intervals: bool, confidence: float) -> str:
    """The answer as lines: every value with its error beside it."""
    columns = [
        text.format_column(release, place, confidence, intervals=intervals) for place in range(len(release.columns))
    ]
    cells = tuple(tuple(printable(cell) for cell in row) for row in zip(*columns, strict=True))
    return draw_table(TextTable(tuple(map(printable, release.columns_names)), cells))


def describe_answer(release: Release, *, intervals: bool, confidence: float) -> list[str]:
    """What to bear in mind, what it cost, and what is left; a paragraph each."""
    remarks = [_as_sentence(note, release.columns_names) for note in release.remarks()]
    about = remarks.pop()  # the last one is about intervals
    if intervals:
        remarks.append(f"{100 * confidence:g}% {about[0].lower()}{about[1:]}")
    return [printable(words) for words in (*remarks, *_describe_price(release))]


def _as_sentence(note: str, columns: Sequence[str]) -> str:
    """A remark with a capital at its beginning; the name of a column stays as it is."""
    note = note.replace(_IN_PYTHON, _ON_THE_COMMAND_LINE)
    begins_with_name = note.startswith(tuple(f"{name}{sign}" for name in columns for sign in ": "))
    return (note if begins_with_name else note[0].upper() + note[1:]).rstrip(".") + "."


def _describe_price(release: Release) -> list[str]:
    receipts = release.receipts  # a connection charges everything to its ledger
    numbers = ", ".join(f"#{receipt.sequence}" for receipt in receipts)
    under = f"receipt{'s' if len(receipts) > 1 else ''} {numbers} of {receipts[0].population}"
    if release.repeated:
        sentence = f"Answered before under {under}: free."
    else:
        sentence = f"Cost: {release.cost_words()}; {under}."
    return [f"{sentence} Left: {release.budget_left}."]


def answer_to_json(release: Release, *, intervals: bool = True, confidence: float = 0.95) -> Json:
    """The answer as one JSON document; the exact stored form is in it too, for ``Release.from_json``."""
    columns = list(frames.frame_columns(release, intervals=intervals, confidence=confidence))
    names = [name for name, _, _ in columns]
    return {
        "kind": "answer",
        "question": release.question,
        "columns": names,
        "rows": [
            dict(zip(names, map(_json_value, row), strict=True))
            for row in zip(*(values for _, _, values in columns), strict=True)
        ],
        "confidence": confidence if intervals else None,
        "guarantee": release.guarantee.describe(),
        "cost": "free" if release.repeated else release.cost_words(),
        "repeated": release.repeated,
        "left": release.budget_left,
        "receipt": None if release.receipt is None else terms.to_json(release.receipt),
        **({"receipts": [terms.to_json(each) for each in release.receipts]} if len(release.receipts) > 1 else {}),
        "notes": list(release.remarks()),
        "release": release.to_json(),
    }


def _json_value(value: Any) -> Json:
    """A value as JSON has it; what is not finite is null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value.isoformat() if isinstance(value, date) else value
