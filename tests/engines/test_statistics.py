"""A Parquet file's statistics may be wrong, and the engine believes them: bounds hold all the same."""

from __future__ import annotations

import struct
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from hubbub.engines import DuckDB
from hubbub.schema.tables import Column, Dataset, Kind, PersonLink, Table
from hubbub.sql.quote import plan_text
from hubbub.terms import Budget
from tests.sql._exact import read_exactly

_SMALL, _WRONG = 77, 10**9  # what a value was when the statistics were written, and what it is


def _dataset(kind: Kind) -> Dataset:
    bounds: dict[str, Any] = {"lower": Fraction(0), "upper": Fraction(200), "step": Fraction(1)}
    columns = (Column(name="p", kind=Kind.INTEGER), Column(name="x", kind=kind, **bounds))
    table = Table(name="t", source="", columns=columns, link=PersonLink("p"), max_rows_per_unit=1)
    return Dataset(name="d", population="d", unit="t.p", budget=Budget(1, 1e-6), tables=(table,))


def _lying(folder: Path, kind: Kind) -> Path:
    """Four values up to 100 by the statistics, of which one is a thousand million."""
    stored, form = (pyarrow.float64(), "<d") if kind is Kind.NUMBER else (pyarrow.int64(), "<q")
    table = pyarrow.table({"p": [1, 2, 3, 4], "x": pyarrow.array([0, _SMALL, 100, 50], stored)})
    path = folder / "t.parquet"
    parquet.write_table(table, path, compression="none", use_dictionary=False)
    content, small = path.read_bytes(), struct.pack(form, _SMALL)
    assert content.count(small) == 1
    path.write_bytes(content.replace(small, struct.pack(form, _WRONG)))
    return path


@pytest.mark.parametrize("kind", [Kind.NUMBER, Kind.INTEGER])
@pytest.mark.parametrize("bare", [True, False])
def test_a_clamp_holds_whatever_the_statistics_say(tmp_path: Path, kind: Kind, bare: bool) -> None:
    """Because: an engine drops a comparison that its statistics call always true, but no function of the value."""
    engine = DuckDB({"t": str(_lying(tmp_path, kind))})
    asked = f"SELECT SUM({'x' if bare else 'CLIP(x + 1, 0, 200)'}) AS s FROM t"
    [read] = read_exactly(engine, plan_text(asked, _dataset(kind), gaussian=False))
    [[total]] = [list(measure.values()) for measure in read.measures]
    engine.close()
    assert total == (0 + 200 + 100 + 50 if bare else 1 + 200 + 101 + 51)
