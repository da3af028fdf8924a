"""A board that hides, forks, closes early, or tells different people different things fools nobody."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import pytest

from hubbub.gopa.in_process import People, RunResult, people
from hubbub.gopa.in_process import run as run_together
from hubbub.gopa.privacy.calibration import plan
from hubbub.gopa.protocol import party, public_state, verifier
from hubbub.gopa.protocol.faults import Fault
from hubbub.gopa.protocol.log_chain import chain_hash, close_line
from hubbub.gopa.protocol.party import Party
from hubbub.gopa.protocol.public_state import PublicState
from hubbub.gopa.protocol.topology import Net
from hubbub.gopa.protocol.wire import pack, sign_message
from tests.gopa.cast import cast, run, small, values


class Liar:
    """A board that shows each of several audiences a log of its own. It has the board's key."""

    def __init__(self, who: People, parties: Sequence[Party] | None = None) -> None:
        self.who = who
        given = zip(who.identities, values(), strict=True)
        self.crowd = list(parties or [party.start(who.agreement, one, value) for one, value in given])
        self.states: dict[str, PublicState] = {"all": verifier.start(who.agreement)}
        self.lines: dict[int, tuple[bytes, ...]] = {}

    def posted(self, audience: str, places: Sequence[int]) -> None:
        """Those people see their audience's log and answer."""
        for place in places:
            self.crowd[place], self.lines[place] = party.step(self.crowd[place], self.states[audience])

    def close(self, audience: str, lines: Sequence[bytes]) -> None:
        state = self.states[audience]
        chain = state.chain
        for line in lines:
            chain = chain_hash(chain, line)
        mark = close_line(self.who.agreement, self.who.board, state.phase, chain)
        self.states[audience] = verifier.step(state, [*lines, mark])

    def said(self, places: Sequence[int]) -> list[bytes]:
        return [line for place in places for line in self.lines[place]]

    def together(self, until: str) -> None:
        """An honest course up to a phase."""
        while self.states["all"].phase != until:
            self.posted("all", range(len(self.crowd)))
            self.close("all", self.said(range(len(self.crowd))))


EVERYBODY = range(7)
VICTIM = 2
OTHERS = [place for place in EVERYBODY if place != VICTIM]


def test_hiding_a_reveal_gets_the_edges_and_never_the_self_mask() -> None:
    """The board has the victim's reveal and lets the others think that it is gone: its edges become public."""
    liar = Liar(cast())
    liar.together("reveal")
    liar.posted("all", EVERYBODY)
    liar.close("all", liar.said(OTHERS))
    for _ in range(4):
        if liar.states["all"].over:
            break
        liar.posted("all", EVERYBODY)
        liar.close("all", liar.said(EVERYBODY))
    told = liar.states["all"]
    assert told.result is not None and VICTIM not in told.result.parties
    assert VICTIM in told.mended.keys  # so the edges are known
    assert VICTIM not in told.mended.seeds and VICTIM not in told.mended.seed_shares
    assert "repair-1" not in liar.crowd[VICTIM].sent and liar.crowd[VICTIM].stopped is not None


def test_a_victim_that_is_told_another_story_gets_no_quorum_for_it() -> None:
    """To the victim: you are among those who revealed, give your seed. To the others: it is gone, give its mask key."""
    liar = Liar(cast())
    liar.together("reveal")
    liar.posted("all", EVERYBODY)
    liar.states["victim"] = liar.states["all"]
    liar.close("all", liar.said(OTHERS))
    liar.close("victim", liar.said(EVERYBODY))
    liar.posted("all", OTHERS)
    liar.posted("victim", [VICTIM])
    liar.close("victim", liar.said([VICTIM]))
    liar.posted("victim", [VICTIM])
    assert liar.lines[VICTIM] == () and "repair-1" not in liar.crowd[VICTIM].sent
    assert liar.states["victim"].abort is not None and liar.states["victim"].abort.fault is Fault.NO_QUORUM


