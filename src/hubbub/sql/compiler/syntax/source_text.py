"""Refusals that point at the place in the analyst's text."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from hubbub.terms import QueryError

UNCLEAR = "The meaning of every part must be clear before data is read."
COVERAGE = "docs/sql-coverage.md lists what can be asked."


@dataclass(frozen=True, slots=True)
class TextSpan:
    """A stretch of the analyst's text."""

    text: str
    start: int
    end: int

    def words(self) -> str:
        """Line and column, the line itself, and a mark under the stretch."""
        before = self.text[: self.start]
        line = before.count("\n") + 1
        column = self.start - (before.rfind("\n") + 1)
        whole = self.text.split("\n")[line - 1]
        shown = "".join(sign if sign.isprintable() else " " for sign in whole)
        width = max(1, min(self.end - self.start + 1, len(whole) - column))
        return f"line {line}, column {column + 1}:\n    {shown}\n    {' ' * column}{'^' * width}"


@dataclass(frozen=True, slots=True)
class QueryText:
    """The analyst's text, for messages; it goes nowhere else."""

    text: str

    def refusal(
        self,
        error: type[QueryError],
        node: exp.Expr | None,
        what: str,
        why: str = UNCLEAR,
        fix: str = COVERAGE,
    ) -> QueryError:
        """The error, with the place of the node if it is known."""
        place = self.place(node)
        return error(f"{what} At {place.words()}" if place else what, why=why, fix=fix)

    def place(self, node: exp.Expr | None) -> TextSpan | None:
        """Where the node stands: the parser marks names, literals and functions; others reach over their parts."""
        if node is None:
            return None
        spots = [(part.meta["start"], part.meta["end"]) for part in node.walk() if "start" in part.meta]
        if not spots:
            return self.place(node.parent) if node.parent is not None else None
        return TextSpan(self.text, min(start for start, _ in spots), max(end for _, end in spots))
