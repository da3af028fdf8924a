"""How a host reaches a board: in the same process, or over HTTP with patience."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from hubbub.gopa.protocol.board import Reply
from hubbub.gopa.protocol.faults import Fault
from hubbub.terms import MissingExtra, OutOfRange, SourceUnavailable

if TYPE_CHECKING:
    import httpx

MOST = 64 << 20  # bytes of an answer that a reader takes
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0


class BoardLink(Protocol):
    """A way to a board. A ``Keeper`` is one."""

    async def post(self, lines: Sequence[bytes]) -> list[Reply]:
        """What became of each line."""

    async def read(self, height: int, *, wait: float = 0.0) -> list[bytes]:
        """Lines of the log from a height on."""


class HttpLink:
    """A board at a URL. One that does not answer is asked again for ``give_up`` seconds: it may be starting again."""

    def __init__(self, url: str, *, give_up: float = 60.0) -> None:
        try:
            import httpx
        except ImportError:
            raise MissingExtra(
                "a board over HTTP needs httpx, which is not installed.",
                why="It is part of the extra 'gopa'.",
                fix="Install it: pip install 'hubbub[gopa]'.",
            ) from None
        self.url, self._give_up = url.rstrip("/"), give_up
        self._client = httpx.AsyncClient(timeout=httpx.Timeout(60.0, connect=10.0), trust_env=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self._client.aclose()

    async def post(self, lines: Sequence[bytes]) -> list[Reply]:
        """What became of each line."""
        answer = await self._asked("POST", "/v1/messages", content=b"\n".join(lines))
        try:
            found = [_reply(one) for one in answer.json()["replies"]]
        except (ValueError, LookupError, TypeError, AttributeError):
            raise self._strange() from None
        if len(found) != len(lines):
            raise self._strange()
        return found

    async def read(self, height: int, *, wait: float = 0.0) -> list[bytes]:
        """Lines of the log from a height on."""
        answer = await self._asked("GET", "/v1/log", params={"from": height, "wait": wait})
        if answer.status_code == 404:
            raise OutOfRange(
                f"the board at {self.url} has fewer lines of the log than it gave before.",
                why="A board that lost what it had closed would close it again, and differently: a fork.",
                fix="Stop here. Compare the last close that you have with those of the others.",
            )
        if answer.status_code != 200:
            raise self._strange()
        return [line for line in answer.content.split(b"\n") if line]

    async def _asked(self, method: str, path: str, **more: object) -> httpx.Response:
        """The answer; the same request again while nobody is there or the board cannot write."""
        import httpx

        until, pause = time.monotonic() + self._give_up, _FIRST_PAUSE
        while True:
            try:
                answer = await self._once(method, path, **more)
                if answer.status_code < 500:
                    return answer
            except httpx.TransportError:
                pass
            except (httpx.InvalidURL, httpx.UnsupportedProtocol):
                raise self._silent() from None
            if time.monotonic() + pause > until:
                raise self._silent()
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _once(self, method: str, path: str, **more: object) -> httpx.Response:
        """One request; an answer that does not end is not read to its end."""
        import httpx

        request = self._client.build_request(method, self.url + path, **more)  # type: ignore[arg-type]
        answer = await self._client.send(request, stream=True)
        try:
            parts, size = [], 0
            async for part in answer.aiter_bytes():
                size += len(part)
                if size > MOST:
                    raise self._strange()
                parts.append(part)
        finally:
            await answer.aclose()
        return httpx.Response(answer.status_code, content=b"".join(parts))

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


def _reply(said: dict[str, object]) -> Reply:
    fault, party = said["fault"], said["party"]
    if not (party is None or type(party) is int):
        raise ValueError
    return Reply(fault=None if fault is None else Fault(str(fault)), party=party)
