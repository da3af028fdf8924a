"""What may stand in a column: cells and back, and what is refused."""

from __future__ import annotations

import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub.publish import Categorical, Date, Numeric, SurrogateKey, marginals, read_domain, synthesize
from hubbub.publish.cells import CategoryCells, Scale, coding_of
from hubbub.publish.domains import column_identity, domain_for, equal_edges
from hubbub.terms import EmptyInput, HubbubError, MissingParameter, NotANumber, OutOfRange, ReversedBounds, TooLarge

from ._synthetic import DOMAIN, people


@given(lower=st.integers(-1000, 1000), width=st.integers(1, 500), bins=st.integers(1, 80) | st.none())
def test_bins_of_whole_numbers_hold_every_number_once(lower: int, width: int, bins: int | None) -> None:
    edges = equal_edges(Fraction(lower), Fraction(lower + width), bins, whole=True)
    assert edges == sorted(set(edges))
    assert (edges[0], edges[-1]) == (lower, lower + width + 1)


@given(
    values=st.lists(st.integers(-50, 150) | st.none(), min_size=1, max_size=30),
    bins=st.integers(1, 40),
    missing=st.booleans(),
)
def test_a_value_made_from_a_cell_lies_in_that_cell(values: list[int | None], bins: int, missing: bool) -> None:
    column = Numeric(lower=0, upper=99, bins=bins, missing=missing)
    coding = coding_of(column)
    codes = coding.encode(pyarrow.chunked_array([pyarrow.array(values, pyarrow.int64())]))
    again = coding.decode(codes, np.random.default_rng(0))
    assert np.array_equal(coding.encode(pyarrow.chunked_array([again])), codes)
    assert all(v is None or 0 <= v <= 99 for v in again.to_pylist())


@given(
    steps=st.integers(1, 3000),
    start=st.integers(-500, 500),
    step=st.sampled_from(["0.01", "0.1", "0.25", "5", "1/3", "0.0001"]),
    bins=st.integers(1, 60),
    whole=st.booleans(),
)
def test_numbers_with_a_step_are_multiples_of_it(steps: int, start: int, step: str, bins: int, whole: bool) -> None:
    grid = Fraction(step)
    lower, upper = start * grid, (start + steps) * grid
    coding = coding_of(Numeric(lower=lower, upper=upper, bins=bins, step=grid, whole=whole and grid.denominator == 1))
    codes = np.repeat(np.arange(coding.cells), 20)
    values = coding.decode(codes, np.random.default_rng(0)).to_pylist()
    multiples = [round(value / float(grid)) for value in values]
    assert values == [float(number * grid) for number in multiples]
    assert start <= min(multiples) and max(multiples) <= start + steps
    if steps >= 2 * bins:  # each cell has one: then it stays there
        assert np.array_equal(coding.encode(pyarrow.chunked_array([values])), codes)


def test_a_step_reaches_both_bounds_and_every_value_between_evenly() -> None:
    coding = coding_of(Numeric(lower=0, upper=1, bins=1, step=0.25, whole=False))
    drawn = coding.decode(np.zeros(50_000, dtype=np.int64), np.random.default_rng(1)).to_pylist()
    counts = {value: drawn.count(value) for value in (0.0, 0.25, 0.5, 0.75, 1.0)}
    assert sum(counts.values()) == 50_000 and all(abs(count - 10_000) < 500 for count in counts.values())


def test_a_grid_that_is_finer_than_doubles_is_none() -> None:
    coding = coding_of(Numeric(lower=0.0, upper=1e300, step=1e-9))
    assert 0 <= coding.decode(np.array([3]), np.random.default_rng(0)).to_pylist()[0] <= 1e300


