"""The board over HTTP: what it answers to whatever is sent, and a link that waits, tries again, and mistrusts."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from hubbub.gopa import Agreement, verify
from hubbub.gopa.in_process import People
from hubbub.gopa.network.board_http import app
from hubbub.gopa.network.board_link import HttpLink
from hubbub.gopa.network.board_server import Keeper
from hubbub.gopa.protocol import party, verifier
from hubbub.gopa.protocol.faults import Fault
from hubbub.terms import OutOfRange, SourceUnavailable
from tests.gopa.cast import cast, run, values
from tests.gopa.hosted import kept

JOIN = "/v1/messages"


@pytest.fixture
def who() -> People:
    return cast()


@asynccontextmanager
async def asked(who: People, folder: Path, *, largest: int = 1 << 20) -> AsyncIterator[httpx.AsyncClient]:
    """A board that runs, and a way to ask it; no port is opened."""
    with Keeper(who.agreement, who.board, folder / "run.log") as keeper:
        running = asyncio.create_task(keeper.run())
        transport = httpx.ASGITransport(app=app(keeper, largest=largest))
        async with httpx.AsyncClient(transport=transport, base_url="http://board") as client:
            yield client
        running.cancel()


def joined(who: People, place: int = 0) -> bytes:
    _, lines = party.step(party.start(who.agreement, who.identities[place], [1]), verifier.start(who.agreement))
    return lines[0]


def replies(answer: httpx.Response) -> list[tuple[bool, str | None]]:
    return [(one["taken"], one["fault"]) for one in answer.json()["replies"]]


def test_a_message_is_taken_told_and_in_the_log_on_disk(who: People, tmp_path: Path) -> None:
    line = joined(who)

    async def scenario() -> None:
        async with asked(who, tmp_path) as client:
            first = await client.post(JOIN, content=line)
            assert (first.status_code, replies(first)) == (200, [(True, None)])
            assert replies(await client.post(JOIN, content=line)) == [(True, None)]  # the same again is welcome
            status = (await client.get("/v1/status")).json()
            assert (status["phase"], status["posted"], status["waiting"], status["over"]) == ("join", 1, 6, False)
            assert Agreement.read((await client.get("/v1/agreement")).text) == who.agreement

    asyncio.run(scenario())
    assert (tmp_path / "run.log").read_bytes().split(b"\n")[1:] == [line, b""]


BAD: dict[str, tuple[Callable[[People, bytes], bytes], Fault]] = {
    "noise": (lambda who, line: secrets.token_bytes(200).replace(b"\n", b""), Fault.MALFORMED),
    "half a line": (lambda who, line: line[: len(line) // 2], Fault.MALFORMED),
    "other spelling": (lambda who, line: line.replace(b":", b": ", 1), Fault.MALFORMED),
    "deep": (lambda who, line: b"[" * 50_000, Fault.MALFORMED),
    "a number too long": (lambda who, line: line.replace(b'"party":0', b'"party":' + b"9" * 5000), Fault.MALFORMED),
    "a long line": (lambda who, line: b"x" * 300_000, Fault.OVERSIZED),
    "a long join": (lambda who, line: line.replace(b'"bits":"', b'"bits":"' + b"A" * 5000), Fault.OVERSIZED),
    "nobody": (lambda who, line: line.replace(b'"party":0', b'"party":70'), Fault.UNKNOWN_PARTY),
    "another name": (lambda who, line: line.replace(b'"party":0', b'"party":1'), Fault.BAD_SIGNATURE),
    "another run": (lambda who, line: joined(cast()), Fault.OTHER_RUN),
    "another phase": (lambda who, line: run(who, values()).parties[0].sent["reveal"], Fault.WRONG_PHASE),
}


@pytest.mark.parametrize("bad", BAD)
def test_what_is_no_message_is_refused_with_a_code_and_leaves_no_trace(who: People, tmp_path: Path, bad: str) -> None:
    make, fault = BAD[bad]

    async def scenario() -> None:
        async with asked(who, tmp_path) as client:
            line = joined(who)
            refused = await client.post(JOIN, content=make(who, line))
            assert (refused.status_code, replies(refused)) == (400, [(False, fault.value)])
            mixed = await client.post(JOIN, content=make(who, line) + b"\n" + line)
            assert (mixed.status_code, replies(mixed)) == (200, [(False, fault.value), (True, None)])

    asyncio.run(scenario())
    assert len((tmp_path / "run.log").read_bytes().split(b"\n")) == 3  # the agreement, the good one, and the end


def test_bodies_that_are_too_large_and_questions_that_make_no_sense_are_refused(who: People, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with asked(who, tmp_path, largest=1000) as client:
            large = await client.post(JOIN, content=b"x" * 1001)
            assert (large.status_code, large.json()) == (413, {"error": "oversized", "most": 1000})
            many = await client.post(JOIN, content=b"x\n" * 257)
            assert (many.status_code, many.json()) == (413, {"error": "oversized", "lines": 256})
            assert (await client.post(JOIN, content=b"x\n" * 256)).status_code == 400
            assert (await client.post(JOIN, content=b"")).status_code == 400
            for query in (
                "from=1",
                "from=-1",
                "from=x",
                "from=1e3",
                "from=" + "9" * 40,
                "wait=31",
                "wait=nan",
                "from=٣",
            ):
                assert (await client.get(f"/v1/log?{query}")).status_code == 404, query
            assert (await client.get("/v1/log?from=0&wait=0.05")).content == b""
            assert (await client.get("/elsewhere")).status_code == 404
            assert (await client.put(JOIN)).status_code == 405

    asyncio.run(scenario())


def test_two_different_messages_are_both_kept_as_evidence_and_a_third_is_not(who: People, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with asked(who, tmp_path) as client:
            said = [replies(await client.post(JOIN, content=joined(who)))[0] for _ in range(3)]
            assert said == [(True, None), (False, "equivocation"), (False, "equivocation")]

    asyncio.run(scenario())
    assert len((tmp_path / "run.log").read_bytes().split(b"\n")) == 4


def test_a_full_disk_is_told_and_the_same_message_is_taken_later(
    who: People, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    async def scenario() -> None:
        async with asked(who, tmp_path) as client:
            with monkeypatch.context() as patch:
                patch.setattr(os, "fsync", full)
                refused = await client.post(JOIN, content=joined(who))
                assert (refused.status_code, "Retry-After" in refused.headers) == (503, True)
                assert str(tmp_path) not in refused.text
            assert (await client.get("/v1/status")).json()["posted"] == 0
            assert replies(await client.post(JOIN, content=joined(who))) == [(True, None)]

    asyncio.run(scenario())


def test_a_reader_gets_the_log_in_pages_and_waits_for_a_close(
    who: People, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = run(who, values())
    lines = told.log
    (tmp_path / "run.log").write_bytes(b"".join(line + b"\n" for line in lines))
    monkeypatch.setattr("hubbub.gopa.network.board_server.PAGE", 3000)

    async def scenario() -> list[bytes]:
        found: list[bytes] = []
        async with kept(who, tmp_path) as keeper:
            while page := await keeper.read(len(found)):
                assert sum(map(len, page)) <= 3000 or len(page) == 1
                found += page
        return found

    found = asyncio.run(scenario())
    assert found == lines[1:]
    assert verify([lines[0], *found]).complete


# ---------------------------------------------------------------- a link to something strange

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def http(status: str, body: bytes) -> Answer:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
        await writer.drain()
        writer.close()

    return answer


def no_http(data: bytes) -> Answer:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()
        writer.close()

    return answer


def endless() -> Answer:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
        try:
            while True:
                writer.write(b"x" * 65536)
                await writer.drain()
        except ConnectionError:
            writer.close()

    return answer


async def linked(answer: Answer, use: Callable[[HttpLink], Awaitable[object]]) -> None:
    """Use a link to a server of ours that answers so, on loopback."""
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, HttpLink(f"http://127.0.0.1:{port}/", give_up=0.3) as link:
        await use(link)


@pytest.mark.parametrize(
    "answer",
    [
        http("200 OK", b"no json"),
        http("200 OK", b"[1]"),
        http("200 OK", b'{"replies": [{"fault": "no such", "party": 1}]}'),
        http("200 OK", b'{"replies": [{"fault": null, "party": "x"}]}'),
        http("200 OK", b'{"replies": []}'),
        http("404 Not Found", b"nothing here"),
        http("503 Later", b"{}"),
        no_http(b"220 mail\r\n"),
        no_http(b""),
    ],
)
def test_a_link_to_what_is_no_board_says_so(answer: Answer) -> None:
    async def use(link: HttpLink) -> None:
        with pytest.raises(SourceUnavailable):
            await link.post([b"{}"])

    asyncio.run(linked(answer, use))


def test_an_answer_without_end_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hubbub.gopa.network.board_link.MOST", 1 << 20)

    async def use(link: HttpLink) -> None:
        with pytest.raises(SourceUnavailable, match="does not answer as a board does"):
            await link.read(0)

    asyncio.run(linked(endless(), use))


def test_a_board_that_lost_its_log_is_noticed() -> None:
    async def use(link: HttpLink) -> None:
        with pytest.raises(OutOfRange, match="fewer lines"):
            await link.read(9)

    asyncio.run(linked(http("404 Not Found", b"{}"), use))


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "nonsense", "ftp://127.0.0.1", "http://"])
def test_an_address_without_a_board_is_told(url: str) -> None:
    async def scenario() -> None:
        async with HttpLink(url, give_up=0.1) as link:
            with pytest.raises(SourceUnavailable, match="does not answer"):
                await link.read(0)

    asyncio.run(scenario())


def test_a_board_that_comes_back_is_asked_again() -> None:
    answers = [http("503 Later", b"{}"), no_http(b""), http("200 OK", json.dumps({"close": "x"}).encode() + b"\n")]

    async def turn(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await answers.pop(0)(reader, writer)

    async def use(link: HttpLink) -> None:
        link._give_up = 30
        assert await link.read(0) == [b'{"close": "x"}']

    asyncio.run(linked(turn, use))
    assert answers == []
