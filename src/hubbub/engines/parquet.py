"""Parquet files, read so that no value stops a scan and no row's part in it depends on other rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from hubbub.engines.readable_columns import ReadForm, from_milliseconds, readable_form
from hubbub.engines.sources import quoted_list
from hubbub.schema import check_distinct, unavailable

if TYPE_CHECKING:
    import pyarrow

# Statistics leave NaN out, so that a pruned scan would count NaN or not depending on others; bad text stops a scan.
# Names of folders (ward=3) would become a column whose type follows from all of them.
_OPTIONS = "can_have_nan=true, utf8_validation='replace', hive_partitioning=false"
_FIELDS = (
    "SELECT file_name, name, num_children, type, converted_type, logical_type, duckdb_type FROM parquet_schema({})"
)
Field = tuple[Any, ...]  # what a file says of a column, and of what is inside it


def scan_of(files: Sequence[str]) -> str:
    """The engine's own scan."""
    return f"SELECT * FROM read_parquet({quoted_list(files)}, {_OPTIONS})"


def fields_of(connection: Any, files: Sequence[str], name: str) -> dict[str, Field]:
    """The columns of the files by name; files that disagree are refused, since a value might then not fit."""
    schemas: dict[str, list[Field]] = {}
    for file, *field in connection.execute(_FIELDS.format(quoted_list(files))).fetchall():
        schemas.setdefault(str(file), []).append(tuple(field))
    columns = [list(_columns_with_children(fields[1:])) for fields in schemas.values()]
    for each in columns:
        check_distinct(name, (column for column, _ in each))
    first, *others = map(dict, columns)
    if any(other.get(column) != field for other in others for column, field in first.items()):
        raise unavailable(name, "a column is not of the same type in all its files")
    return first


def notes_in_footer(file: str) -> dict[bytes, bytes] | None:
    """What the footer of a Parquet file notes, by name; None if it is no such file."""
    import duckdb

    try:
        with duckdb.connect() as connection:
            pairs = connection.execute("SELECT key, value FROM parquet_kv_metadata(?)", [file]).fetchall()
    except duckdb.Error:
        return None
    return {bytes(key): bytes(value) for key, value in pairs}


def _columns_with_children(fields: list[Field]) -> Iterator[tuple[str, Field]]:
    """Each column with all that is inside it, out of a list in which parents come before their children."""
    place = 0
    while place < len(fields):
        end, open_children = place + 1, fields[place][1] or 0
        while open_children:
            open_children += (fields[end][1] or 0) - 1
            end += 1
        yield str(fields[place][0]), tuple(fields[place:end])
        place = end


def in_milliseconds(field: Field) -> bool:
    """Whether a column counts milliseconds: the engine's reader fails where they are too many to be microseconds."""
    [*_, converted, logical, native] = field[0]
    moment = len(field) == 1 and str(native).startswith("TIMESTAMP")
    return moment and (converted == "TIMESTAMP_MILLIS" or "MILLIS=MilliSeconds" in str(logical))


# ---------------------------------------------------------------- read by Arrow, for the sake of milliseconds


def by_arrow(files: Sequence[str]) -> tuple[Any, ReadForm]:
    """The files as an Arrow dataset whose columns are plain bytes and integers, and how each becomes what it is."""
    import pyarrow
    import pyarrow.dataset
    import pyarrow.parquet

    schema = pyarrow.parquet.read_schema(files[0])
    forms = {field.name: form for field in schema if (form := _read_form(field.type)) is not None}
    plain = pyarrow.schema([(name, kind) for name, (kind, _) in forms.items()])
    reads = {'"' + name.replace('"', '""') + '"': read for name, (_, read) in forms.items()}
    dataset = pyarrow.dataset.dataset(list(files), schema=plain, format="parquet")
    return dataset, lambda quoted, native: reads[quoted](quoted, native)


def _read_form(kind: Any) -> tuple[pyarrow.DataType, Callable[[str, str], str | None]] | None:
    """As which type a column is read, and the expression that it then is; None if it is left out."""
    import pyarrow
    from pyarrow import types

    inside = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_string(inside) or types.is_large_string(inside):
        return pyarrow.large_binary(), lambda quoted, _: f"try(decode({quoted}))"
    if types.is_timestamp(kind) and kind.unit == "ms":
        return pyarrow.int64(), lambda quoted, _: from_milliseconds(quoted)
    if types.is_float16(kind):
        return pyarrow.float32(), readable_form
    kept = ("boolean", "integer", "floating", "decimal128", "date32", "timestamp", "binary", "large_binary")
    return (kind, readable_form) if any(getattr(types, f"is_{name}")(kind) for name in kept) else None
