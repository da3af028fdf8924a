"""Hosts and a board in one process: runs, crashes, and what is on disk when."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from fractions import Fraction
from pathlib import Path

import pytest

from hubbub import Budget
from hubbub.durable.journal import Journal
from hubbub.gopa import verify
from hubbub.gopa.in_process import People
from hubbub.gopa.network.board_server import Keeper
from hubbub.gopa.network.party_log import Before, Diary, earlier_input
from hubbub.gopa.network.party_runner import RunOutcome
from hubbub.gopa.network.reveal_charge import charge_from
from hubbub.gopa.protocol import board, certificate, verifier
from hubbub.gopa.protocol.agreement import Quantity
from hubbub.gopa.protocol.board import Reply
from hubbub.gopa.protocol.faults import Fault
from hubbub.gopa.protocol.party import input_blinders
from hubbub.gopa.protocol.phase_clock import Clock, expected_speakers
from hubbub.gopa.protocol.public_state import PublicState
from hubbub.gopa.protocol.wire import PHASES, parse_message
from hubbub.gopa.quantities.grid import are_rounded_from, round_to_steps
from hubbub.ledger import Account, Ledger
from hubbub.terms import (
    BudgetExceeded,
    LedgerDamaged,
    MissingParameter,
    OutOfRange,
    RequestChanged,
    SourceUnavailable,
    WrongShape,
)
from tests.gopa.cast import cast, run, values
from tests.gopa.hosted import SLOW, Killed, Mortal, Recorder, hosted, kept, together


@pytest.fixture
def who() -> People:
    return cast()


def test_hosts_and_board_agree_on_the_result_and_the_log_on_disk_proves_it(who: People, tmp_path: Path) -> None:
    outcomes = asyncio.run(together(who, tmp_path, [[0, 1, 2], [3, 4], [5], [6]]))
    found = verify((tmp_path / "run.log").read_bytes())
    assert found.complete and len(found.parties) == 7
    assert {outcome.public.result for outcome in outcomes} == {found.state.result}
    assert all(outcome.refusals == () for outcome in outcomes)
    assert all(party.stopped is None for outcome in outcomes for party in outcome.parties)


def test_silent_parties_are_given_up_when_enough_have_spoken(who: People, tmp_path: Path) -> None:
    impatient = Clock(joining=0.5, deadline=60, patience=60)
    outcomes = asyncio.run(together(who, tmp_path, [[0, 1, 2], [3, 4]], impatient))
    assert outcomes[0].certificate.complete
    assert {name for name, _ in outcomes[0].certificate.named} == {"p5", "p6"}


def test_too_few_who_join_end_the_run_without_a_result(who: People, tmp_path: Path) -> None:
    (outcome,) = asyncio.run(together(who, tmp_path, [[0, 1]], Clock(joining=0.3)))
    assert outcome.public.abort is not None
    assert outcome.public.abort.fault is Fault.TOO_FEW
    assert all(party.stopped == outcome.public.abort for party in outcome.parties)


# ---------------------------------------------------------------- crashes


async def _dying(
    who: People, folder: Path, after: bool
) -> tuple[list[RunOutcome], dict[int, tuple[Recorder, Recorder]]]:
    """Each party but the last dies in another phase, and is started again."""
    links: dict[int, tuple[Recorder, Recorder]] = {}

    async def one(place: int, keeper: Keeper) -> RunOutcome:
        if place == 6:
            return await hosted(who, folder, [place], keeper)
        phase = PHASES[place]
        links[place] = Mortal(keeper, phase, after=after), Recorder(keeper)
        with pytest.raises(Killed):
            await hosted(who, folder, [place], links[place][0])
        return await hosted(who, folder, [place], links[place][1])

    async with kept(who, folder) as keeper:
        return list(await asyncio.gather(*(one(place, keeper) for place in range(7)))), links


@pytest.mark.parametrize("after", [False, True])
def test_a_party_that_dies_in_any_phase_goes_on_with_the_very_same_bytes(
    who: People, tmp_path: Path, after: bool
) -> None:
    outcomes, links = asyncio.run(_dying(who, tmp_path, after))
    found = verify((tmp_path / "run.log").read_bytes())
    assert found.complete and len(found.parties) == 7
    assert found.named == ()  # nobody signed two different messages for one phase
    for place, (first, second) in links.items():
        said = {parse_message(who.agreement, line).phase: line for line in first.posted}
        again = {parse_message(who.agreement, line).phase: line for line in second.posted}
        assert all(again[phase] == said[phase] for phase in again.keys() & said.keys())
        assert after or again.keys() & said.keys() == {PHASES[place]}
        assert {reply.fault for reply in outcomes[place].refusals} <= {Fault.WRONG_PHASE}  # it was closed meanwhile


def test_a_party_that_forgot_its_diary_would_be_caught_with_two_messages(who: People, tmp_path: Path) -> None:
    """The twin of the test above: without the diary the same crash is an equivocation."""

    async def scenario() -> RunOutcome:
        async with kept(who, tmp_path) as keeper:
            with pytest.raises(Killed):
                await hosted(who, tmp_path, [0], Mortal(keeper, "join", after=True))
            (tmp_path / "0.diary").unlink()
            rest = hosted(who, tmp_path, list(range(1, 7)), keeper)
            return (await asyncio.gather(hosted(who, tmp_path, [0], keeper), rest))[1]

    outcome = asyncio.run(scenario())
    assert [(name, one.fault) for name, one in outcome.certificate.named] == [("p0", Fault.EQUIVOCATION)]
    assert outcome.certificate.complete


def test_secret_and_value_are_on_disk_before_the_first_message_leaves(who: People, tmp_path: Path) -> None:
    class Looking(Recorder):
        async def post(self, lines: Sequence[bytes]) -> list[board.Reply]:
            kept = (tmp_path / "0.diary").read_bytes().split(b"\n")
            assert all(b"p0 " + line in kept for line in lines)
            assert "secret" in json.loads(kept[0].partition(b" ")[2])
            return await super().post(lines)

    async def scenario() -> Recorder:
        async with kept(who, tmp_path) as keeper:
            link = Looking(keeper)
            await asyncio.gather(hosted(who, tmp_path, [0], link), hosted(who, tmp_path, list(range(1, 7)), keeper))
            return link

    assert len(asyncio.run(scenario()).posted) == len(PHASES) + 1
    assert stat.S_IMODE((tmp_path / "0.diary").stat().st_mode) == 0o600


def test_a_board_that_is_killed_goes_on_from_its_log(who: People, tmp_path: Path) -> None:
    async def scenario() -> None:
        crowd = [asyncio.create_task(hosted(who, tmp_path, [place], link)) for place in range(7)]
        for _ in range(4):
            with Keeper(who.agreement, who.board, tmp_path / "run.log", clock=SLOW) as keeper:
                link.link = keeper
                running = asyncio.create_task(keeper.run())
                await asyncio.sleep(0.4)
                running.cancel()
                link.link = Down()
        async with kept(who, tmp_path) as keeper:
            link.link = keeper
            await asyncio.gather(*crowd)

    link = Patient()
    asyncio.run(scenario())
    found = verify((tmp_path / "run.log").read_bytes())
    assert found.complete and found.named == () and len(found.parties) == 7


class Down:
    """A board that is not there."""

    async def post(self, lines: object) -> list[board.Reply]:
        raise ConnectionError

    async def read(self, height: int, *, wait: float = 0.0) -> list[bytes]:
        raise ConnectionError


class Patient(Recorder):
    """A link that asks again while nobody answers, as the one over HTTP does."""

    def __init__(self) -> None:
        super().__init__(Down())

    async def post(self, lines: Sequence[bytes]) -> list[board.Reply]:
        while True:
            try:
                return await asyncio.wait_for(self.link.post(lines), 5)
            except (ConnectionError, TimeoutError, SourceUnavailable, OSError):
                await asyncio.sleep(0.02)

    async def read(self, height: int, *, wait: float = 0.0) -> list[bytes]:
        while True:
            try:
                return await self.link.read(height, wait=min(wait, 0.2))
            except ConnectionError:
                await asyncio.sleep(0.02)


# ---------------------------------------------------------------- the board's file


def _some_log(who: People, folder: Path) -> Path:
    path = folder / "run.log"
    lines = run(who, values()).log
    path.write_bytes(b"".join(line + b"\n" for line in lines[:20]))
    return path


def test_a_line_that_was_cut_off_by_a_crash_is_taken_away(who: People, tmp_path: Path) -> None:
    path = _some_log(who, tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"body":{"nonce":"abc')

    async def height() -> tuple[str, int]:
        with Keeper(who.agreement, who.board, path) as keeper:
            return keeper.standing.phase, keeper.standing.posted

    assert asyncio.run(height()) == ("share", 3)
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.replace(b'"party":3', b'"party":4', 1),
        lambda data: data[:-2] + b"\n",
        lambda data: data.split(b"\n", 1)[1],
        lambda data: data + b"nonsense\n",
    ],
    ids=["a name", "a sign", "no agreement", "a line"],
)
def test_a_log_that_somebody_changed_is_refused_by_its_board(
    who: People, tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    path = _some_log(who, tmp_path)
    path.write_bytes(change(path.read_bytes()))

    async def opened() -> None:
        with pytest.raises(LedgerDamaged):
            Keeper(who.agreement, who.board, path)

    asyncio.run(opened())


def test_the_log_of_another_run_and_a_board_with_another_key_are_refused(who: People, tmp_path: Path) -> None:
    path = _some_log(who, tmp_path)
    other = cast()

    async def opened() -> None:
        with pytest.raises(LedgerDamaged):
            Keeper(other.agreement, other.board, path)
        with pytest.raises(OutOfRange):
            Keeper(who.agreement, other.board, tmp_path / "new.log")

    asyncio.run(opened())
    assert not (tmp_path / "new.log").exists()


class Endless:
    """A board whose open phase never ends."""

    def __init__(self, length: int) -> None:
        self.given, self._line = 0, b"x" * length

    async def post(self, lines: Sequence[bytes]) -> list[Reply]:
        return [Reply(line) for line in lines]

    async def read(self, height: int, *, wait: float = 0.0) -> list[bytes]:
        self.given += 1
        return [self._line]


@pytest.mark.parametrize(("length", "most"), [(1, 15), (1 << 20, 1)])
def test_a_phase_with_more_lines_or_bytes_than_its_parties_could_send_is_no_log(
    who: People, tmp_path: Path, length: int, most: int
) -> None:
    """Two messages of each of seven parties, each of the length that the phase allows."""
    endless = Endless(length)
    with pytest.raises(SourceUnavailable, match="more for a phase"):
        asyncio.run(asyncio.wait_for(hosted(who, tmp_path, [0], endless), 60))
    assert endless.given == most


def test_one_file_has_one_writer(tmp_path: Path) -> None:
    with Journal(tmp_path / "a") as first:
        first.append([b"one"])
        with pytest.raises(SourceUnavailable, match="another process"):
            Journal(tmp_path / "a")
    with Journal(tmp_path / "a") as again:
        assert again.lines == [b"one"]


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    with Journal(tmp_path / "a") as journal:
        journal.append([b"one"])
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(SourceUnavailable, match="no space left"):
                journal.append([b"two"])
        journal.append([b"three"])
    assert (tmp_path / "a").read_bytes() == b"one\nthree\n"
    with pytest.raises(SourceUnavailable):
        Journal(tmp_path / "no folder" / "a")


def test_a_journal_is_closed_when_the_last_line_is_written_and_not_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that another thread still syncs stays locked: whoever opened it then would be turned away."""
    syncing, go, really = threading.Event(), threading.Event(), os.fsync

    def slow(file: int) -> None:
        syncing.set()
        go.wait(30)
        really(file)

    journal = Journal(tmp_path / "a")
    monkeypatch.setattr(os, "fsync", slow)
    with ThreadPoolExecutor(2) as pool:
        writing = pool.submit(journal.append, [b"one"])
        assert syncing.wait(30)
        closing = pool.submit(journal.close)
        assert not wait([closing], timeout=0.2).done
        go.set()
        writing.result(30)
        closing.result(30)
    with pytest.raises(SourceUnavailable):
        journal.append([b"two"])
    with Journal(tmp_path / "a") as again:
        assert again.lines == [b"one"]


