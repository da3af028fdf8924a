"""Several requests are looked at together, before the first of them is charged."""

from __future__ import annotations

from pathlib import Path

import pytest

from hubbub.ledger import Reservation
from hubbub.terms import Budget, BudgetExceeded
from tests.ledger._asking import STEP, WHO, any_answer, new_ledger, open_ledger, request


def test_a_sum_fits_or_it_does_not(tmp_path: Path) -> None:
    place = (str(tmp_path / "book.db"), tmp_path / "state")
    new_ledger(place, fits=3)
    with open_ledger(place) as ledger:
        size = len(list(ledger.log()))
        ledger.check_together([request(name) for name in "abc"])
        with pytest.raises(BudgetExceeded, match=r"these 4 requests together cost epsilon = 0\.04"):
            ledger.check_together([request(name) for name in "abcd"])
        assert len(list(ledger.log())) == size


def test_what_is_paid_already_is_left_out(tmp_path: Path) -> None:
    place = (str(tmp_path / "book.db"), tmp_path / "state")
    new_ledger(place, fits=3)
    with open_ledger(place) as ledger:
        answered, died = ledger.reserve(request("a")), ledger.reserve(request("b"))
        assert isinstance(answered, Reservation) and isinstance(died, Reservation)
        ledger.store(answered, any_answer(answered))
        ledger.check_together([request(name) for name in "abc"])
        with pytest.raises(BudgetExceeded, match="these 2 requests together"):
            ledger.check_together([request("a", fresh=True), request("c")])
        with pytest.raises(BudgetExceeded, match="these 2 requests together"):
            ledger.check_together([request(name) for name in "abcd"])


def test_a_grant_by_another_process_counts_at_once(tmp_path: Path) -> None:
    place = (str(tmp_path / "book.db"), tmp_path / "state")
    new_ledger(place, fits=3)
    with open_ledger(place) as ledger, open_ledger(place) as other:
        with pytest.raises(BudgetExceeded):
            ledger.check_together([request(name) for name in "abcd"])
        other.grant("people", Budget(STEP.epsilon), raise_lifetime=True, **WHO)
        ledger.check_together([request(name) for name in "abcd"])
