"""The collector over real HTTP: any batch gets an answer, no sender is remembered, and a kill loses nothing."""

from __future__ import annotations

import gzip
import random
import re
import resource
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from hubbub.local.collection import collector_client, report_wire, tokens
from hubbub.local.collection.collector import Collector, Rules
from hubbub.local.collection.collector_http import LARGEST, TOKEN, collector_app, owner_app, serve
from hubbub.local.shuffling import shuffler_http
from hubbub.local.shuffling.shuffler import Shuffler
from hubbub.terms import BadReport, MissingExtra, OutOfRange, SourceUnavailable
from tests.ledger._processes import Child, Report
from tests.local._collecting import Desk, collection, frame, packed


@contextmanager
def served(store: Path, *, rules: Rules | None = None, port: int = 0, largest: int = LARGEST) -> Iterator[Any]:
    """A collector in a process of its own; gives its address and its process."""
    child = Child(lambda report: _serve(store, rules, port, largest, report))
    try:
        yield child.next()["address"], child
    finally:
        if child.pid:
            child.kill()


def _serve(store: Path, rules: Rules | None, port: int, largest: int, report: Report) -> None:
    with Collector(store, rules=rules) as collector:
        serve(collector_app(collector, largest=largest), port=port, ready=lambda address: report(address=address))


@contextmanager
def shown(store: Path) -> Iterator[httpx.Client]:
    """The owner's page, in a process and on a port of its own."""
    child = Child(lambda report: _show(store, report))
    try:
        with httpx.Client(base_url=child.next()["address"], timeout=60) as client:
            yield client
    finally:
        child.kill()


def _show(store: Path, report: Report) -> None:
    with Collector(store) as collector:
        serve(owner_app(collector), port=0, ready=lambda address: report(address=address))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(collection(epochs=3), tmp_path)
    made.store().close()
    return made


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Desk, httpx.Client]]:
    """One collector for the tests that do not mind each other."""
    desk = Desk(collection(epochs=3), tmp_path_factory.mktemp("shared"))
    desk.store().close()
    with served(desk.folder / "reports.db", largest=100_000) as (address, _), httpx.Client(base_url=address) as client:
        yield desk, client


def post(client: httpx.Client, batch: bytes, **headers: str) -> httpx.Response:
    return client.post("/v1/reports", content=batch, headers=headers)


# ---------------------------------------------------------------- answers


def test_a_batch_is_answered_with_counts(shared: tuple[Desk, httpx.Client]) -> None:
    desk, client = shared
    reports = packed(desk.collection, 300, seed=11)
    assert post(client, frame(reports)).json() == {"accepted": 300, "duplicates": 0, "rejected": {}}
    assert post(client, frame([*reports, b"X" + reports[0][1:]])).json() == {
        "accepted": 0,
        "duplicates": 300,
        "rejected": {"malformed": 1},
    }


def test_the_json_twin_is_answered_alike(shared: tuple[Desk, httpx.Client]) -> None:
    desk, client = shared
    reports = [report_wire.parse(desk.collection, report) for report in packed(desk.collection, 5, seed=12)]
    twins = [report_wire.to_json(desk.collection, report) for report in reports]
    twins[0]["digest"] = "00" * 16
    told = client.post("/v1/reports", json=[*twins, {}])
    assert told.json() == {"accepted": 4, "duplicates": 0, "rejected": {"digest": 1, "malformed": 1}}


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", "application/octet-stream"),
        (b"garbage", "application/octet-stream"),
        (b"HBB\x02" + bytes(8), "application/octet-stream"),
        (b"{}", "application/json"),
        (b"[" * 50_000, "application/json"),
        (b"\xff\xfe", "application/json"),
        (b"[1e999999]", "application/json; charset=utf-8"),
        (b"[NaN", "APPLICATION/JSON"),
        (gzip.compress(b"HBB", mtime=0), "application/octet-stream"),
    ],
)
def test_only_an_unreadable_batch_is_refused_as_a_whole(
    shared: tuple[Desk, httpx.Client], content: bytes, kind: str
) -> None:
    told = post(shared[1], content, **{"content-type": kind})
    if content == b"[1e999999]":
        assert told.json() == {"accepted": 0, "duplicates": 0, "rejected": {"malformed": 1}}
        return
    assert told.status_code == 400
    assert told.json()["error"] in report_wire.REASONS


