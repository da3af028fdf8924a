"""ASGI applications of a few endpoints: routes, body limits, guards, errors as JSON, and a server on a socket.

What is safe is the default: no page of another site may read an answer, nothing is cached, nothing may run in a page,
and no error of ours tells more than its code and, where the question was wrong, its first sentence. An application that
pages of any site may call says so (``any_origin``); one for a browser on this machine answers under its own names alone
(``hosts``).
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from types import FrameType
from typing import TYPE_CHECKING, TypeAlias

from hubbub.terms import HubbubError, InvalidParameter, SourceUnavailable
from hubbub.web.packages import missing_package

if TYPE_CHECKING:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

    from hubbub.render import Json

Endpoint: TypeAlias = Callable[["Request"], Awaitable["Response"]]
Lifespan: TypeAlias = Callable[["Starlette"], AbstractAsyncContextManager[None]]

LOOPBACK = ("127.0.0.1", "localhost", "::1")  # names of this machine
_SAFE = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


@asynccontextmanager
async def _no_lifespan(_: Starlette) -> AsyncIterator[None]:
    yield


def build_application(
    endpoints: Mapping[tuple[str, str], Endpoint],
    *,
    any_origin: bool = False,
    origin_headers: Collection[str] = (),
    hosts: Sequence[str] | None = None,
    lifespan: Lifespan = _no_lifespan,
) -> Starlette:
    """An application of endpoints by (method, path).

    Pages of other sites cannot read its answers, unless ``any_origin`` lets them: right only where there are no
    cookies, no logins and no address that is more trusted than another, so that there is nothing to borrow. They may
    then also send the headers named in ``origin_headers``. With ``hosts``, only requests that name one of these hosts
    are answered: a page whose own name was made to point to this machine (DNS rebinding) gets nothing.
    """
    try:
        from starlette.applications import Starlette
        from starlette.exceptions import HTTPException
        from starlette.routing import Route
    except ImportError:
        raise missing_package("starlette") from None
    middleware = [*([_any_origin(origin_headers)] if any_origin else []), *([] if hosts is None else [_named(hosts)])]
    return Starlette(
        routes=[Route(path, _guarded(endpoint), methods=[method]) for (method, path), endpoint in endpoints.items()],
        middleware=middleware,
        exception_handlers={HTTPException: _refused_request, Exception: _failed_request},
        lifespan=lifespan,
    )


# ---------------------------------------------------------------- guards


def _any_origin(headers: Collection[str]) -> Middleware:
    from starlette.middleware import Middleware
    from starlette.middleware.cors import CORSMiddleware

    return Middleware(
        CORSMiddleware,
        allow_origins=["*"],
        allow_methods=["GET", "POST"],
        allow_headers=["Content-Type", *headers],
        max_age=3600,
    )


def _named(hosts: Sequence[str]) -> Middleware:
    from starlette.middleware import Middleware

    return Middleware(_NamedHosts, hosts=hosts)


class _NamedHosts:
    """Passes on requests whose one ``Host`` header is a name of ours, with any port."""

    def __init__(self, app: ASGIApp, hosts: Sequence[str]) -> None:
        self._app = app
        self._hosts = {host.strip("[]").lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or host_of(scope["headers"]) in self._hosts:
            await self._app(scope, receive, send)
        else:
            response = json_response({"error": "host", "message": "not a name of this server"}, status=400)
            await response(scope, receive, send)


def host_of(headers: Sequence[tuple[bytes, bytes]]) -> str | None:
    """The host that a request names, without its port; None unless there is exactly one."""
    values = [value.decode("latin-1").strip().lower() for name, value in headers if name.lower() == b"host"]
    if len(values) != 1:
        return None
    if values[0].startswith("["):
        return values[0][1:].partition("]")[0]
    return values[0].partition(":")[0]


def _guarded(endpoint: Endpoint) -> Endpoint:
    """The endpoint, with our errors as answers: what was asked wrongly is 404, what cannot be done just now 503.

    The second says no more than its code: its sentence may name a file of this machine.
    """

    async def answer(request: Request) -> Response:
        try:
            return await endpoint(request)
        except InvalidParameter as error:
            return json_response({"error": error.code, "message": error.what}, status=404)
        except HubbubError as error:
            content = {"error": error.code, "message": "try again"}
            return json_response(content, status=503, headers={"Retry-After": "5"})

    return answer


async def _refused_request(request: Request, error: Exception) -> Response:
    """No such path, or not by this method."""
    status: int = getattr(error, "status_code", 400)
    headers: Mapping[str, str] | None = getattr(error, "headers", None)
    return json_response({"error": "no-such-page" if status == 404 else "refused"}, status=status, headers=headers)


async def _failed_request(request: Request, error: Exception) -> Response:
    """A fault of ours; it is raised again after this answer, and the server's log has it."""
    return json_response({"error": "internal"}, status=500)


# ---------------------------------------------------------------- bodies and answers


async def read_body(request: Request, *, largest: int) -> bytes | None:
    """The body, or None if it is larger than allowed (the rest is not read)."""
    from starlette.requests import ClientDisconnect

    chunks, size = [], 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size > largest:
                return None
            chunks.append(chunk)
    except ClientDisconnect:
        return b""  # nobody is there to be answered, and a part of a message is none
    return b"".join(chunks)


def json_response(content: Json, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON answer."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n"
    return bytes_response(text.encode(), media_type="application/json", status=status, headers=headers)


def bytes_response(
    content: bytes, *, media_type: str, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """An answer of any kind, with the safe headers unless others are given."""
    from starlette.responses import Response

    return Response(content, status_code=status, headers={**_SAFE, **(headers or {})}, media_type=media_type)


# ---------------------------------------------------------------- serving


def serve_application(application: Starlette, *, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Serve until interrupted; ``ready`` gets the address, with a slash at its end. Port 0 takes any that is free."""
    server = create_server(application, most_connections=256)
    with listening_socket(host, port) as (listening, address):
        ready(f"{address}/")
        server.run(sockets=[listening])


def create_server(
    application: Starlette,
    *,
    most_connections: int | None = None,
    grace: int | None = None,
    on_exit: Callable[[], None] = lambda: None,
) -> uvicorn.Server:
    """A server that keeps no access log and reads no header that names a sender's address.

    When it is told to leave it calls ``on_exit``, and then lets requests end for ``grace`` seconds (None: as long as
    they need).
    """
    try:
        import uvicorn
    except ImportError:
        raise missing_package("uvicorn") from None

    class Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            on_exit()
            super().handle_exit(sig, frame)

    config = uvicorn.Config(
        application,
        access_log=False,
        log_config=None,  # the program's own log stays as it is
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=grace,
        limit_concurrency=most_connections,
    )
    return Server(config)


@contextmanager
def listening_socket(host: str, port: int) -> Iterator[tuple[socket.socket, str]]:
    """A socket that listens, and its address as a URL without a slash at the end."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise SourceUnavailable(
            f"nothing can listen on {host}, port {port}: {os.strerror(error.errno or 0).lower()}.",
            why="Another program has the port, or the address is not this machine's.",
            fix="Give another --port (0 takes any that is free) or --host.",
        ) from None
    with listening:
        name = f"[{host}]" if ":" in host else host
        yield listening, f"http://{name}:{listening.getsockname()[1]}"
