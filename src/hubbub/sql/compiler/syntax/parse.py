"""Text -> tree: one statement, read by sqlglot and never run. FETCH is read as LIMIT."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.errors import ParseError, SqlglotError, TokenError

from hubbub.relations import limits
from hubbub.sql.compiler.syntax.source_text import QueryText, TextSpan
from hubbub.terms import NotAllowed, Unparsable

_OPEN = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
_CLOSE = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)
_PREFIXES = (TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE, TokenType.INTERVAL)


def parse(text: str) -> tuple[exp.Expr, QueryText]:
    """The tree of the one statement in the text."""
    _check_text(text)
    where = QueryText(text)
    try:
        with without_log():
            _check_tokens(sqlglot.tokenize(text, read="duckdb"))
            trees = sqlglot.parse(text, read="duckdb")
    except (SqlglotError, RecursionError, ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
        raise _refuse_text(text, error) from None
    statements = [tree for tree in trees if tree is not None and not isinstance(tree, exp.Semicolon)]
    if len(statements) != 1:
        raise NotAllowed(
            f"one question at a time, and there are {len(statements)} statements here.",
            why="Each question is planned, charged and answered by itself.",
            fix="Send one SELECT.",
        )
    return _fetch_as_limit(statements[0], where), where


def _fetch_as_limit(tree: exp.Expr, text: QueryText) -> exp.Expr:
    """FETCH FIRST 3 ROWS ONLY is LIMIT 3."""
    for fetch in list(tree.find_all(exp.Fetch)):
        options = fetch.args.get("limit_options")
        if fetch.parent is None or (options and any(options.args.get(each) for each in ("percent", "with_ties"))):
            raise text.refusal(
                NotAllowed,
                fetch,
                "FETCH takes a number of rows here, and no share of them or ties.",
                "Noisy numbers are practically never equal.",
                "Write FETCH FIRST 3 ROWS ONLY, or LIMIT 3.",
            )
        count = fetch.args.get("count") or exp.Literal.number(1)
        fetch.parent.set("limit", exp.Limit(expression=count.unnest()))
    return tree


@contextmanager
def without_log() -> Iterator[None]:
    """The parser logs the text of what it does not know; nobody's log should have it."""
    log = logging.getLogger("sqlglot")
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before


def _check_text(text: object) -> None:
    if not isinstance(text, str) or not text.strip() or len(text) > limits.SIGNS or not _is_plain(text):
        raise Unparsable(
            f"a question is a text of 1 to {limits.SIGNS:,} signs.",
            why="There is nothing to answer, or more than anybody could check, or a sign that no text has.",
            fix="Send one SELECT statement.",
        )


def _is_plain(text: str) -> bool:
    """No NUL, which ends texts elsewhere, and no half of a pair (a lone surrogate), which is no character."""
    return not any(sign == "\x00" or "\ud800" <= sign <= "\udfff" for sign in text)


def _check_tokens(tokens: Sequence[Token]) -> None:
    """The parser calls itself for brackets and prefixes, and tries JOINs without ON in two ways each."""
    brackets = cases = deepest = run = longest = 0
    for token in tokens:
        kind = token.token_type
        brackets = max(0, brackets + (kind in _OPEN) - (kind in _CLOSE))
        cases = max(0, cases + (kind is TokenType.CASE) - (kind is TokenType.END))
        run = run + 1 if kind in _PREFIXES else 0
        deepest, longest = max(deepest, brackets + cases), max(longest, run)
    joins = sum(token.token_type is TokenType.JOIN for token in tokens)
    for number, most, words in (
        (len(tokens), limits.TOKENS, "words and signs"),
        (deepest, limits.NESTING, "levels of brackets and CASE"),
        (longest, limits.PREFIXES, "prefixes in a row"),
        (joins, limits.JOINS, "joins"),
    ):
        if number > most:
            raise limits.over(
                f"the question has more than {most:,} {words}.",
                "It is more than anybody could check, and reading it could take very long.",
                "Split it, or write it more simply.",
            )


def _refuse_text(text: str, error: Exception) -> Unparsable:
    what = "the text is not SQL that can be read."
    if isinstance(error, ParseError) and error.errors:
        first = error.errors[0]
        highlight = str(first.get("highlight") or "")
        start = text.find(highlight, _line_start(text, int(first.get("line") or 1))) if highlight else -1
        if start >= 0:
            span = TextSpan(text, start, start + len(highlight) - 1)
            what = f"the text is not SQL that can be read. At {span.words()}"
    elif isinstance(error, TokenError):
        what = "the text is not SQL that can be read: a quote or comment is not closed."
    return Unparsable(
        what,
        why="It could not be turned into a tree, so nothing about it can be checked.",
        fix="Compare with: SELECT ward, COUNT(*) AS n FROM visits WHERE age >= 18 GROUP BY ward.",
    )


def _line_start(text: str, line: int) -> int:
    return sum(len(part) + 1 for part in text.split("\n")[: line - 1])
