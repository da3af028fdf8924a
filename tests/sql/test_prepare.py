"""A prepared copy: ranks that depend on a person's own rows alone, written whole or not at all."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas
import pyarrow
import pyarrow.compute
import pyarrow.parquet
import pytest

from hubbub import Budget
from hubbub.engines import DuckDB, EngineFailed, InDatabase
from hubbub.schema.tables import Column, Dataset, Kind, PersonLink, Table
from hubbub.sql.open_connection import connect
from hubbub.sql.prepare_copy import check_prepared, is_prepared, prepare
from hubbub.terms import OutOfRange, SourceUnavailable, UnknownName

KEY = "a key for tests"


@pytest.fixture(autouse=True)
def _second_place(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledgers' second place is a temporary folder."""
    monkeypatch.setenv("HUBBUB_STATE", str(tmp_path_factory.mktemp("state")))


def people(count: int = 60, seed: int = 1) -> pyarrow.Table:
    """Rows of people with one to many rows each, some of them equal, some of nobody, some values missing."""
    generator = np.random.default_rng(seed)
    who = np.repeat(np.arange(count), generator.integers(1, 12, count))
    size = len(who)
    cost = generator.choice([0.0, -0.0, 1.5, float("nan"), 7.25], size)
    return pyarrow.table(
        {
            "who": pyarrow.array([None if i % 17 == 0 else int(w) for i, w in enumerate(who)], pyarrow.int64()),
            "ward": pyarrow.array(generator.choice(["n", "s", None], size).tolist(), pyarrow.string()),
            "cost": pyarrow.array(cost.tolist(), pyarrow.float64()),
            "tags": pyarrow.array([[int(w) % 3] for w in who], pyarrow.list_(pyarrow.int64())),
        }
    )


def copied(table: pyarrow.Table, folder: Path, name: str = "copy", **options: Any) -> list[dict[str, Any]]:
    place = prepare(table, unit="who", out=folder / f"{name}.parquet", **options)
    rows: list[dict[str, Any]] = pyarrow.parquet.read_table(place).to_pylist()
    return rows


def ranks(rows: list[dict[str, Any]]) -> Counter[tuple[str, ...]]:
    """Every row with its rank, whatever the order; equal rows are interchangeable."""
    return Counter(tuple(map(repr, row.values())) for row in rows)


def test_each_person_has_the_ranks_from_one_to_the_number_of_rows(tmp_path: Path) -> None:
    rows = copied(people(), tmp_path)
    by_person: dict[int | None, list[dict[str, Any]]] = {}
    for row in rows:
        by_person.setdefault(row["who"], []).append(row)
    assert all(row["_hb_rank"] is row["_hb_rows"] is None for row in by_person.pop(None))
    assert len(by_person) > 40
    for own in by_person.values():
        assert sorted(row["_hb_rank"] for row in own) == list(range(1, len(own) + 1))
        assert {row["_hb_rows"] for row in own} == {len(own)}


def test_the_copy_holds_the_same_rows(tmp_path: Path) -> None:
    rows = [{name: row[name] for name in ("who", "ward", "cost", "tags")} for row in copied(people(), tmp_path)]
    assert ranks(rows) == ranks(people().to_pylist())


def test_ranks_depend_neither_on_the_order_of_rows_nor_on_other_people(tmp_path: Path) -> None:
    table = people()
    whole = ranks(copied(table, tmp_path, _key=KEY))
    shuffled = table.take(np.random.default_rng(2).permutation(table.num_rows))
    assert ranks(copied(shuffled, tmp_path, "shuffled", _key=KEY)) == whole
    keep = [who != 7 for who in shuffled["who"].to_pylist()]
    without = ranks(copied(shuffled.filter(pyarrow.array(keep)), tmp_path, "without", _key=KEY))
    assert without == Counter({row: times for row, times in whole.items() if row[0] != "7"})
    assert without != whole


def test_ranks_by_the_order_of_the_file_would_be_noticed(tmp_path: Path) -> None:
    def by_place(table: pyarrow.Table) -> Counter[tuple[str, ...]]:
        seen: Counter[Any] = Counter()
        rows = table.to_pylist()
        for row in rows:
            seen[row["who"]] += 1
            row["_hb_rank"] = seen[row["who"]]
        return ranks(rows)

    table = people()
    assert by_place(table) != by_place(table.take(np.random.default_rng(2).permutation(table.num_rows)))


def test_every_copy_has_a_key_of_its_own(tmp_path: Path) -> None:
    assert ranks(copied(people(), tmp_path, "one")) != ranks(copied(people(), tmp_path, "two"))


