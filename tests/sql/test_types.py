"""What is declared decides types, labels, refusals and words; what one value does to a source's type does not."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest

from hubbub.engines.sources import _value_as_text, is_pandas
from hubbub.schema.description import describe
from hubbub.schema.draft import from_dataset
from hubbub.schema.tables import Dataset, Kind
from hubbub.sql.open_connection import connect, declare
from hubbub.sql.pricing.price import Price
from hubbub.sql.quote import plan_text, quote_plan
from hubbub.terms import Budget, HubbubError

WHO = list(range(1, 21))
DAY = datetime.date(2025, 6, 1)
WHOLE = [i % 10 for i in WHO]
TRUE = [i % 2 == 0 for i in WHO]
WORD = ["n" if i % 2 else "s" for i in WHO]
DAYS = [DAY] * 20
MOMENTS = [datetime.datetime(2025, 6, 1, 12)] * 20


def table(x: Any) -> dict[str, Any]:
    return {"who": WHO, "x": x}


def last(values: list[Any], odd: Any) -> list[Any]:
    """The same with another value of the last person."""
    return [*values[:-1], odd]


def dtype(values: list[Any], kind: Any) -> pandas.DataFrame:
    return pandas.DataFrame({"who": WHO, "x": pandas.Series(values, dtype=kind)})


def arrow(values: list[Any], kind: Any) -> pyarrow.Table:
    return pyarrow.table({"who": WHO, "x": pyarrow.array(values, kind)})


NUMBERS: dict[str, Any] = {
    "pandas int": dtype(WHOLE, "int64"),
    "pandas small": dtype(WHOLE, "uint8"),
    "pandas float, one missing": dtype(last(WHOLE, None), "float64"),
    "pandas masked, one missing": dtype(last(WHOLE, None), "Int64"),
    "pandas objects, one missing": dtype(last(WHOLE, None), object),
    "pandas objects, one a word": dtype(last(WHOLE, "n/a"), object),
    "pandas objects, one huge": dtype(last(WHOLE, 10**30), object),
    "pandas objects, one without end": dtype(last(WHOLE, 10**5000), object),
    "pandas objects, one a list": dtype(last(WHOLE, [1]), object),
    "pandas objects, one a lone surrogate": dtype(last(WHOLE, "\ud800"), object),
    "pandas texts": dtype([str(i) for i in WHOLE], "str"),
    "pandas category": dtype(WHOLE, "category"),
    "pandas category, one missing": dtype(last(WHOLE, None), "category"),
    "pandas category, one a word": dtype(last(WHOLE, "n/a"), "category"),
    "pandas of Arrow": dtype(WHOLE, pandas.ArrowDtype(pyarrow.int64())),
    "polars": polars.DataFrame(table(WHOLE)),
    "polars, one half": polars.DataFrame(table(last([float(i) for i in WHOLE], 0.5))),
    "polars decimal": polars.DataFrame(table([Decimal(i) for i in WHOLE])),
    "polars nothing": polars.DataFrame(table([None] * 20)),
    "arrow": arrow(WHOLE, pyarrow.int64()),
    "arrow float": arrow(last(WHOLE, math.nan), pyarrow.float64()),
    "arrow decimal": arrow([Decimal(i) for i in WHOLE], pyarrow.decimal128(20, 2)),
    "arrow large text": arrow([str(i) for i in WHOLE], pyarrow.large_string()),
    "arrow nothing": arrow([None] * 20, pyarrow.null()),
    "arrow truth": arrow(TRUE, pyarrow.bool_()),
    "arrow days": arrow(DAYS, pyarrow.date32()),
}
OTHERS: dict[str, dict[str, Any]] = {
    "truth": {
        "pandas": dtype(TRUE, "bool"),
        "one missing": dtype(last(TRUE, None), object),
        "masked": dtype(last(TRUE, None), "boolean"),
        "texts": dtype(["true" if i else "false" for i in TRUE], "str"),
        "arrow": arrow(TRUE, pyarrow.bool_()),
        "arrow texts": arrow(["true" if i else "false" for i in TRUE], pyarrow.string()),
    },
    "word": {
        "pandas": dtype(WORD, object),
        "pandas str": dtype(WORD, "str"),
        "string": dtype(WORD, "string"),
        "a lone surrogate": dtype(last(WORD, "\ud800"), object),
        "one a number": dtype(last(WORD, 3), object),
        "one missing": dtype(last(WORD, None), object),
        "category": dtype(last(WORD, None), "category"),
        "polars": polars.DataFrame(table(WORD)),
        "polars category": polars.DataFrame({"who": WHO, "x": polars.Series(WORD, dtype=polars.Categorical)}),
        "arrow dictionary": arrow(WORD, pyarrow.string()).set_column(1, "x", pyarrow.array(WORD).dictionary_encode()),
    },
    "day": {
        **{f"datetime64[{unit}]": dtype(MOMENTS, f"datetime64[{unit}]") for unit in ("s", "ms", "us", "ns")},
        "a zone": dtype(MOMENTS, "datetime64[us, UTC]"),
        "one missing": dtype(last(MOMENTS, None), "datetime64[ns]"),
        "objects": dtype(DAYS, object),
        "objects, one a word": dtype(last(DAYS, "soon"), object),
        "objects, one far away": dtype(last(MOMENTS, datetime.datetime(9999, 12, 31)), object),
        "arrow": arrow(DAYS, pyarrow.date32()),
        "arrow times": arrow(MOMENTS, pyarrow.timestamp("s")),
        "texts": arrow(["2025-06-01"] * 20, pyarrow.string()),
    },
}
DECLARED: dict[str, dict[str, Any]] = {
    "numbers, whole": {"bounds": {"x": (0, 10, 1)}},
    "numbers": {"bounds": {"x": (0, 10)}},
    "numbers, keys": {"keys": {"x": list(range(10))}},
    "numbers, words": {"keys": {"x": [str(i) for i in range(10)]}},
    "truth": {"keys": {"x": [False, True]}},
    "word": {"keys": {"x": ["n", "s"]}},
    "day": {"bounds": {"x": (datetime.date(2025, 1, 1), datetime.date(2025, 12, 31))}},
}
QUESTIONS = (
    "SELECT COUNT(*) AS n FROM t WHERE x > 3",
    "SELECT COUNT(*) AS n FROM t WHERE x = '2'",
    "SELECT COUNT(x) AS n FROM t WHERE x",
    "SELECT SUM(x) AS s, AVG(x) AS m FROM t",
    "SELECT MEDIAN(x) AS m FROM t",
    "SELECT x, COUNT(*) AS n FROM t GROUP BY x",
    "SELECT FLOOR(x / 5) AS k, COUNT(*) AS n FROM t GROUP BY k",
    "SELECT x % 3 AS k, COUNT(*) AS n FROM t GROUP BY k",
    "SELECT EXTRACT(month FROM x) AS k, COUNT(*) AS n FROM t GROUP BY k",
    "SELECT COUNT(DISTINCT x) AS n FROM t",
    "SELECT COUNT(*) AS n FROM t WHERE LOWER(x) = 'n'",
    "SELECT COUNT(*) AS n FROM t WHERE who = 3",
    "SELECT COUNT(*) AS n FROM t WHERE who LIKE '3'",
)


def opened(source: Any, folder: Path, **said: Any) -> Any:
    given = {"unit": "who", "max_rows_per_unit": 1, "name": "t", "version": "7", **said}
    return connect(source, **given, budget=Budget(1000, 1e-3), ledger=folder / "ledger.db")


def bared(dataset: Dataset) -> Dataset:
    """The dataset as declared, without the types of its sources."""
    tables = (
        replace(table, columns=tuple(replace(each, native="", from_text=False) for each in table.columns))
        for table in dataset.tables
    )
    return replace(dataset, tables=tuple(tables))


def planned(text: str, dataset: Dataset) -> str:
    """Everything that is known of a question before it is paid, or the words of its refusal."""
    try:
        price = Price(epsilon=Fraction(1), tail=Fraction(1, 1000), own=Fraction(1, 1000))
        bare, told = (quote_plan(plan_text(text, each, gaussian=True), price) for each in (bared(dataset), dataset))
    except HubbubError as refusal:
        return str(refusal)
    facts = told.facts(seconds=1)
    return f"{bare.plans} {told.event} {facts.identity} {facts.size} {facts.title}"


def seen(source: Any, **said: Any) -> dict[str, Any]:
    """All that is told of a source before a row is read."""
    given = {"unit": "who", "max_rows_per_unit": 1, "name": "t", "version": "7", **said}
    dataset, engine = declare(source, **given)
    engine.close()
    page = describe(dataset)
    told = {text: planned(text, dataset) for text in QUESTIONS}
    return {"text": str(page), "json": page.to_json(), "descriptor": from_dataset(dataset), **told}


def sources(said: str, soak: int) -> dict[str, Any]:
    """All of them in the long run, else every third, from another one on for each declaration."""
    found = list((NUMBERS if said.startswith("numbers") else OTHERS[said]).items())
    return dict(found if soak > 1 or len(found) < 6 else found[list(DECLARED).index(said) % 3 :: 3])


@pytest.mark.parametrize("said", DECLARED)
def test_what_is_told_before_a_question_is_paid_comes_from_the_declaration(said: str, soak: int) -> None:
    given = sources(said, soak)
    told = {name: (is_pandas(source), seen(source, **DECLARED[said])) for name, source in given.items()}
    wanted = dict(told.values())  # their units are of other types
    for name, (typed, words) in told.items():
        assert {key: value for key, value in words.items() if value != wanted[typed][key]} == {}, name


@pytest.mark.parametrize("said", DECLARED)
def test_answers_have_the_types_of_the_declaration(said: str, tmp_path: Path, silence: None, soak: int) -> None:
    asked = ["SELECT COUNT(x) AS n, COUNT(*) AS rows FROM t"]
    asked += ["SELECT x, COUNT(*) AS n FROM t GROUP BY x"] if "keys" in DECLARED[said] else []
    asked += ["SELECT SUM(x) AS s, AVG(x) AS m FROM t"] if said in ("numbers, whole", "numbers") else []
    schemas = {}
    for place, (name, source) in enumerate(sources(said, soak).items()):
        with opened(source, tmp_path, version=str(place), **DECLARED[said]) as db:
            answers = [db.sql(text, epsilon=3).to_arrow() for text in asked]
        assert answers[0]["rows"].to_pylist() == [20]
        schemas[name] = str([answer.schema.remove_metadata() for answer in answers])
    assert len(set(schemas.values())) == 1, schemas


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (dtype(WHOLE, "int64"), dtype(last(WHOLE, None), "float64")),
        (dtype(WHOLE, "int64"), dtype(last(WHOLE, None), "Int64")),
        (dtype(TRUE, "bool"), dtype(last(TRUE, None), object)),
        (dtype(WORD, object), dtype(last(WORD, 10**30), object)),
        (dtype(WORD, object), dtype(last(WORD, DAY), object)),
        (dtype(WORD, "str"), dtype(last(WORD, ["s"]), object)),
        (dtype(WORD, "category"), dtype(last(WORD, 3), "category")),
        (dtype(MOMENTS, "datetime64[ns]"), dtype(last(MOMENTS, None), "datetime64[s]")),
    ],
    ids=["a missing number", "masked", "a missing truth", "a number", "a day", "a list", "a category", "no moment"],
)
def test_an_undeclared_pandas_column_is_the_same_with_a_value_that_changes_its_dtype(one: Any, other: Any) -> None:
    assert seen(one) == seen(other)


@pytest.mark.parametrize("one", [pyarrow.int32(), pyarrow.int64(), pyarrow.uint64()])
@pytest.mark.parametrize("other", [pyarrow.float32(), pyarrow.float64(), pyarrow.decimal128(22, 2)])
def test_an_undeclared_column_of_numbers_is_one_of_numbers(one: Any, other: Any) -> None:
    parts = pyarrow.array([None if i == 9 else i for i in WHOLE], pyarrow.int64()).cast(other)
    assert seen(arrow(WHOLE, one)) == seen(arrow(WHOLE, one).set_column(1, "x", parts))


def test_keys_that_are_chosen_read_the_same_from_integers_and_doubles(tmp_path: Path, silence: None) -> None:
    told = []
    for place, kind in enumerate(("int64", "float64")):
        frame = pandas.DataFrame({"who": range(500), "x": np.arange(500) % 2}).astype({"x": kind})
        with opened(frame, tmp_path, version=str(place)) as db:
            told.append(db.sql("SELECT x, COUNT(*) AS n FROM t GROUP BY x ORDER BY x", epsilon=50).to_arrow())
    assert told[0].schema.equals(told[1].schema)
    assert told[0].to_pylist() == told[1].to_pylist()


# ---------------------------------------------------------------- files


def _parquet(frame: pyarrow.Table, place: Path) -> Path:
    pyarrow.parquet.write_table(frame, place)
    return place


def _duckdb(frame: pyarrow.Table, place: Path) -> Path:
    with duckdb.connect(str(place)) as file:
        file.register("frame", frame)
        file.execute("CREATE TABLE t AS SELECT * FROM frame")
    return place


def _csv(frame: pyarrow.Table, place: Path) -> Path:
    frame.to_pandas().to_csv(place, index=False)
    return place


@pytest.mark.parametrize(("write", "ending"), [(_parquet, "parquet"), (_duckdb, "duckdb"), (_csv, "csv")])
@pytest.mark.parametrize("said", ["numbers, whole", "numbers", "numbers, keys", None])
def test_files_of_integers_and_of_doubles_are_told_of_alike(
    write: Callable[[pyarrow.Table, Path], Path], ending: str, said: str | None, tmp_path: Path
) -> None:
    told = []
    for kind in (pyarrow.int64(), pyarrow.float64()):
        place = tmp_path / f"t.{ending}"  # the same place: where rows come from is part of a question
        place.unlink(missing_ok=True)
        told.append(seen(write(arrow(last(WHOLE, None), kind), place), **(DECLARED[said] if said else {})))
    assert told[0] == told[1]


@pytest.mark.parametrize("kind", ["bigint", "double", "decimal(12,2)", "varchar"])
def test_a_descriptor_decides_over_the_source(kind: str, tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "t.duckdb")) as file:
        file.execute(f"CREATE TABLE t AS SELECT CAST(range AS BIGINT) AS who, CAST(range AS {kind}) AS x FROM range(9)")
    (tmp_path / "t.toml").write_text(
        """dataset = { name = "t", source = "t.duckdb" }
        privacy = { unit = "t.who", budget = { epsilon = 1 } }
        tables.t.columns.x = { lower = 0, upper = 9, step = 1 }"""
    )
    dataset, engine = declare(tmp_path / "t.toml")
    engine.close()
    column = dataset.tables[0].column("x")
    assert column is not None and column.kind is Kind.INTEGER


# ---------------------------------------------------------------- values


class Odd(str):
    """A word that does not want to be read."""

    def encode(self, *_: Any, **__: Any) -> bytes:
        raise RuntimeError


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1"),
        (1.0, "1"),
        (-0.0, "0"),
        (1e20, "1" + "0" * 20),
        (1.5, "1.5"),
        (True, "true"),
        (np.int8(3), "3"),
        (np.bool_(False), "false"),
        (math.nan, None),
        (math.inf, "inf"),
        (None, None),
        (pandas.NaT, None),
        (pandas.NA, None),
        (Decimal("NaN"), None),
        pytest.param(10**5000, None, id="without end"),
        pytest.param(Odd("word"), "word", id="an odd word"),
        pytest.param("\ud800", "?", id="a lone surrogate"),
        (DAY, "2025-06-01"),
        (pandas.Timestamp("2025-06-01 12:00:00.5"), "2025-06-01 12:00:00.5"),
        (pandas.Timestamp("2025-06-01 12:00", tz="Europe/Zurich"), "2025-06-01 10:00:00+00"),
        (datetime.datetime(1, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=5))), None),
        ([1], None),
        (object(), None),
    ],
)
def test_a_value_becomes_text_in_one_way_and_never_fails(value: Any, text: str | None) -> None:
    assert _value_as_text(value) == text