def test_messages_of_the_others_shown_to_the_victim_prove_the_fork() -> None:
    liar = Liar(cast())
    liar.together("reveal")
    liar.posted("all", EVERYBODY)
    liar.states["victim"] = liar.states["all"]
    liar.close("all", liar.said(OTHERS))
    liar.close("victim", liar.said(EVERYBODY))
    liar.posted("all", OTHERS)
    liar.posted("victim", [VICTIM])
    liar.close("victim", liar.said(EVERYBODY))  # a quorum would sign, but of another log
    abort = liar.states["victim"].abort
    assert abort is not None and abort.fault is Fault.FORK
    heads = {liar.states["all"].head, abort.evidence[0], abort.evidence[1]}
    assert len(heads) == 2  # both are signed by the board, for one and the same close


@pytest.mark.parametrize("phase", ["join", "nonce", "share", "complain", "cut", "reveal", "confirm"])
def test_two_logs_split_the_parties_and_at_most_one_half_goes_on(phase: str) -> None:
    """From one phase on the board shows the last three people a log without the first party's message."""
    liar = Liar(cast())
    liar.together(phase)
    liar.posted("all", EVERYBODY)
    liar.states["other"] = liar.states["all"]
    liar.close("all", liar.said(EVERYBODY))
    liar.close("other", liar.said(range(1, 7)))
    halves: Mapping[str, Sequence[int]] = {"all": range(4), "other": range(4, 7)}
    for _ in range(12):
        for audience, places in halves.items():
            if not liar.states[audience].over:
                liar.posted(audience, places)
                liar.close(audience, liar.said(places))
    results = {state.result.totals for state in liar.states.values() if state.result is not None}
    if phase == "confirm":  # a quorum had signed who revealed before the logs parted: there is one sum to be known
        assert len(results) == 1
    else:
        assert results == set() and not any("repair-1" in one.sent for one in liar.crowd)


def test_at_most_one_of_two_sets_can_have_a_quorum() -> None:
    """Everybody who is corrupted signs both; the honest sign one each."""
    for parties in range(2, 60):
        for corrupted in range(parties - 1):
            quorum = (parties + corrupted) // 2 + 1
            honest = parties - corrupted
            both = [first for first in range(honest + 1) if min(first, honest - first) + corrupted >= quorum]
            assert both == []
            weaker = quorum - 1  # one less, and the two sets could both be signed
            assert honest // 2 + corrupted >= weaker or honest % 2


def test_an_honest_party_signs_one_cut_even_after_a_crash() -> None:
    liar = Liar(cast())
    liar.together("complain")
    liar.posted("all", EVERYBODY)
    liar.states["other"] = liar.states["all"]
    liar.close("all", liar.said(EVERYBODY))
    liar.close("other", liar.said(OTHERS))
    liar.posted("all", [0])
    woken = party.resume(liar.who.agreement, liar.who.identities[0], liar.crowd[0].records)
    again, lines = party.step(woken, liar.states["other"])
    assert lines == () and again.stopped is not None and again.stopped.fault is Fault.FORK
    same, lines = party.step(woken, liar.states["all"])
    assert lines == (liar.crowd[0].sent["cut"],) and same.stopped is None


def test_masks_of_two_logs_have_nothing_in_common() -> None:
    """A party whose record was lost (an old backup) and that is shown another log draws other masks.

    Its statement and proof are about bits that it was bound to before. If the public coins of both logs happen to
    be the same, which few coins often are, both are the same to the letter; with other coins nothing is.
    """
    pairs = [_bodies_for_two_logs() for _ in range(12)]
    shared = [_in_common(*pair) for pair in pairs]
    same = [{name for name in ("statement", "proof") if one[name] == other[name]} for one, other in pairs]
    assert shared == same
    assert set() in shared


def _bodies_for_two_logs() -> list[dict[str, str]]:
    who = cast()
    liar = Liar(who)
    liar.together("nonce")
    liar.posted("all", EVERYBODY)
    liar.states["other"] = liar.states["all"]
    liar.close("all", liar.said(EVERYBODY))
    liar.close("other", liar.said(OTHERS))
    old = party.resume(who.agreement, who.identities[0], liar.crowd[0].records[:2])
    bodies = []
    for audience in ("all", "other"):
        _, lines = party.step(old, liar.states[audience])
        bodies.append(json.loads(lines[0])["body"])
    return bodies


