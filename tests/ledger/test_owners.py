"""What owners write: each act an entry with who and why; what contradicts the book is refused and not written."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from hubbub.ledger import BudgetWindow, Ledger, Pool
from hubbub.terms import (
    Budget,
    BudgetConflict,
    BudgetExceeded,
    EmptyInput,
    MissingParameter,
    OutOfRange,
    UnknownPopulation,
)
from tests.ledger.test_charging import OWNER, charge, kinds


def test_the_very_same_population_may_be_opened_again_and_another_may_not(ledger: Ledger) -> None:
    for _ in range(2):
        ledger.open_population("patients", Budget(3, 1e-6), **OWNER)
    assert kinds(ledger) == ["ledger", "population"]
    for budget in (Budget(4, 1e-6), Budget(3), Budget(rho=1)):
        with pytest.raises(BudgetConflict):
            ledger.open_population("patients", budget, **OWNER)
    with pytest.raises(BudgetConflict):
        ledger.open_population("patients", Budget(3, 1e-6), neighbours="replace", **OWNER)
    assert kinds(ledger) == ["ledger", "population"]


def test_two_programs_cannot_open_one_population_with_different_budgets(url: str, tmp_path: Path) -> None:
    with Ledger(url, state=tmp_path / "state") as one, Ledger(url, state=tmp_path / "state") as two:
        one.open_population("patients", Budget(1), **OWNER)
        with pytest.raises(BudgetConflict):
            two.open_population("patients", Budget(2), **OWNER)
        assert kinds(one).count("population") == 1


def test_grants_stay_within_the_lifetime_unless_the_promise_is_broken_in_the_open(ledger: Ledger) -> None:
    ledger.open_population("patients", Budget(1), lifetime=Budget(2), **OWNER)
    ledger.grant("patients", Budget(1), **OWNER)
    with pytest.raises(BudgetConflict, match="promised"):
        ledger.grant("patients", Budget(0.1), **OWNER)
    ledger.grant("patients", Budget(0.5), raise_lifetime=True, **OWNER)
    who = ledger.populations()["patients"]
    assert who.pools[Pool.QUESTIONS] == Budget(2.5) and who.lifetime == Budget(2.5)
    assert (who.promised, who.raised) == (Budget(1), 1)
    assert "raised 1 time" in ledger.budget("patients").text()


def test_revoking_one_pool_is_no_money_for_the_other(ledger: Ledger) -> None:
    ledger.open_population("patients", Budget(1), **OWNER)
    for number in range(10):
        charge(ledger, number)
    ledger.revoke("patients", **OWNER)
    with pytest.raises(BudgetConflict, match="set aside"):
        ledger.grant("patients", Budget(1), pool="plans", **OWNER)
    ledger.grant("patients", Budget(1), **OWNER)  # the same money again: spent already
    with pytest.raises(BudgetExceeded):
        charge(ledger, "more")


def test_later_grants_to_a_pool_stay_within_what_was_set_aside_for_it(ledger: Ledger) -> None:
    terms = {"plans": Budget(0.2), "lifetime": Budget(3), "plans_lifetime": Budget(1)}
    ledger.open_population("patients", Budget(1), **terms, **OWNER)
    ledger.grant("patients", Budget(0.8), pool="plans", **OWNER)
    ledger.grant("patients", Budget(1.2), **OWNER)
    for pool in Pool:
        with pytest.raises(BudgetConflict):
            ledger.grant("patients", Budget(0.1), pool=pool, **OWNER)
    assert ledger.populations()["patients"].lifetime == Budget(3)


def test_a_program_that_was_open_before_may_open_the_very_same_population(url: str, tmp_path: Path) -> None:
    with Ledger(url, state=tmp_path / "state") as one, Ledger(url, state=tmp_path / "state") as two:
        for ledger in (one, two):
            ledger.open_population("patients", Budget(1), each=Budget(0.5), **OWNER)
            ledger.declare_dataset("visits", version="1", population="patients", **OWNER)
        one.change_rules("patients", each=Budget(0.1), **OWNER)
        for each in (Budget(0.5), Budget(0.1)):
            two.open_population("patients", Budget(1), each=each, **OWNER)
        with pytest.raises(BudgetConflict):
            two.open_population("patients", Budget(1), each=Budget(0.3), **OWNER)
        with pytest.raises(BudgetConflict):
            two.open_population("patients", Budget(1), plans=Budget(0.5), each=Budget(0.5), **OWNER)


def test_the_lifetime_counts_both_pools(ledger: Ledger) -> None:
    ledger.open_population("patients", Budget(2, 1e-6), plans=Budget(1, 5e-7), **OWNER)
    pools = ledger.populations()["patients"].pools
    assert pools == {Pool.QUESTIONS: Budget(1, 5e-7), Pool.PLANS: Budget(1, 5e-7)}
    with pytest.raises(BudgetConflict):
        ledger.grant("patients", Budget(0.1, 1e-8), pool="plans", **OWNER)


def test_a_split_that_leaves_one_pool_useless_is_refused(ledger: Ledger) -> None:
    for plans in (Budget(1, 1e-6), Budget(2, 1e-8), Budget(3, 1e-7)):
        with pytest.raises(BudgetConflict):
            ledger.open_population("patients", Budget(2, 1e-6), plans=plans, **OWNER)
    ledger.open_population("patients", Budget(2, 1e-6), plans=Budget(2, 1e-6), **OWNER)
    assert ledger.populations()["patients"].pools[Pool.QUESTIONS] is None


def test_budgets_of_one_population_are_of_one_kind(ledger: Ledger) -> None:
    ledger.open_population("patients", Budget(2, 1e-6), **OWNER)
    for other in (Budget(1), Budget(rho=1)):
        with pytest.raises(BudgetConflict):
            ledger.grant("patients", other, project="flu", **OWNER)
        with pytest.raises(BudgetConflict):
            ledger.revoke("patients", other, **OWNER)
        with pytest.raises(BudgetConflict):
            ledger.change_rules("patients", each=other, **OWNER)
        with pytest.raises(BudgetConflict):
            ledger.change_rules("patients", window=BudgetWindow(other, "day"), **OWNER)
    assert kinds(ledger) == ["ledger", "population"]


def test_a_part_of_a_share_can_be_taken_back(ledger: Ledger) -> None:
    ledger.open_population("patients", Budget(1), **OWNER)
    ledger.grant("patients", Budget(0.3), project="flu", **OWNER)
    ledger.revoke("patients", Budget(0.1), project="flu", **OWNER)
    (share,) = ledger.budget("patients").shares
    assert share.limit is not None and share.limit.budget == Budget(0.2)
    with pytest.raises(BudgetConflict):
        ledger.revoke("patients", project="heart", **OWNER)


def test_a_request_for_more_is_open_until_it_is_granted_or_refused(ledger: Ledger) -> None:
    ledger.open_population("patients", Budget(1), **OWNER)
    asked = {"project": "flu", "by": "ann", "why": "the wave is back"}
    first, second = (ledger.request_budget("patients", Budget(0.2), **asked) for _ in range(2))
    assert [plea.number for plea in ledger.pleas()] == [first, second]
    assert "the wave is back" in ledger.budget("patients").text()
    ledger.grant("patients", Budget(0.2), project="flu", plea=first, **OWNER)
    ledger.decline_request(second, by="board", why="one is enough")
    assert ledger.pleas() == []
    for act in (lambda: ledger.decline_request(first, **OWNER), lambda: ledger.decline_request(99, **OWNER)):
        with pytest.raises(BudgetConflict):
            act()
    assert ledger.verify().ok


def test_who_and_why_are_required(ledger: Ledger) -> None:
    with pytest.raises(MissingParameter):
        ledger.open_population("patients", Budget(1), by=" ", why="x")
    with pytest.raises(MissingParameter):
        ledger.open_population("patients", Budget(1), by="x", why="")
    assert kinds(ledger) == ["ledger"]


def test_disjointness_is_stated_of_known_populations(ledger: Ledger) -> None:
    ledger.open_population("patients", Budget(1), **OWNER)
    with pytest.raises(UnknownPopulation):
        ledger.declare_disjoint("patients", "staff", **OWNER)
    with pytest.raises(EmptyInput):
        ledger.declare_disjoint("patients", **OWNER)


def test_a_version_keeps_its_meaning(ledger: Ledger) -> None:
    for name in ("patients", "staff"):
        ledger.open_population(name, Budget(1), **OWNER)
    for _ in range(2):
        ledger.declare_dataset("visits", version="1", population="patients", **OWNER)
    assert kinds(ledger).count("dataset") == 1
    with pytest.raises(BudgetConflict):
        ledger.declare_dataset("visits", version="1", population="staff", **OWNER)
    with pytest.raises(UnknownPopulation):
        ledger.declare_dataset("visits", version="2", population="nobody", **OWNER)


def test_rules_not_named_stay(ledger: Ledger) -> None:
    ledger.open_population("patients", Budget(1), each=Budget(0.5), shares="required", **OWNER)
    ledger.change_rules("patients", share_answers=True, **OWNER)
    who = ledger.populations()["patients"]
    assert (who.each, who.shares, who.share_answers) == (Budget(0.5), "required", True)
    ledger.change_rules("patients", each=None, **OWNER)
    assert ledger.populations()["patients"].each is None
    with pytest.raises(OutOfRange):
        ledger.change_rules("patients", shares="sometimes", **OWNER)
    with pytest.raises(OutOfRange):
        BudgetWindow(Budget(1), "fortnight")


def test_erased_answers_are_gone_and_asking_again_is_charged(ledger: Ledger) -> None:
    ledger.open_population("patients", Budget(1), **OWNER)
    kept, erased = charge(ledger, "kept"), charge(ledger, "erased")
    ledger.erase([erased.receipt.sequence - 1], by="officer", why="retention")
    assert charge(ledger, "kept").answer == kept.answer
    assert not charge(ledger, "erased").repeated
    assert ledger.budget("patients").spent.parts()[0] == Fraction(3, 10)
    assert ledger.check(erased.receipt)
    assert ledger.erase(before=2**60, by="officer", why="retention") == 2
    assert not charge(ledger, "kept").repeated
    assert ledger.verify().ok
    with pytest.raises(OutOfRange):
        ledger.erase(by="officer", why="what?")
    for charge_number in (999, 1):
        with pytest.raises(OutOfRange, match="no stored answer"):
            ledger.erase([charge_number], by="officer", why="typo")
    assert ledger.verify().ok


def test_every_act_of_an_owner_is_signed(ledger: Ledger) -> None:
    ledger.open_population("patients", Budget(1), **OWNER)
    ledger.grant("patients", Budget(0.5), project="flu", **OWNER)
    assert all(entry.signature for entry in ledger.log())
    assert ledger.verify().signed_to == 3
