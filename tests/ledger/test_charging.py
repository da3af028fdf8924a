"""Reserve, run, store, show: what is charged, what is free, what is resumed, and what is refused."""

from __future__ import annotations

import json
import threading
import time
from fractions import Fraction
from pathlib import Path

import pytest

from hubbub.accounting.filters import ConcentratedFilter
from hubbub.ledger import BudgetWindow, Ledger, Pool, Request, Reservation, Stored, fingerprint
from hubbub.ledger.book import statements
from hubbub.mechanisms import DiscreteGaussian, Gaussian, Laplace
from hubbub.terms import (
    Budget,
    BudgetConflict,
    BudgetExceeded,
    ClockBackwards,
    Event,
    GaussianNoise,
    HubbubError,
    MissingParameter,
    Neighbours,
    NoAnswer,
    NoBound,
    OutOfRange,
    Poisson,
    PureDP,
    Repeat,
    RequestChanged,
    Superseded,
    Unit,
    UnknownPopulation,
    WrongNeighbours,
)
from tests.charging import ask

TENTH = Laplace(sensitivity=1, epsilon=0.1).event
GAUSS = DiscreteGaussian(sensitivity=1, sigma=20).event
OWNER = {"by": "board", "why": "test"}


def req(number: object, event: Event = TENTH, **more: object) -> Request:
    return Request(event=event, fingerprint=fingerprint(plan=str(number)), **({"population": "patients"} | more))  # type: ignore[arg-type]


def charge(ledger: Ledger, number: object, event: Event = TENTH, **more: object) -> Stored:
    return ask(ledger, req(number, event, **more), lambda held: json.dumps(held.sequence))


def kinds(ledger: Ledger) -> list[str]:
    return [entry.fields()["kind"] for entry in ledger.log()]


@pytest.fixture
def patients(ledger: Ledger) -> Ledger:
    ledger.open_population("patients", Budget(1), **OWNER)
    return ledger


# ---------------------------------------------------------------- the way through


def test_the_charge_is_in_the_book_before_the_run_and_the_answer_before_it_is_shown(patients: Ledger) -> None:
    seen = []

    def run(held: Reservation) -> str:
        seen.append(kinds(patients)[-1])
        return "1"

    shown = ask(patients, req("q"), run)
    assert seen == ["charge"]
    assert kinds(patients)[-1] == "answer"
    assert shown.answer == "1" and not shown.repeated
    assert patients.check(shown.receipt)
    assert shown.receipt.charged == PureDP(Fraction(1, 10))


def test_the_same_request_is_free_and_gives_the_same_answer_and_receipt(patients: Ledger) -> None:
    first = charge(patients, "q")
    again = patients.reserve(req("q"))
    assert isinstance(again, Stored) and again.repeated
    assert (again.answer, again.receipt) == (first.answer, first.receipt)
    assert kinds(patients).count("charge") == 1


def test_another_project_does_not_learn_that_somebody_asked(patients: Ledger) -> None:
    charge(patients, "q", project="flu")
    assert not charge(patients, "q", project="heart").repeated
    assert kinds(patients).count("charge") == 2


def test_owners_may_share_answers_between_projects(patients: Ledger) -> None:
    first = charge(patients, "q", project="flu")
    patients.change_rules("patients", share_answers=True, **OWNER)
    other = charge(patients, "q", project="heart")
    assert other.repeated and other.answer == first.answer
    assert kinds(patients).count("charge") == 1


def test_an_open_charge_of_another_project_is_not_resumed(patients: Ledger) -> None:
    patients.change_rules("patients", share_answers=True, **OWNER)
    patients.reserve(req("q", project="flu"))
    held = patients.reserve(req("q", project="heart"))
    assert isinstance(held, Reservation) and held.attempt == 1
    assert kinds(patients).count("charge") == 2


def test_fresh_pays_again_and_the_newest_answer_is_repeated(patients: Ledger) -> None:
    first = charge(patients, "q")
    second = charge(patients, "q", fresh=True)
    third = charge(patients, "q")
    assert not second.repeated and second.answer != first.answer
    assert third.repeated and third.answer == second.answer
    assert kinds(patients).count("charge") == 2


