"""Requests for the hard tests, and a child that asks them and reports what it was shown."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

from hubbub.ledger import Ledger, Request, Reservation, Stored, fingerprint
from hubbub.terms import Budget, PureStep, Receipt, from_json, to_json
from tests.charging import ask
from tests.ledger._processes import Report

WHO: dict[str, Any] = {"by": "board", "why": "test"}
STEP = PureStep(mechanism="test", epsilon=Fraction(1, 100))
Place = tuple[str, Path]  # where the book is, and where the second place


def open_ledger(place: Place) -> Ledger:
    return Ledger(place[0], state=place[1])


def new_ledger(place: Place, *, fits: int = 100_000) -> None:
    """A ledger whose population "people" has a budget that fits so many requests exactly, and no more."""
    with open_ledger(place) as ledger:
        ledger.open_population("people", Budget(STEP.epsilon * fits), **WHO)


def request(name: object, **changes: Any) -> Request:
    """The request of that name; after three runs it waits for none of them, so that no test does."""
    said: dict[str, Any] = {"event": STEP, "population": "people", "size": 64, "patience": 0} | changes
    return Request(fingerprint=fingerprint(name=str(name)), **said)


def any_answer(_: Reservation) -> str:
    """An answer that no other run gives."""
    return secrets.token_hex(8)


def show(report: Report, name: object, stored: Stored) -> None:
    """What a person would now see."""
    report(shown=[str(name), stored.answer, to_json(stored.receipt)])


def asking(
    place: Place, names: Iterable[object], run: Callable[[Reservation], str] = any_answer
) -> Callable[[Report], None]:
    """Work for a child: open the ledger, ask these one after the other, report what is shown."""

    def work(report: Report) -> None:
        with open_ledger(place) as ledger:
            for name in names:
                show(report, name, ask(ledger, request(name), run))

    return work


class Witness:
    """Remembers everything that was ever shown, and holds the ledger to it."""

    def __init__(self) -> None:
        self.answers: dict[str, str] = {}
        self.receipts: list[Receipt] = []

    def see(self, shown: Iterable[tuple[str, str, dict[str, Any]]]) -> None:
        """One request has one answer, whoever asks and however often."""
        for name, answer, receipt in shown:
            assert self.answers.setdefault(name, answer) == answer, f"two answers to request {name}"
            self.receipts.append(from_json(receipt))

    def check(self, ledger: Ledger, *, fits: int) -> None:
        """Nothing overspent, the book whole, and everything shown still there, for free and proved."""
        verification = ledger.verify()
        assert verification.ok, verification.text()
        charges = charges_of(ledger)
        assert sum(charges.values()) <= fits
        assert all(charges[fingerprint(name=name)] for name in self.answers)
        assert all(ledger.check(receipt) for receipt in self.receipts)
        for name, answer in self.answers.items():
            again = ask(ledger, request(name), any_answer)
            assert (again.answer, again.repeated) == (answer, True)
        assert charges_of(ledger) == charges


def entries_of(ledger: Ledger, kind: str) -> list[dict[str, Any]]:
    """What the entries of one kind say, with the fingerprint they stand under."""
    return [
        said | {"fingerprint": entry.fingerprint.hex() if entry.fingerprint else None, "sequence": entry.sequence}
        for entry in ledger.log()
        if (said := entry.fields())["kind"] == kind
    ]


def charges_of(ledger: Ledger) -> Counter[str]:
    """How often each fingerprint was charged."""
    return Counter(said["fingerprint"] for said in entries_of(ledger, "charge"))
