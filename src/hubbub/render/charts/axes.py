"""Axes with round ticks, the frame of a plot, and labels that keep out of each other's way."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from hubbub.render.charts.svg import LINE, SIZE, WIDTH, PixelBox, line, text, text_width
from hubbub.terms import EmptyInput, OutOfRange

Show = Callable[[float, int], str]  # a number and how many decimals tell ticks apart -> its label


def plain(value: float, digits: int) -> str:
    """A tick as an ordinary number.

    >>> plain(12500, 0), plain(0.25, 2)
    ('12,500', '0.25')
    """
    if value == 0:
        return "0"
    if digits > 5 or abs(value) >= 1e9:
        return f"{value:g}"
    return f"{value:,.{digits}f}"


def percentage(value: float, digits: int) -> str:
    """A tick as a percentage.

    >>> percentage(0.25, 2)
    '25%'
    """
    return plain(value * 100, max(0, digits - 2)) + "%"


_LEAST = 1e-300  # a tenth of the smallest doubles is none


@dataclass(frozen=True, slots=True)
class Tick:
    """One place on an axis and what is written there."""

    value: float
    label: str


@dataclass(frozen=True, slots=True)
class Axis:
    """What an axis shows, from where to where, with which ticks. Give ``ticks`` for dates and the like."""

    label: str
    low: float
    high: float
    ticks: tuple[Tick, ...]

    @classmethod
    def over(
        cls, values: Iterable[float], *, label: str, show: Show = plain, count: int = 6, snap: bool = True
    ) -> Axis:
        """An axis that holds all ``values``; with ``snap`` it ends on ticks, else where the values end."""
        low, high = _value_range(values)
        steps, digits = round_steps(low, high, count=count)
        if snap:
            low, high = steps[0], steps[-1]
        inside = [step for step in steps if low <= step <= high]
        return cls(label, low, high, tuple(Tick(step, show(step, digits)) for step in inside))

    def share(self, value: float) -> float:
        """How far along the axis ``value`` lies: 0 at its low end, 1 at its high end."""
        return (value - self.low) / (self.high - self.low)


def _value_range(values: Iterable[float]) -> tuple[float, float]:
    known = list(values)
    if not known:
        raise EmptyInput("a chart needs data.", why="There is nothing to draw.", fix="Give at least one point.")
    if not all(map(math.isfinite, known)):
        raise OutOfRange(
            "a chart can only show finite numbers.",
            why="NaN and infinities have no place on an axis.",
            fix="Leave those points out.",
        )
    low, high = min(known), max(known)
    size = max(abs(low), abs(high))
    if high - low > max(1e-12 * size, _LEAST):
        return low, high
    pad = size / 2 if size > _LEAST else 1.0  # all values alike: show them in the middle
    return low - pad, high + pad


def round_steps(low: float, high: float, *, count: int) -> tuple[list[float], int]:
    """Round numbers, about ``count`` of them, from at or below ``low`` to at or above ``high``; and their decimals.

    >>> round_steps(0.03, 0.97, count=6)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], 1)
    """
    rough = (high - low) / max(1, count - 1)
    power = math.floor(math.log10(rough) + 1e-9)
    mantissa = next(m for m in (1, 2, 5, 10) if m * 10.0**power >= rough * (1 - 1e-9))
    step, digits = mantissa * 10.0**power, max(0, -power - (mantissa == 10))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(i * step, digits + 2) if digits < 300 else i * step for i in range(first, last + 1)], digits


@dataclass(frozen=True, slots=True)
class Frame:
    """A plot's rectangle in pixels and the two axes along its sides."""

    box: PixelBox
    x: Axis
    y: Axis

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Where a point lies in the picture."""
        left, top, right, bottom = self.box
        return left + self.x.share(x) * (right - left), bottom - self.y.share(y) * (bottom - top)

    def sides(self, *, x_labels: bool) -> list[str]:
        """Grid, tick labels and the two lines of the axes; the y label stands above its axis, upright."""
        left, top, right, bottom = self.box
        drawn = [text(self.y.label, x=left, y=top - 10, kind="muted")] if self.y.label else []
        for tick in self.y.ticks:
            _, y = self.at(self.x.low, tick.value)
            drawn += [line(x1=left, y1=y, x2=right, y2=y, kind="grid")]
            drawn += [text(tick.label, x=left - 8, y=y + 5, anchor="end", kind="muted")]
        for tick in thin_ticks(self.x.ticks, width=right - left):
            x, _ = self.at(tick.value, self.y.low)
            drawn += [line(x1=x, y1=top, x2=x, y2=bottom, kind="grid")]
            if x_labels:
                half = text_width(tick.label) / 2
                inside = min(max(x, half + 4), WIDTH - half - 4)  # the first and last label may be wide
                drawn += [text(tick.label, x=inside, y=bottom + 19, anchor="middle", kind="muted")]
        drawn.append(line(x1=left, y1=bottom, x2=right, y2=bottom, kind="axis"))
        if x_labels:
            drawn.append(text(self.x.label, x=right, y=bottom + 40, anchor="end", kind="muted"))
        return drawn


def thin_ticks(ticks: tuple[Tick, ...], *, width: float) -> tuple[Tick, ...]:
    """Every tick, or every second, third, ...: as many as have room for their labels."""
    widest = max((text_width(tick.label) for tick in ticks), default=0) * 1.1 + 12
    room = max(2, int(width // widest))
    return ticks[:: max(1, math.ceil(len(ticks) / room))]


def label_gutter(axes: Iterable[Axis]) -> float:
    """How much room the widest y tick label needs at the left."""
    return 14 + max(text_width(tick.label) for axis in axes for tick in axis.ticks)


Spot = tuple[str, float, float]  # anchor, x and baseline of a line of text


@dataclass(slots=True)
class LabelPlacement:
    """Labels inside a plot, each put where it touches neither another label nor the border, if it can be."""

    within: PixelBox
    taken: list[PixelBox] = field(default_factory=list)

    def beside(self, label: str, *, x: float, y: float) -> str:
        """The label next to the point (x, y), on the first side with room."""
        right = [("start", x + 11, y + 5), ("start", x + 8, y - 10), ("start", x + 8, y + 20)]
        left = [("end", x - 11, y + 5), ("end", x - 8, y - 10), ("end", x - 8, y + 20)]
        return self._first_free(label, [*right, *left, ("middle", x, y - LINE), ("middle", x, y + LINE + 10)])

    def along(self, label: str, *, y: float) -> str:
        """The label on a horizontal line at height ``y``: above or below it, at its right or left end."""
        left, _, right, _ = self.within
        ends: list[Spot] = [("end", right - 6, y - 6), ("end", right - 6, y + 17)]
        return self._first_free(label, [*ends, ("start", left + 6, y - 6), ("start", left + 6, y + 17)])

    def _first_free(self, label: str, spots: list[Spot]) -> str:
        boxes = [_text_box(text_width(label), *spot) for spot in spots]
        free = [i for i, box in enumerate(boxes) if self.within.holds(box) and not any(map(box.meets, self.taken))]
        best = free[0] if free else 0
        self.taken.append(boxes[best])
        anchor, x, base = spots[best]
        return text(label, x=x, y=base, anchor=anchor)


def _text_box(width: float, anchor: str, x: float, base: float) -> PixelBox:
    left = {"start": x, "middle": x - width / 2, "end": x - width}[anchor]
    return PixelBox(left, base - SIZE, left + width, base + 4)