# ---------------------------------------------------------------- the diary


def test_another_value_for_a_run_that_was_begun_is_refused(who: People, tmp_path: Path) -> None:
    ann = who.identities[0]
    with Diary(tmp_path / "d", who.agreement) as diary:
        with pytest.raises(MissingParameter):
            diary.seat(ann)
        begun = diary.seat(ann, [0.4])
    with Diary(tmp_path / "d", who.agreement) as diary:
        assert diary.seat(ann) == begun
        assert diary.seat(ann, [0.4]) == begun  # whichever way it was rounded
        with pytest.raises(RequestChanged):
            diary.seat(ann, [0])  # 0.4 of three steps is one or two


def test_a_diary_of_another_run_is_refused(who: People, tmp_path: Path) -> None:
    ann = who.identities[0]
    with Diary(tmp_path / "d", who.agreement) as diary:
        diary.seat(ann, [0.4])
    other = People(cast(quantity=Quantity(name="other")).agreement, who.identities, who.board)
    roster = tuple(one.member for one in who.identities)
    agreed = type(who.agreement)(roster, other.agreement.board, other.agreement.plan, other.agreement.quantity)
    with Diary(tmp_path / "d", agreed) as diary, pytest.raises(LedgerDamaged):
        diary.seat(ann)


def test_the_input_of_an_earlier_run_is_found_again_in_diary_and_log(who: People, tmp_path: Path) -> None:
    (outcome,) = asyncio.run(together(who, tmp_path, [range(7)]))
    log = (tmp_path / "run.log").read_bytes()
    found = earlier_input(tmp_path / "0.diary", log, who.identities[3])
    one = outcome.parties[3]
    assert found == Before(one.secrets.values, input_blinders(one, _after_nonces(who, log)))


