"""Applications: what is safe is the default, limits hold, and every error is JSON that tells nothing private."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from hubbub import web
from hubbub.terms import LedgerUnavailable, MissingExtra, OutOfRange, SourceUnavailable
from hubbub.web.asgi import host_of

ELSEWHERE = {"origin": "https://shop.example"}


async def hello(request: Request) -> Response:
    return web.json_response({"hello": "Grüße"})


async def echo(request: Request) -> Response:
    data = await web.read_body(request, largest=1000)
    return web.json_response({"error": "too-large"}, status=413) if data is None else web.json_response(len(data))


async def wrong(request: Request) -> Response:
    raise OutOfRange("an epoch is a whole number.", why="w", fix="f")


async def away(request: Request) -> Response:
    raise LedgerUnavailable("/srv/secret/run.log cannot be written.", why="w", fix="f")


async def broken(request: Request) -> Response:
    raise RuntimeError("/srv/secret")


ENDPOINTS: dict[tuple[str, str], web.Endpoint] = {
    ("GET", "/hello"): hello,
    ("POST", "/echo"): echo,
    ("GET", "/wrong"): wrong,
    ("GET", "/away"): away,
    ("GET", "/broken"): broken,
}


def ask(
    application: Starlette, method: str = "GET", path: str = "/hello", *, content: object = None, **headers: str
) -> httpx.Response:
    async def scenario() -> httpx.Response:
        transport = httpx.ASGITransport(app=application, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            return await client.request(method, path, content=content, headers=sent)  # type: ignore[arg-type]

    return asyncio.run(scenario())


def test_no_page_of_another_site_reads_an_answer_unless_that_is_asked_for() -> None:
    closed, opened = web.build_application(ENDPOINTS), web.build_application(ENDPOINTS, any_origin=True)
    assert "access-control-allow-origin" not in ask(closed, **ELSEWHERE).headers
    assert ask(opened, **ELSEWHERE).headers["access-control-allow-origin"] == "*"
    asked = {**ELSEWHERE, "access_control_request_method": "POST"}
    assert ask(closed, "OPTIONS", "/echo", **asked).status_code == 405
    assert ask(opened, "OPTIONS", "/echo", **asked).headers["access-control-allow-origin"] == "*"


def test_pages_elsewhere_never_send_cookies_along_and_only_the_headers_that_were_named() -> None:
    opened = web.build_application(ENDPOINTS, any_origin=True, origin_headers=["X-Token"])
    asked = {**ELSEWHERE, "access_control_request_method": "POST"}
    allowed = ask(opened, "OPTIONS", "/echo", **asked, access_control_request_headers="x-token")
    assert allowed.status_code == 200
    assert "access-control-allow-credentials" not in allowed.headers
    assert ask(opened, "OPTIONS", "/echo", **asked, access_control_request_headers="x-other").status_code == 400


@pytest.mark.parametrize("path", ["/hello", "/wrong", "/away", "/broken", "/nowhere"])
def test_every_answer_is_json_with_the_safe_headers(path: str) -> None:
    answer = ask(web.build_application(ENDPOINTS), path=path)
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert isinstance(answer.json(), dict)


@pytest.mark.parametrize(
    ("method", "path", "status", "content"),
    [
        ("GET", "/wrong", 404, {"error": "P102", "message": "an epoch is a whole number."}),
        ("GET", "/away", 503, {"error": "P414", "message": "try again"}),
        ("GET", "/broken", 500, {"error": "internal"}),
        ("GET", "/nowhere", 404, {"error": "no-such-page"}),
        ("POST", "/hello", 405, {"error": "refused"}),
    ],
)
def test_errors_are_json_and_name_no_file_of_ours(method: str, path: str, status: int, content: object) -> None:
    answer = ask(web.build_application(ENDPOINTS), method, path)
    assert (answer.status_code, answer.json()) == (status, content)
    assert "secret" not in answer.text
    assert (answer.headers.get("retry-after") is not None) == (status == 503)
    assert (answer.headers.get("allow") is not None) == (status == 405)


@pytest.mark.parametrize("size", [0, 1, 999, 1000, 1001, 5000])
def test_a_body_is_read_up_to_its_limit_with_or_without_a_length(size: int) -> None:
    async def parts() -> AsyncIterator[bytes]:
        for _ in range(size):
            yield b"x"

    application = web.build_application(ENDPOINTS)
    for content in (b"x" * size, parts()):
        answer = ask(application, "POST", "/echo", content=content)
        assert answer.status_code == (200 if size <= 1000 else 413)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8765", "LOCALHOST:1", "[::1]", "[::1]:8767"])
def test_a_page_for_this_machine_answers_under_its_names(host: str) -> None:
    assert ask(web.build_application(ENDPOINTS, hosts=web.LOOPBACK), host=host).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "evil.example:127", "", "[::2]", "localhost.", "@localhost"]
)
def test_and_under_no_other(host: str) -> None:
    answer = ask(web.build_application(ENDPOINTS, hosts=web.LOOPBACK), host=host)
    assert (answer.status_code, answer.json()["error"]) == (400, "host")


def test_two_host_headers_are_none() -> None:
    assert host_of([(b"host", b"localhost")]) == "localhost"
    assert host_of([(b"host", b"localhost"), (b"Host", b"evil.example")]) is None
    assert host_of([]) is None


def test_a_server_tells_its_address_serves_and_leaves_when_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("logging.config.dictConfig", lambda _: pytest.fail("the program's own log was changed"))
    left: list[str] = []
    server = web.create_server(web.build_application(ENDPOINTS), grace=2, on_exit=lambda: left.append("left"))
    with web.listening_socket("127.0.0.1", 0) as (listening, address):
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        answer = httpx.get(f"{address}/hello", trust_env=False)
        server.handle_exit(signal.SIGTERM, None)
        thread.join(30)
    assert answer.json() == {"hello": "Grüße"}
    assert "server" not in answer.headers
    assert left == ["left"]
    assert not thread.is_alive()


def test_a_port_that_is_taken_is_said_in_our_words() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(SourceUnavailable, match="nothing can listen"),
        web.listening_socket("127.0.0.1", taken.getsockname()[1]),
    ):
        pytest.fail("two programs on one port")


@pytest.mark.parametrize("name", ["uvicorn", "starlette.applications"])
def test_without_the_packages_the_way_to_install_them_is_told(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match=r"\.\[collect\].*the extra \[gopa\]"):
        web.create_server(web.build_application(ENDPOINTS))
