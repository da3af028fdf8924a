"""The one door: nothing is read before the charge, nothing is shown that is not stored, and failures tell nothing."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest

from hubbub.engines import EngineFailed
from hubbub.ledger import Account, Ledger, Pool
from hubbub.releases import JobFacts, Progress, no_progress, quote_job, release_job
from hubbub.terms import (
    Budget,
    BudgetExceeded,
    HubbubError,
    NoAnswer,
    NotAllowed,
    PureStep,
    Receipt,
    SourceUnavailable,
)

SRC = Path(__file__).parents[2] / "src" / "hubbub"
WHO = {"by": "board", "why": "a test"}


@dataclass(frozen=True)
class Count:
    """A job that gives what it is told to give."""

    give: Callable[[], str] = lambda: "7"
    name: str | None = "count"
    epsilon: Fraction = Fraction(1, 2)
    fixed_in_advance: bool = False
    bound: Callable[[], None] = lambda: None

    @property
    def facts(self) -> JobFacts:
        event = PureStep(mechanism="count", epsilon=self.epsilon)
        identity = None if self.name is None else {"kind": "test", "name": self.name}
        return JobFacts(
            event=event,
            identity=identity,
            size=64,
            title="a count",
            fixed_in_advance=self.fixed_in_advance,
            seconds=1.0,
        )

    def bind(self) -> None:
        self.bound()

    def run(self, progress: Progress) -> str:
        progress("reading")
        return self.give()

    def show(self, answer: str, receipt: Receipt | None, *, repeated: bool) -> tuple[str, Receipt | None, bool]:
        return answer, receipt, repeated


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "ledger.db", state=tmp_path / "state") as ledger:
        ledger.open_population("people", Budget(1), **WHO)
        yield ledger


def spent(ledger: Ledger) -> float:
    return float(ledger.budget("people").spent.parts()[0])


def test_a_job_is_charged_once_and_repeated_for_free(ledger: Ledger) -> None:
    first = release_job(Count(), ledger)
    again = release_job(Count(lambda: pytest.fail("it ran")), ledger)
    assert (first[0], first[2], again[0], again[2]) == ("7", False, "7", True)
    assert first[1] is not None
    assert again[1] is not None
    assert first[1].sequence == again[1].sequence
    assert spent(ledger) == 0.5


def test_fresh_pays_again_and_what_has_no_identity_is_never_the_same(ledger: Ledger) -> None:
    release_job(Count(), ledger)
    assert release_job(Count(lambda: "8"), ledger, fresh=True)[0] == "8"
    assert spent(ledger) == 1
    with pytest.raises(BudgetExceeded):
        release_job(Count(lambda: pytest.fail("it ran"), name=None), ledger)


def test_without_an_account_nothing_is_charged() -> None:
    assert release_job(Count(), None) == ("7", None, False)


def test_a_job_that_cannot_be_bound_is_not_charged(ledger: Ledger) -> None:
    def refuse() -> None:
        raise NotAllowed("it cannot be.", why="a test", fix="none")

    for account in (ledger, None):
        with pytest.raises(NotAllowed):
            release_job(Count(lambda: pytest.fail("it ran"), bound=refuse), account)
    with pytest.raises(NotAllowed):
        quote_job(Count(bound=refuse), ledger)
    assert spent(ledger) == 0


@pytest.mark.parametrize("failure", [ValueError, MemoryError, SourceUnavailable, EngineFailed])
def test_a_run_that_fails_is_charged_and_told_in_public_words_alone(ledger: Ledger, failure: type[Exception]) -> None:
    more = {"why": "Bob", "fix": "Carol"} if issubclass(failure, HubbubError) else {}

    def fail() -> str:
        raise failure("the row of Alice", **more)

    with pytest.raises(NoAnswer) as error:
        release_job(Count(fail), ledger)
    assert "Alice" not in str(error.value)
    assert error.value.__cause__ is None
    assert error.value.__context__ is None  # nothing that hangs on it quotes a row either
    assert spent(ledger) == 0.5


def test_a_run_that_was_stopped_goes_on_under_its_charge(ledger: Ledger) -> None:
    def stopped() -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        release_job(Count(stopped), ledger)
    assert spent(ledger) == 0.5
    answer, _, repeated = release_job(Count(), ledger)
    assert (answer, repeated, spent(ledger)) == ("7", False, 0.5)


def test_the_charge_stands_before_the_run_and_the_answer_before_the_show(ledger: Ledger) -> None:
    seen: list[str] = []

    def give() -> str:
        seen.append(f"run, {spent(ledger)} spent, answered {quote_job(Count(), ledger).repeated}")
        return "7"

    release_job(Count(give), ledger, progress=seen.append)
    assert seen == ["planned", "charged", "reading", "run, 0.5 spent, answered False", "stored"]
    assert quote_job(Count(), ledger).repeated


def test_a_quote_is_free_and_says_what_would_be_refused(ledger: Ledger) -> None:
    quote = quote_job(Count(lambda: pytest.fail("it ran")), ledger)
    assert (float(quote.costs["people"].parts()[0]), quote.repeated, quote.refusal) == (0.5, False, "")
    entries = len(list(ledger.log()))
    ledger.change_rules("people", each=Budget(Fraction(1, 4)), **WHO)
    assert "It would be refused" in quote_job(Count(), ledger).refusal
    assert spent(ledger) == 0
    assert len(list(ledger.log())) == entries + 1


def test_plans_are_paid_from_their_pool_if_there_is_one(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger.db", state=tmp_path / "state") as ledger:
        ledger.open_population("people", Budget(2), plans=Budget(1), **WHO)
        ledger.open_population("staff", Budget(2), **WHO)
        ledger.declare_disjoint("people", "staff", **WHO)
        for name, pool in (("people", Pool.PLANS), ("staff", Pool.QUESTIONS)):
            release_job(Count(name=name, fixed_in_advance=True), Account(ledger=ledger, population=name))
            lines = {line.pool: float(line.spent.parts()[0]) for line in ledger.budget(name).accounts}
            assert {each for each, cost in lines.items() if cost} == {pool}


def test_nobody_follows_a_job_unless_somebody_asks() -> None:
    no_progress("reading")  # says nothing, and does nothing


# ---------------------------------------------------------------- there is no other door


def charges(source: str) -> list[str]:
    """Where a ledger is charged: calls of its reserve, store and fail, and imports of what they take and give."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr in {"reserve", "store", "fail"}:
            owner = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
            if "ledger" in owner.lower():
                found.append(f"{owner}.{node.attr}")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hubbub.ledger"):
            found += [alias.name for alias in node.names if alias.name in {"Request", "Reservation", "Stored"}]
    return found


def test_nothing_else_charges_a_ledger() -> None:
    outside = [path for path in SRC.rglob("*.py") if path.relative_to(SRC).parts[0] != "ledger"]
    assert len(outside) > 500
    assert {str(path.relative_to(SRC)) for path in outside if charges(path.read_text(encoding="utf-8"))} == {
        "releases/door.py"
    }


def test_a_second_door_would_be_noticed() -> None:
    assert charges("payer.ledger.reserve(x)")
    assert charges("def f(ledger):\n    return ledger.store(a, b)")
    assert charges("from hubbub.ledger import Account, Reservation")
    assert not charges("store.reserve(5)\nfrom hubbub.ledger import Account")
