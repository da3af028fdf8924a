"""Domain files, and answers that version 0.1 stored, mean the same tables. The fixtures are never edited."""

from __future__ import annotations

import datetime
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from hubbub.ledger import Ledger
from hubbub.publish import (
    Categorical,
    DailySeries,
    Date,
    ForeignKey,
    Numeric,
    SurrogateKey,
    marginals,
    read_domain,
    synthesize,
    synthesize_linked,
    top_down,
)
from hubbub.terms import Budget, from_json, to_json
from tests.frozen import FrozenAnswers

FOLDER = Path(__file__).parents[1] / "fixtures" / "publish" / "format-1"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())
ANSWERS = EXPECTED["answers"]
TABLES = {name: pyarrow.table(columns) for name, columns in EXPECTED["data"].items()}
XY = Categorical(["x", "y"])
KINDS = {Numeric: "Numeric", Categorical: "Categorical", Date: "Date", SurrogateKey: "Key"}  # as the fixture says them
DOMAIN = {"a": XY, "b": XY, "n": Numeric(lower=0, upper=9)}


@pytest.fixture
def book(tmp_path: Path) -> Iterator[FrozenAnswers]:
    """A ledger of today that stores what 0.1 had stored."""
    with FrozenAnswers(tmp_path / "ledger.db", state=tmp_path / "state") as opened:
        opened.open_population("people", Budget(500, 1e-2), by="board", why="a test")
        yield opened


def plain(table: pyarrow.Table) -> dict[str, list[Any]]:
    """A table as JSON has it."""
    columns = table.to_pydict().items()
    return {name: [v.isoformat() if isinstance(v, datetime.date) else v for v in values] for name, values in columns}


def test_a_domain_file_declares_what_it_declared() -> None:
    found = read_domain(FOLDER / "domain.toml")
    assert found.keys() == EXPECTED["domain"].keys()
    for name, stored in EXPECTED["domain"].items():
        column = found[name]
        for field, value in stored.items():
            held = KINDS[type(column)] if field == "kind" else getattr(column, field)
            assert plain_value(held) == value, (name, field)


def plain_value(value: Any) -> Any:
    """A field of a declaration as JSON has it."""
    return value.isoformat() if isinstance(value, datetime.date) else list(value) if isinstance(value, tuple) else value


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_an_answer_is_read_by_its_receipt(name: str, tmp_path: Path) -> None:
    (tmp_path / "ledger.db").write_bytes(gzip.decompress((FOLDER / "ledger.db.gz").read_bytes()))
    with Ledger(tmp_path / "ledger.db", state=tmp_path / "state", create=False) as ledger:
        checked = ledger.verify(anchor=False).to_json()
        assert {key: checked[key] for key in EXPECTED["verification"]} == EXPECTED["verification"]
        stored = ANSWERS[name]
        assert ledger.behind(from_json(stored["receipt"])) == (stored["charge"], stored["answer"])


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_a_stored_answer_makes_the_same_tables(name: str, book: FrozenAnswers) -> None:
    """The text that a ledger of 0.1 holds, stored in one of today, is shown as the same rows and counts."""
    book.answer = ANSWERS[name]["answer"]
    tables, guarantee = published(name, {"epsilon": 2, "delta": 1e-6, "account": book, "dataset": "d"})
    assert rounded(tables) == rounded(ANSWERS[name]["tables"])
    assert guarantee == ANSWERS[name]["guarantee"]


def rounded(value: Any) -> Any:
    """Doubles without their last digits, in which machines differ; all else as it is."""
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    return [rounded(each) for each in value] if isinstance(value, list) else value


def published(name: str, paid: dict[str, Any]) -> tuple[Any, Any]:
    """Tables of what was asked, and what is promised."""
    if name in ("marginals", "mst", "aim"):
        made = synthesize(TABLES["table"], method=name, domain=DOMAIN, rows=25, **paid)
        return {"table": plain(made.table)}, to_json(made.guarantee.holds)
    if name == "daily":
        series = DailySeries(places=["park", "shop"], first="2025-03-01", days=2, **paid)
        table = series.publish(days(), "2025-03-01")
        return {"day": plain(table)}, to_json(series.guarantee.holds)
    counted = counts(name, paid)
    tables = {each: plain(table) for each, table in counted.tables.items()}
    return tables, to_json(counted.guarantee.holds)


def days() -> pyarrow.Table:
    """Visits by place and day."""
    table = TABLES["days"]
    return table.set_column(2, "day", table["day"].cast(pyarrow.date32()))


def counts(name: str, paid: dict[str, Any]) -> Any:
    """Several tables at once."""
    if name == "counts":
        return marginals(TABLES["table"], of=[["a"], ["a", "n"]], domain=DOMAIN, **paid)
    if name == "tree":
        places = [("north", "a"), ("south", "b")]
        levels = ["region", "home"]
        return top_down(TABLES["tree"], levels=levels, places=places, by=["sex"], domain={"sex": XY}, **paid)
    return synthesize_linked(
        {"people": TABLES["people"], "visits": TABLES["visits"]},
        parent="people",
        key="id",
        links=[ForeignKey("visits", "person", 2)],
        method="marginals",
        domain={"people": {"a": XY}, "visits": {"b": XY, "id": SurrogateKey("visit")}},
        **paid,
    )
