"""Statements around private questions, asked through a connection: what they give, cost, repeat and refuse."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sqlglot

import hubbub as hb
from hubbub.ledger import Ledger
from hubbub.releases import DerivedRelease, Release
from hubbub.sql import Connection, dbapi
from hubbub.sql.compiler.syntax.source_text import QueryText
from hubbub.sql.relation.choice_words import ROWS, VALUES
from hubbub.sql.relation.outer_rules import check_outer
from hubbub.sql.relation.relation_preview import RelationPreview
from hubbub.terms import BudgetExceeded, HubbubError, MixesPeople, NoAnswer, NotAllowed, OverLimit, UnknownName

N = "(SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)"
M = "(SELECT ward, AVG(cost) AS m FROM visits GROUP BY ward)"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Connection]:
    rng = np.random.default_rng(7)
    people = rng.integers(1, 401, 2_000)
    visits = pd.DataFrame(
        {
            "person": people,
            "ward": np.array(["north", "south", "east"])[people % 3],
            "cost": rng.gamma(2.0, 150.0, 2_000).round(2),
            "diagnosis": rng.choice(["flu", "cold"], 2_000),
        }
    )
    visits.to_parquet(tmp_path / "visits.parquet")
    with hb.connect(
        tmp_path / "visits.parquet",
        unit="person",
        max_rows_per_unit=10,
        bounds={"cost": (0, 1000, 0.01)},
        keys={"ward": ["north", "south", "east"]},
        budget=hb.Budget(3, 1e-6),
        ledger=Ledger(tmp_path / "ledger.db", state=tmp_path / "state"),
    ) as connection:
        yield connection


def spent(db: Connection) -> object:
    return db.ledger.balance(db.dataset.population).spent


def entries(db: Connection) -> int:
    return db.budget.entries


# ---------------------------------------------------------------- what they give


def test_a_key_that_is_worked_on_is_called_as_select_calls_it(db: Connection) -> None:
    """In remarks and inner questions, too."""
    text = "SELECT FLOOR(cost / 500) AS class, COUNT(*) AS n, SUM(COUNT(*)) OVER () AS t FROM visits GROUP BY class"
    assert "Rows with no class, or one outside the public values, are left out." in db.sql(text, epsilon=0.1).remarks()


@pytest.mark.parametrize("inner", ["HAVING COUNT(*) > 100", "HAVING COUNT(*) > 100 ORDER BY ward LIMIT 10"])
def test_rows_that_an_inner_having_left_out_could_have_been_shown(tmp_path: Path, inner: str) -> None:
    """Ten wards of exactly a hundred visits: none has more, and noise lifts about half of them above."""
    wards = [f"ward {number}" for number in range(10)]
    visits = pd.DataFrame({"person": range(1_000), "ward": wards * 100})
    facts = {"keys": {"ward": wards}, "budget": hb.Budget(30, 1e-6), "ledger": tmp_path / "ledger.db"}
    text = f"SELECT COUNT(*) AS c FROM (SELECT ward, COUNT(*) FROM visits GROUP BY ward {inner}) AS q"
    with hb.connect(visits, unit="person", max_rows_per_unit=1, name="visits", **facts) as connection:
        lows = [connection.sql(text, epsilon=1, fresh=True)["c"].interval(0.95)[0][0] for _ in range(8)]
    assert sum(low == 0 for low in lows) >= 6


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT ward, n - LAG(n) OVER (ORDER BY ward) AS d FROM {N}",
        f"SELECT ward, SUM(n) OVER (ORDER BY ward) AS running FROM {N}",
        f"SELECT ward, n / SUM(n) OVER () AS share FROM {N}",
        f"SELECT ward, RANK() OVER (ORDER BY n DESC) AS r FROM {N} QUALIFY r <= 2",
        f"SELECT a.ward, n * m AS total FROM {N} AS a JOIN {M} AS b USING (ward)",
        f"WITH a AS {N}, b AS (SELECT ward, n * 2 AS twice FROM a) SELECT * FROM b JOIN a USING (ward)",
        f"SELECT ward, n FROM {N} UNION SELECT 'all', SUM(n) FROM {N}",
        f"SELECT AVG(n) AS mean, MAX(n) AS most, ARG_MAX(ward, n) AS busiest FROM {N}",
        f"WITH a AS {N} SELECT ward, n / (SELECT SUM(n) FROM a) AS share FROM a",
        f"WITH a AS {N} SELECT ward, 100 * (n / NULLIF((SELECT MAX(n) FROM a), 0)) AS share FROM a",
        "SELECT ward, COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM visits GROUP BY ward",
        "SELECT ward, CASE WHEN COUNT(*) > 500 THEN 'large' ELSE 'small' END AS size FROM visits GROUP BY ward",
        "SELECT diagnosis, people, RANK() OVER (ORDER BY people) AS r FROM (SELECT diagnosis, "
        "COUNT(DISTINCT person) AS people FROM visits GROUP BY diagnosis)",
        f"SELECT 'ward ' || ward || ': ' || REPLACE(CAST(n AS TEXT), '-', 'minus ') || ' visits' AS line, n FROM {N}",
        f"SELECT ward, n, label FROM {N} JOIN (VALUES ('north', 'N'), ('south', 'S')) AS v(ward, label) USING (ward)",
    ],
)
def test_a_statement_around_questions_is_answered_and_repeated_for_free(db: Connection, text: str) -> None:
    first = db.sql(text, epsilon=1)
    before = entries(db)
    again = db.sql(text, epsilon=1)
    assert isinstance(first, DerivedRelease) and len(first) >= 1
    assert again.repeated and entries(db) == before
    assert again.to_pandas().equals(first.to_pandas())
    assert Release.from_json(json.loads(json.dumps(first.to_json()))).dbapi_rows() == first.dbapi_rows()
    assert first._repr_html_() and str(first) and first.to_csv() and first.to_arrow().num_rows == len(first)


def test_values_are_worked_out_from_the_released_ones(db: Connection) -> None:
    inner = db.sql("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", epsilon=1)
    counts = dict(zip(inner["ward"].values, inner["n"].values, strict=True))
    before = entries(db)
    shares = db.sql(f"SELECT ward, n / SUM(n) OVER () AS share FROM {N}", epsilon=1)
    assert shares.repeated and entries(db) == before, "its question was asked before"
    for ward, share in shares.dbapi_rows():
        assert share == pytest.approx(counts[ward] / sum(counts.values()))  # type: ignore[index,operator,arg-type]


TAKEN_APART = [  # one SELECT, and the same as a SELECT around a question
    (
        "SELECT ward, diagnosis, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*)) AS r FROM visits GROUP BY ALL",
        "SELECT ward, diagnosis, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*)) AS r FROM visits GROUP BY 1, diagnosis",
    ),
    (
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ALL QUALIFY RANK() OVER (ORDER BY n DESC) <= 2",
        f"SELECT ward, n FROM {N} QUALIFY RANK() OVER (ORDER BY n DESC) <= 2",
    ),
    (
        "SELECT ward, COUNT(*) AS n, SUM(n) OVER () AS total, n / total AS share FROM visits GROUP BY ALL",
        f"SELECT ward, n, SUM(n) OVER () AS total, n / SUM(n) OVER () AS share FROM {N}",
    ),
    (
        "SELECT ward, COUNT(*) / (SELECT COUNT(*) FROM visits) AS share FROM visits GROUP BY ward",
        f"SELECT ward, n / (SELECT m FROM (SELECT COUNT(*) AS m FROM visits)) AS share FROM {N}",
    ),
    (
        "WITH everybody AS (SELECT COUNT(*) AS m FROM visits), some AS (SELECT * FROM visits WHERE cost > 200) "
        "SELECT ward, COUNT(*) / (SELECT m FROM everybody) AS share FROM some GROUP BY ward",
        "SELECT ward, n / (SELECT m FROM (SELECT COUNT(*) AS m FROM visits)) AS share "
        "FROM (SELECT ward, COUNT(*) AS n FROM (SELECT * FROM visits WHERE cost > 200) GROUP BY ward)",
    ),
    (
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING n > (SELECT COUNT(*) / 4 FROM visits)",
        f"SELECT ward, n FROM (SELECT * FROM {N} WHERE n > (SELECT COUNT(*) / 4 FROM visits))",
    ),
    (
        "SELECT COALESCE(ward, 'all') AS name, COUNT(*) AS n FROM visits GROUP BY ROLLUP (ward)",
        "SELECT COALESCE(ward, 'all') AS name, n FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ROLLUP (ward))",
    ),
    (
        "SELECT CASE WHEN GROUPING(ward) = 1 THEN 'all' ELSE ward END AS name, COUNT(*) AS n FROM visits "
        "GROUP BY ROLLUP (ward)",
        "SELECT CASE WHEN g = 1 THEN 'all' ELSE ward END AS name, n FROM (SELECT ward, COUNT(*) AS n, "
        "GROUPING(ward) AS g FROM visits GROUP BY ROLLUP (ward))",
    ),
]


@pytest.mark.parametrize(("one", "two"), TAKEN_APART)
def test_one_select_that_does_both_is_answered_as_the_two_that_it_stands_for(
    db: Connection, one: str, two: str
) -> None:
    first, again = db.sql(one, epsilon=1), db.sql(two, epsilon=1)
    assert again.repeated and isinstance(first, DerivedRelease)
    assert sorted(map(str, first.dbapi_rows())) == sorted(map(str, again.dbapi_rows()))
    assert {k: sorted(map(str, v)) for k, v in first.intervals().items()} == {
        k: sorted(map(str, v)) for k, v in again.intervals().items()
    }


def test_a_subquery_that_goes_by_a_row_beside_it_is_no_number_of_its_own(db: Connection) -> None:
    with pytest.raises(MixesPeople, match="adds up over several people"):
        db.preview(
            "SELECT ward, COUNT(*) / (SELECT COUNT(*) FROM visits w WHERE w.ward = v.ward) AS s "
            "FROM visits v GROUP BY ward",
            epsilon=1,
        )


def test_fetch_first_is_limit(db: Connection) -> None:
    for text in ("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", f"SELECT ward, SQRT(ABS(n)) AS n FROM {N}"):
        limited = db.sql(f"{text} ORDER BY n DESC LIMIT 2", epsilon=1)
        fetched = db.sql(f"{text} ORDER BY n DESC FETCH FIRST 2 ROWS ONLY", epsilon=1)
        assert fetched.intervals() == limited.intervals() and len(fetched) == 2
        assert len(db.sql(f"{text} ORDER BY n FETCH NEXT ROW ONLY", epsilon=1)) == 1
    with pytest.raises(NotAllowed):
        db.preview("SELECT ward, COUNT(*) AS n FROM visits GROUP BY 1 FETCH FIRST 2 ROWS WITH TIES", epsilon=1)


def test_count_if_counts_rows_and_released_numbers(db: Connection) -> None:
    first = db.sql("SELECT COUNT_IF(cost > 100) AS n FROM visits", epsilon=1)
    long = db.sql("SELECT COUNT(*) FILTER (WHERE cost > 100) AS n FROM visits", epsilon=1)
    assert long.repeated and long.intervals() == first.intervals()
    assert db.sql("SELECT COUNTIF(cost > 100) AS n FROM visits", epsilon=1).repeated
    assert db.sql(f"SELECT COUNT_IF(n > 10) AS n FROM {N}", epsilon=1).dbapi_rows() == [(3,)]


def test_what_was_a_question_stays_one(db: Connection) -> None:
    for text in (
        f"SELECT ward, n FROM {N} WHERE n > 10 ORDER BY n LIMIT 2",
        "SELECT AVG(k) AS m FROM (SELECT person, COUNT(*) AS k FROM visits GROUP BY person)",
        f"SELECT ward, n FROM {N} UNION ALL SELECT ward, n FROM {N}",
    ):
        assert not isinstance(db.sql(text, epsilon=0.1), DerivedRelease)


# ---------------------------------------------------------------- what they cost


def test_the_price_is_shared_out_and_each_question_has_its_receipt(db: Connection) -> None:
    answer = db.sql(f"SELECT a.n, b.m FROM {N} AS a JOIN {M} AS b USING (ward)", epsilon=1)
    assert isinstance(answer, DerivedRelease)
    assert [float(each.guarantee.holds.epsilon) for each in answer.inner] == [0.5, 0.5]  # type: ignore[attr-defined]
    assert float(answer.guarantee.holds.epsilon) == 1  # type: ignore[attr-defined]
    assert len(answer.receipts) == 2 and "receipt #" in answer.price()


def test_one_question_that_stands_there_twice_is_charged_once(db: Connection) -> None:
    answer = db.sql(f"SELECT a.ward, a.n - b.n AS d FROM {N} AS a JOIN {N} AS b USING (ward)", epsilon=1)
    assert isinstance(answer, DerivedRelease)
    assert len(answer.receipts) == 1 and float(answer.guarantee.holds.epsilon) == 1  # type: ignore[attr-defined]
    assert answer.intervals()["d"] == [(0, 0)] * 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"SELECT ward, n * m AS v FROM {N} JOIN {M} USING (ward) WHERE m > 10", (ROWS,)),
        (f"SELECT ward, SQRT(n) AS r FROM (SELECT * FROM {N} ORDER BY n LIMIT 2)", (ROWS,)),
        (f"SELECT ward, n FROM {N} QUALIFY RANK() OVER (ORDER BY n) = 1", (ROWS,)),
        (f"SELECT ward, SUM(n) OVER () AS t FROM {N} ORDER BY ALL LIMIT 2", (ROWS,)),
        (f"SELECT ward, RANK() OVER (ORDER BY n) AS r FROM {N}", (VALUES,)),
        (f"SELECT MAX(n) AS most FROM {N}", (VALUES,)),
        (f"SELECT ward, n / SUM(n) OVER () AS share FROM {N} WHERE ward <> 'east' ORDER BY ward LIMIT 1", ()),
    ],
)
def test_a_preview_says_where_noisy_values_decide(db: Connection, text: str, words: tuple[str, ...]) -> None:
    preview = db.preview(text, epsilon=1)
    assert isinstance(preview, RelationPreview) and preview.around == words
    assert db.explain(text).around == words  # type: ignore[union-attr]
    assert all(each in " ".join(preview.text().split()) for each in words)


def test_a_preview_shows_every_question_and_costs_nothing(db: Connection) -> None:
    before = spent(db)
    preview = db.preview(f"SELECT a.n, b.m FROM {N} AS a JOIN {M} AS b USING (ward)", epsilon=1)
    assert preview.affordable and {"n", "m"} <= set(preview.errors) and not preview.repeated
    assert len(preview.to_json()["inner"]) == 2 and "Question 2" in preview.text()  # type: ignore[arg-type]
    explained = db.explain(f"SELECT MAX(n) FROM {N}")
    assert "noise" in explained.text() and explained.to_json()["inner"]
    assert spent(db) == before


def test_within_holds_for_each_question(db: Connection) -> None:
    answer = db.sql(f"SELECT MAX(n) AS most FROM {N}", within=60)
    assert isinstance(answer, DerivedRelease)
    low, high = answer.inner[0].intervals()["n"][0]
    assert (high - low) / 2 <= 60  # type: ignore[operator]


# ---------------------------------------------------------------- what is refused, before anything is charged

HOSTILE = [
    (f"SELECT n FROM {N}, read_csv('/etc/passwd')", NotAllowed),
    (f"SELECT n FROM {N}, '/etc/passwd'", UnknownName),
    (f"SELECT n FROM {N}, read_text('/etc/hostname')", NotAllowed),
    (f"SELECT n FROM {N}, duckdb_settings()", NotAllowed),
    (f"SELECT n FROM {N}, information_schema.tables", NotAllowed),
    (f"SELECT n FROM {N}, unnest([1, 2])", NotAllowed),
    (f"SELECT n, getenv('HOME') FROM {N}", NotAllowed),
    (f"SELECT n, current_setting('memory_limit') FROM {N}", NotAllowed),
    (f"SELECT n, random() FROM {N}", NotAllowed),
    (f"SELECT n, current_localtime() FROM {N}", NotAllowed),
    (f"SELECT n, age(DATE '2020-01-01') FROM {N}", NotAllowed),
    (f"SELECT n, pg_sleep(0) FROM {N}", NotAllowed),
    (f"SELECT n, pg_conf_load_time() FROM {N}", NotAllowed),
    (f"SELECT n, REPEAT('x', 4000000000) FROM {N}", NotAllowed),
    (f"SELECT n, ('x').repeat(4000000000) FROM {N}", HubbubError),
    (f"""SELECT n, "repeat"('x', 4000000000) FROM {N}""", HubbubError),
    (f"SELECT n, main.repeat('x', 4000000000) FROM {N}", HubbubError),
    (
        "WITH "
        + ", ".join(f"c{i + 1} AS (SELECT n, s || s || s || s AS s FROM c{i})" for i in range(12)).replace(
            "c1 AS", f"c0 AS (SELECT n, 'xxxxxxxx' AS s FROM {N}), c1 AS", 1
        )
        + " SELECT n, LENGTH(s) AS l FROM c12",
        HubbubError,
    ),
    ("SELECT n, " + "REPLACE(" * 12 + "'a'" + ", 'a', 'aaaaaaaaaaaaaaaa')" * 12 + f" AS l FROM {N}", HubbubError),
    (f"SELECT n, LENGTH(LPAD('x', 2000000000, 'y')) FROM {N}", NotAllowed),
    (f"SELECT n, RPAD('x', 2000000000, 'y') FROM {N}", NotAllowed),
    (f"SELECT n, PRINTF('%2000000000d', 1) FROM {N}", NotAllowed),
    (f"SELECT n, FORMAT('{{:>2000000000}}', 1) FROM {N}", NotAllowed),
    (f"SELECT n, LEN(RANGE(10000000000)) FROM {N}", NotAllowed),
    (f"SELECT n, LIST_SUM(GENERATE_SERIES(1, 10000000000)) FROM {N}", NotAllowed),
    (f"SELECT n, LEN(LIST_RESIZE([1], 10000000000)) FROM {N}", NotAllowed),
    (f"SELECT n, BAR(1, 0, 1, 1000000000) FROM {N}", NotAllowed),
    (f"SELECT n, BITSTRING('1', 1000000000) FROM {N}", NotAllowed),
    (f"SELECT n, TO_BASE(1, 2, 1000000000) FROM {N}", NotAllowed),
    (f"SELECT LEVENSHTEIN(STRING_AGG(ward, ''), 'x') AS d FROM {N}", NotAllowed),
    (f"SELECT n, editdist3('x', 'y') FROM {N}", NotAllowed),
    (f"SELECT n, DAMERAU_LEVENSHTEIN('x', 'y') FROM {N}", NotAllowed),
    (f"SELECT n FROM {N}, query('SELECT 42')", NotAllowed),
    (f"SELECT n FROM {N}, query_table('_hb_inner_0')", HubbubError),
    (f"SELECT n FROM {N}, generate_series(1, 100000000000)", NotAllowed),
    (f"SELECT n FROM {N}, LATERAL (SELECT * FROM range(10)) AS r", NotAllowed),
    (f"SELECT n FROM {N}, pg_catalog.pg_tables", NotAllowed),
    (f"SELECT n FROM {N}, sqlite_master", UnknownName),
    (f"SELECT n FROM {N}, duckdb_tables", UnknownName),
    (f"SELECT n, current_schema() FROM {N}", NotAllowed),
    (f"SELECT n, current_database() FROM {N}", NotAllowed),
    (f"SELECT n, getvariable('x') FROM {N}", NotAllowed),
    (f"SELECT n, write_log('x') FROM {N}", NotAllowed),
    (f"SELECT n, version() FROM {N}", NotAllowed),
    (f"SELECT n, nextval('s') FROM {N}", NotAllowed),
    (f"SELECT n, setseed(0.5) FROM {N}", NotAllowed),
    (f"SELECT n FROM {N} TABLESAMPLE 1 ROWS", NotAllowed),
    (f"SELECT n, nosuch FROM {N}", NotAllowed),
    (f"SELECT n, TO_CHAR(DATE '2026-05-04', 'YYYY') FROM {N}", NotAllowed),
    ("SELECT COUNT(*) AS n FROM visits WHERE TO_CHAR(cost, '999') = '120'", NotAllowed),
    (f"SELECT a.n / v.cost FROM {N} AS a, visits AS v", NotAllowed),
    (f"SELECT MAX(n) FROM {N} AS a WHERE EXISTS (SELECT 1 FROM visits)", HubbubError),
    ("SELECT RANK() OVER (ORDER BY cost) FROM visits", NotAllowed),
    ("SELECT AVG(n) FROM (SELECT wrad, COUNT(*) AS n FROM visits GROUP BY wrad)", UnknownName),
    (f"WITH _hb_inner_0 AS {N} SELECT MAX(n) FROM _hb_inner_0", HubbubError),
    (
        f"WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r) SELECT i, n FROM r, {N}",
        NotAllowed,
    ),
    (f"COPY (SELECT MAX(n) FROM {N}) TO '/tmp/x'", NotAllowed),
    (f"SELECT MAX(n) FROM {N}; DROP TABLE visits", NotAllowed),
]


@pytest.mark.parametrize(("text", "error"), HOSTILE)
def test_what_reaches_beyond_released_tables_is_refused_for_free(
    db: Connection, text: str, error: type[HubbubError]
) -> None:
    before = (entries(db), spent(db))
    for ask in (db.preview, db.sql):
        with pytest.raises(error) as caught:
            ask(text, epsilon=0.1)
        assert caught.value.fix
    assert (entries(db), spent(db)) == before


def test_texts_that_double_too_often_are_refused() -> None:
    levels = ", ".join(f"c{i + 1} AS (SELECT s || s || s || s AS s FROM c{i})" for i in range(6))
    doubled = f"WITH c0 AS (SELECT k AS s FROM _hb_inner_0), {levels} SELECT LENGTH(s) AS l FROM c6"
    replaced = "SELECT " + "REPLACE(" * 6 + "k" + ", 'a', 'aaaaaaaaaaaaaaaa')" * 6 + " AS l FROM _hb_inner_0"
    for text in (doubled, replaced):
        tree = sqlglot.parse_one(text, read="duckdb")
        assert isinstance(tree, sqlglot.exp.Query)
        with pytest.raises(NotAllowed, match="joined so often"):
            check_outer(tree, QueryText(text))


def test_the_place_of_outer_statements_reaches_no_file() -> None:
    from hubbub.engines import EngineFailed, ReleasedTables

    with ReleasedTables() as place:
        for text in (
            "SELECT * FROM read_csv('/etc/passwd')",
            "SELECT * FROM '/etc/passwd'",
            "SELECT getenv('HOME')",
            "COPY (SELECT 1) TO '/tmp/hb'",
            "ATTACH '/tmp/hb.db'",
            "SET memory_limit = '10GB'",
            "INSTALL httpfs",
        ):
            with pytest.raises(EngineFailed):
                place.rows(text, most=10)


def test_several_questions_that_do_not_fit_together_are_not_begun(db: Connection) -> None:
    db.sql("SELECT COUNT(*) FROM visits", epsilon=1.5)
    text, before = f"SELECT n, m FROM {N} JOIN {M} USING (ward)", entries(db)
    assert not db.preview(text, epsilon=500).affordable
    with pytest.raises(BudgetExceeded):
        db.sql(text, epsilon=500)
    assert entries(db) == before


def test_what_gives_too_much_is_refused_and_its_questions_are_kept(db: Connection) -> None:
    cross = " CROSS JOIN ".join(f"(VALUES {', '.join(f'({i})' for i in range(80))}) AS v{j}(c{j})" for j in range(3))
    with pytest.raises((OverLimit, NoAnswer)) as caught:
        db.sql(f"SELECT n, c0, c1, c2 FROM {N} CROSS JOIN {cross}", epsilon=1)
    assert "stored" in str(caught.value)
    assert db.sql(f"SELECT MAX(n) AS most FROM {N}", epsilon=1).repeated


def test_a_statement_that_fails_on_released_numbers_keeps_its_questions(db: Connection) -> None:
    with pytest.raises(NoAnswer, match="free"):
        db.sql(f"SELECT CAST(ward AS INTEGER) AS w, n FROM {N}", epsilon=1)
    assert db.sql(f"SELECT MAX(n) AS most FROM {N}", epsilon=1).repeated


# ---------------------------------------------------------------- other ways to ask


def test_a_database_driver_asks_them_too(db: Connection) -> None:
    with dbapi.connect(db, epsilon=1, intervals=True) as connection:
        text = f"SELECT ward, n / SUM(n) OVER () AS share FROM {N} WHERE ward <> ?"
        cursor = connection.cursor().execute(text, ["east"])
        assert cursor.description is not None
        assert [column[0] for column in cursor.description] == ["ward", "share", "share_low", "share_high"]
        assert cursor.rowcount == 2
