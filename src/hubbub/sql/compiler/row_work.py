"""What one row of a question can cost, over all its expressions; a question that could cost too much is refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hubbub.relations import Expr, characters_looked_at, characters_made, limits, works_on_text
from hubbub.sql.compiler.question import Item, SemiJoin, Subquery


def check_row(source: tuple[Item, ...], values: Iterable[Expr | None]) -> bool:
    """Refuse expressions that look at, or make, too many characters for one row; tell whether texts are worked on."""
    looked = text = 0
    texts = False
    for count, value in enumerate(_all_parts(source, values)):
        if count > limits.OPERATIONS:
            raise limits.too_large()
        looked += characters_looked_at(value)
        text += characters_made(value)
        texts = texts or works_on_text(value)
    for number, most, what in ((looked, limits.LOOKED_AT, "look at"), (text, limits.MADE_IN_ALL, "make")):
        if number > most:
            raise limits.over(
                f"the question can {what} {number:,} characters of text for one row, and {most:,} are the most.",
                "One person's row could take as much time as all others together.",
                "Use fewer text functions, shorter patterns, or LEFT(s, 100) before them.",
            )
    return texts


def _all_parts(source: tuple[Item, ...], values: Iterable[Expr | None]) -> Iterator[Expr]:
    """Every operation of a question, also those inside its subqueries."""
    for item in source:
        yield from _all_parts((), [item.on])
        if isinstance(item.rows, Subquery):
            inner = item.rows
            fields = [field.value for field in inner.fields]
            yield from _all_parts(inner.source, [*fields, inner.where, inner.having, *(inner.keys or ())])
    for value in values:
        if value is not None:
            yield value
            if isinstance(value.param, SemiJoin):
                yield from _all_parts(value.param.source, [value.param.where])
            yield from _all_parts((), value.args)
