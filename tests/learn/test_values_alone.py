"""What a value is read as depends on that value alone: no other row, and no container, decides it."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest
import torch
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import StandardScaler as Plain

from hubbub import learn
from hubbub.learn.base.inputs import _PLAIN, _as_number, numbers_of, private_table, table_of
from hubbub.learn.base.shapes import shape_of, with_width
from hubbub.learn.base.targets import classes_of, labels_of, targets_of
from hubbub.learn.composition.held_out_score import WithHeldOutScore
from hubbub.learn.pate.votes import _unit_numbers
from hubbub.learn.tables.features import Category, NumberFeature, codes_of
from hubbub.learn.torch import PrivateTrainer
from hubbub.learn.training.column_moments import column_sums
from hubbub.learn.training.moments import Grid, bounded_entries
from hubbub.terms import HubbubError, NotANumber, OutOfRange, WrongShape


@pytest.fixture(autouse=True)
def _loudly() -> Iterator[None]:
    """A warning that depends on values tells about them."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with np.errstate(all="raise"):
            yield


# ---------------------------------------------------------------- objects


class OtherFloat(float):
    def __float__(self) -> float:
        return 99.0


class OtherDouble(np.float64):
    def __float__(self) -> float:
        return 18.0


class TwoAnswers:
    """An array to numpy, another number to ``float``."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(11.0)

    def __float__(self) -> float:
        return 12.0


class OwnInterface:
    __array_interface__ = np.array(16.0).__array_interface__

    def __float__(self) -> float:
        return 17.0


EDGES: list[Any] = [
    *(
        True,
        False,
        0,
        1,
        -1,
        2**53 + 1,
        -(2**53) - 1,
        2**63,
        2**64 + 3,
        10**308,
        2**1024 - 2**970 - 1,
        2**1024,
        10**400,
    ),
    *(0.0, -0.0, 5e-324, 1.7976931348623157e308, float("nan"), float("inf"), float("-inf"), 0.1),
    *(np.float16(1.1), np.float16(65504), np.float32(0.1), np.float32(3e38), np.float64(-0.0), np.longdouble(1) / 3),
    *(np.longdouble("1e4000"), np.longdouble("-1e-4930"), np.bool_(True), np.longlong(2**62 + 1), np.ulonglong(2**63)),
    *(kind(np.iinfo(kind).max) for kind in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32)),
    *(np.int64(-(2**63)), np.int64(2**63 - 1), np.uint64(2**64 - 1)),
]
OTHERS: list[Any] = [
    *(np.datetime64("2020-01-01"), np.datetime64(5, "ns"), np.datetime64("NaT"), np.array(np.datetime64(3, "s"))),
    *(np.timedelta64(5), np.timedelta64(5, "s"), np.timedelta64(5, "D"), np.timedelta64("NaT"), datetime.timedelta(1)),
    *("1.5", " 1 ", "1_0", "0x10", "nan", "1e400", "1\x00", "1" * 5000, np.str_("2"), np.str_("1\x00"), b"1"),
    *(bytearray(b"1"), np.bytes_(b"3"), memoryview(b"1"), Decimal("1.1"), Decimal("1e400"), Decimal("sNaN")),
    *(Fraction(1, 3), 1 + 2j, np.complex128(1 + 2j), datetime.date(2020, 1, 1), pandas.Timestamp("2020")),
    *(None, pandas.NA, pandas.NaT, np.ma.masked, np.ma.array([1.0], mask=[True]), [], [5.0], (5.0,), {}, range(1)),
    *(np.array(5.0), np.array([5.0]), np.array([[5.0]]), np.array("7"), np.array(b"7"), np.array([1.0, 2.0])),
    *(np.array(2**60, dtype=object), np.array(None, dtype=object), np.void(b"12345678"), pandas.Series([4.0])),
    *(torch.tensor(3.0), torch.tensor([3.0]), OtherFloat(2.0), OtherDouble(1.0), TwoAnswers(), OwnInterface()),
]


def objects(*values: Any, shape: tuple[int, ...]) -> Any:
    array = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        array[place] = value
    return array.reshape(shape)


def same(read: np.float64, expected: float) -> bool:
    return bool(read == expected or (np.isnan(read) and np.isnan(expected)))


def test_the_edges_have_every_plain_type() -> None:
    assert {type(value) for value in EDGES} == _PLAIN


@pytest.mark.parametrize("value", EDGES, ids=lambda value: type(value).__name__)
def test_one_go_reads_a_plain_number_as_it_is_read_alone(value: Any) -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        alone = _as_number(value)
    for plain in ([value], [value, 1], objects(value, 2.5, shape=(2,)), objects(value, 2.5, shape=(1, 2))):
        read = numbers_of(plain).ravel()[0]
        assert read.tobytes() == np.float64(alone).tobytes()


@pytest.mark.parametrize("value", [*EDGES, *OTHERS], ids=lambda value: type(value).__name__)
def test_no_other_value_decides_what_a_value_is_read_as(value: Any) -> None:
    alone = numbers_of(objects(value, shape=(1,)))[0]
    for other in (object(), "n/a", None, 10**400, np.datetime64("2020-01-01"), 1.0):
        for together in (
            numbers_of(objects(value, other, shape=(2,)))[0],
            numbers_of(objects(value, other, shape=(2, 1)))[0, 0],
        ):
            assert same(together, alone)
        read = alone if np.isfinite(alone) else 0.0
        assert same(private_table([[value], [other]])[0, 0], read)
        assert same(private_table(objects(value, other, shape=(2, 1)))[0, 0], read)


def test_dates_and_times_are_no_numbers_whatever_their_unit() -> None:
    for unit in ("D", "s", "us", "ns"):
        for cell in (np.datetime64(5, unit), np.timedelta64(5, unit)):
            assert np.isnan(numbers_of([cell])).all() and np.isnan(numbers_of(np.array([cell]))).all()
            assert targets_of(np.array([cell, cell]), (0, 1), 2).tolist() == [0, 0]


def test_one_row_moves_the_sums_of_waiting_times_by_what_it_adds_alone() -> None:
    """Neighbours: people whose cells are numpy's times, and one who has a word there."""
    rows = [[np.timedelta64(5, "D"), 40.0] for _ in range(500)]
    without, with_one, alone = map(sums_of, (rows, [*rows, ["n/a", 40.0]], [["n/a", 40.0]]))
    assert np.array_equal(with_one, without + alone)
    learn.StandardScaler(epsilon=1, delta=1e-6, bounds=(0, 50), rows=500).fit(rows)


