"""Where tables come from: files, globs, tables in a DuckDB file, and frames in memory."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hubbub.engines.frames import readable_column
from hubbub.engines.records import UNREADABLE, first_line
from hubbub.schema import DATABASE, Headless, InDatabase, files_of, is_csv, stem_of, unavailable
from hubbub.terms import MissingParameter, OutOfRange, SourceUnavailable

if TYPE_CHECKING:
    import pyarrow

_WHOLE = 2.0**126  # below it, doubles without a fraction are written as whole numbers


def header_of(*files: str) -> list[str]:
    """The column names of CSV files: the cells of their first lines, which must be alike.

    What stands there is never told by a refusal: where a header is missing, it is a person's record.
    """
    first, *others = _first_lines(files)
    if not first or not _are_names(first) or any(other != first for other in others):
        raise no_header(Path(files[0]).name)
    return first


def check_header(source: str | Path, named: Sequence[str], *, said: bool = False) -> None:
    """Refuse a CSV file whose first line is not known to hold names, without showing what it holds.

    It is known to be a header if it has every column that its owner speaks of. If the owner speaks of none, he must
    have ``said`` so. Files of a glob have one header; that they differ is told only if one of them is known to have it.
    """
    if not named and not said:
        raise _header_unsaid(Path(str(source)).name)
    files, wanted = files_of(source), list(dict.fromkeys(named))
    lines = [line if line and _are_names(line) else [] for line in _first_lines(files)]
    lacking = [[name for name in wanted if name.lower() not in map(str.lower, line)] for line in lines]
    if all(lacking):
        file, missing = min(zip(files, lacking, strict=True), key=lambda each: len(each[1]))
        raise no_header(Path(file).name, missing, there=[name for name in wanted if name not in missing])
    if any(line != lines[0] for line in lines):
        raise SourceUnavailable(
            f"the files of {Path(str(source)).name} do not all begin with the same line.",
            why="The files of one table have one header, and it names the columns of each.",
            fix="Name the files of one table alone, such as visits*.csv; a descriptor can name several tables.",
        )


def _first_lines(files: Sequence[str]) -> list[list[str] | None]:
    try:
        return [first_line(file) for file in files]
    except UNREADABLE:
        raise unavailable(Path(files[0]).name, "it cannot be read") from None


def _are_names(cells: list[str]) -> bool:
    readable = all(name.strip() and name.isprintable() and "\N{REPLACEMENT CHARACTER}" not in name for name in cells)
    return readable and len({name.lower() for name in cells}) == len(cells)


def no_header(name: str, missing: Sequence[str] = (), *, there: Sequence[str] = ()) -> SourceUnavailable:
    """The refusal of a CSV file by its first line; ``missing`` and ``there`` are names that its owner declared."""
    wanted = ", ".join(map(repr, missing)) or "its columns"
    if there:
        return SourceUnavailable(
            f"the first line of {name} names {', '.join(map(repr, there))}, and not {wanted}.",
            why="What is declared of a column that is not there would protect nobody. What else stands in that line is "
            "not told.",
            fix=f"Check the spelling of {wanted}, or leave it out.",
        )
    return SourceUnavailable(
        f"the first line of {name} does not name {wanted}.",
        why="The columns of a CSV file are named by its first line, or by its owner. What stands there is not told: "
        "without a header it is a person's record.",
        fix='Check names and separator; or name all columns of a file without a header: header=["patient", "cost"], '
        "`--header patient,cost` on the command line.",
    )


def _header_unsaid(file: str) -> MissingParameter:
    return MissingParameter(
        f"say whether the first line of {file} names its columns.",
        why="No column is declared by which that can be seen, and without a header that line is a person's record.",
        fix="Say that it does: header=True, `header = true` in a descriptor, --header yes on the command line. If no "
        'line does, name all columns: header=["age", "ward"], or --header age,ward.',
    )


def arrow_of(frame: Any, *, objects_as_text: bool = False) -> pyarrow.Table:
    """A pandas, Polars or Arrow table, as Arrow.

    A pandas column of Python objects has no type of its own: it gets the one that its rows have, and is refused if they
    have several. For private rows write ``objects_as_text=True``: each value becomes text by itself, as a CSV file
    would hold it, and what is no plain value is missing. Then neither a type nor a refusal depends on a row.
    """
    import pyarrow

    if isinstance(frame, pyarrow.Table):
        return frame
    try:
        if hasattr(frame, "to_arrow"):
            return frame.to_arrow()
        if is_pandas(frame):
            return _by_type(frame) if objects_as_text else pyarrow.Table.from_pandas(frame, preserve_index=False)
        if hasattr(frame, "__arrow_c_stream__"):
            return pyarrow.table(frame)
    except (pyarrow.ArrowException, TypeError, ValueError, OverflowError, NotImplementedError):
        mixed = is_pandas(frame) and not objects_as_text
        why = "a column holds values of several types" if mixed else "a column is of a type that is not read"
        raise unavailable("the table in memory", why) from None
    raise unavailable(f"a {type(frame).__name__}", "it is no path and no pandas, Polars or Arrow table")


def is_pandas(frame: object) -> bool:
    """Whether it is a table of pandas, whose types follow its rows."""
    return type(frame).__module__.split(".")[0] == "pandas"


def identity_of(source: object, columns: Sequence[str]) -> str | None:
    """What tells a source from others: where it is and how it is read, never what is in it. None for one in memory.

    Which cell of a CSV line is which column, and which lines have as many cells as there are columns, is decided by the
    names: read under others, the same file is another table.
    """
    if isinstance(source, InDatabase):
        return json.dumps([*files_of(source.path), source.table])
    if isinstance(source, Headless):
        return json.dumps([*files_of(source.path), {"header": False, "columns": [*source.names]}])
    if not isinstance(source, str | Path):
        return None
    files = files_of(source)
    return json.dumps([*files, {"header": True, "columns": [*columns]}] if is_csv(source) else files)


def object_columns(frame: Any) -> list[Any]:
    """The columns of a pandas table whose values must be looked at one by one: Python objects, words, and others.

    Truth values, numbers and moments have a type that no value of theirs can break; so have columns that Arrow keeps.
    """
    import pandas

    kinds = [getattr(getattr(kind, "categories", None), "dtype", kind) for kind in frame.dtypes]
    return [
        name
        for name, kind in zip(frame.columns, kinds, strict=True)
        if not isinstance(kind, pandas.ArrowDtype) and getattr(kind, "kind", "O") not in "biufM"
    ]


def _by_type(frame: Any) -> pyarrow.Table:
    """A pandas table as Arrow, by the types of its columns: objects as text, and columns of Arrow as in its tables."""
    import pyarrow

    if len(set(frame.columns)) < len(frame.columns):
        raise unavailable("the table in memory", "two of its columns have one name")
    changed, forms = frame.copy(deep=False), {}
    for name in object_columns(frame):
        changed[name] = _string_column([_value_as_text(value) for value in _column_values(frame[name])])
    for place, name in enumerate(frame.columns):
        cells = _arrow_cells(frame[name])
        if cells is not None:
            form = readable_column(cells)
            changed[name], forms[place] = None, cells if form is None else form
    table = pyarrow.Table.from_pandas(changed, preserve_index=False)
    for place, form in forms.items():
        table = table.set_column(place, table.column_names[place], form)
    return table


def _arrow_cells(column: Any) -> Any | None:
    """The cells of a pandas column that Arrow keeps; its type is a fact of the column, whatever its values are."""
    import pandas
    import pyarrow

    if isinstance(column.dtype, pandas.ArrowDtype):
        cells = column.array.__arrow_array__()
        return cells if isinstance(cells, pyarrow.ChunkedArray) else pyarrow.chunked_array([cells])
    categories = getattr(column.dtype, "categories", None)
    if categories is None or not isinstance(categories.dtype, pandas.ArrowDtype):
        return None
    codes, words = np.asarray(column.cat.codes), pyarrow.chunked_array([pyarrow.array(categories.array)])
    return words.take(pyarrow.array(codes, mask=codes < 0))


def _column_values(column: Any) -> Iterable[object]:
    """The values of a pandas column one by one; words that Arrow keeps may be no text, and are mended, not refused."""
    import pandas
    import pyarrow

    if isinstance(column.dtype, pandas.CategoricalDtype):
        words = [*_column_values(column.cat.categories.to_series()), None]  # the code of what is missing is -1
        return [words[code] for code in column.cat.codes]
    if isinstance(column.dtype, pandas.StringDtype) and column.dtype.storage == "pyarrow":
        found = pyarrow.array(column.array).cast(pyarrow.large_binary()).to_pylist()
        return [None if cell is None else cell.decode(errors="replace") for cell in found]
    return column.astype(object)  # type: ignore[no-any-return]


def _string_column(texts: list[str | None]) -> Any:
    """Text for a pandas table, in a form whose Arrow type is known beforehand."""
    import pandas
    import pyarrow

    column = pyarrow.array(texts, pyarrow.string())  # by pandas, every text would be as wide as the longest on the way
    parts = column if isinstance(column, pyarrow.ChunkedArray) else pyarrow.chunked_array([column])
    return pandas.arrays.ArrowExtensionArray(parts)


def _value_as_text(value: object) -> str | None:
    """A value as a CSV file would hold it; None for what is missing or no plain value. Nothing makes it fail.

    Methods are those of the plain types, whatever a class derived from them says. A whole number reads the same
    as an integer, a double and a decimal.
    """
    kind = type(value)  # what an object says of its own class may fail
    if issubclass(kind, str):
        return str.encode(value, "utf-8", "replace").decode()  # type: ignore[arg-type]
    try:
        return next((text(value) for known, text in _TEXTS if issubclass(kind, known)), None)
    except (Exception, SystemExit):  # a whole number of very many digits, a moment that is none, a class that fails
        return None


def _float_text(value: float) -> str | None:
    if math.isnan(value):
        return None
    return str(int(value)) if abs(value) < _WHOLE and value == math.trunc(value) else repr(value)


def _moment_text(value: Any) -> str | None:
    """A date or a time as the engine writes it; with a zone, in UTC."""
    if not isinstance(value, datetime.datetime):
        return datetime.date.isoformat(value)
    if np.isnat(np.datetime64(value.replace(tzinfo=None))):  # NaT of pandas is a datetime
        return None
    if value.tzinfo is not None:
        value = value.astimezone(datetime.UTC)
    text = datetime.datetime.isoformat(value.replace(tzinfo=None), sep=" ", timespec="seconds")
    return f"{text}.{value.microsecond:06}".rstrip("0").rstrip(".") + ("+00" if value.tzinfo else "")


_TEXTS: tuple[tuple[Any, Callable[[Any], str | None]], ...] = (  # the first that fits: a truth value is an integer
    (bool | np.bool_, lambda value: "true" if value else "false"),
    (int | np.integer, lambda value: int.__repr__(int(value))),
    (float | np.floating, lambda value: _float_text(float(value))),
    (Decimal, lambda value: Decimal.__str__(value) if Decimal.is_finite(value) else None),
    (datetime.date, _moment_text),
)


def quoted_list(files: Sequence[str]) -> str:
    """Paths as a list of the engine's strings."""
    return "[" + ", ".join("'" + file.replace("'", "''") + "'" for file in files) + "]"


