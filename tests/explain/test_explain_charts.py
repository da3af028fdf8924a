"""The charts: well-formed, named for screen readers, true to their numbers, and never cut off."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hubbub.render import text
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
    density_chart,
    icon_array,
    line_chart,
    percentage,
    stacked_chart,
    step_chart,
)
from hubbub.render.charts.axes import LabelPlacement, round_steps, thin_ticks
from hubbub.render.charts.svg import WIDTH, PixelBox, escape, shorten, text_width, wrap
from hubbub.terms import EmptyInput, InvalidParameter, OutOfRange

SVG = "{http://www.w3.org/2000/svg}"
TOLD = {"title": "Visits & <wards>", "description": "More in the north."}
finite = st.floats(-1e12, 1e12)
points = st.lists(st.tuples(finite, finite), min_size=1, max_size=20)


def line_panel(*values: Sequence[tuple[float, float]]) -> Panel:
    return Panel("y", tuple(Series(f"series {i}", tuple(v)) for i, v in enumerate(values)))


CHARTS = {
    "line": lambda: line_chart(line_panel([(0, 1), (1, 3)], [(0, 2), (1, 1)]), x="x", **TOLD),
    "step": lambda: step_chart(line_panel([(0, 1), (2, 3), (5, 4)]), x="day", **TOLD),
    "bars": lambda: bar_chart([Bar("north", 3, 2, 4), Bar("south", -1)], label="visits", **TOLD),
    "icons": lambda: icon_array([Icons("before", 3), Icons("after", 30)], yes="ill", no="well", **TOLD),
    "density": lambda: density_chart(
        Series("in", ((0, 0.1), (1, 0.2))),
        Series("out", ((0, 0.2), (1, 0.1))),
        ratio=Series("ratio", ((0, 0.5), (1, 2))),
        bounds=(Rule(2, "at most 2"),),
        x="answer",
        **TOLD,
    ),
}


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def paths(svg: str, kind: str = "hb-line") -> list[list[tuple[float, float]]]:
    """The corners of every curve in the picture (not the samples of the legend)."""
    drawn = [p.get("d", "") for p in parsed(svg).iter(f"{SVG}path") if kind in (p.get("class") or "").split()]
    return [[tuple(map(float, pair.split())) for pair in re.split("[ML]", d)[1:]] for d in drawn if "h" not in d]  # type: ignore[misc]


@pytest.mark.parametrize("kind", CHARTS)
def test_every_chart_is_an_image_with_title_and_description(kind: str) -> None:
    root = parsed(CHARTS[kind]())
    title, description = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert root.get("role") == "img"
    assert title is not None
    assert description is not None
    assert (title.text, description.text) == (TOLD["title"], TOLD["description"])
    assert (root.get("aria-labelledby"), root.get("aria-describedby")) == (title.get("id"), description.get("id"))


@pytest.mark.parametrize("kind", CHARTS)
def test_every_chart_knows_light_and_dark(kind: str) -> None:
    style = parsed(CHARTS[kind]()).findtext(f"{SVG}style") or ""
    assert "prefers-color-scheme:dark" in style
    assert "var(--ground)" in style


@pytest.mark.parametrize("kind", CHARTS)
def test_no_chart_needs_anything_from_outside(kind: str) -> None:
    svg = CHARTS[kind]()
    assert "href" not in svg
    assert "url(" not in svg
    assert " style=" not in svg  # would be refused by a strict content security policy


def test_series_differ_by_dash_as_well_as_colour() -> None:
    svg = line_chart(line_panel(*[[(0, i), (1, i)] for i in range(8)]), x="x", **TOLD)
    looks = {p.get("class") for p in parsed(svg).iter(f"{SVG}path")}
    assert len(looks) == 8


def test_a_line_runs_through_its_points() -> None:
    [corners] = paths(line_chart(line_panel([(0, 0), (5, 10), (10, 0)]), x="x", **TOLD))
    (x0, y0), (x1, y1), (x2, y2) = corners
    assert x1 - x0 == pytest.approx(x2 - x1)
    assert y0 == y2 > y1


def test_steps_hold_their_value_until_the_next_point() -> None:
    [corners] = paths(step_chart(line_panel([(0, 1), (2, 3), (5, 4)]), x="x", **TOLD))
    assert len(corners) == 5
    for (x0, y0), (x1, y1) in itertools.pairwise(corners):
        assert x0 == x1 or y0 == y1
    assert corners[1] == (corners[2][0], corners[0][1])


@given(points)
def test_no_point_ever_falls_outside_the_picture(raw: list[tuple[float, float]]) -> None:
    svg = line_chart(line_panel(sorted(raw)), x="x", **TOLD)
    height = float(parsed(svg).get("height", ""))
    for x, y in itertools.chain.from_iterable(paths(svg)):
        assert 0 <= x <= WIDTH
        assert 0 <= y <= height


@given(st.lists(st.tuples(finite, st.floats(0, 1e6)), min_size=1, max_size=8))
@example([(0.0, 5e-324)])
@example([(1e-310, 0.0), (3e-310, 0.0)])
def test_bars_and_whiskers_stay_inside_the_picture(raw: list[tuple[float, float]]) -> None:
    bars = [Bar(f"bar {i}", v, v - e, v + e) for i, (v, e) in enumerate(raw)]
    for rect in parsed(bar_chart(bars, label="x", **TOLD)).iter(f"{SVG}rect"):
        assert float(rect.get("x", "0")) >= 0
        assert float(rect.get("x", "0")) + float(rect.get("width", "")) <= WIDTH


def test_a_negative_bar_ends_where_a_positive_one_starts() -> None:
    svg = bar_chart([Bar("up", 5), Bar("down", -5)], label="x", **TOLD)
    up, down = [r for r in parsed(svg).iter(f"{SVG}rect") if r.get("class") == "hb-fill0"]
    assert float(down.get("x", "")) + float(down.get("width", "")) == pytest.approx(float(up.get("x", "")), abs=0.02)
    assert up.get("width") == down.get("width")


def test_a_whisker_spans_the_interval() -> None:
    svg = bar_chart([Bar("a", 10, 5, 20)], label="x", include=(0, 20), **TOLD)
    [bar] = [r for r in parsed(svg).iter(f"{SVG}rect") if r.get("class") == "hb-fill0"]
    [whisker] = [p.get("d", "") for p in parsed(svg).iter(f"{SVG}path") if p.get("class") == "hb-whisker"]
    low, high = re.match(r"M([\d.]+) [\d.]+H([\d.]+)", whisker).groups()  # type: ignore[union-attr]
    start, width = float(bar.get("x", "")), float(bar.get("width", ""))
    assert (float(low), float(high)) == pytest.approx((start + width / 2, start + 2 * width), abs=0.05)


def test_icons_count_what_they_are_given() -> None:
    root = parsed(icon_array([Icons("a", 7, of=20)], yes="ill", no="well", **TOLD))
    kinds = [p.get("class") for p in root.iter(f"{SVG}path")]
    assert (kinds.count("hb-yes"), kinds.count("hb-no")) == (7 + 1, 13 + 1)


@pytest.mark.parametrize("group", [Icons("a", -1), Icons("a", 1, of=0)])
def test_impossible_icons_are_refused(group: Icons) -> None:
    with pytest.raises(InvalidParameter):
        icon_array([group], yes="ill", no="well", **TOLD)


def test_an_empty_chart_is_refused() -> None:
    with pytest.raises(EmptyInput):
        line_chart(Panel("y", ()), x="x", **TOLD)
    with pytest.raises(EmptyInput):
        bar_chart([], label="x", **TOLD)
    with pytest.raises(EmptyInput):
        icon_array([], yes="ill", no="well", **TOLD)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_is_not_finite_is_refused(bad: float) -> None:
    with pytest.raises(OutOfRange):
        line_chart(line_panel([(0, bad)]), x="x", **TOLD)


def test_a_rule_and_a_mark_widen_the_axis() -> None:
    panel = Panel("y", (Series("s", ((0, 1), (1, 2))),), rules=(Rule(9, "budget"),), marks=(Mark(0, -3, "low"),))
    axis = panel.axis()
    assert axis.low <= -3
    assert axis.high >= 9


def test_given_ticks_are_written_as_they_are() -> None:
    axis = Axis("day", 0, 2, (Tick(0, "1 May"), Tick(2, "3 May")))
    svg = stacked_chart((line_panel([(0, 1), (2, 2)]),), x=axis, **TOLD)
    assert "1 May" in svg
    assert "3 May" in svg


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9), st.integers(3, 12))
def test_ticks_are_round_evenly_spaced_and_hold_the_range(low: float, width: float, count: int) -> None:
    high = low + width
    steps, _ = round_steps(low, high, count=count)
    gap = steps[1] - steps[0]
    slack = 1e-6 * gap + 1e-9 * max(abs(low), abs(high))
    assert steps[0] <= low + slack
    assert steps[-1] >= high - slack
    assert len(steps) <= count + 3
    assert all(abs(b - a - gap) <= 1e-6 * gap + slack for a, b in itertools.pairwise(steps))


def test_ticks_are_labelled_with_the_digits_they_need() -> None:
    axis = Axis.over((0, 0.3), label="share", show=percentage)
    assert [tick.label for tick in axis.ticks] == ["0%", "10%", "20%", "30%"]


def test_ticks_are_thinned_until_their_labels_fit() -> None:
    ticks = tuple(Tick(i, f"2025-01-{i:02d}") for i in range(1, 31))
    kept = thin_ticks(ticks, width=500)
    assert sum(text_width(tick.label) for tick in kept) < 500
    assert len(kept) >= 4


def test_labels_do_not_sit_on_each_other() -> None:
    labels = LabelPlacement(PixelBox(0, 0, 600, 300))
    for _ in range(4):
        labels.beside("a label of some length", x=300, y=150)
    assert not any(a.meets(b) for a, b in itertools.combinations(labels.taken, 2))


@given(st.text())
def test_any_text_can_be_escaped(raw: str) -> None:
    ElementTree.fromstring(f'<a b="{escape(raw)}">{escape(raw)}</a>')


@given(st.text(max_size=200), st.integers(40, 300))
def test_shortened_text_fits(raw: str, width: int) -> None:
    assert text_width(shorten(raw, width=width)) <= width


def test_wrapping_keeps_every_word_and_equations_whole() -> None:
    lines = wrap("What the promise of epsilon = 1 means to you", width=120)
    assert len(lines) > 1
    assert any("epsilon\u00a0=\u00a01" in part for part in lines)
    assert " ".join(lines).split() == ["What", "the", "promise", "of", "epsilon", "=", "1", "means", "to", "you"]


def test_text_bars_are_as_long_as_their_values() -> None:
    lines = text.bars([("a", 4, "4"), ("bb", 2, "2"), ("c", 0, "0")], width=8).splitlines()
    assert [line.count("█") for line in lines] == [8, 4, 0]


def test_text_icons_are_counted_out() -> None:
    drawn = text.icons([("before", 50), ("after", 73)])
    assert (drawn.count("●"), drawn.count("○")) == (123, 77)
