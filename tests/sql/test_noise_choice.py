"""Which noise a question gets: least error at a stated price, most that fit for a stated error, and never by rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy
import pandas
import pytest

import hubbub as hb
from hubbub.ledger import Ledger
from hubbub.sql import Connection, connect
from hubbub.terms import BudgetExceeded, GaussianNoise, HubbubError, LaplaceNoise, MissingParameter, OutOfRange

COUNT = "SELECT COUNT(*) AS n FROM t"
BY_WARD = "SELECT ward, COUNT(*) AS n FROM t GROUP BY ward"
WHO = {"by": "owner", "why": "a test"}


def visits(people: int = 60) -> pandas.DataFrame:
    rows = numpy.arange(3 * people)
    return pandas.DataFrame(
        {"pid": rows // 3, "ward": numpy.where(rows % 2, "north", "south"), "cost": rows % 100, "shop": rows % 40}
    )


def opened(place: Path, budget: hb.Budget, **facts: object) -> Connection:
    given = {
        "unit": "pid",
        "max_rows_per_unit": 3,
        "bounds": {"cost": (0, 99)},
        "keys": {"ward": ["north", "south"]},
        "name": "t",
    }
    return connect(visits(), budget=budget, ledger=place / "ledger.db", **given | facts)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Connection]:
    with opened(tmp_path, hb.Budget(3, 1e-6)) as connection:
        yield connection


def noise_of(release: hb.Release) -> str:
    assert release.receipt is not None
    return {LaplaceNoise: "laplace", GaussianNoise: "gaussian"}[type(next(release.receipt.event.steps()))]


# ---------------------------------------------------------------- least error at a stated price


@pytest.mark.parametrize(("epsilon", "error"), [(0.1, 90), (1, 9), (3, 3)])
def test_a_count_strays_as_little_as_laplace_noise_does(db: Connection, epsilon: float, error: int) -> None:
    """Cap 3: the least half widths that hold with 95% (it was 32 at epsilon 1 with Gaussian noise)."""
    assert db.preview(COUNT, epsilon=epsilon).errors == {"n": error}


@pytest.mark.parametrize("statistic", ["CORR", "COVAR_POP", "REGR_SLOPE", "REGR_R2"])
def test_statistics_of_two_numbers_compare_both_noises(tmp_path: Path, statistic: str) -> None:
    with opened(tmp_path, hb.Budget(3, 1e-6), bounds={"cost": (0, 99), "shop": (0, 39)}) as db:
        question = f"SELECT {statistic}(cost, shop) AS r FROM t"
        assert {each.name for each in db.preview(question, epsilon=1).noises} == {"laplace", "gaussian"}
        assert len(db.sql(question, epsilon=1)) == 1


def test_three_questions_at_epsilon_1_fit_a_budget_of_3_and_a_fourth_does_not(db: Connection) -> None:
    for _ in range(3):
        assert noise_of(db.sql(COUNT, epsilon=1, fresh=True)) == "laplace"
    with pytest.raises(BudgetExceeded, match="has epsilon = 0 left for questions") as refused:
        db.sql(COUNT, epsilon=1, fresh=True)
    assert "more noise" not in str(refused.value)  # none would help
    assert "`hubbub budget request t --epsilon 1 --delta 1e-7 --why ...`" in str(refused.value)
    assert "That does not fit. Request more budget." in db.preview(BY_WARD, epsilon=1).text()
    assert db.sql(COUNT, epsilon=1).repeated  # what was told is told again for free


def test_a_question_that_does_not_fit_tells_nothing_of_afterwards(db: Connection) -> None:
    text = db.preview(COUNT, epsilon=10).text()
    assert "Ask for a larger error, or request more budget." in text
    assert "with this answer" not in text and "in epsilon only" not in text


def test_a_question_gets_the_noise_that_still_fits(db: Connection) -> None:
    """Gaussian answers leave room in rho where Laplace noise of that epsilon has none in either account."""
    while db.preview(COUNT, epsilon=1, noise="laplace").affordable:
        db.sql(COUNT, epsilon=0.8, noise="gaussian", fresh=True)
    preview = db.preview(COUNT, epsilon=1)
    assert preview.affordable and [each.name for each in preview.noises] == ["gaussian", "laplace"]
    assert noise_of(db.sql(COUNT, epsilon=1)) == "gaussian"
    assert noise_of(db.sql(COUNT, epsilon=1, noise="gaussian")) == "gaussian"


def test_an_expression_names_its_parts_as_they_were_asked(db: Connection) -> None:
    text = db.preview("SELECT COUNT(*) / COUNT(cost) AS r, 2 * AVG(cost) AS m FROM t", epsilon=1).text(width=200)
    assert "from its parts: COUNT(*) ±" in text and "/ number of rows" in text and "of m0" not in text


def test_with_many_groups_per_person_gaussian_noise_wins(tmp_path: Path) -> None:
    """k = keys per person: Laplace noise wins below 7.6 at (1, 1e-6), Gaussian above [least error]."""
    facts = {"keys": {"ward": ["north", "south"], "shop": list(range(40))}}
    with opened(tmp_path, hb.Budget(3, 1e-6), max_rows_per_unit=40, **facts) as db:
        few = db.preview("SELECT ward, COUNT(DISTINCT pid) AS n FROM t GROUP BY ward", epsilon=1)
        many = db.preview("SELECT shop, COUNT(DISTINCT pid) AS n FROM t GROUP BY shop", epsilon=1)
    assert (few.noises[0].name, many.noises[0].name) == ("laplace", "gaussian")
    errors = {each.name: each.errors for each in many.noises}
    assert len(errors) == 2 and errors["laplace"] != errors["gaussian"]


def test_noise_can_be_chosen_by_name(db: Connection) -> None:
    assert noise_of(db.sql(COUNT, epsilon=0.5, noise="gaussian")) == "gaussian"
    assert noise_of(db.sql(COUNT, rho=0.001, noise="laplace")) == "laplace"


def test_the_owners_policy_sets_what_questions_get_that_ask_for_no_other(db: Connection) -> None:
    db.ledger.change_rules("t", noise="gaussian", **WHO)
    assert noise_of(db.sql(COUNT, epsilon=0.5)) == "gaussian"
    assert noise_of(db.sql(COUNT, epsilon=0.5, noise="laplace")) == "laplace"
    assert "Questions get gaussian noise" in " ".join(db.budget.text().split())
    with pytest.raises(OutOfRange):
        db.ledger.change_rules("t", noise="none", **WHO)


def test_a_price_in_rho_buys_gaussian_noise(db: Connection) -> None:
    preview = db.preview(COUNT, rho=0.01)
    assert [each.name for each in preview.noises] == ["gaussian", "laplace"]


def test_a_budget_in_rho_without_delta_answers_an_epsilon_with_laplace_noise(tmp_path: Path) -> None:
    with opened(tmp_path, hb.Budget(rho=0.5)) as db:
        release = db.sql(COUNT, epsilon=0.5)
        assert noise_of(release) == "laplace" and release.guarantee.describe().endswith("epsilon = 0.5.")
        with pytest.raises(MissingParameter, match="delta"):
            db.sql(COUNT, epsilon=0.5, noise="gaussian")


# ---------------------------------------------------------------- a stated error


def test_within_takes_the_noise_of_which_more_fit(db: Connection) -> None:
    fine, coarse = db.preview(COUNT, within=9), db.preview(COUNT, within=200)
    assert (fine.noises[0].name, coarse.noises[0].name) == ("laplace", "gaussian")
    for preview in (fine, coarse):
        assert preview.noises[0].more == max(each.more for each in preview.noises)
        assert float(str(preview.errors["n"])) <= {id(fine): 9, id(coarse): 200}[id(preview)]


def test_what_is_best_by_what_is_spent_stays_free_when_it_was_answered(db: Connection) -> None:
    """After the account of rho is closed another noise would be cheaper; the answer that is there is free."""
    first = db.sql(COUNT, within=200)
    assert noise_of(first) == "gaussian"
    db.sql(BY_WARD, epsilon=1.5)
    assert db.preview(BY_WARD, within=200).noises[0].name == "laplace"
    again = db.sql(COUNT, within=200)
    assert again.repeated and again.receipt == first.receipt


# ---------------------------------------------------------------- shares


@pytest.mark.parametrize("parts", [2, 5, 20])
def test_n_questions_of_an_nth_fit_and_one_more_does_not(tmp_path: Path, parts: int) -> None:
    with opened(tmp_path, hb.Budget(1, 1e-6)) as db:
        for _ in range(parts):
            db.sql(COUNT, share=Fraction(1, parts), fresh=True)
        with pytest.raises(BudgetExceeded):
            db.sql(COUNT, share=Fraction(1, parts), fresh=True)


def test_n_shares_of_rho_fit_whatever_roots_their_noise_has(tmp_path: Path) -> None:
    """A length that is no fraction is rounded up in what is charged, and the noise makes up for it."""
    question = "SELECT ward, COUNT(*) AS n, COUNT(DISTINCT pid) AS p FROM t GROUP BY ward"
    with opened(tmp_path, hb.Budget(rho=0.5)) as db:
        for _ in range(7):
            db.sql(question, share=Fraction(1, 7), noise="gaussian", fresh=True)


@pytest.mark.parametrize("budget", [hb.Budget(1), hb.Budget(rho=0.5), hb.Budget(rho=0.5, delta=1e-6)])
def test_shares_of_other_budgets(tmp_path: Path, budget: hb.Budget) -> None:
    with opened(tmp_path, budget) as db:
        for _ in range(3):
            db.sql(COUNT, share=Fraction(1, 3), fresh=True)
        with pytest.raises(BudgetExceeded):
            db.sql(COUNT, share=0.01, fresh=True)


def test_a_share_keeps_the_account_open_that_the_others_count_on(db: Connection) -> None:
    assert noise_of(db.sql(COUNT, share=0.02)) == "gaussian"
    db.sql(BY_WARD, epsilon=1)  # closes the account of rho
    preview = db.preview(COUNT, share=0.25)
    assert preview.noises[0].name == "laplace" and preview.affordable


def test_a_preview_of_a_share_tells_when_the_other_account_would_tell_more(db: Connection) -> None:
    """Of few shares each has less error in epsilon, which closes the account of rho; from about 9 on in rho."""
    notes = [note for note in db.preview(COUNT, share=0.25).notes if "The same share of epsilon" in note]
    assert notes and "(epsilon=0.75)" in notes[0] and notes[0].endswith("uses up the account of rho for good.")
    times = float(notes[0].split("an error ")[1].split(" ")[0])
    error, other = (db.preview(COUNT, **price).errors["n"] for price in ({"share": 0.25}, {"epsilon": 0.75}))
    assert error and other and error / other == pytest.approx(times, rel=0.05)
    for share in (Fraction(1, 20), Fraction(1, 50)):
        assert not [note for note in db.preview(COUNT, share=share).notes if "The same share" in note]


def test_what_it_cost_is_told_in_the_currency_of_the_budget(db: Connection) -> None:
    """Noise that is counted in rho too: the epsilon that was charged, and rho in brackets."""
    words = db.sql(COUNT, rho=0.01, noise="gaussian").price()
    assert re.match(r"epsilon = 0.72\d*, delta = \S+ \(rho = 0.00999\d+\) · receipt", words)
    whole = db.sql(f"SELECT n + 1 AS m FROM ({COUNT})", rho=0.02, noise="gaussian").price()
    assert re.match(r"epsilon = 1.0\d*, delta = \S+ \(rho = 0.0(?:2|199\d+)\) · receipt", whole)
    assert db.sql(COUNT, epsilon=0.5, noise="laplace").price().startswith("epsilon = 0.5 · receipt")


def test_what_is_left_and_what_does_not_fit_are_told_in_epsilon_where_rho_alone_is_counted(db: Connection) -> None:
    while (left := db.budget.left).epsilon:
        db.sql(COUNT, epsilon=0.4, noise="gaussian", fresh=True)
    assert left.loss, "the account of rho is open"
    told = r"epsilon (?:= )?1\.\d+ \(rho (?:= )?0\.1\d+\)"
    assert re.search(told, db.budget.text(width=200))
    assert re.search(f"{told} is left", db.preview(COUNT, epsilon=0.1).text(width=200))
    with pytest.raises(
        BudgetExceeded, match=rf"costs epsilon = 2 \(rho = 1\.5\d+\), and .* has {told} left"
    ) as refused:
        db.sql(COUNT, epsilon=2, noise="laplace", fresh=True)
    assert "rho alone decides what still fits" in str(refused.value)


@pytest.mark.parametrize("price", [{"share": 0.1}, {"within": 10}, {"rho": 0.01}])
def test_a_preview_says_in_epsilon_what_an_answer_promises_by_itself(db: Connection, price: dict[str, float]) -> None:
    words = db.preview(COUNT, noise="gaussian", **price).guarantee
    assert re.search(r": epsilon = \d\.\d+, delta = \S+ \(rho = 0\.\d+\)\.$", words)


def test_a_budget_in_rho_speaks_of_rho(tmp_path: Path) -> None:
    with opened(tmp_path, hb.Budget(rho=0.5)) as db:
        assert db.sql(COUNT, rho=0.01).price().startswith("rho = 0.00999")


# ---------------------------------------------------------------- previews


def test_a_preview_shows_the_noises_side_by_side_and_what_one_closes(db: Connection) -> None:
    preview = db.preview(COUNT, epsilon=1)
    laplace, gaussian = preview.noises
    assert (laplace.name, gaussian.name) == ("laplace", "gaussian")
    assert (laplace.closes, gaussian.closes) == (True, False)
    assert (laplace.more, gaussian.more) == (2, 7)
    text = preview.text()
    assert "questions are added up in epsilon only" in text and "After it, 2 more like it fit" in text
    assert preview.to_json()["noises"][1]["more_like_it"] == 7
    assert preview.to_json()["cost"]["epsilon"] == 1
    assert not db.preview(COUNT, epsilon=0.1).noises[0].closes


def test_default_deltas_are_a_questions_share_so_that_epsilon_runs_out_first(db: Connection) -> None:
    """A fixed hundredth would have run out after twelve questions."""
    for _ in range(30):
        db.sql(COUNT, epsilon=0.1, noise="gaussian", fresh=True)
    assert db.preview(
        COUNT,
        epsilon=0.1,
        noise="gaussian",
    ).affordable


# ---------------------------------------------------------------- bad prices


@pytest.mark.parametrize(
    "price",
    [
        {},
        {"epsilon": 1, "rho": 0.1},
        {"epsilon": 1, "share": 0.1},
        {"share": 0.1, "within": 5},
        {"share": 1.5},
        {"share": 0},
        {"share": -1},
        {"share": float("nan")},
        {"rho": 0.1, "delta": 1e-8},
        {"epsilon": 1, "noise": "uniform"},
        {"epsilon": 1, "noise": ""},
    ],
)
def test_a_bad_price_is_refused_before_anything_is_charged(db: Connection, price: dict[str, object]) -> None:
    for ask in (db.sql, db.preview):
        with pytest.raises(HubbubError) as refusal:
            ask(COUNT, **price)
        assert refusal.value.fix
    assert db.balance().spent == type(db.balance().spent)()


def test_a_pure_budget_takes_no_gaussian_noise(tmp_path: Path) -> None:
    with opened(tmp_path, hb.Budget(1)) as db, pytest.raises(MissingParameter, match="Laplace"):
        db.sql(COUNT, epsilon=0.5, noise="gaussian")


def test_the_book_verifies_after_all_kinds_of_prices(tmp_path: Path) -> None:
    with opened(tmp_path, hb.Budget(3, 1e-6)) as db:
        for price in ({"epsilon": 0.2}, {"rho": 0.005}, {"within": 100}, {"share": 0.05}):
            for noise in ("laplace", "gaussian"):
                db.sql(BY_WARD, **price, noise=noise)
        db.sql("SELECT shop, COUNT(*) AS n FROM t GROUP BY shop", epsilon=0.5)
        assert db.ledger.verify().ok
        assert isinstance(db.ledger, Ledger)


# ---------------------------------------------------------------- asking for more accuracy


def test_gaussian_counts_are_measured_again_for_the_difference(db: Connection) -> None:
    coarse = db.sql(BY_WARD, rho=0.001)
    fine = db.remeasure(coarse, rho=0.004)
    spreads = [float(each.measures[0].step) * each.measures[0].noise.std_dev() for each in (coarse, fine)]
    assert spreads[1] == pytest.approx(spreads[0] / 2, rel=0.01)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FILTER (WHERE ward = 'north') AS a, COUNT(*) FILTER (WHERE ward = 'south') AS b FROM t",
        "SELECT COUNT(*) AS n, AVG(cost) AS a FROM t",
        "SELECT MEDIAN(cost) AS m FROM t",
        "SELECT shop, COUNT(*) AS n FROM t GROUP BY shop",
    ],
)
@pytest.mark.parametrize("price", [{"rho": 0.004}, {"epsilon": 0.2}])
def test_what_cannot_be_measured_again_is_paid_in_full(db: Connection, text: str, price: dict[str, float]) -> None:
    coarse = db.sql(text, **{name: value / 2 for name, value in price.items()})
    fine = db.remeasure(coarse, **price)
    assert fine.receipt is not None and not fine.repeated and db.ledger.verify().ok


@pytest.mark.parametrize(
    "text", ["SELECT shop, COUNT(*) AS n FROM t GROUP BY shop", "SELECT shop, MEDIAN(cost) AS m FROM t GROUP BY shop"]
)
@pytest.mark.parametrize("rows", [1, 3])
def test_a_choice_of_keys_is_charged_just_what_was_stated(tmp_path: Path, text: str, rows: int) -> None:
    with opened(tmp_path, hb.Budget(3, 1e-6), max_rows_per_unit=rows) as db:
        for noise in ("laplace", "gaussian"):
            assert db.preview(text, epsilon=0.3, noise=noise).cost.basic_parts()[0] == Fraction(3, 10)