def _in_common(one: dict[str, str], other: dict[str, str]) -> set[str]:
    """Which parts of two lines have a piece of 30 bytes in common."""
    names = ("own", "seed", "edges", "selves", "keys", "sealed", "statement", "proof")
    pieces = {
        name: [{body[name][at : at + 40] for at in range(0, len(body[name]) - 40, 43)} for body in (one, other)]
        for name in names
    }
    return {name for name, (mine, theirs) in pieces.items() if mine & theirs}


def test_early_closes_end_the_run_and_nothing_else() -> None:
    for phase in ("join", "nonce", "share", "complain", "cut", "reveal", "confirm"):
        liar = Liar(cast())
        liar.together(phase)
        liar.posted("all", EVERYBODY)
        liar.close("all", liar.said([0]))
        assert liar.states["all"].abort is not None
        assert liar.states["all"].abort.fault in {Fault.TOO_FEW, Fault.NO_QUORUM}


@pytest.fixture(scope="module")
def told() -> RunResult:
    return run(cast(), values())


def test_a_close_that_does_not_fit_the_log_ends_it(told: RunResult) -> None:
    start, chapter = told.states[0], told.board.chapters[0]
    agreed, key = told.board.agreement, told.board.identity
    wrong = [
        chapter[:-1],
        chapter[1:],
        (chapter[1], chapter[0], *chapter[2:]),
        (*chapter[:-1], told.board.chapters[1][-1]),
        (*chapter[:-1], close_line(agreed, told.parties[0].identity, "join", start.chain)),
        (*chapter[:-1], close_line(agreed, key, "nonce", told.states[1].chain)),
        (),
        (b"",),
    ]
    for lines in wrong:
        state = verifier.step(start, lines)
        assert state.abort is not None and state.abort.fault is Fault.BAD_LOG
    assert verifier.step(start, chapter).abort is None


def test_a_message_with_an_invented_head_is_no_fork(told: RunResult) -> None:
    """Else any party could end a run. Only a head that the board signed proves that the board lied."""
    one, state = told.parties[0], told.states[1]
    body = json.loads(one.sent["nonce"])["body"]
    forged = sign_message(one.agreement, one.identity, "nonce", bytes(96), body)
    after = lied(told, 1, 0, forged)
    assert after.abort is None and after.strays == (Fault.WRONG_HEAD,)
    assert [(n.party, n.fault) for n in after.named] == [(0, Fault.WITHHELD_NONCE)]
    assert state.head != bytes(96)


def lied(told: RunResult, chapter: int, place: int, line: bytes) -> PublicState:
    """The state after a chapter in which one line is another."""
    lines = [*told.board.chapters[chapter][:-1]]
    lines[place] = line
    chain = told.states[chapter].chain
    for entry in lines:
        chain = chain_hash(chain, entry)
    phase = told.states[chapter].phase
    return verifier.step(
        told.states[chapter], [*lines, close_line(told.board.agreement, told.board.identity, phase, chain)]
    )


def test_old_messages_in_a_new_phase_are_passed_over_and_blame_nobody(told: RunResult) -> None:
    after = lied(told, 5, 0, told.parties[0].sent["cut"])
    assert after.strays == (Fault.WRONG_PHASE,)
    assert [(n.party, n.fault) for n in after.named] == [(0, Fault.SILENT)]


def test_a_party_whose_picks_were_dropped_on_purpose_is_not_in_the_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """A board that saw the graph leaves out just the picks of its victim. If it were in, it would refuse by itself."""
    sparse = replace(small(picks=3), share_threshold=Fraction(1, 2), survivors=4, quorum=4, corrupted=0)
    enough = public_state._achieved_privacy(small(), 7, 7)
    monkeypatch.setattr(public_state, "_achieved_privacy", lambda *_: enough)
    monkeypatch.setattr(Net, "core", lambda self, members, least: tuple(members))
    liar = Liar(cast(planned=sparse))
    liar.together("complain")
    picks = liar.states["all"].net.picks[VICTIM]
    liar.posted("all", EVERYBODY)
    before = liar.states["all"]
    said = liar.said([place for place in EVERYBODY if place not in picks[:2]])
    liar.close("all", said)
    victim, lines = party.step(liar.crowd[VICTIM], liar.states["all"])
    assert lines == () and victim.stopped is not None and victim.stopped.fault is Fault.CROWD_TOO_THIN
    monkeypatch.undo()
    monkeypatch.setattr(public_state, "_achieved_privacy", lambda *_: enough)
    liar.states["all"] = before
    liar.close("all", said)
    assert VICTIM not in liar.states["all"].inside


