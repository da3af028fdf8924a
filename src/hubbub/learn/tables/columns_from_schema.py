"""From declared facts to what a model may know of each column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hubbub.learn.base.parameters import double_of
from hubbub.learn.tables.features import Category, Column, NumberFeature, word_of
from hubbub.schema import Column as Declared
from hubbub.schema import Kind, Privately, Table
from hubbub.terms import MissingParameter, UnknownName, plain_text

_DATES = (Kind.DATE, Kind.TIMESTAMP)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The columns that a model reads, its target, and those that were left out because they are dates."""

    columns: tuple[Column, ...]
    target: Column
    dates: tuple[str, ...] = ()


def chosen(table: Table, *, target: str, wanted: Sequence[str], private: bool) -> Chosen:
    """What is known of the target and of the columns wanted (all others, if none are named).

    ``private``: numbers without bounds are allowed, and their bounds will be found and paid for.
    """
    for each in table.columns:
        plain_text(each.name, name="a column's name")  # a Parquet file may call a column anything
    aim = _declared_column(table, target)
    named = [_declared_column(table, name) for name in wanted] if wanted else _other_columns(table, aim)
    dates = tuple(each.name for each in named if each.kind in _DATES)
    if wanted and dates:
        raise MissingParameter(
            f"{dates[0]!r} is a date, and a model reads numbers and lists of values.",
            why="A day has no size by itself.",
            fix="Leave it out of --columns, or store what matters of it (an age, a month) in a column of its own.",
        )
    used = [each for each in named if each.kind not in _DATES and each.name != aim.name]
    missing = [each for each in used if not _is_known(each) and not _is_found(each, private)]
    if not _is_known(aim):
        missing.insert(0, aim)
    if missing:
        raise _missing_facts(table, missing)
    return Chosen(tuple(_feature_column(each) for each in used), _feature_column(aim), dates)


def _declared_column(table: Table, name: str) -> Declared:
    column = table.column(name)
    if column is None:
        raise _unknown_name(f"the table {table.name!r} has no column {name!r}.", [each.name for each in table.columns])
    return column


def _other_columns(table: Table, aim: Declared) -> list[Declared]:
    """All columns but the target, names of people and things, and what no model can read."""
    apart = {table.key, table.link.column if table.link else "", aim.name}
    readable = [each for each in table.columns if each.kind is not Kind.OPAQUE and each.surrogate is None]
    return [each for each in readable if each.name not in apart]


def _is_known(column: Declared) -> bool:
    return bool(column.values) or (column.lower is not None and column.kind not in _DATES)


def _is_found(column: Declared, private: bool) -> bool:
    """Whether its bounds are found privately: by this fit, or because its owner declares so."""
    return column.privately is Privately.BOUNDS or (private and _may_be_number(column))


def _may_be_number(column: Declared) -> bool:
    """Whether private bounds could be found: not for what the source says is text, unless all of it is (CSV)."""
    return column.kind.is_number or column.kind is Kind.TEXT


def _feature_column(declared: Declared) -> Column:
    if declared.values:
        return Category(declared.name, tuple(dict.fromkeys(word_of(value) for value in declared.values)))
    if declared.lower is None or declared.upper is None:
        return NumberFeature(declared.name)
    return NumberFeature(
        declared.name, *(double_of(end, name=declared.name) for end in (declared.lower, declared.upper))
    )


def _missing_facts(table: Table, missing: Sequence[Declared]) -> MissingParameter:
    """The refusal with the lines to add."""
    lines = "\n".join(f"    {_schema_line(each)}" for each in missing)
    first = missing[0].name
    return MissingParameter(
        f"{len(missing)} columns of {table.name!r} have neither bounds nor a list of values.",
        why="Both must be public: looked up in the rows, they would tell about them.",
        fix=f"Declare them in a descriptor (`hubbub init` drafts one), under [tables.{table.name}.columns]:\n{lines}\n"
        f"  or type them (--bound {first}=LOW:HIGH, --key {first}=A,B), name other columns with --columns, or have "
        "the bounds of numbers found privately: --bounds private.",
    )


def _schema_line(column: Declared) -> str:
    name = column.name if column.name.replace("-", "").replace("_", "").isalnum() else f'"{column.name}"'
    number, words = f"{name} = {{ lower = ..., upper = ... }}", f'{name} = {{ values = ["...", "..."] }}'
    if column.kind.is_number:
        return number
    if column.kind is Kind.BOOLEAN:
        return f"{name} = {{ values = [true, false] }}"
    return f"{number}   or   {words}"


def _unknown_name(what: str, there: Sequence[str]) -> UnknownName:
    return UnknownName(what, why="Only what the source has can be read.", fix=f"Use one of: {', '.join(there)[:300]}.")
