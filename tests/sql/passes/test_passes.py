"""Each pass of the compiler makes of each question what its fixture file says.

After a change that is meant, rewrite the expected parts (and docs/sql-coverage.md), and review the difference:

    ACCEPT=1 .venv/bin/python -m pytest tests/sql/passes
"""

from __future__ import annotations

import os
from collections import Counter

import pytest

from hubbub.sql.compiler.syntax.functions import FUNCTIONS
from tests.sql.passes.coverage import PAGE, page
from tests.sql.passes.fixtures import PASSES, Fixture, accept, every, fixtures
from tests.sql.passes.used import USED, asked

if os.environ.get("ACCEPT"):
    for stage in PASSES:
        accept(stage)
    PAGE.write_text(page(), encoding="utf-8")

ALL = every()


@pytest.mark.parametrize("fixture", ALL, ids=lambda fixture: f"{fixture.stage}:{fixture.name}")
def test_a_pass_makes_of_a_question_what_the_fixture_says(fixture: Fixture) -> None:
    assert fixture.told() == fixture.expected


def test_there_are_enough_questions_of_both_kinds() -> None:
    refused = [fixture for fixture in ALL if "docs: errors/" in fixture.expected]
    assert len(ALL) >= 120
    assert len(refused) >= 50
    assert len(ALL) - len(refused) >= 70


@pytest.mark.parametrize("stage", PASSES)
def test_names_are_given_once_in_a_file(stage: str) -> None:
    names = Counter(fixture.name for fixture in fixtures(stage))
    assert not [name for name, times in names.items() if times > 1]


def test_a_changed_expectation_is_noticed() -> None:
    fixture = fixtures("bound")[0]
    assert fixture.told() != fixture.expected.replace("50", "51")


def test_the_page_of_what_can_be_asked_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_function_of_the_page_has_an_example() -> None:
    assert {function.about for function in FUNCTIONS.values()} == set(USED)


@pytest.mark.parametrize("about", USED)
def test_every_function_of_the_page_can_be_used(about: str) -> None:
    assert asked(about).plans[0].where is not None
