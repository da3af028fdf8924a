"""The collector's page: what it says, and how it looks in a real browser."""

from __future__ import annotations

import json
import re
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from fractions import Fraction
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from hubbub import local
from hubbub.local.amplification.shuffle_bounds import amplify
from hubbub.local.collection.collector import BatchWay, Collector, Rules
from hubbub.local.collection.collector_page import Page, read_page
from hubbub.local.randomizers.base import Randomizer
from hubbub.local.randomizers.kary import KaryResponse
from tests.explain.test_explain_browser import ARGUMENTS, BOXES, COLOURS, contrast, cut_off, overlapping
from tests.local._collecting import Desk, collection, frame, packed
from tests.local.test_http import served
from tests.local.test_http import shown as shown_to_owner

LONG = ("a name that is much longer than any column of a page could ever hold", "<b>&amp;</b>", "ä", "-")


def page(folder: Path, randomizer: Randomizer | None = None, *, count: int = 3000, rules: Rules | None = None) -> Page:
    """The page of a collection after so many reports."""
    desk = Desk(collection(randomizer, epochs=2), folder)
    with desk.collector(rules=rules) as collector:
        if count:
            collector.take(frame(packed(desk.collection, count)))
        collector.take(frame([b"X" * (64 + desk.collection.randomizer.payload_bytes)] * 2000))
        return read_page(collector)


def told(of: Page) -> str:
    return " ".join(str(of).split())


# ---------------------------------------------------------------- what it says


def test_it_tells_shares_intervals_limit_influence_and_cost(tmp_path: Path) -> None:
    shown = page(tmp_path)
    words = told(shown)
    for fruit in ("apple", "pear", "plum", "fig"):
        assert re.search(rf"{fruit} +\d+\.\d+% +-?\d+\.\d+% to \d+\.\d+%", words)
    estimate = shown.estimate
    assert estimate is not None
    assert f"{100 * estimate.detection_limit(simultaneous=True):.2f}%" in words  # type: ignore[union-attr]
    assert f"1% {100 * estimate.shift(0.01):.3g} 5%" in words
    assert "one report 1 all reports of the collection 2" in words
    assert "right at most about 73 out of 100 times" in words
    assert "Charged to no ledger." in words
    assert "refused: not a report at all 2,000" in words


def test_answers_below_the_limit_are_flagged_in_words(tmp_path: Path) -> None:
    shown = page(tmp_path, local.KaryResponse(epsilon=1, domain=40))
    data: Any = shown.to_json()
    flags = data["estimate"]["below_limit"]
    assert 0 < sum(flags) < 40
    assert told(shown).count("no: below the limit") == sum(flags)
    assert f"{sum(flags)} of 40 answers are below it" in told(shown)
    limit, values = data["estimate"]["detection_limit_95_all"], data["estimate"]["values"]
    assert flags == [value <= limit for value in values]


def test_shuffling_is_told_only_where_there_is_a_shuffler(tmp_path: Path) -> None:
    alone, shuffled = page(tmp_path / "alone"), page(tmp_path / "shuffled", rules=Rules(shuffled=1000))
    assert "shuffled" not in told(alone)
    assert "one report, among 500 honest ones, shuffled 0." in told(shuffled)
    assert "50% of them are from honest people is declared" in told(shuffled)
    data: Any = shuffled.to_json()
    assert 0 < data["epsilon"]["shuffled"]["epsilon"] < 0.5
    assert (data["epsilon"]["shuffled"]["batch"], data["epsilon"]["shuffled"]["honest"]) == (1000, 0.5)
    assert alone.to_json()["epsilon"]["shuffled"] is None  # type: ignore[index, call-overload]


@pytest.mark.parametrize(
    "randomizer",
    [
        local.Loloha(epsilon=1, forever=2, domain=4),
        local.OneBitMean(epsilon=1, lower=0, upper=9),
        local.LocalGaussian(epsilon=1, delta=1e-6, lower=0, upper=1),
    ],
    ids=repr,
)
def test_shuffling_is_not_told_where_reports_can_be_linked_or_nothing_is_known(
    tmp_path: Path, randomizer: Randomizer
) -> None:
    shown = page(tmp_path, randomizer, rules=Rules(shuffled=1000))
    data: Any = shown.to_json()
    assert data["epsilon"]["shuffled"] is None
    assert "No smaller epsilon is claimed for that" in told(shown)
    assert "honest ones, shuffled" not in told(shown)


