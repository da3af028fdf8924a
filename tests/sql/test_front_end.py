"""Whatever text and parameters come, what leaves is an answer, or one of our refusals before anything is charged.

How long that takes is no part of a test; the limits in ``relations/limits.py`` make it a fraction of a second.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pandas
import pytest

from hubbub import Budget
from hubbub.ledger import Ledger
from hubbub.sql import Connection, connect
from hubbub.sql.quote import plan_text
from hubbub.terms import HubbubError, NotAllowed, OverLimit

MANY = 120  # random texts in one run


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    folder = tmp_path_factory.mktemp("front")
    rows = {"p": [1, 1, 2, 3], "sex": ["f", "f", "m", "m"], "cost": [1.5, 2.0, 0.0, 9.0], "k": [1, 2, 3, 4]}
    frame = pandas.DataFrame({**rows, "txt": ["a", "b", "", "d"], "day": pandas.Timestamp("2020-01-05")})
    with connect(
        frame,
        unit="p",
        max_rows_per_unit=2,
        bounds={"cost": (0, 10), "k": (0, 4)},
        keys={"sex": ["f", "m"]},
        budget=Budget(10**6, 1e-3),
        ledger=Ledger(folder / "ledger.db", state=folder / "state"),
    ) as opened:
        yield opened


def outcome(connection: Connection, text: Any, **given: Any) -> str:
    """``answered``, or the class of our refusal; anything else fails, and so does a refusal that costs something."""
    given = given or {"rho": 0.001}
    people = connection.dataset.population
    before = connection.ledger.balance(people).spent
    try:
        assert str(connection.preview(text, **given))
        free = "answered"
    except HubbubError as error:
        free = type(error).__name__
    assert connection.ledger.balance(people).spent == before
    try:
        assert str(connection.sql(text, fresh=True, **given))
    except HubbubError as error:
        assert connection.ledger.balance(people).spent == before, f"{text!r} was charged and then refused"
        return type(error).__name__
    assert free == "answered"
    return free


# ---------------------------------------------------------------- numbers

NUMBERS = (
    *("1e99999999", "1e-99999999", "0e99999999", "1e30", "1e31", "1e-30", "1e-31", "100000000000000000000", "-0.0"),
    *("9" * 50, "9" * 400, "0." + "0" * 40 + "1", "0x1F", "1_000", "1__0", ".5", "5.", "1e", "1e+", "--1", "- - 1"),
    *(
        "9223372036854775807",
        "9223372036854775808",
        "170141183460469231731687303715884105728",
        "1.7976931348623157e308",
    ),
    *(
        "'NaN'",
        "CAST('NaN' AS DOUBLE)",
        "CAST('inf' AS DOUBLE)",
        "'1e999'",
        "\u0663",
        "\u00bd",
        "\uff11",
        "NULL",
        "TRUE",
    ),
    *("-9223372036854775808", "4.9e-324", "1" + "0" * 29, "0b1", "0o7", "1e1e1", "1.2.3", "infinity", "nan"),
)
PLACES = (
    "SELECT COUNT(*) AS n FROM table WHERE cost > {}",
    "SELECT SUM({}) AS n FROM table",
    "SELECT AVG(CLIP(cost, 0, {})) AS n FROM table",
    "SELECT SUM(cost * {0} * {0} * {0} * {0} * {0} * {0} * {0} * {0} * {0} * {0} * {0}) AS n FROM table",
    "SELECT SUM(k / {}) AS n FROM table",
    "SELECT MEDIAN(CLIP(cost - {}, 0, 1)) AS n FROM table",
    "SELECT QUANTILE_CONT(cost, {}) AS n FROM table",
    "SELECT VAR_POP(CLIP(k, {}, 9)) AS n FROM table",
    "SELECT COUNT(*) + {} AS n FROM table",
    "SELECT COUNT(*) AS n FROM table HAVING COUNT(*) > {}",
    "SELECT k % {} AS r, COUNT(*) AS n FROM table GROUP BY r LIMIT 5",
    "SELECT ROUND(cost, {}) AS r, COUNT(*) AS n FROM table GROUP BY r",
    "SELECT COUNT(*) AS n FROM table WHERE LEFT(txt, {}) = 'a' OR SUBSTRING(txt, {}, {}) = 'b'",
    "SELECT COUNT(*) AS n FROM table WHERE day > DATE '2020-01-01' + INTERVAL {} YEAR",
    "SELECT COUNT(*) AS n FROM table LIMIT {} OFFSET {}",
    "SELECT COUNT(*) AS n FROM table WHERE k IN (1, {}, 2)",
)


def test_no_number_ends_in_anything_but_an_answer_or_a_refusal(connection: Connection, soak: int) -> None:
    draw = random.Random(3)
    pairs = [(place, number) for place in PLACES for number in NUMBERS]
    for place, number in pairs if soak > 1 else draw.sample(pairs, MANY):
        outcome(connection, place.replace("{0}", number).replace("{}", number))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) AS n FROM table WHERE cost > 1e99999999",
        f"SELECT SUM(cost{' * 1e30' * 11}) AS n FROM table",
        "SELECT sex, COUNT(*) AS n FROM table WHERE sex = 'X' GROUP BY sex",
    ],
)
def test_what_used_to_hang_or_to_raise_is_refused(connection: Connection, text: str) -> None:
    assert outcome(connection, text) in ("WrongType", "Unbounded", "NotAllowed")


def test_a_huge_constant_is_summed(connection: Connection) -> None:
    assert outcome(connection, "SELECT SUM(100000000000000000000) AS n FROM table") == "answered"


# ---------------------------------------------------------------- depth and width

Grow = Callable[[int], str]
_ONE = "SELECT COUNT(*) AS n FROM table"
_MONTH, _LONGER = "DATE_TRUNC('month', ", ", 'a', 'bb')"
_INNER = " WHERE EXISTS (SELECT 1 FROM table u WHERE u.p = t.p"
DEEP: dict[str, Grow] = {
    "brackets": lambda n: f"{_ONE} WHERE {'(' * n}k = 1{')' * n}",
    "open brackets": lambda n: "(" * n,
    "closed brackets": lambda n: f"{_ONE}{')' * n}",
    "NOT": lambda n: f"{_ONE} WHERE {'NOT ' * n}k = 1",
    "minus": lambda n: f"{_ONE} WHERE {'- ' * n}k = 1",
    "CASE": lambda n: f"{_ONE} WHERE {'CASE WHEN k = 1 THEN ' * n}k{' END' * n} = 1",
    "functions": lambda n: f"{_ONE} WHERE {'ABS(' * n}k{')' * n} = 1",
    "roots": lambda n: f"{_ONE} WHERE {'SQRT(' * n}k{')' * n} = 1",
    "months": lambda n: f"{_ONE} WHERE {_MONTH * n}day{')' * n} = day",
    "clips": lambda n: f"{_ONE} WHERE {'CLIP(' * n}k{', 0, 1)' * n} = 1",
    "CONCAT": lambda n: f"{_ONE} WHERE {'CONCAT(' * n}txt{', txt)' * n} = 'a'",
    "REPLACE": lambda n: f"{_ONE} WHERE {'REPLACE(' * n}txt{_LONGER * n} = 'a'",
    "subqueries": lambda n: f"SELECT COUNT(*) AS n FROM {'(SELECT * FROM ' * n}table{')' * n}",
    "outer queries": lambda n: f"{'SELECT n + n AS n FROM (' * n}{_ONE}{')' * n}",
    "EXISTS": lambda n: f"{_ONE} t{_INNER * n}{')' * n}",
}
WIDE: dict[str, Grow] = {
    "columns": lambda n: f"SELECT {', '.join(f'COUNT(*) AS n{i}' for i in range(n))} FROM table",
    "sums": lambda n: f"SELECT {', '.join(f'SUM(k + {i}) AS n{i}' for i in range(n))} FROM table",
    "keys": lambda n: f"{_ONE} GROUP BY {', '.join(f'k + {i}' for i in range(n))}",
    "IN": lambda n: f"{_ONE} WHERE k IN ({', '.join(map(str, range(n)))})",
    "AND": lambda n: f"{_ONE} WHERE {' AND '.join(['k = 1'] * n)}",
    "OR": lambda n: f"{_ONE} WHERE {' OR '.join(f'k = {i}' for i in range(n))}",
    "plus": lambda n: f"SELECT SUM(k{' + 1' * n}) AS n FROM table",
    "UNION ALL": lambda n: " UNION ALL ".join([_ONE] * n),
    "names": lambda n: f"WITH {', '.join(f'a{i} AS (SELECT * FROM table)' for i in range(n))} {_ONE}",
    "joins": lambda n: (
        "SELECT COUNT(DISTINCT t.p) AS n FROM table t" + "".join(f" JOIN table t{i} ON t{i}.p = t.p" for i in range(n))
    ),
    "joins without ON": lambda n: f"{_ONE} {'JOIN table ' * n}",
    "commas": lambda n: f"{_ONE}{', table' * n}",
    "CUBE": lambda n: f"{_ONE} GROUP BY CUBE ({', '.join(['sex', 'k', 'cost', 'day', 'txt', 'p'][:n])})",
    "COALESCE": lambda n: f"{_ONE} WHERE COALESCE({', '.join(['k'] * n)}) = 1",
    "LIKE": lambda n: f"{_ONE} WHERE txt LIKE '{'%a' * n}'",
    "statements": lambda n: ";".join([_ONE] * n),
}


@pytest.mark.parametrize("name", [*DEEP, *WIDE])
def test_depth_and_width_end_in_an_answer_or_a_refusal(connection: Connection, name: str, soak: int) -> None:
    grow = {**DEEP, **WIDE}[name]
    sizes = (1, 2, 3, 5, 8, 13, 20, 30, 45, 70, 100, 200, 1000, 5000) if soak > 1 else (2, 12, 45, 1000)
    for size in sizes:
        outcome(connection, grow(size))


def test_deep_and_wide_questions_are_refused_in_words(connection: Connection) -> None:
    for text in (
        DEEP["brackets"](500),
        WIDE["IN"](2000),
        DEEP["outer queries"](30),
        WIDE["joins"](20),
        WIDE["sums"](65),
        WIDE["keys"](33),
    ):
        with pytest.raises(OverLimit):
            connection.preview(text, rho=0.01)


# ---------------------------------------------------------------- odd texts, and texts with faults

ODD: tuple[Any, ...] = (
    *(
        "",
        " ",
        "\x00",
        "SELECT '\ud800'",
        "SELECT \u202e1",
        "x" * 10**6,
        "(" * 10**6,
        "SELECT '",
        "SELECT /*",
        'SELECT "',
    ),
    *("SELECT -- a", ";", ";;;", "\ufeffSELECT 1", "SELECT \u00a0COUNT(*) FROM table", "SELECT\x0bCOUNT(*) FROM table"),
    *(None, 5, 1.5, b"SELECT 1", ["SELECT 1"], object(), {"a": 1}, float("nan")),
    *(
        "EXPLAIN PRIVATE",
        "EXPLAIN PRIVATE SELECT 1",
        "SELECT COUNT(*) FROM table WHERE txt = '\U0001f469\u200d\U0001f467'",
    ),
    *("SELECT $1", "SELECT ?", "SELECT :a", "SELECT {{ x }}", "SELECT $$a$$", "SELECT E'\\x'", "SELECT x'00'", "\\"),
)
_BITS = (
    *(
        "SELECT",
        "COUNT(*)",
        "AS",
        "n",
        "FROM",
        "table",
        "WHERE",
        "k",
        "=",
        "1",
        "(",
        ")",
        ",",
        "GROUP BY",
        "sex",
        "'f'",
    ),
    *("SUM(", "cost", "JOIN", "ON", "t", ".", "NOT", "-", "CASE", "WHEN", "THEN", "END", "IN", "UNION ALL", "ORDER BY"),
    *(
        "LIMIT",
        "DISTINCT",
        "HAVING",
        "*",
        "||",
        "LIKE",
        "BETWEEN",
        "AND",
        "NULL",
        "OVER",
        "INTERVAL",
        "[",
        "]",
        "::",
        "1e9",
    ),
)
_WHOLE = (
    "SELECT sex, COUNT(*) AS n, SUM(cost) AS s FROM table WHERE k > 1 GROUP BY sex HAVING COUNT(*) > 1 ORDER BY n",
    "SELECT AVG(n) AS a FROM (SELECT p, COUNT(*) AS n FROM table GROUP BY p) x WHERE n > 1",
    "SELECT COUNT(*) AS n FROM table a JOIN table b ON a.p = b.p WHERE CASE WHEN a.k > 1 THEN 'x' ELSE 'y' END > b.txt",
)


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
def test_no_odd_text_ends_in_anything_but_a_refusal_or_an_answer(connection: Connection, text: Any) -> None:
    outcome(connection, text)
    with suppress(HubbubError):
        connection.explain(text)


def test_no_heap_of_words_ends_in_anything_but_a_refusal_or_an_answer(connection: Connection, soak: int) -> None:
    draw = random.Random(5)
    for _ in range(MANY * soak * soak):
        words = draw.choice(_WHOLE).split() if draw.random() < 0.7 else draw.choices(_BITS, k=draw.randint(1, 25))
        for _ in range(draw.randint(1, 3)):
            words[draw.randrange(len(words))] = draw.choice(_BITS)
        outcome(connection, " ".join(words))


# ---------------------------------------------------------------- functions where they do not belong

CALLS = (
    *(
        "COUNT(*)",
        "COUNT()",
        "COUNT(k)",
        "COUNT(k, cost)",
        "COUNT(ALL k)",
        "COUNT(t.*)",
        "COUNT(NULL)",
        "COUNT((k, p))",
    ),
    *(
        "COUNT(DISTINCT *)",
        "COUNT(DISTINCT k, cost)",
        "COUNT(DISTINCT (k, cost))",
        "SUM(DISTINCT *)",
        "SUM(DISTINCT k)",
    ),
    *("MIN(DISTINCT *)", "MEDIAN(DISTINCT *)", "ABS(DISTINCT k)", "GREATEST(DISTINCT k, cost)", "SUM(*)", "AVG(*)"),
    *("SUM()", "MEDIAN()", "MEDIAN(k)", "QUANTILE_CONT(k)", "QUANTILE_CONT(k, 0.5)", "PERCENTILE_CONT(0.5)", "MAX(k)"),
    *("PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY k)", "ABS(k) WITHIN GROUP (ORDER BY k)", "SUM(k ORDER BY k)"),
    *("STRING_AGG(txt, ',')", "LISTAGG(txt) WITHIN GROUP (ORDER BY txt)", "FIRST(k)", "ANY_VALUE(k)", "GROUPING(sex)"),
    *("COUNT_IF(k > 1)", "BOOL_AND(k > 1)", "SUM(SUM(k))", "COUNT(*) FILTER (WHERE k > 1)", "(COUNT(*))", "VAR_POP(k)"),
    *("ROW_NUMBER()", "RANK()", "LAG(k)", "ABS(k)", "GREATEST(k, cost)", "COALESCE(k, 1)", "CLIP(k, 0, 1)", "k", "1"),
    *("CASE WHEN k > 1 THEN 1 END", "CAST(k AS INT)", "YEAR(day)", "LOWER(txt)", "UNNEST([1])", "(SELECT 1)", "*"),
    *("EXISTS (SELECT 1 FROM table)", "DATE '2020-01-01'", "INTERVAL 1 DAY", "k IS NULL", "NOT k", "-k", "POWER(k, 2)"),
)
_OF_CALLS = (
    *("{} FILTER (WHERE k > 1)", "DISTINCT {}", "{}", "{} FILTER (WHERE COUNT(*) > 1)", "{} FILTER (k > 1)"),
    *("{} OVER ()", "{} OVER (PARTITION BY p)", "{} FILTER (WHERE k > 1) OVER (PARTITION BY p)", "{} IGNORE NULLS"),
    *("{} WITHIN GROUP (ORDER BY k)", "SUM({})", "SUM({} FILTER (WHERE k > 1))", "ABS({} FILTER (WHERE k > 1))"),
)
_AROUND = (
    *("SELECT {} AS n FROM table", "SELECT sex, {} AS n FROM table GROUP BY sex"),
    *(f"{_ONE} HAVING {{}} > 1", f"{_ONE} ORDER BY {{}}", f"{_ONE} WHERE {{}} > 1", f"{_ONE} GROUP BY {{}}"),
    "SELECT SUM(CLIP(x, 0, 1)) AS n FROM (SELECT p, {} AS x FROM table GROUP BY p)",
    "SELECT SUM(CLIP(x, 0, 1)) AS n FROM (SELECT p, {} AS x FROM table)",
)


def test_no_function_anywhere_ends_in_anything_but_a_refusal_or_an_answer(connection: Connection, soak: int) -> None:
    sure = [_AROUND[0].format(form.format(call)) for form in _OF_CALLS[:2] for call in CALLS]
    every = [around.format(form.format(call)) for around in _AROUND for form in _OF_CALLS for call in CALLS]
    for text in every if soak > 1 else [*sure, *random.Random(7).sample(every, MANY)]:
        with suppress(HubbubError):
            assert plan_text(text, connection.dataset, gaussian=True).statements("duckdb")


@pytest.mark.parametrize(
    "call", ["ABS(k) FILTER (WHERE k > 1)", "ROW_NUMBER() FILTER (WHERE k > 1)", "COUNT(DISTINCT *)"]
)
def test_filter_and_distinct_go_with_what_they_belong_to(connection: Connection, call: str) -> None:
    assert outcome(connection, f"SELECT {call} AS n FROM table") == "NotAllowed"


# ---------------------------------------------------------------- parameters

_WRONG: tuple[Any, ...] = (
    "x",
    float("nan"),
    float("inf"),
    -1,
    0,
    10**400,
    [],
    {},
    True,
    b"1",
    object(),
    "1e999",
    1e-320,
)
PARAMETERS = [
    *({name: value} for name in ("epsilon", "rho", "within") for value in _WRONG),
    *({"rho": 0.01, name: value} for name in ("confidence", "assume", "totals", "delta") for value in (*_WRONG, 2)),
    *(
        {"epsilon": 0.1, "totals": value}
        for value in ({5: 1}, {"n": "x"}, {"n": 10**400}, {"m": 1}, {"n": -1}, [("n", 1)])
    ),
    *({"within": 5, "confidence": value} for value in (2, 1 - 1e-17, 1e-300)),
    {"rho": None},
    {"epsilon": 1, "rho": 1},
    {"within": 5, "epsilon": 1},
]


@pytest.mark.parametrize("given", PARAMETERS, ids=range(len(PARAMETERS)))
def test_no_parameter_ends_in_anything_but_a_refusal_or_an_answer(
    connection: Connection, given: dict[str, Any]
) -> None:
    outcome(connection, "SELECT COUNT(*) AS n FROM table", **given)


# ---------------------------------------------------------------- the twin


def test_what_the_engine_cannot_run_is_refused_on_every_path(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hubbub.engines import EngineFailed

    def fail(sql: str, *, seconds: float) -> None:
        raise EngineFailed

    release = connection.sql("SELECT COUNT(*) AS n FROM table", rho=0.001, fresh=True)
    monkeypatch.setattr(connection.engine, "bind", fail)
    before = connection.ledger.balance(connection.dataset.population).spent
    for ask in (
        lambda: connection.sql("SELECT COUNT(*) AS n FROM table", rho=0.1),
        lambda: connection.preview("SELECT COUNT(*) AS n FROM table", rho=0.1),
        lambda: connection.remeasure(release, rho=0.1),
        lambda: connection.suggest_bounds("table", rho=0.1),
        lambda: connection.workload(["SELECT COUNT(*) FROM table WHERE sex = 'f'"], rho=0.1),
    ):
        with pytest.raises(NotAllowed, match="whatever the data are"):
            ask()
    assert connection.ledger.balance(connection.dataset.population).spent == before
