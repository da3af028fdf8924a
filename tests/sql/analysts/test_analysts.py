"""The SQL that analysts write: of a hundred questions at least ninety are answered, and each refusal names a way on."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import hubbub as hb
from hubbub.ledger import Ledger
from hubbub.sql import Connection
from hubbub.terms import HubbubError
from tests.sql.analysts.questions import DATASETS, HERE, AnalystQuestion, questions

COLUMNS = {
    "shop": {
        "customers": "customer_id BIGINT, country TEXT, segment TEXT, signup_date DATE, birth_year INT, email TEXT",
        "orders": "order_id BIGINT, customer_id BIGINT, ordered_at TIMESTAMP, shipped_at TIMESTAMP, status TEXT, "
        "channel TEXT, amount DECIMAL(10,2), discount DOUBLE, coupon TEXT",
        "order_items": "order_id BIGINT, product_id BIGINT, quantity INT, price DECIMAL(10,2)",
        "products": "product_id BIGINT, category TEXT, name TEXT",
    },
    "clinic": {
        "patients": "patient_id BIGINT, sex TEXT, birth_date DATE, region TEXT, smoker BOOLEAN",
        "visits": "visit_id BIGINT, patient_id BIGINT, admitted_at TIMESTAMP, discharged_at TIMESTAMP, ward TEXT, "
        "doctor_id INT, cost DECIMAL(10,2), wait_minutes INT, urgent BOOLEAN, note TEXT",
        "diagnoses": "visit_id BIGINT, code TEXT, severity INT",
        "doctors": "doctor_id INT, specialty TEXT",
    },
    "app": {
        "users": "user_id BIGINT, signed_up_at TIMESTAMP, country TEXT, plan TEXT, source TEXT",
        "events": "user_id BIGINT, occurred_at TIMESTAMP, event TEXT, page TEXT, value DECIMAL(10,2)",
        "sessions": "session_id BIGINT, user_id BIGINT, started_at TIMESTAMP, ended_at TIMESTAMP, device TEXT, "
        "screens INT",
    },
}
ASKED = questions()
LISTED = [question for question in ASKED if question.waits_for or question.refused]
ENOUGH = 90


@pytest.fixture(scope="module")
def connections(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Connection]]:
    """The three data sets, in which nobody is yet: previews read no rows."""
    folder = tmp_path_factory.mktemp("analysts")
    opened = {name: _connect(folder / name, name) for name in DATASETS}
    yield opened
    for connection in opened.values():
        connection.close()


def _connect(folder: Path, name: str) -> Connection:
    folder.mkdir()
    shutil.copy(HERE / f"{name}.toml", folder)
    with duckdb.connect() as writer:
        for table, columns in COLUMNS[name].items():
            writer.execute(f"CREATE TABLE {table} ({columns})")
            writer.execute(f"COPY {table} TO '{folder / table}.parquet' (FORMAT parquet)")
    return hb.connect(folder / f"{name}.toml", ledger=Ledger(folder / "ledger.db", state=folder / "state"))


def refusal(connections: dict[str, Connection], dataset: str, sql: str) -> HubbubError | None:
    """Why a question is not answered; None if it is. The engine has bound it, on rows of nobody's."""
    try:
        connections[dataset].preview(sql, epsilon=1)
    except HubbubError as error:
        return error
    return None


def test_there_are_a_hundred_questions_and_no_two_are_alike() -> None:
    assert len(ASKED) == len({question.sql for question in ASKED}) == 100
    assert {question.dataset for question in ASKED} == set(DATASETS)


def test_at_least_ninety_are_answered_and_each_other_one_is_listed(connections: dict[str, Connection]) -> None:
    errors = {question.title: refusal(connections, question.dataset, question.sql) for question in ASKED}
    missing = {title: error for title, error in errors.items() if error is not None}
    assert len(ASKED) - len(missing) >= ENOUGH, missing
    waiting = {question.title for question in ASKED if question.waits_for}
    assert set(missing) - waiting == {question.title for question in ASKED if question.refused}, missing


@pytest.mark.parametrize("question", [q for q in ASKED if q.refused], ids=lambda q: q.title)
def test_a_refused_question_says_why_and_its_rewrite_is_answered(
    question: AnalystQuestion, connections: dict[str, Connection]
) -> None:
    error = refusal(connections, question.dataset, question.sql)
    assert error is not None and question.refused in str(error)
    assert question.rewrite and refusal(connections, question.dataset, question.rewrite) is None


@pytest.mark.parametrize("question", LISTED, ids=lambda question: question.title)
def test_a_rewrite_that_a_refusal_prints_is_answered_as_it_stands(
    question: AnalystQuestion, connections: dict[str, Connection]
) -> None:
    error = refusal(connections, question.dataset, question.sql)
    if error is None:
        assert not question.refused  # it waited for something that is there now
        return
    printed = re.search(r"sk `(.*)`", error.fix) or re.fullmatch(r"((?:SELECT|WITH) .*)", error.fix)
    assert printed is not None, error.fix
    assert refusal(connections, question.dataset, printed.group(1)) is None
