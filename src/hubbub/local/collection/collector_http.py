"""The collector over HTTP: reports in at one door, and for its owner a page at another.

For everybody (``app``):

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
import json
import os
import socket
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hubbub.local.collection.collector import Sent
from hubbub.local.collection.group_commit import Writer
from hubbub.terms import BadReport, HubbubError, InvalidParameter, MissingExtra, OutOfRange, SourceUnavailable

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

    from hubbub.local.collection.collection import Collection
    from hubbub.local.collection.collector import Collector
    from hubbub.local.collection.collector_page import Page

LARGEST = 8 * 2**20  # bytes of one batch
LOOPBACK = ("127.0.0.1", "localhost", "::1", "[::1]")  # names of this machine
TOKEN = "Hubbub-Token"  # noqa: S105 - the header that a token comes in
SDK = Path(__file__).parent / "js" / "hubbub.js"
_SAFE = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
Endpoint = Callable[["Request"], Awaitable["Response"]]


def app(collector: Collector, *, largest: int = LARGEST) -> Starlette:
    """Where reports are sent, as an ASGI application: it takes, and shows nothing of what came."""
    desk, public = _Desk(collector, largest), PublicEndpoints(collector.configuration, collector.collection)
    return routed({("POST", "/v1/reports"): desk.reports, **public.endpoints()})


def owner_app(collector: Collector, *, hosts: Sequence[str] = LOOPBACK) -> Starlette:
    """The owner's page as an ASGI application, for requests that name one of these hosts.

    Pages of other sites in the owner's browser can neither read it nor reach it under a name of their own.
    """
    window = _Window(collector)
    return _routed_for({("GET", "/v1/estimate.json"): window.estimate, ("GET", "/"): window.page}, hosts)


def serve(
    application: Starlette, *, host: str = "127.0.0.1", port: int = 8765, ready: Callable[[str], None] = print
) -> None:
    """Serve until interrupted; ``ready`` is told the address. Port 0 takes any that is free.

    No access log is written, and headers that name a sender's address are not read.
    """
    try:
        import uvicorn
    except ImportError:
        raise _missing("uvicorn") from None
    config = uvicorn.Config(
        application,
        access_log=False,
        log_config=None,  # the program's own log stays as it is
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=30,
        limit_concurrency=256,
    )
    with _bound(host, port) as listening:
        name = f"[{host}]" if ":" in host else host
        ready(f"http://{name}:{listening.getsockname()[1]}/")
        uvicorn.Server(config).run(sockets=[listening])


def _bound(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise SourceUnavailable(
            f"nothing can listen on {host}, port {port}: {os.strerror(error.errno or 0).lower()}.",
            why="Another program has the port, or the address is not this machine's.",
            fix="Give another --port (0 takes any that is free) or --host.",
        ) from None


def _missing(name: str) -> MissingExtra:
    return MissingExtra(
        f"a collector over HTTP needs {name}, which is not installed.",
        why="It is part of the extra 'collect'.",
        fix="Install it: pip install 'hubbub[collect]'.",
    )


class _Desk:
    """Reports in, counts out; whatever waits for the disk does so in a thread of its own."""

    def __init__(self, collector: Collector, largest: int) -> None:
        self.largest = largest
        self._writer = Writer(collector)

    async def reports(self, request: Request) -> Response:
        data = await body(request, self.largest)
        if data is None:
            return told({"error": "too-large", "most": self.largest}, status=413)
        token = request.headers.get(TOKEN)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        found = await self._writer.take(Sent(data, twins=kind == "application/json", token=token))
        if isinstance(found, BadReport):
            return told({"error": found.reason, "message": found.what}, status=400)
        return told(found.to_json())


class _Window:
    """The owner's page, worked out in a thread of its own."""

    def __init__(self, collector: Collector) -> None:
        self.collector = collector
        self._last: tuple[object, Page] | None = None

    async def estimate(self, request: Request) -> Response:
        epoch = _epoch(request)
        return told(await asyncio.to_thread(lambda: self._look(epoch).to_json()), headers={"Cache-Control": "no-store"})

    async def page(self, request: Request) -> Response:
        epoch = _epoch(request)
        html = await asyncio.to_thread(lambda: self._look(epoch).html())
        return _response(html.encode(), "text/html; charset=utf-8", headers={"Cache-Control": "no-store"})

    def _look(self, epoch: int | None) -> Page:
        """The page, worked out anew only if it has moved on."""
        from hubbub.local.collection.collector_page import look

        store = self.collector.store
        store.publish(step=self.collector.collection.minimum_batch)
        known = (epoch, store.published_epochs(), store.published_refusals())
        if self._last is None or self._last[0] != known:
            self._last = known, look(self.collector, epoch=epoch)
        return self._last[1]


