"""The shuffler over HTTP: takes reports as a collector does, and passes them on mixed, in batches.

    POST /v1/reports      a batch in binary form; "taken" means held here, and not yet counted
    GET  /v1/collection   the signed configuration, as the collector serves it
    GET  /sdk/hubbub.js   the client for browsers

Reports wait in memory, so that no disk remembers in which order they came. Those of a batch that the collector has not
acknowledged are sent again; if the shuffler itself dies, what waited in it is gone, and clients send again.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from hubbub.local.http import LARGEST, Public, body, routed, told
from hubbub.terms import BadReport, HubbubError

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

    from hubbub.local.shuffler import Shuffler

Send = Callable[[bytes], Any]  # to the collector; raises if it was not acknowledged


class Relay:
    """A shuffler with a way to the collector."""

    def __init__(self, shuffler: Shuffler, send: Send) -> None:
        self.shuffler, self._send = shuffler, send
        self._outbox: deque[bytes] = deque()
        self._lock, self._sending = threading.Lock(), threading.Lock()

    def take(self, data: bytes) -> dict[str, int]:
        """Hold the reports of a batch until enough are there."""
        with self._lock:
            return self.shuffler.add_batch(data)

    def pass_on(self) -> int:
        """Send every batch that is ready; returns how many were acknowledged. What was not stays for the next time."""
        with self._sending:
            with self._lock:
                self._outbox.extend(self.shuffler.flush(epoch) for epoch in self.shuffler.ready())
            sent = 0
            while self._outbox:
                self._send(self._outbox[0])
                self._outbox.popleft()
                sent += 1
            return sent


def app(relay: Relay, configuration: str, *, every: float = 1.0, largest: int = LARGEST) -> Starlette:
    """The shuffler as an ASGI application that looks ``every`` so many seconds for a batch to pass on."""
    public = Public(configuration, relay.shuffler.collection)

    async def reports(request: Request) -> Response:
        data = await body(request, largest)
        if data is None:
            return told({"error": "too-large", "most": largest}, status=413)
        try:
            return told(await asyncio.to_thread(relay.take, data))
        except BadReport as error:
            return told({"error": error.reason, "message": error.what}, status=400)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        task = asyncio.create_task(_keep_passing_on(relay, every))
        yield
        task.cancel()
        with suppress(HubbubError):
            await asyncio.to_thread(relay.pass_on)

    return routed({("POST", "/v1/reports"): reports, **public.endpoints()}, lifespan=lifespan)


async def _keep_passing_on(relay: Relay, every: float) -> None:
    while True:
        await asyncio.sleep(every)
        with suppress(HubbubError):  # the collector is away: the batch stays in the outbox
            await asyncio.to_thread(relay.pass_on)