@pytest.mark.parametrize("where", ["", "WHERE ward = 'n'"])
@pytest.mark.usefixtures("silence")
def test_answers_on_the_copy_count_at_most_so_many_rows_of_each_person(tmp_path: Path, where: str) -> None:
    rows = copied(people(200), tmp_path, "visits")
    counted = Counter(row["who"] for row in rows if row["who"] is not None and (not where or row["ward"] == "n"))
    for cap in (1, 3, 20):
        told = asked(tmp_path / "visits.parquet", f"SELECT COUNT(*) FROM visits {where}", cap, tmp_path)
        assert told == sum(min(cap, number) for number in counted.values())


def asked(source: Path, text: str, cap: int, folder: Path) -> object:
    """The one value of an answer."""
    ledger = folder / f"ledger{cap}.db"
    with connect(source, unit="who", max_rows_per_unit=cap, budget=Budget(9, 1e-6), ledger=ledger) as db:
        assert db.dataset.tables[0].prepared
        return db.sql(text, epsilon=1).value


def test_the_metadata_tells_for_whom_the_copy_was_made(tmp_path: Path) -> None:
    copied(people(), tmp_path)
    notes = pyarrow.parquet.read_metadata(tmp_path / "copy.parquet").metadata
    assert (notes[b"hubbub.prepared"], notes[b"hubbub.unit"], notes[b"hubbub.person"]) == (b"2", b"who", b"BIGINT")
    assert check_prepared(tmp_path / "copy.parquet", "visits.WHO")
    with pytest.raises(SourceUnavailable, match="prepared for the unit 'who'"):
        check_prepared(tmp_path / "copy.parquet", "ward")


def test_a_copy_serves_the_unit_it_was_made_for_and_no_other(tmp_path: Path) -> None:
    copied(people(), tmp_path)
    source = tmp_path / "copy.parquet"
    columns = [("who", "integer"), ("ward", "text"), ("_hb_rank", "integer"), ("_hb_rows", "integer")]

    def usable(link: PersonLink | None, kind: Kind = Kind.INTEGER, unit: str = "people.who") -> bool:
        named = tuple(Column(name=name, kind=kind) for name, _ in columns)
        table = Table(name="visits", source=source, columns=named, link=link)
        dataset = Dataset(name="d", population="p", unit=unit, budget=None, tables=(table,))
        return is_prepared(source, table, dataset, columns)

    assert usable(PersonLink("who")) and usable(PersonLink("WHO", "people", "who"))
    assert not usable(PersonLink("who"), unit="") and not usable(None)
    for link, kind in (
        (PersonLink("ward"), Kind.TEXT),  # another column
        (PersonLink("who", "stays", "stay"), Kind.INTEGER),  # people are found over another table
        (PersonLink("who"), Kind.TEXT),  # "1" and "01" would be two people in one place and one in the other
    ):
        with pytest.raises(SourceUnavailable):
            usable(link, kind)


LARGE = 2**53


@pytest.mark.parametrize(
    "ids",
    [
        pyarrow.array([Decimal(LARGE + i % 3) for i in range(18)], pyarrow.decimal128(38, 0)),
        pyarrow.array([Decimal(f"0.{i % 3 + 1:020}") for i in range(18)], pyarrow.decimal128(30, 20)),
        pyarrow.array([2**64 - 1 - i % 3 for i in range(18)], pyarrow.uint64()),
        pyarrow.array([LARGE + i % 3 for i in range(18)], pyarrow.int64()),
        pyarrow.array([[-0.0, 0.0, 1.5, 1e300][i % 4] for i in range(18)], pyarrow.float64()),
        pyarrow.array([["a", "A", "", "a "][i % 4] for i in range(18)], pyarrow.string()),
        pyarrow.array([[b"a", b"\xff", b""][i % 3] for i in range(18)], pyarrow.binary()),
        pyarrow.array([["a", "A", None][i % 3] for i in range(18)], pyarrow.string()).dictionary_encode(),
        pyarrow.array([i % 3 for i in range(18)], pyarrow.timestamp("us")),
    ],
    ids=lambda ids: str(ids.type),
)
@pytest.mark.usefixtures("silence")
def test_every_person_of_a_query_has_each_rank_once(ids: pyarrow.Array, tmp_path: Path) -> None:
    """What the copy says is what the table says, whatever the type of its ids, and so it is with one person less."""
    told = []
    for name, kept in (("all", ids), ("less", ids.filter(pyarrow.compute.not_equal(ids, ids[1])))):
        table = pyarrow.table({"who": kept, "n": list(range(len(kept)))})
        pyarrow.parquet.write_table(table, tmp_path / f"{name}.parquet")
        prepare(table, unit="who", out=tmp_path / f"{name}_copy.parquet")
        told.append([plain_count(tmp_path / f"{name}{copy}.parquet", tmp_path) for copy in ("", "_copy")])
    assert all(plain == copy for plain, copy in told)
    assert told[0][0] - told[1][0] == 2