def named_sources(source: object, name: str = "", header: bool | Sequence[str] | None = None) -> dict[str, object]:
    """The tables of a file, a database or a table in memory, by name; a file's table is named after its stem."""
    if not isinstance(source, str | Path):
        with_header("", header)  # a table in memory has its names, and refuses others
        return {name or "table": source}
    if is_database(source):
        from hubbub.engines.duckdb import tables_in

        return {table: InDatabase(str(source), table) for table in tables_in(str(source))}
    return {name or stem_of(source): with_header(str(source), header)}


def with_header(source: str | Path, header: bool | Sequence[str] | None) -> object:
    """A file; with its columns, if its owner names them because no line of it does."""
    if header is None or header is True:
        return source
    names = tuple(header) if isinstance(header, Sequence) and not isinstance(header, str) else ()
    plain = all(isinstance(name, str) and name.strip() and name.isprintable() for name in names)
    if not is_csv(source) or not names or not plain or len({name.lower() for name in names}) < len(names):
        raise OutOfRange(
            "header is True, or the list of a CSV file's columns, each with another name.",
            why="It says whether the first line of such a file names its columns, and how they are named if not.",
            fix='Write header=True, or header=["patient_id", "ward", "cost"]; --header patient_id,ward,cost on the '
            "command line.",
        )
    return Headless(str(source), names)


def is_database(source: object) -> bool:
    """Whether a source is a DuckDB file, by its name."""
    return isinstance(source, str | Path) and str(source).lower().endswith(DATABASE)