def test_shuffling_is_told_for_the_only_report_of_a_client_that_remembers(tmp_path: Path) -> None:
    once = collection(local.Loloha(epsilon=1, forever=2, domain=4), epochs=1)
    with Desk(once, tmp_path).collector(rules=Rules(shuffled=1000)) as collector:
        assert "one report, among 500 honest ones, shuffled" in told(read_page(collector))


def test_the_smaller_epsilon_is_for_the_declared_share_of_honest_reports(tmp_path: Path) -> None:
    """It took all reports of a batch for honest; a batch may be full of somebody's own."""
    claimed = []
    for honest in ("1", "1/2", "1/10", "1/1000"):
        rules = Rules(shuffled=1000, honest=Fraction(honest))
        data: Any = page(tmp_path / honest.replace("/", "-"), rules=rules).to_json()
        claimed.append(data["epsilon"]["shuffled"]["epsilon"])
    assert claimed == sorted(claimed)
    assert claimed[0] < claimed[1] < claimed[2]
    assert claimed[3] == 1.0  # one honest report among a thousand hides nobody
    assert claimed[1] == pytest.approx(float(amplify(KaryResponse(epsilon=1, domain=4), n=500, delta=1e-6).epsilon))


def test_one_report_that_came_another_way_ends_the_claim(tmp_path: Path) -> None:
    desk = Desk(collection(), tmp_path)
    with desk.collector(rules=Rules(shuffled=100)) as collector:
        collector.take(frame(packed(desk.collection, 100)))
        assert read_page(collector).way == BatchWay(100, Fraction(1, 2))
    with Collector(tmp_path / "reports.db") as direct:
        assert read_page(direct).way == BatchWay(100, Fraction(1, 2))  # also for whoever only looks
        direct.take(frame(packed(desk.collection, 1, seed=2)))
        assert read_page(direct).way is None
    with Collector(tmp_path / "reports.db", rules=Rules(shuffled=200)) as again:
        again.take(frame(packed(desk.collection, 200, seed=3)))
        assert read_page(again).way is None


def test_what_is_taken_over_from_another_store_came_by_its_way(tmp_path: Path) -> None:
    desk = Desk(collection(), tmp_path)
    with desk.collector("a.db", Rules(shuffled=200)) as one, desk.collector("b.db", Rules(shuffled=100)) as other:
        one.take(frame(packed(desk.collection, 200)))
        other.take(frame(packed(desk.collection, 100, seed=2)))
        one.absorb(other.store)
        assert one.way == BatchWay(100, Fraction(1, 2))


# ---------------------------------------------------------------- in steps


def test_no_single_report_can_be_read_off_the_page(tmp_path: Path) -> None:
    """Polled after every report, the page told each of twenty reports exactly: the difference of two tallies."""
    desk = Desk(collection(), tmp_path)
    with desk.collector() as collector:
        collector.take(frame(packed(desk.collection, 300)))
        shown, recovered = [read_page(collector).to_json()], []
        for number in range(120):
            before = collector.published().state
            collector.take(frame(packed(desk.collection, 1, seed=1000 + number)))
            recovered.append(int((collector.published().state - before).sum()))
            shown.append(read_page(collector).to_json())
        assert set(recovered) == {0, 100}
        assert len({json.dumps(each) for each in shown}) == 2
        assert [each["reports"] for each in shown].count(400) == 21


def test_looking_from_another_process_does_not_move_the_page_sooner(tmp_path: Path) -> None:
    desk = Desk(collection(epochs=2), tmp_path)
    with desk.collector() as collector:
        collector.take(frame(packed(desk.collection, 150)))
        assert collector.published(0).reports == 150
        collector.take(frame(packed(desk.collection, 99, seed=2)))
        collector.take(frame(packed(desk.collection, 99, epoch=1, seed=3)))
        collector.take(b"HBB\x01" + bytes(8))
    for _ in range(3):
        with Collector(tmp_path / "reports.db") as other:
            assert (other.published(0).reports, other.published(1).reports) == (150, 0)
            assert read_page(other).epochs == {0: 150}
            assert other.tally(0).reports == 249


