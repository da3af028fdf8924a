"""What is released has the types and labels that were declared, and nothing else: one person's value decides neither.

One missing value makes doubles of a pandas column of whole numbers, one text makes it a column of objects, and so does
a huge number. Each case has a table and a neighbour with one row more, stored in another physical type. Everything but
the noise must be the same: types, labels, refusals, warnings, guarantees, fingerprints; and no other row may be counted
elsewhere.
"""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pandas
import pyarrow
import pytest

from hubbub.publish import (
    Categorical,
    DailySeries,
    Date,
    ForeignKey,
    Numeric,
    compare,
    marginals,
    synthesize,
    synthesize_linked,
    top_down,
)
from hubbub.publish.cells import coding_of, numbers_of, texts_of
from hubbub.publish.domains import domain_for
from hubbub.publish.jobs import columns_told
from hubbub.publish.privacy_units import chosen_rows, people_of
from hubbub.publish.unread_table import unread_of

COUNT = 60
PRICE: dict[str, Any] = {"epsilon": 3, "delta": 1e-5}
DOMAIN = {
    "age": Numeric(lower=0, upper=99, missing=True),
    "cost": Numeric(lower=0.0, upper=9.9, bins=5),
    "ward": Categorical([1, 2, 3]),
    "code": Categorical(["1", "2", "17"]),
    "smokes": Categorical([False, True]),
    "flag": Categorical([0, 1]),
    "born": Date(lower="1990-01-01", upper="2030-12-31"),
}
COLUMNS: dict[str, Callable[[int], Any]] = {
    "age": lambda i: i % 90,
    "cost": lambda i: i % 10,
    "ward": lambda i: 1 + i % 3,
    "code": lambda i: (1, 2, 17)[i % 3],
    "smokes": lambda i: i % 2 == 0,
    "flag": lambda i: i % 4 == 0,
    "born": lambda i: datetime.date(2000 + i % 20, 1, 1),
}
ODD = [None, float("nan"), "text", "", 10**30, -(10**25), 2**63, Decimal("1.5"), 0.5, float("inf"), True, [1], b"x",
       datetime.date(2025, 1, 3), pandas.Timestamp("2025-01-03 10:00"), pandas.NaT, pandas.NA, 1 + 1j]  # fmt: skip


@pytest.fixture(autouse=True)
def _loudly() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with np.errstate(all="raise", under="ignore"):
            yield


def rows(count: int = COUNT) -> dict[str, list[Any]]:
    return {name: [make(i) for i in range(count)] for name, make in COLUMNS.items()}


def stored(cells: dict[str, list[Any]]) -> pandas.DataFrame:
    """As pandas stores it: in whatever type the values ask for."""
    return pandas.DataFrame({name: pandas.Series(values) for name, values in cells.items()})


def with_one_more(value: object) -> pandas.DataFrame:
    cells = rows()
    for values in cells.values():
        values.append(value)
    return stored(cells)


def test_the_neighbours_are_stored_in_other_types() -> None:
    """Else nothing here is tried."""
    plain = stored(rows())
    assert str(plain["age"].dtype) == "int64" and str(plain["smokes"].dtype) == "bool"
    assert str(with_one_more(None)["age"].dtype) == "float64" and str(with_one_more(None)["smokes"].dtype) == "object"
    assert str(with_one_more("text")["age"].dtype) == str(with_one_more(10**30)["age"].dtype) == "object"


@pytest.mark.parametrize("value", ODD, ids=[repr(value)[:14] for value in ODD])
def test_one_value_changes_no_other_cell_and_no_type(value: object) -> None:
    plain, odd = (unread_of(frame, DOMAIN) for frame in (stored(rows()), with_one_more(value)))
    kept = plain.schema.names
    assert [plain.schema.field(name).type for name in kept if not isinstance(DOMAIN[name], Categorical)] == [
        odd.schema.field(name).type for name in kept if not isinstance(DOMAIN[name], Categorical)
    ]
    for name, column in DOMAIN.items():
        coding = coding_of(column)
        before, after = (coding.encode(table.read()[name]) for table in (plain, odd))
        assert before.tolist() == after[:COUNT].tolist(), name
        assert 0 <= after[-1] < coding.cells
        assert len(set(before.tolist())) > 1, name  # and they were found


