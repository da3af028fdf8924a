"""Lines, steps and densities over one x axis: the charts that follow a curve."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from hubbub.render.charts.axes import Axis, Frame, LabelPlacement, Show, label_gutter, plain
from hubbub.render.charts.svg import (
    HUES,
    LINE,
    SIZE,
    WIDTH,
    PixelBox,
    document,
    hue,
    line,
    number,
    tag,
    text,
    text_width,
    wrap,
)

EDGE = 16  # free space around every chart


@dataclass(frozen=True, slots=True)
class Series:
    """A named line; as ``steps`` it keeps each value until the next point, ``filled`` shades it down to zero."""

    name: str
    points: tuple[tuple[float, float], ...]
    steps: bool = False
    filled: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """A horizontal line to compare with: a budget, a bound."""

    value: float
    label: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A point worth a word."""

    x: float
    y: float
    label: str


@dataclass(frozen=True, slots=True)
class Panel:
    """One plot: what it draws and what its y axis says. ``include`` widens the axis to hold these values too."""

    label: str
    series: tuple[Series, ...]
    rules: tuple[Rule, ...] = ()
    marks: tuple[Mark, ...] = ()
    include: tuple[float, ...] = ()
    show: Show = plain
    height: int = 240

    def axis(self) -> Axis:
        """The y axis that holds everything in the panel."""
        values = [y for series in self.series for _, y in series.points]
        values += [*self.include, *(rule.value for rule in self.rules), *(mark.y for mark in self.marks)]
        values += [0.0] if any(series.filled for series in self.series) else []
        return Axis.over(values, label=self.label, show=self.show, count=max(3, self.height // 42))


def line_chart(panel: Panel, *, title: str, description: str, x: Axis | str) -> str:
    """One plot of one or several lines with a legend; ``x`` is an axis, or just its label."""
    return stacked_chart((panel,), title=title, description=description, x=x)


def step_chart(panel: Panel, *, title: str, description: str, x: Axis | str) -> str:
    """The same, for values that hold until the next change: a budget being spent, a counter."""
    steps = tuple(Series(s.name, s.points, steps=True, filled=s.filled) for s in panel.series)
    changed = Panel(panel.label, steps, panel.rules, panel.marks, panel.include, panel.show, panel.height)
    return stacked_chart((changed,), title=title, description=description, x=x)


def density_chart(
    inside: Series, outside: Series, *, ratio: Series, bounds: Sequence[Rule], title: str, description: str, x: str
) -> str:
    """Two densities above, their ratio and the bounds on it below, over the same x axis."""
    densities = Panel("how likely", (inside, outside), include=(0.0,), height=210)
    ratios = Panel(ratio.name, (ratio,), rules=tuple(bounds), include=(0.0,), height=170)
    return stacked_chart((densities, ratios), title=title, description=description, x=x)


def stacked_chart(panels: Sequence[Panel], *, title: str, description: str, x: Axis | str) -> str:
    """Several plots, one above the other, over one x axis.

    A series keeps its colour and dash in all of them; one that is alone in its plot needs no legend.
    """
    axis = x if isinstance(x, Axis) else Axis.over(_all_x(panels), label=x, snap=False, count=8)
    names = list(dict.fromkeys(s.name for panel in panels if len(panel.series) > 1 for s in panel.series))
    body, top = _draw_heading(title, names)
    y_axes = [panel.axis() for panel in panels]
    left = max(EDGE + 24.0, label_gutter(y_axes))
    for panel, y_axis in zip(panels, y_axes, strict=True):
        top += LINE + 8
        frame = Frame(PixelBox(left, top, WIDTH - EDGE - 12, top + panel.height), axis, y_axis)
        body += frame.sides(x_labels=panel is panels[-1])
        body += _draw_contents(panel, frame, names)
        top += panel.height + LINE
    return document(body, title=title, description=description, height=top + LINE + EDGE)


def _all_x(panels: Iterable[Panel]) -> list[float]:
    return [x for panel in panels for series in panel.series for x, _ in series.points]


def _draw_heading(title: str, names: Sequence[str]) -> tuple[list[str], float]:
    """The title and the legend, if there is one; and how far down they reach."""
    body: list[str] = []
    y = EDGE + SIZE
    for words in wrap(title, width=WIDTH - 2 * EDGE, size=17):
        body.append(text(words, x=EDGE, y=y, kind="title"))
        y += LINE
    if not names:
        return body, y - SIZE
    x = float(EDGE)
    y += 6
    for index, name in enumerate(names):
        wide = 40 + text_width(name)
        if x > EDGE and x + wide > WIDTH - EDGE:
            x, y = float(EDGE), y + LINE
        sample = tag("path", d=f"M{number(x)} {y - 5}h30", class_=f"hb-line {hue(index)}")
        body += [sample, text(name, x=x + 38, y=y)]
        x += wide + 24
    return body, y + 10


def _draw_contents(panel: Panel, frame: Frame, names: Sequence[str]) -> list[str]:
    looks = [_series_style(series.name, names) for series in panel.series]
    body = [
        _draw_area(s, frame, f"hb-fill{index}") for s, (index, _) in zip(panel.series, looks, strict=True) if s.filled
    ]
    heights = [frame.at(frame.x.low, rule.value)[1] for rule in panel.rules]
    body += [line(x1=frame.box.left, y1=y, x2=frame.box.right, y2=y, kind="rule") for y in heights]
    body += [_draw_curve(s, frame, classes) for s, (_, classes) in zip(panel.series, looks, strict=True)]
    labels = LabelPlacement(PixelBox(frame.box.left, frame.box.top - 4, frame.box.right, frame.box.bottom + 4))
    body += [labels.along(rule.label, y=y) for rule, y in zip(panel.rules, heights, strict=True)]
    for mark in panel.marks:
        x, y = frame.at(mark.x, mark.y)
        body += [tag("circle", cx=x, cy=y, r=5, class_="hb-dot"), labels.beside(mark.label, x=x, y=y)]
    return body


def _series_style(name: str, names: Sequence[str]) -> tuple[int, str]:
    """The colour of a series and its classes; outside the legend it is solid, in a colour of its own."""
    index = names.index(name) if name in names else len(names)
    return index % HUES, hue(index) if name in names else f"hb-hue{index % HUES}"


def _draw_curve(series: Series, frame: Frame, classes: str) -> str:
    return tag("path", d=_path_data(series, frame), class_=f"hb-line {classes}")


def _draw_area(series: Series, frame: Frame, classes: str) -> str:
    first, _ = frame.at(series.points[0][0], 0)
    last, floor = frame.at(series.points[-1][0], 0)
    closed = f"{_path_data(series, frame)}L{number(last)} {number(floor)}L{number(first)} {number(floor)}Z"
    return tag("path", d=closed, class_=f"hb-area {classes}")


def _path_data(series: Series, frame: Frame) -> str:
    spots = [frame.at(x, y) for x, y in series.points]
    if series.steps:
        corners = [(right[0], left[1]) for left, right in pairwise(spots)]
        spots = [spots[0], *(spot for both in zip(corners, spots[1:], strict=True) for spot in both)]
    return "M" + "L".join(f"{number(x)} {number(y)}" for x, y in spots)
