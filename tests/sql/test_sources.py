"""Which data an answer is about, and what a file's first line tells."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest

from hubbub.engines import DuckDB, EngineFailed, InDatabase
from hubbub.engines.duckdb import tables_in
from hubbub.engines.sources import arrow_of
from hubbub.ledger import Ledger
from hubbub.sql.connection import Connection
from hubbub.sql.open_connection import connect, declare
from hubbub.sql.prepare_copy import prepare
from hubbub.sql.pricing.price import PriceTerms
from hubbub.sql.pricing.priced_statement import price_statement
from hubbub.terms import Budget, HubbubError, MissingParameter, OutOfRange, SourceUnavailable
from tests.sql import _hostile

COUNT = "SELECT COUNT(*) AS n FROM {}"


def frame(people: int = 30) -> pandas.DataFrame:
    return pandas.DataFrame({"who": range(people), "age": [i % 90 for i in range(people)]})


def opened(source: Any, folder: Path, **more: Any) -> Connection:
    given = {"unit": "who", "max_rows_per_unit": 1, "population": "people", "budget": Budget(100, 1e-6), **more}
    return connect(source, ledger=folder / "ledger.db", **given)


def answer(source: Any, folder: Path, **more: Any) -> Any:
    with opened(source, folder, **more) as db:
        return db.sql(COUNT.format(db.dataset.tables[0].name), epsilon=1)


def suggested(source: Any, folder: Path, **more: Any) -> Any:
    with opened(source, folder, **more) as db:
        return db.suggest_bounds(db.dataset.tables[0].name, columns=["age"], epsilon=1)


def workload(source: Any, folder: Path, **more: Any) -> Any:
    with opened(source, folder, **more) as db:
        return db.workload([COUNT.format(db.dataset.tables[0].name)], epsilon=1)


# ---------------------------------------------------------------- which data


@pytest.mark.parametrize("ask", [answer, suggested, workload])
def test_a_second_frame_does_not_get_the_answer_of_the_first(ask: Any, tmp_path: Path) -> None:
    assert not ask(frame(), tmp_path).repeated
    assert not ask(frame(3000), tmp_path).repeated
    assert not ask(frame(), tmp_path, version="1").repeated
    assert not ask(frame(3000), tmp_path, version="1").repeated
    assert not ask(frame(), tmp_path, name="table").repeated
    assert not ask(frame(3000), tmp_path, name="table").repeated


def test_a_frame_with_a_name_and_version_is_the_same_in_another_connection(tmp_path: Path) -> None:
    first = answer(frame(), tmp_path, name="people", version="2026-05")
    again = answer(frame(), tmp_path, name="people", version="2026-05")
    assert again.repeated and again["n"].values == first["n"].values
    assert not answer(frame(), tmp_path, name="people", version="2026-06").repeated
    assert not answer(frame(), tmp_path, name="others", version="2026-05").repeated


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("ask", [answer, workload])
def test_a_file_of_the_same_name_elsewhere_is_other_data(ask: Any, ending: str, tmp_path: Path) -> None:
    for folder, people in (("a", 30), ("b", 3000)):
        (tmp_path / folder).mkdir()
        place = tmp_path / folder / f"visits.{ending}"
        frame(people).to_csv(place, index=False) if ending == "csv" else frame(people).to_parquet(place)
    assert not ask(tmp_path / "a" / f"visits.{ending}", tmp_path).repeated
    assert not ask(tmp_path / "b" / f"visits.{ending}", tmp_path).repeated
    assert ask(str(tmp_path / "b" / ".." / "a" / f"visits.{ending}"), tmp_path).repeated
    assert not ask(tmp_path / "a" / f"visits.{ending}", tmp_path, version="2").repeated
    with Ledger(tmp_path / "ledger.db") as ledger:
        assert list(ledger.populations()) == ["people"]  # all of them draw on one budget


def test_one_more_file_makes_a_glob_other_data(tmp_path: Path) -> None:
    frame().to_parquet(tmp_path / "visits1.parquet")
    assert not answer(tmp_path / "visits*.parquet", tmp_path).repeated
    frame().to_parquet(tmp_path / "visits2.parquet")
    assert not answer(tmp_path / "visits*.parquet", tmp_path).repeated


def test_what_is_in_a_file_is_no_part_of_which_data_they_are(tmp_path: Path) -> None:
    place = tmp_path / "visits.parquet"
    frame(30).to_parquet(place)
    assert not answer(place, tmp_path).repeated
    frame(3000).to_parquet(place)
    assert answer(place, tmp_path).repeated
    assert not answer(place, tmp_path, version="2").repeated


def test_a_descriptor_names_the_version_and_connect_does_not(tmp_path: Path) -> None:
    with pytest.raises(MissingParameter, match="version stands in the descriptor"):
        declare(tmp_path / "t.toml", version="2")
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        frame().to_parquet(tmp_path / folder / "t.parquet")
        (tmp_path / folder / "t.toml").write_text(
            """dataset.name = "t"
            privacy = { unit = "t.who", budget = { epsilon = 10 }, population = "people" }
            tables.t.max_rows_per_unit = 1"""
        )
    told = []
    for folder in ("a", "b", "a"):
        with connect(tmp_path / folder / "t.toml", ledger=tmp_path / "ledger.db") as db:
            told.append(db.sql(COUNT.format("t"), epsilon=1).repeated)
    assert told == [False, False, True]


@pytest.mark.parametrize("name", ["a.b", "", "x\x1b[31m", " y"])
def test_names_and_versions_are_plain(name: str) -> None:
    with pytest.raises(OutOfRange):
        declare(frame(), unit="who", name=name)


# ---------------------------------------------------------------- first lines


def test_asking_a_csv_file_loads_no_pandas(tmp_path: Path) -> None:
    """It takes a quarter of a second, for nothing."""
    (tmp_path / "t.csv").write_text("pid,x\n1,2\n2,3\n")
    script = (
        "import sys, hubbub as hb\n"
        "db = hb.connect('t.csv', unit='pid', max_rows_per_unit=1, budget=hb.Budget(1), ledger='l.db')\n"
        "db.sql('SELECT COUNT(*) AS n FROM t', epsilon=1)\n"
        "sys.exit('pandas' in sys.modules)"
    )
    environment = {**os.environ, "HUBBUB_STATE": str(tmp_path / "state")}
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=environment, check=True, timeout=120)


def test_a_record_never_becomes_the_names_of_columns(tmp_path: Path) -> None:
    place = tmp_path / "visits.csv"
    place.write_text("Ann Example,17,gout\nBob Sample,18,flu\n")
    for said in ({"unit": "who"}, {"unit": "row", "bounds": {"age": (0, 99)}}, {"unit": "row"}):
        with pytest.raises(HubbubError) as refusal:
            declare(place, **said)
        assert not any(cell in str(refusal.value) for cell in ("Ann", "17", "gout"))
    with pytest.raises(SourceUnavailable, match=r"does not name 'who'\.") as refusal:
        prepare(place, unit="who", out=tmp_path / "copy.parquet")
    assert "Ann" not in str(refusal.value)


def test_a_header_is_known_by_the_names_that_are_declared(tmp_path: Path) -> None:
    frame().to_csv(tmp_path / "v.csv", index=False)
    for said in ({"unit": "WHO"}, {"unit": "row", "keys": {"age": [1]}}, {"unit": "row", "header": True}):
        dataset, engine = declare(tmp_path / "v.csv", **said)
        engine.close()
        assert [column.name for column in dataset.tables[0].columns] == ["who", "age"]
    with pytest.raises(SourceUnavailable, match=r"the first line of v\.csv names 'who', and not 'cost'\."):
        declare(tmp_path / "v.csv", unit="who", bounds={"cost": (0, 1)})
    with pytest.raises(MissingParameter, match="say whether the first line"):
        declare(tmp_path / "v.csv", unit="row")


def test_without_a_header_the_owner_names_the_columns(tmp_path: Path, silence: None) -> None:
    frame().to_csv(tmp_path / "v.csv", index=False, header=False)
    told = answer(tmp_path / "v.csv", tmp_path, header=["who", "age"])
    assert tuple(told["n"].values) == (30,)
    for header in ([], [""], "who", False):
        with pytest.raises(OutOfRange, match="header is True, or the list"):
            declare(tmp_path / "v.csv", unit="row", header=header)


def test_the_same_file_read_in_another_way_is_another_table(tmp_path: Path, silence: None) -> None:
    place = tmp_path / "v.csv"
    frame().to_csv(place, index=False, header=False)
    told = [
        answer(place, tmp_path, header=header).repeated
        for header in (["who"], ["who", "age"], ["age", "who"], ["who", "years"], ["who", "age"])
    ]
    assert told == [False, False, False, False, True]
    lines = place.read_text()
    for first, repeated in (("who\n", False), ("who,age\n", False), ("who,age\n", True), ("age,who\n", False)):
        place.write_text(first + lines)
        assert answer(place, tmp_path).repeated is repeated
    assert answer(place, tmp_path, header=True).repeated


def test_what_a_column_is_declared_to_be_is_part_of_a_question(tmp_path: Path, silence: None) -> None:
    (tmp_path / "v.csv").write_text("who,age\n1,2\n01,x\n")
    said: list[dict[str, Any]] = [{}, {"bounds": {"age": (0, 9)}}, {"bounds": {"who": (0, 9)}}]
    for question in ("SELECT COUNT(age) AS n FROM v", "SELECT COUNT(DISTINCT who) AS n FROM v"):
        prints = set()
        for given in said:
            with opened(tmp_path / "v.csv", tmp_path, **given) as db:
                quote = price_statement(db, question, PriceTerms(epsilon=1), None)[0].quote
                prints.add(json.dumps(quote.facts(seconds=1).identity))
        assert len(prints) == (3 if "(age)" in question else 2)  # who a person is, is part of every question


def test_files_of_a_glob_that_begin_otherwise_are_told_from_files_without_a_header(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("who,sex\n1,f\n")
    (tmp_path / "visits.csv").write_text("who,age\n1,7\n")
    for source in (tmp_path / "*.csv", tmp_path / "*s*"):
        with pytest.raises(SourceUnavailable, match="do not all begin with the same line"):
            declare(source, unit="who")
    (tmp_path / "people.csv").write_text("17,gout\n")
    (tmp_path / "visits.csv").write_text("18,flu\n")
    for said in ({"unit": "who"}, {"unit": "who", "header": True}):
        with pytest.raises(SourceUnavailable, match=r"the first line of people\.csv does not name 'who'") as refusal:
            declare(tmp_path / "*.csv", **said)
        assert "gout" not in str(refusal.value)
    (tmp_path / "visits.csv").write_text("who,age\n1,7\n")
    with pytest.raises(SourceUnavailable, match=r"visits\.csv names 'who', and not 'ages'") as refusal:
        declare(tmp_path / "visits.csv", unit="who", bounds={"ages": (0, 9)})
    assert "'age'" not in str(refusal.value)


def test_a_folder_is_its_parquet_files_and_a_place_for_tables(tmp_path: Path, silence: None) -> None:
    (tmp_path / "fold").mkdir()
    with pytest.raises(SourceUnavailable, match=r"no \.parquet file is in that folder"):
        declare(tmp_path / "fold", unit="who")
    frame().to_parquet(tmp_path / "fold" / "a.parquet")
    frame().to_parquet(tmp_path / "fold" / "b.parquet")
    with opened(tmp_path / "fold", tmp_path) as db:
        assert tuple(db.sql("SELECT COUNT(*) AS n FROM fold", epsilon=1)["n"].values) == (30,)  # of 60, one per person
    for name in ("x.db", "y.db"):
        (tmp_path / name).write_text("")
    with pytest.raises(SourceUnavailable, match="stands for several"):
        declare(tmp_path / "[xy].db", unit="who")


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_descriptor_names_a_folder_with_its_tables(tmp_path: Path, ending: str, silence: None) -> None:
    (tmp_path / "fold").mkdir()
    place = tmp_path / "fold" / f"t.{ending}"
    frame().to_csv(place, index=False) if ending == "csv" else frame().to_parquet(place)
    (tmp_path / "t.toml").write_text(
        """dataset = { name = "t", source = "fold" }
        privacy = { unit = "t.who", budget = { epsilon = 10 } }
        tables.t.max_rows_per_unit = 1"""
    )
    with connect(tmp_path / "t.toml", ledger=tmp_path / "ledger.db") as db:
        assert tuple(db.sql(COUNT.format("t"), epsilon=1)["n"].values) == (30,)


@pytest.mark.parametrize(
    ("line", "people"),
    [("", None), ("header = true", None), ('header = ["who", "age"]', 30), ("columns.who = {}", None)],
)
def test_a_descriptor_says_what_the_first_line_is(line: str, people: int | None, tmp_path: Path, silence: None) -> None:
    frame().to_csv(tmp_path / "t.csv", index=False, header=False)
    (tmp_path / "t.toml").write_text(
        f"""dataset.name = "t"
        privacy = {{ unit = "t.who", budget = {{ epsilon = 10 }} }}
        [tables.t]
        max_rows_per_unit = 1
        {line}"""
    )
    if people is None:
        with pytest.raises(HubbubError):
            declare(tmp_path / "t.toml")
        return
    with connect(tmp_path / "t.toml") as db:
        assert tuple(db.sql(COUNT.format("t"), epsilon=1)["n"].values) == (people,)


def test_an_open_quote_takes_no_rows_of_others(tmp_path: Path, silence: None) -> None:
    lines = [f"{i},{i % 90}" for i in range(3000)]
    told = []
    for odd in ('5,"7', "5,7"):
        (tmp_path / "v.csv").write_text("\n".join(["who,age", *lines[:10], odd, *lines[10:]]))
        told.append(answer(tmp_path / "v.csv", tmp_path, version="1" if '"' in odd else "2", max_rows_per_unit=9))
    assert [tuple(each["n"].values) for each in told] == [(3000,), (3001,)]


def test_words_that_are_no_text_are_mended_in_every_kind_of_pandas_column() -> None:
    broken = pyarrow.Array.from_buffers(
        pyarrow.large_string(),
        3,
        [None, pyarrow.py_buffer(np.array([0, 1, 3, 4], dtype=np.int64).tobytes()), pyarrow.py_buffer(b"a\xff\xfeb")],
    )
    for column in (
        pandas.Series(pandas.array(broken, dtype=pandas.ArrowDtype(pyarrow.large_string()))),
        pandas.Series(pandas.arrays.ArrowStringArray(pyarrow.chunked_array([broken]))),
    ):
        table = arrow_of(pandas.DataFrame({"word": column}), objects_as_text=True)
        assert table["word"].to_pylist() == ["a", "\ufffd\ufffd", "b"]


# ---------------------------------------------------------------- tables in memory, by type alone


def _of_arrow(table: pyarrow.Table) -> pandas.DataFrame:
    return pandas.DataFrame({name: pandas.arrays.ArrowExtensionArray(table[name]) for name in table.column_names})


def _categories(table: pyarrow.Table) -> pandas.DataFrame:
    kept = ["p", "int64", "uint8"]  # pandas itself fails at others
    return pandas.DataFrame({name: pandas.Categorical(_of_arrow(table.slice(0, 3))[name]) for name in kept})


@pytest.mark.parametrize("make", [_of_arrow, _categories, pyarrow.table])
def test_no_value_decides_whether_a_column_of_arrow_is_read(make: Any) -> None:
    told = []
    for table in (_hostile.calm(), _hostile.hostile()):
        engine = DuckDB({"t": make(table)}, threads=1)
        told.append(engine.columns("t"))
        assert engine.rows("SELECT * FROM t")
        engine.close()
    assert told[0] == told[1]
    assert not {name for name, _ in told[0]} & {"pairs", "inside", "months", "moments"}


def test_an_object_that_fails_at_every_touch_is_missing() -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("touched")

    methods = dict.fromkeys(("__repr__", "__str__", "__float__", "__int__", "__eq__", "__bool__", "is_finite"), fail)
    odd = [type("Odd", (base,), {**methods, "__hash__": None})("3") for base in (int, float, Decimal)]
    odd.append(type("Odd", (), {"__class__": property(fail)})())
    texts = arrow_of(pandas.DataFrame({"x": pandas.Series([1, *odd], dtype=object)}), objects_as_text=True)
    assert texts["x"].type == pyarrow.string()
    assert texts["x"].to_pylist()[0] == "1"
    assert texts["x"].to_pylist()[-1] is None


def test_a_type_that_is_not_read_is_refused_as_such() -> None:
    sparse = pandas.DataFrame({"x": pandas.arrays.SparseArray([0, 1])})
    wide = polars.DataFrame({"x": polars.Series([1], dtype=polars.Int128)})
    for frame in (sparse, wide):
        with pytest.raises(SourceUnavailable, match="a column is of a type that is not read"):
            arrow_of(frame, objects_as_text=True)


# ---------------------------------------------------------------- faults of files, and of the engine

ENDS = [0, -(2**63), -(2**63) + 1000, 2**63 - 1]


def _moments(folder: Path) -> Path:
    moments = pyarrow.array(ENDS, pyarrow.int64()).view(pyarrow.timestamp("us"))
    pyarrow.parquet.write_table(pyarrow.table({"who": range(len(ENDS)), "x": moments}), folder / "t.parquet")
    return folder / "t.parquet"


def _decimals() -> pyarrow.Table:
    raw = [1, 10**38, 2**127 - 1, -(2**127)]
    cells = b"".join(value.to_bytes(16, "little", signed=True) for value in raw)
    kind = pyarrow.decimal128(38, 2)
    inside = pyarrow.Array.from_buffers(kind, len(raw), [None, pyarrow.py_buffer(cells)])
    parts = pyarrow.StructArray.from_arrays([inside], names=["a"])
    return pyarrow.table({"who": range(len(raw)), "x": inside, "parts": parts})


def _decimals_in_a_file(folder: Path) -> Path:
    pyarrow.parquet.write_table(_decimals(), folder / "d.parquet")
    return folder / "d.parquet"


@pytest.mark.parametrize("make", [_moments, _decimals_in_a_file, lambda _: _decimals()])
@pytest.mark.parametrize("said", [["1970-01-01 00:00:00", "0.01"], [True], [1, 2], [0.5]])
def test_the_ends_of_a_type_can_be_read_as_any_other(make: Any, said: list[Any], tmp_path: Path, silence: None) -> None:
    with opened(make(tmp_path), tmp_path, keys={"x": said}, name="t") as db:
        told = db.sql("SELECT x, COUNT(*) AS n FROM t GROUP BY x", epsilon=1)
        assert sum(told["n"].values) == (1 if isinstance(said[0], str) else sum(told["n"].values))
        assert db.sql("SELECT COUNT(*) AS n FROM t", epsilon=1).value == 4
    (tmp_path / "others").mkdir()
    with opened(make(tmp_path), tmp_path / "others", unit="x", keys={"x": said}, name="t") as db:
        assert db.sql("SELECT COUNT(*) AS n FROM t", epsilon=1)


def test_a_copy_is_made_of_the_ends_of_a_type(tmp_path: Path) -> None:
    for source in (_moments(tmp_path), _decimals_in_a_file(tmp_path)):
        for kind in ("text", "number", "integer", "boolean"):
            try:
                prepare(source, unit="who", out=tmp_path / "copy.parquet", types={"x": kind})
            except SourceUnavailable:
                assert source.name == "t.parquet" and kind != "text"  # no such cast, whatever the rows are


def test_an_engine_that_broke_answers_the_next_question(tmp_path: Path) -> None:
    duckdb.connect(str(tmp_path / "t.duckdb")).execute("CREATE TABLE t AS SELECT 5 AS x").close()
    frame().to_csv(tmp_path / "c.csv", index=False)
    sources = {"t": _moments(tmp_path), "f": frame(), "c": tmp_path / "c.csv", "d": tmp_path / "t.duckdb"}
    engine = DuckDB({**sources, "d": InDatabase(str(tmp_path / "t.duckdb"), "t")}, threads=1)
    for _ in range(2):
        with pytest.raises(EngineFailed):
            engine.rows("SELECT TRY_CAST(x AS VARCHAR) FROM t")
        told = [engine.rows(f"SELECT count(*) FROM {name}") for name in sources]
        assert told == [[(4,)], [(30,)], [(30,)], [(1,)]]
    with pytest.raises(EngineFailed):
        engine.rows("SET threads = 4")  # it is locked again
    engine.close()


def test_views_of_a_database_are_refused_by_name(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "t.duckdb")) as database:
        database.execute("CREATE TABLE t AS SELECT 5 AS who, 'abc' AS s")
        database.execute("CREATE VIEW v AS SELECT who, CAST(s AS INTEGER) AS n FROM t")
    assert tables_in(str(tmp_path / "t.duckdb")) == ["t"]
    with pytest.raises(SourceUnavailable, match="'V' is a view"):
        DuckDB({"v": InDatabase(str(tmp_path / "t.duckdb"), "V")})
    with duckdb.connect(str(tmp_path / "t.duckdb")) as database:
        database.execute("DROP TABLE t")
    with pytest.raises(SourceUnavailable, match="'v' is a view"):
        tables_in(str(tmp_path / "t.duckdb"))


@pytest.mark.parametrize("last", ["3", "x"])
def test_names_of_folders_are_no_column(last: str, tmp_path: Path) -> None:
    for ward in ("1", last):
        (tmp_path / f"ward={ward}").mkdir()
        pyarrow.parquet.write_table(pyarrow.table({"who": [1]}), tmp_path / f"ward={ward}" / "p.parquet")
    engine = DuckDB({"t": str(tmp_path / "*/*.parquet")})
    assert engine.columns("t") == [("who", "integer")]
    engine.close()


def test_a_database_is_named_after_its_file_and_its_unit_after_the_table_that_was_named(tmp_path: Path) -> None:
    import duckdb

    with duckdb.connect(str(tmp_path / "hospital.duckdb")) as connection:
        for table in ("patients", "visits"):
            connection.execute(f"CREATE TABLE {table} AS SELECT range AS who, range AS age FROM range(5)")
    given: dict[str, Any] = {"unit": "visits.who", "max_rows_per_unit": 1, "budget": Budget(1, 1e-6)}
    with connect(tmp_path / "hospital.duckdb", **given) as db:
        assert (db.dataset.name, db.dataset.population, db.dataset.unit) == ("hospital", "hospital", "visits.who")
    assert (tmp_path / "hospital.ledger.db").exists()
    with pytest.raises(SourceUnavailable, match="has 2 tables"):
        prepare(tmp_path / "hospital.duckdb", unit="who", out=tmp_path / "ranked.parquet")
    assert prepare(tmp_path / "hospital.duckdb", unit="visits.who", out=tmp_path / "ranked.parquet").exists()


# ---------------------------------------------------------------- names that differ in case only


@pytest.mark.parametrize("kind", ["pandas", "arrow", "polars", "parquet"])
def test_a_column_never_stands_for_another_one_whose_name_differs_in_case(kind: str, tmp_path: Path) -> None:
    """The engine looks at no case, and calls the second one otherwise: the unit would be the column `WHO`."""
    table = pyarrow.table({"WHO": list(range(30)), "who": [7] * 30})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    sources = {"pandas": table.to_pandas, "arrow": lambda: table, "polars": lambda: polars.from_arrow(table)}
    source = sources.get(kind, lambda: tmp_path / "t.parquet")()
    with pytest.raises(SourceUnavailable, match="differ in case only"):
        opened(source, tmp_path, max_rows_per_unit=2)


# ---------------------------------------------------------------- names and types that must not be taken or told


def test_a_column_with_a_reserved_name_is_not_there_whatever_its_case(tmp_path: Path) -> None:
    """The engine looks at no case: `_HB_R` would be read in the place of a row's rank."""
    table = pyarrow.table({"who": [1, 2], "_HB_R": [1, 1], "_hb_u": [5, 5]})
    with opened(table, tmp_path) as db:
        assert [column.name for column in db.dataset.tables[0].columns] == ["who"]


def test_a_refusal_does_not_list_the_values_of_an_enum(tmp_path: Path) -> None:
    """Ids of people may be an ENUM, whose type lists them."""
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as made:
        made.execute("CREATE TYPE pid AS ENUM ('alice', 'bob')")
        made.execute("CREATE TABLE people (pid pid); CREATE TABLE visits (pid BIGINT)")
    (tmp_path / "d.toml").write_text(
        'dataset.name = "d"\nprivacy = {unit = "people.pid", budget = {epsilon = 1, delta = 1e-6}}\n'
        '[tables.people]\nsource = "t.duckdb"\nkey = "pid"\n'
        '[tables.visits]\nsource = "t.duckdb"\nunit = {pid = "people.pid"}\nmax_rows_per_unit = 1\n'
    )
    with pytest.raises(SourceUnavailable, match=r"people\.pid is ENUM, visits\.pid is BIGINT") as refused:
        connect(tmp_path / "d.toml", ledger=tmp_path / "l.db")
    assert "alice" not in str(refused.value)