def test_what_is_stored_has_the_size_that_was_promised(patients: Ledger) -> None:
    ask(patients, req("q", size=100), lambda held: '"ä"')
    with patients._core.book.snapshot() as view:
        ((_, _, body),) = view.read((statements.ALL_ANSWERS, {}))[0]
    assert len(body.encode()) == 100 and body.rstrip() == '"ä"'


def test_an_answer_larger_than_promised_is_never_shown_and_stays_charged(patients: Ledger) -> None:
    with pytest.raises(NoAnswer):
        ask(patients, req("q", size=3), lambda held: "12345")
    assert patients.budget("patients").spent.parts()[0] == Fraction(1, 10)
    assert not ask(patients, req("q", size=3), lambda held: "1").repeated
    assert patients.budget("patients").spent.parts()[0] == Fraction(2, 10)


def test_a_failure_is_charged_and_asking_again_is_charged_again(patients: Ledger) -> None:
    held = patients.reserve(req("q"))
    assert isinstance(held, Reservation)
    patients.fail(held, "timeout")
    with pytest.raises(Superseded):
        patients.store(held, "late")
    again = patients.reserve(req("q"))
    assert isinstance(again, Reservation) and again.attempt == 1
    assert kinds(patients).count("charge") == 2


# ---------------------------------------------------------------- half-way


def test_a_request_that_died_is_resumed_under_its_charge(patients: Ledger) -> None:
    first = patients.reserve(req("q"))
    again = patients.reserve(req("q"))
    assert isinstance(first, Reservation) and isinstance(again, Reservation)
    assert (again.sequence, again.attempt) == (first.sequence, 2)
    assert kinds(patients)[-2:] == ["charge", "attempt"]
    assert patients.store(again, "1").answer == "1"
    assert patients.verify().ok


def test_after_three_attempts_a_new_charge_is_due(patients: Ledger) -> None:
    held = [patients.reserve(req("q", patience=0)) for _ in range(4)]
    assert [h.attempt for h in held if isinstance(h, Reservation)] == [1, 2, 3, 1]
    assert held[3].sequence != held[0].sequence
    assert kinds(patients).count("charge") == 2
    assert patients.budget("patients").spent.parts()[0] == Fraction(2, 10)
    assert patients.verify().ok


def test_a_run_of_a_superseded_charge_comes_too_late(patients: Ledger) -> None:
    held = [h for h in (patients.reserve(req("q", patience=0)) for _ in range(4)) if isinstance(h, Reservation)]
    with pytest.raises(Superseded):
        patients.store(held[2], "old")
    assert patients.store(held[3], "new").answer == "new"
    assert charge(patients, "q").answer == "new"


def test_a_fourth_attempt_that_does_not_fit_is_refused_and_nothing_changes(ledger: Ledger) -> None:
    ledger.open_population("patients", Budget(0.1), **OWNER)
    for _ in range(3):
        ledger.reserve(req("q"))
    before = kinds(ledger)
    with pytest.raises(BudgetExceeded):
        ledger.reserve(req("q", patience=0))
    assert kinds(ledger) == before


def test_while_three_runs_are_under_way_a_fourth_asker_waits_for_one(patients: Ledger) -> None:
    held = [patients.reserve(req("q")) for _ in range(3)]
    assert isinstance(held[1], Reservation)
    stored = threading.Timer(0.3, patients.store, (held[1], "42"))
    stored.start()
    fourth = patients.reserve(req("q"))
    stored.join()
    assert isinstance(fourth, Stored) and fourth.answer == "42"
    assert kinds(patients).count("charge") == 1


def test_a_fourth_asker_pays_once_nobody_can_be_expected_back(patients: Ledger) -> None:
    for _ in range(3):
        patients.reserve(req("q", patience=0.2))
    fourth = patients.reserve(req("q", patience=0.2))
    assert isinstance(fourth, Reservation) and fourth.attempt == 1
    times = [entry.at for entry in patients.log()][-2:]
    assert times[1] - times[0] >= 200_000


def test_of_two_runs_the_first_stored_is_what_both_show(patients: Ledger) -> None:
    one, two = patients.reserve(req("q")), patients.reserve(req("q"))
    assert isinstance(one, Reservation) and isinstance(two, Reservation)
    won, lost = patients.store(two, "two"), patients.store(one, "one")
    assert (won.answer, lost.answer) == ("two", "two")
    assert won.receipt == lost.receipt and lost.repeated


