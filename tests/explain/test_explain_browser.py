"""The pages in a real browser: laid out, nothing cut off or overlapping, readable in light and dark."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import hubbub as hb
from hubbub.render.charts import (
    Axis,
    Bar,
    Icons,
    Mark,
    Panel,
    Rule,
    Series,
    Tick,
    bar_chart,
    icon_array,
    line_chart,
    step_chart,
)

pytestmark = pytest.mark.browser

ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

LONG = "A candidate whose name is much longer than any column could ever hold"
TOLD = {"title": "A title that is long enough to need a second line in the picture", "description": "For tests."}
PAGES: dict[str, Callable[[], str]] = {
    "epsilon": lambda: hb.explain.epsilon(1, delta=1e-6).html(),
    "tiny epsilon": lambda: hb.explain.epsilon(0.001).html(),
    "huge epsilon": lambda: hb.explain.epsilon(30, delta=0.01).html(),
    "charlie": lambda: hb.explain.charlie(0.5).html(),
    "charlie, wide": lambda: hb.explain.charlie(5, count=123_456_789, sensitivity=5000).html(),
    "election": lambda: hb.explain.election({LONG: 15, "Blaise": 18, "Émilie du Châtelet": 2000}, epsilon=0.1).html(),
    "auction": lambda: hb.explain.auction(hb.explain.EXAMPLE_BIDS, epsilon=1).html(),
    "limits": lambda: hb.explain.not_promised().html(),
    "other charts": lambda: _page(_dates(), _bars(), _many_lines(), _icons()),
}

BOXES = """() => [...document.querySelectorAll('svg')].map(svg => {
  const frame = svg.viewBox.baseVal;
  return {width: frame.width, height: frame.height, texts: [...svg.querySelectorAll('text')].map(text => {
    const box = text.getBBox();
    return {words: text.textContent, left: box.x, top: box.y, right: box.x + box.width, bottom: box.y + box.height};
  })};
})"""
COLOURS = """() => [...document.querySelectorAll('svg text, h1, h2, p, td, th, figcaption')].map(e => {
  const style = getComputedStyle(e);
  const holder = e.closest('svg') ? e.closest('svg').querySelector('.hb-ground') : e.closest('.hb-document');
  const ground = getComputedStyle(holder);
  return [e.closest('svg') ? style.fill : style.color, e.closest('svg') ? ground.fill : ground.backgroundColor];
})"""


def _page(*charts: str) -> str:
    return f'<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>charts</title>{"".join(charts)}</html>'


def _dates() -> str:
    ticks = tuple(Tick(i, f"2025-01-{i + 1:02d}") for i in range(12))
    spent = Panel(
        "spent",
        (Series("flu project", ((0, 0), (1, 0.5), (11, 1.4))), Series("ward project", ((0, 0.1), (5, 2.0), (11, 2.4)))),
        rules=(Rule(3, "budget of the whole population"), Rule(2.9, "warning line")),
    )
    return step_chart(spent, x=Axis("day", 0, 11, ticks), **TOLD)


def _bars() -> str:
    bars = [
        Bar("north", 120, 111, 129, "120 ± 9"),
        Bar("south", -4, -13, 5, "-4 ± 9"),
        Bar(LONG, 1e6, shown="1,000,000"),
    ]
    return bar_chart(bars, label="visits, with 95% intervals", **TOLD)


def _many_lines() -> str:
    lines = tuple(Series(f"mechanism number {k}", ((0, k * 1000), (1, k))) for k in range(1, 8))
    marks = tuple(Mark(0.5, 1500 + 20 * k, f"mark number {k}") for k in range(4))
    return line_chart(Panel("error", lines, marks=marks), x="epsilon", **TOLD)


def _icons() -> str:
    groups = [Icons(f"group {i}, with a caption that needs several lines", 10 * i, of=50) for i in range(1, 4)]
    return icon_array(groups, yes="falls ill this year", no="stays well", **TOLD)


@pytest.fixture(scope="module")
def browser(component: Callable[[str], str]) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=component("chromium"), args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Opens HTML as a file; anything on the console, any error and any request to elsewhere fails the test."""
    complaints: list[str] = []
    contexts = []

    def open_page(html: str, *, scheme: str = "light", width: int = 720) -> Any:
        context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: request.url.startswith("file:") or complaints.append(request.url))
        path = tmp_path / "page.html"
        path.write_text(html, encoding="utf-8")
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not complaints


