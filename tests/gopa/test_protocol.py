"""Runs as they should be: sums, dropouts at every phase, crashes, vectors, certificates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from hubbub.gopa import Sensitivity
from hubbub.gopa.in_process import People, RunResult, people
from hubbub.gopa.network.board_link import HttpLink
from hubbub.gopa.network.board_server import Keeper
from hubbub.gopa.network.party_log import Diary
from hubbub.gopa.network.party_runner import Host
from hubbub.gopa.protocol import board, certificate, party, public_state, verifier
from hubbub.gopa.protocol.agreement import Agreement, Quantity
from hubbub.gopa.protocol.faults import Fault
from hubbub.gopa.protocol.identities import Identity
from hubbub.gopa.protocol.phases.input_proofs import prove_inputs
from hubbub.gopa.protocol.public_state import Inputs
from hubbub.gopa.protocol.wire import PHASES
from hubbub.terms import LedgerDamaged, MissingParameter, Neighbours, OutOfRange, RequestChanged, Unreadable
from tests.gopa.cast import cast, run, small, values

PHASES_TO_DROP = [*PHASES, "repair-1"]


@pytest.fixture
def lenient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any crowd is private enough: for graphs that are sparse for so few people, and for vectors."""
    enough = public_state._achieved_privacy(small(), 7, 7)
    assert enough.enough
    monkeypatch.setattr(public_state, "_achieved_privacy", lambda *_: enough)


@pytest.fixture(scope="module")
def plain() -> RunResult:
    """A run in which everybody stays to the end."""
    return run(cast(), values())


@pytest.fixture(scope="module")
def lossy() -> RunResult:
    """A run in which one party is gone before it reveals."""
    return run(cast(), values(), drops={6: "reveal"})


def noises(told: RunResult, place: int) -> tuple[int, ...]:
    """What a party added as noise, from its own secrets."""
    after_nonces = next(state for state in told.states if state.phase == "share")
    return prove_inputs(told.parties[place].secrets, after_nonces, None).openings.noises


def truth(told: RunResult, given: list[list[int]]) -> tuple[int, ...]:
    assert told.public.result is not None
    members = told.public.result.parties
    rows = [[v + e for v, e in zip(given[p], noises(told, p), strict=True)] for p in members]
    return tuple(map(sum, zip(*rows, strict=True)))


def test_the_sum_is_that_of_all_values_and_noises(plain: RunResult) -> None:
    assert plain.public.result is not None
    assert plain.public.result.totals == truth(plain, values())
    assert plain.public.named == () and plain.public.strays == () and plain.refusals == ()


def test_the_mean_is_the_sum_less_the_expected_noise_on_the_range() -> None:
    who = cast(quantity=Quantity(lower=Fraction(-1), upper=Fraction(3)))
    told = run(who, values())
    agreed, (total,) = who.agreement.plan, truth(told, values())
    noise = Fraction(7 * agreed.noise_bits, 2)
    assert told.certificate.means == (-1 + 4 * (total - noise) / (agreed.steps * 7),)


@pytest.mark.usefixtures("lenient")
@pytest.mark.parametrize("picks", [5, 6])
@pytest.mark.parametrize("phase", PHASES_TO_DROP)
def test_two_dropouts_in_any_phase_leave_the_exact_sum_of_the_others(phase: str, picks: int) -> None:
    told = run(cast(planned=small(picks=picks)), values(), drops={2: phase, 5: phase})
    assert told.public.result is not None, told.public.abort
    kept = {"confirm", "repair-1"}  # they have revealed; the others take their masks off
    assert set(told.public.result.parties) == set(range(7)) - (set() if phase in kept else {2, 5})
    assert told.public.result.totals == truth(told, values())
    assert all(one.party in {2, 5} for one in told.public.named)


def test_dropouts_that_share_an_edge_and_leave_at_different_times_are_repaired() -> None:
    """The edge of a party that never revealed with one that died right after: neither can be asked any more."""
    told = run(cast(), values(), drops={0: "reveal", 1: "repair-1"})
    assert told.public.result is not None
    assert told.public.result.parties == (1, 2, 3, 4, 5, 6)
    assert told.public.result.totals == truth(told, values())


