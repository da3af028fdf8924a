"""A party's own limits: whatever an agreement, a board or a server says, nothing leaves beyond them."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from hubbub import Budget
from hubbub.gopa import (
    Attempts,
    CertificateSheet,
    Consent,
    Identity,
    Notice,
    Register,
    Sensitivity,
    Subjects,
    average,
    verify,
)
from hubbub.gopa.in_process import People, RunResult, people, run
from hubbub.gopa.network.attempts import graph_failure_chance
from hubbub.gopa.network.party_log import Diary
from hubbub.gopa.network.party_runner import Host
from hubbub.gopa.network.reveal_charge import charge_from, charge_with_consent, line_price, require_affordable
from hubbub.gopa.privacy.calibration import plan
from hubbub.gopa.protocol import party as parties
from hubbub.gopa.protocol.agreement import Agreement, Quantity
from hubbub.gopa.protocol.phase_clock import Clock
from hubbub.gopa.quantities.numbers import BoundedNumber
from hubbub.ledger import Account, Ledger
from hubbub.terms import BeyondConsent, BudgetExceeded, LedgerDamaged, OtherRun, RequestChanged, Unit
from tests.gopa.cast import cast, small, values
from tests.gopa.hosted import kept

PARTS = Sensitivity(share=Fraction(1, 2000))


def parted(count: int = 5) -> People:
    """People who agreed on a run that protects one part of 2,000 of what each has."""
    made = plan(1, 1e-3, count, honest=0.8, dropouts=0, sensitivity=PARTS, steps=2000)
    return people(count, planned=made)


# ---------------------------------------------------------------- consent


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"epsilon": 19}, "epsilon is 20 and at most 19"),
        ({"delta": 0.1}, "delta is 0.2 and at most 0.1"),
        ({"honest": Fraction(4, 7)}, "relies on 5 of 7"),
        ({"run": bytes(32)}, "consented to run 0000"),
        ({"roster": {}}, "7 on its roster are not known"),
    ],
)
def test_an_agreement_beyond_a_consent_is_refused_before_a_secret_is_drawn(
    limits: dict[str, object], words: str
) -> None:
    who = cast()
    with pytest.raises(BeyondConsent, match=words):
        parties.start(who.agreement, who.identities[0], [1], consent=Consent(**limits))  # type: ignore[arg-type]
    everything = Consent(epsilon=20, delta=Fraction(1, 5), honest=Fraction(5, 7), roster=who.agreement.roster)  # type: ignore[arg-type]
    assert parties.start(who.agreement, who.identities[0], [1], consent=everything).sent == {}


def test_a_party_that_said_nothing_of_parts_takes_no_part_in_protecting_one(tmp_path: Path) -> None:
    who = parted()
    with pytest.raises(BeyondConsent, match="parts of 1/2000 of what a party has"):
        parties.start(who.agreement, who.identities[0], [1])
    with Diary(tmp_path / "diary", who.agreement) as diary:
        with pytest.raises(BeyondConsent, match="parts of 1/2000"):
            diary.seat(who.identities[0], [0.5])
        assert diary.records(who.identities[0].name) == ()
        assert diary.seat(who.identities[0], [0.5], consent=Consent(share=Fraction(1, 2000))).sent == {}
        with pytest.raises(BeyondConsent):
            diary.seat(who.identities[0])  # begun, and still no part of it without a word


def test_a_key_under_another_name_is_a_stranger() -> None:
    who = cast()
    swapped = {member.name: who.agreement.roster[place - 1].key for place, member in enumerate(who.agreement.roster)}
    assert Consent(roster=swapped).objections(who.agreement)


def test_the_honest_share_is_that_of_the_roster_which_the_party_knows() -> None:
    """A server that invites 10 of 1,000 may have invited ten that work with it: delta would be near 1, not 1e-6."""
    registered = {f"c{place}": Identity.new(f"c{place}").member.key for place in range(40)}
    invited = people(10, epsilon=8, delta=1e-6, honest=0.8, dropouts=0).agreement
    known = registered | {member.name: member.key for member in invited.roster}
    consent = Consent(honest=0.8, roster=known)  # type: ignore[arg-type]
    assert Consent(honest=0.8, roster=invited.roster).objections(invited) == ()  # type: ignore[arg-type]
    assert consent.objections(invited) == (
        "it relies on 8 of 10 being honest, and 10 of the 50 known may work against them",
    )
    planned = replace(invited.plan, corrupted=10)
    with pytest.raises(ValueError, match="do not fit"):
        replace(invited, plan=planned)  # among ten there is no such plan at all


def test_a_consent_to_an_agreement_is_to_no_other() -> None:
    one, other = cast(), cast()
    assert Consent.to(one.agreement).objections(one.agreement) == ()
    assert Consent.to(one.agreement).objections(other.agreement)


# ---------------------------------------------------------------- what agreement, event and certificate say


def test_the_event_says_whom_it_protects_and_how_many_must_be_honest() -> None:
    whole, part = cast().agreement.event, parted().agreement.event
    assert (whole.unit, part.unit) == (Unit("party"), Unit())
    assert whole.mechanism == "gopa (5 of 7 honest)"
    assert part.mechanism == "gopa (4 of 5 honest, parts of 1/2000)"


def test_a_certificate_says_when_a_party_as_a_whole_is_not_protected() -> None:
    ran = average(
        [[1] * 9, [0] * 9, [1] * 9, [0] * 9], Subjects(BoundedNumber(), most=2000), epsilon=1, delta=1e-3, honest=1
    )
    assert ran.certificate is not None
    assert "not for a party as a whole" in " ".join(str(ran).split()) and ran.to_json()["share"] == "1/2000"
    told = CertificateSheet(ran.certificate)
    assert "A party's value as a whole is NOT protected" in " ".join(str(told).split())
    assert told.to_json()["unit"] == {"protects": "part", "share": "1/2000"}
    whole = CertificateSheet(run(cast(), values()).certificate)
    assert "All that one party has: whatever its value was" in " ".join(str(whole).split())
    assert whole.to_json()["honest"] == {"at_least": 5, "of": 7, "share": 5 / 7}


def test_a_notice_reckons_for_itself() -> None:
    agreed = cast().agreement
    assert Notice(agreed).sound and Notice(agreed).to_json()["unit"] == {"protects": "party", "share": "1"}
    words = " ".join(str(Notice(agreed)).split())
    assert all(member.name in words for member in agreed.roster) and agreed.fingerprint in words
    liar = replace(agreed.plan, noise_bits=2, delta_noise=1e-9, delta_graph=0.0)
    notice = Notice(replace(agreed, plan=liar))
    assert not notice.sound and "does not keep its word" in " ".join(str(notice).split())
    assert "NOT protected" in " ".join(str(Notice(parted().agreement)).split())


# ---------------------------------------------------------------- forged logs


@pytest.fixture(scope="module")
def ran() -> RunResult:
    return run(cast(), values())


def test_a_log_that_somebody_made_up_alone_is_consistent_with_itself_and_passes_no_pin(ran: RunResult) -> None:
    """The forger has all names, all keys and the board: every proof holds, and it is nobody's run."""
    real = ran.board.agreement
    forged = run(cast(), values())
    alone = verify(forged.log)
    assert (
        alone.complete
        and not alone.pinned
        and [m.name for m in alone.agreement.roster] == [member.name for member in real.roster]
    )
    sheet = CertificateSheet(alone)
    assert "self-consistent only" in " ".join(str(sheet).split())
    assert sheet.to_json()["self_consistent_only"] is True and sheet.to_json()["pinned"] == []
    assert alone.agreement.fingerprint != real.fingerprint
    for pin in ({"agreement": real}, {"run": real.run}, {"run": real.run.hex()}, {"roster": real.roster}):
        with pytest.raises(OtherRun):
            verify(forged.log, **pin)  # type: ignore[arg-type]
        right = verify(ran.log, **pin)  # type: ignore[arg-type]
        assert right.complete and right.pins == tuple(pin)
        assert "self-consistent only" not in " ".join(str(CertificateSheet(right)).split())
    with pytest.raises(OtherRun):
        verify(forged.log, run=forged.board.agreement.run, roster=real.roster)  # one pin that fits is not enough


