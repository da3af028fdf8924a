"""Releases as HTML: a table with error bars, the price as a badge, and how to read it. No script, no network."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hubbub.releases import text
from hubbub.render.charts import Bar, bar_chart, colours, escape, number, tag
from hubbub.terms import EmptyInput

if TYPE_CHECKING:
    from hubbub.releases.release import Release

_ROWS = 100  # shown in a notebook
_BARS = 40  # drawn in a chart
_WIDE, _HIGH, _PAD = 132.0, 18.0, 4.0  # an error bar in a cell, in pixels

STYLE = (
    colours(".hb-release")
    + ".hb-release{font:15px/1.5 system-ui,'DejaVu Sans',sans-serif;color:var(--ink);background:var(--ground);"
    "max-width:60rem;padding:.75rem 1rem;border-radius:8px}"
    ".hb-release .hb-question{font:13px/1.5 ui-monospace,'DejaVu Sans Mono',monospace;color:var(--muted);"
    "margin:0 0 .6rem;white-space:pre-wrap;overflow-wrap:anywhere;background:none;border:0;padding:0}"
    ".hb-release .hb-badges{display:flex;flex-wrap:wrap;gap:.4rem;margin:.7rem 0 .5rem;padding:0;list-style:none}"
    ".hb-release .hb-badges li{border:1px solid var(--grid);border-radius:999px;padding:.1rem .7rem;font-size:13px;"
    "margin:0}"
    ".hb-release .hb-badges li:first-child{border-color:var(--hue0);color:var(--hue0);font-weight:600}"
    ".hb-release .hb-scroll{overflow-x:auto}"
    ".hb-release table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:15px;margin:0}"
    ".hb-release thead th{border-bottom:2px solid var(--grid);font-weight:600;vertical-align:bottom}"
    ".hb-release thead small{display:block;font-weight:400;color:var(--muted);font-size:12px;max-width:20rem}"
    ".hb-release th,.hb-release td{padding:.3rem .9rem .3rem 0;text-align:left;color:inherit;background:none}"
    ".hb-release td,.hb-release tbody th{border-bottom:1px solid var(--grid);font-weight:400;white-space:nowrap}"
    ".hb-release .hb-number{text-align:right;padding-right:.35rem}"
    ".hb-release .hb-error{color:var(--muted);font-size:13px;padding-right:.6rem}"
    ".hb-release .hb-bar{padding-right:1.4rem;line-height:0}"
    ".hb-release .hb-mini{fill:var(--hue0);opacity:.3}.hb-release .hb-zero{stroke:var(--grid)}"
    ".hb-release .hb-mark{fill:var(--hue0)}"
    ".hb-release .hb-span{fill:none;stroke:var(--ink);stroke-width:1.5}"
    ".hb-release ul.hb-remarks{margin:.4rem 0;padding-left:1.1rem;color:var(--muted);font-size:13.5px}"
    ".hb-release details{font-size:14px;margin-top:.3rem}.hb-release summary{cursor:pointer;color:var(--hue0)}"
    ".hb-release details p{margin:.4rem 0}"
)
_PAGE_STYLE = colours(":root") + ":root{color-scheme:light dark}body{margin:0;background:var(--ground)}"


def release_page(release: Release) -> str:
    """A standalone document."""
    head = tag(
        "head",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width,initial-scale=1">',
        tag("title", "A private answer"),
        tag("style", _PAGE_STYLE),
    )
    return f'<!DOCTYPE html>\n<html lang="en">{head}{tag("body", tag("main", release_fragment(release)))}</html>\n'


def release_fragment(release: Release, *, confidence: float = 0.95) -> str:
    """The same as part of another page, such as a notebook."""
    parts = [tag("style", STYLE)]
    if release.question:
        parts.append(tag("pre", escape(release.question), class_="hb-question"))
    parts += [
        _release_table(release, confidence),
        _price_badges(release),
        _remark_list(release),
        _how_to_read(release, confidence),
    ]
    return tag("div", *parts, class_="hb-release")


def _price_badges(release: Release) -> str:
    parts = release.price().split(" · ")
    return tag("ul", *(tag("li", escape(words)) for words in (f"cost: {parts[0]}", *parts[1:])), class_="hb-badges")


def _remark_list(release: Release) -> str:
    return tag("ul", *(tag("li", escape(words)) for words in release.remarks()), class_="hb-remarks")


def _how_to_read(release: Release, confidence: float) -> str:
    level = f"{100 * confidence:g}%"
    words = (
        "Noise was added to the numbers, on purpose. The ± says how far one may be off: the number without noise lies "
        f"within it in {level} of all answers, each number by itself. Numbers whose intervals overlap may be alike.",
        "Bars and dots show the number, whiskers its interval. Numbers are as released: counts may be below 0, and "
        "parts need not add up to their total.",
        release.guarantee.describe(),
    )
    return tag("details", tag("summary", "How to read this"), *(tag("p", escape(part)) for part in words))


def _release_table(release: Release, confidence: float) -> str:
    shown = release.head(_ROWS)
    heads = [_column_head(release, place) for place in range(len(release.columns))]
    columns = [_column_cells(shown, place, confidence) for place in range(len(release.columns))]
    rows = (tag("tr", *cells) for cells in zip(*columns, strict=True))
    table = tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows), aria_label="The answer")
    more = len(release) - _ROWS
    rest = tag("p", escape(f"… and {more:,} more rows")) if more > 0 else ""
    return tag("div", table, class_="hb-scroll", tabindex="0", role="group", aria_label="Table of the answer") + rest


def _column_head(release: Release, place: int) -> str:
    output = release.columns[place]
    about = tag("small", escape(output.about)) if output.about and output.about != output.name else ""
    span = {"colspan": "3"} if release.is_noisy(place) else {}
    return tag("th", escape(output.name), about, scope="col", **span)


def _column_cells(release: Release, place: int, confidence: float) -> list[str]:
    values, (lows, highs) = release.told(place, confidence)
    rows = list(zip(values, lows, highs, strict=True))
    if not release.is_noisy(place):
        kind = "th" if place == 0 else "td"
        extra = {"scope": "row"} if place == 0 else {}
        return [tag(kind, escape(text.format_public(value)), **extra) for value, _, _ in rows]
    axis = _shared_axis(rows, zero=release.columns[place].formula.line() is not None)
    return [_cell_html(row, axis) for row in rows]


def _cell_html(row: tuple[object, object, object], axis: tuple[float, float] | None) -> str:
    value, error = text.format_cell(*row)
    return (
        tag("td", escape(value), class_="hb-number")
        + tag("td", escape(error), class_="hb-error")
        + tag("td", _error_bar(row, axis), class_="hb-bar")
    )


def _drawable_numbers(row: Sequence[object]) -> list[float]:
    """The numbers of a cell, if all of them can be drawn."""
    known = [float(v) for v in row if isinstance(v, int | float) and math.isfinite(v)]
    return known if len(known) == len(row) else []


def _shared_axis(rows: Sequence[tuple[object, object, object]], *, zero: bool) -> tuple[float, float] | None:
    known = [value for row in rows for value in _drawable_numbers(row)]
    if not known:
        return None
    ends = [*known, 0.0] if zero else known
    low, high = min(ends), max(ends)
    return (low, high) if high > low else (low - 1, high + 1)


def _error_bar(row: tuple[object, object, object], axis: tuple[float, float] | None) -> str:
    """A bar from 0 (or a mark, where 0 is out of sight) and the whiskers of its interval."""
    known = _drawable_numbers(row)
    if not known or axis is None:
        return ""
    first, last = axis

    def at(value: float) -> float:
        return _PAD + (value - first) / (last - first) * (_WIDE - 2 * _PAD)

    value, low, high = (at(v) for v in known)
    middle, zero = _HIGH / 2, at(0.0)
    if first <= 0 <= last:
        start, end = sorted((zero, value))
        drawn = [
            tag("rect", x=start, y=middle - 5, width=end - start, height=10, class_="hb-mini"),
            tag("line", x1=zero, x2=zero, y1=1, y2=_HIGH - 1, class_="hb-zero"),
        ]
    else:
        drawn = [tag("circle", cx=value, cy=middle, r=2.8, class_="hb-mark")]
    path = f"M{number(low)} {number(middle)}H{number(high)}M{number(low)} {number(middle - 4)}v8"
    drawn.append(tag("path", d=f"{path}M{number(high)} {number(middle - 4)}v8", class_="hb-span"))
    view = f"0 0 {number(_WIDE)} {number(_HIGH)}"
    return tag("svg", *drawn, width=_WIDE, height=_HIGH, viewBox=view, aria_hidden="true")


def column_chart(release: Release, name: str | None, *, confidence: float) -> str:
    """A noisy column as bars with error bars; rows that have no number are left out."""
    noisy = [place for place in range(len(release.columns)) if release.is_noisy(place)]
    if name is None and not noisy:
        raise EmptyInput("there is nothing to draw.", why="No column has noise.", fix="Name a column of numbers.")
    place = release.place(name) if name is not None else noisy[0]
    head = release.head(_BARS)
    values, (lows, highs) = head.told(place, confidence)
    rows = zip(_row_labels(head), values, lows, highs, strict=True)
    bars = [_bar_of(label, row) for label, *row in rows if _drawable_numbers(row)]
    title = release.columns[place].name
    cut = f", first {_BARS} of {len(release):,} rows" if len(release) > _BARS else ""
    return bar_chart(
        bars,
        title=f"{title}{cut}",
        description=f"{title} with {100 * confidence:g}% intervals, which cover the noise only: "
        + "; ".join(f"{bar.label}: {bar.shown}" for bar in bars),
        label=f"{title}, with {100 * confidence:g}% intervals",
    )


def _bar_of(label: str, row: Sequence[object]) -> Bar:
    value, low, high = _drawable_numbers(row)
    return Bar(label, value, low, high, shown=" ".join(text.format_cell(*row)).strip())


def _row_labels(release: Release) -> list[str]:
    """The keys of each row, one after the other."""
    if not release.keys:
        return [release.columns_names[0] if len(release) == 1 else str(i + 1) for i in range(len(release))]
    rows = zip(*(key.values for key in release.keys), strict=True)
    return [", ".join(text.format_public(value) for value in row) for row in rows]