def sums_of(rows: Any) -> Any:
    """What a scaler releases of a table, before the noise."""
    grid = Grid(20)
    return column_sums(bounded_entries(private_table(rows), np.zeros(2), np.full(2, 50.0), grid), grid)


# ---------------------------------------------------------------- columns of Arrow, pandas and Polars

ROWS = 40
OTHER = np.linspace(-1, 1, ROWS)


def twice(make: Callable[[list[Any]], Any], good: Any, odd: Any) -> tuple[Any, Any]:
    """Two columns that differ in the last row."""
    return make([good] * ROWS), make([good] * (ROWS - 1) + [odd])


def stored(kind: Any, width: str, good: int, odd: int) -> tuple[Any, Any]:
    """Arrow columns of what stands in memory, which Python may not be able to hold."""

    def column(values: list[Any]) -> Any:
        return pyarrow.Array.from_buffers(kind, ROWS, [None, pyarrow.py_buffer(np.array(values, width).tobytes())])

    return twice(column, good, odd)


def texts(last: bytes) -> Any:
    """Texts of three bytes each."""
    ends = pyarrow.py_buffer(np.arange(0, 3 * ROWS + 1, 3, dtype=np.int32).tobytes())
    content = pyarrow.py_buffer(b"1.5" * (ROWS - 1) + last)
    return pyarrow.Array.from_buffers(pyarrow.string(), ROWS, [None, ends, content])


