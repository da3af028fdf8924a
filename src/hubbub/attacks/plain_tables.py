"""Plain tables, whoever made them: pandas, Polars, Arrow, or a dict of columns, read through Arrow.

An attack compares values and never computes with them, so a column becomes whole numbers that stand for its values,
and several columns together become one such number per row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hubbub.engines import arrow_of
from hubbub.schema import FrameLike
from hubbub.terms import SourceUnavailable, Unsuitable

if TYPE_CHECKING:
    import pyarrow

Codes: TypeAlias = NDArray[np.int64]
ColumnValues: TypeAlias = Sequence[object] | NDArray[Any]
PlainTable: TypeAlias = FrameLike | Mapping[str, ColumnValues]  # a frame, or a dict of columns

_WIDEST = 2**62  # codes of several columns are multiplied up to here and then numbered anew
_LIKE_AN_IDENTIFIER = 30  # so many rows that all differ in one column: it names people rather than describing them


def read_table(table: PlainTable, *, called: str) -> pyarrow.Table:
    """The table as an Arrow table; refuses what is none, and what has no rows."""
    import pyarrow as pa

    try:
        given = pa.table(dict(table)) if isinstance(table, Mapping) else arrow_of(table)
    except (pa.ArrowException, TypeError, ValueError, AttributeError, SourceUnavailable):
        raise Unsuitable(
            f"{called} is not a table.",
            why="An attack reads columns of equal length, each of one kind.",
            fix="Give a pandas or Polars frame, an Arrow table, or a dict of columns.",
        ) from None
    if not given.num_rows:
        raise Unsuitable(
            f"{called} has no rows.",
            why="Nothing can be learned about nobody.",
            fix="Give a table with people in it.",
        )
    return given


def known_columns(table: pyarrow.Table, columns: Sequence[str], *, called: str) -> tuple[str, ...]:
    """The columns, each of which is there once; at least one."""
    listed = isinstance(columns, str | Sequence | Mapping)
    wanted = () if not listed else (columns,) if isinstance(columns, str) else tuple(columns)
    missing = [name for name in wanted if not isinstance(name, str) or name not in table.column_names]
    if missing or not wanted or len(set(wanted)) < len(wanted):
        raise Unsuitable(
            f"{called} has no column {missing[0]!r}." if missing else "columns are missing or named twice.",
            why="The attack compares people by the columns that it is given.",
            fix=f"Choose among {', '.join(map(repr, table.column_names))}.",
        )
    return wanted


def column_beside(table: pyarrow.Table, column: str | ColumnValues, *, called: str) -> pyarrow.ChunkedArray:
    """A column of the table by its name, or a sequence with one value per row."""
    if isinstance(column, str):
        return table.column(known_columns(table, [column], called=called)[0])
    given = read_table({called: column}, called=called)
    if given.num_rows != table.num_rows:
        raise Unsuitable(
            f"{called} has {given.num_rows:,} values for {table.num_rows:,} rows.",
            why="It says something about each row.",
            fix="Give one value per row, or the name of a column.",
        )
    return given.column(called)


def no_identifiers(table: pyarrow.Table, columns: Sequence[str], *, called: str) -> None:
    """Refuse a column that differs in every row of a table of some size: whoever has it needs no attack."""
    if table.num_rows < _LIKE_AN_IDENTIFIER:
        return
    for name in columns:
        if count_distinct(row_codes(table, [name])) == table.num_rows:
            raise Unsuitable(
                f"column {name!r} of {called} is different in every row.",
                why="It is an identifier: with it nothing has to be attacked, and every row is trivially unique.",
                fix="Leave it out, and name columns that describe people instead.",
            )


def row_codes(table: pyarrow.Table, on: Sequence[str]) -> Codes:
    """One number per row, equal where the rows agree in all columns; a missing value is a value of its own."""
    return combine_codes([encode_column(table.column(name)) for name in on])


def common_codes(
    left: pyarrow.Table, right: pyarrow.Table, on: Sequence[tuple[str, str]]
) -> tuple[Codes, Codes, NDArray[np.bool_], NDArray[np.bool_]]:
    """Numbers for the rows of two tables, equal where they agree, and which rows have all their values."""
    parts, known = [], []
    for one, other in on:
        column = _join_columns(left.column(one), right.column(other))
        parts.append(encode_column(column))
        known.append(np.asarray(column.is_valid()))
    whole, valid, cut = combine_codes(parts), np.all(known, axis=0), left.num_rows
    return whole[:cut], whole[cut:], valid[:cut], valid[cut:]


def encode_column(column: pyarrow.ChunkedArray) -> Codes:
    """A column as numbers from 0 on, in order of appearance."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    except pa.ArrowNotImplementedError:
        raise Unsuitable(
            f"a column holds values of type {column.type}.",
            why="Values are compared one by one.",
            fix="Give columns of text, numbers, dates or truth values.",
        ) from None
    return np.asarray(encoded.indices).astype(np.int64)