@pytest.mark.parametrize("value", [None, "text", 10**30], ids=repr)
def test_who_is_who_and_which_rows_count_does_not_depend_on_another_row(value: object) -> None:
    def chosen(last: list[object]) -> tuple[list[bool], list[int]]:
        frame = stored({"who": [i // 5 for i in range(50)] + last, "n": [*range(50), *last]})
        table = unread_of(frame).read()
        people = people_of(table["who"])
        return chosen_rows(people, table.select(["n"]), 2).tolist()[:50], people.tolist()[:50]

    assert chosen([]) == chosen([value])


def released(frame: pandas.DataFrame) -> Iterator[tuple[str, Any]]:
    """All that leaves, but for the noisy numbers."""
    for name in ("marginals", "mst"):
        made = synthesize(frame, domain=DOMAIN, method=name, rows=50, **PRICE)
        yield name, (made.table.schema, made.guarantee, made.event)
    tables = marginals(frame, of=[[name] for name in DOMAIN], domain=DOMAIN, **PRICE)
    labels = {name: (table.schema, table.column(0).to_pylist()) for name, table in tables.tables.items()}
    yield "tables", (labels, tables.guarantee, tables.event, tables.margins)
    tree = top_down(frame, levels=["code"], places=[("1",), ("17",)], by=["age"], domain=DOMAIN, **PRICE)
    yield "places", (tree.tables["code"].drop(["count", "noisy"]), tree.guarantee)
    told = compare(stored(rows()), private=frame, domain=DOMAIN, widths=(1,), **PRICE)
    yield "comparison", (told.guarantee, told.event)


@pytest.mark.parametrize("value", [None, "text", 10**30, [1]], ids=repr)
def test_everything_but_the_noise_is_the_same_for_neighbours(value: object, soak: int) -> None:
    expected = dict(released(stored(rows())))
    for name, found in released(with_one_more(value)):
        assert found == expected[name], name
    assert "int64" in str(expected["mst"][0].field("age")) and "double" in str(expected["mst"][0].field("cost"))


@pytest.mark.parametrize("value", [None, "text", 10**30], ids=repr)
def test_people_are_found_in_another_table_whatever_types_their_numbers_have(value: object) -> None:
    """B3: a key that became a double must still point to its person."""
    people = stored({"id": list(range(40)), "sex": ["f", "m"] * 20})
    visits = stored({"who": [*range(40), *range(40), value], "ward": [1, 2] * 40 + [1]})
    made = synthesize_linked(
        {"people": people, "visits": visits},
        parent="people",
        key="id",
        links=[ForeignKey("visits", "who", max_rows=3)],
        domain={"people": {"sex": Categorical(["f", "m"])}, "visits": {"ward": Categorical([1, 2])}},
        epsilon=100,
        delta=1e-5,
        method="marginals",
    )
    assert 60 < made.tables["visits"].num_rows < 100


def test_a_series_counts_the_same_people_whatever_types_they_have() -> None:
    day = datetime.date(2026, 1, 5)
    made = {}
    for last in ([], [None], ["x"], [10**30]):
        cells = {
            "person": [*range(500), *last],
            "place": [1, 2] * 250 + [3] * len(last),
            "day": [day] * (500 + len(last)),
        }
        series = DailySeries(places=["1", "2"], first=day, days=1, epsilon=50, delta=1e-5)
        made[repr(last)] = series.publish(stored(cells), day)["noisy"].to_pylist()
    assert all(abs(count - 250) < 10 for counts in made.values() for count in counts)


def test_without_a_declaration_whole_numbers_of_pandas_are_doubles_with_or_without_a_missing_one() -> None:
    plain, missing = (unread_of(stored({"n": values})) for values in ([1, 2, 3], [1, 2, None]))
    assert plain.schema.equals(missing.schema)
    assert repr(domain_for(plain.schema, None)) == repr(domain_for(missing.schema, None))
    assert columns_told(domain_for(plain.schema, None)) == columns_told(domain_for(missing.schema, None))
    typed = unread_of(pyarrow.table({"n": pyarrow.array([1, None])}))  # here the schema says so
    assert domain_for(typed.schema, None)["n"].is_whole  # type: ignore[union-attr]


def test_words_are_the_same_however_they_are_stored() -> None:
    forms = [[1, 17, 0], [1.0, 17.0, -0.0], ["1", "17", "0"], [Decimal(1), Decimal(17), Decimal(0)]]
    assert all(texts_of(pyarrow.array(form)).to_pylist() == ["1", "17", "0"] for form in forms)
    days = [datetime.date(2025, 1, 3)], [datetime.datetime(2025, 1, 3)], ["2025-01-03"], ["2025-01-03 00:00:00"]
    assert all(texts_of(pyarrow.array(list(form))).to_pylist() == ["2025-01-03"] for form in days)
    assert texts_of(pyarrow.array([True, False, None])).to_pylist() == ["true", "false", None]
    assert texts_of(pyarrow.array([0.5, float("nan"), 1e300])).to_pylist() == ["0.5", None, "1e+300"]


def test_a_text_of_very_many_digits_is_no_number() -> None:
    column = pyarrow.chunked_array([["7", "5" * 301, "0." + "5" * 1_000_000, "5" * 300]])
    values = numbers_of(column, dates=False)
    assert np.isnan(values).tolist() == [False, True, True, False]
    assert np.isnan(numbers_of(column, dates=True))[1:].all()
