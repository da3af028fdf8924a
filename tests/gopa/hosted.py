"""Boards and hosts for tests, as tasks of one process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from fractions import Fraction
from pathlib import Path

from hubbub.gopa.in_process import People
from hubbub.gopa.network.board_link import BoardLink
from hubbub.gopa.network.board_server import Keeper
from hubbub.gopa.network.party_log import Diary
from hubbub.gopa.network.party_runner import Charge, Host, RunOutcome, no_charge
from hubbub.gopa.protocol.board import Reply
from hubbub.gopa.protocol.phase_clock import Clock

SLOW = Clock(joining=120, deadline=120, patience=60)  # nobody is given up
VALUES = [[Fraction(place % 4, 3)] for place in range(20)]


class Recorder:
    """A link that keeps what went through it."""

    def __init__(self, link: BoardLink) -> None:
        self.link, self.posted, self.replies = link, list[bytes](), list[Reply]()

    async def post(self, lines: Sequence[bytes]) -> list[Reply]:
        self.posted += lines
        found = await self.link.post(lines)
        self.replies += found
        return found

    async def read(self, height: int, *, wait: float = 0.0) -> list[bytes]:
        return await self.link.read(height, wait=wait)


class Killed(Exception):
    """What stands for the death of a process inside of this one."""


class Mortal(Recorder):
    """A link whose host dies when it is about to post in a phase, or just after it has."""

    def __init__(self, link: BoardLink, phase: str, *, after: bool) -> None:
        super().__init__(link)
        self._phase, self._after = f'"phase":"{phase}"'.encode(), after

    async def post(self, lines: Sequence[bytes]) -> list[Reply]:
        dies = any(self._phase in line for line in lines)
        if dies and not self._after:
            self.posted += lines
            raise Killed
        found = await super().post(lines)
        if dies:
            raise Killed
        return found


async def hosted(
    who: People, folder: Path, places: Sequence[int], link: BoardLink, *, charge: Charge = no_charge
) -> RunOutcome:
    """These parties with their diary in a folder, begun or gone on with."""
    with Diary(folder / f"{places[0]}.diary", who.agreement) as diary:
        crowd = diary.seats([who.identities[place] for place in places], [VALUES[place] for place in places])
        return await Host(diary, crowd, link, charge=charge).run()


@asynccontextmanager
async def kept(who: People, folder: Path, clock: Clock = SLOW) -> AsyncIterator[Keeper]:
    """A board that runs, and is over when the block ends."""
    with Keeper(who.agreement, who.board, folder / "run.log", clock=clock) as keeper:
        running = asyncio.create_task(keeper.run())
        try:
            yield keeper
            await running
        finally:
            running.cancel()


async def together(who: People, folder: Path, groups: Sequence[Sequence[int]], clock: Clock = SLOW) -> list[RunOutcome]:
    """A whole run: a board, and hosts of some parties each."""
    async with kept(who, folder, clock) as keeper:
        return list(await asyncio.gather(*(hosted(who, folder, group, keeper) for group in groups)))