@pytest.mark.parametrize("phase", [*PHASES[:4], "reveal"])
def test_one_dropout_too_many_ends_the_run_without_a_result(phase: str) -> None:
    told = run(cast(), values(), drops=dict.fromkeys((0, 1, 2), phase))
    assert told.public.result is None and told.public.abort is not None
    assert told.public.abort.fault is Fault.TOO_FEW
    assert told.certificate.means == ()


@pytest.mark.parametrize("phase", ["cut", "confirm"])
def test_without_a_quorum_nothing_is_revealed_or_repaired(phase: str) -> None:
    told = run(cast(), values(), drops=dict.fromkeys((0, 1, 2), phase))
    assert told.public.abort is not None and told.public.abort.fault is Fault.NO_QUORUM
    assert all(told.public.phase == phase for _ in told.parties)
    following = "reveal" if phase == "cut" else "repair-1"
    assert all(following not in one.sent for one in told.parties)


def test_too_few_shares_in_the_repair_end_the_run() -> None:
    told = run(cast(), values(), drops=dict.fromkeys(range(5), "repair-1"))
    assert told.public.abort is not None and told.public.abort.fault is Fault.STUCK


def test_nobody_signs_a_cut_whose_privacy_is_weaker_than_agreed() -> None:
    weak = replace(small(), noise_bits=1)
    told = run(cast(planned=weak), values())
    assert told.public.abort is not None and told.public.abort.fault is Fault.NOT_PRIVATE
    assert all("cut" not in one.sent for one in told.parties)


# ---------------------------------------------------------------- what is averaged


def vectors(kind: str, width: int, steps: int, **quantity: bool) -> People:
    made = small()
    made = replace(made, steps=steps, sensitivity=Sensitivity(kind, width))  # type: ignore[arg-type]
    return people(7, planned=made, quantity=Quantity(coordinates=width, **quantity))


@pytest.mark.usefixtures("lenient")
@pytest.mark.parametrize(
    ("who", "given"),
    [
        (vectors("range", 3, 3), [[p % 4, (p + 1) % 4, 3 - p % 4] for p in range(7)]),
        (vectors("one-hot", 3, 1, one_hot=True), [[int(c == p % 3) for c in range(3)] for p in range(7)]),
        (vectors("norm", 2, 6, ball=True), [[3 + p % 2, 3 - p % 3] for p in range(7)]),
    ],
    ids=["vector", "one-hot", "ball"],
)
def test_vectors_are_summed_coordinate_by_coordinate(who: People, given: list[list[int]]) -> None:
    told = run(who, given, drops={1: "reveal"})
    assert told.public.result is not None, (told.public.abort, told.public.named)
    assert told.public.result.totals == truth(told, given)
    assert certificate.verify(told.log).means == told.certificate.means


def test_a_second_run_proves_that_the_inputs_are_those_of_the_first(plain: RunResult) -> None:
    first = plain
    share_state = next(state for state in first.states if state.phase == "share")
    blinders = [party.input_blinders(one, share_state) for one in first.parties]
    again = replace_people(first, previous=first.public.agreement.run)
    earlier = first.certificate.inputs
    second = run(again, values(), earlier=earlier, blinders=blinders)
    assert second.public.result is not None and second.public.named == ()
    other = [[(value + 1) % 4] if place == 3 else [value] for place, (value,) in enumerate(values())]
    told = run(again, other, earlier=earlier, blinders=blinders)
    assert told.public.result is not None and 3 not in told.public.result.parties
    assert [(one.party, one.fault) for one in told.public.named] == [(3, Fault.BAD_PROOF)]


def test_who_had_no_input_before_cannot_have_the_same_one_now(plain: RunResult) -> None:
    """Not even zero, with which a missing commitment could be taken for one."""
    share_state = next(state for state in plain.states if state.phase == "share")
    blinders = [(0,) if one.place == 3 else party.input_blinders(one, share_state) for one in plain.parties]
    known = plain.certificate.inputs
    earlier = replace(known, points={who: points for who, points in known.points.items() if who.name != "p3"})
    zero = [[0] if place == 3 else [value] for place, (value,) in enumerate(values())]
    again = replace_people(plain, previous=plain.public.agreement.run)
    told = run(again, zero, earlier=earlier, blinders=blinders)
    assert [(one.party, one.fault) for one in told.public.named] == [(3, Fault.BAD_PROOF)]
    assert told.public.result is not None and 3 not in told.public.result.parties