def test_a_fresh_request_that_died_is_resumed_too(patients: Ledger) -> None:
    first = charge(patients, "q")
    patients.reserve(req("q", fresh=True))
    again = patients.reserve(req("q", fresh=True))
    assert isinstance(again, Reservation) and again.attempt == 2
    assert charge(patients, "q").answer == first.answer


def test_another_request_under_a_taken_fingerprint_is_refused(patients: Ledger) -> None:
    charge(patients, "q")
    patients.open_population("others", Budget(1), **OWNER)
    before = kinds(patients)
    other = Laplace(sensitivity=1, epsilon=0.2).event
    changes: list[dict[str, object]] = [
        {"event": other},
        {"pool": Pool.PLANS},
        {"population": ("patients", "others")},
        {"question": "x"},
    ]
    for change in changes:
        with pytest.raises((RequestChanged, BudgetExceeded)) as refused:
            charge(patients, "q", **change)
        assert isinstance(refused.value, RequestChanged) or change == {"pool": Pool.PLANS}
    assert kinds(patients) == before


def test_preview_tells_the_price_and_writes_nothing(patients: Ledger) -> None:
    before = kinds(patients)
    assert patients.preview(req("q"))["patients"].parts() == (Fraction(1, 10), 0)
    assert kinds(patients) == before


# ---------------------------------------------------------------- budgets


def test_ten_questions_at_a_tenth_fit_a_budget_of_one_exactly(patients: Ledger) -> None:
    for number in range(10):
        charge(patients, number, project=f"project {number % 3}", analyst=f"analyst {number % 2}")
    with pytest.raises(BudgetExceeded, match=r"population 'patients' has epsilon = 0 left"):
        charge(patients, "one more")
    assert patients.verify().ok


@pytest.mark.parametrize("budget", [Budget(1, 1e-6), Budget(rho=Fraction(1, 20))])
def test_as_many_gaussians_fit_as_the_filter_of_accounting_lets_through(ledger: Ledger, budget: Budget) -> None:
    ledger.open_population("patients", budget, **OWNER)
    terms = {"rho": budget.rho} if budget.rho else {"epsilon": budget.epsilon, "delta": budget.delta}
    expected = ConcentratedFilter(**terms)  # type: ignore[arg-type]
    for number in range(60):
        fits = True
        try:
            expected.append(GAUSS)
        except BudgetExceeded:
            fits = False
        if not fits:
            with pytest.raises(BudgetExceeded):
                charge(ledger, number, GAUSS)
            break
        charge(ledger, number, GAUSS)
    assert number >= 10 and not fits
    assert ledger.verify().ok


def test_an_event_that_the_currency_cannot_count_is_refused(patients: Ledger) -> None:
    before = kinds(patients)
    with pytest.raises(NoBound):
        charge(patients, "q", GAUSS)
    assert kinds(patients) == before