def test_a_batch_that_is_too_large_is_refused_with_or_without_a_length(shared: tuple[Desk, httpx.Client]) -> None:
    _, client = shared
    assert post(client, bytes(100_001)).status_code == 413
    told = client.post("/v1/reports", content=(bytes(1000) for _ in range(200)))
    assert (told.status_code, told.json()["most"]) == (413, 100_000)


def test_whatever_is_sent_the_answer_is_never_a_failure_of_the_server(
    shared: tuple[Desk, httpx.Client], soak: int
) -> None:
    desk, client = shared
    chance, good = random.Random(3), frame(packed(desk.collection, 4, seed=13))
    paths = ["/v1/reports", "/v1/collection", "/v1/estimate.json", "/", "/?epoch=9", "/?epoch=x", "/?epoch=-1", "/../x"]
    kinds = ["application/json", "application/octet-stream", "", "text/plain", "\u00ff"]
    for _ in range(100 * soak):
        body = bytearray(good)
        for _ in range(chance.choice([0, 1, 5, 200])):
            body[chance.randrange(len(body))] = chance.randrange(256)
        told = client.request(
            chance.choice(["POST", "POST", "POST", "GET", "PUT", "OPTIONS", "HEAD"]),
            chance.choice([paths[0], *paths]),
            content=bytes(body)[: chance.choice([len(body), chance.randrange(len(body))])],
            headers={
                "content-type": chance.choice(kinds).encode("latin-1"),
                TOKEN: chance.choice(["", "x", "A" * 500]),
            },
        )
        assert told.status_code in {200, 304, 400, 404, 405}, told.text
    assert client.get("/v1/collection").status_code == 200


def test_a_sender_that_hangs_up_in_the_middle_harms_nobody(shared: tuple[Desk, httpx.Client]) -> None:
    desk, client = shared
    batch = frame(packed(desk.collection, 50, seed=14))
    before = _kept(desk)
    for cut in (0, 10, len(batch) - 1):
        with socket.create_connection((client.base_url.host, client.base_url.port or 80)) as raw:
            head = f"POST /v1/reports HTTP/1.1\r\nHost: x\r\nContent-Length: {len(batch)}\r\n\r\n"
            raw.sendall(head.encode() + batch[:cut])
    assert _kept(desk) == before
    assert post(client, batch).json()["accepted"] == 50


def _kept(desk: Desk) -> int:
    with Collector(desk.folder / "reports.db") as collector:
        return collector.tally(0).reports


# ---------------------------------------------------------------- what everybody may read


def test_where_reports_are_sent_nothing_is_seen_of_what_came(desk: Desk) -> None:
    """Every answer but one's own receipt is the same before and after others report, headers included."""
    paths = [
        "/",
        "/?epoch=0",
        "/v1/estimate.json",
        "/v1/collection",
        "/sdk/hubbub.js",
        "/v1/reports",
        "/health",
        "/metrics",
    ]
    with served(desk.folder / "reports.db") as (address, _), httpx.Client(base_url=address) as client:

        def seen() -> list[Any]:
            answers = [client.request(method, path) for path in paths for method in ("GET", "HEAD", "OPTIONS")]
            headers = [sorted(set(each.headers.items()) - {("date", each.headers.get("date"))}) for each in answers]
            return [(each.status_code, each.content, header) for each, header in zip(answers, headers, strict=True)]

        before = seen()
        for number in range(5):
            answer = post(client, frame(packed(desk.collection, 1, seed=number)))
            assert answer.json() == {"accepted": 1, "duplicates": 0, "rejected": {}}
            assert seen() == before
        post(client, frame(packed(desk.collection, 500, seed=99)))
        assert seen() == before