def listed(kind: Any, good: Any, odd: Any) -> tuple[Any, Any]:
    return twice(lambda values: pyarrow.array(values, kind), good, odd)


def coded(odd: int | None) -> Any:
    """Categories of text."""
    return pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * (ROWS - 1) + [odd]), texts(b"\xff.5")[-2:])


ARROW: dict[str, tuple[Any, Any]] = {
    "text that is no UTF-8": (texts(b"1.5"), texts(b"\xff.5")),
    "categories of it": (coded(0), coded(1)),
    "a time outside of the day": stored(pyarrow.time64("us"), "i8", 5, 10**15),
    "a time of nanoseconds": stored(pyarrow.time64("ns"), "i8", 5, 86_400 * 10**9),
    "a far day": stored(pyarrow.date32(), "i4", 5, 2**31 - 1),
    "a far day in milliseconds": stored(pyarrow.date64(), "i8", 0, -(2**62)),
    "a far moment": stored(pyarrow.timestamp("s"), "i8", 5, 2**62),
    "a far moment of a zone": stored(pyarrow.timestamp("us", "Europe/Paris"), "i8", 5, 2**62),
    "a long time": stored(pyarrow.duration("s"), "i8", 5, 2**62),
    "a missing number": listed(pyarrow.int64(), 2**53 + 1, None),
    "a missing half": listed(pyarrow.float16(), np.float16(0.5), None),
    "a missing truth": listed(pyarrow.bool_(), True, None),
    "a missing text": listed(pyarrow.large_string(), "1.5", None),
    "a missing decimal": listed(pyarrow.decimal128(38, 2), Decimal("1.5"), None),
    "a wide decimal": listed(pyarrow.decimal256(76, 0), Decimal(1), Decimal(10) ** 75),
    "a list of another length": listed(pyarrow.list_(pyarrow.int64()), [1], [1, 2]),
    "a struct": listed(pyarrow.struct({"a": pyarrow.int64()}), {"a": 1}, None),
    "bytes": listed(pyarrow.binary(), b"1.5", b"\xff"),
    "nothing": listed(pyarrow.null(), None, None),
}


def arrow_backed(column: Any) -> Any:
    return pandas.Series(pandas.arrays.ArrowExtensionArray(pyarrow.chunked_array([column])))


def nullable(kind: str) -> Callable[[list[Any]], Any]:
    return lambda values: pandas.array(values, kind)


def large_categories(values: list[Any]) -> Any:
    return pandas.Categorical(values, categories=[2**53, 2**53 + 1])


def periods(values: list[Any]) -> Any:
    return pandas.arrays.PeriodArray(np.array(values, dtype=np.int64), dtype=pandas.PeriodDtype("D"))


PANDAS: dict[str, tuple[Any, Any]] = {
    "Int64": twice(nullable("Int64"), 2**53 + 1, None),
    "UInt64": twice(nullable("UInt64"), 2**64 - 1, None),
    "Float64": twice(nullable("Float64"), 1.5, None),
    "boolean": twice(nullable("boolean"), True, None),
    "string": twice(nullable("string"), "1.5", None),
    "python string": twice(nullable("string[python]"), "1.5", None),
    "str": twice(nullable("str"), "1.5", None),
    "categories": twice(large_categories, 2**53 + 1, None),
    "words": twice(pandas.Categorical, "a", None),
    "periods": twice(periods, 5, 2**62),
    "intervals": twice(pandas.arrays.IntervalArray.from_tuples, (0.0, 1.0), None),
    "sparse": twice(pandas.arrays.SparseArray, 1.5, np.nan),
    "zoned moments": twice(pandas.array, pandas.Timestamp("2020", tz="UTC"), pandas.NaT),
}
POLARS: dict[str, tuple[Any, Any, Any]] = {
    "Int64": (polars.Int64, 2**53 + 1, None),
    "Int128": (polars.Int128, 2**100, None),
    "Float32": (polars.Float32, 1.5, None),
    "Boolean": (polars.Boolean, True, None),
    "String": (polars.String, "1.5", None),
    "Categorical": (polars.Categorical, "1.5", "b"),
    "Date": (polars.Date, datetime.date(2020, 1, 1), None),
    "Duration": (polars.Duration, datetime.timedelta(1), None),
    "Time": (polars.Time, datetime.time(1), None),
    "Decimal": (polars.Decimal(10, 2), Decimal(1), None),
    "Object": (polars.Object, OtherFloat(1.0), None),
    "List": (polars.List(polars.Int64), [1], [1, 2]),
    "Array": (polars.Array(polars.Int64, 2), [1, 2], None),
    "Struct": (polars.Struct({"q": polars.Int64}), {"q": 1}, None),
    "Binary": (polars.Binary, b"1.5", b"\xff"),
    "Null": (polars.Null, None, None),
}


