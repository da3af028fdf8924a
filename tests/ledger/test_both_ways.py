"""Budgets that are counted both ways, attacked: what a restore, a grant or a window forgets would be spent twice."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hubbub.accounting import Amount, Limit
from hubbub.accounting.budget_limits import LOSS_UNIT
from hubbub.ledger import Ledger, Pool, Request, Stored, fingerprint, restore
from hubbub.ledger.book import statements
from hubbub.ledger.open_ledger import total_of
from hubbub.mechanisms import DiscreteGaussian
from hubbub.terms import ApproximateStep, Budget, BudgetExceeded, Event, PureStep
from tests.ledger._asking import WHO, entries_of
from tests.ledger._processes import Report, run_all

BUDGET, LIFETIME = Budget(3, Fraction(1, 10**6)), Budget(6, Fraction(2, 10**6))
PURE = PureStep(mechanism="test", epsilon=Fraction(1))
WIDE = DiscreteGaussian(sensitivity=1, sigma=200).event


def ask(ledger: Ledger, name: object, event: Event, **changes: Any) -> None:
    said: dict[str, Any] = {"population": "people", "size": 32} | changes
    held = ledger.reserve(Request(event=event, fingerprint=fingerprint(name=str(name)), **said))
    assert not isinstance(held, Stored)
    ledger.store(held, "1")


def account_of(ledger: Ledger) -> tuple[Limit, Amount]:
    """The limit and the total of the people's questions."""
    ledger.populations()  # the policy as it is now
    (account,) = ledger._core.policy.accounts(["people"], project="", analyst="", pool=Pool.QUESTIONS)
    assert account.limit is not None
    with ledger._core.book.snapshot() as view:
        ((row,),) = view.read((statements.totals_of(1), {"a0": account.key}))
    return account.limit, total_of(row)


@pytest.fixture
def book(tmp_path: Path) -> Ledger:
    ledger = Ledger(tmp_path / "ledger.db", state=tmp_path / "state")
    ledger.open_population("people", BUDGET, lifetime=LIFETIME, least_share=Fraction(1, 10**9), **WHO)
    return ledger


def lose_and_restore(ledger: Ledger, folder: Path, *, spend_all: bool, anchors: bool = True) -> Ledger:
    """The book is gone, and the backup that was made at the start takes its place."""
    ledger.close()
    (folder / "ledger.db").unlink()
    if not anchors:
        for anchor in ledger.state.glob("*.anchor"):
            anchor.unlink()
    restore(folder / "backup.db", folder / "ledger.db", state=folder / "state", spend_all=spend_all, **WHO)
    return Ledger(folder / "ledger.db", state=folder / "state")


@pytest.mark.parametrize("anchors", [True, False])
def test_an_account_that_was_exceeded_stays_closed_when_all_is_counted_as_spent(
    book: Ledger, tmp_path: Path, anchors: bool
) -> None:
    """Three pure answers are ten times the budget's rho: a grant after the restore must not open that account."""
    book.backup(tmp_path / "backup.db")
    for number in range(3):
        ask(book, number, PURE)
    limit, before = account_of(book)
    assert limit.fits_basic(before) and not limit.fits_loss(before)
    with lose_and_restore(book, tmp_path, spend_all=True, anchors=anchors) as again:
        with pytest.raises(BudgetExceeded):
            ask(again, "more", WIDE)
        again.grant("people", BUDGET, **WHO)
        limit, after = account_of(again)
        assert not limit.fits_loss(after)
        assert limit.left(after).epsilon == 3 * LOSS_UNIT
        for number in range(3):
            ask(again, f"granted {number}", PURE)
        with pytest.raises(BudgetExceeded):
            ask(again, "too much", WIDE)
        assert again.verify().ok


@pytest.mark.parametrize("event", [PURE, WIDE], ids=["rho is exceeded", "epsilon is exceeded"])
def test_a_restore_brings_back_both_accounts_as_they_were(book: Ledger, tmp_path: Path, event: Event) -> None:
    book.backup(tmp_path / "backup.db")
    for number in range(3 if event is PURE else 120):
        ask(book, number, event, tail=Fraction(1, 10**12))
    limit, before = account_of(book)
    assert limit.fits_loss(before) != limit.fits_basic(before)
    with lose_and_restore(book, tmp_path, spend_all=False) as again:
        assert account_of(again) == (limit, before)
        assert again.verify().ok


