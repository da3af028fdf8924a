"""A model in a few lines of Fractions predicts what the ledger does with whatever people do to it."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from hubbub.accounting.budget_limits import LOSS_UNIT
from hubbub.ledger import Ledger, Request, Reservation, Stored, fingerprint
from hubbub.ledger.book import statements
from hubbub.terms import Budget, BudgetConflict, BudgetExceeded, PureStep, RequestChanged, Superseded
from tests.ledger._asking import WHO, entries_of

PEOPLE = ("town", "street", "island")
Key = tuple[str, str, str]  # population, project, analyst: an account
Asked = tuple[str, str]  # fingerprint, project


@dataclass
class Charge:
    """One charge: how often it was run, and how it ended."""

    sequence: int
    attempts: int = 1
    settled: bool = False
    answer: str | None = None


@dataclass
class Model:
    """What should be so."""

    limits: dict[Key, Fraction | None] = field(default_factory=dict)
    spent: dict[Key, Fraction] = field(default_factory=dict)
    disjoint: set[frozenset[str]] = field(default_factory=set)
    asked: dict[Asked, list[Charge]] = field(default_factory=lambda: defaultdict(list))

    def people(self) -> list[str]:
        return [name for name, project, analyst in self.limits if not project and not analyst]

    def give(self, key: Key, more: Fraction) -> None:
        """A budget or a share grows; one that was taken back starts from nothing, but what it spent stays spent."""
        self.limits[key] = (self.limits.get(key) or Fraction(0)) + more
        self.spent.setdefault(key, Fraction(0))

    def take(self, key: Key, less: Fraction | None) -> None:
        there = self.limits[key]
        self.limits[key] = None if there is None or less is None else there - less

    def charged(self, name: str) -> list[str]:
        """The population asked about, and every other that may share people with it."""
        return [name, *(o for o in self.people() if o != name and frozenset((o, name)) not in self.disjoint)]

    def accounts(self, name: str, project: str, analyst: str) -> list[Key]:
        places = (("", ""), (project, ""), ("", analyst), (project, analyst))
        return [(who, *place) for who in self.charged(name) for place in places if (who, *place) in self.limits]

    def fits(self, accounts: list[Key], cost: Fraction) -> bool:
        return all((limit := self.limits[key]) is not None and self.spent[key] + cost <= limit for key in accounts)

    def answered(self, asked: Asked) -> Charge | None:
        return next((c for c in reversed(self.asked[asked]) if c.answer is not None), None)

    def open(self, asked: Asked) -> Charge | None:
        """The last charge, if nobody saw how it ended."""
        return next((c for c in self.asked[asked][-1:] if not c.settled), None)


hundredths = st.integers(1, 6).map(lambda n: Fraction(n, 100))
budgets = st.integers(5, 40).map(lambda n: Fraction(n, 100))
people = st.sampled_from(PEOPLE)
projects = st.sampled_from(["flu", "cost"])
analysts = st.sampled_from(["ada", "ben"])
shares = st.sampled_from([("flu", ""), ("cost", ""), ("", "ada"), ("flu", "ben")])


class LedgerMachine(RuleBasedStateMachine):
    """The ledger beside the model."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="hubbub-model-")
        self.model = Model()
        self.held: list[tuple[Reservation, Asked, Charge]] = []
        self.answers = (f"answer {n}" for n in count())
        self.ledger = self.opened()

    def opened(self) -> Ledger:
        return Ledger(Path(self.folder.name) / "ledger.db", state=Path(self.folder.name) / "state")

    def teardown(self) -> None:
        try:
            self.everything_verifies()
        finally:
            self.ledger.close()
            self.folder.cleanup()

    # ------------------------------------------------------------ owners

    @initialize(budget=budgets)
    def begin(self, budget: Fraction) -> None:
        self.open_population("town", budget)

    @rule(name=people, budget=budgets)
    def open_population(self, name: str, budget: Fraction) -> None:
        if name in self.model.people():
            with pytest.raises(BudgetConflict):
                self.ledger.open_population(name, Budget(budget + 1000), most_failures=None, **WHO)
            return
        self.ledger.open_population(name, Budget(budget), most_failures=None, **WHO)
        self.model.give((name, "", ""), budget)

    @rule(name=people, place=st.one_of(st.just(("", "")), shares), budget=budgets)
    def grant(self, name: str, place: tuple[str, str], budget: Fraction) -> None:
        if name in self.model.people():
            project, analyst = place
            self.ledger.grant(
                name, Budget(budget), project=project, analyst=analyst, raise_lifetime=not any(place), **WHO
            )
            self.model.give((name, *place), budget)

    @rule(name=people, place=st.one_of(st.just(("", "")), shares), budget=st.one_of(st.none(), hundredths))
    def revoke(self, name: str, place: tuple[str, str], budget: Fraction | None) -> None:
        if name not in self.model.people():
            return
        project, analyst = place
        taken = None if budget is None else Budget(budget)
        there = self.model.limits.get((name, *place))
        if there is None or (budget is not None and budget >= there):  # all of it is taken back by naming no amount
            with pytest.raises(BudgetConflict):
                self.ledger.revoke(name, taken, project=project, analyst=analyst, **WHO)
            return
        self.ledger.revoke(name, taken, project=project, analyst=analyst, **WHO)
        self.model.take((name, *place), budget)

    @rule(one=people, other=people)
    def declare_disjoint(self, one: str, other: str) -> None:
        if one != other and {one, other} <= set(self.model.people()):
            self.ledger.declare_disjoint(one, other, **WHO)
            self.model.disjoint.add(frozenset((one, other)))

    @precondition(lambda self: any(self.model.answered(asked) for asked in self.model.asked))
    @rule(data=st.data())
    def erase(self, data: st.DataObject) -> None:
        asked = data.draw(st.sampled_from([a for a in self.model.asked if self.model.answered(a)]))
        charge = self.model.answered(asked)
        assert charge is not None
        assert self.ledger.erase([charge.sequence], **WHO) == 1
        charge.answer = None

    # ------------------------------------------------------------ asking

    def request(self, label: int, name: str, cost: Fraction, project: str, analyst: str, fresh: bool) -> Request:
        return Request(
            event=PureStep(mechanism="model", epsilon=cost),
            fingerprint=fingerprint(label=label, name=name, cost=str(cost)),
            population=name,
            project=project,
            analyst=analyst,
            size=32,
            fresh=fresh,
            patience=0,
        )

    @rule(
        label=st.integers(0, 1),
        name=people,
        cost=st.sampled_from([Fraction(1, 100), Fraction(5, 100)]),
        project=projects,
        analyst=analysts,
        fresh=st.booleans(),
        then=st.sampled_from(["store", "die", "die", "fail"]),
    )
    def ask(self, label: int, name: str, cost: Fraction, project: str, analyst: str, fresh: bool, then: str) -> None:
        if name not in self.model.people():
            return
        request = self.request(label, name, cost, project, analyst, fresh)
        asked, model = (request.fingerprint, project), self.model
        answered, still_open = model.answered(asked), model.open(asked)
        if answered is not None and not fresh:
            stored = self.ledger.reserve(request)
            assert isinstance(stored, Stored) and stored.repeated
            assert stored.answer == answered.answer
            return
        if still_open is not None and still_open.attempts < 3:
            held = self.ledger.reserve(request)
            assert isinstance(held, Reservation)
            still_open.attempts += 1
            assert (held.sequence, held.attempt) == (still_open.sequence, still_open.attempts)
            self.go_on(held, asked, still_open, then)
            return
        accounts = model.accounts(name, project, analyst)
        if not model.fits(accounts, cost):
            with pytest.raises(BudgetExceeded):
                self.ledger.reserve(request)
            return
        held = self.ledger.reserve(request)
        assert isinstance(held, Reservation) and held.attempt == 1
        for key in accounts:
            model.spent[key] += cost
        if still_open is not None:
            still_open.settled = True
        charge = Charge(held.sequence)
        model.asked[asked].append(charge)
        self.go_on(held, asked, charge, then)

    def go_on(self, held: Reservation, asked: Asked, charge: Charge, then: str) -> None:
        """Store, fail, or die: then the reservation may still turn up later, from a run that was only slow."""
        if then == "die":
            self.held.append((held, asked, charge))
        else:
            self.finish(held, charge, then)

    @precondition(lambda self: self.held)
    @rule(data=st.data(), then=st.sampled_from(["store", "fail"]))
    def a_slow_run_ends(self, data: st.DataObject, then: str) -> None:
        place = data.draw(st.integers(0, len(self.held) - 1))
        held, _, charge = self.held.pop(place)
        self.finish(held, charge, then)

    def finish(self, held: Reservation, charge: Charge, then: str) -> None:
        if then == "fail":
            self.ledger.fail(held, "timeout")
            charge.settled = True  # unless it had an ending already, which stays
        elif not charge.settled:
            charge.answer, charge.settled = next(self.answers), True
            stored = self.ledger.store(held, charge.answer)
            assert (stored.answer, stored.repeated) == (charge.answer, False)
            assert self.ledger.check(stored.receipt)
        elif charge.answer is not None:
            late = self.ledger.store(held, next(self.answers))
            assert (late.answer, late.repeated) == (charge.answer, True)
        else:
            with pytest.raises(Superseded):
                self.ledger.store(held, next(self.answers))

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def another_request_under_the_same_fingerprint_is_refused(self, data: st.DataObject) -> None:
        held, (mark, project), _ = data.draw(st.sampled_from(self.held))
        event = PureStep(mechanism="another", epsilon=Fraction(1, 100))
        changed = Request(event=event, fingerprint=mark, population=held.populations[0], project=project, size=32)
        with pytest.raises(RequestChanged):
            self.ledger.reserve(changed)

    # ------------------------------------------------------------ looking

    @rule()
    def reopen(self) -> None:
        self.ledger.close()
        self.ledger = self.opened()

    @rule()
    def everything_verifies(self) -> None:
        verification = self.ledger.verify()
        assert verification.ok, verification.text()

    @invariant()
    def totals_are_what_the_model_says(self) -> None:
        with self.ledger._core.book.snapshot() as view:
            (rows,) = view.read((statements.ALL_TOTALS, {}))
        kept = {row[0]: Fraction(int(row[2]), LOSS_UNIT) for row in rows if not row[0].endswith("/failures")}
        expected = {
            f"{name}/{project}/{analyst}/questions": n for (name, project, analyst), n in self.model.spent.items()
        }
        assert {key: kept.pop(key) for key in expected} == expected
        assert not any(kept.values())  # what is left are empty pools for plans

    @invariant()
    def what_everybody_spent_adds_up_to_the_population_s_total(self) -> None:
        sums: dict[str, Fraction] = defaultdict(Fraction)
        for said in entries_of(self.ledger, "charge"):
            for name, (loss, *_) in said["charged"].items():
                sums[name] += Fraction(loss)
        assert {n: s for n in self.model.people() if (s := self.model.spent[n, "", ""])} == sums


def test_the_ledger_does_what_the_model_says(soak: int) -> None:
    run_state_machine_as_test(
        LedgerMachine, settings=settings(max_examples=30 * soak, stateful_step_count=25, deadline=None)
    )