def pairs() -> Iterator[tuple[str, Any, Any]]:
    """Columns without and with the odd value, in every container that can have it."""
    for name, (good, odd) in ARROW.items():
        yield f"Arrow, {name}", good, odd
        yield f"Arrow in pieces, {name}", *(pyarrow.chunked_array([each[:7], each[7:]]) for each in (good, odd))
        yield f"Arrow in pandas, {name}", arrow_backed(good), arrow_backed(odd)
    for name, (clean, strange) in PANDAS.items():
        yield f"pandas, {name}", pandas.Series(clean), pandas.Series(strange)
    for name, (kind, value, other) in POLARS.items():
        plain = polars.Series("b", [value] * ROWS, dtype=kind)
        yield f"Polars, {name}", plain, polars.Series("b", [value] * (ROWS - 1) + [other], dtype=kind)
    unreadable = (
        polars.DataFrame(polars.from_arrow(pyarrow.table({"b": texts(last)}))) for last in (b"1.5", b"\xff.5")
    )
    yield "Polars, text that is no UTF-8", *(frame["b"] for frame in unreadable)


PAIRS = {name: (good, odd) for name, good, odd in pairs()}


def tables(column: Any) -> list[Any]:
    """The column beside one of numbers, and alone."""
    if isinstance(column, pandas.Series):
        return [pandas.DataFrame({"a": OTHER, "b": column}), pandas.DataFrame({"b": column})]
    if isinstance(column, polars.Series):
        return [polars.DataFrame({"a": OTHER}).with_columns(column.alias("b")), column.to_frame()]
    return [pyarrow.table({"a": OTHER, "b": column}), pyarrow.table({"b": column})]


@pytest.mark.parametrize("case", list(PAIRS))
def test_no_value_of_a_column_refuses_a_fit_or_changes_another_value(case: str) -> None:
    """Neighbours: two tables that differ in one row."""
    good, odd = PAIRS[case]
    for plain, strange in zip(tables(good), tables(odd), strict=True):
        try:
            expected = private_table(plain)
        except HubbubError as refusal:  # dates, by their type
            with pytest.raises(type(refusal)):
                private_table(strange)
            continue
        read = private_table(strange)
        assert np.array_equal(read[:-1], expected[:-1]) and np.isfinite(read).all()
        model = learn.StandardScaler(epsilon=1, delta=1e-6, bounds=(0, 9), rows=ROWS).fit(strange)
        assert model.n_features_in_ == read.shape[1]


@pytest.mark.parametrize("case", list(PAIRS))
def test_no_label_of_a_column_changes_the_labels_of_others(case: str) -> None:
    good, odd = PAIRS[case]
    for classes in (np.array([2**53, 2**53 + 1]), np.array([0.0, 2.0**53]), np.array(["1.5", "a"]), np.array([0, 1])):
        expected, read = labels_of(good, classes), labels_of(odd, classes)
        assert np.array_equal(read[:-1], expected[:-1])
        assert np.array_equal(targets_of(good, (0, 9), ROWS)[:-1], targets_of(odd, (0, 9), ROWS)[:-1])
    rows = np.linspace(-1, 1, ROWS)[:, None]
    settings: dict[str, Any] = {"epsilon": 1, "delta": 1e-6, "rows": ROWS, "norm": 1.0, "max_iter": 2}
    learn.LogisticRegression(classes=[0, 1], **settings).fit(rows, odd)


