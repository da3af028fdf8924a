"""The demo runs from the outside, its numbers are computed, and its pictures are there."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hubbub.accounting.filters import ConcentratedFilter
from hubbub.mechanisms import DiscreteGaussian
from hubbub.render.document import Section
from hubbub.studies.demo import attacked, budget, gopa, ledger_book, local, model, private, published, sql
from hubbub.studies.demo.hospital import BILL, open_hospital
from hubbub.studies.demo.leak import QUESTIONS
from hubbub.terms import BudgetExceeded, MissingExtra


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hubbub.cli", "demo", *arguments], capture_output=True, text=True, check=True
    )


def test_the_demo_tells_its_chapters_in_order_and_writes_its_page_and_pictures(tmp_path: Path) -> None:
    told = run("--html", str(tmp_path / "demo.html"), "--svg", str(tmp_path)).stdout
    places = [told.index(f"\n{n}. ") for n in range(1, 13)]
    assert places == sorted(places)
    assert "So Bill has flu" in told
    assert "<svg" in (tmp_path / "demo.html").read_text()
    for picture in ("budget", "ledger", "icons", "survey", "hospitals"):
        ElementTree.parse(tmp_path / f"{picture}.svg")


def test_the_demo_is_data_too() -> None:
    chapters = json.loads(run("--json").stdout)["chapters"]
    exact = [int(row["exact answer"]) for row in chapters[0]["table"]]
    assert exact[0] == 1
    assert exact[1] - exact[2] == 1
    assert len(chapters[1]["table"]) == 3


def test_exact_counts_give_bill_away_and_change_if_he_was_well() -> None:
    hospital = open_hospital()
    assert hospital.count(QUESTIONS[0][1]) == 1
    assert hospital.count(QUESTIONS[1][1]) - hospital.count(QUESTIONS[2][1]) == int(BILL.diagnosis == "flu")


def test_private_answers_differ_from_run_to_run() -> None:
    assert len({private.chapter(open_hospital()).table for _ in range(4)}) > 1


def test_the_budget_chapter_stops_where_the_filter_stops() -> None:
    allowed, step = ConcentratedFilter(epsilon=1, delta=1e-6), DiscreteGaussian(sensitivity=1, epsilon=0.1, delta=1e-7)
    count = 0
    with pytest.raises(BudgetExceeded):
        while True:
            allowed.append(step.event)
            count += 1
    assert f"After {count} answers the budget says no" in budget.chapter(open_hospital()).paragraphs[1]


# ---------------------------------------------------------------- the chapter of the ledger


@pytest.fixture(scope="module")
def told() -> Section:
    return ledger_book.chapter(open_hospital())


def test_a_repeat_is_free_and_another_project_pays(told: Section) -> None:
    assert told.table is not None
    first, again, other = told.table.rows[:3]
    assert first[2] == again[2]
    assert (first[3], again[3]) == (other[3], "free")
    assert "for epsilon = 0." in told.paragraphs[0]


def test_a_killed_request_resumes_under_its_charge(told: Section) -> None:
    assert told.table is not None
    died, resumed = told.table.rows[3:5]
    assert died[2] == "nothing (SIGKILL)"
    assert resumed[3] == f"free, under {died[3].rpartition(' ')[2]}"
    assert "the question runs again under it" in told.paragraphs[1]
    assert "costs epsilon = 0 more" in told.paragraphs[1]


def test_colluding_analysts_get_what_the_cap_allows_together(told: Section) -> None:
    assert told.table is not None
    allowed, fit = ConcentratedFilter(epsilon=1, delta=1e-6), 0
    with pytest.raises(BudgetExceeded):
        while True:
            allowed.append(ledger_book.MECHANISM.event)
            fit += 1
    paid_before = 3
    assert f"After {fit - paid_before} more answers" in told.paragraphs[2]
    assert {row[0]: row[2] for row in told.table.rows[-2:]} == {"Ana": "refused", "Ben": "refused"}


def test_an_old_copy_does_not_open_and_the_whole_ledger_verifies(told: Section) -> None:
    assert "it does not open" in told.paragraphs[3]
    assert told.paragraphs[3].endswith("all is well.")
    entries, charges, answers = map(int, re.findall(r"(\d+) (?:entries|charges|answers)", told.paragraphs[3]))
    assert charges == answers
    assert entries == 2 + charges + answers + 1  # the beginning, the opening, and one second attempt


def test_the_process_really_dies_after_its_charge_and_before_its_answer(tmp_path: Path) -> None:
    desk = ledger_book.DemoDesk(open_hospital(), tmp_path)
    with desk.open() as ledger:
        ledger.open_population(ledger_book.PEOPLE, ledger_book.BUDGET, by="board", why="test")
    assert desk.die("Ben", ledger_book.OLD) == -signal.SIGKILL
    with desk.open() as ledger:
        assert [entry.fields()["kind"] for entry in ledger.log()] == ["ledger", "population", "charge"]
        again = desk.ask(ledger, "Ben", ledger_book.OLD)
        assert not again.repeated
        kinds = [entry.fields()["kind"] for entry in ledger.log()]
        assert kinds.count("charge") == 1
        assert kinds[3] == "attempt"


# ---------------------------------------------------------------- the chapter of SQL


@pytest.fixture(scope="module")
def asked() -> Section:
    return sql.chapter(open_hospital())


def test_private_answers_stand_beside_the_exact_ones(asked: Section) -> None:
    assert asked.table is not None
    truth = sql.exact_answers(sql.made_up(len(open_hospital().patients)))
    rows = {row[0]: row for row in asked.table.rows}
    assert list(rows) == list(sql.WARDS)
    assert {ward: int(row[1].replace(",", "")) for ward, row in rows.items()} == {w: t[0] for w, t in truth.items()}
    assert all("±" in row[2] for row in rows.values())
    assert sum(truth[ward][0] for ward in sql.WARDS) == len(sql.made_up(1000))


def test_the_preview_tells_the_error_that_the_answer_has(asked: Section) -> None:
    assert asked.table is not None
    told = re.search(r"±([\d,]+) visits a ward", asked.paragraphs[1])
    assert told is not None
    assert asked.table.rows[0][2].endswith(f"±{told[1]}")


def test_the_repeat_is_free_and_rows_are_refused(asked: Section) -> None:
    assert "Asked again it is the same answer and free." in asked.paragraphs[1]
    assert "refused, for this asks for rows" in asked.paragraphs[2]


# ---------------------------------------------------------------- the chapter of the local model


def test_the_survey_is_estimated_from_reports_alone(tmp_path: Path) -> None:
    survey = local.run_survey(tmp_path)
    low, high = survey.estimate.intervals(0.9999)[local.YES]
    assert low <= survey.truth <= high
    assert abs(survey.yes_share - survey.truth) > 0.05  # the reports as they are mean nothing
    assert survey.again == 5000
    assert survey.estimate.count == local.PEOPLE


def test_what_one_person_gives_away_stops_at_the_cap(tmp_path: Path) -> None:
    life = local.asked_monthly(tmp_path)
    assert life.worst_case == local.CAP
    assert [(spent.informative, spent.silent) for spent in life.spent] == [(local.CAP, local.MONTHS - local.CAP)]


def test_the_survey_differs_from_run_to_run() -> None:
    hospital = open_hospital()
    assert len({local.chapter(hospital).table for _ in range(3)}) > 1


def test_attacks_succeed_without_protection_and_fail_with_it() -> None:
    told = attacked.run_attacks(open_hospital())
    assert told.linked.share > 0.9 and told.grouped.matched == 0
    assert told.exact.right == 1 and told.exact.succeeded
    assert told.private.right is not None and told.private.right < 0.73 and not told.private.succeeded
    assert told.kept < 1.05 < 1.7 < told.broken


def test_one_model_gives_its_patients_away_and_the_private_one_does_not() -> None:
    told = model.train_models()
    assert told.remembers.patients > 0.99 and told.remembers.guess > 0.58
    assert abs(told.private.guess - 0.5) < 0.03
    assert told.private.strangers > told.remembers.strangers > 0.5
    low, high = told.score.interval
    assert low - 0.02 < told.private.strangers < high + 0.02
    assert abs(told.rows - 0.8 * model.PEOPLE) < 600  # a fifth was held out


# ---------------------------------------------------------------- the chapter of parties that trust nobody


def test_hospitals_learn_their_average_in_spite_of_a_loss_and_a_lie() -> None:
    found = gopa.run_average()
    assert abs(found.average.value - found.truth) < 5 * found.average.std_dev < 5
    assert found.checked.means and found.checked.achieved.enough
    named = {name: one.fault.value for name, one in found.checked.named}
    assert named == {gopa.TOWNS[gopa.LIAR]: "bad-nonce", gopa.TOWNS[gopa.LOST]: "silent"}


def test_without_the_extra_the_chapter_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise MissingExtra("rbcl is not installed.", why="It multiplies points.", fix="Install it.")

    monkeypatch.setattr(gopa, "run_average", missing)
    assert "pip install -e '.[gopa]'" in gopa.chapter(open_hospital()).paragraphs[0]


def test_a_table_made_alike_exposes_people_and_made_up_rows_are_near_real_ones() -> None:
    told = published.publish_three_ways()
    assert told.named[published.RAW].share > 0.2 and told.named[published.ALIKE].matched == 0
    assert told.exposed[published.RAW].exposed > told.exposed[published.ALIKE].exposed > 0
    real, independent = (scores["tvd2_mean"] for scores in told.worth.baselines)
    assert told.worth[published.MADE_UP]["tvd2_mean"] < (real + independent) / 2