def test_plans_have_a_pool_of_their_own_counted_by_their_tightest_bound(ledger: Ledger) -> None:
    ledger.open_population("patients", Budget(3, 1e-6), plans=Budget(2, 5e-7), **OWNER)
    training = Repeat(Poisson(Gaussian(sensitivity=1, sigma=2).event, 0.01), 100)
    plan = {"pool": Pool.PLANS, "delta": Fraction(1, 10**7)}
    cost, delta = ledger.preview(req("fit", training, **plan))["patients"].parts()
    assert 0.1 < cost < 0.6 and delta == Fraction(1, 10**7)
    count = 0
    with pytest.raises(BudgetExceeded, match="for plans"):
        while True:
            charge(ledger, f"fit {count}", training, **plan)
            count += 1
    assert count == min(2 // cost, 5)
    charge(ledger, "question", GAUSS)
    assert ledger.verify().ok


def test_without_a_pool_for_plans_no_plan_is_let_through(patients: Ledger) -> None:
    with pytest.raises(BudgetExceeded, match="nothing left for plans"):
        charge(patients, "fit", pool=Pool.PLANS)


def test_replacement_costs_twice_an_addition_and_nothing_follows_the_other_way(ledger: Ledger) -> None:
    ledger.open_population("patients", Budget(1), neighbours=Neighbours.REPLACE, **OWNER)
    charge(ledger, "q")
    assert ledger.budget("patients").spent.parts()[0] == Fraction(2, 10)
    ledger.open_population("rows", Budget(1), **OWNER)
    ledger.declare_disjoint("patients", "rows", **OWNER)
    swapped = Laplace(sensitivity=1, epsilon=0.1, neighbours="replace").event
    with pytest.raises(WrongNeighbours):
        charge(ledger, "r", swapped, population="rows")


def test_populations_that_may_overlap_are_all_charged(patients: Ledger) -> None:
    patients.open_population("insured", Budget(1), **OWNER)
    charge(patients, "q")
    assert patients.budget("insured").spent.parts()[0] == Fraction(1, 10)
    patients.declare_disjoint("patients", "insured", **OWNER)
    charge(patients, "r")
    assert patients.budget("insured").spent.parts()[0] == Fraction(1, 10)
    charge(patients, "s", population=("patients", "insured"))
    assert patients.budget("insured").spent.parts()[0] == Fraction(2, 10)
    assert patients.verify().ok


def test_a_copy_of_the_data_under_a_new_name_is_no_new_money(patients: Ledger) -> None:
    for number in range(10):
        charge(patients, number)
    patients.open_population("patients copy", Budget(1), **OWNER)
    with pytest.raises(BudgetExceeded, match="'patients'"):
        charge(patients, "q", population="patients copy")


def test_a_new_version_of_a_dataset_draws_on_the_same_budget(patients: Ledger) -> None:
    for version in ("2026-01", "2026-02"):
        patients.declare_dataset("visits", version=version, population="patients", **OWNER)
        charge(patients, version, population=(), dataset="visits", version=version)
    assert patients.budget("patients").spent.parts()[0] == Fraction(2, 10)
    with pytest.raises(UnknownPopulation):
        charge(patients, "q", population=(), dataset="visits", version="2026-03")


def test_shares_bind_beneath_the_cap_and_the_cap_binds_them_together(patients: Ledger) -> None:
    patients.grant("patients", Budget(0.7), project="flu", **OWNER)
    patients.grant("patients", Budget(0.2), project="flu", analyst="ann", **OWNER)
    patients.grant("patients", Budget(0.7), project="heart", **OWNER)
    for number in range(2):
        charge(patients, number, project="flu", analyst="ann")
    with pytest.raises(BudgetExceeded, match="project 'flu' analyst 'ann'"):
        charge(patients, 2, project="flu", analyst="ann")
    for number in range(2, 7):
        charge(patients, number, project="flu", analyst="bob")
    with pytest.raises(BudgetExceeded, match="project 'flu'"):
        charge(patients, 9, project="flu", analyst="bob")
    for number in range(3):
        charge(patients, number, project="heart")
    with pytest.raises(BudgetExceeded, match="population 'patients' has epsilon = 0 left"):
        charge(patients, 9, project="heart")
    assert patients.verify().ok


def test_required_shares_shut_others_out(patients: Ledger) -> None:
    patients.change_rules("patients", shares="required", **OWNER)
    patients.grant("patients", Budget(0.5), project="flu", **OWNER)
    charge(patients, "q", project="flu")
    with pytest.raises(BudgetExceeded, match="has a share"):
        charge(patients, "q", project="heart")


def test_one_question_may_be_capped_by_its_price_tag(ledger: Ledger) -> None:
    ledger.open_population("patients", Budget(3, 1e-6), each=Budget(0.5, 1e-8), **OWNER)
    allowed = DiscreteGaussian(sensitivity=1, epsilon=0.5, delta=1e-8).event
    charge(ledger, "q", allowed)
    with pytest.raises(BudgetExceeded, match="one request"):
        charge(ledger, "r", DiscreteGaussian(sensitivity=1, epsilon=0.6, delta=1e-8).event)


def test_a_window_limits_each_day_beneath_the_lifetime(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    day = 86_400 * 10**9
    start = time.time_ns()
    ledger.open_population("patients", Budget(0.5), window=BudgetWindow(Budget(0.2), "day"), **OWNER)
    spent = 0
    for later in range(1, 4):
        monkeypatch.setattr(time, "time_ns", lambda later=later: start + later * day)
        count = 0
        with pytest.raises(BudgetExceeded) as refused:
            while True:
                charge(ledger, (later, count))
                count += 1
        spent += count
        assert count == (2 if later < 3 else 1)
        assert ("window" in str(refused.value)) == (later < 3)
    assert spent == 5
    assert ledger.verify().ok


def test_a_revocation_stops_spending_and_refunds_nothing(patients: Ledger) -> None:
    charge(patients, 1)
    patients.revoke("patients", **OWNER)
    with pytest.raises(BudgetExceeded, match="nothing left"):
        charge(patients, 2)
    patients.grant("patients", Budget(0.2), **OWNER)
    charge(patients, 3)
    with pytest.raises(BudgetExceeded):
        charge(patients, 4)
    assert patients.verify().ok


def test_what_another_process_opens_or_changes_is_seen(url: str, tmp_path: Path) -> None:
    with Ledger(url, state=tmp_path / "state") as one, Ledger(url, state=tmp_path / "state") as two:
        one.open_population("patients", Budget(1), **OWNER)
        charge(two, 1)
        one.revoke("patients", **OWNER)
        with pytest.raises(BudgetExceeded):
            charge(two, 2)


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"population": "nobody"}, UnknownPopulation),
        ({"population": ()}, MissingParameter),
        ({"population": "a/b"}, OutOfRange),
        ({"project": ""}, OutOfRange),
        ({"analyst": "x\ny"}, OutOfRange),
        ({"size": 0}, OutOfRange),
        ({"size": 10**9}, OutOfRange),
        ({"delta": 2}, OutOfRange),
        ({"patience": -1}, OutOfRange),
        ({"patience": float("nan")}, OutOfRange),
        ({"patience": float("inf")}, OutOfRange),
        ({"title": "a\nb"}, OutOfRange),
        ({"fingerprint": "short"}, OutOfRange),
        ({"event": None}, HubbubError),
    ],
)
def test_bad_requests_are_refused_and_the_book_stays_as_it_was(
    patients: Ledger, change: dict[str, object], error: type[HubbubError]
) -> None:
    before = kinds(patients)
    with pytest.raises(error):
        patients.reserve(
            Request(**({"event": TENTH, "fingerprint": fingerprint(a=1), "population": "patients"} | change))
        )  # type: ignore[arg-type]
    assert kinds(patients) == before


