"""Many real processes at one book: a budget that fits N requests lets exactly N through."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import count
from pathlib import Path

import pytest

from hubbub.accounting.filters import ConcentratedFilter
from hubbub.ledger import Ledger, Request, Reservation
from hubbub.ledger.open_ledger import Core
from hubbub.ledger.policy import Policy
from hubbub.mechanisms import Gaussian
from hubbub.terms import Budget, BudgetExceeded, Event, Superseded
from tests.charging import ask
from tests.ledger._asking import (
    STEP,
    WHO,
    Place,
    Witness,
    any_answer,
    asking,
    charges_of,
    entries_of,
    new_ledger,
    open_ledger,
    request,
    show,
)
from tests.ledger._processes import Child, Ended, Report, run, run_all

GAUSSIAN = Gaussian(sensitivity=1, rho=0.0002).event


@pytest.fixture
def processes(soak: int) -> int:
    return 32 if soak > 1 else 11


@pytest.fixture
def place(url: str, tmp_path: Path) -> Place:
    return url, tmp_path / "state"


@pytest.fixture
def file(tmp_path: Path) -> Place:
    """A place for a ledger in a file."""
    return str(tmp_path / "ledger.db"), tmp_path / "state"


def hammer(place: Place, me: int, make: Callable[[str], Request] = request) -> Callable[[Report], None]:
    """Work for a child: ask one new thing after the other until the budget is spent; any other error ends it badly."""

    def work(report: Report) -> None:
        with open_ledger(place) as ledger:
            for turn in count():
                try:
                    show(report, f"{me}/{turn}", ask(ledger, make(f"{me}/{turn}"), any_answer))
                except BudgetExceeded as error:
                    report(refused=error.code)
                    return

    return work


def successes(ended: list[Ended]) -> int:
    """How many answers were shown, all processes together; each must have ended by a refusal and nothing else."""
    for child in ended:
        child.well()
        assert child.of("refused") == ["P401"]
    return sum(len(child.of("shown")) for child in ended)


def fit_in(budget: Budget, event: Event) -> int:
    """How many of these events an independent filter lets through."""
    assert budget.epsilon is not None
    filtered = ConcentratedFilter(epsilon=budget.epsilon, delta=budget.delta)
    for number in count():
        try:
            filtered.append(event)
        except BudgetExceeded:
            return number
    raise AssertionError


# ---------------------------------------------------------------- exactly N


def test_exactly_as_many_as_fit_a_pure_budget_succeed(place: Place, processes: int) -> None:
    new_ledger(place, fits=100)
    ended = run_all(hammer(place, me) for me in range(processes))
    assert successes(ended) == 100
    witness = Witness()
    for child in ended:
        witness.see(child.of("shown"))
    with open_ledger(place) as ledger:
        witness.check(ledger, fits=100)
        assert ledger.budget("people").left.loss == 0


def test_exactly_as_many_as_fit_a_concentrated_budget_succeed(place: Place, processes: int) -> None:
    budget = Budget(Fraction(1, 2), Fraction(1, 10**6))
    fits = fit_in(budget, GAUSSIAN)
    assert 10 < fits < 100
    with open_ledger(place) as ledger:
        ledger.open_population("people", budget, **WHO)
    ended = run_all(hammer(place, me, lambda name: request(name, event=GAUSSIAN)) for me in range(processes))
    assert successes(ended) == fits
    with open_ledger(place) as ledger:
        assert sum(charges_of(ledger).values()) == fits
        assert ledger.verify().ok


def test_processes_that_open_the_ledger_for_each_request_do_not_disturb_each_other(place: Place) -> None:
    """Opening looks at book and anchors while others write both."""
    new_ledger(place, fits=120)

    def come_and_go(me: int) -> Callable[[Report], None]:
        def work(report: Report) -> None:
            for turn in range(10):
                asking(place, [f"{me}/{turn}"])(report)

        return work

    ended = run_all(come_and_go(me) for me in range(12))
    assert sum(len(child.well()) for child in ended) == 120
    with open_ledger(place) as ledger:
        assert ledger.verify().ok
        with pytest.raises(BudgetExceeded):
            ask(ledger, request("one more"), any_answer)


def test_overlapping_populations_are_charged_together_and_the_smaller_one_decides(place: Place, processes: int) -> None:
    """Half ask about the town, half about the street in it; both budgets pay. The island shares nobody with them."""
    with open_ledger(place) as ledger:
        ledger.open_population("town", Budget(1), **WHO)
        ledger.open_population("street", Budget(Fraction(1, 2)), **WHO)
        ledger.open_population("island", Budget(Fraction(1, 4)), **WHO)
        ledger.declare_disjoint("island", "town", **WHO)
        ledger.declare_disjoint("island", "street", **WHO)
    whose = ["town", "street", "island", "town"]

    def about(name: str) -> Callable[[str], Request]:
        return lambda asked: request(asked, population=name)

    ended = run_all(hammer(place, me, about(whose[me % 4])) for me in range(processes))
    island = [child for me, child in enumerate(ended) if whose[me % 4] == "island"]
    assert (successes(ended), successes(island)) == (75, 25)
    with open_ledger(place) as ledger:
        assert ledger.verify().ok
        charged = Counter(name for said in entries_of(ledger, "charge") for name in said["charged"])
        assert charged == {"town": 50, "street": 50, "island": 25}


def test_shares_cap_each_project_and_the_population_caps_their_sum(place: Place, processes: int) -> None:
    new_ledger(place, fits=100)
    shares = {"one": 40, "two": 40, "three": 40, "four": 3}
    with open_ledger(place) as ledger:
        for project, fits in shares.items():
            ledger.grant("people", Budget(STEP.epsilon * fits), project=project, **WHO)
    projects = sorted(shares)

    def within(project: str) -> Callable[[str], Request]:
        return lambda asked: request(asked, project=project)

    ended = run_all(hammer(place, me, within(projects[me % 4])) for me in range(processes))
    assert successes(ended) == 100
    with open_ledger(place) as ledger:
        spent = Counter(entry.project for entry in ledger.log() if entry.fields()["kind"] == "charge")
        assert all(spent[project] <= shares[project] for project in projects)
        assert ledger.verify().ok


def test_threads_that_share_one_ledger_spend_exactly_the_budget(ledger: Ledger) -> None:
    ledger.open_population("people", Budget(1), **WHO)
    shown: list[str] = []
    errors: list[BaseException] = []

    def work(me: int) -> None:
        try:
            for turn in count():
                shown.append(ask(ledger, request(f"{me}/{turn}"), any_answer).answer)
        except BudgetExceeded:
            pass
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(me,)) for me in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(set(shown)) == len(shown) == 100
    assert ledger.verify().ok


# ---------------------------------------------------------------- one request, many processes


def slow_answer(held: Reservation) -> str:
    """An answer that takes longer than a turn at the book, as real ones do."""
    time.sleep(0.03)
    return any_answer(held)


def ask_the_same(place: Place, patience: float) -> Callable[[Report], None]:
    """Ask the one popular request, once."""

    def work(report: Report) -> None:
        with open_ledger(place) as ledger:
            try:
                stored = ask(ledger, request("popular", patience=patience), slow_answer)
            except Superseded as error:
                report(late=error.code)
            else:
                show(report, "popular", stored)
                report(fresh=not stored.repeated)

    return work


def test_one_request_asked_by_an_impatient_crowd_has_one_answer(place: Place, processes: int) -> None:
    """Runs that overlap are attempts under one charge, and each three of them may cost one more; never two answers."""
    new_ledger(place)
    ended = run_all(ask_the_same(place, 0) for _ in range(processes))
    witness = Witness()
    for child in ended:
        child.well()
        witness.see(child.of("shown"))
    assert sum(fresh for child in ended for fresh in child.of("fresh")) == 1  # whoever reserved last is never late
    with open_ledger(place) as ledger:
        assert len(entries_of(ledger, "answer")) == 1
        runs = len(entries_of(ledger, "charge")) + len(entries_of(ledger, "attempt"))
        assert charges_of(ledger)[request("popular").fingerprint] == -(-runs // 3)
        witness.check(ledger, fits=processes)


def test_one_request_asked_by_a_patient_crowd_is_charged_once_and_all_see_its_answer(
    place: Place, processes: int
) -> None:
    """Nobody died, so a crowd does not spend a budget on one question."""
    new_ledger(place)
    ended = run_all(ask_the_same(place, 60) for _ in range(processes))
    witness = Witness()
    for child in ended:
        child.well()
        witness.see(child.of("shown"))
    assert [len(child.of("shown")) for child in ended] == [1] * processes
    with open_ledger(place) as ledger:
        assert len(entries_of(ledger, "charge")) == 1
        assert len(entries_of(ledger, "attempt")) <= 2
        witness.check(ledger, fits=1)


def test_when_all_reserve_before_any_stores_only_runs_under_the_last_charge_show_an_answer(
    place: Place, processes: int
) -> None:
    """Each three of the runs share a charge, the last two of them have one of their own; all others came too late."""
    new_ledger(place)
    gate, opener = os.pipe()

    def work(report: Report) -> None:
        os.close(opener)
        with open_ledger(place) as ledger:
            held = ledger.reserve(request("popular"))
            assert isinstance(held, Reservation)
            report(charge=held.sequence)
            os.read(gate, 1)  # until everybody has reserved
            try:
                show(report, "popular", ledger.store(held, any_answer(held)))
            except Superseded as error:
                report(late=error.code)

    children = [Child(work) for _ in range(processes)]
    runs = Counter(child.next()["charge"] for child in children)
    os.close(gate)
    os.close(opener)
    ended = [child.wait() for child in children]
    witness = Witness()
    for child in ended:
        child.well()
        witness.see(child.of("shown"))
    full, last = divmod(processes, 3)
    assert last == 2
    assert sorted(runs.values()) == [2, *[3] * full] and runs[max(runs)] == 2
    assert sum(len(child.of("shown")) for child in ended) == 2
    assert sum(len(child.of("late")) for child in ended) == 3 * full
    with open_ledger(place) as ledger:
        assert charges_of(ledger)[request("popular").fingerprint] == full + 1
        witness.check(ledger, fits=full + 1)


# ---------------------------------------------------------------- opening


def test_many_processes_that_begin_a_ledger_at_once_begin_one(place: Place, processes: int) -> None:
    def work(report: Report) -> None:
        with open_ledger(place) as ledger:
            report(ledger=ledger.id)

    ended = run_all(work for _ in range(processes))
    assert len({report["ledger"] for child in ended for report in child.well()}) == 1
    with open_ledger(place) as ledger:
        assert [entry.fields()["kind"] for entry in ledger.log()] == ["ledger"]


def test_a_ledger_begun_by_another_process_at_the_same_moment_is_used(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one begins it just after this one looked and found nothing."""
    look = Core._read_policy

    def look_too_early(core: Core) -> Policy | None:
        monkeypatch.undo()
        found = look(core)
        run(lambda _: new_ledger(place)).well()
        return found

    monkeypatch.setattr(Core, "_read_policy", look_too_early)
    with open_ledger(place) as ledger:
        assert list(ledger.populations()) == ["people"]