def test_a_name_under_another_key_had_no_input_before(plain: RunResult) -> None:
    """It knows the value and the blinder, and is somebody else."""
    share_state = next(state for state in plain.states if state.phase == "share")
    blinders = [party.input_blinders(one, share_state) for one in plain.parties]
    other = Identity.new("p3")
    old = plain.public.agreement
    agreed = replace(old, roster=(*old.roster[:3], other.member, *old.roster[4:]), previous=old.run)
    known = [one.identity for one in plain.parties]
    again = People(agreed, (*known[:3], other, *known[4:]), plain.board.identity)
    told = run(again, values(), earlier=plain.certificate.inputs, blinders=blinders)
    assert [(one.party, one.fault) for one in told.public.named] == [(3, Fault.BAD_PROOF)]


def starts(agreed: Agreement, told: RunResult, folder: Path) -> list[Callable[[Inputs | None], object]]:
    """Everything that begins a run, or a look at one, with inputs of an earlier run."""

    def host(earlier: Inputs | None) -> None:
        with Diary(folder / "diary", agreed) as diary:
            Host(diary, (), HttpLink("http://127.0.0.1:9"), earlier=earlier)

    return [
        lambda earlier: verifier.start(agreed, earlier=earlier),
        lambda earlier: certificate.verify([agreed.text().encode()], earlier=earlier),
        lambda earlier: Keeper(agreed, told.board.identity, folder / "log", earlier=earlier),
        host,
    ]


@pytest.mark.parametrize("way", range(4), ids=["start", "verify", "keeper", "host"])
def test_inputs_count_for_the_run_they_came_from_and_for_no_other(plain: RunResult, tmp_path: Path, way: int) -> None:
    right = plain.certificate.inputs
    agreed = replace_people(plain, previous=right.run).agreement
    begin = starts(agreed, plain, tmp_path)[way]
    with pytest.raises(OutOfRange, match=f"rests on those of run {right.run.hex()[:16]}"):
        begin(replace(right, run=agreed.run))
    with pytest.raises(MissingParameter, match=right.run.hex()[:16]):
        begin(None)
    assert not (tmp_path / "log").exists()
    with pytest.raises(OutOfRange, match="rests on those of none"):
        starts(plain.public.agreement, plain, tmp_path)[way](right)
    assert verifier.start(agreed, earlier=right).earlier is right


def replace_people(told: RunResult, **changes: object) -> People:
    agreed = replace(told.public.agreement, **changes)  # type: ignore[arg-type]
    return People(agreed, tuple(one.identity for one in told.parties), told.board.identity)


# ---------------------------------------------------------------- crashes


@pytest.mark.parametrize("phase", PHASES_TO_DROP)
def test_a_party_that_crashes_in_any_phase_says_the_same_bytes_again(phase: str, lossy: RunResult) -> None:
    before = next(state for state in lossy.states if state.phase == phase)
    for one in lossy.parties[:3]:
        records = [line for line in one.records if not is_of(line, phase)]
        woken = party.resume(one.agreement, one.identity, records)
        _, lines = party.step(woken, before)
        assert lines == ((one.sent[phase],) if phase in one.sent else ())


def is_of(line: bytes, phase: str) -> bool:
    """Whether a record was written in this phase or later."""
    later = [*PHASES, "repair-1", "repair-2", "repair-3"]
    names = later[later.index(phase) :]
    return any(f'"phase":"{name}"'.encode() in line for name in names)


def test_what_was_sent_is_sent_again_without_being_worked_out(plain: RunResult) -> None:
    one = plain.parties[0]
    again, lines = party.step(party.resume(one.agreement, one.identity, one.records[:4]), plain.states[2])
    assert lines == (one.sent["share"],)
    assert again.work is None


