"""The collector over HTTP: reports in at one door, and for its owner a page at another.

For everybody (``collector_app``):

    POST /v1/reports         a batch: binary (application/octet-stream), or its JSON twin (application/json)
    GET  /v1/collection      the signed configuration; may be cached
    GET  /sdk/hubbub.js      the client for browsers, one module without dependencies

For the owner (``owner_app``), in a process and on a port of its own:

    GET  /                   the page (?epoch=)
    GET  /v1/estimate.json   the same as data (?epoch=)

Whoever can send reports must not see what they add up to: from a page that moved with every report, anybody who knew
when a person reports could read that one report off. So a sender is told what became of their own batch alone, and
the owner's page moves on by a whole batch at a time.

A batch that can be read is answered with 200 and counts, whatever is in it: a sender is told how many reports were
accepted, were there already, or were refused and why. Only a batch that is unreadable as a whole (400) or too large
(413) is refused as a whole. 503 says that the store cannot be written just now: send the same bytes again. Nothing
about a sender is looked at, kept or logged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hubbub.local.collection.collector import Sent
from hubbub.local.collection.group_commit import Writer
from hubbub.terms import BadReport, OutOfRange
from hubbub.web import (
    LOOPBACK,
    Endpoint,
    build_application,
    bytes_response,
    json_response,
    read_body,
    serve_application,
)

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

    from hubbub.local.collection.collection import Collection
    from hubbub.local.collection.collector import Collector
    from hubbub.local.collection.collector_page import Page

LARGEST = 8 * 2**20  # bytes of one batch
TOKEN = "Hubbub-Token"  # noqa: S105 - the header that a token comes in
SDK = Path(__file__).parent / "js" / "hubbub.js"


def collector_app(collector: Collector, *, largest: int = LARGEST) -> Starlette:
    """Where reports are sent, as an ASGI application: it takes, and shows nothing of what came."""
    desk, public = _Desk(collector, largest), PublicEndpoints(collector.configuration, collector.collection)
    endpoints = {("POST", "/v1/reports"): desk.reports, **public.endpoints()}
    return build_application(endpoints, any_origin=True, origin_headers=[TOKEN])  # no cookies: nothing to borrow


def owner_app(collector: Collector, *, hosts: Sequence[str] = LOOPBACK) -> Starlette:
    """The owner's page as an ASGI application, for requests that name one of these hosts.

    Pages of other sites in the owner's browser can neither read it nor reach it under a name of their own.
    """
    window = _Window(collector)
    return build_application({("GET", "/v1/estimate.json"): window.estimate, ("GET", "/"): window.page}, hosts=hosts)


def serve(
    application: Starlette, *, host: str = "127.0.0.1", port: int = 8765, ready: Callable[[str], None] = print
) -> None:
    """Serve until interrupted; ``ready`` is told the address. Port 0 takes any that is free.

    No access log is written, and headers that name a sender's address are not read.
    """
    serve_application(application, host=host, port=port, ready=ready)


class _Desk:
    """Reports in, counts out; whatever waits for the disk does so in a thread of its own."""

    def __init__(self, collector: Collector, largest: int) -> None:
        self.largest = largest
        self._writer = Writer(collector)

    async def reports(self, request: Request) -> Response:
        data = await read_body(request, largest=self.largest)
        if data is None:
            return json_response({"error": "too-large", "most": self.largest}, status=413)
        token = request.headers.get(TOKEN)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        outcome = await self._writer.take(Sent(data, twins=kind == "application/json", token=token))
        if isinstance(outcome, BadReport):
            return json_response({"error": outcome.reason, "message": outcome.what}, status=400)
        return json_response(outcome.to_json())


class _Window:
    """The owner's page, worked out in a thread of its own."""

    def __init__(self, collector: Collector) -> None:
        self.collector = collector
        self._last: tuple[object, Page] | None = None

    async def estimate(self, request: Request) -> Response:
        epoch = _requested_epoch(request)
        return json_response(await asyncio.to_thread(lambda: self._look(epoch).to_json()))

    async def page(self, request: Request) -> Response:
        epoch = _requested_epoch(request)
        html = await asyncio.to_thread(lambda: self._look(epoch).html())
        return bytes_response(html.encode(), media_type="text/html; charset=utf-8")

    def _look(self, epoch: int | None) -> Page:
        """The page, worked out anew only if it has moved on."""
        from hubbub.local.collection.collector_page import read_page

        store = self.collector.store
        store.publish(step=self.collector.collection.minimum_batch)
        known = (epoch, store.published_epochs(), store.published_refusals())
        if self._last is None or self._last[0] != known:
            self._last = known, read_page(self.collector, epoch=epoch)
        return self._last[1]


def _requested_epoch(request: Request) -> int | None:
    asked = request.query_params.get("epoch")
    if asked is not None and not (asked.isascii() and asked.isdigit() and len(asked) < 12):
        raise OutOfRange("an epoch is a whole number.", why="Epochs are numbered from 0.", fix="Write ?epoch=0.")
    return None if asked is None else int(asked)


class PublicEndpoints:
    """What everybody may read and keep: the signed configuration, and the client for browsers."""

    def __init__(self, configuration: str, collection: Collection) -> None:
        self._text, self._tag = configuration.encode(), f'"{collection.digest.hex()}"'

    def endpoints(self) -> dict[tuple[str, str], Endpoint]:
        """Where it is read."""
        return {("GET", "/v1/collection"): self.configuration, ("GET", "/sdk/hubbub.js"): self.sdk}

    async def configuration(self, request: Request) -> Response:
        """The signed configuration; nothing if the reader has it."""
        headers = {"ETag": self._tag, "Cache-Control": "public, max-age=3600"}
        if self._tag in request.headers.get("if-none-match", ""):
            return bytes_response(b"", media_type="application/json", status=304, headers=headers)
        return bytes_response(self._text, media_type="application/json", headers=headers)

    async def sdk(self, request: Request) -> Response:
        """The client for browsers."""
        headers = {"Cache-Control": "public, max-age=3600"}
        return bytes_response(SDK.read_bytes(), media_type="text/javascript; charset=utf-8", headers=headers)
