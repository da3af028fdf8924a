"""Tables in memory, made readable once: each column in an Arrow form that the engine reads whatever its values are.

A value that the form cannot hold is missing (a moment outside of the years 1 to 9999) or mended (text that is no
UTF-8). A column of a type without such a form is left out. Which of these holds, and the type of the form, follow from
the type of the column alone. ``python_values`` goes on from there to Python's own objects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow

_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_FIRST, _LAST = -62_135_596_800, 253_402_300_799  # the years 1 to 9999, in seconds since 1970
_DAY = 86_400
_KEPT_EXTENSIONS = ("arrow.uuid", "arrow.bool8")


def readable_table(table: pyarrow.Table) -> pyarrow.Table:
    """The table with each column in its readable form, without those that have none."""
    import pyarrow

    forms = {place: readable_column(table.column(place)) for place in range(table.num_columns)}
    kept = {place: array for place, array in forms.items() if array is not None}
    names = [table.column_names[place] for place in kept]
    return pyarrow.Table.from_arrays(list(kept.values()), names=names) if kept else table.select([])


def readable_column(array: Any) -> Any | None:
    """A column in its readable form; None if it has none."""
    import pyarrow
    from pyarrow import types

    kind = array.type
    if isinstance(kind, pyarrow.BaseExtensionType):
        stored = kind.extension_name not in _KEPT_EXTENSIONS
        return readable_column(_map_pieces(array, kind.storage_type, lambda piece: piece.storage)) if stored else array
    if types.is_dictionary(kind):
        return _readable_categories(array)
    if types.is_run_end_encoded(kind):  # which counts as nested
        return _decode_runs(array)
    if types.is_nested(kind):
        return array if _is_nested_numbers(kind) else None
    for fits, read in _FORMS:
        if getattr(types, fits)(kind):
            return read(array)
    return None


def python_values(column: pyarrow.ChunkedArray | pyarrow.Array) -> list[Any]:
    """The values of a column as Python objects, each by itself; None for what is missing or has no such form.

    Guarantee: no value makes it fail, and none changes what another one becomes.
    Because: the readable form holds only what Python's types hold, and it follows from the type of the column.

    Moments are those of UTC, down to the microsecond; dates outside of the years 1 to 9999 are missing. Lists, structs
    and other types that are no plain value give None in every row.
    """
    import pyarrow
    from pyarrow import types

    pieces = column if isinstance(column, pyarrow.ChunkedArray) else pyarrow.chunked_array([column])
    form = readable_column(pieces)
    if form is None or types.is_nested(form.type):
        return [None] * len(pieces)
    if isinstance(form.type, pyarrow.UuidType):
        return [None if value is None else str(value) for value in form.to_pylist()]
    narrow = next((read for fits, read in _PYTHON_FORMS if getattr(types, fits)(form.type)), _as_it_is)
    return narrow(form).to_pylist()  # type: ignore[no-any-return]


def _map_pieces(array: Any, kind: Any, function: Callable[[Any], Any]) -> Any:
    """A column with a function applied to each of its pieces."""
    import pyarrow

    return pyarrow.chunked_array([function(piece) for piece in array.chunks], type=kind)


def _as_it_is(array: Any) -> Any:
    return array


def _is_nested_numbers(kind: Any) -> bool:
    """Lists and structs in which nothing can be invalid. Maps can: the engine refuses one that has a key twice."""
    from pyarrow import types

    if types.is_union(kind) or types.is_map(kind):
        return False
    inner = [kind.field(place).type for place in range(kind.num_fields)]
    plain = (types.is_boolean, types.is_integer, types.is_float32, types.is_float64)
    return all(
        _is_nested_numbers(part) if types.is_nested(part) else any(fits(part) for fits in plain) for part in inner
    )


# ---------------------------------------------------------------- text


def _readable_text(array: Any) -> Any:
    """Text, in which bytes that are no UTF-8 are replaced, each by itself; of one type, whatever its values are."""
    import pyarrow

    try:
        array.validate(full=True)
    except pyarrow.ArrowInvalid:
        return _map_pieces(array, pyarrow.large_string(), _replace_bad_bytes)
    return array.cast(pyarrow.large_string())


def _replace_bad_bytes(piece: Any) -> Any:
    import pyarrow

    stored = piece.cast(pyarrow.large_binary()) if not _is_large(piece.type) else piece.view(pyarrow.large_binary())
    texts = [None if value is None else value.decode("utf-8", "replace") for value in stored.to_pylist()]
    return pyarrow.array(texts, pyarrow.large_string())


def _is_large(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_large_string(kind))


def _readable_categories(array: Any) -> Any | None:
    """Categories: their values in readable form; those that are no text are written out."""
    import pyarrow
    from pyarrow import types

    inside = array.type.value_type
    if not (types.is_string(inside) or types.is_large_string(inside) or types.is_string_view(inside)):
        return readable_column(_map_pieces(array, inside, lambda piece: piece.dictionary_decode()))

    def mended(piece: Any) -> Any:
        texts = _readable_text(pyarrow.chunked_array([piece.dictionary])).combine_chunks()
        return pyarrow.DictionaryArray.from_arrays(piece.indices, texts)

    pieces = [mended(piece) for piece in array.chunks]
    kind = pyarrow.dictionary(array.type.index_type, pyarrow.large_string())
    return pyarrow.chunked_array(pieces, type=kind)


def _bytes(array: Any) -> Any:
    import pyarrow

    return array.cast(pyarrow.large_binary())


# ---------------------------------------------------------------- numbers


def _float(array: Any) -> Any:
    import pyarrow

    return array.cast(pyarrow.float32())


def _readable_decimal(array: Any) -> Any:
    """A decimal; as a double where it is wider than the engine's."""
    import pyarrow

    wide = array.type.precision > 38 or array.type.scale < 0 or array.type.scale > array.type.precision
    return array.cast(pyarrow.float64(), safe=False) if wide else array


