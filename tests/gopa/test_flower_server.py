"""A Flower server that lies: about the stage, about who is there, about which run it is. Flower itself is played."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hubbub import Budget
from hubbub.gopa.average import people_for_plan
from hubbub.gopa.in_process import People
from hubbub.gopa.network import flower_client
from hubbub.gopa.network.flower_client import _Client, _Limits, _train_update
from hubbub.gopa.network.flower_server import Workflow
from hubbub.gopa.protocol import board, verifier
from hubbub.gopa.protocol.board import Post, Shut
from hubbub.gopa.protocol.consent import Consent
from hubbub.gopa.protocol.public_state import PublicState
from hubbub.gopa.quantities.bounded_vectors import Gradient
from hubbub.ledger import Account, Ledger
from hubbub.terms import BeyondConsent, BudgetExceeded, Unreachable

OF = Gradient(1, norm=1)
Name = Callable[[str], str]


@pytest.fixture(autouse=True)
def played(monkeypatch: pytest.MonkeyPatch) -> None:
    """As much of Flower as a client needs."""
    pieces = flower_client.Flower(SimpleNamespace(ConfigRecord=dict), None, None)
    monkeypatch.setattr(flower_client, "require_flower", lambda: pieces)


def context() -> Any:
    return SimpleNamespace(state=SimpleNamespace(config_records={}))


def invited(count: int = 5) -> People:
    return people_for_plan(OF.plan(count, epsilon=20, delta=1e-2, honest=0.8, dropouts=0), OF)


def clients(who: People, **more: Any) -> list[_Client]:
    known = {one.name: one.key for one in who.agreement.roster} | more.pop("others", {})
    consent = Consent(epsilon=Fraction(20), delta=Fraction(1, 100), honest=Fraction(4, 5), roster=known)
    account = more.pop("account", None)
    limits = _Limits(consent, norm=1, **more)
    return [
        _Client(one, limits, context(), account if place == 0 else None) for place, one in enumerate(who.identities)
    ]


def served(
    who: People, crowd: Sequence[_Client], named: Name = lambda phase: phase, until: str = ""
) -> tuple[PublicState, dict[str, bytes]]:
    """A round as the server would run it, under the names that it gives to stages; and what the first client said."""
    log, state = board.open_board(who.agreement, who.board), verifier.start(who.agreement)
    fresh: Sequence[bytes] = ()
    said: dict[str, bytes] = {}
    while not state.over and state.phase != until:
        asked: dict[str, Any] = {"stage": named(state.phase), "lines": list(fresh)}
        if state.phase == "join":
            asked["agreement"] = who.agreement.text()
        for client in crowd:
            line = client.answer(asked, lambda: [0.5])["line"]
            if client is crowd[0]:
                said[state.phase] = line
            log, _ = board.step(log, Post(line))
        log, _ = board.step(log, Shut())
        fresh, state = log.chapters[-1], verifier.step(state, log.chapters[-1])
    return state, said


@pytest.mark.parametrize("named", [lambda phase: phase, lambda _: "confirm", lambda _: "member", lambda _: "join"])
def test_a_reveal_is_charged_whatever_the_server_calls_its_stage(named: Name, tmp_path: Path) -> None:
    who = invited()
    with Ledger(tmp_path / "book.db", state=tmp_path / "state") as ledger:
        ledger.open_population("me", Budget(900, 0.9), neighbours="replace", by="me", why="training")
        crowd = clients(who, account=lambda _: Account(ledger=ledger, population="me"))
        state, _ = served(who, crowd, named)
        assert state.result is not None
        charges = [entry for entry in ledger.log() if entry.fields()["kind"] == "charge"]
        assert len(charges) == 1


def test_a_client_that_cannot_pay_does_not_reveal_under_any_name(tmp_path: Path) -> None:
    who = invited()
    with Ledger(tmp_path / "book.db", state=tmp_path / "state") as ledger:
        ledger.open_population("me", Budget(1, 1e-6), neighbours="replace", by="me", why="little")
        crowd = clients(who, account=lambda _: Account(ledger=ledger, population="me"))
        with pytest.raises(BudgetExceeded):
            served(who, crowd, lambda _: "confirm")
        kept = crowd[0].context.state.config_records[flower_client.RECORD]
        assert not any(b'"phase":"reveal"' in record for record in kept["records"])


def test_a_part_of_the_registered_may_be_all_who_work_with_the_server() -> None:
    """Five of fifteen: if three of the fifteen are corrupted, three of the five may be, and delta is another one."""
    who = invited()
    others = {one.name.replace("p", "q"): one.key for one in invited(10).agreement.roster}
    (client, *_) = clients(who, others=others)
    with pytest.raises(BeyondConsent, match="3 of the 15 known may work against them"):
        client.answer({"stage": "join", "lines": [], "agreement": who.agreement.text()}, lambda: pytest.fail("trained"))
    everybody: Mapping[str, bytes] = others | {one.name: one.key for one in who.agreement.roster}
    workflow = Workflow(norm=1, epsilon=20, delta=1e-2, honest=0.8, dropouts=0, known=everybody)
    made = workflow._agreement(list(invited(8).agreement.roster), 1, 1, 1)
    assert made.plan.corrupted == 3 and made.plan.parties == 8
    with pytest.raises(Unreachable, match="3 of the 15 known"):
        workflow._agreement(list(who.agreement.roster)[:4], 1, 1, 1)


def test_the_same_proposal_again_gives_the_same_bytes_and_trains_once() -> None:
    who = invited()
    (client, *_) = clients(who)
    asked = {"stage": "join", "lines": [], "agreement": who.agreement.text()}
    first = client.answer(asked, lambda: [0.5])
    assert client.answer(asked, lambda: pytest.fail("trained twice")) == first


def test_a_run_that_a_client_left_is_not_begun_again_with_other_secrets() -> None:
    who, other = invited(), invited()
    crowd = clients(who, others={one.name: one.key for one in who.agreement.roster})
    served(who, crowd, until="share")
    loose = _Limits(Consent(), norm=1)
    turned = _Client(other.identities[0], loose, crowd[0].context, None)
    turned.answer({"lines": [], "agreement": other.agreement.text()}, lambda: [0.5])
    back = _Client(who.identities[0], loose, crowd[0].context, None)
    with pytest.raises(BeyondConsent, match="has left run"):
        back.answer({"lines": [], "agreement": who.agreement.text()}, lambda: pytest.fail("trained"))


def test_a_client_counts_its_rounds_itself() -> None:
    who, again = invited(), invited()
    crowd = clients(who, rounds=1)
    assert served(who, crowd)[0].result is not None
    more = _Client(again.identities[0], _Limits(Consent(), norm=1, rounds=1), crowd[0].context, None)
    with pytest.raises(BeyondConsent, match="revealed in 1 rounds"):
        more.answer({"lines": [], "agreement": again.agreement.text()}, lambda: pytest.fail("trained"))


def test_news_without_a_run_are_refused_and_a_question_who_it_is_is_answered() -> None:
    who = invited()
    (client, *_) = clients(who)
    assert client.answer({"stage": "reveal"}, lambda: []) == {"name": "p0", "key": who.agreement.roster[0].key}
    with pytest.raises(BeyondConsent, match="agreed to no run"):
        client.answer({"stage": "reveal", "lines": [b"x"]}, lambda: [])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_training_that_diverged_moves_nothing_and_fails_like_no_other(bad: float, monkeypatch: Any) -> None:
    models = {"before": [np.zeros(2)], "after": [np.array([1.0, bad])]}
    compat = SimpleNamespace(
        recorddict_to_fitins=lambda content, _: SimpleNamespace(parameters="before"),
        recorddict_to_fitres=lambda content, _: SimpleNamespace(parameters="after"),
    )
    common = SimpleNamespace(parameters_to_ndarrays=models.__getitem__)
    monkeypatch.setattr(flower_client, "require_flower", lambda: flower_client.Flower(None, common, compat))
    message = SimpleNamespace(content=SimpleNamespace(config_records={flower_client.RECORD: {}}))
    assert _train_update(lambda *_: message, message, None) == [0.0, 0.0]