def cut_off(charts: list[dict[str, Any]]) -> list[str]:
    return [
        text["words"]
        for chart in charts
        for text in chart["texts"]
        if text["left"] < 0 or text["top"] < 0 or text["right"] > chart["width"] or text["bottom"] > chart["height"]
    ]


def overlapping(charts: list[dict[str, Any]], slack: float = 3) -> list[tuple[str, str]]:
    """Pairs of texts that share more than ``slack`` pixels in both directions (boxes include empty line space)."""
    pairs = []
    for chart in charts:
        for i, a in enumerate(chart["texts"]):
            for b in chart["texts"][i + 1 :]:
                across = min(a["right"], b["right"]) - max(a["left"], b["left"])
                down = min(a["bottom"], b["bottom"]) - max(a["top"], b["top"])
                if across > slack and down > slack:
                    pairs.append((a["words"], b["words"]))
    return pairs


def contrast(one: str, other: str) -> float:
    def luminance(colour: str) -> float:
        parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
        red, green, blue = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", PAGES)
def test_charts_are_laid_out_with_no_text_cut_off_or_overlapping(opened: Callable[..., Any], name: str) -> None:
    page = opened(PAGES[name]())
    charts = page.evaluate(BOXES)
    assert len(charts) == page.locator("svg").count()
    assert cut_off(charts) == []
    assert overlapping(charts) == []
    for svg in page.locator("svg").all():
        box = svg.bounding_box()
        assert box["width"] == 640
        assert box["height"] > 100


@pytest.mark.parametrize("width", [320, 720, 1600])
def test_pages_never_scroll_sideways(opened: Callable[..., Any], width: int) -> None:
    for name in ("epsilon", "auction", "limits"):
        page = opened(PAGES[name](), width=width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["epsilon", "charlie", "auction", "other charts"])
def test_text_has_contrast_in_light_and_dark(opened: Callable[..., Any], name: str, scheme: str) -> None:
    colours = opened(PAGES[name](), scheme=scheme).evaluate(COLOURS)
    assert colours
    assert min(contrast(text, ground) for text, ground in colours) >= 4.5


def test_dark_pages_are_dark_and_light_ones_light(opened: Callable[..., Any]) -> None:
    def ground(scheme: str) -> str:
        page = opened(PAGES["epsilon"](), scheme=scheme)
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    assert contrast(ground("dark"), "rgb(0,0,0)") < 2
    assert contrast(ground("light"), "rgb(255,255,255)") < 2


def test_screen_readers_get_the_name_and_description_of_each_picture(opened: Callable[..., Any]) -> None:
    page = opened(PAGES["epsilon"]())
    pictures = page.get_by_role("img")
    assert pictures.count() == 3
    assert page.get_by_role("img", name=re.compile("Right guesses")).count() == 1
    assert page.get_by_role("heading", level=1).count() == 1


def test_an_overlap_or_a_cut_would_be_noticed(opened: Callable[..., Any]) -> None:
    bad = '<svg viewBox="0 0 200 100" width="200" height="100"><text x="20" y="50">first</text>{}</svg>'
    overlap = opened(_page(bad.format('<text x="25" y="52">second</text>'))).evaluate(BOXES)
    cut = opened(_page(bad.format('<text x="180" y="90">too far right</text>'))).evaluate(BOXES)
    assert overlapping(overlap) == [("first", "second")]
    assert cut_off(cut) == ["too far right"]
