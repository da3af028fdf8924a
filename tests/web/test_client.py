"""The client: a whole answer or none, an end to everything, and nothing of the user goes along."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hubbub import web
from hubbub.terms import MissingExtra
from hubbub.web import client as client_module

WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
Ask = Callable[..., web.WebAnswer]


def ask(url: str, *, largest: int = 1000, seconds: float = 5.0) -> web.WebAnswer:
    with web.WebClient(url, largest=largest, seconds=seconds) as client:
        return client.ask("POST", "/x", content=b"hello")


def ask_async(url: str, *, largest: int = 1000, seconds: float = 5.0) -> web.WebAnswer:
    async def scenario() -> web.WebAnswer:
        client = web.AsyncWebClient(url, largest=largest, seconds=seconds)
        try:
            return await client.ask("POST", "/x", content=b"hello")
        finally:
            await client.aclose()

    return asyncio.run(scenario())


both = pytest.mark.parametrize("ask", [ask, ask_async])


@contextmanager
def answering(*answers: bytes, endless: bytes = b"") -> Iterator[tuple[str, list[bytes]]]:
    """A server that gives one answer to each connection; its address, and what it was asked."""
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            for answer in answers:
                connection, _ = listening.accept()
                with connection:
                    asked.append(_request(connection))
                    connection.sendall(answer)
                    try:
                        while endless:
                            connection.sendall(endless)
                    except OSError:
                        pass

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", asked
        thread.join(30)
        assert not thread.is_alive()


def _request(connection: socket.socket) -> bytes:
    data = b""
    while not data.endswith(b"hello"):
        chunk = connection.recv(65536)
        if not chunk:
            break
        data += chunk
    return data


@both
def test_an_answer_is_given_whole_with_its_status(ask: Ask) -> None:
    with answering(b"HTTP/1.1 404 No\r\nContent-Length: 3\r\n\r\n[1]") as (url, asked):
        answer = ask(f"{url}/")
    assert (answer.status, answer.content, answer.json()) == (404, b"[1]", [1])
    assert asked[0].startswith(b"POST /x HTTP/1.1\r\n")


@both
@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 2", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"]
)
def test_half_an_answer_is_none(ask: Ask, answer: bytes) -> None:
    with answering(answer) as (url, _), pytest.raises(web.Unanswered):
        ask(url)


@both
@pytest.mark.parametrize("url", ["nonsense", "ftp://127.0.0.1", "http://", "http://[::1", "http://127.0.0.1:99999"])
def test_what_is_no_address_will_never_be_one(ask: Ask, url: str) -> None:
    with pytest.raises(web.BadAddress):
        ask(url)


@both
def test_nobody_there_is_no_answer_and_quotes_nothing(ask: Ask) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(web.Unanswered) as raised:
        ask(f"http://user:password@127.0.0.1:{port}")
    assert not isinstance(raised.value, web.BadAddress)
    assert str(raised.value) == ""


@both
@pytest.mark.parametrize("size", [999, 1000, 1001])
def test_an_answer_is_read_up_to_its_limit(ask: Ask, size: int) -> None:
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n".encode()
    with answering(head + b"x" * size) as (url, _):
        if size <= 1000:
            assert len(ask(url).content) == size
        else:
            with pytest.raises(web.EndlessAnswer):
                ask(url)


@both
def test_an_answer_without_end_is_not_read_to_its_end(ask: Ask) -> None:
    with (
        answering(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", endless=b"x" * 65536) as (url, _),
        pytest.raises(web.EndlessAnswer),
    ):
        ask(url, largest=1 << 20)


@both
def test_an_answer_that_drips_for_ever_ends(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "_LONGEST", 0.0)
    with answering(WHOLE) as (url, _), pytest.raises(web.EndlessAnswer):
        ask(url)


@both
def test_a_small_answer_does_not_unpack_into_a_large_one(ask: Ask) -> None:
    packed = gzip.compress(bytes(10_000_000))
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(packed)}\r\n\r\n".encode()
    with answering(head + packed) as (url, asked):
        assert ask(url, largest=20_000).content == packed
    assert b"accept-encoding: identity" in asked[0].lower()


@both
def test_a_redirect_is_an_answer_and_is_not_followed(ask: Ask) -> None:
    with answering(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n") as (url, _):
        assert ask(url).status == 302


def test_nothing_of_the_user_goes_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login alice password secret\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    first = b"HTTP/1.1 200 OK\r\nSet-Cookie: who=alice\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"
    with answering(first, WHOLE) as (url, asked), web.WebClient(url, largest=1000) as client:
        client.ask("POST", "/x", content=b"hello")
        client.ask("POST", "/x", content=b"hello")
    assert len(asked) == 2
    for request in asked:
        for words in (b"alice", b"cookie", b"authorization", b"python"):
            assert words not in request.lower()


def test_a_proxy_is_used_where_the_environment_names_one_and_it_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    assert web.environment_proxy("http://collector.example/") is None
    monkeypatch.setenv("http_proxy", "proxy.example:3128")
    assert web.environment_proxy("http://collector.example/") == "http://proxy.example:3128"
    assert web.environment_proxy("https://collector.example/") is None
    monkeypatch.setenv("no_proxy", "collector.example")
    assert web.environment_proxy("http://collector.example/") is None
    with answering(WHOLE) as (proxy, asked):
        with web.WebClient("http://nowhere.invalid", largest=1000, proxy=proxy) as client:
            client.ask("POST", "/x", content=b"hello")
        assert asked[0].startswith(b"POST http://nowhere.invalid/x ")


def test_a_proxy_that_cannot_be_used_is_not_passed_by(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(web.BadAddress):
        web.WebClient("http://127.0.0.1:9", largest=1, proxy="gopher://proxy.example")


@pytest.mark.parametrize("content", [b"", b"{", b"[" * 100_000, b"\xff"])
def test_what_is_no_json_is_a_value_error(content: bytes) -> None:
    with pytest.raises(ValueError):
        web.WebAnswer(200, content).json()


def test_pauses_grow_to_the_longest() -> None:
    assert list(itertools.islice(web.growing_pauses(1, 5), 5)) == [1, 2, 4, 5, 5]


@both
def test_without_httpx_the_way_to_install_it_is_told(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingExtra, match=r"\.\[collect\]"):
        ask("http://127.0.0.1:9")
