"""Nothing but questions about declared tables gets through, and the engine could not do anything else anyway."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hubbub.engines import DuckDB, EngineFailed
from hubbub.schema.tables import Column, Dataset, Kind, PersonLink, Table
from hubbub.sql.quote import plan_text
from hubbub.terms import Budget, HubbubError, QueryError

DATASET = Dataset(
    name="d",
    population="d",
    unit="visits.pid",
    budget=Budget(1, 1e-6),
    tables=(
        Table(
            name="visits",
            source="",
            columns=(
                Column(name="pid", kind=Kind.INTEGER),
                Column(name="ward", kind=Kind.TEXT, values=("n", "s")),
                Column(name="cost", kind=Kind.NUMBER, lower=Fraction(0), upper=Fraction(10)),
                Column(name="day", kind=Kind.DATE),
                Column(name='odd"name', kind=Kind.TEXT),
            ),
            link=PersonLink("pid"),
            max_rows_per_unit=2,
        ),
        Table(name="wards", source="", columns=(Column(name="ward", kind=Kind.TEXT),), key="ward", public=True),
    ),
)

COMMANDS = """
PRAGMA database_list
PRAGMA table_info('visits')
ATTACH '/tmp/other.db' AS other
DETACH visits
COPY visits TO '/tmp/leak.csv'
COPY (SELECT * FROM visits) TO '/tmp/leak.parquet' (FORMAT parquet)
EXPORT DATABASE '/tmp/leak'
IMPORT DATABASE '/tmp/leak'
SET enable_external_access = true
SET memory_limit = '1KB'
RESET lock_configuration
LOAD httpfs
INSTALL httpfs
FORCE INSTALL spatial FROM community
CALL pragma_version()
CHECKPOINT
VACUUM
ANALYZE visits
USE memory
BEGIN TRANSACTION
COMMIT
ROLLBACK
PREPARE q AS SELECT COUNT(*) FROM visits
EXECUTE q
DEALLOCATE q
EXPLAIN SELECT COUNT(*) FROM visits
EXPLAIN ANALYZE SELECT COUNT(*) FROM visits
DESCRIBE visits
SHOW TABLES
SHOW ALL TABLES
SUMMARIZE visits
CREATE TABLE leak AS SELECT * FROM visits
CREATE OR REPLACE VIEW visits AS SELECT 1
CREATE MACRO f(x) AS x
CREATE SECRET s (TYPE s3)
CREATE SCHEMA leak
CREATE TYPE t AS ENUM ('a')
DROP TABLE visits
DROP VIEW visits
ALTER TABLE visits ADD COLUMN x INTEGER
INSERT INTO visits VALUES (1)
INSERT INTO visits SELECT * FROM visits
UPDATE visits SET cost = 0
DELETE FROM visits
TRUNCATE visits
MERGE INTO visits USING wards ON true WHEN MATCHED THEN DELETE
GRANT ALL ON visits TO public
COMMENT ON TABLE visits IS 'x'
PIVOT visits ON ward USING COUNT(*)
UNPIVOT visits ON cost INTO NAME n VALUE v
FROM visits
FROM visits SELECT COUNT(*) WHERE read_text('/etc/passwd') IS NOT NULL
VALUES (1)
TABLE visits
KILL 1
""".strip().splitlines()

STATEMENTS = """
SELECT COUNT(*) FROM visits; SELECT COUNT(*) FROM visits
SELECT COUNT(*) FROM visits; DROP TABLE visits
SELECT COUNT(*) FROM visits; --
SELECT COUNT(*) FROM '/etc/passwd'
SELECT COUNT(*) FROM "/etc/passwd"
SELECT COUNT(*) FROM 'visits.parquet'
SELECT COUNT(*) FROM read_csv('/etc/passwd')
SELECT COUNT(*) FROM read_text('/etc/passwd')
SELECT COUNT(*) FROM read_blob('/etc/*')
SELECT COUNT(*) FROM read_parquet('https://example.org/x.parquet')
SELECT COUNT(*) FROM glob('/*')
SELECT COUNT(*) FROM range(10)
SELECT COUNT(*) FROM generate_series(1, 10)
SELECT COUNT(*) FROM unnest([1, 2])
SELECT COUNT(*) FROM duckdb_tables()
SELECT COUNT(*) FROM duckdb_settings()
SELECT COUNT(*) FROM information_schema.tables
SELECT COUNT(*) FROM pg_catalog.pg_class
SELECT COUNT(*) FROM sqlite_master
SELECT COUNT(*) FROM main.visits
SELECT COUNT(*) FROM memory.main.visits
SELECT COUNT(*) FROM query('SELECT 1')
SELECT COUNT(*) FROM query_table('visits')
SELECT COUNT(*) FROM visits TABLESAMPLE 10%
SELECT COUNT(*) FROM visits USING SAMPLE 10
SELECT COUNT(*) FROM visits AS OF TIMESTAMP '2020-01-01'
SELECT COUNT(*) FROM visits v, LATERAL (SELECT v.cost) x
SELECT COUNT(*) FROM visits FULL JOIN visits x ON visits.pid = x.pid
SELECT COUNT(*) FROM visits RIGHT JOIN visits x ON visits.pid = x.pid
SELECT COUNT(*) FROM visits CROSS JOIN visits x
SELECT COUNT(*) FROM visits NATURAL JOIN visits x
SELECT COUNT(*) FROM visits ASOF JOIN visits x ON visits.day >= x.day
SELECT COUNT(*) FROM visits POSITIONAL JOIN visits x
SELECT COUNT(*) FROM visits SEMI JOIN visits x ON visits.pid = x.pid
SELECT COUNT(*) FROM visits ANTI JOIN visits x ON visits.cost = x.cost
SELECT COUNT(*) FROM visits, visits x
SELECT COUNT(*) FROM visits JOIN visits x ON visits.ward = x.ward
SELECT COUNT(*) FROM visits JOIN visits x ON visits.pid = x.pid OR TRUE
SELECT COUNT(*) FROM visits JOIN visits x ON visits.pid > x.pid
SELECT COUNT(*) FROM visits JOIN visits x ON visits.pid + 0 = x.pid
WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT COUNT(*) FROM r
WITH RECURSIVE r AS (SELECT pid FROM visits) SELECT COUNT(*) FROM r
WITH v AS MATERIALIZED (DELETE FROM visits RETURNING *) SELECT COUNT(*) FROM v
WITH visits AS (SELECT * FROM visits) SELECT COUNT(*) FROM other.visits
SELECT random() FROM visits
SELECT SUM(random()) FROM visits
SELECT COUNT(*) FROM visits WHERE random() < 0.5
SELECT COUNT(*) FROM visits WHERE day > CURRENT_TIME
SELECT COUNT(*) FROM visits WHERE uuid() IS NULL
SELECT COUNT(*) FROM visits WHERE setseed(0.5) IS NULL
SELECT COUNT(*) FROM visits WHERE nextval('s') > 1
SELECT COUNT(*) FROM visits WHERE getenv('HOME') = 'x'
SELECT COUNT(*) FROM visits WHERE current_setting('threads') = 1
SELECT COUNT(*) FROM visits WHERE read_text('/etc/passwd') = 'x'
SELECT COUNT(*) FROM visits WHERE error('stop') IS NULL
SELECT COUNT(*) FROM visits WHERE ward ~ '(?=a+)+$'
SELECT COUNT(*) FROM visits WHERE regexp_matches(ward, ward)
SELECT COUNT(*) FROM visits WHERE ward SIMILAR TO '(a{100}){100}'
SELECT COUNT(*) FROM visits WHERE ward LIKE ward
SELECT COUNT(*) FROM visits WHERE ward LIKE 'a%' ESCAPE '$'
SELECT COUNT(*) FROM visits WHERE repeat(ward, 1000000000) = ''
SELECT COUNT(*) FROM visits WHERE lpad(ward, 1000000000, 'x') = ''
SELECT COUNT(*) FROM visits WHERE list_sum(range(CAST(cost AS INTEGER))) > 1
SELECT COUNT(*) FROM visits WHERE rowid = 1
SELECT COUNT(*) FROM visits WHERE visits.rowid = 1
SELECT COUNT(*) FROM visits WHERE _hb_u = 1
SELECT COUNT(*) FROM visits WHERE pid = ANY (SELECT pid FROM visits)
SELECT COUNT(*) FROM visits WHERE cost > ALL (SELECT cost FROM visits)
SELECT COUNT(*) FROM visits WHERE cost = (SELECT MAX(cost) FROM visits)
SELECT COUNT(*) FROM visits WHERE cost IN (SELECT cost FROM visits)
SELECT COUNT(*) FROM visits WHERE EXISTS (SELECT 1 FROM visits x WHERE x.cost > visits.cost)
SELECT COUNT(*) FROM visits WHERE (pid, cost) IN (SELECT pid, cost FROM visits)
SELECT COUNT(*) FROM visits WHERE x -> y
SELECT COUNT(*) FROM visits WHERE visits = 1
SELECT COUNT(*) FROM visits WHERE $1 = pid
SELECT COUNT(*) FROM visits WHERE ? = pid
SELECT COUNT(*) FROM visits WHERE :name = pid
SELECT COUNT(*) FROM visits QUALIFY row_number() OVER () = 1
SELECT COUNT(*) OVER () FROM visits
SELECT COUNT(*) FROM (SELECT row_number() OVER (ORDER BY cost) AS r FROM visits) WHERE r = 1
SELECT COUNT(*) FROM (SELECT pid FROM visits ORDER BY cost LIMIT 1)
SELECT COUNT(*) FROM (SELECT DISTINCT ON (ward) * FROM visits)
SELECT COUNT(*) FROM (SELECT pid FROM visits UNION SELECT pid FROM visits)
SELECT COUNT(*) FROM (SELECT pid FROM visits EXCEPT SELECT pid FROM visits)
SELECT COUNT(*) FROM visits INTERSECT SELECT COUNT(*) FROM visits
SELECT COUNT(*) FROM visits EXCEPT SELECT COUNT(*) FROM visits
SELECT COUNT(*) INTO leak FROM visits
SELECT COUNT(*) FROM visits FOR UPDATE
SELECT COUNT(*) FROM visits LIMIT 10%
SELECT COUNT(*) FROM visits LIMIT (SELECT 1)
SELECT ward FROM visits GROUP BY ALL ORDER BY ALL
SELECT ward, COUNT(*) FROM visits GROUP BY ward, GROUPING SETS ((pid))
SELECT pid, COUNT(*) FROM visits GROUP BY pid
SELECT pid, COUNT(*) FROM visits GROUP BY 1
SELECT * FROM visits
SELECT visits FROM visits
SELECT COLUMNS('c.*') FROM visits
SELECT SUM(COLUMNS(*)) FROM visits
SELECT * EXCLUDE (pid) FROM visits
SELECT cost FROM visits
SELECT MAX_BY(pid, cost) FROM visits
SELECT ARG_MAX(pid, cost) FROM visits
SELECT FIRST(pid) FROM visits
SELECT ANY_VALUE(pid) FROM visits
SELECT LIST(pid) FROM visits
SELECT STRING_AGG(ward, ',') FROM visits
SELECT HISTOGRAM(cost) FROM visits
SELECT MODE(pid) FROM visits
SELECT BIT_XOR(pid) FROM visits
SELECT PRODUCT(cost) FROM visits
SELECT MODE(ward) FROM visits
SELECT SUM(DISTINCT cost) FROM visits
SELECT SUM(DISTINCT pid, cost) FROM visits
SELECT COUNT(*) FILTER (WHERE (SELECT MAX(cost) FROM visits) > 1) FROM visits
SELECT CASE WHEN COUNT(*) > 1 THEN read_text('/etc/passwd') END FROM visits
SELECT COUNT(*) + (SELECT COUNT(*) FROM visits) FROM visits
SELECT SUM(pid) FROM visits
SELECT MEDIAN(pid) FROM visits
SELECT SUM(CLIP()) FROM visits
SELECT SUM(CLIP(cost)) FROM visits
SELECT SUM(CLIP(cost, 9)) FROM visits
SELECT SUM(CLIP(cost, 0, 9, 1)) FROM visits
SELECT COUNT(DATE_PART()) FROM visits
SELECT COUNT(DATE_PART('year')) FROM visits
SELECT COUNT(DATE_PART('year', day, day)) FROM visits
SELECT COUNT(SUBSTRING(ward)) FROM visits
SELECT COUNT(REPLACE(ward, 'a')) FROM visits
SELECT COUNT(*)
SELECT 1
SELECT COUNT(*) FROM wards
""".strip().splitlines()

TRICKS = [
    "",
    " ",
    ";",
    "--",
    "/* SELECT COUNT(*) FROM visits",
    "SELECT COUNT(*) FROM visits /* ; */ ; /* */ DROP TABLE visits",
    "SELECT COUNT(*) FROM visits WHERE ward = 'n' OR 1=1; --'",
    "SELECT COUNT(*) FROM visits\x00",
    "SELECT COUNT(*) FROM visits WHERE ward = 'n\x00'",
    "SELECT COUNT(*) FROM v\u0131sits",
    "SELECT COUNT(*) FROM \uff56isits",
    "SELECT COUNT(*) FROM visits\u202e WHERE TRUE",
    "SEL\u0435CT COUNT(*) FROM visits",
    "SELECT COUNT(*) FROM visits\uff1b DROP TABLE visits",
    'SELECT COUNT(*) FROM "visits""; DROP TABLE visits; --"',
    "SELECT COUNT(*) FROM [visits]",
    "SELECT COUNT(*) FROM `visits`",
    "SELECT COUNT(*) FROM visits WHERE ward = E'\\'; DROP TABLE visits; --'",
    "SELECT COUNT(*) FROM visits WHERE ward = $$n$$; SELECT 1",
    "SELECT {fn COUNT(*)} FROM visits",
    "SELECT COUNT(*) FROM " + "(" * 300 + "visits" + ")" * 300,
    "SELECT " + "-" * 50_000 + "1 FROM visits",
    "SELECT COUNT(*) FROM visits WHERE " + "NOT " * 5_000 + "TRUE",
    "SELECT SUM(" + "(" * 500 + "cost" + ")" * 500 + ") FROM visits",
    "SELECT " + ", ".join(f"COUNT(*) AS c{i}" for i in range(9_000)) + " FROM visits",
    "SELECT COUNT(*) FROM visits WHERE cost > 1e999",
    "SELECT COUNT(*) FROM visits WHERE cost > 1e-999",
    "SELECT COUNT(*) FROM visits WHERE cost > " + "9" * 5_000,
    "SELECT COUNT(*) FROM visits LIMIT " + "9" * 5_000,
    "SELECT ROUND(COUNT(*), 99999999999) FROM visits",
    "SELECT COUNT(*) FROM visits WHERE LEFT(ward, 99999999999) = 'n'",
    "SELECT QUANTILE_CONT(cost, 2) FROM visits",
    "SELECT QUANTILE_CONT(cost, [0.1, 0.9])[1] FROM visits",
    "SELECT COUNT(*) FROM visits WHERE day > DATE '0000-00-00'",
    "SELECT COUNT(*) FROM visits WHERE day > DATE '2020-01-01' + INTERVAL 99999999999999 YEAR",
    "SELECT COUNT(*) FROM visits WHERE day > DATE '2020-01-01' + INTERVAL (cost) DAY",
]
HOSTILE = [*COMMANDS, *STATEMENTS, *TRICKS]
HARMLESS = {  # these read like an attack and are none: a comment, or another way to write an allowed question
    "SELECT COUNT(*) FROM visits; --",
    "WITH RECURSIVE r AS (SELECT pid FROM visits) SELECT COUNT(*) FROM r",
    "SELECT COUNT(*) FROM visits WHERE ward = 'n' OR 1=1; --'",
    "SELECT {fn COUNT(*)} FROM visits",
}


def outcome(text: str) -> type[Exception] | None:
    """What planning the text raises."""
    try:
        plan_text(text, DATASET, gaussian=True)
    except Exception as error:
        return type(error)
    return None


@pytest.mark.parametrize("text", [text for text in HOSTILE if text not in HARMLESS], ids=lambda text: text[:60])
def test_what_is_no_question_about_people_is_refused_before_data_is_read(text: str) -> None:
    error = outcome(text)
    assert error is not None and issubclass(error, QueryError), error


@pytest.mark.parametrize(
    "value", ["n'; DROP TABLE visits; --", "\\", "''", '"', "%", "$$", "\u2019", "/*", "--", "\n;"]
)
def test_a_literal_stays_a_literal(value: str) -> None:
    quoted = value.replace("'", "''")
    planned = plan_text(f"SELECT COUNT(*) FROM visits WHERE ward = '{quoted}'", DATASET, gaussian=True)
    [[statement]] = planned.statements("duckdb", secret="s")
    assert f"'{quoted}'" in statement.sql
    rows = pandas.DataFrame({"pid": [1, 2], "ward": ["n", value], "cost": [1.0, 2.0]})
    engine = DuckDB({"visits": rows})
    assert engine.rows(statement.sql) == [(1,)]
    assert engine.rows('SELECT count(*) FROM "visits"') == [(2,)]
    engine.close()


def test_a_name_stays_a_name() -> None:
    planned = plan_text('SELECT COUNT("odd""name") FROM visits', DATASET, gaussian=True)
    [[statement]] = planned.statements("duckdb", secret="s")
    engine = DuckDB({"visits": pandas.DataFrame({"pid": [1, 2], 'odd"name': ["x", None]})})
    assert engine.rows(statement.sql) == [(1,)]
    engine.close()


WORDS = sorted(
    {word for text in [*COMMANDS, *STATEMENTS] for word in text.split()}
    | {*"(),;*+-/%=<>.[]{}'\"?@~!&^#\\\u00fc\u202e", "$$", "--", "/*", "*/", "::", "||"}
)
GOOD = [
    "SELECT ward, COUNT(*) AS n FROM visits WHERE cost > 1 AND day >= DATE '2020-01-01' GROUP BY ward HAVING n > 2",
    "SELECT AVG(n) FROM (SELECT pid, COUNT(*) AS n FROM visits GROUP BY pid HAVING COUNT(*) > 1) x ORDER BY 1 LIMIT 5",
    "WITH a AS (SELECT pid, SUM(cost) AS s FROM visits GROUP BY pid) SELECT MEDIAN(CLIP(s, 0, 9)) FROM a",
    "SELECT ward, SUM(CASE WHEN cost BETWEEN 1 AND 2 THEN cost ELSE 0 END) FROM visits GROUP BY ROLLUP (ward)",
    "SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM visits x WHERE x.pid = v.pid AND x.cost > v.cost)",
    "SELECT SUM(CLIP(l, 0, 5)) FROM (SELECT LAG(cost) OVER (PARTITION BY pid ORDER BY day) AS l FROM visits)",
    "SELECT UPPER(ward) AS w, COUNT(DISTINCT pid) FILTER (WHERE cost IS NOT NULL) FROM visits GROUP BY w UNION ALL "
    "SELECT 'all', COUNT(DISTINCT pid) FROM visits",
]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM SELECT COUNT(*) FROM visits",
        "(visits)",
        "WITH a AS (SELECT 1) (a)",
        "SELECT COUNT(*) FROM (visits)",
        "SELECT n FROM SELECT COUNT(*) AS n FROM visits",
    ],
)
def test_tables_and_selects_in_odd_places_are_refused_or_planned(text: str) -> None:
    error = outcome(text)
    assert error is None or issubclass(error, HubbubError)


@pytest.mark.parametrize("text", GOOD)
def test_ordinary_questions_pass(text: str) -> None:
    assert outcome(text) is None


def test_mixed_up_questions_are_planned_or_refused_in_our_words(soak: int) -> None:
    @settings(max_examples=400 * soak, deadline=None)
    @given(st.sampled_from(GOOD + STATEMENTS), st.data())
    def check(text: str, data: st.DataObject) -> None:
        words = text.split()
        for _ in range(data.draw(st.integers(1, 3))):
            place = data.draw(st.integers(0, len(words)))
            cut = data.draw(st.integers(0, 2))
            words[place : place + cut] = data.draw(st.lists(st.sampled_from(WORDS), max_size=2))
        mixed = " ".join(words)
        error = outcome(mixed)
        assert error is None or issubclass(error, HubbubError), (mixed, error)

    check()


def test_any_text_is_planned_or_refused_in_our_words(soak: int) -> None:
    @settings(max_examples=200 * soak, deadline=None)
    @given(st.one_of(st.text(max_size=60), st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)))
    def check(text: str) -> None:
        error = outcome(text)
        assert error is None or issubclass(error, HubbubError), (text, error)

    check()


# ---------------------------------------------------------------- the engine by itself


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[DuckDB]:
    """An engine over one file, with another one beside it that nobody declared."""
    (tmp_path / "secret.csv").write_text("a,b\n1,2\n")
    (tmp_path / "visits.csv").write_text("pid,cost\n1,2\n2,3\n")
    made = DuckDB({"visits": tmp_path / "visits.csv"})
    yield made
    made.close()


OUTSIDE = """
SELECT * FROM read_csv('{folder}/secret.csv')
SELECT * FROM '{folder}/secret.csv'
SELECT * FROM read_text('{folder}/secret.csv')
SELECT * FROM read_blob('/etc/passwd')
SELECT * FROM glob('{folder}/*')
SELECT * FROM sniff_csv('{folder}/secret.csv')
COPY (SELECT 1) TO '{folder}/leak.csv'
COPY visits TO '{folder}/leak.parquet' (FORMAT parquet)
EXPORT DATABASE '{folder}/leak'
ATTACH '{folder}/leak.db' AS leak
LOAD httpfs
INSTALL httpfs
SELECT * FROM read_csv('https://example.org/x.csv')
SET enable_external_access = true
SET lock_configuration = false
SET memory_limit = '1GB'
SET temp_directory = '{folder}'
SET threads = 1
SET TimeZone = 'Asia/Tokyo'
RESET enable_external_access
PRAGMA threads = 2
CALL pragma_platform()
SELECT getenv('HOME')
SELECT * FROM DATASET
CREATE SECRET s (TYPE s3)
""".strip().splitlines()


@pytest.mark.parametrize("text", OUTSIDE)
def test_the_engine_reaches_nothing_but_its_sources(text: str, engine: DuckDB, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    asked = text.format(folder=tmp_path)
    if asked.startswith("CALL"):
        assert "secret" not in str(engine.rows(asked))
    else:
        with pytest.raises(EngineFailed) as caught:
            engine.rows(asked)
        assert str(caught.value) == ""
    assert sorted(tmp_path.rglob("*")) == before
    assert engine.rows('SELECT count(*) FROM "visits"') == [(2,)]


@pytest.mark.parametrize(
    "text", ["CREATE TABLE x AS SELECT 1", 'DROP VIEW "visits"', 'CREATE OR REPLACE VIEW "visits" AS SELECT 1 AS pid']
)
def test_what_the_engine_knows_cannot_be_changed(text: str, engine: DuckDB) -> None:
    with pytest.raises(EngineFailed):
        engine.rows(text)
    assert engine.rows('SELECT count(*) FROM "visits"') == [(2,)]


def test_no_message_of_the_engine_leaves_it(engine: DuckDB) -> None:
    with pytest.raises(EngineFailed) as caught:
        engine.rows("SELECT CAST('secret' AS INTEGER) FROM visits")
    assert str(caught.value) == "" and caught.value.__cause__ is None
    assert caught.value.__suppress_context__
