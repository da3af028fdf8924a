"""A dialect is data: what no template says, no printer says; templates that no question prints are right as well."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any

import duckdb
import psycopg
import pytest

from hubbub.relations.dialects import DIALECTS, Dialect
from hubbub.relations.native_types import INTEGERS, TYPES
from hubbub.schema import Kind
from hubbub.sql.bounds.suggest import plan_suggestion
from tests.postgres import Server
from tests.sql.passes.datasets import HOSPITAL
from tests.sql.passes.test_engines import ACCEPTED

DUCKDB = DIALECTS["duckdb"]
_FIELD = re.compile(r"\{[^{}]*\}")
_OF_ONE_ENGINE = re.compile(
    r"TRY_CAST|VARCHAR|HUGEINT|BIGINT|DOUBLE|DECIMAL|TIMESTAMP|DATE '|DISTINCT ON|DISTINCT FROM|MATERIALIZED|VALUES"
    r"|isnan|isfinite|signbit|strlen|hash\(|sum\(|trunc\(|date_diff|date_trunc|extract\(|//|%|\"|::"
)


def masked(template: str) -> str:
    """A template of which nothing is left but its fields."""
    return f"words<{' '.join(sorted(set(_FIELD.findall(template))))}>"


def made_up() -> Dialect:
    """A dialect that has no word in common with DuckDB, where the two may differ."""
    words: dict[str, Any] = {"name": "made up", "tells_natives": True, "escapes": DUCKDB.escapes, "quote": "`"}
    for each in fields(Dialect):
        value = getattr(DUCKDB, each.name)
        if each.name not in words and isinstance(value, str):
            words[each.name] = masked(value)
        elif each.name not in words:
            words[each.name] = {key: masked(text) for key, text in value.items()}
    words["natives"] = dict.fromkeys([*TYPES.values(), *INTEGERS, "FLOAT"], "native")
    return Dialect(**words)


def test_all_words_of_an_engine_stand_in_its_dialect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DIALECTS, "made up", made_up())
    texts = [plan_suggestion(HOSPITAL, "visits", None).statement(DIALECTS["made up"])]
    for fixture in ACCEPTED:
        texts += [statement.sql for part in fixture.planned().statements("made up") for statement in part]
    assert len(texts) > 100
    quoted = re.compile(r"'(?:[^']|'')*'|`[^`]*`")
    assert not {found for text in texts for found in _OF_ONE_ENGINE.findall(quoted.sub("", text))}


def test_words_of_one_engine_would_be_noticed() -> None:
    [[statement, *_], *_] = ACCEPTED[0].planned().statements("duckdb")
    assert _OF_ONE_ENGINE.search(statement.sql)


@pytest.mark.parametrize("name", DIALECTS)
def test_every_dialect_knows_the_same_operations(name: str) -> None:
    dialect = DIALECTS[name]
    for table in ("operations", "date_diff", "casts", "stored", "types", "hints"):
        assert getattr(dialect, table).keys() == getattr(DUCKDB, table).keys()


# ---------------------------------------------------------------- templates that no question prints in PostgreSQL


@pytest.fixture(scope="module")
def engines(component: Callable[[str], str]) -> Iterator[dict[str, Callable[[str], Any]]]:
    server = Server(component("postgres"))
    try:
        server.make()
        with duckdb.connect() as duck, psycopg.connect(server.new_database(), autocommit=True) as elephant:
            yield {
                "duckdb": lambda text: duck.execute(f"SELECT {text}").fetchone()[0],  # type: ignore[index]
                "postgres": lambda text: elephant.execute(f"SELECT {text}").fetchone()[0],  # type: ignore[call-overload, index]
            }
    finally:
        server.remove()


NUMBERS = ("0.0", "-0.0", "1.5", "-1.5", "1e300", "'NaN'", "'Infinity'", "'-Infinity'", "NULL")


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("field", ["is_nan", "is_finite", "is_negative"])
def test_doubles_are_told_apart_alike(field: str, number: str, engines: dict[str, Callable[[str], Any]]) -> None:
    if (field, number) == ("is_negative", "'NaN'"):
        return  # of which the sign tells nothing
    told = [
        run(getattr(DIALECTS[name], field).format(f"CAST({number} AS {DIALECTS[name].types[Kind.NUMBER]})"))
        for name, run in engines.items()
    ]
    assert told[0] == told[1]
