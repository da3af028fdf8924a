"""What cannot be asked is refused for free, and its refusal prints a statement that is answered as it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest

import hubbub as hb
from hubbub.ledger import Ledger
from hubbub.sql import Connection
from hubbub.terms import HubbubError, MissingParameter, OutOfRange, UnknownName

N = "(SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)"
COUNT = "SELECT COUNT(*) AS n FROM visits"


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    folder, rng = tmp_path_factory.mktemp("rewrites"), np.random.default_rng(7)
    people = rng.integers(1, 401, 2_000)
    visits = pd.DataFrame(
        {
            "person": people,
            "ward": np.array(["north", "south", "east"])[people % 3],
            "cost": rng.gamma(2.0, 150.0, 2_000).round(2),
            "diagnosis": rng.choice(["flu", "cold"], 2_000),
            "day": pd.Timestamp("2025-01-01") + pd.to_timedelta(rng.integers(0, 300, 2_000), unit="D"),
        }
    )
    visits.to_parquet(folder / "visits.parquet")
    with hb.connect(
        folder / "visits.parquet",
        unit="person",
        max_rows_per_unit=10,
        bounds={"cost": (0, 1000, 0.01)},
        keys={"ward": ["north", "south", "east"]},
        budget=hb.Budget(100, 1e-6),
        ledger=Ledger(folder / "ledger.db", state=folder / "state"),
    ) as connection:
        yield connection


def offered(error: HubbubError) -> str:
    """The statement that a refusal prints."""
    match = re.search(r"sk `(.*)`", error.fix) or re.fullmatch(r"((?:SELECT|WITH) .*)", error.fix)
    assert match is not None, error.fix
    return match.group(1)


# ---------------------------------------------------------------- people beside released numbers

BESIDE = [
    f"SELECT a.n / v.cost FROM {N} AS a, visits AS v",
    f"SELECT a.ward, n, v.diagnosis FROM {N} AS a JOIN visits AS v ON v.ward = a.ward",
    f"SELECT a.ward, n FROM {N} AS a WHERE EXISTS (SELECT 1 FROM visits AS v WHERE v.ward = a.ward AND v.cost > 10)",
    f"SELECT a.ward, n FROM {N} AS a WHERE a.ward IN (SELECT ward FROM visits)",
    f"SELECT a.ward, n, (SELECT cost FROM visits LIMIT 1) AS m FROM {N} AS a",
    f"SELECT a.ward, n FROM {N} AS a WHERE n > (SELECT AVG(cost) FROM visits WHERE visits.ward = a.ward)",
    f"SELECT ward, n FROM {N} AS a UNION ALL SELECT ward, cost FROM visits",
    f"WITH a AS {N} SELECT v.person, a.n FROM visits AS v JOIN a USING (ward)",
    f"WITH a AS {N} SELECT AVG(v.cost - a.n) AS d FROM visits AS v JOIN a USING (ward)",
    f"SELECT v.ward, COUNT(*) AS c FROM visits AS v JOIN {N} AS a USING (ward) WHERE v.cost > a.n GROUP BY v.ward",
]
ACROSS = [
    "SELECT person, RANK() OVER (ORDER BY cost) AS r FROM visits",
    "SELECT AVG(r) AS a FROM (SELECT person, RANK() OVER (ORDER BY cost) AS r FROM visits)",
    "SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY ward ORDER BY day) AS r FROM visits) WHERE r = 1",
    "SELECT AVG(cost - LAG(cost) OVER (ORDER BY day)) AS d FROM visits",
    "SELECT AVG(d) AS a FROM (SELECT cost - LAG(cost) OVER (ORDER BY day) AS d FROM visits)",
    "SELECT AVG(cost / SUM(cost) OVER (PARTITION BY ward)) FROM visits",
    "SELECT COUNT(*) FROM visits QUALIFY ROW_NUMBER() OVER (ORDER BY cost DESC) <= 10",
    "SELECT AVG(p) AS m FROM (SELECT NTILE(4) OVER (ORDER BY cost) AS p FROM visits)",
]
OTHERS = [
    "SELECT ward, cost FROM visits",
    "SELECT * FROM visits",
    "SELECT DISTINCT ward FROM visits",
    "SELECT person, SUM(cost) FROM visits GROUP BY person",
    "SELECT person, ward, COUNT(*) AS n FROM visits GROUP BY person, ward HAVING COUNT(*) > 2 ORDER BY n LIMIT 3",
    "SELECT AVG(cost) AS m FROM visits WHERE cost > (SELECT AVG(cost) FROM visits)",
    "SELECT AVG(cost) AS m FROM visits WHERE ward IN (SELECT ward FROM visits GROUP BY ward HAVING COUNT(*) > 100)",
    "SELECT COUNT(*) FROM visits ORDER BY cost LIMIT 5",
    "SELECT AVG(cost) FROM (SELECT cost FROM visits ORDER BY cost DESC LIMIT 100)",
    "SELECT MODE(ward) AS favourite FROM visits",
    "SELECT AVG(COUNT(*)) FROM visits GROUP BY ward",
    "SELECT MAX(AVG(cost)) - MIN(AVG(cost)) AS range FROM visits GROUP BY ward",
    "SELECT AVG(COUNT(*)) AS each FROM visits GROUP BY person",
    "PIVOT visits ON ward USING AVG(cost), COUNT(*) GROUP BY diagnosis",
    "SELECT * FROM (SELECT ward, diagnosis, cost FROM visits) PIVOT (SUM(cost) FOR ward IN ('north', 'east'))",
    "SELECT AVG(c) FROM (SELECT NTH_VALUE(cost, 2) OVER (PARTITION BY person ORDER BY day) AS c FROM visits)",
    "SELECT AVG(c) FROM (SELECT SUM(cost) OVER (PARTITION BY person ORDER BY day RANGE BETWEEN INTERVAL 7 DAY "
    "PRECEDING AND CURRENT ROW) AS c FROM visits)",
    "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward WITH ROLLUP",
    "SELECT ward, COUNT(*) AS n FROM (SELECT DISTINCT ON (ward) ward, cost FROM visits ORDER BY ward, day) GROUP BY 1",
    "SELECT COUNT(*) FROM visits WHERE REGEXP_REPLACE(diagnosis, 'old', 'x') = 'cx'",
    "SELECT COUNT(*) FROM visits WHERE REGEXP_REPLACE(diagnosis, '[aou].*', '', 'g') = 'c'",
]


IN_A_PERSON = [  # what stands in SELECT ... FROM visits GROUP BY person, and what is asked of it
    ("MEDIAN(cost) AS x", "AVG(x)"),
    ("MEDIAN(cost) AS x, SUM(cost) AS s", "AVG(x), AVG(s)"),
    ("QUANTILE_CONT(cost, 0.9) AS x", "AVG(x)"),
    ("STDDEV(cost) AS x", "AVG(x)"),
    ("ARG_MIN(cost, day) AS x", "AVG(x)"),
    ("ARG_MAX(ward, day) AS x, COUNT(*) AS n", "COUNT(*) FILTER (WHERE x = 'north' AND n > 2) AS n"),
    ("FIRST(ward ORDER BY day) AS x", "COUNT(*) FILTER (WHERE x = 'north') AS n"),
    ("FIRST(cost ORDER BY day) AS x, LAST(cost ORDER BY day) AS y", "AVG(x - y)"),
    ("LAST(diagnosis) AS x", "COUNT(*) FILTER (WHERE x = 'flu') AS n"),
    ("ANY_VALUE(diagnosis) AS x", "COUNT(*) FILTER (WHERE x = 'flu') AS n"),
    ("MODE(diagnosis) AS x", "COUNT(*) FILTER (WHERE x = 'flu') AS n"),
    ("MODE(ward) AS n", "COUNT(*) FILTER (WHERE n = 'north') AS m"),
    ("STRING_AGG(DISTINCT diagnosis, ',') AS x", "COUNT(*) AS n"),
    ("LIST(diagnosis) AS x", "AVG(x)"),
    ("PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY cost) AS x", "AVG(x)"),
    ("MODE() WITHIN GROUP (ORDER BY ward) AS x", "COUNT(*) FILTER (WHERE x = 'north') AS n"),
    ("ARG_MIN(cost, day) FILTER (WHERE ward = 'north') AS x", "AVG(x)"),
    ("ARG_MIN(cost, day) AS x, COUNT(*) FILTER (WHERE ward = 'north') AS k", "AVG(x) FILTER (WHERE k > 1) AS n"),
]
PEOPLE = [
    *(f"SELECT {asked} FROM (SELECT person, {parts} FROM visits GROUP BY person)" for parts, asked in IN_A_PERSON),
    "WITH f AS (SELECT v.person AS p, MODE(v.ward) AS w FROM visits v GROUP BY 1) SELECT w, COUNT(*) FROM f GROUP BY w",
    "SELECT w, m, COUNT(*) FROM (SELECT person, UPPER(ward) AS w, MODE(diagnosis) AS m FROM visits GROUP BY person, w) "
    "GROUP BY w, m",
    "SELECT w, AVG(m) AS a FROM (SELECT person, UPPER(ward) AS w, MEDIAN(cost) AS m FROM visits GROUP BY 1, 2) "
    "GROUP BY w",
    "SELECT COUNT(*) AS n FROM (SELECT person FROM visits GROUP BY person HAVING MEDIAN(cost) > 50)",
    "SELECT person, ARG_MAX(cost, day) AS last FROM visits GROUP BY person",
    "SELECT person, BOOL_OR(cost > 900) AS dear FROM visits GROUP BY person",
]
WHOLE = [
    "SELECT BOOL_OR(cost > 900) AS dear FROM visits",
    "SELECT ward, BOOL_AND(diagnosis = 'flu') AS flu FROM visits GROUP BY ward",
    "SELECT BOOL_OR(cost > 900) FILTER (WHERE diagnosis = 'flu') AS dear FROM visits",
    "SELECT MAX(cost > 900) AS dear FROM visits",
    "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING BOOL_OR(cost > 900)",
    "SELECT GEOMEAN(cost) AS g FROM visits",
    "SELECT ward, GEOMETRIC_MEAN(cost) FILTER (WHERE diagnosis = 'flu') AS g FROM visits GROUP BY ward",
    "SELECT ward, MAD(cost) AS m FROM visits GROUP BY ward",
    "SELECT KURTOSIS(cost), COUNT(*) AS n FROM visits",
    "SELECT SKEWNESS(cost) / 2 AS s FROM visits",
    "SELECT NTILE(4) OVER (ORDER BY cost) AS q, COUNT(*) FROM visits GROUP BY q",
    "SELECT ward, MODE(diagnosis) FROM visits GROUP BY ward",
    "SELECT MODE() WITHIN GROUP (ORDER BY ward) AS w FROM visits",
    "SELECT FIRST(diagnosis) AS d FROM visits",
    "SELECT ward, ARG_MAX(diagnosis, cost) AS d FROM visits GROUP BY ward",
    "SELECT ward, ANY_VALUE(diagnosis) AS d FROM visits GROUP BY ward",
    "SELECT ward, STRING_AGG(diagnosis, ',') AS d FROM visits GROUP BY ward",
    "SELECT ward, ARRAY_AGG(cost) AS d FROM visits GROUP BY ward",
    "SELECT MONTH(day) AS m, MODE(ward) AS w FROM visits GROUP BY m ORDER BY m",
    "SELECT day, SUM(cost) OVER (ORDER BY day) AS s FROM visits",
    "SELECT ward, day, AVG(cost) OVER (PARTITION BY ward ORDER BY day) AS s FROM visits ORDER BY day",
    "SELECT ward, AVG(cost) OVER (PARTITION BY ward) AS s FROM visits",
    "SELECT AVG(AGE(DATE '2026-01-01', day)) AS d FROM visits",
    "SELECT AVG(EXTRACT(MONTH FROM AGE(day))) AS d FROM visits",
    "SELECT COUNT(*) AS n FROM visits WHERE AGE(DATE '2026-01-01', day) > INTERVAL '2 months'",
]
VALUES = [
    "SELECT DISTINCT diagnosis FROM visits",
    "SELECT HISTOGRAM(diagnosis) FROM visits",
    "SELECT STRING_AGG(DISTINCT diagnosis, ',' ORDER BY diagnosis) AS all_of_them FROM visits",
    "SELECT APPROX_TOP_K(diagnosis, 3) FROM visits",
    "SELECT LIST(DISTINCT diagnosis) FROM visits",
]


@pytest.mark.parametrize("text", VALUES)
def test_who_asks_for_values_is_shown_how_to_count_them(db: Connection, text: str) -> None:
    with pytest.raises(HubbubError) as caught:
        db.sql(text, epsilon=0.1)
    assert "`SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis`" in str(caught.value)


@pytest.mark.parametrize("text", [*BESIDE, *ACROSS, *OTHERS, *PEOPLE, *WHOLE])
def test_a_refusal_is_free_and_prints_a_statement_that_is_answered(db: Connection, text: str) -> None:
    before = (db.budget.entries, db.ledger.balance(db.dataset.population).spent)
    with pytest.raises(HubbubError) as caught:
        db.sql(text, epsilon=0.1)
    with pytest.raises(HubbubError):
        db.preview(text, epsilon=0.1)
    assert (db.budget.entries, db.ledger.balance(db.dataset.population).spent) == before
    rewrite = offered(caught.value)
    assert rewrite != text
    answer = db.sql(rewrite, epsilon=0.1)
    assert len(answer.columns_names) >= 1 and db.budget.entries >= before[0]


def test_constructs_are_offered_in_the_words_that_are_answered(db: Connection) -> None:
    for text, rewrite in (
        (
            "SELECT AVG(COUNT(*)) AS each FROM visits GROUP BY ward",
            "SELECT AVG(value_1) AS each FROM (SELECT ward, COUNT(*) AS value_1 FROM visits GROUP BY ward) AS q",
        ),
        (
            "PIVOT visits ON ward IN ('north', 'east') USING COUNT(*) GROUP BY diagnosis",
            "SELECT diagnosis, COUNT(*) FILTER(WHERE ward = 'north') AS \"north\", "
            "COUNT(*) FILTER(WHERE ward = 'east') AS \"east\" FROM visits GROUP BY diagnosis",
        ),
        (
            "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward WITH CUBE",
            "SELECT ward, COUNT(*) AS n FROM visits GROUP BY CUBE (ward)",
        ),
        (
            "SELECT w, COUNT(*) AS n FROM (SELECT person, ARG_MIN(ward, day) AS w FROM visits GROUP BY person) "
            "GROUP BY w",
            "SELECT w, COUNT(*) AS n FROM (SELECT person, ward AS w FROM visits QUALIFY ROW_NUMBER() OVER "
            "(PARTITION BY person ORDER BY day) = 1) GROUP BY w",
        ),
        (
            "SELECT BOOL_AND(cost > 900) AS dear FROM visits",
            "SELECT COUNT(*) FILTER(WHERE NOT cost > 900) AS n FROM visits",
        ),
        ("SELECT GEOMEAN(cost) AS g FROM visits", "SELECT EXP(AVG(LN(CLIP(cost, 1, 1000)))) AS g FROM visits"),
        (
            "SELECT q, COUNT(*) FROM (SELECT NTILE(4) OVER (ORDER BY cost) AS q FROM visits) GROUP BY q",
            "SELECT QUANTILE_CONT(cost, [0.25, 0.5, 0.75]) AS part FROM visits",
        ),
        (
            "SELECT ward, MODE(diagnosis) FROM visits GROUP BY ward",
            "SELECT ward, diagnosis, COUNT(*) AS n FROM visits GROUP BY ward, diagnosis "
            "QUALIFY ROW_NUMBER() OVER (PARTITION BY ward ORDER BY n DESC) = 1",
        ),
        (
            "SELECT day, SUM(cost) OVER (ORDER BY day) AS s FROM visits",
            "SELECT day, SUM(value_1) OVER (ORDER BY day) AS s FROM (SELECT CAST(day AS DATE) AS day, SUM(cost) AS "
            "value_1 FROM visits GROUP BY CAST(day AS DATE)) AS q",
        ),
    ):
        with pytest.raises(HubbubError) as caught:
            db.preview(text, epsilon=0.1)
        assert offered(caught.value) == rewrite


@pytest.mark.parametrize("called", ["ANY_VALUE", "FIRST", "LAST", "MODE"])
def test_a_refused_aggregate_is_called_as_it_was_written(db: Connection, called: str) -> None:
    with pytest.raises(HubbubError, match=f": {called} cannot be answered privately"):
        db.preview(f"SELECT {called}(diagnosis) AS d FROM visits", epsilon=0.1)


def test_a_refusal_logs_nothing(db: Connection, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(HubbubError, match="STRFTIME"):
        db.preview("SELECT TO_CHAR(day, 'YYYY-MM') AS m, COUNT(*) AS n FROM visits GROUP BY m", epsilon=0.1)
    assert capfd.readouterr() == ("", "")


def test_windows_that_are_offered_stay_inside_a_person(db: Connection) -> None:
    with pytest.raises(HubbubError) as caught:
        db.sql(ACROSS[2], epsilon=0.1)
    assert "PARTITION BY person, ward" in caught.value.fix


def test_a_slip_of_the_pen_keeps_its_hint(db: Connection) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'ward'"):
        db.sql("SELECT wrad, AVG(cost) AS m FROM visits GROUP BY wrad", epsilon=0.1)
    with pytest.raises(HubbubError) as caught:
        db.sql("SELECT wrad, cost FROM visits", epsilon=0.1)
    assert "sk `" not in caught.value.fix  # it would leave out what was meant


def test_a_share_that_is_no_number_is_refused_for_free(db: Connection) -> None:
    before = db.budget.entries
    for share in (float("nan"), float("inf"), "a tenth", True):
        with pytest.raises(HubbubError, match="share must be"):
            db.sql(COUNT, share=share)
    assert db.budget.entries == before


# ---------------------------------------------------------------- prices


def test_a_delta_of_nothing_asks_for_a_pure_answer(db: Connection) -> None:
    answer = db.sql("SELECT COUNT(*) AS pure FROM visits", epsilon=1, delta=0)
    assert answer.columns[0].mechanism.lower().startswith("discrete laplace")
    with pytest.raises(MissingParameter, match="above 0"):
        db.sql("SELECT COUNT(*) AS pure FROM visits", epsilon=1, delta=0, noise="gaussian")


@pytest.mark.parametrize("text", [COUNT, f"SELECT MAX(n) AS m FROM {N}"])
@pytest.mark.parametrize(
    ("price", "error", "rewrite"),
    [
        ({"epsilon": 1, "rho": 0.1}, MissingParameter, {"epsilon": 1}),
        ({"share": 0.1, "within": 200}, MissingParameter, {"within": 200}),
        ({"rho": 0.1, "within": 5}, MissingParameter, {"rho": 0.1}),
        ({"epsilon": 1, "share": 0.1, "within": 9}, MissingParameter, {"epsilon": 1}),
        ({"share": 1.5}, OutOfRange, {"share": 0.1}),
        ({"share": 0}, OutOfRange, {"share": 0.1}),
        ({"share": -1}, OutOfRange, {"share": 0.1}),
    ],
)
def test_a_price_that_is_none_is_refused_for_free_and_its_rewrite_is_one(
    db: Connection, text: str, price: dict[str, float], error: type[HubbubError], rewrite: dict[str, object]
) -> None:
    before = db.budget.entries
    for ask in (db.preview, db.sql):
        with pytest.raises(error) as caught:
            ask(text, **price)  # type: ignore[operator]
        written = ", ".join(f"{name}={value!r}".replace("'", '"') for name, value in rewrite.items())
        assert written in caught.value.fix
    assert db.budget.entries == before
    assert len(db.sql(text, **rewrite)) >= 1  # type: ignore[arg-type]
