"""A release in a real browser: readable in light and dark, and never wider than its page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ._made import by_ward, every_key

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
COLOURS = """() => [...document.querySelectorAll('.hb-release :is(th, td, small, li, p, pre, summary)')].map(e =>
  [getComputedStyle(e).color, getComputedStyle(e.closest('.hb-release')).backgroundColor])"""


@pytest.fixture(scope="module")
def browser(component: Callable[[str], str]) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=component("chromium"), args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Opens HTML as a file; anything on the console and any request to elsewhere fails the test."""
    complaints: list[str] = []
    contexts = []

    def open_page(html: str, *, scheme: str = "light", width: int = 900) -> Any:
        context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 700})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("request", lambda request: request.url.startswith("file:") or complaints.append(request.url))
        path = tmp_path / "page.html"
        path.write_text(html, encoding="utf-8")
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not complaints


def luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    red, green, blue = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast_in_light_and_dark(opened: Callable[..., Any], scheme: str) -> None:
    colours = opened(by_ward().html(), scheme=scheme).evaluate(COLOURS)
    assert len(colours) > 20
    assert min(contrast(text, ground) for text, ground in colours) >= 4.5
    assert (luminance(colours[0][1]) < 0.1) == (scheme == "dark")


@pytest.mark.parametrize("width", [320, 900])
def test_a_page_never_scrolls_sideways(opened: Callable[..., Any], width: int) -> None:
    for release in (by_ward(), every_key()):
        page = opened(release.html(), width=width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_keyboard_reaches_the_table_and_the_explanation(opened: Callable[..., Any]) -> None:
    page = opened(by_ward().html())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('role')") == "group"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.get_by_text("Bars and dots show the number").is_visible()
    assert page.get_by_role("rowheader", name="south").count() == 1