def test_the_owners_page_answers_no_page_of_another_site(desk: Desk) -> None:
    with shown(desk.folder / "reports.db") as client:
        page = client.get("/", headers={"origin": "https://shop.example"})
        assert page.status_code == 200
        assert "access-control-allow-origin" not in page.headers
        assert page.headers["cache-control"] == "no-store"
        for name in ("shop.example", "127.0.0.1.shop.example", ""):  # a name that was made to point here
            assert client.get("/", headers={"host": name}).status_code == 400
        assert client.post("/v1/reports", content=b"x").status_code == 404


def test_the_configuration_is_served_as_it_was_signed_and_may_be_cached(shared: tuple[Desk, httpx.Client]) -> None:
    desk, client = shared
    told = client.get("/v1/collection")
    assert told.text == desk.signed
    assert "max-age" in told.headers["cache-control"]
    again = client.get("/v1/collection", headers={"if-none-match": told.headers["etag"]})
    assert (again.status_code, again.text) == (304, "")
    assert collector_client.fetch(str(client.base_url)) == desk.signed


def test_pages_of_other_sites_may_send_and_nothing_may_run_in_ours(shared: tuple[Desk, httpx.Client]) -> None:
    _, client = shared
    asked = {"origin": "https://shop.example", "access-control-request-method": "POST"}
    allowed = client.options("/v1/reports", headers={**asked, "access-control-request-headers": "content-type"})
    assert allowed.headers["access-control-allow-origin"] == "*"
    page = client.get("/v1/collection")
    assert "script-src" not in page.headers["content-security-policy"]
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "server" not in page.headers


def test_the_sdk_is_served_as_a_module(shared: tuple[Desk, httpx.Client]) -> None:
    told = shared[1].get("/sdk/hubbub.js")
    assert told.headers["content-type"] == "text/javascript; charset=utf-8"
    assert "export" in told.text


def test_the_estimate_is_data_and_waits_for_the_minimum(desk: Desk) -> None:
    with Collector(desk.folder / "reports.db") as collector, shown(desk.folder / "reports.db") as client:
        collector.take(frame(packed(desk.collection, 99)))
        waiting = client.get("/v1/estimate.json").json()
        assert (waiting["reports"], waiting["estimate"]) == (0, None)
        collector.take(frame(packed(desk.collection, 901, seed=2)))
        told = client.get("/v1/estimate.json").json()
        assert len(told["estimate"]["values"]) == len(told["estimate"]["interval_95"]) == 4
        assert client.get("/v1/estimate.json?epoch=1").json()["reports"] == 0
        assert client.get("/v1/estimate.json?epoch=3").status_code == 404


# ---------------------------------------------------------------- nothing about senders


def test_neither_the_store_nor_the_output_knows_who_sent(desk: Desk, tmp_path: Path) -> None:
    marks = {"user-agent": "SecretBrowser/9", "x-forwarded-for": "203.0.113.77", "cookie": "who=alice"}
    log = tmp_path / "log"
    with log.open("wb") as out:
        command = [sys.executable, "-m", "hubbub.cli", "collect", "serve", str(desk.folder), "--port", "0"]
        process = subprocess.Popen(command, stdout=out, stderr=out)
        try:
            address = _address(log)
            with httpx.Client(base_url=address, headers=marks) as client:
                assert post(client, frame(packed(desk.collection, 200))).json()["accepted"] == 200
                client.get("/")
                client.get("/nowhere")
                post(client, b"garbage")
        finally:
            process.terminate()
            process.wait(30)
    kept = b"".join(path.read_bytes() for path in desk.folder.iterdir() if path.name.startswith("reports.db"))
    for words in (b"SecretBrowser", b"203.0.113.77", b"alice", b"127.0.0.1"):
        assert words not in kept
        if words != b"127.0.0.1":
            assert words not in log.read_bytes()
    assert log.read_bytes().count(b"127.0.0.1") == 1  # where it listens
    with sqlite3.connect(desk.folder / "reports.db") as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(reports)")]
    connection.close()
    assert columns == ["epoch", "id", "payload"]


