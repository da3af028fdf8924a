"""The board as it runs: one log on disk, posts from many at once, and phases that end in time.

``Keeper`` is the board's state machine with a file and a clock. It can be talked to in the same process; ``service``
puts HTTP around it. Whatever it answers was on disk before: a board that is killed goes on, when it is started again,
at the line where it was. Many posts that come together are synced together.

It folds the log as everybody does, but only to know who can still be waited for, and when the run is over.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from hubbub.durable import Journal
from hubbub.gopa.protocol import board as boards
from hubbub.gopa.protocol import verifier
from hubbub.gopa.protocol.agreement import Agreement
from hubbub.gopa.protocol.board import Board, Post, Reply, Shut
from hubbub.gopa.protocol.identities import Identity
from hubbub.gopa.protocol.phase_clock import Clock, expected_speakers
from hubbub.gopa.protocol.public_state import FIRST, Inputs, PublicState
from hubbub.gopa.protocol.wire import ORDER
from hubbub.terms import LedgerDamaged, OutOfRange

PAGE = 8 << 20  # bytes of the log that are given at once
LONGEST = 30.0  # seconds that a reader may wait for more


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a run is: its phase, how many have spoken in it, how many are waited for, and how long the log is."""

    phase: str
    posted: int
    waiting: int
    height: int
    over: bool


Watch = Callable[[Standing], None]


@dataclass(frozen=True, slots=True)
class _Job:
    """Events that somebody wants an answer to."""

    events: Sequence[Post | Shut]
    answer: asyncio.Future[list[Reply]]