def test_another_value_for_the_same_run_is_refused() -> None:
    who = cast()
    one = party.start(who.agreement, who.identities[0], [2])
    assert party.resume(who.agreement, who.identities[0], one.records, values=[2]).secrets == one.secrets
    with pytest.raises(RequestChanged):
        party.resume(who.agreement, who.identities[0], one.records, values=[3])


def test_a_foreign_or_damaged_record_is_refused(plain: RunResult) -> None:
    one, other, foreign = plain.parties[0], cast(), plain.parties[1].sent["join"]
    for records in ([b"{}"], [b"\xff"], [b"7"], [], [*one.records[:1], b"{}"], [*one.records[:1], foreign]):
        with pytest.raises(LedgerDamaged):
            party.resume(one.agreement, one.identity, records)
    with pytest.raises(LedgerDamaged):
        party.resume(other.agreement, other.identities[0], one.records)


def test_a_board_that_crashes_goes_on_from_its_lines(plain: RunResult) -> None:
    lines = plain.log[1:]
    for length in range(0, len(lines), 5):
        woken = board.restore_board(plain.board.agreement, plain.board.identity, lines[:length])
        assert [line for chapter in woken.chapters for line in chapter] + list(woken.posted.all()) == lines[:length]


def test_two_parties_never_draw_the_same_secrets() -> None:
    who = cast()
    made = {party.start(who.agreement, one, [1]).secrets.secret for one in who.identities}
    assert len(made) == 7


# ---------------------------------------------------------------- certificates


def test_anybody_gets_the_same_result_from_the_log_alone(lossy: RunResult) -> None:
    read = certificate.verify(b"\n".join(lossy.log) + b"\n")
    assert read.complete and read.means == lossy.certificate.means
    assert read.parties == tuple(f"p{place}" for place in range(6))
    assert read.named[0][0] == "p6" and read.head == lossy.public.head
    assert read.achieved.enough


def test_a_log_that_was_touched_anywhere_has_no_result(plain: RunResult) -> None:
    log = plain.log
    for place in range(1, len(log), 7):
        changed = [*log]
        swap = b"B" if chr(log[place][-20]) == "A" else b"A"
        changed[place] = log[place][:-20] + swap + log[place][-19:]
        assert not certificate.verify(changed).complete, place
        assert not certificate.verify(log[:place] + log[place + 1 :]).complete
    assert not certificate.verify(log[:-2]).complete


def test_a_log_under_other_parameters_is_another_run(plain: RunResult) -> None:
    log = plain.log
    agreed = Agreement.read(log[0].decode())
    other = replace(agreed, plan=replace(agreed.plan, epsilon=Fraction(1)))
    assert certificate.verify([other.text().encode(), *log[1:]]).abort is not None


def test_an_agreement_has_one_spelling() -> None:
    text = cast().agreement.text()
    assert Agreement.read(text).text() == text
    for broken in (text + " ", text.replace('"title"', '"Title"'), text[:-1], "[]", "{}", "7"):
        with pytest.raises(Unreadable):
            Agreement.read(broken)


def test_an_agreement_that_cannot_be_safe_is_refused() -> None:
    who = cast()
    agreed, made = who.agreement, who.agreement.plan
    for wrong in (
        replace(made, quorum=(made.parties + made.corrupted) // 2),
        replace(made, survivors=made.quorum - 1),
        replace(made, noise_bits=0),
        replace(made, parties=8),
        replace(made, share_threshold=Fraction(1)),
    ):
        with pytest.raises(OutOfRange):
            replace(agreed, plan=wrong)
    with pytest.raises(OutOfRange):
        replace(agreed, quantity=Quantity(coordinates=2))  # noise for one coordinate
    for roster in ((*agreed.roster[:-1], agreed.roster[0]), ()):
        with pytest.raises(ValueError):
            replace(agreed, roster=roster)


def test_a_part_in_a_run_costs_its_epsilon_and_delta_for_replacing_one_unit() -> None:
    agreed = cast().agreement
    assert (agreed.event.epsilon, agreed.event.delta) == (agreed.plan.epsilon, agreed.plan.delta)
    assert agreed.event.neighbours is Neighbours.REPLACE