def test_what_was_refused_is_shown_in_steps_too(tmp_path: Path) -> None:
    desk = Desk(collection(), tmp_path)
    with desk.collector() as collector:
        collector.take(frame(packed(desk.collection, 100)))
        assert read_page(collector).refused == {}
        bad = packed(desk.collection, 1, seed=2)[0][:-1] + b"\x09"
        collector.take(frame([bad]))
        assert read_page(collector).refused == {}
        collector.take(frame(packed(desk.collection, 100, seed=3)))
        assert read_page(collector).refused == {"domain": 1}


def test_a_store_of_before_is_shown_in_steps_from_now_on(tmp_path: Path) -> None:
    desk = Desk(collection(), tmp_path)
    with desk.collector() as collector:
        collector.take(frame(packed(desk.collection, 100)))
    with closing(sqlite3.connect(tmp_path / "reports.db")) as file:
        for table in ("published_totals", "published_tallies", "published_refusals"):
            file.execute(f"DROP TABLE {table}")
        file.commit()
    with Collector(tmp_path / "reports.db") as collector:
        assert read_page(collector).reports == 100
        assert collector.way is None


def shown_in(folder: Path, epoch: int, **fields: Any) -> Page:
    desk = Desk(collection(epochs=20, **fields), folder)
    with desk.collector() as collector:
        collector.take(frame(packed(desk.collection, 200, epoch=epoch)))
        return read_page(collector)


@pytest.mark.parametrize(
    ("fields", "first"),
    [
        ({"lifetime": 3}, 3),
        ({}, 8),  # by the caps that clients have unless they choose others
        ({"randomizer": local.KaryResponse(epsilon=10, domain=4)}, 0),
        ({"randomizer": local.Loloha(epsilon=1, forever=2, domain=9, buckets=4), "lifetime": 4}, 2),
    ],
    ids=str,
)
def test_it_says_where_reports_may_say_nothing(tmp_path: Path, fields: Any, first: int) -> None:
    data: Any = shown_in(tmp_path / "past", first, **fields).to_json()
    assert data["silent_from"] == first
    assert "may be about nobody's answer" in told(shown_in(tmp_path / "first", first, **fields))
    if first:
        assert "nobody's answer" not in told(shown_in(tmp_path / "before", first - 1, **fields))


def test_where_every_report_is_paid_for_nothing_is_said(tmp_path: Path) -> None:
    shown = shown_in(tmp_path, 19, randomizer=local.KaryResponse(epsilon=0.4, domain=4))
    assert shown.to_json()["silent_from"] is None
    assert "nobody's answer" not in told(shown)


def test_a_collection_that_remembers_tells_three_numbers(tmp_path: Path) -> None:
    words = told(page(tmp_path, local.Loloha(epsilon=1, forever=2, domain=4)))
    assert "if the value never changes 2" in words
    assert "about what the values were" in words
    assert "also about when they changed" in words


def test_a_mean_is_told_with_its_interval_and_the_lower_bound(tmp_path: Path) -> None:
    words = told(page(tmp_path, local.Hybrid(epsilon=1, lower=0, upper=10)))
    assert re.search(r"The mean is -?\d+\.\d+, and lies between -?\d+\.\d+ and \d+\.\d+, 95 times out of 100", words)
    assert "no method gets far below an error of" in words


def test_before_the_minimum_nothing_is_estimated(tmp_path: Path) -> None:
    words = told(page(tmp_path, count=0))
    assert "Fewer than 100 reports have come" in words
    assert "%" not in words


def test_the_page_is_data_too(tmp_path: Path) -> None:
    shown = page(tmp_path)
    assert json.loads(json.dumps(shown.to_json(), allow_nan=False))["reports"] == 3000


# ---------------------------------------------------------------- how it looks

PAGES: dict[str, Callable[[Path], Page]] = {
    "few answers": page,
    "many answers": lambda folder: page(folder, local.ProjectiveGeometry(epsilon=1, domain=1000)),
    "a mean": lambda folder: page(folder, local.Hybrid(epsilon=1, lower=-5, upper=5)),
    "memory, shuffled": lambda folder: page(
        folder, local.Loloha(epsilon=1, forever=2, domain=5), rules=Rules(shuffled=1000)
    ),
    "waiting": lambda folder: page(folder, count=0),
}