# ---------------------------------------------------------------- graphs that are drawn again


def sparse() -> People:
    """A run whose graph can fail: nine parties that pick five."""
    return people(9, planned=replace(small(9), degree=5, share_threshold=Fraction(3, 5)))


def shown(who: People) -> RunResult:
    return run(who, values(9), drops=dict.fromkeys(range(9), "share"))  # all nonces, and then silence


def test_a_run_that_ends_after_its_graph_counts_until_the_next_reveal() -> None:
    attempts, first, second = Attempts(), sparse(), sparse()
    told = shown(first)
    one = told.parties[0]
    chance = graph_failure_chance(first.agreement, 9)
    assert 0 < chance < first.agreement.plan.delta and "reveal" not in one.sent
    attempts = attempts.after(one, told.states[1], one.sent["nonce"])
    assert attempts.lost(first.agreement) == 0  # it is a part of its own delta
    assert attempts.lost(second.agreement) == chance
    assert attempts.after(one, told.states[1], one.sent["nonce"]) is attempts
    whole = run(second, values(9))
    other = whole.parties[0]
    attempts = attempts.after(other, whole.states[1], other.sent["nonce"])
    attempts = attempts.after(other, whole.states[5], other.sent["reveal"])
    assert attempts.reveals == 1 and attempts.lost(sparse().agreement) == 0
    assert Attempts(attempts.lines) == attempts
    with pytest.raises(LedgerDamaged):
        Attempts((*attempts.lines, "nonsense"))


