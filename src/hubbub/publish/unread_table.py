"""A private table that nobody has looked at yet: its columns, which are public, and how its rows are read.

A request is checked and charged with the columns alone; the rows are read after that. A column is read as it was
declared, however its values are stored: a single missing value or text would otherwise decide the type of all, and so
of what is released. What is read has a form in which no value makes anything behind it fail (``readable_rows``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from hubbub.engines import UNREADABLE, Csv, arrow_of, header_of, is_pandas, no_header, readable_column
from hubbub.publish.anonymize.coded_columns import plain_names
from hubbub.publish.cells import EXACT, is_numeric, number_word, numbers_of
from hubbub.publish.domains import ColumnDomain, Date, Numeric
from hubbub.schema import FrameLike, files_of, format_of, unavailable
from hubbub.terms import OutOfRange, SourceUnavailable, Unit

if TYPE_CHECKING:
    import pyarrow

_PANDAS_IDS = "Ids beyond 2^53 in a pandas column of numbers count as missing: give them as text or as Int64."
_DOUBLE_IDS = "Ids beyond 2^53 in a column of doubles count as missing: give them as text or as whole numbers."


@dataclass(frozen=True, slots=True, eq=False)
class Unread:
    """The columns of a private table, and a function that reads its rows.

    ``people`` has, for a column that tells people apart, the path by which a ledger knows them, where it is another.
    ``inferred`` are columns whose type pandas chose.
    """

    schema: pyarrow.Schema
    read: Callable[[], pyarrow.Table]
    people: Mapping[str, str] = field(default_factory=dict)
    inferred: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        plain_names(self.schema.names)

    def select(self, names: Sequence[str]) -> Unread:
        """Some of the columns, in this order; refuses what is not there."""
        import pyarrow

        for name in names:
            if name not in self.schema.names:
                raise OutOfRange(
                    f"the table has no column {name!r}.",
                    why="Only columns of the table can be published.",
                    fix=f"The columns are {', '.join(self.schema.names)}.",
                )
        kept = pyarrow.schema([self.schema.field(name) for name in names])
        return replace(self, schema=kept, read=lambda: self.read().select(list(names)))

    def without_rows(self) -> Unread:
        """The same columns and no row: to try what was asked for."""
        return replace(self, read=self.schema.empty_table)

    def unit(self, column: str | None) -> Unit:
        """Who is protected if that column tells people apart; each row, if there is none."""
        return Unit() if column is None else Unit(self.people.get(column, column))

    def id_caveats(self, *columns: str | None) -> tuple[str, ...]:
        """Whose rows do not count if these columns tell people apart: by the types of the columns alone."""
        import pyarrow

        named = [column for column in columns if column is not None]
        if any(column in self.inferred for column in named):
            return (_PANDAS_IDS,)
        doubles = any(pyarrow.types.is_floating(self.schema.field(column).type) for column in named)
        return (_DOUBLE_IDS,) if doubles else ()


TableSource: TypeAlias = FrameLike | str | Path | Unread  # in memory, by its path, or with its columns known already


def unread_of(
    table: TableSource, domain: Mapping[str, ColumnDomain] | str | None = None, *, ids: Sequence[str | None] = ()
) -> Unread:
    """A CSV or Parquet file by its path, or a pandas, Polars or Arrow table; ``domain`` says what text stands for.

    Columns of ``ids`` tell people apart: they are read as they are stored, whatever is declared of them.
    """
    if isinstance(table, Unread):
        return table
    declared = {name: each for name, each in domain.items() if name not in ids} if isinstance(domain, Mapping) else {}
    if isinstance(table, str | Path):
        return _unread_file(str(table), declared)
    rows = arrow_of(_numbers_alike(table) if is_pandas(table) else table, objects_as_text=True)
    read = cache(lambda: rows_as_declared(rows, declared))
    return Unread(declared_schema(rows.schema, declared), read, inferred=frozenset(_inferred_columns(table)))


# ---------------------------------------------------------------- pandas

# pandas chooses the type of a column by its values: whole numbers are doubles as soon as one value is missing, and
# objects as soon as one is text. So that no row decides how another one is read, a number is read alike in all three:
# as the double that it is nearest to.


def _inferred_columns(table: object) -> Iterator[str]:
    """The columns of a pandas table whose type was chosen by their values, or can be by the next one."""
    if not is_pandas(table):
        return
    import pandas

    for name, kind in zip(table.columns, table.dtypes, strict=True):  # type: ignore[attr-defined]
        text = isinstance(kind, pandas.StringDtype) and kind.na_value is not pandas.NA  # as pandas 3 infers it
        if text or isinstance(kind, np.dtype | pandas.CategoricalDtype):
            yield str(name)


def _numbers_alike(frame: Any) -> Any:
    """A pandas table with whole numbers as doubles, and numbers among objects as those doubles would be written."""
    changed = frame.copy(deep=False)
    if len(set(frame.columns)) == len(frame.columns):  # else it is refused
        for name in frame.columns:
            changed[name] = _alike(frame[name])
    return changed


def _alike(column: Any) -> Any:
    import pandas

    categories = getattr(column.dtype, "categories", None)
    kind = column.dtype if categories is None else categories.dtype
    if not isinstance(kind, np.dtype) or kind.kind not in "iufcO" or (kind.kind == "f" and categories is None):
        return column
    if kind.kind == "O" or categories is not None:
        cells = [_double_as_text(value) for value in column.astype(object)]
        return pandas.Series(cells, index=column.index, dtype=object)
    if kind.kind == "c":  # one complex number makes complex numbers of all
        values = np.asarray(column)
        return pandas.Series(np.where(values.imag == 0, values.real, np.nan), index=column.index)
    return column.astype(np.float64)


def _double_as_text(value: object) -> object:
    """A number that doubles round, as the text of the double; everything else as it is."""
    kind = type(value)  # what an object says of its own class may fail
    if not issubclass(kind, int | float | np.integer | np.floating) or issubclass(kind, bool):
        return value
    try:
        double = float(value)  # type: ignore[arg-type]
    except (Exception, SystemExit):  # a whole number of very many digits, a class that fails
        return None
    return number_word(double) if abs(double) >= EXACT else value


def _unread_file(given: str, declared: Mapping[str, object]) -> Unread:
    files = files_of(given)
    path = files[0]
    if len(files) > 1 or format_of(path) == "duckdb":
        raise unavailable(given, "one CSV or Parquet file is published at a time")
    if format_of(path) == "parquet":
        return Unread(
            declared_schema(_parquet_schema(path), declared),
            cache(lambda: rows_as_declared(_read_parquet(path), declared)),
        )
    names = header_of(path)
    if declared and not set(declared) & set(names):
        raise no_header(Path(path).name, [str(name) for name in declared])
    return Unread(_csv_schema(names, declared), cache(lambda: rows_as_declared(_csv(path, names), declared)))


# ---------------------------------------------------------------- Parquet


def _parquet_schema(path: str) -> pyarrow.Schema:
    import pyarrow
    from pyarrow import parquet

    try:
        return parquet.read_schema(path)
    except (OSError, pyarrow.ArrowException):
        raise unavailable(Path(path).name, "it is not what its name says") from None


def _read_parquet(path: str) -> pyarrow.Table:
    import pyarrow
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            return file.read()
    except (OSError, pyarrow.ArrowException):
        raise rows_unreadable() from None


# ---------------------------------------------------------------- CSV


def _csv_schema(names: Sequence[str], declared: Mapping[str, object]) -> pyarrow.Schema:
    import pyarrow

    return declared_schema(pyarrow.schema([(name, pyarrow.string()) for name in names]), declared)


def _csv(path: str, names: Sequence[str]) -> pyarrow.Table:
    """Every cell as text; a line that is no record is left out, it alone."""
    try:
        return Csv((path,), tuple(names)).read()
    except UNREADABLE:
        raise rows_unreadable() from None


def rows_unreadable() -> SourceUnavailable:
    """The refusal after a charge: it is the same whatever went wrong."""
    return SourceUnavailable(
        "the rows could not be read.",
        why="What exactly went wrong might tell about them, and is not said.",
        fix="Check that the file is whole, and what its name says.",
    )


# ---------------------------------------------------------------- values as declared


def declared_schema(schema: pyarrow.Schema, declared: Mapping[str, object]) -> pyarrow.Schema:
    """The columns as they will be read: of those that are declared, the declaration says how.

    A column of a type that holds neither numbers, words nor days keeps it: who asks for it is refused.
    """
    for place, (name, kind) in enumerate(zip(schema.names, schema.types, strict=True)):
        column = declared.get(name)
        if isinstance(column, Numeric | Date) and _is_plain(kind):
            schema = schema.set(place, _plain_field(name, column))
    return schema


def _plain_field(name: str, declared: Numeric | Date) -> pyarrow.Field:
    import pyarrow

    number = pyarrow.int64() if isinstance(declared, Numeric) and declared.is_whole else pyarrow.float64()
    return pyarrow.field(name, pyarrow.date32() if isinstance(declared, Date) else number)


def _is_plain(kind: pyarrow.DataType) -> bool:
    """Whether values of a type can be read as numbers or days: bytes are read as the text that they are."""
    from pyarrow import types

    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return _is_plain(kind.value_type)
    words = (types.is_string, types.is_large_string, types.is_string_view, types.is_null)
    days = (types.is_date, types.is_timestamp)
    return is_numeric(kind) or _is_bytes(kind) or any(fits(kind) for fits in (*words, *days))


def _is_bytes(kind: pyarrow.DataType) -> bool:
    from pyarrow import types

    kinds = (types.is_binary, types.is_large_binary, types.is_fixed_size_binary, types.is_binary_view)
    return any(fits(kind) for fits in kinds)


def rows_as_declared(table: pyarrow.Table, declared: Mapping[str, object]) -> pyarrow.Table:
    """Rows in readable form, with numbers and days as they were declared, however they are stored."""
    rows = readable_rows(table)
    for place, name in enumerate(rows.column_names):
        column = declared.get(name)
        if isinstance(column, Numeric | Date):
            rows = rows.set_column(place, name, _typed_numbers(rows[name], column))
    return rows


def readable_rows(table: pyarrow.Table) -> pyarrow.Table:
    """Each column in a form that no value makes fail; one whose type has none is missing in every row.

    Which form that is follows from the type alone. Decimals stay: every one of them has digits.
    """
    import pyarrow

    columns = [_readable_cells(table.column(place)) for place in range(table.num_columns)]
    return pyarrow.Table.from_arrays(columns, names=table.column_names)


def _readable_cells(column: pyarrow.ChunkedArray) -> pyarrow.ChunkedArray:
    import pyarrow

    form = column if pyarrow.types.is_decimal(column.type) else readable_column(column)
    if form is None:
        return pyarrow.chunked_array([pyarrow.nulls(len(column))])
    return _bytes_as_text(form) if _is_bytes(form.type) else form


def _bytes_as_text(column: pyarrow.ChunkedArray) -> pyarrow.ChunkedArray:
    """Bytes as the text that they are, mended where they are none."""
    import pyarrow

    kind = pyarrow.large_string()
    pieces = [piece.cast(pyarrow.large_binary()).view(kind) for piece in column.chunks]
    return readable_column(pyarrow.chunked_array(pieces, type=kind))


def _typed_numbers(column: pyarrow.ChunkedArray, declared: Numeric | Date) -> pyarrow.Array:
    import pyarrow

    days = isinstance(declared, Date)
    values = numbers_of(column, dates=days)
    absent = ~np.isfinite(values)
    if isinstance(declared, Numeric) and not declared.is_whole:
        return pyarrow.array(values, mask=absent)
    whole = np.clip(np.where(absent, 0.0, np.floor(values)), -EXACT, EXACT).astype(np.int64)
    if not days:
        return pyarrow.array(whole, mask=absent)
    return pyarrow.array(np.clip(whole, -700_000, 2_900_000).astype(np.int32), mask=absent).cast(pyarrow.date32())
