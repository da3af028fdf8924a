"""HTTP, said once: applications with limits and guards, a server on a socket, and one client.

``asgi`` makes an application of endpoints and serves it; ``client`` asks others, with an end to what it reads and to
how long it waits. Nothing here knows what is served: the collector of ``local`` and the board of ``gopa`` stand on it.
Starlette, uvicorn and httpx are imported when they are used. Start with ``asgi``.
"""

from hubbub.web.asgi import (
    LOOPBACK,
    Endpoint,
    build_application,
    bytes_response,
    create_server,
    json_response,
    listening_socket,
    read_body,
    serve_application,
)
from hubbub.web.client import (
    AsyncWebClient,
    BadAddress,
    EndlessAnswer,
    Unanswered,
    WebAnswer,
    WebClient,
    environment_proxy,
    growing_pauses,
)

__all__ = [
    "LOOPBACK",
    "AsyncWebClient",
    "BadAddress",
    "EndlessAnswer",
    "Endpoint",
    "Unanswered",
    "WebAnswer",
    "WebClient",
    "build_application",
    "bytes_response",
    "create_server",
    "environment_proxy",
    "growing_pauses",
    "json_response",
    "listening_socket",
    "read_body",
    "serve_application",
]