def plain_count(source: Path, folder: Path) -> Any:
    ledger = folder / f"{source.stem}.db"
    with connect(source, unit="who", max_rows_per_unit=2, budget=Budget(9, 1e-6), ledger=ledger) as db:
        assert db.dataset.tables[0].prepared == source.stem.endswith("copy")
        return db.sql(f"SELECT COUNT(*) FROM {source.stem}", epsilon=1).value


def test_ids_of_128_bits_keep_their_digits(tmp_path: Path) -> None:
    """A Parquet file would keep them as doubles, and people who were ranked apart would be one."""
    file = str(tmp_path / "v.duckdb")
    with duckdb.connect(file) as database:
        database.execute("CREATE TABLE v AS SELECT (1::HUGEINT << 100) + i % 3 AS who, i AS n FROM range(9) t(i)")
    rows = pyarrow.parquet.read_table(
        prepare(InDatabase(file, "v"), unit="who", out=tmp_path / "c.parquet")
    ).to_pylist()
    assert len({row["who"] for row in rows}) == 3
    assert Counter(row["_hb_rank"] for row in rows) == {1: 3, 2: 3, 3: 3}
    assert check_prepared(tmp_path / "c.parquet", "who", "HUGEINT")


@pytest.mark.parametrize("native", ["INTEGER[]", "VARCHAR COLLATE NOCASE"])
def test_ids_that_a_copy_would_keep_otherwise_than_they_are_compared_are_refused(native: str, tmp_path: Path) -> None:
    file = str(tmp_path / "v.duckdb")
    with duckdb.connect(file) as database:
        database.execute(f"CREATE TABLE v (who {native}, n INTEGER)")
    with pytest.raises(SourceUnavailable, match="cannot be told apart by 'who'"):
        prepare(InDatabase(file, "v"), unit="who", out=tmp_path / "c.parquet")
    assert [each.name for each in tmp_path.iterdir()] == ["v.duckdb"]


def test_ids_without_a_form_in_files_are_kept_as_the_bytes_that_they_are_compared_by(tmp_path: Path) -> None:
    file = str(tmp_path / "v.duckdb")
    with duckdb.connect(file) as database:
        database.execute("CREATE TABLE v AS SELECT to_days(CAST(-i AS INTEGER)) AS who, i AS n FROM range(3) r(i)")
    rows = pyarrow.parquet.read_table(prepare(InDatabase(file, "v"), unit="who", out=tmp_path / "c.parquet"))
    assert sorted(rows.column("_hb_rank").to_pylist()) == [1, 1, 1]
    assert check_prepared(tmp_path / "c.parquet", "who", "BLOB")


def test_a_copy_made_in_one_form_is_not_read_in_another(tmp_path: Path) -> None:
    """Two whole numbers that are ranked apart are one person beside a table with doubles."""
    copied(people(), tmp_path)
    assert check_prepared(tmp_path / "copy.parquet", "who", "BIGINT")
    with pytest.raises(SourceUnavailable, match="compared as BIGINT, and here they are compared as DOUBLE"):
        check_prepared(tmp_path / "copy.parquet", "who", "DOUBLE")


def test_text_that_becomes_whole_numbers_is_not_rounded_to_another_person(tmp_path: Path) -> None:
    pandas.DataFrame({"who": ["1.5", "2", "2.0", "x"]}).to_csv(tmp_path / "v.csv", index=False)
    place = prepare(tmp_path / "v.csv", unit="who", types={"who": "integer"}, out=tmp_path / "c.parquet")
    rows = pyarrow.parquet.read_table(place).to_pylist()
    assert sorted((row["who"] or 0, row["_hb_rank"] or 0) for row in rows) == [(0, 0), (0, 0), (2, 1), (2, 2)]