def test_a_declared_step_is_kept_in_made_up_rows_and_changes_nothing_that_is_measured(tmp_path: Path) -> None:
    file = tmp_path / "domain.toml"
    file.write_text('cost = { lower = 0, upper = 5000, step = 0.01, bins = 50, type = "number" }\n')
    domain = read_domain(file)
    made = synthesize(
        pyarrow.table({"cost": [192.951, 4000.5] * 50}), domain=domain, method="marginals", epsilon=1, delta=1e-6
    )
    assert all(value == round(value, 2) for value in made.table["cost"].to_pylist())
    free = Numeric(lower=0.0, upper=5000.0, bins=50)
    assert column_identity(free) == column_identity(domain["cost"])
    assert coding_of(free).edges == coding_of(domain["cost"]).edges  # type: ignore[arg-type, union-attr]


@pytest.mark.parametrize("step", [0, -1, 0.3, "much"])
def test_a_step_that_does_not_divide_the_bounds_is_refused(step: Any) -> None:
    with pytest.raises(HubbubError, match="step"):
        Numeric(lower=0, upper=1, step=step)


def test_numbers_beyond_the_bounds_go_to_the_nearest_one() -> None:
    coding = coding_of(Numeric(lower=0, upper=9))
    assert coding.encode(pyarrow.chunked_array([[-7, 3, 12, None]])).tolist() == [0, 3, 9, 0]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_what_is_no_number_has_a_cell_too(value: float) -> None:
    coding = coding_of(Numeric(lower=0.0, upper=1.0, bins=4, missing=True))
    assert 0 <= coding.encode(pyarrow.chunked_array([[value]]))[0] < coding.cells


def test_words_that_are_not_listed_count_as_other() -> None:
    apart = CategoryCells(("a", "b"))
    assert apart.encode(pyarrow.chunked_array([["b", "z", None]])).tolist() == [1, 2, 2]
    assert apart.decode(np.array([0, 2]), np.random.default_rng(0)).to_pylist() == ["a", None]
    as_one = CategoryCells(("a", "b"), "b")
    assert as_one.encode(pyarrow.chunked_array([["b", "z", None]])).tolist() == [1, 1, 1]


def test_lists_of_another_type_than_the_column_are_compared_as_text() -> None:
    assert CategoryCells(("1", "x")).encode(pyarrow.chunked_array([[1, 2]])).tolist() == [0, 2]


def test_categories_in_a_dictionary_and_dates_in_text_are_read() -> None:
    column = pyarrow.chunked_array([pyarrow.array(["b", "a", None]).dictionary_encode()])
    assert CategoryCells(("a", "b")).encode(column).tolist() == [1, 0, 2]
    days = coding_of(Date(lower="2025-01-01", upper="2025-01-10"))
    assert days.encode(pyarrow.chunked_array([["2025-01-03", "2024-01-01", "soon"]])).tolist() == [2, 0, 0]


def test_dates_come_back_as_dates_between_their_bounds() -> None:
    days = coding_of(Date(lower="2025-01-01", upper="2025-12-31", bins=12))
    made = days.decode(np.arange(12), np.random.default_rng(0)).to_pylist()
    assert all(datetime.date(2025, 1, 1) <= day <= datetime.date(2025, 12, 31) for day in made)
    moments = pyarrow.chunked_array([[datetime.datetime(2025, 7, 1, 13)]])
    assert isinstance(days, Scale)
    assert days.encode(moments)[0] == days.encode(pyarrow.chunked_array([[datetime.date(2025, 7, 1)]]))[0]


# ---------------------------------------------------------------- refused, with the line to add


def test_a_column_without_a_domain_is_refused_with_the_line_to_add() -> None:
    left = {name: column for name, column in DOMAIN.items() if name != "age"}
    with pytest.raises(MissingParameter) as caught:
        synthesize(people(10), epsilon=1, delta=1e-6, domain=left)
    assert '"age": Numeric(lower=..., upper=...)' in caught.value.fix