MAKERS: dict[str, Any] = {
    "polars": lambda values: polars.Series(values, dtype=polars.Int64),
    "arrow": lambda values: pyarrow.array(values, pyarrow.int64()),
    "arrow in pieces": lambda values: pyarrow.chunked_array([pyarrow.array(values, pyarrow.int64())]),
    "Int64": lambda values: pandas.Series(values, dtype="Int64"),
    "an array of Int64": lambda values: pandas.array(values, dtype="Int64"),
    "int64[pyarrow]": lambda values: pandas.Series(values, dtype="int64[pyarrow]"),
    "Categorical": lambda values: pandas.Series(large_categories(values)),
    "its array": large_categories,
}


@pytest.mark.parametrize("name", list(MAKERS))
def test_a_missing_label_makes_no_other_class_of_large_labels(name: str) -> None:
    """Beyond 2^53 the labels of everybody were rounded as soon as one was missing."""
    classes = np.array([2**53, 2**53 + 1])
    for last in (2**53, None):
        assert labels_of(MAKERS[name]([2**53 + 1] * 3 + [last]), classes)[:3].tolist() == [1, 1, 1]
    assert labels_of(MAKERS[name]([2**53, None]), classes).tolist() == [0, -1]


@pytest.mark.parametrize("name", list(MAKERS))
def test_classes_that_count_as_public_have_the_type_of_the_column(name: str) -> None:
    found = classes_of(MAKERS[name]([2**53, 2**53 + 1, 2**53]))
    assert found.dtype == np.int64 and found.tolist() == [2**53, 2**53 + 1]


def test_numbers_of_a_column_are_read_as_those_of_an_array() -> None:
    whole = np.array([2**53 + 1, -(2**63), 2**63 - 1, 0])
    for column in (
        pyarrow.array(whole),
        polars.Series(whole),
        pandas.Series(whole, dtype="Int64"),
        pandas.Series(whole),
    ):
        table = pyarrow.table({"a": column}) if isinstance(column, pyarrow.Array) else column.to_frame()
        for read in (private_table, table_of):
            assert read(table)[:, 0].tolist() == whole.astype(np.float64).tolist()
    with pytest.raises(OutOfRange):
        table_of(pyarrow.table({"a": [1, None]}))
    with pytest.raises(NotANumber):
        table_of(pyarrow.table({"a": [1, 2], "b": ["x", "y"]}))


def test_texts_of_numpy_with_a_missing_one_are_labels_each_by_itself() -> None:
    kind = np.dtypes.StringDType(na_object=None)
    assert labels_of(np.array(["a", "b", None], dtype=kind), np.array(["a", "b"])).tolist() == [0, 1, -1]


# ---------------------------------------------------------------- the width of a list

PRICED: dict[str, Any] = {"epsilon": 1, "delta": 1e-6, "rows": 6}
DECLARED: dict[str, Any] = {
    "bounds": lambda: learn.StandardScaler(bounds=[(0, 1), (0, 1)], **PRICED),
    "bins": lambda: learn.AdditiveTreesClassifier(bounds=(0, 1), bins=[2, 3], classes=[0, 1], rounds=2, **PRICED),
    "a first step": lambda: learn.Pipeline([learn.StandardScaler(bounds=[(0, 1)] * 2), learn.PCA(norm=1.0)], **PRICED),
    "a public step": lambda: learn.Pipeline([FrozenEstimator(Plain().fit(np.eye(2))), learn.PCA(norm=1.0)], **PRICED),
    "an estimator inside": lambda: WithHeldOutScore(
        learn.GaussianNB(bounds=[(0, 1), (0, 1)], classes=[0, 1]), **PRICED
    ),
    "validation rows": lambda: learn.PrivateSearch(
        learn.Ridge(norm=1.0, target_bounds=(0, 1)), [{"alpha": 1}], validation=([[0, 1]], [1]), trials=2, **PRICED
    ),
    "public rows": lambda: learn.PATEClassifier(public=np.eye(2), teachers=2, classes=[0, 1], **PRICED),
}  # fmt: skip


