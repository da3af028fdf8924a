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
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from hubbub.gopa.network.board_server import LONGEST, Keeper
from hubbub.gopa.protocol.faults import Fault
from hubbub.gopa.protocol.public_state import PublicState
from hubbub.terms import OutOfRange
from hubbub.web import (
    build_application,
    bytes_response,
    create_server,
    json_response,
    listening_socket,
    read_body,
)

if TYPE_CHECKING:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

LARGEST = 16 << 20  # bytes of one post
MOST_LINES = 256  # of one request: each costs work and is answered, so bytes alone are no limit


def app(keeper: Keeper, *, largest: int = LARGEST) -> Starlette:
    """The board as an ASGI application."""
    desk = _Desk(keeper, largest)
    return build_application(
        {
            ("GET", "/v1/agreement"): desk.agreement,
            ("POST", "/v1/messages"): desk.messages,
            ("GET", "/v1/log"): desk.log,
            ("GET", "/v1/status"): desk.status,
        }
    )


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
    server = create_server(app(keeper), grace=2, on_exit=keeper.stop)  # who waits for the next close is let go
    with listening_socket(host, port) as (listening, address):
        ready(address)
        return asyncio.run(_serve_until_over(keeper, server, listening, linger))


async def _serve_until_over(
    keeper: Keeper, server: uvicorn.Server, listening: socket.socket, linger: float
) -> PublicState:
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


# ---------------------------------------------------------------- requests and answers


class _Desk:
    """Requests in, answers out."""

    def __init__(self, keeper: Keeper, largest: int) -> None:
        self.keeper, self.largest = keeper, largest

    async def agreement(self, request: Request) -> Response:
        return bytes_response(self.keeper.agreement.text().encode(), media_type="application/json")

    async def messages(self, request: Request) -> Response:
        data = await read_body(request, largest=self.largest)
        if data is None:
            return json_response({"error": Fault.OVERSIZED.value, "most": self.largest}, status=413)
        lines = [line for line in data.split(b"\n", MOST_LINES + 1) if line]
        if len(lines) > MOST_LINES:
            return json_response({"error": Fault.OVERSIZED.value, "lines": MOST_LINES}, status=413)
        replies = await self.keeper.post(lines)
        outcomes = [{"taken": one.taken, "fault": one.fault and one.fault.value, "party": one.party} for one in replies]
        return json_response({"replies": outcomes}, status=200 if any(one.taken for one in replies) else 400)

    async def log(self, request: Request) -> Response:
        height, wait = _query_number(request, "from", 1e12), _query_number(request, "wait", LONGEST)
        lines = await self.keeper.read(int(height), wait=wait)
        return bytes_response(b"".join(line + b"\n" for line in lines), media_type="application/x-ndjson")

    async def status(self, request: Request) -> Response:
        at = self.keeper.standing
        return json_response(
            {
                "run": self.keeper.agreement.run.hex(),
                "phase": at.phase,
                "posted": at.posted,
                "waiting": at.waiting,
                "height": at.height,
                "over": at.over,
            }
        )


def _query_number(request: Request, name: str, most: float) -> float:
    asked = request.query_params.get(name, "0")
    if not (len(asked) < 16 and asked.replace(".", "", 1).isdecimal() and asked.isascii() and float(asked) <= most):
        raise OutOfRange(
            f"{name} is a number up to {most:g}.", why="The log has so many lines.", fix=f"Write {name}=0."
        )
    return float(asked)