# ---------------------------------------------------------------- time


def _within_interval(piece: Any, first: int, last: int) -> Any:
    """The integers behind a piece, without those outside of an interval."""
    import pyarrow
    from pyarrow import compute

    ticks = piece.view(pyarrow.int32() if piece.type.bit_width == 32 else pyarrow.int64())
    inside = compute.and_(compute.greater_equal(ticks, first), compute.less_equal(ticks, last))
    return compute.if_else(inside, ticks, pyarrow.scalar(None, ticks.type))


def _ticks_to_microseconds(piece: Any, first: int, last: int) -> Any:
    """Ticks of any unit as microseconds, rounded down; first and last are seconds."""
    from pyarrow import compute

    per = _PER_SECOND[piece.type.unit]
    ticks = _within_interval(piece, max(first * per, -(2**63)), min((last + 1) * per - 1, 2**63 - 1))
    if per <= 1_000_000:
        return compute.multiply(ticks, 1_000_000 // per)
    return _divide_down(ticks, per // 1_000_000)


def _readable_moment(array: Any) -> Any:
    """A moment in microseconds of UTC."""
    import pyarrow

    kind = pyarrow.timestamp("us")
    return _map_pieces(array, kind, lambda piece: _ticks_to_microseconds(piece, _FIRST, _LAST).view(kind))


def _readable_duration(array: Any) -> Any:
    import pyarrow

    kind = pyarrow.duration("us")
    return _map_pieces(array, kind, lambda piece: _ticks_to_microseconds(piece, -_LAST, _LAST).view(kind))


def _readable_time(array: Any) -> Any:
    """A time of day, without those that are in no day."""
    last = _DAY * _PER_SECOND[array.type.unit] - 1
    return _map_pieces(array, array.type, lambda piece: _within_interval(piece, 0, last).view(piece.type))


def _dates_of_python(array: Any) -> Any:
    """Days of the years 1 to 9999."""
    import pyarrow

    first, last = _FIRST // _DAY, _LAST // _DAY
    if array.type.bit_width == 32:
        return _map_pieces(array, array.type, lambda piece: _within_interval(piece, first, last).view(piece.type))
    per = _DAY * 1_000

    def in_days(piece: Any) -> Any:
        days = _divide_down(_within_interval(piece, first * per, (last + 1) * per - 1), per)
        return days.cast(pyarrow.int32()).view(pyarrow.date32())

    return _map_pieces(array, pyarrow.date32(), in_days)


def _times_of_python(array: Any) -> Any:
    """Times of day down to the microsecond."""
    import pyarrow
    from pyarrow import compute

    if array.type.unit != "ns":
        return array
    kind = pyarrow.time64("us")
    return _map_pieces(array, kind, lambda piece: compute.divide(piece.view(pyarrow.int64()), 1_000).view(kind))


def _divide_down(ticks: Any, by: int) -> Any:
    """Integers divided by another, rounded down."""
    from pyarrow import compute

    whole = compute.divide(ticks, by)
    below = compute.less(ticks, compute.multiply(whole, by))
    return compute.if_else(below, compute.subtract(whole, 1), whole)


def _decode_runs(array: Any) -> Any | None:
    from pyarrow import compute

    return readable_column(_map_pieces(array, array.type.value_type, compute.run_end_decode))


_FORMS: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    *((f"is_{kind}", _readable_text) for kind in ("string", "large_string", "string_view")),
    *((f"is_{kind}", _as_it_is) for kind in ("boolean", "integer", "float32", "float64", "date", "null")),
    *((f"is_{kind}", _as_it_is) for kind in ("binary", "large_binary", "fixed_size_binary")),
    ("is_binary_view", _bytes),
    ("is_float16", _float),
    ("is_decimal", _readable_decimal),
    ("is_timestamp", _readable_moment),
    ("is_duration", _readable_duration),
    ("is_time", _readable_time),
)

_PYTHON_FORMS: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    ("is_date", _dates_of_python),
    ("is_time", _times_of_python),
)
