"""Columns of any type with values that nothing can hold: a publication is made, and says the same, with or without."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pyarrow
import pyarrow as pa
import pytest
from pyarrow import parquet

from hubbub.ledger import Ledger
from hubbub.publish import Categorical, DailySeries, Date, Numeric, compare, marginals, synthesize, top_down, unread_of
from hubbub.publish.cells import coding_of, numbers_of, texts_of, truths_of
from hubbub.publish.privacy_units import chosen_rows, people_of
from hubbub.terms import Budget, OutOfRange

ROWS = 20
BAD = b"\xff\xfe5"
PRICE: dict[str, Any] = {"epsilon": 5, "delta": 1e-6}


def _text(kind: Any, last: bytes, usual: bytes = b"1.5") -> pyarrow.Array:
    stored = pa.array([usual] * (ROWS - 1) + [last], pa.large_binary() if kind == pa.large_string() else pa.binary())
    plain = stored.view(pa.large_string() if kind == pa.large_string() else pa.string())
    return plain.cast(kind) if kind == pa.string_view() else plain


def _bits(kind: Any, last: int) -> pyarrow.Array:
    return pa.array([5] * (ROWS - 1) + [last], pa.int32() if kind.bit_width == 32 else pa.int64()).view(kind)


def _plain(kind: Any, usual: object, last: object) -> tuple[pyarrow.Array, pyarrow.Array]:
    return pa.array([usual] * ROWS, kind), pa.array([usual] * (ROWS - 1) + [last], kind)


FAR = 2**63 - 1
PAIRS: dict[str, tuple[pyarrow.Array, pyarrow.Array]] = {  # as it is usually, and with one odd value at the end
    **{str(kind): (_text(kind, b"1.5"), _text(kind, BAD)) for kind in (pa.string(), pa.large_string())},
    "text by views": (_text(pa.string_view(), b"1.5"), _text(pa.string_view(), BAD)),
    "categories": tuple(_text(pa.string(), last).dictionary_encode() for last in (b"1.5", BAD)),
    "days in text": tuple(_text(pa.string(), last, b"2020-01-01") for last in (b"2020-01-01", BAD)),
    **{f"{kind}": _plain(kind, b"1.5", BAD) for kind in (pa.binary(), pa.large_binary(), pa.binary_view())},
    "fixed_size_binary": _plain(pa.binary(3), b"1.5", BAD),
    "uint64": _plain(pa.uint64(), 1, 2**64 - 1),
    "float16": _plain(pa.float16(), 1.0, math.nan),
    "float64": _plain(pa.float64(), 1.0, -math.inf),
    "bool": _plain(pa.bool_(), True, None),
    "null": (pa.nulls(ROWS), pa.nulls(ROWS)),
    "decimal256": _plain(pa.decimal256(76, 0), 1, 10**75),
    **{
        f"{kind}, {last}": (_bits(kind, 5), _bits(kind, last))
        for kind, last in [
            (pa.date32(), 2**31 - 1),
            (pa.date64(), FAR),
            *(
                (pa.timestamp(unit, zone), last)
                for unit in ("s", "ms", "ns")
                for zone in (None, "UTC")
                for last in (FAR, -FAR)
            ),
            (pa.time64("us"), 10**15),
            (pa.time64("ns"), 10**15),
            (pa.duration("s"), FAR),
        ]
    },
    "list": _plain(pa.list_(pa.string()), ["1"], [str(FAR)] * 9),
}
DOMAINS: dict[str, Any] = {
    "whole": Numeric(lower=0, upper=10),
    "number": Numeric(lower=0.0, upper=10.0, missing=True),
    "words": Categorical(["1.5", "2"]),
    "numbers": Categorical([1.5, 2.0]),
    "truths": Categorical([True, False]),
    "day": Date(lower="2020-01-01", upper="2020-02-01"),
    "days": Categorical([datetime.date(2020, 1, 1)]),
}


def _in_parquet(table: pyarrow.Table, folder: Path) -> Path:
    parquet.write_table(table, folder / "t.parquet")
    return folder / "t.parquet"


def _in_pandas(table: pyarrow.Table, folder: Path) -> pandas.DataFrame:
    return pandas.DataFrame({name: pandas.arrays.ArrowExtensionArray(table[name]) for name in table.column_names})


SOURCES: dict[str, Callable[[pyarrow.Table, Path], Any]] = {
    "arrow": lambda table, folder: table,
    "parquet": _in_parquet,
    "pandas of Arrow": _in_pandas,
}


def _beside_groups(column: pyarrow.Array) -> pyarrow.Table:
    return pa.table({"x": column, "g": [0, 1] * (ROWS // 2)})


def _outcomes(table: Any) -> list[str]:
    """The column in cells of every kind, as a person, and beside one."""
    words, own = {"g": Categorical([0, 1]), "x": Categorical(["1"])}, {"max_rows_per_unit": 1}
    alone = [_outcome(table, of=[["x"]], domain={"x": domain}) for domain in DOMAINS.values()]
    as_person = _outcome(table, of=[["g"]], domain=words, unit="x", **own)
    return [*alone, as_person, _outcome(table, of=[["g", "x"]], domain=words, unit="g", **own)]


def _outcome(table: Any, **asked: Any) -> str:
    """Everything but the noise: types and sizes, or the refusal."""
    try:
        made = next(iter(marginals(table, **asked, **PRICE).tables.values()))
    except OutOfRange as refusal:
        return str(refusal)
    return f"{made.schema.types} {made.num_rows}"


NOT_IN_PARQUET = ("duration[s]", "binary_view", "timestamp[s")  # such values, or this type


@pytest.mark.parametrize(
    ("name", "source"),
    [
        (name, source)
        for name in PAIRS
        for source in SOURCES
        if source != "parquet" or not name.startswith(NOT_IN_PARQUET)
    ],
)
def test_one_value_of_any_type_decides_nothing(name: str, source: str, tmp_path: Path) -> None:
    usual, odd = (_outcomes(SOURCES[source](_beside_groups(column), tmp_path)) for column in PAIRS[name])
    assert usual == odd


@pytest.mark.parametrize("name", PAIRS)
def test_no_value_changes_the_cell_of_another(name: str) -> None:
    usual, odd = (unread_of(pa.table({"x": column})).read()["x"] for column in PAIRS[name])
    for domain in DOMAINS.values():
        before, after = (coding_of(domain).encode(column) for column in (usual, odd))
        assert before[:-1].tolist() == after[:-1].tolist()
    for read in (texts_of, truths_of, lambda column: numbers_of(column, dates=True)):
        assert str(read(usual)[:-1]) == str(read(odd)[:-1])
    assert people_of(usual)[:-1].tolist() == people_of(odd)[:-1].tolist()
    others = np.arange(ROWS) % 4 < 3  # of people without the odd value
    before, after = (chosen_rows(np.arange(ROWS) % 4, pa.table({"x": column}), 2) for column in (usual, odd))
    assert before[others].tolist() == after[others].tolist()


def test_bytes_are_the_numbers_and_days_that_they_spell() -> None:
    table = pa.table({"n": [b"1.5", b"\xff", b"7", None], "d": [b"2020-01-02", b"soon", None, b"\xfe"]})
    domain = {"n": Numeric(lower=0.0, upper=9.0), "d": Date(lower="2020-01-01", upper="2020-02-01")}
    found = unread_of(table, domain)
    assert [str(field.type) for field in found.schema] == ["double", "date32[day]"]
    assert found.read()["n"].to_pylist() == [1.5, None, 7.0, None]
    assert found.read()["d"].to_pylist() == [datetime.date(2020, 1, 2), None, None, None]


def test_a_type_without_numbers_is_refused_before_a_charge_and_in_our_words() -> None:
    for column in (pa.array([[1.0]]), pa.array([1], pa.int64()).view(pa.duration("s"))):
        with pytest.raises(OutOfRange, match="column 'x' holds values of type"):
            marginals(pa.table({"x": column}), of=[["x"]], domain={"x": DOMAINS["number"]}, **PRICE)
        # beside what is asked for it does no harm
        table = pa.table({"x": column, "g": [1]})
        marginals(table, of=[["g"]], domain={"x": DOMAINS["number"], "g": Categorical([1])}, **PRICE)


@pytest.mark.parametrize("last", [b"2.5", BAD], ids=["text", "no text"])
def test_what_was_charged_is_published_whatever_a_text_holds(last: bytes, tmp_path: Path) -> None:
    day = datetime.date(2026, 1, 5)
    table = pa.table({"x": _text(pa.string(), last), "day": [day] * ROWS})
    domain = {"x": Numeric(lower=0.0, upper=9.0), "day": Date(lower=day, upper=day)}
    words = {**domain, "x": Categorical(["1.5"])}
    with Ledger(tmp_path / "ledger.db", state=tmp_path / "state") as ledger:
        ledger.open_population("people", Budget(90, 1e-3), by="board", why="a test")
        priced: dict[str, Any] = {"epsilon": 3, "delta": 1e-6, "account": ledger}
        marginals(table, of=[["x"]], domain=domain, **priced)
        synthesize(table, domain=domain, method="marginals", **priced)
        synthesize(table.select(["x"]), domain={"x": Categorical("private")}, method="marginals", **priced)
        top_down(table, levels=["x"], places=[("1.5",)], **priced)
        series = DailySeries(places=["1.5"], first=day, days=1, unit="x", place="x", **priced)
        series.publish(table, day)
        compare(table, private=table, domain=words, **priced)
        states = [entry.fields()["kind"] for entry in ledger.log()]
    assert states.count("charge") == 6 == states.count("answer")