def test_without_any_domain_each_is_found_by_its_type() -> None:
    schema = pyarrow.schema({"n": pyarrow.int64(), "w": pyarrow.string(), "b": pyarrow.bool_()})
    found = domain_for(schema, None)
    assert found["n"] == Numeric(bounds="private", missing=True, whole=True)
    assert found["w"] == Categorical("private")
    assert found["b"] == Categorical((False, True))


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: Numeric(lower=5, upper=5), ReversedBounds),
        (lambda: Numeric(lower=1), MissingParameter),
        (lambda: Numeric(lower=1, upper=2, bounds="private"), MissingParameter),
        (lambda: Numeric(lower=0, upper=1, bins=0), OutOfRange),
        (lambda: Categorical([]), EmptyInput),
        (lambda: Categorical(["a", "a"]), EmptyInput),
        (lambda: Categorical("secret"), OutOfRange),
        (lambda: Categorical([1, 2], other="rest"), OutOfRange),
        (lambda: Categorical(["a", 2]), OutOfRange),
        (lambda: Categorical([True, "no"]), OutOfRange),
        (lambda: Categorical([2**70]), OutOfRange),
        (lambda: Categorical([object()]), OutOfRange),
        (lambda: Categorical("private", other=5), OutOfRange),
        (lambda: Date(lower="2025-02-30", upper="2025-03-01"), NotANumber),
        (lambda: Date(lower="2025-03-02", upper="2025-03-01"), ReversedBounds),
    ],
)
def test_declarations_that_make_no_sense_are_refused(make: Any, error: type[HubbubError]) -> None:
    with pytest.raises(error):
        make()


@pytest.mark.parametrize(
    ("domain", "error"),
    [
        ({**DOMAIN, "height": Numeric(lower=0, upper=2)}, OutOfRange),
        ({**DOMAIN, "age": "numbers"}, NotANumber),
        ({**DOMAIN, "age": Categorical(range(20_000))}, TooLarge),
        ({name: SurrogateKey() for name in DOMAIN}, EmptyInput),
    ],
)
def test_domains_that_do_not_fit_the_table_are_refused(domain: Any, error: type[HubbubError]) -> None:
    with pytest.raises(error):
        synthesize(people(10), epsilon=1, delta=1e-6, domain=domain)


@pytest.mark.parametrize(
    "column", [Categorical([1, 2.5], other=0), Categorical([datetime.date(2025, 1, 1)]), Categorical("private", "rest")]
)
def test_values_that_fit_together_are_written_together(column: Categorical) -> None:
    coding = CategoryCells(("a",) if column.is_private else tuple(column.values), column.other)
    assert len(coding.decode(np.array([0, coding.cells - 1]), np.random.default_rng(0))) == 2


def test_two_columns_of_one_name_and_a_unit_of_lists_are_refused() -> None:
    told: dict[str, Any] = {"epsilon": 1, "delta": 1e-6, "account": "never looked at"}
    twice = pyarrow.Table.from_arrays([pyarrow.array(["f"]), pyarrow.array(["m"])], names=["sex", "sex"])
    lists = pyarrow.table({"who": [[1], [2]], "sex": ["f", "m"]})
    domain = {"sex": DOMAIN["sex"]}
    with pytest.raises(OutOfRange, match="same name"):
        synthesize(twice, domain=domain, **told)
    with pytest.raises(OutOfRange, match="same name"):
        marginals(twice, of=[["sex"]], domain=domain, **told)
    with pytest.raises(OutOfRange, match="list"):
        synthesize(lists, domain=domain, unit="who", max_rows_per_unit=1, **told)
    with pytest.raises(OutOfRange, match="list"):
        marginals(lists, of=[["sex"]], domain=domain, unit="who", max_rows_per_unit=1, **told)


def test_values_of_a_type_without_cells_are_refused() -> None:
    nested = pyarrow.table({"a": [[1], [2]]})
    with pytest.raises(OutOfRange):
        synthesize(nested, epsilon=1, delta=1e-6)
    days = pyarrow.table({"day": [datetime.date(2025, 1, 1)]})
    with pytest.raises(MissingParameter, match="Date"):
        synthesize(days, epsilon=1, delta=1e-6)