def distinct_values(column: pyarrow.ChunkedArray) -> pyarrow.ChunkedArray:
    """Each value of a column once, in the order of their numbers."""
    return column.take(np.unique(encode_column(column), return_index=True)[1])


def rows_of_people(table: pyarrow.Table, values: Codes, identity: str | None) -> Codes:
    """Rows of the table, one for each person and value: who is listed twice is still one person."""
    if identity is None:
        return np.arange(table.num_rows)
    return np.unique(combine_codes([values, encode_column(table.column(identity))]), return_index=True)[1].astype(
        np.int64
    )


def combine_codes(parts: Sequence[Codes]) -> Codes:
    """One number per row for several columns of numbers, from 0 on without gaps."""
    total, size = parts[0], count_distinct(parts[0])
    for part in parts[1:]:
        width = count_distinct(part)
        if size * width >= _WIDEST:
            total = dense_codes(total)
            size = count_distinct(total)
        total, size = total * width + part, size * width
    return dense_codes(total)


def dense_codes(values: Codes) -> Codes:
    """The same numbers without gaps."""
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def count_distinct(values: Codes) -> int:
    """How many different numbers there are, if they have no gaps."""
    return int(values.max()) + 1 if len(values) else 0


def numeric_column(column: pyarrow.ChunkedArray, *, called: str) -> NDArray[np.float64]:
    """A column of numbers, or of dates as days."""
    import pyarrow as pa

    try:
        if pa.types.is_temporal(column.type):
            column = column.cast(pa.date32(), safe=False).cast(pa.int32())
        return np.asarray(column.cast(pa.float64())).astype(np.float64)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise Unsuitable(
            f"column {called!r} does not hold numbers or dates.",
            why="How far two values are apart is measured.",
            fix="Give numbers or dates.",
        ) from None


def value_texts(column: pyarrow.ChunkedArray) -> list[str]:
    """The values as text; a missing one is a star."""
    return ["*" if value is None else str(value) for value in column.to_pylist()]


def column_pairs(on: object) -> list[tuple[str, str]]:
    """Names of columns in two tables: the same ones, or as a mapping from the first to the second."""
    if isinstance(on, Mapping):
        return list(on.items())
    if not isinstance(on, Sequence):
        return []
    return [(name, name) for name in ((on,) if isinstance(on, str) else on)]


def _join_columns(left: pyarrow.ChunkedArray, right: pyarrow.ChunkedArray) -> pyarrow.ChunkedArray:
    """Both columns one after the other, as a type that both can have: numbers, dates, or else text."""
    import pyarrow as pa

    for kind in _common_types(left.type, right.type):
        try:
            return pa.chunked_array([*left.cast(kind).chunks, *right.cast(kind).chunks], type=kind)
        except pa.ArrowInvalid:
            continue
    raise Unsuitable(
        "columns of the two tables cannot be compared.",
        why="One of them holds values that have no form as text.",
        fix="Give columns of text, numbers or dates.",
    )


def _common_types(left: pyarrow.DataType, right: pyarrow.DataType) -> list[pyarrow.DataType]:
    import pyarrow as pa

    plain = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in (left, right)]
    if plain[0] == plain[1]:
        return [plain[0], pa.string()]
    if all(pa.types.is_integer(kind) for kind in plain):
        return [pa.int64(), pa.string()]
    if all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in plain):
        return [pa.float64(), pa.string()]
    if all(pa.types.is_temporal(kind) for kind in plain):
        return [pa.date32(), pa.string()]
    return [pa.string()]
