"""A stored answer comes back for the question that it answers, and for no other."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

from hubbub.ledger import Ledger
from hubbub.publish import (
    Categorical,
    DailySeries,
    ForeignKey,
    Numeric,
    SurrogateKey,
    marginals,
    synthesize,
    synthesize_linked,
    top_down,
)
from hubbub.publish.synthetic import aim, synthesis
from hubbub.publish.synthetic.plan import plan_for
from hubbub.publish.unread_table import unread_of
from hubbub.terms import Budget, Receipt

COUNT = 400
XY = Categorical(["x", "y"])
DOMAIN = {"a": XY, "b": XY, "n": Numeric(lower=0, upper=9)}


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "ledger.db", state=tmp_path / "state") as opened:
        opened.open_population("people", Budget(500, 1e-2), by="board", why="a test")
        yield opened


def rows() -> pyarrow.Table:
    """Every ``a`` is x and every ``b`` is y; ``who`` has two rows each."""
    whole = np.arange(COUNT)
    return pyarrow.table({"a": ["x"] * COUNT, "b": ["y"] * COUNT, "n": whole % 10, "who": whole // 2})


def number(receipt: Receipt | None) -> int:
    assert receipt is not None
    return receipt.sequence


def made(ledger: Ledger, table: pyarrow.Table, **changed: Any) -> Any:
    """Three columns; ``who`` only if it is the unit."""
    asked = {"epsilon": 2, "delta": 1e-6, "method": "marginals", "domain": DOMAIN, "dataset": "d", **changed}
    kept = table if "unit" in changed else table.drop_columns(["who"])
    return synthesize(kept, account=ledger, **asked)


# ---------------------------------------------------------------- one table


def test_columns_in_another_order_keep_their_own_values(ledger: Ledger) -> None:
    first = made(ledger, rows())
    turned = made(ledger, rows().select(["b", "a", "n", "who"]))
    assert number(turned.receipt) != number(first.receipt)
    for found in (first, turned):
        assert found.table["a"].to_pylist().count("x") > 0.8 * found.table.num_rows
        assert found.table["b"].to_pylist().count("y") > 0.8 * found.table.num_rows


def test_a_column_that_is_stored_as_another_type_is_the_same_question(ledger: Ledger) -> None:
    """pandas makes doubles of whole numbers as soon as one is missing: only the declaration says what they are."""
    as_doubles = rows().set_column(2, "n", rows()["n"].cast(pyarrow.float64()))
    whole, double = made(ledger, rows()), made(ledger, as_doubles)
    assert number(whole.receipt) == number(double.receipt)
    assert whole.table.schema.equals(double.table.schema)
    fine = made(ledger, rows(), domain={**DOMAIN, "n": Numeric(lower=0.0, upper=9.0)})
    said = made(ledger, rows(), domain={**DOMAIN, "n": Numeric(lower=0, upper=9, whole=False)})
    assert len({number(each.receipt) for each in (whole, fine, said)}) == 3
    assert fine.table.schema.field("n").type == pyarrow.float64()


@pytest.mark.parametrize(
    "kind", [pyarrow.large_string(), pyarrow.string_view(), pyarrow.dictionary(pyarrow.int8(), pyarrow.string())]
)
def test_the_same_words_stored_in_another_way_are_the_same_question(ledger: Ledger, kind: pyarrow.DataType) -> None:
    words = pyarrow.array(["x"] * COUNT)
    stored = words.dictionary_encode() if pyarrow.types.is_dictionary(kind) else words.cast(kind)
    first, again = made(ledger, rows()), made(ledger, rows().set_column(0, "a", stored))
    assert number(first.receipt) == number(again.receipt)
    assert first.table.equals(again.table)


AIM = {"method": "aim"}
UNIT = {"unit": "who", "max_rows_per_unit": 2}


@pytest.mark.parametrize(
    ("base", "changed"),
    [
        ({}, {"domain": {**DOMAIN, "a": Categorical(["y", "x"])}}),
        ({}, {"domain": {**DOMAIN, "n": Numeric(lower=0, upper=9, missing=True)}}),
        ({}, {"impossible": [{"a": ["y"], "b": ["x"]}]}),
        ({}, {"dataset": "e"}),
        (UNIT, {**UNIT, "max_rows_per_unit": 1}),
        (AIM, {**AIM, "workload": [("a", "b")]}),
        (AIM, {**AIM, "max_cells": 50}),
        (AIM, {**AIM, "seconds": 5}),
    ],
)
def test_whatever_was_asked_otherwise_is_another_question(
    ledger: Ledger, base: dict[str, Any], changed: dict[str, Any]
) -> None:
    first, again, other = (made(ledger, rows(), **told) for told in (base, base, changed))
    assert number(first.receipt) == number(again.receipt) != number(other.receipt)


@pytest.mark.parametrize("free", [{"rows": 7}, {"about_rows": 400}])
def test_what_changes_nothing_that_is_measured_is_free(ledger: Ledger, free: dict[str, Any]) -> None:
    assert number(made(ledger, rows()).receipt) == number(made(ledger, rows(), **free).receipt)


def test_a_request_says_its_whole_plan(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """A constant of the method that changes between two versions makes another question, with the same event."""
    first = made(ledger, rows(), method="aim")
    monkeypatch.setattr(aim, "_ROUNDS", aim._ROUNDS + 1)
    second = made(ledger, rows(), method="aim")
    assert first.event == second.event
    assert number(first.receipt) != number(second.receipt)


# ---------------------------------------------------------------- how long it may take


def test_how_long_the_rows_took_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rounds stop by the work that was done on released counts; a clock would see the private rows as well."""
    table = rows().drop_columns(["who"])
    task = synthesis._check_task(unread_of(table), DOMAIN, None, None, "add-remove", "built-in", None, None, ())

    def rounds(seconds: str) -> int:
        plan = plan_for(
            task.columns, whom=task.whom, epsilon=1, delta=1e-6, method="aim", seconds=Fraction(seconds)
        )  # fmt: skip
        return len(synthesis.measured_table(table, task, plan).pairs)

    for clock in ("process_time", "thread_time"):
        monkeypatch.setattr(f"time.{clock}", iter(range(0, 10**9, 10**4)).__next__)  # hours between two looks
    assert rounds("0.001") == 1
    assert rounds("1000") > 1