def changed(source: Path, change: str) -> None:
    """The copy after what an owner may do to it, with its notes kept."""
    table = pyarrow.parquet.read_table(source)
    if change == "two copies as one":
        table = pyarrow.concat_tables([table, table])
    elif change == "rows deleted":
        table = table.filter(pyarrow.compute.greater(table["_hb_rank"], 1))
    elif change == "as many rows deleted as added":
        table = pyarrow.concat_tables([table[5:], table[-5:]])
    elif change == "a value changed":
        table = table.set_column(0, "who", pyarrow.compute.fill_null(table["who"], 1))
    elif change == "other rows in other order":
        table = table.take(np.random.default_rng(1).permutation(table.num_rows))
    elif change == "through pandas":
        table = pyarrow.Table.from_pandas(table.to_pandas()).replace_schema_metadata(table.schema.metadata)
    elif change == "a column renamed":
        table = table.rename_columns(["who", "WARD", *table.column_names[2:]]).replace_schema_metadata(
            table.schema.metadata
        )
    if change == "copied by the engine":
        notes = pyarrow.parquet.read_metadata(source).metadata
        told = ", ".join(f"'{k.decode()}': '{v.decode()}'" for k, v in notes.items() if k.startswith(b"hubbub"))
        with duckdb.connect() as database:
            database.execute(f"CREATE TABLE t AS SELECT * FROM read_parquet('{source}')")
            database.execute(f"COPY (FROM t UNION ALL FROM t) TO '{source}' (FORMAT parquet, KV_METADATA {{{told}}})")
    elif change == "rows appended as a group":
        with pyarrow.parquet.ParquetWriter(source, table.schema) as writer:
            writer.write_table(table)
            writer.write_table(table)
    else:
        pyarrow.parquet.write_table(table, source)


CHANGES = [
    *("two copies as one", "rows deleted", "as many rows deleted as added", "a value changed", "through pandas"),
    *("other rows in other order", "a column renamed", "copied by the engine", "rows appended as a group", "nothing"),
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_is_no_longer_what_was_prepared_is_refused(change: str, tmp_path: Path) -> None:
    copied(people(), tmp_path)
    source = tmp_path / "copy.parquet"
    assert check_prepared(source, "who")
    changed(source, change)
    assert b"hubbub.prepared" in pyarrow.parquet.read_metadata(source).metadata
    with pytest.raises(SourceUnavailable, match="changed since it was made"):
        check_prepared(source, "who")
    with pytest.raises(SourceUnavailable, match="changed since it was made"):
        connect(source, unit="who", max_rows_per_unit=3, budget=Budget(9, 1e-6), ledger=tmp_path / "ledger.db")


def test_a_copy_of_an_earlier_version_is_made_again(tmp_path: Path) -> None:
    table = pyarrow.table({"who": [1, 1], "_hb_rank": [1, 1], "_hb_rows": [1, 1]})
    notes = {"hubbub.prepared": "1", "hubbub.unit": "who"}
    pyarrow.parquet.write_table(table.replace_schema_metadata(notes), tmp_path / "copy.parquet")
    with pytest.raises(SourceUnavailable, match="of an earlier version"):
        check_prepared(tmp_path / "copy.parquet", "who")
    assert prepare(people(), unit="who", out=tmp_path / "copy.parquet").exists()  # and is written over


def test_columns_of_the_same_names_do_not_make_a_table_a_prepared_one(tmp_path: Path) -> None:
    copied(people(), tmp_path)
    rows = pyarrow.parquet.read_table(tmp_path / "copy.parquet").replace_schema_metadata()
    pyarrow.parquet.write_table(rows, tmp_path / "bare.parquet")
    assert not check_prepared(tmp_path / "bare.parquet", "who")
    assert not check_prepared(rows, "who")


def test_copies_are_never_read_together(tmp_path: Path) -> None:
    copied(people(), tmp_path, "part1")
    pyarrow.parquet.write_table(people(), tmp_path / "part2.parquet")
    copied(people(seed=3), tmp_path, "other1")
    copied(people(seed=4), tmp_path, "other2")
    for several in ("part*.parquet", "other*.parquet", "*.parquet"):
        with pytest.raises(SourceUnavailable, match="read together with others"):
            check_prepared(tmp_path / several, "who")


def test_a_glob_of_tables_becomes_one_copy(tmp_path: Path) -> None:
    for seed in (1, 2):
        pyarrow.parquet.write_table(people(seed=seed), tmp_path / f"part{seed}.parquet")
    place = prepare(tmp_path / "part*.parquet", unit="who", out=tmp_path / "whole.parquet")
    rows = pyarrow.parquet.read_table(place).to_pylist()
    ranked = [(row["who"], row["_hb_rank"]) for row in rows if row["who"] is not None]
    assert len(rows) == people(seed=1).num_rows + people(seed=2).num_rows
    assert len(set(ranked)) == len(ranked)


def test_a_csv_file_stays_text_unless_types_are_given(tmp_path: Path) -> None:
    pandas.DataFrame({"who": [1, 1, 2], "cost": ["1.5", "x", "2"]}).to_csv(tmp_path / "v.csv", index=False)
    plain = pyarrow.parquet.read_schema(prepare(tmp_path / "v.csv", unit="who", out=tmp_path / "a.parquet"))
    assert (plain.field("who").type, plain.field("cost").type) == (pyarrow.string(), pyarrow.string())
    place = prepare(tmp_path / "v.csv", unit="who", out=tmp_path / "b.parquet", types={"COST": "number"})
    told = pyarrow.parquet.read_table(place)
    assert sorted(map(repr, told["cost"].to_pylist())) == ["1.5", "2.0", "None"]


def test_a_table_of_a_duckdb_file_is_prepared(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "v.duckdb")) as database:
        database.execute("CREATE TABLE visits AS SELECT i % 5 AS who, i AS n FROM range(20) AS t(i)")
        place = tmp_path / "copy.parquet"
    assert pyarrow.parquet.read_table(prepare(tmp_path / "v.duckdb", unit="who", out=place)).num_rows == 20
    with duckdb.connect(str(tmp_path / "v.duckdb")) as database:
        database.execute("CREATE TABLE others AS SELECT 1 AS who")
    with pytest.raises(SourceUnavailable, match="2 tables"):
        prepare(tmp_path / "v.duckdb", unit="who", out=place)
    inside = InDatabase(str(tmp_path / "v.duckdb"), "others")
    assert pyarrow.parquet.read_table(prepare(inside, unit="who", out=place)).num_rows == 1