def _address(log: Path) -> str:
    for _ in range(600):
        if found := re.search(r"http://\S+", log.read_text()):
            return found[0]
        time.sleep(0.05)
    raise AssertionError(log.read_text())


def test_reports_are_kept_in_the_order_of_their_ids_and_not_of_arrival(desk: Desk) -> None:
    reports = packed(desk.collection, 100)
    with Collector(desk.folder / "reports.db") as collector:
        for report in reports:
            collector.take(frame([report]))
        kept = [name for part in collector.store.reports(0) for name, _ in part]
    arrived = [report_wire.parse(desk.collection, report).id for report in reports]
    assert kept == sorted(arrived) != arrived


# ---------------------------------------------------------------- killed and restarted


def test_killed_and_restarted_under_load_nothing_is_lost_or_counted_twice(desk: Desk, soak: int) -> None:
    """Two clients send batches and send again whatever was not answered; the collector is killed again and again."""
    store, port, kills = desk.folder / "reports.db", _free_port(), 6 * soak
    batches = [frame(packed(desk.collection, 50, seed=seed)) for seed in range(60 * soak)]
    acknowledged: list[dict[str, Any]] = []
    clients = [
        threading.Thread(target=_send_all, args=(f"http://127.0.0.1:{port}", batches[part::2], acknowledged))
        for part in range(2)
    ]
    chance, started = random.Random(8), False
    for number in range(kills + 1):
        with served(store, port=port) as (_, child):
            if not started:
                for client in clients:
                    client.start()
                started = True
            if number == kills:
                for client in clients:
                    client.join()
            else:
                time.sleep(0.02 + chance.random() / 10)
            child.kill()
            child.pid = 0
    assert len(acknowledged) == len(batches)
    assert all(told["accepted"] + told["duplicates"] == 50 for told in acknowledged)
    assert any(told["duplicates"] for told in acknowledged) or sum(
        told["accepted"] for told in acknowledged
    ) == 50 * len(batches)
    with Collector(store) as collector:
        tally = collector.tally()
        assert tally.reports == 50 * len(batches)
        assert collector.recount().state.tolist() == tally.state.tolist()
        expected = Desk(desk.collection, desk.folder / "again").collector()
        for batch in batches:
            expected.take(batch)
        assert expected.tally().state.tolist() == tally.state.tolist()
        expected.store.close()


def _send_all(address: str, batches: list[bytes], acknowledged: list[dict[str, Any]]) -> None:
    for batch in batches:
        acknowledged.append(collector_client.send(address, batch, attempts=12))
        time.sleep(0.01)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


# ---------------------------------------------------------------- rules, and the way there


def test_tokens_travel_in_a_header(desk: Desk) -> None:
    rules = Rules(per_token=2)
    with served(desk.folder / "reports.db", rules=rules) as (address, _):
        batch, token = frame(packed(desk.collection, 3)), tokens.issue(desk.collection, desk.key)
        assert collector_client.send(address, batch)["rejected"] == {"token": 3}
        assert collector_client.send(address, batch, token=token) == {
            "accepted": 2,
            "duplicates": 0,
            "rejected": {"limit": 1},
        }


def test_on_a_full_disk_the_answer_is_503_and_the_same_bytes_are_taken_later(desk: Desk) -> None:
    """Files may grow no further in the server's process; what was acknowledged before stays."""
    store, first, second = (
        desk.folder / "reports.db",
        packed(desk.collection, 10),
        packed(desk.collection, 9000, seed=2),
    )

    def full(report: Report) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))  # Python ignores SIGXFSZ
        _serve(store, None, 0, LARGEST, report)

    child = Child(full)
    with httpx.Client(base_url=child.next()["address"]) as client:
        assert post(client, frame(first)).json()["accepted"] == 10
        refused = post(client, frame(second))
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
        assert str(store.parent) not in refused.text  # a sender need not know how the owner's folders are called
    child.kill()
    with served(store) as (address, _):
        assert collector_client.send(address, frame(first)) == {"accepted": 0, "duplicates": 10, "rejected": {}}
        assert collector_client.send(address, frame(second))["accepted"] == 9000