def test_many_processes_that_open_the_same_population_at_once_open_one(place: Place, processes: int) -> None:
    """The very same budget again is no error, whoever was first."""
    open_ledger(place).close()

    def work(report: Report) -> None:
        new_ledger(place, fits=100)

    for child in run_all(work for _ in range(processes)):
        child.well()
    with open_ledger(place) as ledger:
        assert len(entries_of(ledger, "population")) == 1
        assert ledger.verify().ok


def test_a_ledger_opened_before_a_fork_serves_parent_and_child(ledger: Ledger) -> None:
    ledger.open_population("people", Budget(1), **WHO)
    ask(ledger, request("before"), any_answer)

    def work(report: Report) -> None:
        for turn in range(20):
            ask(ledger, request(f"{os.getpid()}/{turn}"), any_answer)

    children = [Child(work) for _ in range(4)]
    for turn in range(19):
        ask(ledger, request(f"parent/{turn}"), any_answer)
    for child in children:
        child.wait().well()
    assert sum(charges_of(ledger).values()) == 100
    with pytest.raises(BudgetExceeded):
        ask(ledger, request("one more"), any_answer)
    assert ledger.verify().ok


# ---------------------------------------------------------------- SQLite's locks belong to processes


class Later:
    """A child forked now, before anything is opened here, that starts its work when it is told."""

    def __init__(self, work: Callable[[Report], None]) -> None:
        self._gate, self._opener = os.pipe()

        def wait(report: Report) -> None:
            os.read(self._gate, 1)
            work(report)

        self._child = Child(wait)

    def go(self) -> Ended:
        os.write(self._opener, b"!")
        os.close(self._gate)
        os.close(self._opener)
        return self._child.wait()


