"""What is printed runs: on DuckDB and PostgreSQL with the same integers, and nobody moves them further than planned."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import duckdb
import psycopg
import pytest

from hubbub.sql.compiler.query_plan import QuestionPlan
from hubbub.sql.quote import QueryPlan
from hubbub.terms import HubbubError, Neighbours, NotAllowed
from tests.postgres import Server
from tests.sql._moved import choice_moved
from tests.sql.passes.coverage import NOT_ON_POSTGRES
from tests.sql.passes.datasets import HOSPITAL, SURVEY, Dataset
from tests.sql.passes.fixtures import SECRET, Fixture, every
from tests.sql.passes.rows import Rows, hospital, statements, survey, without
from tests.sql.passes.used import USED, asked

Integers = dict[tuple[Any, ...], tuple[int, ...]]
Run = Callable[[str], list[tuple[Any, ...]]]
HEAVY = 80  # visits of one person beyond the cap of 50


def _accepted() -> list[Fixture]:
    found = {}
    for fixture in every():
        if fixture.stage in ("parse", "check"):
            continue
        try:
            fixture.planned()
        except HubbubError:
            continue
        found[fixture.sql, fixture.options] = fixture
    return list(found.values())


ACCEPTED = _accepted()
NAMES = [f"{fixture.stage}:{fixture.name}" for fixture in ACCEPTED]


def _duck(dataset: Dataset, rows: Rows) -> Run:
    connection = duckdb.connect(":memory:")
    for create, values in statements(dataset, rows):
        connection.execute(create)
        table = create.split('"')[1]
        for value in values:
            connection.execute(f'INSERT INTO "{table}" VALUES ({", ".join("?" * len(value))})', value)
    return lambda sql: connection.execute(sql).fetchall()


@pytest.fixture(scope="module")
def ducks() -> dict[str, Run]:
    return {"hospital": _duck(HOSPITAL, hospital()), "survey": _duck(SURVEY, survey())}


@pytest.fixture(scope="module")
def postgres(component: Callable[[str], str]) -> Iterator[Server]:
    server = Server(component("postgres"))
    try:
        server.make()
        yield server
    finally:
        server.remove()


@pytest.fixture(scope="module")
def elephants(postgres: Server) -> Iterator[dict[str, Run]]:
    runs: dict[str, Run] = {}
    opened = []
    for dataset, rows in ((HOSPITAL, hospital()), (SURVEY, survey())):
        connection = psycopg.connect(postgres.new_database(), autocommit=True)
        opened.append(connection)
        for create, values in statements(dataset, rows):
            connection.execute(create)  # type: ignore[call-overload]
            table = create.split('"')[1]
            with connection.cursor() as cursor:
                marks = ", ".join(["%s"] * len(values[0]))
                cursor.executemany(f'INSERT INTO "{table}" VALUES ({marks})', values)  # type: ignore[arg-type]
        runs[dataset.name] = lambda sql, c=connection: c.execute(sql).fetchall()  # type: ignore[misc, call-overload]
    yield runs
    for connection in opened:
        connection.close()


def _integers(planned: QueryPlan, dialect: str, run: Run) -> list[Integers]:
    """What each statement gives, by its keys; keys of zeros alone say the same as no keys, and all keys are chosen."""
    found = []
    for plan, part in zip(planned.plans, planned.statements(dialect, secret=SECRET), strict=True):
        numbers: list[int] = []
        for place, statement in enumerate(part):
            rows = run(statement.of_keys(numbers))
            assert all(len(row) == statement.keys + statement.integers for row in rows)
            if plan.selection is not None and place == 0:
                numbers, rows = [row[-1] for row in rows], [row[:-1] for row in rows]
            told = {
                _plain(row[: statement.keys]): tuple(int(value or 0) for value in row[statement.keys :]) for row in rows
            }
            found.append({key: values for key, values in told.items() if any(values)})
    return found


def _plain(key: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(
        int(value) if isinstance(value, float) or type(value).__name__ == "Decimal" else value for value in key
    )


@pytest.mark.parametrize("fixture", ACCEPTED, ids=NAMES)
def test_the_text_for_duckdb_gives_integers(fixture: Fixture, ducks: dict[str, Run]) -> None:
    for part in fixture.planned().statements("duckdb", secret=SECRET):
        for statement in part:
            for row in ducks[fixture.dataset.name](statement.sql):
                assert len(row) == statement.keys + statement.integers
                assert all(isinstance(value, int) for value in row[statement.keys :])


@pytest.mark.parametrize("fixture", ACCEPTED, ids=NAMES)
def test_both_engines_give_the_same_integers(
    fixture: Fixture, ducks: dict[str, Run], elephants: dict[str, Run]
) -> None:
    planned = fixture.planned()
    expected = _integers(planned, "duckdb", ducks[fixture.dataset.name])
    if fixture.name in NOT_ON_POSTGRES:
        with pytest.raises((psycopg.Error, NotAllowed)):
            _integers(planned, "postgres", elephants[fixture.dataset.name])
    else:
        assert _integers(planned, "postgres", elephants[fixture.dataset.name]) == expected


@pytest.mark.parametrize("about", USED)
def test_every_function_gives_the_same_on_both_engines(
    about: str, ducks: dict[str, Run], elephants: dict[str, Run]
) -> None:
    planned = asked(about)
    if about in NOT_ON_POSTGRES:
        with pytest.raises(NotAllowed):
            planned.statements("postgres")
        return
    assert _integers(planned, "postgres", elephants["hospital"]) == _integers(planned, "duckdb", ducks["hospital"])


# ---------------------------------------------------------------- neighbours


@pytest.fixture(scope="module")
def neighbours() -> dict[str, tuple[Run, list[Run]]]:
    """Each dataset, with some people over every cap, and the same without one of them."""
    whole, answers = hospital(HEAVY), survey()
    fewer = [_duck(HOSPITAL, without(whole, person)) for person in (1, 4, 7)]
    rows = [
        _duck(SURVEY, answers | {"answers": [r for i, r in enumerate(answers["answers"]) if i != n]}) for n in (0, 7)
    ]
    return {"hospital": (_duck(HOSPITAL, whole), fewer), "survey": (_duck(SURVEY, answers), rows)}


@pytest.mark.parametrize("fixture", ACCEPTED, ids=NAMES)
def test_one_unit_moves_the_integers_no_further_than_planned(
    fixture: Fixture, neighbours: dict[str, tuple[Run, list[Run]]]
) -> None:
    whole, fewer = neighbours[fixture.dataset.name]
    planned = fixture.planned()
    before = _integers(planned, "duckdb", whole)
    for run in fewer:
        after = _integers(planned, "duckdb", run)
        _check(planned.plans, before, after)


def _check(plans: Sequence[QuestionPlan], before: list[Integers], after: list[Integers]) -> None:
    places = iter(zip(before, after, strict=True))
    for plan in plans:
        if plan.selection is not None:
            people = [{key: sums[0] for key, sums in side.items()} for side in next(places)]
            assert not choice_moved(plan.selection, people[0], people[1], Neighbours.ADD_REMOVE)
        if plan.measures:
            one, other = next(places)
            for index, moved in enumerate(plan.moved):
                by = _difference(one, other, index)
                assert sum(abs(each) for each in by) <= moved.l1
                assert sum(each * each for each in by) <= moved.l2_squared
        for _ in plan.curves:
            one, other = next(places)
            assert sum(abs(each) for each in _difference(one, other, 0)) <= plan.curve_rows


def _difference(one: Integers, other: Integers, index: int) -> list[int]:
    cells: dict[tuple[Any, ...], int] = defaultdict(int)
    for sign, integers in ((1, one), (-1, other)):
        for key, values in integers.items():
            cells[key] += sign * values[index]
    return list(cells.values())


def test_a_cap_that_is_not_kept_is_noticed(neighbours: dict[str, tuple[Run, list[Run]]]) -> None:
    fixture = next(each for each in ACCEPTED if each.name == "rows")
    whole, fewer = neighbours["hospital"]
    planned = fixture.planned()

    def uncapped(run: Run) -> Run:
        return lambda sql: run(sql.replace("> 50", "> 50000"))

    with pytest.raises(AssertionError):
        _check(
            planned.plans,
            _integers(planned, "duckdb", uncapped(whole)),
            _integers(planned, "duckdb", uncapped(fewer[0])),
        )
