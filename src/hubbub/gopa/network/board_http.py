"""The board over HTTP.

    GET  /v1/agreement      the agreement's text
    POST /v1/messages       one or many lines of parties; what became of each
    GET  /v1/log            the lines of closed phases (?from= a height, ?wait= seconds for the next close)
    GET  /v1/status         the phase, how many have spoken, how many are waited for

Lines are answered one by one: ``{"replies": [{"taken": true, "fault": null, "party": 3}]}``, where a fault is one of
``hubbub.gopa.Fault``. The status is 200 if any line was taken and 400 if none was, 413 for a body that is larger than
any phase needs, 404 for a height that the log does not have, and 503 if the log cannot be written just now.

Everything that is read here is public. Nobody has to log in to post: what is taken carries a signature of the roster.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

from hubbub.gopa.network.board_server import LONGEST, Keeper
from hubbub.gopa.protocol.faults import Fault
from hubbub.gopa.protocol.public_state import PublicState
from hubbub.terms import HubbubError, InvalidParameter, MissingExtra, OutOfRange, SourceUnavailable

if TYPE_CHECKING:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

LARGEST = 16 << 20  # bytes of one post
MOST_LINES = 256  # of one request: each costs work and is answered, so bytes alone are no limit
_SAFE = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store"}
Endpoint = Callable[["Request"], Awaitable["Response"]]


def app(keeper: Keeper, *, largest: int = LARGEST) -> Starlette:
    """The board as an ASGI application."""
    try:
        from starlette.applications import Starlette
        from starlette.routing import Route
    except ImportError:
        raise _missing("starlette") from None
    desk = _Desk(keeper, largest)
    endpoints: dict[tuple[str, str], Endpoint] = {
        ("GET", "/v1/agreement"): desk.agreement,
        ("POST", "/v1/messages"): desk.messages,
        ("GET", "/v1/log"): desk.log,
        ("GET", "/v1/status"): desk.status,
    }
    return Starlette(routes=[Route(path, _guarded(end), methods=[how]) for (how, path), end in endpoints.items()])


def serve(
    keeper: Keeper,
    *,
    host: str = "127.0.0.1",
    port: int = 8770,
    linger: float = 30.0,
    ready: Callable[[str], None] = print,
) -> PublicState:
    """Serve until the run is over and ``linger`` seconds more, so that all can read its end; or until interrupted.

    ``ready`` is told the address. Port 0 takes any that is free.
    """
    server = _server(keeper)
    with _bound(host, port) as listening:
        name = f"[{host}]" if ":" in host else host
        ready(f"http://{name}:{listening.getsockname()[1]}")
        return asyncio.run(_served(keeper, server, listening, linger))


async def _served(keeper: Keeper, server: uvicorn.Server, listening: socket.socket, linger: float) -> PublicState:
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    running = asyncio.create_task(keeper.run())
    await asyncio.wait({serving, running}, return_when=asyncio.FIRST_COMPLETED)
    if running.done():
        await asyncio.wait({serving}, timeout=linger)
    else:
        running.cancel()
    keeper.stop()
    server.should_exit = True
    await serving
    if running.done() and not running.cancelled():
        running.result()
    return keeper.public


def _server(keeper: Keeper) -> uvicorn.Server:
    """A server that lets waiting readers go when it is told to leave."""
    try:
        import uvicorn
    except ImportError:
        raise _missing("uvicorn") from None

    class Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            keeper.stop()
            super().handle_exit(sig, frame)

    config = uvicorn.Config(
        app(keeper),
        access_log=False,
        log_config=None,  # the program's own log stays as it is
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        lifespan="off",
        timeout_keep_alive=60,
        timeout_graceful_shutdown=2,
    )
    return Server(config)


def _bound(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=1024
        )
    except OSError as error:
        raise SourceUnavailable(
            f"nothing can listen on {host}, port {port}: {os.strerror(error.errno or 0).lower()}.",
            why="Another program has the port, or the address is not this machine's.",
            fix="Give another --port (0 takes any that is free) or --host.",
        ) from None


def _missing(name: str) -> MissingExtra:
    return MissingExtra(
        f"a board over HTTP needs {name}, which is not installed.",
        why="It is part of the extra 'gopa'.",
        fix="Install it: pip install 'hubbub[gopa]'.",
    )


# ---------------------------------------------------------------- requests and answers


class _Desk:
    """Requests in, answers out."""

    def __init__(self, keeper: Keeper, largest: int) -> None:
        self.keeper, self.largest = keeper, largest

    async def agreement(self, request: Request) -> Response:
        return _response(self.keeper.agreement.text().encode(), "application/json")

    async def messages(self, request: Request) -> Response:
        data = await _body(request, self.largest)
        if data is None:
            return _told({"error": Fault.OVERSIZED.value, "most": self.largest}, status=413)
        lines = [line for line in data.split(b"\n", MOST_LINES + 1) if line]
        if len(lines) > MOST_LINES:
            return _told({"error": Fault.OVERSIZED.value, "lines": MOST_LINES}, status=413)
        replies = await self.keeper.post(lines)
        said = [{"taken": one.taken, "fault": one.fault and one.fault.value, "party": one.party} for one in replies]
        return _told({"replies": said}, status=200 if any(one.taken for one in replies) else 400)

    async def log(self, request: Request) -> Response:
        height, wait = _number(request, "from", 1e12), _number(request, "wait", LONGEST)
        lines = await self.keeper.read(int(height), wait=wait)
        return _response(b"".join(line + b"\n" for line in lines), "application/x-ndjson")

    async def status(self, request: Request) -> Response:
        at = self.keeper.standing
        return _told(
            {
                "run": self.keeper.agreement.run.hex(),
                "phase": at.phase,
                "posted": at.posted,
                "waiting": at.waiting,
                "height": at.height,
                "over": at.over,
            }
        )


def _number(request: Request, name: str, most: float) -> float:
    asked = request.query_params.get(name, "0")
    if not (len(asked) < 16 and asked.replace(".", "", 1).isdecimal() and asked.isascii() and float(asked) <= most):
        raise OutOfRange(
            f"{name} is a number up to {most:g}.", why="The log has so many lines.", fix=f"Write {name}=0."
        )
    return float(asked)


def _guarded(endpoint: Endpoint) -> Endpoint:
    """The endpoint, with our errors as answers: what was asked wrongly is 404, what the disk cannot do now 503."""

    async def answer(request: Request) -> Response:
        try:
            return await endpoint(request)
        except InvalidParameter as error:
            return _told({"error": error.code, "message": error.what}, status=404)
        except HubbubError as error:
            return _told({"error": error.code, "message": "try again"}, status=503, headers={"Retry-After": "5"})

    return answer


async def _body(request: Request, largest: int) -> bytes | None:
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
        return b""  # nobody is there to be answered, and a part of a line is none
    return b"".join(parts)


def _told(content: Any, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return _response(json.dumps(content).encode() + b"\n", "application/json", status=status, headers=headers)


def _response(content: bytes, kind: str, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    from starlette.responses import Response

    return Response(content, status_code=status, headers={**_SAFE, **(headers or {})}, media_type=kind)