def _after_nonces(who: People, log: bytes) -> PublicState:
    state = verifier.start(who.agreement)
    for chapter in list(certificate.split_phases(log.split(b"\n")[1:]))[:2]:
        state = verifier.step(state, chapter)
    return state


# ---------------------------------------------------------------- numbers, clock, charge


def test_values_are_rounded_without_bias_and_to_a_neighbouring_step(who: People) -> None:
    agreed = who.agreement
    drawn = [round_to_steps(agreed, [Fraction(1, 4)])[0] for _ in range(4000)]  # 3 steps: 0.75 of one
    assert set(drawn) == {0, 1}
    assert abs(sum(drawn) / 4000 - 0.75) < 0.035  # five standard deviations
    assert round_to_steps(agreed, [1]) == (3,) and round_to_steps(agreed, [0]) == (0,)
    assert are_rounded_from(agreed, [Fraction(1, 4)], [1]) and not are_rounded_from(agreed, [Fraction(1, 4)], [2])


def test_values_outside_of_the_range_or_too_many_are_refused_without_showing_them(who: People) -> None:
    with pytest.raises(OutOfRange) as told:
        round_to_steps(who.agreement, [1.2345])
    assert "1.23" not in str(told.value)
    with pytest.raises(WrongShape):
        round_to_steps(who.agreement, [0, 1])


