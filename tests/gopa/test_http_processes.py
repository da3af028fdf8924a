"""Ten parties as ten processes of their own, and a board as another: some are killed, and a few of them come back."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import httpx

from hubbub.gopa import Certificate, Identity, plan, verify
from hubbub.gopa.in_process import People, people
from hubbub.gopa.network.board_link import HttpLink
from hubbub.gopa.network.party_log import Diary
from hubbub.gopa.network.party_runner import Host
from hubbub.gopa.protocol.board import Reply
from hubbub.gopa.protocol.faults import Fault
from hubbub.gopa.protocol.wire import PHASES, parse_message
from hubbub.ledger import Ledger
from hubbub.terms import Budget

PROCESSES, HERE = 10, 4  # parties as processes, and parties in the test's own, by whom it holds the run still
KILLED = {0: "nonce", 1: "cut"}  # for good, after they have spoken in this phase
BACK = {2: "complain", 3: "reveal"}  # killed too, and started again


class Gate:
    """A link on which nothing leaves in a phase before the phase is let through.

    Without the parties behind it fewer have spoken than must survive, so the board waits for them, however long.
    """

    def __init__(self, link: HttpLink) -> None:
        self._link, self._open = link, {phase: asyncio.Event() for phase in (*PHASES, "repair-1", "repair-2")}

    def let(self, phase: str) -> None:
        self._open[phase].set()

    async def post(self, lines: Sequence[bytes]) -> list[Reply]:
        await self._open[json.loads(lines[0])["phase"]].wait()
        return await self._link.post(lines)

    async def read(self, height: int, *, wait: float = 0.0) -> list[bytes]:
        return await self._link.read(height, wait=wait)


@dataclass
class Stage:
    """The processes of a run, in one folder."""

    who: People
    folder: Path
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, name: str, *arguments: str) -> None:
        command = [sys.executable, "-m", "hubbub.cli", "gopa", *arguments]
        with (self.folder / f"{name}.out").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=self.folder, env={**os.environ, "HUBBUB_STATE": "state"}
            )

    def board(self, port: int = 0) -> None:
        waits = ("--joining", "300", "--deadline", "300", "--patience", "1.5", "--linger", "300")
        self.start("board", "board", "a.json", "--key", "board.key", "--log", "run.log", "--port", str(port), *waits)

    def party(self, place: int, url: str, *more: str) -> None:
        self.start(f"p{place}", "party", "a.json", "--board", url, "--key", f"p{place}.key", "--json", *more)

    def kill(self, name: str) -> None:
        self.processes[name].kill()
        assert self.processes.pop(name).wait(30) == -signal.SIGKILL

    def said(self, name: str) -> str:
        return (self.folder / f"{name}.out").read_text()

    def end(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait(30)


async def until(holds: Callable[[], object], stage: Stage) -> object:
    """Wait for something, while no process died of itself."""
    for _ in range(6000):
        if found := holds():
            return found
        assert all(process.poll() in {None, 0} for process in stage.processes.values()), stage.processes
        await asyncio.sleep(0.02)
    raise AssertionError("waited in vain")


def made(folder: Path) -> People:
    agreed = plan(20, 0.2, PROCESSES + HERE, honest=Fraction(11, 14), dropouts=Fraction(3, 14), steps=3)
    who = people(PROCESSES + HERE, planned=agreed)
    assert PROCESSES < agreed.survivors <= PROCESSES + HERE - len(KILLED)
    (folder / "a.json").write_text(who.agreement.text() + "\n")
    for identity in (*who.identities, who.board):
        document = {"hubbub": "gopa-identity/1", "name": identity.name, "secret": identity.secret.hex()}
        (folder / f"{identity.name}.key").write_text(json.dumps(document))
    with Ledger(folder / "book.db", state=folder / "state") as ledger:
        plans = Budget(400, 0.8)
        ledger.open_population("p4", Budget(500, 0.9), plans=plans, neighbours="replace", by="p4", why="taking part")
    return who


async def play(stage: Stage) -> Certificate:
    """The run: at the end of each phase, when all have spoken but those who are held back, something happens."""
    stage.board()
    url = str((await until(lambda: re.search(r"listening on (\S+)", stage.said("board")), stage))[1])  # type: ignore[index]
    for place in range(PROCESSES):
        book = ("--ledger", "book.db", "--population", "p4") if place == 4 else ()
        stage.party(place, url, "--value", str(place % 4 / 3)[:6], *book)
    async with HttpLink(url) as link, httpx.AsyncClient(timeout=30) as client:
        with Diary(stage.folder / "here.diary", stage.who.agreement) as diary:
            mine = stage.who.identities[PROCESSES:]
            host = Host(diary, diary.seats(mine, [[1]] * HERE), gate := Gate(link))
            running = asyncio.create_task(host.run())
            alive = PROCESSES
            for phase in PHASES:
                await spoken(client, url, stage, phase, alive)
                alive -= await happen(client, url, stage, phase)
                gate.let(phase)
            gate.let("repair-1")
            gate.let("repair-2")
            outcome = await running
    for place in range(PROCESSES):
        if place not in KILLED:
            assert await asyncio.to_thread(stage.processes.pop(f"p{place}").wait, 60) == 0, stage.said(f"p{place}")
    return outcome.certificate


async def spoken(client: httpx.AsyncClient, url: str, stage: Stage, phase: str, count: int) -> None:
    """Wait until so many have spoken in a phase."""
    for _ in range(3000):
        status = (await client.get(f"{url}/v1/status")).json()
        if (status["phase"], status["posted"]) == (phase, count):
            return
        await asyncio.sleep(0.04)
    raise AssertionError(f"{status}, wanted {count} in {phase}; {stage.said('p2')}")


async def happen(client: httpx.AsyncClient, url: str, stage: Stage, phase: str) -> int:
    """Kill whose time has come; how many are gone for good."""
    for place in [one for one, when in (KILLED | BACK).items() if when == phase]:
        stage.kill(f"p{place}")
    for place in [one for one, when in BACK.items() if when == phase]:
        stage.party(place, url)  # without a value: it goes on with the one that it wrote down
    if phase == "share":
        garbage = await client.post(f"{url}/v1/messages", content=b"\x00garbage\n{}\n" + b"[" * 1000)
        assert garbage.status_code == 400
        stage.kill("board")
        stage.board(int(url.rpartition(":")[2]))
        await until(lambda: stage.said("board").count("listening on") == 2, stage)
    return sum(when == phase for when in KILLED.values())


def test_ten_processes_of_which_some_are_killed_and_some_come_back_give_the_sum_of_all_who_revealed(
    tmp_path: Path,
) -> None:
    stage = Stage(made(tmp_path), tmp_path)
    try:
        here = asyncio.run(play(stage))
    finally:
        stage.end()
    found = verify((tmp_path / "run.log").read_bytes())
    assert found.complete and found.state.result == here.state.result
    assert set(found.parties) == {f"p{place}" for place in range(PROCESSES + HERE)} - {"p0", "p1"}
    faults = {(name, one.fault, one.phase) for name, one in found.named}
    assert faults == {("p0", Fault.SILENT, "share"), ("p1", Fault.SILENT, "reveal")}
    _one_message_each(stage)
    told = json.loads(stage.said("p5")[stage.said("p5").index("{\n") :])
    assert told["means"] == [float(found.means[0])] and told["run"] == found.agreement.run.hex()
    with Ledger(tmp_path / "book.db", state=tmp_path / "state") as ledger:
        assert sum(entry.fields()["kind"] == "charge" for entry in ledger.log()) == 1


def _one_message_each(stage: Stage) -> None:
    """Nobody has two messages in a phase, and what came back said what it had written down."""
    lines = (stage.folder / "run.log").read_bytes().split(b"\n")[1:]
    messages = [parse_message(stage.who.agreement, line) for line in lines if line and not line.startswith(b'{"close"')]
    assert len({(one.party, one.phase) for one in messages}) == len(messages)
    for place in BACK:
        (diary,) = stage.folder.glob(f"p{place}-*.diary")
        kept = diary.read_bytes().split(b"\n")
        assert all(f"p{place} ".encode() + one.line in kept for one in messages if one.party == place)
        assert "goes on with a run" in stage.said(f"p{place}")


def test_an_identity_of_the_command_line_is_the_same_as_one_of_the_library(tmp_path: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-m", "hubbub.cli", "gopa", "identity", "ann", "--json"],
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )
    kept = json.loads((tmp_path / "ann.key").read_text())
    assert Identity("ann", bytes.fromhex(kept["secret"])).member.key.hex() == json.loads(told.stdout)["key"]