def test_opening_a_file_twice_in_one_process_does_not_give_up_its_locks(file: Place) -> None:
    """Closing any handle on a file ends all locks of the process on it; then another process, the last as it thinks,
    would put the log away while this one goes on writing to it."""
    new_ledger(file)
    elsewhere, again = Later(asking(file, ["elsewhere"])), Later(asking(file, ["here"]))
    with open_ledger(file) as ledger:
        assert ledger.verify().ok
        open_ledger(file).close()
        elsewhere.go().well()
        answer = ask(ledger, request("here"), any_answer).answer
        ended = again.go()
        ended.well()
        assert [shown[1] for shown in ended.of("shown")] == [answer]
        assert ledger.verify().ok


@pytest.mark.parametrize("inherited", [True, False], ids=["the parent's ledger", "a ledger of its own"])
def test_a_child_goes_on_when_its_parent_closes_the_ledger(file: Place, inherited: bool) -> None:
    """A fork takes SQLite's notes about locks along but not the locks: the parent, as it thinks the last, would put
    the log away while the child goes on writing to it."""
    new_ledger(file)
    parents = open_ledger(file)
    ask(parents, request("before"), any_answer)
    gate, opener = os.pipe()

    def work(report: Report) -> None:
        ledger = parents if inherited else open_ledger(file)
        show(report, "one", ask(ledger, request("one"), any_answer))
        os.read(gate, 1)  # until the parent has closed
        show(report, "two", ask(ledger, request("two"), any_answer))

    child = Child(work)
    child.next()
    parents.close()
    os.write(opener, b"!")
    os.close(gate)
    os.close(opener)
    ended, witness = child.wait(), Witness()
    ended.well()
    witness.see(ended.of("shown"))
    with open_ledger(file) as ledger:
        witness.check(ledger, fits=3)