def test_neither_the_table_nor_any_other_file_is_written_over(tmp_path: Path) -> None:
    source, other = tmp_path / "visits.parquet", tmp_path / "other.parquet"
    for file in (source, other):
        pyarrow.parquet.write_table(people(), file)
    before = source.read_bytes()
    (tmp_path / "link.parquet").symlink_to(source)
    for out in (source, other, tmp_path / "link.parquet"):
        with pytest.raises(SourceUnavailable, match="would be lost"):
            prepare(source, unit="who", out=out)
    assert source.read_bytes() == other.read_bytes() == before
    first = prepare(source, unit="who", out=tmp_path / "copy.parquet").read_bytes()
    assert prepare(source, unit="who", out=tmp_path / "copy.parquet").read_bytes() != first


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"unit": "nobody"}, UnknownName),
        ({"types": {"nothing": "number"}}, UnknownName),
        ({"types": {"cost": "money"}}, OutOfRange),
    ],
)
def test_what_fails_leaves_nothing_behind(tmp_path: Path, options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        prepare(people(), **{"unit": "who", "out": tmp_path / "copy.parquet", **options})
    assert list(tmp_path.iterdir()) == []


def test_an_engine_that_gives_up_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = DuckDB.rows

    def half(engine: DuckDB, sql: str, **options: Any) -> Any:
        if not sql.startswith("COPY"):
            return whole(engine, sql, **options)
        next(tmp_path.glob(".copy.*")).joinpath("copy.parquet").write_bytes(b"half")
        raise EngineFailed

    monkeypatch.setattr(DuckDB, "rows", half)
    with pytest.raises(SourceUnavailable, match="time and memory"):
        prepare(people(), unit="who", out=tmp_path / "copy.parquet")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("out", ["copy.csv", "cop*.parquet", "nowhere/copy.parquet"])
def test_a_copy_is_one_parquet_file_in_a_folder_that_is_there(tmp_path: Path, out: str) -> None:
    with pytest.raises(SourceUnavailable):
        prepare(people(), unit="who", out=tmp_path / out)


def test_a_copy_is_not_prepared_again(tmp_path: Path) -> None:
    copied(people(), tmp_path)
    with pytest.raises(SourceUnavailable, match="prepared already"):
        prepare(tmp_path / "copy.parquet", unit="who", out=tmp_path / "again.parquet")


def test_nobody_else_may_read_the_copy_if_nobody_may_read_the_table(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(people(), tmp_path / "visits.parquet")
    (tmp_path / "visits.parquet").chmod(0o600)
    place = prepare(tmp_path / "visits.parquet", unit="who", out=tmp_path / "copy.parquet")
    assert place.stat().st_mode & 0o777 == 0o600
