"""A whole run of GOPA over loopback HTTP: a board and a few hosts as processes, many parties, some of whom drop out."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from bench.rows import Row
from hubbub.gopa import Agreement, verify
from hubbub.gopa.in_process import People, people
from hubbub.gopa.network.board_http import serve
from hubbub.gopa.network.board_link import HttpLink
from hubbub.gopa.network.board_server import Keeper
from hubbub.gopa.network.party_log import Diary
from hubbub.gopa.network.party_runner import Host
from hubbub.gopa.protocol.board import Reply
from hubbub.gopa.protocol.identities import Identity
from hubbub.gopa.protocol.phase_clock import Clock
from hubbub.gopa.protocol.wire import ORDER

PARTIES, QUICK = 1_000, 100
HOSTS = 2  # with the board three processes; four were allowed
HONEST, DROPOUTS = 0.8, 0.05
SECONDS = 60.0
MESSAGES, BYTES = 10, 20_000
LEAVE_IN = ("nonce", "share", "cut", "reveal", "confirm")  # where parties are lost, in turns
PATIENCE = 1.5  # seconds that each of these phases waits for them


@dataclass(frozen=True)
class Ran:
    """What a run took and brought."""

    seconds: float
    cpu: float
    messages: float
    size: float
    included: int
    degree: int


def rows(quick: bool) -> list[Row]:
    count = QUICK if quick else PARTIES
    with tempfile.TemporaryDirectory() as folder:
        ran = _run(people(count, honest=HONEST, dropouts=DROPOUTS), Path(folder))
    about = f"honest {HONEST}, {ran.degree} picks, {ran.included:,} in the result, {ran.cpu:.0f} s of processor time"
    name = f"run of {count:,} parties with proofs, {DROPOUTS:.0%} drop out"
    return [
        Row(f"{name}, board and {HOSTS} hosts over HTTP", ran.seconds, "s", SECONDS, "lower", about),
        Row(f"{name}: messages per party", ran.messages, "", MESSAGES, "lower", "one for each phase"),
        Row(f"{name}: bytes per party", ran.size, "B", BYTES, "lower", "proofs, commitments and sealed shares, base64"),
    ]


def _run(who: People, folder: Path) -> Ran:
    """The run: processes first, then the clock, then the values."""
    agreed, context = who.agreement, multiprocessing.get_context("spawn")
    lost = agreed.plan.parties - agreed.plan.survivors
    drops = {place: LEAVE_IN[place % len(LEAVE_IN)] for place in range(lost)}
    ours, theirs = context.Pipe()
    board = context.Process(target=_board, args=(theirs, agreed.text(), who.board, folder))
    board.start()
    address = ours.recv()
    hosts = [_begun(context, place, who, drops, folder, address) for place in range(HOSTS)]
    for link, _ in hosts:
        link.recv()  # it has imported everything
    began = time.perf_counter()
    for link, _ in hosts:
        link.send("go")
    said = [link.recv() for link, _ in hosts]
    took = time.perf_counter() - began
    cpu = sum(said) + ours.recv()
    for process in (board, *(process for _, process in hosts)):
        process.join(60)
    return _told(folder / "run.log", took, cpu)


def _begun(context, place, who, drops, folder, address):  # type: ignore[no-untyped-def]
    link, other = context.Pipe()
    mine = who.identities[place::HOSTS]
    process = context.Process(
        target=_host, args=(other, who.agreement.text(), mine, drops, folder / f"{place}.diary", address)
    )
    process.start()
    return link, process


def _told(log: Path, took: float, cpu: float) -> Ran:
    data = log.read_bytes()
    found = verify(data)
    assert found.complete, found.abort
    parties, lines = len(found.agreement.roster), data.split(b"\n")[1:]
    messages = [line for line in lines if line and not line.startswith(b'{"close"')]
    return Ran(
        seconds=took,
        cpu=cpu,
        messages=len(messages) / parties,
        size=sum(map(len, messages)) / parties,
        included=len(found.parties),
        degree=found.agreement.plan.degree,
    )


# ---------------------------------------------------------------- the processes


def _board(link: Connection, agreement: str, identity: Identity, folder: Path) -> None:
    clock = Clock(joining=600, deadline=600, patience=PATIENCE)
    with Keeper(Agreement.read(agreement), identity, folder / "run.log", clock=clock) as keeper:
        serve(keeper, port=0, linger=1.0, ready=link.send)
    link.send(_cpu())


class _Lossy:
    """A link on which some parties are never heard again, from a phase on."""

    def __init__(self, link: HttpLink, drops: Mapping[int, str]) -> None:
        self._link, self._drops = link, drops

    async def read(self, height: int, *, wait: float = 0.0) -> list[bytes]:
        return await self._link.read(height, wait=wait)

    async def post(self, lines: Sequence[bytes]) -> list[Reply]:
        kept = [line for line in lines if not self._gone(json.loads(line))]
        return await self._link.post(kept) if kept else []

    def _gone(self, message: Mapping[str, object]) -> bool:
        leaves = self._drops.get(int(str(message["party"])))
        return leaves is not None and ORDER[str(message["phase"])] >= ORDER[leaves]


def _host(
    link: Connection, agreement: str, mine: Sequence[Identity], drops: Mapping[int, str], path: Path, url: str
) -> None:
    agreed = Agreement.read(agreement)
    link.send("ready")
    link.recv()
    with Diary(path, agreed) as diary:
        crowd = diary.seats(mine, [[place % 101 / 100] for place in range(len(mine))])
        asyncio.run(_hosted(diary, crowd, url, drops))
    link.send(_cpu())


async def _hosted(diary: Diary, crowd, url: str, drops: Mapping[int, str]) -> None:  # type: ignore[no-untyped-def]
    async with HttpLink(url) as link:
        await Host(diary, crowd, _Lossy(link, drops)).run()


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
