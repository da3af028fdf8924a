"""Releases leave as frames, Arrow, CSV and JSON; what is exact stays exact, types stay types."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import subprocess
import sys
from datetime import date, datetime
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub.releases import KeyColumn, Noise, NoisyColumn, Release, ReleasedColumn, formulas, json_form
from hubbub.releases.formulas import (
    Function,
    GivenIntervals,
    Key,
    Mean,
    Minus,
    Negate,
    Number,
    Over,
    PairStatistic,
    Plus,
    Ref,
    Times,
    Variance,
)
from hubbub.terms import NewerFormat, Unreadable, WrongShape

from ..renaming import renamed_classes
from ._made import GUARANTEE, by_ward, every_key, total


def through_text(release: Release) -> Release:
    return Release.from_json(json.loads(json.dumps(release.to_json(), allow_nan=False)))


def test_pandas_has_both_ends_beside_each_noisy_column() -> None:
    frame = by_ward().to_pandas()
    assert list(frame.columns) == ["ward", "n", "n_low", "n_high", "cost", "cost_low", "cost_high"]
    assert frame["n_low"].tolist() == [1183, 322, -24]
    assert frame["cost"].isna().tolist() == [False, False, True]
    assert list(by_ward().to_pandas(intervals=False).columns) == ["ward", "n", "cost"]
    assert (by_ward().to_pandas(confidence=0.99)["n_high"] > frame["n_high"]).all()
    assert "epsilon = 0.5" in frame.attrs["guarantee"]


def test_polars_reads_the_same_and_so_does_any_reader_of_arrow_streams() -> None:
    import polars

    release = by_ward()
    assert release.to_polars().equals(polars.DataFrame(release))
    assert pa.table(release).equals(release.to_arrow())


def test_arrow_keeps_the_types_of_keys() -> None:
    table = every_key().to_arrow()
    kinds = [pa.bool_(), pa.decimal128(38, 0), pa.float64(), pa.string(), pa.date32(), pa.timestamp("us")]
    assert table.schema.types[:6] == kinds
    assert table["day"].to_pylist() == [date(2025, 1, 2), None]
    assert table["at"].to_pylist() == [datetime(2025, 1, 2, 3, 4, 5, 6), None]
    assert [int(value) for value in table["sum"].to_pylist()] == [10**30, -(10**30)]
    assert json.loads(table.schema.metadata[b"hubbub.guarantee"])["hubbub"] == "guarantee/1"


@pytest.mark.parametrize("kind", ["boolean", "integer", "number", "text", "date", "timestamp"])
def test_types_are_known_without_a_row(kind: str) -> None:
    counts = NoisyColumn("COUNT(*)", Fraction(1), Noise("gaussian", Fraction(5)), ())
    empty = Release(
        (KeyColumn("k", (), kind),), (counts,), (ReleasedColumn("k", Key(0)), ReleasedColumn("n", Ref(0))), GUARANTEE
    )
    full = {"boolean": True, "integer": 1, "number": 0.5, "text": "a", "date": date.min, "timestamp": datetime.max}
    one = Release((KeyColumn("k", (full[kind],)),), (), (ReleasedColumn("k", Key(0)),), GUARANTEE)
    assert empty.to_arrow().schema.field("k").type == one.to_arrow().schema.field("k").type
    assert len(empty) == len(empty.to_pandas()) == 0
    assert empty.to_csv() == "k,n,n_low,n_high\n"
    assert "0 rows" in str(empty)
    assert "<table" in empty._repr_html_()
    assert through_text(empty) == empty


def test_names_in_a_frame_are_unique() -> None:
    twice = by_ward(columns=(ReleasedColumn("n", Ref(0)), ReleasedColumn("n", Ref(1)), ReleasedColumn("n_low", Key(0))))
    assert list(twice.to_pandas().columns) == ["n", "n_low", "n_high", "n_2", "n_low_2", "n_high_2", "n_low_3"]


def test_csv_reads_back() -> None:
    rows = list(csv.reader(io.StringIO(every_key().to_csv(intervals=False))))
    assert rows[0] == ["flag", "whole", "real", "text", "day", "at", "sum"]
    assert rows[1] == ["true", str(2**70), "0.1", "ä|\n<", "2025-01-02", "2025-01-02T03:04:05.000006", str(10**30)]
    assert rows[2] == ["", "-1", "inf", "", "", "", str(-(10**30))]


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_missing_package_is_told_with_the_line_that_installs_it(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hubbub.releases import frames
    from hubbub.terms import MissingExtra

    monkeypatch.setattr(frames, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=f"pip install {package}"):
        getattr(by_ward(), f"to_{package}")()


def test_the_room_loads_no_frame_library() -> None:
    script = (
        "import sys, hubbub.releases; print({'pandas', 'polars', 'pyarrow', 'scipy', 'duckdb'} & sys.modules.keys())"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "set()"


# ---------------------------------------------------------------- JSON


def test_a_release_is_the_same_after_json() -> None:
    for release in (by_ward(), every_key(), total(), by_ward(repeated=True, clipped={"cost": "about 3% of values"})):
        again = through_text(release)
        assert again == release
        assert again.to_csv() == release.to_csv()


median = GivenIntervals((1.5, None), (0.5, 0.95), ((1.0, None), (-float("inf"), None)), ((2.0, None), (3.0, None)))
FORMULAS = [
    Over(Plus(Ref(0), Number(Fraction(1, 3))), Minus(Ref(1), Times(Key(0), Negate(Ref(0))))),
    Mean(Ref(0), Ref(1), Fraction(1, 7), None, Fraction(5)),
    PairStatistic("corr", *[Ref(0)] * 6, y_centre=Fraction(1), x_centre=Fraction(1, 3), largest=Fraction(5)),
    Variance(Ref(0), Ref(1), Ref(1), Fraction(1, 7), Fraction(9), root=True, sample=True),
    Function("round", (Ref(0), Number(Fraction(2)))),
    median,
]


@pytest.mark.parametrize("formula", FORMULAS, ids=lambda formula: type(formula).__name__)
def test_every_formula_survives_json(formula: Any) -> None:
    measures = (NoisyColumn("a", Fraction(1, 3), Noise("laplace", Fraction(22, 7)), (10**30, -5)),) * 2
    release = Release((KeyColumn("k", (1, 2)),), measures, (ReleasedColumn("x", formula),), GUARANTEE)
    assert through_text(release) == release


def test_no_class_name_is_in_what_is_stored() -> None:
    columns = tuple(ReleasedColumn(f"x{i}", formula) for i, formula in enumerate((*FORMULAS[:-1], Key(0))))
    releases = [by_ward(), every_key(), total(), dataclasses.replace(by_ward(), columns=columns)]
    before = [json.dumps(release.to_json()) for release in releases]
    with renamed_classes() as count:
        assert count
        assert [json.dumps(release.to_json()) for release in releases] == before
        assert [Release.from_json(json.loads(text)) for text in before] == releases


def test_every_field_has_its_stored_key_and_every_formula_its_tag() -> None:
    for kind, keys in json_form._KEYS.items():
        assert list(keys.values()) == [field.name for field in dataclasses.fields(kind)], kind
    written = set(json_form._PLAIN.values()) | {"keys", "measures", "columns", "guarantee", "notes", "receipt"}
    assert written == {field.name for field in dataclasses.fields(Release)}
    named = {each for each in vars(formulas).values() if isinstance(each, type) and issubclass(each, formulas.Formula)}
    assert set(json_form._TAGS.values()) == named - {formulas.Formula}


@given(st.lists(st.integers()), st.fractions(min_value="1/1000", max_value=1000), st.booleans())
def test_integers_and_rationals_survive_json(values: list[int], scale: Fraction, laplace: bool) -> None:
    noise = Noise("laplace" if laplace else "gaussian", scale)
    release = Release((), (NoisyColumn("m", scale, noise, tuple(values)),), (ReleasedColumn("m", Ref(0)),), GUARANTEE)
    assert through_text(release) == release


def test_large_integers_are_text_for_readers_that_round() -> None:
    values = every_key().to_json()["measures"][0]["values"]
    assert values == [{"int": str(10**30)}, {"int": str(-(10**30))}]


@pytest.mark.parametrize(
    "change",
    [
        {"hubbub": "receipt/1"},
        {"more": 1},
        {"measures": [{"name": "x"}]},
        {"columns": [{"name": "x", "formula": {"formula": "nothing"}}]},
        {"columns": [{"name": "x", "formula": {"formula": "ref", "index": "0"}}]},
        {"columns": [{"name": "x", "formula": {"formula": "ref", "index": 7}}]},
        {"keys": [{"name": "k", "values": [{"date": "yesterday"}]}]},
        {"guarantee": {}},
    ],
    ids=str,
)
def test_another_document_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(Unreadable):
        Release.from_json(by_ward().to_json() | change)


def test_a_newer_document_is_refused() -> None:
    with pytest.raises(NewerFormat):
        Release.from_json(by_ward().to_json() | {"hubbub": "release/2"})


def test_a_column_that_finds_nothing_or_is_of_another_length_is_refused() -> None:
    for columns in ((ReleasedColumn("x", Ref(2)),), (ReleasedColumn("x", Key(1)),), (ReleasedColumn("x", median),)):
        with pytest.raises(WrongShape):
            by_ward(columns=columns)
    with pytest.raises(WrongShape):
        by_ward(keys=(KeyColumn("ward", ("north",)),))