def test_a_board_that_draws_again_and_again_is_stopped_by_the_consent(tmp_path: Path) -> None:
    register, agreed = Register(tmp_path / "me.attempts"), sparse().agreement
    chance = graph_failure_chance(agreed, 9)
    consent = Consent(delta=agreed.plan.delta + 2 * chance)
    pay = charge_with_consent(consent, register)
    for _ in range(3):
        told = shown(sparse())
        party = told.parties[0]
        pay(party, told.states[1], party.sent["nonce"])
        pay(party, told.states[1], party.sent["nonce"])  # said again after a crash: the same attempt
    with pytest.raises(BeyondConsent, match="for graphs that came to nothing"):
        pay(party := shown(sparse()).parties[0], told.states[1], party.sent["nonce"])
    with pytest.raises(BeyondConsent, match="2 were consented to"):
        register.require(Consent(attempts=2), sparse().agreement)
    assert len(register.read().lines) == 3 and (tmp_path / "me.attempts").stat().st_mode & 0o777 == 0o600


def test_the_ledger_pays_for_each_graph_before_its_nonce_leaves(tmp_path: Path) -> None:
    who = sparse()
    told = shown(who)
    party, at = told.parties[0], told.states[1]
    with Ledger(tmp_path / "book.db", state=tmp_path / "state") as ledger:
        ledger.open_population("me", Budget(500, 0.9), neighbours="replace", by="me", why="taking part")
        account = Account(ledger=ledger, population="me")
        charge = charge_from(account, who.agreement, who.identities[0].member)
        assert charge(party, at, party.sent["join"]) is None
        assert charge(party, at, party.sent["nonce"]) is not None
        due = line_price(party, at, party.sent["nonce"])
        assert due is not None and due[1].delta == graph_failure_chance(who.agreement, 9)
        spent = ledger.budget("me").accounts[0].spent
        charge(party, at, party.sent["nonce"])
        assert ledger.budget("me").accounts[0].spent == spent  # the same line again is free
        again = run(who, values(9), drops=dict.fromkeys(range(9), "share"))
        with pytest.raises(RequestChanged):  # another nonce for the same run: its record was lost
            charge(again.parties[0], again.states[1], again.parties[0].sent["nonce"])
        next_one = shown(sparse())
        charge_from(account, next_one.board.agreement, next_one.parties[0].identity.member)(
            next_one.parties[0], next_one.states[1], next_one.parties[0].sent["nonce"]
        )
        assert ledger.budget("me").accounts[0].spent.delta >= 2 * spent.delta


def test_a_run_whose_graph_cannot_be_paid_for_is_not_joined(tmp_path: Path) -> None:
    agreed, member = sparse().agreement, sparse().agreement.roster[0]
    with Ledger(tmp_path / "book.db", state=tmp_path / "state") as ledger:
        for who, delta in (("me", 0.205), ("you", 0.3)):
            plans = Budget(400, delta)
            ledger.open_population(who, Budget(500, 0.9), plans=plans, neighbours="replace", by=who, why="a round")
        ledger.declare_disjoint("me", "you", by="us", why="two people")
        with pytest.raises(BudgetExceeded):  # the reveal alone would fit: 0.205 is above its delta of 0.2
            require_affordable(Account(ledger=ledger, population="me"), agreed, member)
        require_affordable(Account(ledger=ledger, population="you"), agreed, member)


def test_a_host_lets_nothing_leave_that_its_consent_does_not_cover(tmp_path: Path) -> None:
    """The nonce is stopped, by the party's own record, in a run that the board closes as it likes."""
    who = sparse()
    register = Register(tmp_path / "p0.attempts")
    before = shown(sparse())
    register.note(before.parties[0], before.states[1], before.parties[0].sent["nonce"])
    consent = Consent(delta=who.agreement.plan.delta)

    async def scenario() -> object:
        async with kept(who, tmp_path, Clock(joining=120, deadline=120, patience=5)) as keeper:
            with Diary(tmp_path / "zero", who.agreement) as mine, Diary(tmp_path / "rest", who.agreement) as theirs:
                poor = Host(
                    mine, [mine.seat(who.identities[0], [0])], keeper, charge=charge_with_consent(consent, register)
                )
                rest = Host(theirs, theirs.seats(who.identities[1:], [[1]] * 8), keeper)
                return (await asyncio.gather(poor.run(), rest.run()))[0]

    outcome = asyncio.run(scenario())
    assert isinstance(outcome.unpaid["p0"], BeyondConsent)  # type: ignore[attr-defined]
    log = (tmp_path / "run.log").read_bytes()
    assert b'"party":0,"phase":"join"' in log and b'"party":0,"phase":"nonce"' not in log


# ---------------------------------------------------------------- what 0.1 wrote


def test_agreements_of_version_1_have_the_names_that_they_always_had() -> None:
    """Consents, units and pins changed no byte of an agreement: the hash of a fixed one stays."""
    keys = [hashlib.sha256(bytes([place])).digest() for place in range(6)]
    *roster, board = [Identity(f"p{place}", key).member for place, key in enumerate(keys)]
    made = plan(2, 1e-3, 5, honest=0.8, dropouts=0.2)
    agreed = Agreement(tuple(roster), board.key, made, Quantity("minutes"), "Waiting", salt=bytes(16))
    assert Agreement.read(agreed.text()) == agreed
    assert agreed.run.hex() == "ffc837fee0788fec4e91a474a71cdf7d549daab2ca8361f0f0d7770d7835c11e"
