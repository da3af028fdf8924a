"""How a host reaches a board: in the same process, or over HTTP with patience."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Protocol, Self

from hubbub.gopa.protocol.board import Reply
from hubbub.gopa.protocol.faults import Fault
from hubbub.render import Json
from hubbub.terms import OutOfRange, SourceUnavailable
from hubbub.web import AsyncWebClient, BadAddress, EndlessAnswer, Unanswered, WebAnswer, growing_pauses

MOST = 64 << 20  # bytes of an answer that a reader takes


class BoardLink(Protocol):
    """A way to a board. A ``Keeper`` is one."""

    async def post(self, lines: Sequence[bytes]) -> list[Reply]:
        """What became of each line."""

    async def read(self, height: int, *, wait: float = 0.0) -> list[bytes]:
        """Lines of the log from a height on."""


class HttpLink:
    """A board at a URL. One that does not answer is asked again for ``give_up`` seconds: it may be starting again."""

    def __init__(self, url: str, *, give_up: float = 60.0) -> None:
        self.url, self._give_up = url.rstrip("/"), give_up
        self._client = AsyncWebClient(self.url, largest=MOST, seconds=60.0)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self._client.aclose()

    async def post(self, lines: Sequence[bytes]) -> list[Reply]:
        """What became of each line."""
        answer = await self._answer("POST", "/v1/messages", b"\n".join(lines))
        try:
            replies = _parse_replies(answer.json())
        except (ValueError, LookupError, TypeError):
            raise self._strange() from None
        if len(replies) != len(lines):
            raise self._strange()
        return replies

    async def read(self, height: int, *, wait: float = 0.0) -> list[bytes]:
        """Lines of the log from a height on."""
        answer = await self._answer("GET", f"/v1/log?from={height}&wait={wait}")
        if answer.status == 404:
            raise OutOfRange(
                f"the board at {self.url} has fewer lines of the log than it gave before.",
                why="A board that lost what it had closed would close it again, and differently: a fork.",
                fix="Stop here. Compare the last close that you have with those of the others.",
            )
        if answer.status != 200:
            raise self._strange()
        return [line for line in answer.content.split(b"\n") if line]

    async def _answer(self, method: str, path: str, content: bytes | None = None) -> WebAnswer:
        """The answer; the same request again while nobody is there or the board cannot write."""
        until = time.monotonic() + self._give_up
        for pause in growing_pauses():
            try:
                answer = await self._client.ask(method, path, content=content)
                if answer.status < 500:
                    return answer
            except EndlessAnswer:
                raise self._strange() from None
            except BadAddress:
                break
            except Unanswered:
                pass
            if time.monotonic() + pause > until:
                break
            await asyncio.sleep(pause)
        raise self._silent()

    def _silent(self) -> SourceUnavailable:
        return SourceUnavailable(
            f"the board at {self.url} does not answer.",
            why="Messages go through it.",
            fix="Start it, or check the address; then go on with the same command: nothing is lost.",
        )

    def _strange(self) -> SourceUnavailable:
        return SourceUnavailable(
            f"what is at {self.url} does not answer as a board does.",
            why="Another program may listen there.",
            fix="Check the address.",
        )


def _parse_replies(content: Json) -> list[Reply]:
    """What a board answered to lines; raises where it is nothing of the kind."""
    if not isinstance(content, dict) or not isinstance(content["replies"], list):
        raise TypeError
    return [_parse_reply(reply) for reply in content["replies"]]


def _parse_reply(content: Json) -> Reply:
    if not isinstance(content, dict):
        raise TypeError
    fault, party = content["fault"], content["party"]
    if not (party is None or type(party) is int):
        raise ValueError
    return Reply(fault=None if fault is None else Fault(str(fault)), party=party)