class Keeper:
    """A board with its log on disk: ``run`` it, and ``post`` to it and ``read`` it meanwhile."""

    def __init__(
        self,
        agreement: Agreement,
        identity: Identity,
        path: Path | str,
        *,
        clock: Clock | None = None,
        earlier: Inputs | None = None,
        watch: Watch = lambda _: None,
    ) -> None:
        self.agreement, self.clock = agreement, clock or Clock()
        self.public = verifier.start(agreement, earlier=earlier)
        boards.open_board(agreement, identity)  # both refuse before the file is touched
        self._journal = Journal(path, mode=0o644)
        try:
            self._board = _restore_board(agreement, identity, self._journal)
        except BaseException:
            self._journal.close()
            raise
        self._watch = watch
        self._closed = [line for chapter in self._board.chapters for line in chapter]
        self._jobs: list[_Job] = []
        self._writing: asyncio.Task[None] | None = None
        self._moved, self._grown = asyncio.Event(), asyncio.Event()
        self._stopped = False
        self._opened = self._heard = time.monotonic()

    def close(self) -> None:
        """Give the file back."""
        self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    # ------------------------------------------------ what others ask

    async def post(self, lines: Sequence[bytes]) -> list[Reply]:
        """What became of each line; those that were taken are on disk."""
        return await self._done([Post(line) for line in lines])

    async def read(self, height: int, *, wait: float = 0.0) -> list[bytes]:
        """The lines of closed phases from a height on, a page at most; waits for the next close if there are none."""
        if not 0 <= height <= len(self._closed):
            raise OutOfRange(
                f"the log has {len(self._closed)} lines, and more were asked for.",
                why="A reader who knows more lines than the board has seen another log.",
                fix="Compare the last close that you have with what others have.",
            )
        until = time.monotonic() + min(wait, LONGEST)
        while height == len(self._closed) and not self._stopped and (left := until - time.monotonic()) > 0:
            await _set_within(self._grown, left)
        return self._page(height)

    @property
    def standing(self) -> Standing:
        """Where the run is."""
        posted, over = self._board.posted.parties(), self.public.over
        return Standing(
            self._board.phase, len(posted), 0 if over else len(self._awaited()), len(self._closed), over=over
        )

    def stop(self) -> None:
        """Let all who wait go."""
        self._stopped = True
        self._stir(self._grown)

    # ------------------------------------------------ the run

    async def run(self) -> PublicState:
        """Close phases in time until the run is over; what it came to."""
        for chapter in self._board.chapters:
            await self._fold(chapter)
        self._opened = self._heard = time.monotonic()
        while not self.public.over:
            await self._until_due()
            await self._done([Shut()])
            await self._fold(self._board.chapters[-1])
        self._watch(self.standing)
        return self.public

    async def _fold(self, chapter: Sequence[bytes]) -> None:
        self.public = await asyncio.to_thread(verifier.step, self.public, chapter)

    async def _until_due(self) -> None:
        while True:
            self._watch(self.standing)
            left = self._left()
            if left <= 0:
                return
            self._moved.clear()
            await _set_within(self._moved, left)

    def _left(self) -> float:
        now, phase = time.monotonic(), self._board.phase
        posted, least = len(self._board.posted.parties()), self.agreement.plan.survivors
        return self.clock.left(
            phase,
            open_for=now - self._opened,
            quiet_for=now - max(self._heard, self._opened),
            waiting=len(self._awaited()),
            enough=posted >= least or (posted > 0 and ORDER[phase] > ORDER[FIRST]),
        )

    def _awaited(self) -> frozenset[int]:
        """Who was there in the last phase, has something to say in this one, and has not said it."""
        waiting = self._board.waiting
        return waiting & expected_speakers(self.public) if self.public.phase == self._board.phase else waiting

    # ------------------------------------------------ the one writer

    async def _done(self, events: Sequence[Post | Shut]) -> list[Reply]:
        job = _Job(events, asyncio.get_running_loop().create_future())
        self._jobs.append(job)
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())
        return await job.answer

    async def _write(self) -> None:
        """Take all that has come, write it, and only then let it count and answer."""
        while self._jobs:
            jobs, self._jobs = self._jobs, []
            try:
                await self._commit(jobs)
            except Exception as error:  # told to each asker; the board stays as it was
                for job in jobs:
                    if not job.answer.done():
                        job.answer.set_exception(error)

    async def _commit(self, jobs: Sequence[_Job]) -> None:
        board, replies, lines = self._board, list[list[Reply]](), list[bytes]()
        for job in jobs:
            replies.append([])
            for event in job.events:
                after, reply = boards.step(board, event)
                if after is not board and reply.line is not None:
                    lines.append(reply.line)
                board = after
                replies[-1].append(reply)
        if lines:
            await asyncio.to_thread(self._journal.append, lines)
        self._now(board)
        for job, answers in zip(jobs, replies, strict=True):
            if not job.answer.done():
                job.answer.set_result(answers)

    def _now(self, board: Board) -> None:
        before, self._board = self._board, board
        if board is before:
            return
        self._heard = time.monotonic()
        for chapter in board.chapters[len(before.chapters) :]:
            self._closed += chapter
            self._opened = self._heard
            self._stir(self._grown)
        self._moved.set()

    def _stir(self, event: asyncio.Event) -> None:
        event.set()
        event.clear()

    def _page(self, height: int) -> list[bytes]:
        end, size = height, 0
        while end < len(self._closed) and (end == height or size + len(self._closed[end]) < PAGE):
            size += len(self._closed[end]) + 1
            end += 1
        return self._closed[height:end]


async def _set_within(event: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)


def _restore_board(agreement: Agreement, identity: Identity, journal: Journal) -> Board:
    text = agreement.text().encode()
    if not journal.lines:
        journal.append([text])
    lines = journal.lines[1:]
    board = boards.restore_board(agreement, identity, lines)
    if journal.lines[0] != text or len(board.log) - 1 + len(board.posted) != len(lines):
        raise LedgerDamaged(
            f"{journal.path} is not the log of this run as the board wrote it.",
            why="A board that went on from another log would fork the run.",
            fix="Give the file that this board wrote for this agreement, or a new file for a new run.",
        )
    return board
