"""Documents and pictures in plain text, for terminals and for those who cannot see the drawn ones."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hubbub.render.document import Section, TextTable

_SENTENCE = 60  # signs of a cell
BLOCKS = " ▏▎▍▌▋▊▉█"  # eighths of a cell


def format_document(
    title: str,
    sections: Sequence[Section],
    *,
    width: int,
    emphasis: Callable[[str], str],
    draw_table: Callable[[TextTable], str],
) -> str:
    """The whole document, wrapped to ``width`` columns."""
    parts = [emphasis(title), "=" * min(width, len(title)), ""]
    for section in sections:
        parts.append(emphasis(section.heading))
        parts += [textwrap.fill(words, width) + "\n" for words in section.paragraphs]
        if section.figure and section.figure.plain:
            parts.append(textwrap.indent(section.figure.plain, "  ") + "\n")
        if section.table:
            parts.append(textwrap.indent(draw_table(section.table), "  ") + "\n")
    return "\n".join(parts).rstrip() + "\n"


def format_table(content: TextTable) -> str:
    """Columns lined up, numbers to the right, and names and sentences to the left; a sentence takes several lines."""
    rows = [_folded(row) for row in (content.header, *content.rows)]
    columns = list(zip(*rows, strict=True))
    widths = [max(len(line) for cell in column for line in cell) for column in columns]
    to_left = [not i or any(len(cell) > 1 for cell in column) for i, column in enumerate(columns)]
    first, *others = [_format_row(row, widths, to_left) for row in rows]
    return "\n".join([first, "  ".join("-" * width for width in widths), *others])


def _folded(row: Sequence[str]) -> list[list[str]]:
    """Each cell as lines, folded between words where it is as long as a sentence."""
    return [textwrap.wrap(cell, _SENTENCE, break_long_words=False) if len(cell) > _SENTENCE else [cell] for cell in row]


def printable(text: str) -> str:
    """Words that somebody else wrote, on one line and without signs that steer a terminal."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)


def _format_row(cells: Sequence[Sequence[str]], widths: Sequence[int], to_left: Sequence[bool]) -> str:
    lines = []
    for parts in zip_longest(*cells, fillvalue=""):
        padded = [
            part.ljust(width) if left else part.rjust(width)
            for part, width, left in zip(parts, widths, to_left, strict=True)
        ]
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def icons(groups: Sequence[tuple[str, int]]) -> str:
    """Ten by ten signs per group, side by side: filled for yes, hollow for no."""
    grids = [
        [" ".join("●" if row * 10 + i < count else "○" for i in range(10)) for row in range(10)] for _, count in groups
    ]
    lines = ["     ".join(parts) for parts in zip(*grids, strict=True)]
    return "\n".join([*lines, "     ".join(f"{caption:<19}" for caption, _ in groups).rstrip()])


def bars(rows: Sequence[tuple[str, float, str]], *, width: int = 30) -> str:
    """One bar per (name, value, how it reads); the longest fills ``width`` cells."""
    longest = max(value for _, value, _ in rows) or 1.0
    name_width = max(len(name) for name, _, _ in rows)
    return "\n".join(
        f"{name:<{name_width}}  {_bar_cells(value / longest * width):<{width}}  {shown}" for name, value, shown in rows
    )


def _bar_cells(cells: float) -> str:
    whole, eighths = divmod(round(max(0.0, cells) * 8), 8)
    return BLOCKS[8] * whole + (BLOCKS[eighths] if eighths else "")
