"""Who is who: nobody becomes somebody else because of how ids are stored, or of a row that another person has."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest

from hubbub.publish import (
    Categorical,
    DailySeries,
    ForeignKey,
    Numeric,
    marginals,
    synthesize,
    synthesize_linked,
    top_down,
    unread_of,
)
from hubbub.publish.privacy_units import chosen_rows, people_of
from hubbub.publish.tables.noisy_counts import bound_rows, budget_of, code_rows, public_cells
from hubbub.publish.tables.visits import Visits

BIG = 1_791_234_567_890_123_776  # beyond 2^53, as many services number people
DOMAIN = {"v": Categorical(list(range(6)))}
PRICE: dict[str, Any] = {"epsilon": 2, "delta": 1e-6}
CAVEAT = "Ids beyond 2^53 in a pandas column of numbers count as missing: give them as text or as Int64."


def _pandas(kind: Any) -> Callable[[list[int]], Any]:
    return lambda ids: pandas.DataFrame({"id": pandas.Series(ids, dtype=kind)})


STORED: dict[str, Callable[[list[int]], Any]] = {
    "pandas, whole": _pandas("int64"),
    "pandas, doubles": _pandas("float64"),
    "pandas, objects": _pandas(object),
    "pandas, categories": lambda ids: pandas.DataFrame({"id": pandas.Categorical(ids)}),
    "pandas, Int64": _pandas("Int64"),
    "pandas, text": lambda ids: pandas.DataFrame({"id": [str(each) for each in ids]}),
    "pandas of Arrow": lambda ids: pandas.DataFrame({"id": pandas.array(ids, dtype=pandas.ArrowDtype(pa.int64()))}),
    "arrow": lambda ids: pa.table({"id": pa.array(ids, pa.int64())}),
    "arrow, doubles": lambda ids: pa.table({"id": pa.array([float(each) for each in ids])}),
    "arrow, text": lambda ids: pa.table({"id": [str(each) for each in ids]}),
    "arrow, wide decimals": lambda ids: pa.table({"id": pa.array(ids, pa.decimal256(76, 0))}),
    "polars": lambda ids: polars.DataFrame({"id": ids}),
}
EXACT = {"pandas, Int64", "pandas, text", "pandas of Arrow", "arrow", "arrow, text", "arrow, wide decimals", "polars"}


def _beside(table: Any, values: list[int]) -> Any:
    if isinstance(table, pandas.DataFrame):
        return table.assign(v=values)
    if isinstance(table, pa.Table):
        return table.append_column("v", pa.array(values))
    return table.with_columns(v=polars.Series(values))


def _counts(table: Any, domain: dict[str, Any] = DOMAIN) -> np.ndarray[Any, Any]:
    """What ``marginals`` counts before noise, one row of each person."""
    private = unread_of(table, domain, ids=["id"])
    budget, cells = budget_of(private, 1, 1e-6, "id", 1, "add-remove"), public_cells(private.schema, ["v"], domain)
    return np.bincount(code_rows(bound_rows(private.read(), budget, ["v"]), cells)[:, 0], minlength=7)


@pytest.mark.parametrize("declared", [False, True], ids=["no more said", "ids declared as numbers"])
@pytest.mark.parametrize("stored", STORED)
def test_one_person_more_moves_one_count_by_one(stored: str, declared: bool) -> None:
    domain = {**DOMAIN, "id": Numeric(lower=0, upper=9)} if declared else DOMAIN
    for first, second in itertools.product(range(6), repeat=2):
        before = _counts(_beside(STORED[stored]([7, BIG]), [0, first]), domain)
        after = _counts(_beside(STORED[stored]([7, BIG, BIG + 1]), [0, first, second]), domain)
        assert np.linalg.norm(after - before) <= 1
        assert before.sum() == (2 if stored in EXACT else 1)
        assert after.sum() == (3 if stored in EXACT else 1)


ODD = [None, float("nan"), "x", 0.5, 10**30, True, datetime.date(2025, 1, 3), BIG]


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_no_row_of_another_decides_who_is_who_or_which_rows_count(odd: object) -> None:
    ids = [BIG, BIG + 1, 2**53, 2**53 - 1, 2**53 - 2, 5, 5, 6, -(2**53), -BIG] * 3
    amounts = [1e-5, 12345678901.25, 2.5, 1e17, BIG, 7, 8, 9, 1e300, 0.1] * 3

    def read(more: list[object]) -> tuple[list[int], list[bool]]:
        frame = pandas.DataFrame({"id": pandas.Series([*ids, *more]), "v": pandas.Series([*amounts, *more])})
        rows = unread_of(frame, {"v": Categorical([1])}, ids=["id"]).read()
        people = people_of(rows["id"])
        return people[: len(ids)].tolist(), chosen_rows(people, rows.select(["v"]), 2)[: len(ids)].tolist()

    assert read([]) == read([odd])
    assert set(read([])[0]) == {-1, 0, 1, 2, 3}


def test_rows_without_an_id_are_nobodys_and_count_nowhere() -> None:
    table = pa.table({"id": ["a", None, None, "b"], "v": [0, 1, 2, 3]})
    assert _counts(table).tolist() == [1, 0, 0, 1, 0, 0, 0]
    assert people_of(pa.chunked_array([["a", None, "b", "a"]])).tolist() == [0, -1, 1, 0]


def test_an_id_that_is_no_text_or_was_rounded_is_nobodys() -> None:
    names = pa.array([b"\xff", b"\xfe", b"ok", b"1.79e+18", b"-1.2e+30", b"1e5", b"inf"]).view(pa.string())
    ids = unread_of(pa.table({"id": names})).read()["id"]
    assert people_of(ids).tolist() == [-1, -1, 0, -1, -1, 1, -1]


def test_the_visits_of_a_day_move_by_one_person_whatever_the_ids_are() -> None:
    day, generator = datetime.date(2026, 1, 5), np.random.default_rng(1)
    for base, make in itertools.product((0, 2**53, BIG), (pandas.DataFrame, pa.table)):
        for _ in range(20):
            ids = [int(base + step) for step in generator.integers(0, 4, 6)]
            rows = [(who, str(generator.choice(["a", "b", "zz"])), day) for who in ids]
            less = [row for row in rows if row[0] != ids[0]] or [(base + 9, "zz", day)]
            for most in (1, 2):
                full, rest = (
                    Visits.of(
                        unread_of(
                            make(dict(zip(("person", "place", "day"), zip(*part, strict=True), strict=True)))
                        ).read(),
                        ("person", "place", "day"),
                        ["a", "b"],
                    ).counts(day, most=most)
                    for part in (rows, less)
                )
                assert np.square(full - rest).sum() <= most


# ---------------------------------------------------------------- what the guarantee says


@pytest.mark.parametrize("stored", STORED)
def test_the_guarantee_says_which_ids_do_not_count_by_their_type(stored: str) -> None:
    table = _beside(STORED[stored]([1, 2, 3] * 20), [0, 1, 2] * 20)
    own: dict[str, Any] = {"unit": "id", "max_rows_per_unit": 2, **PRICE}
    made = [
        marginals(table, of=[["v"]], domain=DOMAIN, **own),
        top_down(table, levels=["v"], places=[("1",)], **own),
        synthesize(table, domain=DOMAIN, method="marginals", **own),
    ]
    pandas_chose = stored in (
        "pandas, whole",
        "pandas, doubles",
        "pandas, objects",
        "pandas, categories",
        "pandas, text",
    )
    for each in made:
        assert (CAVEAT in each.guarantee.caveats) == pandas_chose
        assert any("a column of doubles" in caveat for caveat in each.guarantee.caveats) == (stored == "arrow, doubles")
    rows_only = marginals(table, of=[["v"]], domain=DOMAIN, **PRICE)
    assert not any("2^53" in caveat for caveat in rows_only.guarantee.caveats)


@pytest.mark.parametrize("more", [None, "x", 0.5], ids=repr)
def test_what_is_said_does_not_depend_on_a_row(more: object) -> None:
    own: dict[str, Any] = {"unit": "id", "max_rows_per_unit": 2, **PRICE}
    frames = [
        pandas.DataFrame({"id": pandas.Series([*range(40), *odd]), "v": [1] * (40 + len(odd))}) for odd in ([], [more])
    ]
    first, second = (marginals(frame, of=[["v"]], domain=DOMAIN, **own).guarantee for frame in frames)
    assert first == second


def test_series_and_linked_tables_say_it_too() -> None:
    day = datetime.date(2026, 1, 5)
    series = DailySeries(places=["a"], first=day, days=1, **PRICE)
    assert CAVEAT not in series.guarantee.caveats
    series.publish(pandas.DataFrame({"person": [1, 2], "place": ["a", "a"], "day": [day, day]}), day)
    assert CAVEAT in series.guarantee.caveats
    people = pandas.DataFrame({"id": range(40), "sex": ["f", "m"] * 20})
    visits = pandas.DataFrame({"who": range(40), "ward": [1, 2] * 20})
    made = synthesize_linked(
        {"people": people, "visits": visits},
        parent="people",
        key="id",
        links=[ForeignKey("visits", "who", max_rows=3)],
        domain={"people": {"sex": Categorical(["f", "m"])}, "visits": {"ward": Categorical([1, 2])}},
        method="marginals",
        **PRICE,
    )
    assert made.guarantee.caveats.count(CAVEAT) == 1
