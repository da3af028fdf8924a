"""The demo runs from the outside, its numbers are computed, and its pictures are there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hubbub.accounting.filters import ConcentratedFilter
from hubbub.cli.demo.hospital import BILL, open_hospital
from hubbub.cli.demo.leak import QUESTIONS
from hubbub.cli.demo.story import tell
from hubbub.mechanisms import DiscreteGaussian
from hubbub.terms import BudgetExceeded


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hubbub.cli", "demo", *arguments], capture_output=True, text=True, check=True
    )


def test_the_demo_tells_its_chapters_in_order() -> None:
    told = run().stdout
    places = [told.index(f"{n}. ") for n in range(1, 6)]
    assert places == sorted(places)
    assert "So Bill has flu" in told


def test_the_demo_is_data_too() -> None:
    chapters = json.loads(run("--json").stdout)["chapters"]
    exact = [int(row["exact answer"]) for row in chapters[0]["table"]]
    assert exact[0] == 1
    assert exact[1] - exact[2] == 1
    assert len(chapters[1]["table"]) == 3


def test_the_page_and_pictures_are_written(tmp_path: Path) -> None:
    run("--html", str(tmp_path / "demo.html"), "--svg", str(tmp_path))
    assert "<svg" in (tmp_path / "demo.html").read_text()
    for picture in ("budget", "icons"):
        ElementTree.parse(tmp_path / f"{picture}.svg")


def test_exact_counts_give_bill_away_and_change_if_he_was_well() -> None:
    hospital = open_hospital()
    assert hospital.count(QUESTIONS[0][1]) == 1
    assert hospital.count(QUESTIONS[1][1]) - hospital.count(QUESTIONS[2][1]) == int(BILL.diagnosis == "flu")


def test_private_answers_differ_from_run_to_run() -> None:
    assert len({tell().chapters[1].table for _ in range(4)}) > 1


def test_the_budget_chapter_stops_where_the_filter_stops() -> None:
    budget, step = ConcentratedFilter(epsilon=1, delta=1e-6), DiscreteGaussian(sensitivity=1, epsilon=0.1, delta=1e-7)
    count = 0
    with pytest.raises(BudgetExceeded):
        while True:
            budget.append(step.event)
            count += 1
    assert f"After {count} answers the budget says no" in tell().chapters[3].paragraphs[1]
