"""Declared columns as publishing sees them: what may stand in each, as ``Numeric``, ``Categorical``, ``Date`` or a key.

A descriptor and a domain file declare the same columns; these are views of them, made from declarations alone.
"""

from __future__ import annotations

import datetime
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from hubbub.publish.domains import Categorical, ColumnDomain, Date, Numeric, SurrogateKey
from hubbub.schema import PRIVATE, Column, Kind, Table, read_columns, typed_bound
from hubbub.terms import HubbubError


def read_domain(file: str | Path) -> dict[str, ColumnDomain]:
    """The declarations of a domain file (TOML), by column: for ``domain=`` of whatever publishes."""
    declared = read_columns(file)
    domain: dict[str, ColumnDomain] = {}
    for column in declared.columns:
        try:
            view = column_view(column)
        except HubbubError as problem:  # what no table can hold: a whole number of very many digits
            declared.refuse(column.name, problem.what.rstrip("."))
        assert view is not None  # a line that declares nothing is refused where it is read
        domain[column.name] = view
    return domain


def table_domain(table: Table) -> dict[str, ColumnDomain]:
    """What a descriptor declares of a table's columns, by column; those of which it says nothing are left out.

    The columns that tell rows or people apart are names: they are made up anew, and never copied.
    """
    names = {table.key, table.link.column if table.link is not None else ""}
    views = {column.name: column_view(column) for column in table.columns}
    views |= {name: views[name] if is_key(views[name]) else SurrogateKey(name) for name in names & views.keys()}
    return {column.name: view for column in table.columns if (view := views[column.name]) is not None}


def is_key(view: ColumnDomain | None) -> bool:
    """Whether a column names people or things."""
    return isinstance(view, SurrogateKey)


def column_view(column: Column) -> ColumnDomain | None:
    """What may stand in a column; None if nothing is declared of it."""
    if column.surrogate is not None:
        return SurrogateKey(column.surrogate)
    if column.values is not None:
        return Categorical(tuple(_stored_alike(value, column.kind) for value in column.values), _rest_value(column))
    if column.privately is not None:
        return _found_view(column)
    if column.lower is not None and column.upper is not None:
        return _bounded_view(column, column.lower, column.upper)
    return Categorical((False, True)) if column.kind is Kind.BOOLEAN else None


def _found_view(column: Column) -> ColumnDomain:
    if not column.kind.is_number:
        return Categorical(PRIVATE, column.other)
    whole = True if column.kind is Kind.INTEGER else None
    return Numeric(bounds=PRIVATE, bins=column.bins, missing=column.missing, whole=whole, step=column.step)


def _bounded_view(column: Column, lower: Fraction, upper: Fraction) -> Numeric | Date:
    if not column.kind.is_number:
        days = [_as_day(typed_bound(end, column.kind)) for end in (lower, upper)]
        return Date(lower=days[0], upper=days[1], bins=column.bins, missing=column.missing)
    ends = [_written_bound(end, column.kind) for end in (lower, upper)]
    view = Numeric(lower=ends[0], upper=ends[1], bins=column.bins, missing=column.missing, step=column.step)
    whole = column.kind is Kind.INTEGER
    return view if view.is_whole is whole else replace(view, whole=whole)


def _as_day(bound: Any) -> datetime.date:
    """Moments are published by their days."""
    return bound.date() if isinstance(bound, datetime.datetime) else bound


def _written_bound(number: Fraction, kind: Kind) -> int | float | Fraction:
    """A bound as a number that is written the same: whole numbers without a point, others as the double they are."""
    if kind is Kind.INTEGER and number.denominator == 1:
        return int(number)
    double = number.numerator / number.denominator if abs(number) < 1 << 1000 else float("inf")
    return double if abs(number) < 1 << 1000 and Fraction(str(double)) == number else number


def _rest_value(column: Column) -> Any:
    return None if column.other is None else _stored_alike(column.other, column.kind)


def _stored_alike(value: Any, kind: Kind) -> Any:
    """A list of numbers of which some have a fraction is a column of doubles."""
    return float(value) if kind is Kind.NUMBER else value