def _epoch(request: Request) -> int | None:
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
            return _response(b"", "application/json", status=304, headers=headers)
        return _response(self._text, "application/json", headers=headers)

    async def sdk(self, request: Request) -> Response:
        """The client for browsers."""
        headers = {"Cache-Control": "public, max-age=3600"}
        return _response(SDK.read_bytes(), "text/javascript; charset=utf-8", headers=headers)


def routed(endpoints: dict[tuple[str, str], Endpoint], *, lifespan: Any = None) -> Starlette:
    """An application of these endpoints, which pages of any site may call: there are no cookies to borrow."""
    try:
        from starlette.applications import Starlette
        from starlette.middleware import Middleware
        from starlette.middleware.cors import CORSMiddleware
        from starlette.routing import Route
    except ImportError:
        raise _missing("starlette") from None

    anywhere = Middleware(
        CORSMiddleware,
        allow_origins=["*"],
        allow_methods=["GET", "POST"],
        allow_headers=["Content-Type", TOKEN],
        max_age=3600,
    )
    routes = [Route(path, _guarded(endpoint), methods=[method]) for (method, path), endpoint in endpoints.items()]
    return Starlette(routes=routes, middleware=[anywhere], lifespan=lifespan)


def _routed_for(endpoints: dict[tuple[str, str], Endpoint], hosts: Sequence[str]) -> Starlette:
    """An application that answers under these names alone, and to no page of another site."""
    try:
        from starlette.applications import Starlette
        from starlette.middleware import Middleware
        from starlette.middleware.trustedhost import TrustedHostMiddleware
        from starlette.routing import Route
    except ImportError:
        raise _missing("starlette") from None

    named = Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False)
    routes = [Route(path, _guarded(endpoint), methods=[method]) for (method, path), endpoint in endpoints.items()]
    return Starlette(routes=routes, middleware=[named])


def _guarded(endpoint: Endpoint) -> Endpoint:
    """The endpoint, with our errors as answers: what a store cannot do now is 503, what was asked wrongly 404."""

    async def answer(request: Request) -> Response:
        try:
            return await endpoint(request)
        except InvalidParameter as error:
            return told({"error": error.code, "message": error.what}, status=404)
        except HubbubError as error:
            return told({"error": error.code, "message": error.what}, status=503, headers={"Retry-After": "5"})

    return answer


async def body(request: Request, largest: int) -> bytes | None:
    """The body, or None if it is larger than allowed (the rest is not read)."""
    from starlette.requests import ClientDisconnect

    parts, size = [], 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > largest:
                return None
            parts.append(part)
    except ClientDisconnect:
        return b""  # nobody is there to be answered, and a part of a batch is none
    return b"".join(parts)


def told(content: Any, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A JSON answer."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n"
    return _response(text.encode(), "application/json", status=status, headers=headers)


def _response(content: bytes, kind: str, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    from starlette.responses import Response

    return Response(content, status_code=status, headers={**_SAFE, **(headers or {})}, media_type=kind)
