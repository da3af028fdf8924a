"""Bars with error bars, and icon arrays: the charts that count things instead of following a curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hubbub.render.charts.axes import Axis, Frame, Show, plain
from hubbub.render.charts.curves import EDGE
from hubbub.render.charts.svg import (
    LINE,
    SIZE,
    WIDTH,
    PixelBox,
    document,
    escape,
    line,
    number,
    shorten,
    tag,
    text,
    text_width,
    wrap,
)
from hubbub.terms import EmptyInput, whole

ROW = 32  # height of one bar with its share of white
CELL = 26  # width and height of one icon with its share of white
COLUMNS = 10  # icons side by side


@dataclass(frozen=True, slots=True)
class Bar:
    """A named value, its interval where it has one, and how it reads (``shown``; else the plain number)."""

    label: str
    value: float
    low: float | None = None
    high: float | None = None
    shown: str = ""


def bar_chart(
    bars: Sequence[Bar], *, title: str, description: str, label: str, show: Show = plain, include: Sequence[float] = ()
) -> str:
    """Horizontal bars, so that long names fit; negative values go left of zero; intervals are drawn as whiskers."""
    values = [v for bar in bars for v in (bar.value, bar.low, bar.high) if v is not None]
    axis = Axis.over([0.0, *values, *include] if bars else [], label=label, show=show)
    names = [shorten(bar.label, width=WIDTH * 0.36) for bar in bars]
    shown = [bar.shown or show(bar.value, 2) for bar in bars]
    left = EDGE + 12 + max(map(text_width, names))
    right = WIDTH - EDGE - 12 - max(map(text_width, shown))
    body, top = _draw_title(title)
    box = PixelBox(left, top + 8, right, top + 8 + ROW * len(bars))
    body += _draw_value_axis(box, axis)
    for row, bar in enumerate(bars):
        middle = box.top + (row + 0.5) * ROW
        body.append(tag("g", tag("title", escape(f"{bar.label}: {shown[row]}")), *_draw_bar(bar, box, axis, middle)))
        body.append(text(names[row], x=left - 10, y=middle + 5, anchor="end"))
        body.append(text(shown[row], x=right + 12, y=middle + 5))
    return document(body, title=title, description=description, height=box.bottom + 2 * LINE + EDGE)


def _draw_value_axis(box: PixelBox, axis: Axis) -> list[str]:
    """The value axis under the bars, with a firm line at zero."""
    nothing = Axis("", 0, 1, ())
    frame = Frame(box, axis, nothing)
    zero, _ = frame.at(0, 0)
    return [*frame.sides(x_labels=True), line(x1=zero, y1=box.top, x2=zero, y2=box.bottom, kind="axis")]


def _draw_bar(bar: Bar, box: PixelBox, axis: Axis, middle: float) -> list[str]:
    def at(value: float) -> float:
        return box.left + axis.share(value) * (box.right - box.left)

    start, end = sorted((at(0), at(bar.value)))
    drawn = [tag("rect", x=start, y=middle - 10, width=end - start, height=20, class_="hb-fill0")]
    if bar.low is not None and bar.high is not None:
        low, high, y = number(at(bar.low)), number(at(bar.high)), number(middle)
        path = f"M{low} {y}H{high}M{low} {number(middle - 6)}v12M{high} {number(middle - 6)}v12"
        drawn += [tag("path", d=path, class_="hb-halo"), tag("path", d=path, class_="hb-whisker")]
    return drawn


@dataclass(frozen=True, slots=True)
class Icons:
    """``count`` out of ``of`` people (or guesses, or days) in one group of icons, with a caption."""

    caption: str
    count: int
    of: int = 100


def icon_array(groups: Sequence[Icons], *, title: str, description: str, yes: str, no: str) -> str:
    """Groups of little figures side by side: filled ones are ``yes``, hollow ones ``no`` (never colour alone)."""
    if not groups:
        raise EmptyInput("an icon array needs a group.", why="There is nothing to draw.", fix="Give at least one.")
    body, top = _draw_title(title)
    body += _draw_key(yes, no, top + 10)
    top += LINE + 24
    width = (WIDTH - 2 * EDGE) / len(groups)
    ends = []
    for column, group in enumerate(groups):
        left = EDGE + column * width
        drawn, end = _draw_icons(group, left=left, top=top, width=width - EDGE)
        body += drawn
        ends.append(end)
    return document(body, title=title, description=description, height=max(ends) + EDGE)


def _draw_title(title: str) -> tuple[list[str], float]:
    lines = wrap(title, width=WIDTH - 2 * EDGE, size=17)
    drawn = [text(words, x=EDGE, y=EDGE + SIZE + LINE * i, kind="title") for i, words in enumerate(lines)]
    return drawn, float(EDGE + LINE * len(lines))


def _draw_key(yes: str, no: str, y: float) -> list[str]:
    second = EDGE + CELL + text_width(yes) + 28
    return [
        _draw_person(EDGE + 9, y, filled=True),
        text(yes, x=EDGE + CELL, y=y + 15),
        _draw_person(second + 9, y, filled=False),
        text(no, x=second + CELL, y=y + 15),
    ]


def _draw_icons(group: Icons, *, left: float, top: float, width: float) -> tuple[list[str], float]:
    of = whole(group.of, name="of")
    count = min(whole(group.count, name="count", least=0), of)
    cell = min(CELL, width / COLUMNS)
    people = [
        _draw_person(left + (i % COLUMNS + 0.5) * cell, top + i // COLUMNS * CELL, filled=i < count) for i in range(of)
    ]
    below = top + -(-of // COLUMNS) * CELL + LINE
    words = wrap(group.caption, width=width)
    captions = [text(part, x=left, y=below + LINE * i) for i, part in enumerate(words)]
    return [*people, *captions], below + LINE * (len(words) - 1)


def _draw_person(x: float, y: float, *, filled: bool) -> str:
    head = f"M{number(x - 3.5)} {number(y + 4)}a3.5 3.5 0 1 1 7 0a3.5 3.5 0 1 1 -7 0Z"
    trunk = f"M{number(x - 6)} {number(y + 20)}v-5a6 5.5 0 0 1 12 0v5Z"
    return tag("path", d=head + trunk, class_="hb-yes" if filled else "hb-no")