def test_what_cannot_be_reached_or_read_is_said_in_our_words(shared: tuple[Desk, httpx.Client]) -> None:
    address = str(shared[1].base_url)
    with pytest.raises(SourceUnavailable):
        collector_client.fetch(f"http://127.0.0.1:{_free_port()}")
    with pytest.raises(SourceUnavailable, match="404"):
        collector_client.fetch(f"{address}nowhere")
    with pytest.raises(BadReport, match="400"):
        collector_client.send(address, b"garbage")
    for url in ("file:///etc/passwd", "ftp://x", "nonsense"):
        with pytest.raises(OutOfRange):
            collector_client.fetch(url)


@pytest.mark.parametrize(
    "first", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{", b"HTTP/1.1 2", b"nonsense\r\n\r\n"]
)
def test_an_answer_that_was_cut_off_is_asked_for_again(first: bytes) -> None:
    """As when the collector is killed while it answers."""
    whole = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            for content in (first, whole):
                connection, _ = listening.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(content)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        assert collector_client.send(f"http://127.0.0.1:{listening.getsockname()[1]}", b"") == {}
        thread.join()


def test_a_port_that_is_taken_is_said_in_our_words(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("logging.config.dictConfig", lambda _: pytest.fail("the program's own log was changed"))
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        Collector(desk.folder / "reports.db") as collector,
        pytest.raises(SourceUnavailable, match="nothing can listen"),
    ):
        serve(collector_app(collector), port=taken.getsockname()[1])


@pytest.mark.parametrize("name", ["uvicorn", "starlette.applications"])
def test_without_the_extra_the_way_to_install_it_is_told(
    name: str, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Collector(desk.folder / "reports.db") as collector:
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(MissingExtra, match=r"\.\[collect\]"):
            serve(collector_app(collector), port=0)


# ---------------------------------------------------------------- through a shuffler


def _shuffle(upstream: str, desk: Desk, report: Report) -> None:
    through = shuffler_http.Relay(Shuffler(desk.collection), lambda batch: collector_client.send(upstream, batch))
    application = shuffler_http.shuffler_app(through, desk.signed, every=0.05)
    serve(application, port=0, ready=lambda address: report(address=address))


def test_a_shuffler_passes_on_full_batches_and_nothing_smaller(desk: Desk) -> None:
    reports = packed(desk.collection, 250)
    with served(desk.folder / "reports.db", rules=Rules(shuffled=100)) as (collector, _):
        shuffler = Child(lambda report: _shuffle(collector, desk, report))
        address = shuffler.next()["address"]
        try:
            assert collector_client.fetch(address) == desk.signed
            assert collector_client.send(address, frame(reports[:99])) == {"taken": 99}
            time.sleep(0.3)
            assert _kept(desk) == 0
            assert collector_client.send(address, frame(reports[99:])) == {"taken": 151}
            for _ in range(200):
                if _kept(desk):
                    break
                time.sleep(0.05)
            assert _kept(desk) == 250
            with pytest.raises(BadReport):
                collector_client.send(address, b"garbage")
        finally:
            shuffler.kill()
    with Collector(desk.folder / "reports.db") as kept:
        ids = {name for part in kept.store.reports(0) for name, _ in part}
        assert ids.isdisjoint(report_wire.parse(desk.collection, report).id for report in reports)


def test_a_batch_that_was_not_acknowledged_is_sent_again(desk: Desk) -> None:
    sent: list[bytes] = []

    def fail_once(batch: bytes) -> dict[str, Any]:
        sent.append(batch)
        if len(sent) == 1:
            raise SourceUnavailable("away", why="", fix="")
        return {"accepted": 120}

    through = shuffler_http.Relay(Shuffler(desk.collection), fail_once)
    through.take(frame(packed(desk.collection, 120)))
    with pytest.raises(SourceUnavailable):
        through.pass_on()
    assert through.pass_on() == 1
    assert sent[0] == sent[1]
    assert through.pass_on() == 0
