"""Masks, odd arrays and values out of range at every entry of the room: refused by our errors, or read as they are."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hubbub.gopa import (
    BoundedNumber,
    CategoryShares,
    Gradient,
    PrivatelyWeighted,
    Quantity,
    Subjects,
    Vector,
    Weighted,
    average,
    learn_together,
    simulate,
)
from hubbub.gopa.average import people_for_plan
from hubbub.gopa.network.party_log import Diary
from hubbub.gopa.protocol.agreement import Agreement
from hubbub.gopa.protocol.party import start
from hubbub.terms import HubbubError, OutOfRange, Unreadable, WrongShape
from tests.gopa.cast import cast

FEW = {"epsilon": 20, "delta": 1e-2, "honest": 1, "dropouts": 0, "proofs": False}
TARGET = np.array([0.0, 1.0])
Entry = Callable[[Any], object]


def averaged(of: Any, wrap: Callable[[Any], Any] = lambda value: [value, value]) -> Entry:
    return lambda value: average(wrap(value), of, **FEW)  # type: ignore[arg-type]


def begun(value: Any) -> object:
    who = cast(quantity=None)
    return start(who.agreement, who.identities[0], value)


ENTRIES: dict[str, Entry] = {
    "simulate": lambda value: simulate(value, epsilon=20, delta=1e-2, honest=1, dropouts=0),
    "simulate, classic": lambda value: simulate(value, 20, 1e-2, honest=1, dropouts=0, profile="classic"),
    "all values": averaged(BoundedNumber(), lambda value: value),
    "a vector": averaged(Vector(2)),
    "a gradient": averaged(Gradient(2)),
    "people": averaged(Subjects(BoundedNumber(), most=2)),
    "people with vectors": averaged(Subjects(Vector(2), most=2), lambda value: [[value], [value]]),
    "people in cells": averaged(Subjects(CategoryShares(("a", "b")), most=2)),
    "a cell": averaged(CategoryShares(("a", "b"))),
    "a weighted number": averaged(Weighted(BoundedNumber(), (1, 2)), lambda value: value),
    "a pair": averaged(PrivatelyWeighted(BoundedNumber(), most=2)),
    "features": lambda value: learn_together([(value, TARGET)] * 2, **{**FEW, "steps": 1}),  # type: ignore[arg-type]
    "targets": lambda value: learn_together([(np.eye(2), value)] * 2, **{**FEW, "steps": 1}),  # type: ignore[arg-type]
    "steps": begun,
}
MASKED = {
    "masked": np.ma.masked_array([0.25, 0.5], [False, True]),
    "masked, nothing hidden": np.ma.masked_array([0.25, 0.5]),
    "masked integers": np.ma.masked_array([0, 1], [True, False]),
    "masked table": np.ma.masked_array(np.eye(2), np.eye(2)),
    "pandas with a mask": pd.array([0.25, None], dtype="Float64"),
    "pandas integers with a mask": pd.Series([1, 0], dtype="Int64"),
}
ODD = {
    "NaN": [0.5, float("nan")],
    "infinite": [0.5, float("inf")],
    "far out": [0.5, 1e300],
    "a huge integer": [0, 10**400],
    "text": ["a", "secret"],
    "none": [None, 0.5],
    "ragged": [[1], [1, 2]],
    "complex": [1j, 0],
    "objects": [object(), object()],
    "nothing": [],
    "matrix": np.array([[0.25, 0.5]]).view(np.matrix),
    "deep": np.zeros((2, 2, 2)),
    "a number": 0.5,
    "booleans": np.array([True, False]),
    "bytes": b"ab",
    "a dict": {0: 1, 1: 0},
    "a hidden entry": [np.ma.masked, 0.5],
    "missing": [pd.NA, 0.5],
}


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("kind", MASKED)
def test_what_has_a_mask_is_refused_at_every_entry(entry: str, kind: str) -> None:
    with pytest.raises(HubbubError):
        ENTRIES[entry](MASKED[kind])


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("kind", ODD)
def test_odd_values_are_read_or_refused_by_our_errors_and_not_shown(entry: str, kind: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            ENTRIES[entry](ODD[kind])
        except HubbubError as error:
            assert "secret" not in str(error) and "0.25" not in str(error)


def test_the_table_can_fail() -> None:
    """Plain values pass where they should: a refusal of everything would prove nothing."""
    mapped = np.array([0.25, 0.5])
    for entry in ("simulate", "all values", "a vector", "a gradient", "people", "targets"):
        ENTRIES[entry](mapped)
        ENTRIES[entry](mapped.tolist())
    ENTRIES["a weighted number"](mapped)
    ENTRIES["features"](np.eye(2))
    with pytest.raises(WrongShape, match="mask"):
        ENTRIES["a vector"](MASKED["masked"])


def test_a_mapped_file_is_read_as_the_array_that_it_is(tmp_path: Path) -> None:
    np.save(tmp_path / "values.npy", np.array([0.25, 0.5]))
    ENTRIES["simulate"](np.load(tmp_path / "values.npy", mmap_mode="r"))
    ENTRIES["a vector"](np.load(tmp_path / "values.npy", mmap_mode="r"))


def test_a_diary_takes_no_masks(tmp_path: Path) -> None:
    who = people_for_plan(Vector(2).plan(5, epsilon=20, delta=1e-2, honest=0.8, dropouts=0), Vector(2))
    with Diary(tmp_path / "diary", who.agreement) as diary, pytest.raises(WrongShape, match="mask"):
        diary.seat(who.identities[0], MASKED["masked"])  # type: ignore[arg-type]


# ---------------------------------------------------------------- texts that a terminal would show


@pytest.mark.parametrize(
    "text", ["\x1b[2J", "a\nb", "\u202egnp.exe", "\u2066x", "a\x00", "\ud800", "\x9b31m", "a\u200bb"]
)
def test_titles_and_names_that_rewrite_a_terminal_are_refused(text: str) -> None:
    agreed = cast().agreement
    fields = (agreed.roster, agreed.board, agreed.plan)
    with pytest.raises(OutOfRange, match="can be printed"):
        Agreement(*fields, title=text)
    with pytest.raises(OutOfRange, match="can be printed"):
        Agreement(*fields, Quantity(name=text))
    with pytest.raises(OutOfRange, match="can be printed"):
        CategoryShares((text, "b"))
    good = Agreement(*fields, title="TITLE").text()
    for spelled in (text, text.encode("unicode_escape").decode()):
        with pytest.raises(Unreadable):
            Agreement.read(good.replace("TITLE", spelled))


def test_titles_of_every_script_pass() -> None:
    agreed = cast().agreement
    for title in ("Grüße aus Wien", "等待时间", "زمن الانتظار"):
        made = Agreement(agreed.roster, agreed.board, agreed.plan, title=title)
        assert Agreement.read(made.text()) == made