@pytest.mark.parametrize("case", list(DECLARED))
def test_no_row_of_a_list_decides_how_wide_it_is_where_that_is_declared(case: str) -> None:
    """Neighbours at a tie: with one row more, most rows are of another length."""
    two, three = [0.5, 0.25], [0.5, 0.25, 1.0]
    for rows in ([two, three], [two] * 3 + [three] * 3, [two] * 2 + [three] * 3, [two, three, None, 5, "ab", 7]):
        model = DECLARED[case]().fit(rows, [0, 1, 0, 1, 0, 1][: len(rows)])
        assert model.n_features_in_ == 2


def test_rows_of_another_length_than_the_declared_one_are_missing() -> None:
    rows = with_width([[1.0, 2.0], [1.0], None, [3.0, 4.0, 5.0]], 2)
    assert shape_of(rows) == (4, 2)
    assert private_table(rows).tolist() == [[1, 2], [0, 0], [0, 0], [0, 0]]
    assert with_width(np.eye(2), 3).shape == (2, 2)  # an array has its own shape, and is refused by it


def test_folds_take_the_declared_width_too() -> None:
    rows, labels = [[0.5, 0.25]] * 3 + [[0.5, 0.25, 1.0]] * 3, [0, 1] * 3
    naive = learn.GaussianNB(bounds=[(0, 1), (0, 1)], classes=[0, 1])
    assert learn.cross_val_score(naive, rows, labels, epsilon=1, delta=1e-6, cv=2).shape == (2,)


# ---------------------------------------------------------------- other ways in


@pytest.mark.parametrize("name", [name for name in MAKERS if name not in ("Categorical", "its array")])
def test_a_missing_unit_makes_no_one_unit_of_two_others(name: str) -> None:
    """Beyond 2^53 the names of all units were rounded as soon as one was missing."""
    groups = [2**53, 2**53 + 1, 2**53, 7]
    numbers = [_unit_numbers(MAKERS[name]([*groups[:-1], last]), 4)[:3].tolist() for last in (7, None)]
    assert numbers == [[0, 1, 0]] * 2


def test_no_unit_fails_by_its_name() -> None:
    for good, odd in PAIRS.values():
        assert np.array_equal(_unit_numbers(good, ROWS)[:-1], _unit_numbers(odd, ROWS)[:-1])


@pytest.mark.parametrize("case", list(PAIRS))
def test_no_cell_of_a_named_column_changes_another(case: str) -> None:
    good, odd = PAIRS[case]
    columns = [NumberFeature("b", 0, 9), Category("b", ("1.5", "a", "true"))]
    expected, read = (codes_of({"b": column}, columns) for column in (good, odd))
    assert np.array_equal(read[:-1], expected[:-1])


def test_networks_take_no_list_whose_type_a_value_would_decide() -> None:
    settings: dict[str, Any] = {"epsilon": 1, "delta": 1e-5, "max_iter": 1, "classes": 2, "rows": 4}
    rows, labels = np.zeros((4, 2), dtype=np.float32), np.array([0, 1, 0, 1])
    refused = {
        "a list": ([[0.0, 1.0]] * 4, labels),
        "labels in a list": (rows, [0, 1, 0, 1]),
        "nullable labels": (rows, pandas.Series([0, 1, 0, None], dtype="Int64")),
        "nullable labels, all there": (rows, pandas.Series([0, 1, 0, 1], dtype="Int64")),
        "labels of Arrow": (rows, pyarrow.array([0, 1, 0, None])),
    }
    for case, (x, y) in refused.items():
        trainer = PrivateTrainer(torch.nn.Linear(2, 2), torch.nn.functional.cross_entropy, **settings)
        with pytest.raises(WrongShape, match="arrays of numbers"):
            pytest.fail(f"{case}: {trainer.fit(x, y)}")
