"""Docstrings are written for people who read code, in plain text. This makes them safe for Sphinx.

Text such as ``exp(-|x| / scale)`` or an indented table means something else, or nothing, in reStructuredText. So
paragraphs are escaped (but for ``literals``), and indented blocks, lists and examples are kept as they stand.
"""

from __future__ import annotations

import re
from itertools import groupby

PARTS = ("Guarantee:", "Because:", "Error:", "Not covered:")


def process(app: object, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Sphinx's hook: change ``lines`` in place."""
    lines[:] = to_rst(lines)


def to_rst(lines: list[str]) -> list[str]:
    """The docstring as reStructuredText that reads the same and cannot warn."""
    blocks = [list(block) for blank, block in groupby(lines, key=lambda line: not line.strip()) if not blank]
    return [line for block in blocks for part in _parts(block) for line in (*_block(part), "")]


def _parts(block: list[str]) -> list[list[str]]:
    """A paragraph split where the guarantee, its reason, the error or the limits start."""
    parts: list[list[str]] = [[]]
    for line in block:
        if line.startswith(PARTS) and parts[-1]:
            parts.append([])
        parts[-1].append(line)
    return parts


def _block(block: list[str]) -> list[str]:
    if block[0].startswith(">>>"):
        return [".. code-block:: python", "", *(f"   {line}" for line in block)]
    if _is_list(block):
        return [_escape(line) for line in block]
    if any(line.startswith(" ") for line in block) or any("  " in line.strip() for line in block):
        return [".. code-block:: text", "", *(f"   {line}" for line in block)]
    first = next((part for part in PARTS if block[0].startswith(part)), "")
    escaped = [_escape(line) for line in block]
    return [f"**{first}**{escaped[0].removeprefix(first)}", *escaped[1:]] if first else escaped


def _is_list(block: list[str]) -> bool:
    return block[0].startswith("- ") and all(line.startswith(("- ", "  ")) for line in block)


def _escape(line: str) -> str:
    """Escape what reStructuredText would read as markup, outside ``literals``."""
    pieces = re.split(r"(``.+?``)", line)
    text = [piece if piece.startswith("``") else re.sub(r"([\\`*|_])", r"\\\1", piece) for piece in pieces]
    return "".join(text)