# ---------------------------------------------------------------- linked tables


def linked(ledger: Ledger, visits: list[str], **changed: Any) -> Any:
    people = {"id": range(COUNT), "a": ["x"] * COUNT, "b": ["y"] * COUNT}
    events = {"id": range(COUNT), "person": range(COUNT), "a": ["x"] * COUNT, "b": ["y"] * COUNT}
    asked: dict[str, Any] = {
        "parent": "people",
        "key": "id",
        "links": [ForeignKey("visits", "person", 2)],
        "epsilon": 4,
        "delta": 1e-6,
        "method": "marginals",
        "domain": {"people": {"a": XY, "b": XY}, "visits": {"a": XY, "b": XY, "id": SurrogateKey("visit")}},
        "dataset": "d",
    }
    tables = {"people": pyarrow.table(people), "visits": pyarrow.table(events).select(visits)}
    return synthesize_linked(tables, account=ledger, **{**asked, **changed})


def test_linked_tables_know_their_columns_too(ledger: Ledger) -> None:
    order = ["id", "person", "a", "b"]
    first, again, turned = (linked(ledger, told) for told in (order, order, ["id", "person", "b", "a"]))
    assert number(first.receipt) == number(again.receipt) != number(turned.receipt)
    visits = turned.tables["visits"]
    assert visits["a"].to_pylist().count("x") > 0.8 * visits.num_rows
    assert number(linked(ledger, order, links=[ForeignKey("visits", "person", 1)]).receipt) != number(first.receipt)


# ---------------------------------------------------------------- tables of counts


def test_each_level_of_a_tree_is_a_question_of_its_own(ledger: Ledger) -> None:
    table = pyarrow.table({"home": ["a"] * COUNT, "work": ["b"] * COUNT, "sex": ["x"] * COUNT})
    places = [("north", "a"), ("south", "b")]

    def counted(lowest: str, **more: Any) -> Any:
        told: dict[str, Any] = {"epsilon": 2, "delta": 1e-6, "account": ledger, "dataset": "d", **more}
        return top_down(table, levels=["region", lowest], places=places, **told)

    home, again, work = counted("home"), counted("home"), counted("work")
    assert number(home.receipt) == number(again.receipt) != number(work.receipt)
    assert home.tables["home"]["noisy"].to_pylist()[0] > 300
    assert work.tables["work"]["noisy"].to_pylist()[1] > 300
    by = counted("home", by=["sex"], domain={"sex": XY})
    turned = counted("home", by=["sex"], domain={"sex": Categorical(["y", "x"])})
    assert number(by.receipt) != number(turned.receipt)


def test_marginals_of_other_columns_or_cells_are_other_questions(ledger: Ledger) -> None:
    def counted(table: pyarrow.Table, of: list[list[str]], **domain: Any) -> int:
        told: dict[str, Any] = {"epsilon": 2, "delta": 1e-6, "account": ledger, "dataset": "d"}
        return number(marginals(table, of=of, domain={**DOMAIN, **domain}, **told).receipt)

    first = counted(rows(), [["a"]])
    others = [
        counted(rows(), [["b"]]),
        counted(rows(), [["a"]], a=Categorical(["y", "x"])),
        counted(rows(), [["n"]], n=Numeric(lower=0, upper=9, bins=5)),
        counted(rows(), [["n"]], n=Numeric(lower=0, upper=9, bins=5, whole=False)),
    ]
    assert counted(rows(), [["a"]]) == first
    assert len({first, *others}) == 5


def test_a_day_of_another_column_is_another_question(ledger: Ledger) -> None:
    first = datetime.date(2026, 1, 5)
    days = {"seen": [first] * COUNT, "left": [first + datetime.timedelta(1)] * COUNT}
    table = pyarrow.table({"who": range(COUNT), "home": ["a"] * COUNT, "work": ["b"] * COUNT, **days})

    def counted(**told: Any) -> tuple[int, list[int]]:
        asked: dict[str, Any] = {"place": "home", "day": "seen", "max_places": 2, "unit": "who", **told}
        asked |= {"epsilon": 2, "delta": 1e-6, "account": ledger, "dataset": "d"}
        series = DailySeries(places=["a", "b"], first=first, days=2, **asked)
        noisy = series.publish(table, first)["noisy"].to_pylist()
        return number(series.receipt(first)), [round(count / COUNT) for count in noisy]

    home, again = counted(), counted()
    assert home == again
    assert home[1] == [1, 0]
    others = [counted(place="work"), counted(day="left"), counted(max_places=3)]
    assert [told for _, told in others] == [[0, 1], [0, 0], [1, 0]]
    assert len({home[0], *(sequence for sequence, _ in others)}) == 4
