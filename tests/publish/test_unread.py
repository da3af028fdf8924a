"""Tables before anybody looked at them: columns are public facts, rows come after the charge, and no row can fail."""

from __future__ import annotations

import datetime
import gzip
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pyarrow
import pytest
from pyarrow import parquet

from hubbub.engines.sources import arrow_of
from hubbub.ledger import Ledger
from hubbub.publish import (
    Categorical,
    DailySeries,
    Date,
    Numeric,
    Published,
    compare,
    marginals,
    synthesize,
    synthesize_linked,
    top_down,
)
from hubbub.publish import __file__ as room
from hubbub.publish.synthetic import ForeignKey
from hubbub.publish.unread_table import Unread, unread_of
from hubbub.terms import Budget, OutOfRange, SourceUnavailable

DOMAIN = {"age": Numeric(lower=0, upper=99), "sex": Categorical(["f", "m"])}
PRICE: dict[str, Any] = {"epsilon": 2, "delta": 1e-6}


def rows(count: int = 40) -> pyarrow.Table:
    return pyarrow.table({"age": np.arange(count) % 90, "sex": ["f", "m"] * (count // 2)})


# ---------------------------------------------------------------- charged first


def _made(table: Unread, account: object) -> dict[str, Any]:
    priced = {**PRICE, "account": account}
    visits = Unread(table.schema, table.read)
    series = DailySeries(places=["f", "m"], first="1970-01-01", days=9, unit="age", place="sex", day="age", **priced)
    links = [ForeignKey("visits", "age", max_rows=2)]
    own = {"people": {"sex": DOMAIN["sex"]}, "visits": {"sex": DOMAIN["sex"]}}
    both = {"people": table, "visits": visits}
    return {
        "synthesize": lambda: synthesize(table, domain=DOMAIN, method="marginals", **priced),
        "linked": lambda: synthesize_linked(both, parent="people", key="age", links=links, domain=own, **priced),
        "marginals": lambda: marginals(table, of=[["sex"]], domain=DOMAIN, **priced),
        "top_down": lambda: top_down(table, levels=["sex"], places=[("f",), ("m",)], **priced),
        "one day": lambda: series.publish(table, "1970-01-02"),
        "all days": lambda: series.publish_all(table),
        "compare": lambda: compare(rows(), private=table, domain=DOMAIN, **priced),
    }


@pytest.mark.parametrize("name", list(_made(Unread(rows().schema, rows), None)))
def test_the_charge_stands_in_the_ledger_when_the_first_row_is_read(name: str, tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger.db", state=tmp_path / "state") as ledger:
        ledger.open_population("people", Budget(50, 1e-3), by="board", why="a test")
        seen: list[list[str]] = []

        def read() -> pyarrow.Table:
            seen.append([entry.fields()["kind"] for entry in ledger.log()])
            return rows()

        _made(Unread(rows().schema, read), ledger)[name]()
        assert seen
        assert all("charge" in kinds for kinds in seen)


def test_what_is_paid_for_already_is_not_read_again(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger.db", state=tmp_path / "state") as ledger:
        ledger.open_population("people", Budget(50, 1e-3), by="board", why="a test")
        asked = {"of": [["sex"]], "domain": DOMAIN, "account": ledger, "dataset": "people@1", **PRICE}
        first = marginals(rows(), **asked)
        again = marginals(Unread(rows().schema, lambda: pytest.fail("the rows were read")), **asked)
        assert first.tables["sex"].equals(again.tables["sex"])


# ---------------------------------------------------------------- files


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".tsv", ".parquet"])
def test_a_file_is_a_table(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"people{ending}"
    mark = "\t" if ".tsv" in ending else ","
    text = mark.join(["age", "sex"]) + "\n" + "".join(f"{i}{mark}f\n" for i in range(60))
    if ending == ".parquet":
        parquet.write_table(pyarrow.table({"age": range(60), "sex": ["f"] * 60}), path)
    else:
        path.write_bytes(gzip.compress(text.encode()) if ending.endswith("gz") else text.encode())
    made = marginals(path, of=[["sex"]], domain=DOMAIN, epsilon=20, delta=1e-6)
    assert isinstance(made, Published)
    assert made.tables["sex"]["noisy"].to_pylist()[0] == pytest.approx(60, abs=6)
    assert unread_of(path, DOMAIN).schema.field("age").type == pyarrow.int64()


BAD_LINES = [
    b"7",
    b"7,f,x",
    b"7,\xff\xfe",
    b'"7\n8",f',
    b'"7,f',
    b"",
    b",",
    b"7," + b"x" * 200_000,
    b"7,\x00",
    b"old,f",
]


@pytest.mark.parametrize("line", BAD_LINES, ids=[repr(line[:12]) for line in BAD_LINES])
def test_no_line_of_a_csv_file_can_fail_or_change_a_type(line: bytes, tmp_path: Path) -> None:
    for name, text in (("good.csv", b"age,sex\n1,f\n2,m\n"), ("bad.csv", b"age,sex\n1,f\n2,m\n" + line + b"\n")):
        (tmp_path / name).write_bytes(text)
    good, bad = (unread_of(tmp_path / name, DOMAIN) for name in ("good.csv", "bad.csv"))
    assert good.schema.equals(bad.schema)
    assert bad.read().schema.equals(good.read().schema)
    assert bad.read().slice(0, 2).equals(good.read())


@pytest.mark.parametrize("text", [b"age,sex", b"age,sex\n", b"\xef\xbb\xbfage,sex\r\n"])
def test_a_file_without_rows_has_its_columns(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "none.csv").write_bytes(text)
    found = unread_of(tmp_path / "none.csv", DOMAIN).read()
    assert (found.num_rows, found.column_names) == (0, ["age", "sex"])


def test_days_may_come_with_a_time(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("day\n2025-01-03\n2025-01-03 10:30:00\nsoon\n")
    found = unread_of(tmp_path / "t.csv", {"day": Date(lower="2025-01-01", upper="2025-12-31")}).read()
    assert found["day"].to_pylist() == [datetime.date(2025, 1, 3)] * 2 + [None]


def test_an_unknown_column_and_an_odd_file_are_refused_from_public_facts(tmp_path: Path) -> None:
    with pytest.raises(OutOfRange, match="no column 'shoe'"):
        unread_of(rows()).select(["shoe"])
    (tmp_path / "odd.parquet").write_text("no such thing")
    with pytest.raises(SourceUnavailable, match="not what its name says"):
        unread_of(tmp_path / "odd.parquet")


def test_a_file_that_broke_after_the_charge_says_nothing_about_it(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"age,sex\n" + b"33,f\n" * 9))
    source = unread_of(path, DOMAIN)
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(SourceUnavailable, match="the rows could not be read") as caught:
        source.read()
    assert "33" not in str(caught.value)


# ---------------------------------------------------------------- Python objects


ODD = ["x", 3.5, None, True, Decimal("NaN"), float("nan"), pandas.NaT, pandas.NA, [1], {"a": 1}, 10**5000, "\ud800",
       datetime.date(2025, 1, 3), pandas.Timestamp("2025-01-03"), np.int8(4), object()]  # fmt: skip


@pytest.mark.parametrize("value", ODD, ids=[type(value).__name__ for value in ODD])
def test_what_a_column_of_objects_holds_decides_neither_its_type_nor_a_refusal(value: object) -> None:
    domain = {**DOMAIN, "born": Date(lower="2000-01-01", upper="2029-12-31"), "kind": Categorical([1, 2])}

    def frame(last: object) -> pandas.DataFrame:
        cells = [("age", 30), ("sex", "f"), ("born", datetime.date(2020, 1, 1)), ("kind", 2)]
        return pandas.DataFrame({name: pandas.Series([good] * 9 + [last], dtype=object) for name, good in cells})

    usual, odd = unread_of(frame(None), domain), unread_of(frame(value), domain)
    assert odd.schema.equals(usual.schema)
    assert [str(field.type) for field in odd.schema] == ["int64", "string", "date32[day]", "string"]
    assert odd.read().slice(0, 9).equals(usual.read().slice(0, 9))
    marginals(frame(value), of=[[name] for name in domain], domain=domain, **PRICE)
    synthesize(frame(value), domain=domain, method="marginals", epsilon=9, delta=1e-2)


def test_where_rows_may_be_looked_at_they_decide_as_before() -> None:
    assert arrow_of(pandas.DataFrame({"a": pandas.Series([1, 2], dtype=object)})).schema.field("a").type == "int64"
    with pytest.raises(SourceUnavailable, match="several types"):
        arrow_of(pandas.DataFrame({"a": pandas.Series([1, "x"], dtype=object)}))


def test_objects_are_counted_where_they_belong() -> None:
    column = pandas.Series([True] * 50 + [False] * 20 + [None] * 5, dtype=object)
    kinds = pandas.Series(pandas.Categorical([1, "2", 3.0] * 25))
    domain = {"yes": Categorical([False, True]), "kind": Categorical([1, 2, 3])}
    frame = pandas.DataFrame({"yes": column, "kind": kinds})
    made = marginals(frame, of=[["yes"], ["kind"]], domain=domain, epsilon=50, delta=1e-6)
    assert made.tables["yes"]["noisy"].to_pylist() == pytest.approx([20, 50, 5], abs=4)
    assert made.tables["kind"]["noisy"].to_pylist() == pytest.approx([25, 25, 25, 0], abs=4)


# ---------------------------------------------------------------- the room's own order


def test_what_is_shared_does_not_come_from_one_of_those_who_share_it() -> None:
    folder = Path(room).parent
    shared = [*folder.glob("*.py"), *(folder / "tables").glob("*.py"), *(folder / "graphical").glob("*.py")]
    users = {path.name for path in shared if "publish.synthetic" in path.read_text()}
    assert users == {"__init__.py"}
