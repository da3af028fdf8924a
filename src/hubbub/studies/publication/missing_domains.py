"""Columns without a domain: the refusal, with the lines to add to the domain file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hubbub.terms import MissingParameter

if TYPE_CHECKING:
    import pyarrow


def lines_for(schema: pyarrow.Schema, names: Sequence[str]) -> list[str]:
    """The lines to write for these columns, from their types alone."""
    return [f"{_quote_key(name)} = {_domain_line(schema.field(name).type, _quote_key(name))}" for name in names]


def refuse_missing_domains(schema: pyarrow.Schema, names: Sequence[str], *, file: str | None) -> MissingParameter:
    """The refusal of columns without a domain, with the lines to add."""
    lines = "\n".join(f"    {line}" for line in lines_for(schema, names))
    where = f"Add to {file}" if file else "Write a file such as domain.toml, and name it with --domain"
    return MissingParameter(
        f"{len(names)} columns have no domain: {', '.join(names)}.",
        why="What may stand in a column is a public fact; it cannot be read off the rows for free.",
        fix=f"{where}:\n{lines}\n  or choose columns with --columns, or have domains found from the same budget: "
        'bounds = "private", values = "private", or --domain private where the file says the types.',
    )


def _domain_line(kind: pyarrow.DataType, name: str) -> str:
    import pyarrow

    types, number, words = pyarrow.types, "{ lower = ..., upper = ... }", '{ values = ["...", "..."] }'
    if types.is_date(kind) or types.is_timestamp(kind):
        return "{ lower = 2000-01-01, upper = 2029-12-31 }"
    if types.is_boolean(kind):
        return "{ values = [false, true] }"
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return number
    return f"{words}   or   {name} = {number}"


def _quote_key(name: str) -> str:
    return name if name.replace("-", "").replace("_", "").isalnum() and name.isascii() else f'"{name}"'
