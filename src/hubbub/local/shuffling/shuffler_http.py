"""The shuffler over HTTP: takes reports as a collector does, and passes them on mixed, in batches.

    POST /v1/reports      a batch in binary form; "taken" means held here, and not yet counted
    GET  /v1/collection   the signed configuration, as the collector serves it
    GET  /sdk/hubbub.js   the client for browsers

A report is answered when it is in the queue, on disk, in an order that is not that of arrival. A batch stays there
until the collector has acknowledged every report of it, and is sent again until then, also after a restart. Tokens are
checked here and not passed on.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from hubbub.local.collection.collector_http import LARGEST, TOKEN, PublicEndpoints
from hubbub.local.shuffling.shuffler import permute
from hubbub.terms import BadReport, HubbubError
from hubbub.web import build_application, json_response, read_body

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

    from hubbub.local.shuffling.shuffler import Shuffler

Send = Callable[[bytes], Mapping[str, Any]]  # to the collector; raises if it does not answer
_SETTLED = {"replay"}  # what no second try would change: another report has the id


class Relay:
    """A shuffler with a way to the collector."""

    def __init__(self, shuffler: Shuffler, send: Send, *, complain: Callable[[str], None] | None = None) -> None:
        self.shuffler, self._send = shuffler, send
        self._complain = complain or (lambda _: None)
        self._lock, self._sending = threading.Lock(), threading.Lock()
        self._last = ""

    def take(self, data: bytes, *, token: str | None = None) -> dict[str, int]:
        """Hold the reports of a batch until enough are there; on disk when this returns, if there is a queue."""
        with self._lock:
            return self.shuffler.add_batch(data, token=token)

    def pass_on(self) -> int:
        """Send every batch that is ready; returns how many were acknowledged. What was not stays for the next time."""
        with self._sending:
            with self._lock:
                batches = self.shuffler.batches()
            return sum(self._pass(number, frame) for number, frame in permute(batches))

    def _pass(self, number: bytes, frame: bytes) -> bool:
        refused = set(self._send(frame).get("rejected") or {}) - _SETTLED
        if refused:
            self._tell(f"the collector refuses batches ({', '.join(sorted(refused))}); they are kept and sent again")
            return False
        with self._lock:
            self.shuffler.arrived(number)
        return True

    def _tell(self, words: str) -> None:
        """Tell whoever runs it, once."""
        if words != self._last:
            self._last = words
            self._complain(words)


def shuffler_app(relay: Relay, configuration: str, *, every: float = 1.0, largest: int = LARGEST) -> Starlette:
    """The shuffler as an ASGI application that looks ``every`` so many seconds for a batch to pass on."""
    public = PublicEndpoints(configuration, relay.shuffler.collection)

    async def reports(request: Request) -> Response:
        data = await read_body(request, largest=largest)
        if data is None:
            return json_response({"error": "too-large", "most": largest}, status=413)
        try:
            return json_response(await asyncio.to_thread(relay.take, data, token=request.headers.get(TOKEN)))
        except BadReport as error:
            return json_response({"error": error.reason, "message": error.what}, status=400)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        task = asyncio.create_task(_keep_passing_on(relay, every))
        yield
        task.cancel()
        with suppress(HubbubError):
            await asyncio.to_thread(relay.pass_on)

    endpoints = {("POST", "/v1/reports"): reports, **public.endpoints()}
    return build_application(endpoints, any_origin=True, origin_headers=[TOKEN], lifespan=lifespan)


async def _keep_passing_on(relay: Relay, every: float) -> None:
    while True:
        await asyncio.sleep(every)
        with suppress(HubbubError):  # the collector is away: the batch stays in the queue
            await asyncio.to_thread(relay.pass_on)