def test_the_clock_waits_for_those_who_can_be_expected() -> None:
    clock = Clock(joining=100, deadline=10, patience=2)
    at = {"open_for": 3.0, "quiet_for": 1.0}
    assert clock.left("join", **at, waiting=1, enough=True) == 97
    assert clock.left("cut", **at, waiting=1, enough=False) == 7
    assert clock.left("cut", **at, waiting=1, enough=True) == 1
    assert clock.left("cut", **at, waiting=0, enough=False) == 0
    with pytest.raises(OutOfRange):
        Clock(patience=0)


@pytest.mark.parametrize("drops", [{}, {6: "reveal"}, {6: "repair-1"}, {2: "share", 5: "confirm"}])
def test_whoever_speaks_in_a_run_was_expected_to_and_nobody_else_was(drops: dict[int, str]) -> None:
    told = run(cast(), values(), drops=drops)
    for state, chapter in zip(told.states, told.board.chapters, strict=True):
        spoke = {parse_message(state.agreement, line).party for line in chapter[:-1]}
        assert spoke <= expected_speakers(state)
        assert expected_speakers(state) - spoke <= drops.keys()


def test_a_reveal_is_charged_before_it_leaves_and_once(who: People, tmp_path: Path) -> None:
    with Ledger(tmp_path / "book.db", state=tmp_path / "state") as ledger:
        ledger.open_population(
            "me", Budget(500, 0.9), plans=Budget(400, 0.8), neighbours="replace", by="me", why="taking part"
        )
        charge = charge_from(Account(ledger=ledger, population="me"), who.agreement, who.identities[0].member)

        class Watched(Mortal):
            async def post(self, lines: Sequence[bytes]) -> list[board.Reply]:
                early = any(f'"phase":"{phase}"'.encode() in line for line in lines for phase in PHASES[:5])
                assert _charges(ledger) == (0 if early else 1)
                return await super().post(lines)

        async def scenario() -> None:
            async with kept(who, tmp_path) as keeper:
                others = asyncio.create_task(hosted(who, tmp_path, list(range(1, 7)), keeper))
                with pytest.raises(Killed):
                    await hosted(who, tmp_path, [0], Watched(keeper, "reveal", after=False), charge=charge)
                await hosted(who, tmp_path, [0], keeper, charge=charge)
                await others

        asyncio.run(scenario())
        assert _charges(ledger) == 1
        told = run(who, values())
        with pytest.raises(RequestChanged):
            charge(told.parties[0], told.public, told.parties[0].sent["reveal"])


def test_a_party_whose_budget_says_no_does_not_reveal_and_the_others_finish(who: People, tmp_path: Path) -> None:
    with Ledger(tmp_path / "book.db", state=tmp_path / "state") as ledger:
        ledger.open_population("me", Budget(1, 1e-6), neighbours="replace", by="me", why="a small budget")
        charge = charge_from(Account(ledger=ledger, population="me"), who.agreement, who.identities[0].member)

        async def scenario() -> list[RunOutcome]:
            async with kept(who, tmp_path, Clock(patience=0.5)) as keeper:
                poor = hosted(who, tmp_path, [0], keeper, charge=charge)
                return list(await asyncio.gather(poor, hosted(who, tmp_path, list(range(1, 7)), keeper)))

        poor, rest = asyncio.run(scenario())
    assert isinstance(poor.unpaid["p0"], BudgetExceeded) and rest.unpaid == {}
    assert rest.certificate.complete and "p0" not in rest.certificate.parties
    assert b'"party":0,"phase":"reveal"' not in (tmp_path / "run.log").read_bytes()


def _charges(ledger: Ledger) -> int:
    return sum(entry.fields()["kind"] == "charge" for entry in ledger.log())
