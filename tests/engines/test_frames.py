"""Columns of every Arrow type with values that Python or the engine cannot hold: each is read by itself."""

from __future__ import annotations

import datetime
import decimal
import math
import struct
import uuid
from typing import Any

import pyarrow
import pyarrow as pa
import pyarrow.compute
import pytest

from hubbub.engines import python_values, readable_column, readable_table

UTC_EPOCH = datetime.datetime(1970, 1, 1)
UNITS = ("s", "ms", "us", "ns")
FAR = 2**63 - 1
BAD = b"\xff\xfe"


def _of_bits(values: list[int | None], kind: pyarrow.DataType, stored: pyarrow.DataType) -> pyarrow.Array:
    """A column of a type whose bits are these integers, whether they mean something or not."""
    return pa.array(values, stored).view(kind)


def _text(values: list[bytes | None], kind: pyarrow.DataType) -> pyarrow.Array:
    """Text of these bytes, which nobody has checked."""
    large = pa.types.is_large_string(kind)
    stored = pa.array(values, pa.large_binary() if large else pa.binary())
    plain = stored.view(pa.large_string() if large else pa.string())
    return plain.cast(kind) if pa.types.is_string_view(kind) else plain


def _uuids() -> pyarrow.Array:
    stored = pa.array([bytes(16), None, b"\xff" * 16], pa.binary(16))
    return pa.ExtensionArray.from_storage(pa.uuid(), stored)