def test_who_has_lost_the_record_of_its_joining_stays_out() -> None:
    liar = Liar(cast())
    liar.together("cut")
    fresh = party.start(liar.who.agreement, liar.who.identities[VICTIM], values()[VICTIM])
    stopped, lines = party.step(fresh, liar.states["all"])
    assert lines == () and stopped.stopped is not None and stopped.stopped.fault is Fault.NOT_INVITED


def test_a_party_that_confirmed_one_set_gives_no_share_for_another() -> None:
    """The request for both: first the seed's share of somebody who revealed, then the mask key's share."""
    liar = Liar(cast())
    liar.together("reveal")
    liar.posted("all", EVERYBODY)
    liar.states["other"] = liar.states["all"]
    liar.close("all", liar.said(EVERYBODY))
    liar.close("other", liar.said(OTHERS))
    liar.posted("all", EVERYBODY)
    liar.close("all", liar.said(EVERYBODY))
    holder, lines = party.step(liar.crowd[0], liar.states["all"])
    assert lines and "repair-1" in holder.sent
    asked = replace(liar.states["other"], phase="repair-1", signers=frozenset(OTHERS))
    refusing, lines = party.step(liar.crowd[0], asked)
    assert lines == () and refusing.stopped is not None and refusing.stopped.fault is Fault.FORK


def test_every_order_of_posts_gives_the_same_members(told: RunResult) -> None:
    lines = told.board.chapters[0][:-1]
    for order in itertools.islice(itertools.permutations(lines), 0, 5040, 1260):
        chain = told.states[0].chain
        for entry in order:
            chain = chain_hash(chain, entry)
        state = verifier.step(
            told.states[0], [*order, close_line(told.board.agreement, told.board.identity, "join", chain)]
        )
        assert state.inside == told.states[1].inside


def test_what_a_message_carries_as_head_is_the_boards_signed_close(told: RunResult) -> None:
    for one in told.parties:
        for chapter, state in enumerate(told.states[1:8], start=1):
            assert f'"head":"{pack(state.head)}"'.encode() in list(one.sent.values())[chapter]


def test_whoever_is_hidden_nobody_is_counted_without_a_crowd(monkeypatch: pytest.MonkeyPatch) -> None:
    """The board hides all neighbours of one party at the reveal: that party is not counted, and the others finish.

    If it were counted, its noise would be counted for a sum that it is not part of.
    """
    planned = plan(1, Fraction(1, 2), 40, 1, 0.4)
    enough = public_state._achieved_privacy(planned, 40, 40)  # so small and sparse a graph would be refused
    monkeypatch.setattr(public_state, "_achieved_privacy", lambda *_: enough)
    sparse = replace(planned, degree=6, share_threshold=Fraction(1, 6))
    who = people(40, planned=sparse)
    hidden: set[int] = set()
    victims: list[int] = []

    def hide(party, public, lines):  # type: ignore[no-untyped-def]
        if public.phase == "reveal" and not victims:
            victims.append(min(public.inside, key=lambda one: len(public.net.around[one])))
            hidden.update(public.net.around[victims[0]])
        return () if party.place in hidden else lines

    told = run_together(who, [[sparse.steps]] * 40, cheats=dict.fromkeys(range(40), hide)).public
    assert victims[0] in told.reveals
    assert victims[0] not in told.revealed
    crowd = set(told.revealed)
    assert all(len(crowd & set(told.net.picks[one])) >= told.threshold for one in crowd)
    assert told.result is not None
    assert told.result.parties == told.revealed


def test_a_core_is_the_largest_part_in_which_nobody_is_thin() -> None:
    net = Net(tuple(range(6)), {0: (1, 2), 1: (0, 2), 2: (0, 1), 3: (0, 1), 4: (3, 5), 5: (4, 0)})
    assert net.core(range(6), 2) == (0, 1, 2, 3, 4, 5)
    assert net.core((0, 1, 2, 3, 4), 2) == (0, 1, 2, 3)
    assert net.core((0, 1, 3, 4, 5), 2) == ()