@pytest.fixture(scope="module")
def browser(component: Callable[[str], str]) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=component("chromium"), args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens an address or HTML; anything on the console, any error and any request to elsewhere fails the test."""
    complaints: list[str] = []
    contexts = []

    def open_page(source: str, *, scheme: str = "light", width: int = 720, scripts: bool = True) -> Any:
        context = browser.new_context(
            color_scheme=scheme, viewport={"width": width, "height": 900}, java_script_enabled=scripts
        )
        contexts.append(context)
        opening = context.new_page()
        opening.on("console", lambda message: complaints.append(message.text))
        opening.on("pageerror", lambda error: complaints.append(str(error)))
        if source.startswith("http"):
            opening.on("request", lambda asked: asked.url.startswith(source) or complaints.append(asked.url))
            opening.goto(source)
        else:
            opening.on("request", lambda asked: complaints.append(asked.url))
            opening.set_content(source)
        return opening

    yield open_page
    for context in contexts:
        context.close()
    assert not complaints


@pytest.mark.browser
@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_cut_off_or_overlaps_in_any_width_or_scheme(
    opened: Callable[..., Any], name: str, tmp_path: Path
) -> None:
    html = PAGES[name](tmp_path).html()
    for scheme, width in (("light", 1200), ("dark", 360)):
        shown = opened(html, scheme=scheme, width=width)
        charts = shown.evaluate(BOXES)
        assert (cut_off(charts), overlapping(charts)) == ([], [])
        assert shown.evaluate("document.documentElement.scrollWidth") <= width
        assert min(contrast(text, ground) for text, ground in shown.evaluate(COLOURS)) >= 4.5


@pytest.mark.browser
def test_hostile_words_in_the_configuration_stay_words(opened: Callable[..., Any], tmp_path: Path) -> None:
    of = collection(local.KaryResponse(epsilon=1, domain=4))
    hostile = local.Collection(
        name="x",
        question='<script>alert("x")</script> & <img src=http://elsewhere.example/>',
        randomizer=of.randomizer,
        answers=LONG,
    )
    desk = Desk(hostile, tmp_path)
    with desk.collector() as collector:
        collector.take(frame(packed(hostile, 2000)))
        shown = opened(read_page(collector).html())
    assert shown.locator("h1").text_content() == hostile.question
    assert shown.locator("script, img, b").count() == 0
    assert cut_off(shown.evaluate(BOXES)) == []


@pytest.mark.browser
def test_the_served_page_works_without_scripts_under_its_own_policy(opened: Callable[..., Any], tmp_path: Path) -> None:
    desk = Desk(collection(epochs=2), tmp_path)
    with desk.collector() as collector:
        collector.take(frame(packed(desk.collection, 3000)))
    with shown_to_owner(tmp_path / "reports.db") as client:
        address = f"{client.base_url}"
        shown = opened(address, scripts=False)
        assert shown.locator("h1").text_content() == desk.collection.question
        assert shown.get_by_role("img", name=re.compile("Estimated shares")).count() == 1
        assert shown.get_by_role("table").count() == 4
        assert shown.get_by_role("heading", level=2).count() == 4
        other = opened(f"{address}?epoch=1", scripts=True)
        assert "Waiting for reports" in other.locator("main").text_content()
        ground = other.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == "rgb(255, 255, 255)"  # the policy lets the page's own style through


SITE = """<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>a shop</title><script type="module">
import {{ Client, openSigned, packBatch }} from "{address}sdk/hubbub.js";
const collection = await openSigned(await (await fetch("{address}v1/collection")).text(), "{key}");
const client = new Client(collection, localStorage);
const body = packBatch([await client.report("pear", 0)]);
const told = [];
for (let time = 0; time < 2; time++) {{
  told.push(await (await fetch("{address}v1/reports", {{ method: "POST", body }})).json());
}}
document.title = JSON.stringify(told);
</script></html>"""


@pytest.mark.browser
def test_a_page_of_another_site_reports_with_the_sdk_that_the_collector_serves(browser: Any, tmp_path: Path) -> None:
    desk = Desk(collection(), tmp_path)
    desk.store().close()
    with (
        served(tmp_path / "reports.db") as (address, _),
        site(SITE.format(address=address, key=desk.public_key)) as shop,
    ):
        shown = browser.new_page()
        shown.goto(shop)
        shown.wait_for_function("document.title.startsWith('[')")
        first, again = json.loads(shown.title())
        shown.close()
    assert (first["accepted"], again["duplicates"]) == (1, 1)


@contextmanager
def site(html: str) -> Iterator[str]:
    """Another site on this machine, with one page."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(html.encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()