def test_a_budget_of_zero_does_not_exist() -> None:
    with pytest.raises(OutOfRange):
        Budget(0)


def test_a_clock_that_goes_back_is_refused_until_an_owner_accepts_it(
    patients: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    charge(patients, 1)
    before, now = kinds(patients), time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now - 60 * 10**9)
    with pytest.raises(ClockBackwards):
        charge(patients, 2)
    with pytest.raises(ClockBackwards):
        patients.grant("patients", Budget(1), project="flu", **OWNER)
    assert kinds(patients) == before
    patients.accept_clock(**OWNER)
    charge(patients, 2)
    assert patients.verify().ok


def test_clocks_of_several_machines_may_differ_a_little(patients: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time_ns()
    charge(patients, 1)
    monkeypatch.setattr(time, "time_ns", lambda: now - 10**9)
    charge(patients, 2)
    times = [entry.at for entry in patients.log()]
    assert times == sorted(times)


# ---------------------------------------------------------------- remeasure


def test_a_gaussian_answer_is_refined_for_the_difference(ledger: Ledger) -> None:
    ledger.open_population("patients", Budget(rho=1), **OWNER)
    coarse, fine = (DiscreteGaussian(sensitivity=1, sigma=s).event for s in (40, 20))
    question = {"question": fingerprint(plan="count")}
    first = ask(ledger, req("coarse", coarse, **question), lambda held: "100")
    of = first.receipt.sequence - 1
    better, plan = ledger.remeasure(req("fine", fine, **question), of=of)
    ask(ledger, better, lambda held: "104")
    assert isinstance(better.event, GaussianNoise) and isinstance(fine, GaussianNoise)
    spent = ledger.budget("patients").spent.parts()[0]
    assert fine.rho * (1 - Fraction(1, 10**12)) < spent <= fine.rho
    (together,) = plan.combine([Fraction(100)], [Fraction(104)])
    assert abs(together - 103) < Fraction(1, 10**9)
    finest, _ = ledger.remeasure(req("finest", DiscreteGaussian(sensitivity=1, sigma=10).event, **question), of=of + 2)
    ask(ledger, finest, lambda held: "103")
    assert ledger.budget("patients").spent.parts()[0] <= Fraction(1, 200)
    assert ledger.verify().ok


def test_anything_but_gaussian_pays_the_full_price_and_says_so(patients: Ledger) -> None:
    question = {"question": fingerprint(plan="count")}
    first = charge(patients, "coarse", **question)
    fine = Laplace(sensitivity=1, epsilon=0.3).event
    better, plan = patients.remeasure(req("fine", fine, **question), of=first.receipt.sequence - 1)
    assert better.event == fine and better.refines is None
    assert "full price" in plan.words


def test_only_an_answered_charge_of_the_same_question_can_be_refined(ledger: Ledger) -> None:
    ledger.open_population("patients", Budget(rho=1), **OWNER)
    fine = DiscreteGaussian(sensitivity=1, sigma=10).event
    held = ledger.reserve(req("open", GAUSS, question="a"))
    other = charge(ledger, "other", GAUSS, question="b")
    for of in (held.sequence, other.receipt.sequence - 1, 1, 10**6):
        with pytest.raises(BudgetConflict):
            ledger.remeasure(req("fine", fine, question="a"), of=of)


def test_a_late_run_that_is_too_large_shows_the_answer_that_stands(patients: Ledger) -> None:
    one, two = patients.reserve(req("q", size=8)), patients.reserve(req("q", size=8))
    assert isinstance(one, Reservation) and isinstance(two, Reservation)
    patients.store(one, "1")
    assert patients.store(two, "x" * 99).answer == "1"


def test_a_failure_is_anchored_like_an_answer(patients: Ledger) -> None:
    held = patients.reserve(req("q"))
    assert isinstance(held, Reservation)
    patients.fail(held, "timeout")
    assert patients.verify().anchored_to == held.sequence + 1


def test_the_record_keeps_the_size_promised_first(patients: Ledger) -> None:
    patients.reserve(req("q", size=8))
    again = patients.reserve(req("q", size=99))
    assert isinstance(again, Reservation) and again.request.size == 8


def test_a_budget_for_people_is_not_spent_by_an_event_that_protects_rows(ledger: Ledger) -> None:
    ledger.open_population("patients", Budget(1), unit="patients.patient_id", **OWNER)
    with pytest.raises(BudgetConflict, match="another unit"):
        charge(ledger, "q")
    charge(ledger, "q", Laplace(sensitivity=1, epsilon=0.1, unit=Unit("patients.patient_id")).event)
    assert ledger.verify().ok


def test_a_population_between_two_disjoint_ones_is_charged_by_both(patients: Ledger) -> None:
    for name in ("staff", "everybody"):
        patients.open_population(name, Budget(1), **OWNER)
    patients.declare_disjoint("patients", "staff", **OWNER)
    charge(patients, 1, population="patients")
    charge(patients, 2, population="staff")
    spent = {name: patients.budget(name).spent.parts()[0] for name in ("patients", "staff", "everybody")}
    assert spent == {"patients": Fraction(1, 10), "staff": Fraction(1, 10), "everybody": Fraction(2, 10)}
    assert patients.verify().ok


def test_a_later_rule_takes_no_stored_answer_away(patients: Ledger) -> None:
    first = charge(patients, "q")
    patients.change_rules("patients", each=Budget(0.01), shares="required", **OWNER)
    assert charge(patients, "q").answer == first.answer
    with pytest.raises(BudgetExceeded):
        charge(patients, "r")
    with pytest.raises(BudgetExceeded):
        patients.preview(req("r"))


def test_a_window_that_was_closed_and_opened_again_goes_on_where_it_was(patients: Ledger) -> None:
    window = BudgetWindow(Budget(0.2), "year")
    patients.change_rules("patients", window=window, **OWNER)
    charge(patients, 1)
    patients.change_rules("patients", window=None, **OWNER)
    charge(patients, 2)
    patients.change_rules("patients", window=window, **OWNER)
    charge(patients, 3)
    with pytest.raises(BudgetExceeded, match="window"):
        charge(patients, 4)
    assert patients.verify().ok
