"""Documents and pictures in plain text, for terminals and for those who cannot see the drawn ones."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hubbub.render.document import Section, TextTable

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
    """Columns lined up: the first to the left, the others, which hold numbers, to the right."""
    rows = [content.header, *content.rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(content.header))]
    lines = [_format_row(row, widths) for row in rows]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def printable(text: str) -> str:
    """Words that somebody else wrote, on one line and without signs that steer a terminal."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)


def _format_row(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [
        cell.rjust(width) if i else cell.ljust(width) for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join(padded).rstrip()


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
