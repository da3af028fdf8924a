"""Batches that come while the disk is busy are written together: one forced write for all of them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hubbub.local.collection.collector import Collector, Sent, Taken
    from hubbub.terms import BadReport

_MOST = 64  # batches in one transaction


class Writer:
    """Hands batches to a collector, one group after the other; each sender is answered when the group is on disk."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._waiting: list[tuple[Sent, asyncio.Future[Taken | BadReport]]] = []
        self._task: asyncio.Task[None] | None = None

    async def take(self, sent: Sent) -> Taken | BadReport:
        """What became of a batch; it is on disk when this returns."""
        answer: asyncio.Future[Taken | BadReport] = asyncio.get_running_loop().create_future()
        self._waiting.append((sent, answer))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._write())
        return await answer

    async def _write(self) -> None:
        while self._waiting:
            group, self._waiting = self._waiting[:_MOST], self._waiting[_MOST:]
            answers = [answer for _, answer in group]
            try:
                outcomes = await asyncio.to_thread(self._collector.take_all, [sent for sent, _ in group])
            except Exception as error:  # whatever it is, nobody may wait for ever
                _settle_answers(answers, [error] * len(group))
            else:
                _settle_answers(answers, outcomes)


def _settle_answers(
    answers: list[asyncio.Future[Taken | BadReport]], outcomes: list[Taken | BadReport] | list[Exception]
) -> None:
    """Tell each sender who is still there; an error of the group is everybody's."""
    from hubbub.local.collection.collector import Taken
    from hubbub.terms import BadReport

    for answer, each in zip(answers, outcomes, strict=True):
        if answer.done():
            continue
        if isinstance(each, Taken | BadReport):
            answer.set_result(each)
        else:
            answer.set_exception(each)
