"""Text -> tree: one statement, read by sqlglot and never run."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError, TokenError

from hubbub.sql.places import Place, Text
from hubbub.terms import NotAllowed, Unparsable

LONGEST = 100_000  # signs of one question
_EXPLAIN = re.compile(r"\s*EXPLAIN\s+PRIVATE\b", re.IGNORECASE)


def parse(text: str) -> tuple[exp.Expr, Text]:
    """The tree of the one statement in the text."""
    where = Text(text)
    _check_text(text)
    try:
        with _silence():
            trees = sqlglot.parse(text, read="duckdb")
    except (SqlglotError, RecursionError, ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
        raise _unparsable(text, error) from None
    statements = [tree for tree in trees if tree is not None and not isinstance(tree, exp.Semicolon)]
    if len(statements) != 1:
        raise NotAllowed(
            f"one question at a time, and there are {len(statements)} statements here.",
            why="Each question is planned, charged and answered by itself.",
            fix="Send one SELECT.",
        )
    return statements[0], where


@contextmanager
def _silence() -> Iterator[None]:
    """The parser logs the text of what it does not know; nobody's log should have it."""
    log = logging.getLogger("sqlglot")
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before


def explained(text: str) -> str | None:
    """The question inside ``EXPLAIN PRIVATE ...``, or None if the text is no such request."""
    match = _EXPLAIN.match(text)
    return text[match.end() :] if match else None


def _check_text(text: object) -> None:
    if not isinstance(text, str) or not text.strip() or len(text) > LONGEST or "\x00" in text:
        raise Unparsable(
            f"a question is a text of 1 to {LONGEST:,} signs.",
            why="There is nothing to answer, or more than anybody could check.",
            fix="Send one SELECT statement.",
        )


def _unparsable(text: str, error: Exception) -> Unparsable:
    told = "the text is not SQL that can be read."
    if isinstance(error, ParseError) and error.errors:
        first = error.errors[0]
        highlight = str(first.get("highlight") or "")
        start = text.find(highlight, _offset(text, int(first.get("line") or 1))) if highlight else -1
        if start >= 0:
            told = f"the text is not SQL that can be read. At {Place(text, start, start + len(highlight) - 1).words()}"
    elif isinstance(error, TokenError):
        told = "the text is not SQL that can be read: a quote or comment is not closed."
    return Unparsable(
        told,
        why="It could not be turned into a tree, so nothing about it can be checked.",
        fix="Compare with: SELECT ward, COUNT(*) AS n FROM visits WHERE age >= 18 GROUP BY ward.",
    )


def _offset(text: str, line: int) -> int:
    return sum(len(part) + 1 for part in text.split("\n")[: line - 1])