HOSTILE: dict[str, tuple[pyarrow.Array, list[Any]]] = {
    "null": (pa.nulls(2), [None, None]),
    "bool": (pa.array([True, None, False]), [True, None, False]),
    **{
        f"{kind}": (pa.array([0, None, 127], kind), [0, None, 127])
        for kind in (pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16(), pa.uint32())
    },
    "int64": (pa.array([-(2**63), None, 2**53 + 1], pa.int64()), [-(2**63), None, 2**53 + 1]),
    "uint64": (pa.array([2**64 - 1, None], pa.uint64()), [2**64 - 1, None]),
    "float16": (pa.array([0.5, None, math.inf], pa.float16()), [0.5, None, math.inf]),
    "float32": (pa.array([0.5, None, -math.inf], pa.float32()), [0.5, None, -math.inf]),
    "float64": (pa.array([5e-324, None, -0.0]), [5e-324, None, -0.0]),
    "decimal32": (pa.array([decimal.Decimal("1.5"), None], pa.decimal32(5, 2)), [decimal.Decimal("1.5"), None]),
    "decimal64": (pa.array([decimal.Decimal("1.5"), None], pa.decimal64(9, 2)), [decimal.Decimal("1.5"), None]),
    "decimal128": (pa.array([decimal.Decimal("1.5"), None], pa.decimal128(9, 2)), [decimal.Decimal("1.5"), None]),
    "decimal above its precision": (
        _of_bits([10**9, None], pa.decimal64(3, 0), pa.int64()),
        [decimal.Decimal(10**9), None],
    ),
    "decimal of a negative scale": (pa.array([decimal.Decimal("5e3"), None], pa.decimal128(9, -3)), [5000.0, None]),
    "decimal256": (pa.array([decimal.Decimal(10**60), None], pa.decimal256(76, 0)), [1e60, None]),
    **{
        f"{kind}": (_text([b"north", BAD, None, b"a\0b"], kind), ["north", "��", None, "a\0b"])
        for kind in (pa.string(), pa.large_string(), pa.string_view())
    },
    **{
        f"{kind}": (pa.array([b"north", BAD, None], kind), [b"north", BAD, None])
        for kind in (pa.binary(), pa.large_binary(), pa.binary_view())
    },
    "fixed_size_binary": (pa.array([BAD, None], pa.binary(2)), [BAD, None]),
    "date32": (
        _of_bits([0, None, 2**31 - 1, -(2**31), -719162, 2932896, 2932897], pa.date32(), pa.int32()),
        [datetime.date(1970, 1, 1), None, None, None, datetime.date.min, datetime.date.max, None],
    ),
    "date64": (
        _of_bits([0, None, FAR, -FAR, -1, 86_400_000 * 2932897 - 1], pa.date64(), pa.int64()),
        [datetime.date(1970, 1, 1), None, None, None, datetime.date(1969, 12, 31), datetime.date.max],
    ),
    **{
        f"timestamp[{unit}{', a zone' if zone else ''}]": (
            _of_bits([0, None, -1, FAR, -FAR], pa.timestamp(unit, zone), pa.int64()),
            [UTC_EPOCH, None, UTC_EPOCH + step, *([None] * 2 if unit != "ns" else [...] * 2)],
        )
        for zone in (None, "Europe/Paris", "Nowhere/At All")
        for unit, step in zip(UNITS, [datetime.timedelta(microseconds=-x) for x in (10**6, 10**3, 1, 1)], strict=True)
    },
    **{
        f"duration[{unit}]": (
            _of_bits([0, None, FAR, -FAR], pa.duration(unit), pa.int64()),
            [datetime.timedelta(0), None, *([None] * 2 if unit != "ns" else [...] * 2)],
        )
        for unit in UNITS
    },
    **{
        f"time32[{unit}]": (
            _of_bits([per, None, -1, 86_400 * per, 2**31 - 1], pa.time32(unit), pa.int32()),
            [datetime.time(0, 0, 1), None, None, None, None],
        )
        for unit, per in (("s", 1), ("ms", 1000))
    },
    **{
        f"time64[{unit}]": (
            _of_bits([per + 1, None, -1, 86_400 * per, FAR], pa.time64(unit), pa.int64()),
            [datetime.time(0, 0, 1, 1 if unit == "us" else 0), None, None, None, None],
        )
        for unit, per in (("us", 10**6), ("ns", 10**9))
    },
    "interval": (pa.array([(1, 2, 3), None], pa.month_day_nano_interval()), [None, None]),
    **{
        f"{kind}": (pa.array([[1], None], kind), [None, None])
        for kind in (
            pa.list_(pa.int64()),
            pa.large_list(pa.timestamp("s")),
            pa.list_(pa.int64(), 1),
            pa.list_view(pa.int64()),
            pa.large_list_view(pa.int64()),
        )
    },
    "struct with a name twice": (
        pa.StructArray.from_arrays([pa.array([1, 2]), pa.array([1, 2])], names=["a", "a"]),
        [None, None],
    ),
    "map": (pa.array([[("a", 1), ("a", 2)], None], pa.map_(pa.string(), pa.int64())), [None, None]),
    "union": (pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])]), [None]),
    **{
        f"categories by {index}": (
            pa.DictionaryArray.from_arrays(pa.array([1, None, 0, 2], index), _text([b"a", BAD, None], pa.string())),
            ["��", None, "a", None],
        )
        for index in (pa.int8(), pa.uint8(), pa.int32(), pa.int64(), pa.uint64())
    },
    "categories of dates": (
        pa.DictionaryArray.from_arrays(pa.array([1, None, 0]), _of_bits([0, 2**31 - 1], pa.date32(), pa.int32())),
        [None, None, datetime.date(1970, 1, 1)],
    ),
    "runs of text": (
        pa.compute.run_end_encode(_text([b"a", BAD, BAD], pa.string())),
        ["a", "��", "��"],
    ),
    "uuid": (_uuids(), [str(uuid.UUID(int=0)), None, str(uuid.UUID(bytes=b"\xff" * 16))]),
    "bool8": (
        pa.ExtensionArray.from_storage(pa.bool8(), pa.array([0, None, -128], pa.int8())),
        [False, None, True],
    ),
    "json": (pa.ExtensionArray.from_storage(pa.json_(), _text([b"{}", BAD], pa.string())), ["{}", "��"]),
    "opaque": (
        pa.ExtensionArray.from_storage(pa.opaque(pa.int64(), "a", "b"), pa.array([1, None])),
        [1, None],
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("chunked", [False, True], ids=["one piece", "pieces"])
def test_a_column_of_any_type_has_values(name: str, chunked: bool) -> None:
    column, expected = HOSTILE[name]
    pieces = pa.chunked_array([column.slice(0, 1), column.slice(1)]) if chunked else column
    values = python_values(pieces)
    assert len(values) == len(expected)
    for value, wanted in zip(values, expected, strict=True):
        assert wanted is ... or (value, type(value)) == (wanted, type(wanted))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_value_is_read_as_if_it_were_alone(name: str) -> None:
    column, _ = HOSTILE[name]
    alone = [python_values(column.slice(place, 1))[0] for place in range(len(column))]
    assert python_values(column) == alone
    assert python_values(pa.chunked_array([], type=column.type)) == []


@pytest.mark.parametrize("name", HOSTILE)
def test_the_type_of_what_is_read_depends_on_no_value(name: str) -> None:
    column, _ = HOSTILE[name]
    pieces = [pa.chunked_array([column.slice(start, length)]) for start, length in ((0, 0), (0, 1), (0, len(column)))]
    forms = [readable_column(piece) for piece in pieces]
    assert len({None if form is None else form.type for form in forms}) == 1


def test_text_is_read_as_text_of_one_type_whatever_its_bytes_are() -> None:
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        for cell in (b"north", BAD):
            assert readable_table(pa.table({"ward": _text([cell], kind)})).column("ward").type == pa.large_string()


def test_a_nan_stays_one() -> None:
    bits = _of_bits([struct.unpack("<q", b"\x01\0\0\0\0\0\xf8\xff")[0], 0], pa.float64(), pa.int64())
    first, second = python_values(bits)
    assert math.isnan(first) and second == 0.0
