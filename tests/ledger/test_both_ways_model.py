"""A few lines of Fractions predict what a budget counted both ways lets through, whatever people do to the ledger."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from pathlib import Path
from unittest import mock

import mpmath
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from hubbub.accounting import budget_limits as units
from hubbub.accounting.budget_limits import DELTA_UNIT, LOSS_UNIT, Amount
from hubbub.accounting.conversions import rho_for
from hubbub.accounting.either_way import FIRST_SPLIT, SPLIT, DeltaSplit
from hubbub.ledger import BudgetWindow, Ledger, Pool, Request, Stored, fingerprint, restore
from hubbub.ledger.book import statements
from hubbub.mechanisms import DiscreteGaussian
from hubbub.terms import ApproximateStep, Budget, BudgetExceeded, Compose, ConcentratedStep, Event, PureStep
from tests.ledger._asking import WHO, entries_of

DAY = 86_400 * 10**9
MILLIONTH = Fraction(1, 10**6)
UNKNOWN = Fraction(10**30)  # more than any limit: a cost that an account does not know


@dataclass(frozen=True)
class Cost:
    """The four numbers of a step."""

    epsilon: Fraction = Fraction(0)
    tail: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)
    own: Fraction = Fraction(0)

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.epsilon + other.epsilon, self.tail + other.tail, self.rho + other.rho, self.own + other.own)


@dataclass
class Account:
    """A budget of these people and what was spent of it, by the rule of the proof."""

    budget: Budget
    split: DeltaSplit
    spent: Cost = field(default_factory=Cost)

    def fits(self, cost: Cost) -> bool:
        total, delta = self.spent + cost, self.budget.delta
        assert self.budget.epsilon is not None
        rho = Fraction(rho_for(float(self.budget.epsilon), float(delta * self.split.converts) * (1 - 1e-12)))
        basic = total.epsilon <= self.budget.epsilon and total.tail <= delta * self.split.tail
        return total.own <= delta * self.split.own and (basic or total.rho <= rho)


@dataclass
class Model:
    """What should be so: by account, in the names of the ledger."""

    accounts: dict[str, Account] = field(default_factory=dict)
    plans: Cost = field(default_factory=Cost)  # epsilon and tail of the pools for plans, which are alike
    day: int = 0  # of the window's last charge

    def held_against(self, name: str, project: str, day: int) -> list[str]:
        """Both populations may share people; the first has a window and a share."""
        people = [f"{name}///questions", *(f"{o}///questions" for o in ("people", "clinic") if o != name)]
        if day != self.day:
            self.accounts["people///window"].spent = Cost()
        return [*people, "people///window", *(["people/flu//questions"] if project == "flu" else [])]


def pure(number: int) -> tuple[Event, Fraction]:
    return PureStep(mechanism="model", epsilon=Fraction(number, 10)), Fraction(0)


def keys(number: int) -> tuple[Event, Fraction]:
    own = MILLIONTH * number / 64
    return ApproximateStep(mechanism="model", epsilon=Fraction(number, 20), delta=own), Fraction(0)


def gaussian(number: int) -> tuple[Event, Fraction]:
    return DiscreteGaussian(sensitivity=1, sigma=8 * number).event, MILLIONTH / 10 ** (number % 3 + 1)


def without_tail(number: int) -> tuple[Event, Fraction]:
    return gaussian(number)[0], Fraction(0)


def concentrated(number: int) -> tuple[Event, Fraction]:
    step = ConcentratedStep(mechanism="model", rho=Fraction(number, 500), delta=MILLIONTH * (number % 2) / 40)
    return step, MILLIONTH / 100


def mixed(number: int) -> tuple[Event, Fraction]:
    parts = (gaussian(number), pure(1), keys(1))
    return Compose(tuple(event for event, _ in parts)), MILLIONTH / 50


def cost_of(amount: Amount) -> Cost:
    epsilon, tail = amount.basic_parts()
    rho, own = amount.parts()
    return Cost(UNKNOWN if amount.epsilon >= units.UNKNOWN else epsilon, tail, rho, own)


def epsilon_units(epsilon: Fraction) -> int:
    return units.UNKNOWN if epsilon >= UNKNOWN else int(epsilon * LOSS_UNIT)


kinds = st.sampled_from(
    [pure, pure, pure, keys, keys, keys, gaussian, gaussian, gaussian, without_tail, concentrated, mixed]
)


Question = tuple[Callable[[int], tuple[Event, Fraction]], int, str, str]  # what, how much, of whom, for which project
questions = st.tuples(
    kinds, st.integers(1, 10), st.sampled_from(["people", "clinic"]), st.sampled_from(["flu", "cost"])
)


def gaussian_delta(sigma: Fraction, epsilon: mpmath.mpf) -> mpmath.mpf:
    """The exact curve of a Gaussian of sensitivity 1."""
    half, shift = 1 / (2 * mpmath.mpf(float(sigma))), epsilon * mpmath.mpf(float(sigma))
    return mpmath.ncdf(half - shift) - mpmath.exp(epsilon) * mpmath.ncdf(-half - shift)


def check_numbers(event: Event, tail: Fraction, cost: Cost) -> None:
    """The four numbers of a step are what the table in docs/proofs/either-way.md says, worked out apart from it."""
    if isinstance(event, PureStep | ApproximateStep):
        epsilon = mpmath.mpf(event.epsilon.numerator) / event.epsilon.denominator
        due = epsilon * mpmath.tanh(epsilon / 2)
        own = event.delta if isinstance(event, ApproximateStep) else 0
        assert (cost.epsilon, cost.tail, cost.own) == (event.epsilon, 0, own)
        assert due * (1 - 1e-15) <= float(cost.rho) <= due * (1 + 1e-9)
    elif isinstance(event, ConcentratedStep):
        assert (cost.rho, cost.own, cost.tail) == (event.rho, event.delta, tail)
        assert cost.epsilon > event.rho
    elif isinstance(event, Compose):
        noise = event.events[0]
        assert cost.own == MILLIONTH / 64 and cost.tail == tail
        assert cost.epsilon >= Fraction(3, 20) and cost.rho > 1 / (2 * noise.sigma**2)  # type: ignore[union-attr]
    else:
        sigma: Fraction = event.sigma  # type: ignore[attr-defined]
        assert cost.rho == -(-(LOSS_UNIT * 1) // (2 * sigma**2)) / Fraction(LOSS_UNIT)
        assert (cost.own, cost.tail) == (0, tail)
        if not tail:
            assert cost.epsilon == UNKNOWN
            return
        assert gaussian_delta(sigma, mpmath.mpf(float(cost.epsilon))) <= float(tail) * 1.001


class BothWays(RuleBasedStateMachine):
    """The ledger beside the model."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="hubbub-both-ways-")
        self.place = Path(self.folder.name)
        self.numbers: Iterator[int] = count()
        self.model = Model()
        self.kept: tuple[Path, Model] | None = None
        self.later = 0
        real, start = time.time_ns, time.time_ns()
        noon = start - start % DAY + DAY // 2  # so that no test meets midnight unless it wants to
        self.clock = mock.patch("time.time_ns", lambda: noon + real() - start + self.later * DAY)
        self.clock.start()
        self.ledger = self.opened()

    def opened(self) -> Ledger:
        return Ledger(self.place / "ledger.db", state=self.place / "state")

    def teardown(self) -> None:
        try:
            self.everything_verifies()
        finally:
            self.ledger.close()
            self.clock.stop()
            self.folder.cleanup()

    @property
    def today(self) -> int:
        return time.time_ns() // DAY

    # ------------------------------------------------------------ owners

    @initialize(epsilon=st.sampled_from([1, 3]), old=st.booleans(), window=st.sampled_from([Fraction(1, 2), 1, 2]))
    def begin(self, epsilon: int, old: bool, window: Fraction) -> None:
        """The clinic's budget may be one of version 0.1, with another split and no tails."""
        budget, day = Budget(epsilon, MILLIONTH), Budget(window, MILLIONTH / 2)
        rules = {"least_share": Fraction(1, 10**12), "lifetime": Budget(100, Fraction(1, 10**4))}
        plans = Budget(2, MILLIONTH)
        self.ledger.open_population(
            "people",
            Budget(epsilon + 2, 2 * MILLIONTH),
            plans=plans,
            plans_lifetime=plans,
            window=BudgetWindow(day, "day"),
            **rules,
            **WHO,
        )
        split = FIRST_SPLIT if old else SPLIT
        with mock.patch("hubbub.ledger.owner_entries.SPLIT", split):
            self.ledger.open_population(
                "clinic", Budget(4, 2 * MILLIONTH), plans=plans, plans_lifetime=plans, **rules, **WHO
            )
        share = Budget(1, MILLIONTH / 2)
        self.ledger.grant("people", share, project="flu", **WHO)
        self.model = Model(
            {
                "people///questions": Account(budget, SPLIT),
                "people///window": Account(day, SPLIT),
                "people/flu//questions": Account(share, SPLIT),
                "clinic///questions": Account(Budget(2, MILLIONTH), split),
            },
            day=self.today,
        )

    @rule(
        key=st.sampled_from(["people///questions", "people/flu//questions", "clinic///questions"]),
        more=st.sampled_from([Budget(1, MILLIONTH), Budget(2, MILLIONTH / 10)]),
    )
    def grant(self, key: str, more: Budget) -> None:
        account = self.model.accounts[key]
        name, project, *_ = key.split("/")
        self.ledger.grant(name, more, project=project, **WHO)
        assert account.budget.epsilon is not None and more.epsilon is not None
        account.budget = Budget(account.budget.epsilon + more.epsilon, account.budget.delta + more.delta)

    # ------------------------------------------------------------ asking

    @rule(asked=st.lists(questions, min_size=2, max_size=6))
    def ask(self, asked: list[Question]) -> None:
        for question in asked:
            self.ask_once(*question)

    def ask_once(self, kind: Callable[[int], tuple[Event, Fraction]], number: int, name: str, project: str) -> None:
        event, tail = kind(number)
        request = Request(
            event=event, fingerprint=fingerprint(n=next(self.numbers)), population=name, project=project, tail=tail
        )
        costs = {who: cost_of(amount) for who, amount in self.ledger.preview(request).items()}
        for cost in costs.values():
            check_numbers(event, tail, cost)
        against = self.model.held_against(name, project, self.today)
        if not all(self.model.accounts[key].fits(costs[key.split("/")[0]]) for key in against):
            with pytest.raises(BudgetExceeded):
                self.ledger.reserve(request)
            return
        held = self.ledger.reserve(request)
        assert not isinstance(held, Stored)
        self.ledger.store(held, "1")
        for key in against:
            self.model.accounts[key].spent += costs[key.split("/")[0]]
        self.model.day = self.today

    @rule(number=st.integers(1, 12))
    def ask_as_a_plan(self, number: int) -> None:
        """Plans are added up in a pool of their own, and in nobody's window or share."""
        event = PureStep(mechanism="plan", epsilon=Fraction(number, 10))
        request = Request(
            event=event,
            fingerprint=fingerprint(n=next(self.numbers)),
            population="people",
            pool=Pool.PLANS,
            delta=MILLIONTH / 8,
        )
        (cost, other) = self.ledger.preview(request).values()
        assert cost == other and event.epsilon <= cost.parts()[0] <= event.epsilon * (1 + 2 * MILLIONTH)
        total = self.model.plans + Cost(*cost.parts())
        if total.epsilon > 2 or total.tail > MILLIONTH:
            with pytest.raises(BudgetExceeded):
                self.ledger.reserve(request)
            return
        held = self.ledger.reserve(request)
        assert not isinstance(held, Stored)
        self.ledger.store(held, "1")
        self.model.plans = total

    # ------------------------------------------------------------ time and accidents

    @rule(days=st.integers(1, 3))
    def days_pass(self, days: int) -> None:
        self.later += days

    @rule()
    def reopen(self) -> None:
        self.ledger.close()
        self.ledger = self.opened()

    @rule(asked=st.lists(questions, max_size=4))
    def back_up(self, asked: list[Question]) -> None:
        """And go on: what is asked after it is what a restore has to remember."""
        path = self.place / f"backup-{next(self.numbers)}.db"
        self.ledger.backup(path)
        self.kept = (path, deepcopy(self.model))
        self.ask(asked)

    @rule()
    def lose_and_restore(self) -> None:
        """Owners' later entries are lost, as are windows and shares; what the populations spent is not."""
        if self.kept is None:
            return
        path, then = self.kept
        self.ledger.close()
        for file in self.place.glob("ledger.db*"):
            file.unlink()
        restore(path, self.place / "ledger.db", state=self.place / "state", **WHO)
        for key in ("people///questions", "clinic///questions"):
            then.accounts[key].spent = self.model.accounts[key].spent
        then.plans = self.model.plans
        self.model, self.kept = deepcopy(then), None
        self.ledger = self.opened()

    # ------------------------------------------------------------ looking

    @rule()
    def everything_verifies(self) -> None:
        verification = self.ledger.verify()
        assert verification.ok, verification.text()

    @invariant()
    def totals_are_what_the_model_says(self) -> None:
        with self.ledger._core.book.snapshot() as view:
            (rows,) = view.read((statements.ALL_TOTALS, {}))
        kept = {row[0]: [int(number) for number in row[2:]] for row in rows}
        for name in ("people", "clinic") if self.model.accounts else ():
            plans = Cost(
                *(Fraction(n, u) for n, u in zip(kept[f"{name}///plans"][:2], (LOSS_UNIT, DELTA_UNIT), strict=True))
            )
            assert plans == self.model.plans
        for key, account in self.model.accounts.items():
            loss, delta, epsilon, tail = kept[key]
            if key != "people///window" or self.model.day == self.today:
                spent = account.spent
                assert (Fraction(loss, LOSS_UNIT), Fraction(delta, DELTA_UNIT)) == (spent.rho, spent.own), key
                assert epsilon_units(spent.epsilon) == epsilon and Fraction(tail, DELTA_UNIT) == spent.tail, key

    @invariant()
    def each_charge_says_its_four_numbers(self) -> None:
        for said in [said for said in entries_of(self.ledger, "charge") if said["pool"] == "questions"][-3:]:
            assert set(said["basic"]) == set(said["charged"]) == {"people", "clinic"}
            assert all(len(said[part][who]) == 4 for part in ("basic", "charged") for who in said["charged"])


def test_what_is_let_through_is_what_the_rule_lets_through(soak: int) -> None:
    run_state_machine_as_test(
        BothWays, settings=settings(max_examples=15 * soak, stateful_step_count=20, deadline=None)
    )