def test_a_refusal_for_delta_says_how_it_was_split_and_the_way_on(book: Ledger) -> None:
    """An eighth of delta is for steps with one of their own, and an eighth for tails, however much epsilon is left."""
    quarter = ApproximateStep(mechanism="keys", epsilon=Fraction(1, 10), delta=Fraction(1, 4 * 10**6))
    with pytest.raises(
        BudgetExceeded, match=r"own delta = 2\.5e-07, and population 'people' has own delta = 1\.25e-07"
    ) as own:
        ask(book, "keys", quarter)
    assert "a part of 0.125 is for steps with a delta of their own" in str(own.value)
    assert "0.75 to convert rho, 0.125 for own deltas, 0.125 for tails" in str(own.value)
    assert "smaller delta" in str(own.value) and "`hubbub budget request people" in str(own.value)
    ask(book, "keys", ApproximateStep(mechanism="keys", epsilon=Fraction(1, 10), delta=Fraction(1, 8 * 10**6)))
    ask(book, "pure", PURE)
    ask(book, "tail", WIDE, tail=Fraction(1, 10**7))
    with pytest.raises(BudgetExceeded, match=r"a part of 0\.125 is for the tails .* and 2\.5e-08 of it is left"):
        ask(book, "tails", WIDE, tail=Fraction(1, 10**7))
    ask(book, "less", WIDE, tail=Fraction(1, 4 * 10**7))
    assert book.verify().ok


# ---------------------------------------------------------------- several processes


def spend_it_all(url: str, state: Path, who: int, events: list[Event]) -> Callable[[Report], None]:
    """A process that asks for one event after the other, again and again, until nothing of either fits."""

    def work(report: Report) -> None:
        with Ledger(url, state=state) as ledger:
            granted = refused = 0
            while refused < len(events):
                try:
                    ask(ledger, f"{who}/{granted}/{refused}", events[(granted + refused) % len(events)])
                    granted, refused = granted + 1, 0
                except BudgetExceeded:
                    refused += 1
            report(granted=granted)

    return work


def test_processes_that_spend_side_by_side_stay_within_the_rule(url: str, tmp_path: Path, soak: int) -> None:
    """Pure, Gaussian, mixed and leaky steps in no order that anybody chose: all that was let through fits together."""
    own = Fraction(1, 10**8)
    mixes: list[list[Event]] = [
        [PureStep(mechanism="test", epsilon=Fraction(1, 4)), DiscreteGaussian(sensitivity=1, sigma=20).event],
        [ApproximateStep(mechanism="keys", epsilon=Fraction(1, 5), delta=own)],
        [DiscreteGaussian(sensitivity=1, sigma=15).event],
    ]
    state = tmp_path / "state"
    with Ledger(url, state=state) as ledger:
        ledger.open_population("people", BUDGET, lifetime=LIFETIME, **WHO)
    ended = run_all(spend_it_all(url, state, number, mix) for number, mix in enumerate(mixes * soak))
    for each in ended:
        each.well()
    with Ledger(url, state=state) as ledger:
        limit, total = account_of(ledger)
        charges = entries_of(ledger, "charge")
        sums = [sum((Fraction(said[part]["people"][n]) for said in charges), Fraction(0)) for part, n in _NUMBERS]
        rho, own_delta, epsilon, tail = sums
        assert (total.parts(), total.basic_parts()) == ((rho, own_delta), (epsilon, tail))
        most = limit.whole
        assert own_delta <= Fraction(1, 8 * 10**6)
        assert rho <= most.parts()[0] or (epsilon <= 3 and tail <= Fraction(1, 8 * 10**6))
        assert len({said["fingerprint"] for said in charges}) == len(charges) >= 3
        assert sum(granted for each in ended for granted in each.of("granted")) == len(charges)
        assert ledger.verify().ok


_NUMBERS = (("charged", 0), ("charged", 1), ("basic", 0), ("basic", 1))
