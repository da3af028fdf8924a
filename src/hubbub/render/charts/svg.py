"""The few SVG building blocks that every picture is made of: strings in, strings out, nothing imported.

Colours are CSS custom properties with a light and a dark value; a page may set ``--hb-ink`` and the like
to use its own. Class names start with ``hb-`` because a style inside an inline SVG reaches the whole page.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Sequence
from typing import NamedTuple

WIDTH = 640  # every chart is drawn for this width and scales down with its container
SIZE = 14  # of ordinary text, in pixels
LINE = 20  # from one line of text to the next
HUES = 4  # colours; each comes with a dash pattern of its own

_LIGHT = {
    "ground": "#ffffff",
    "ink": "#1b1f24",
    "muted": "#57606a",
    "grid": "#d5dae0",
    "hue0": "#0b5cad",
    "hue1": "#b3470b",
    "hue2": "#1a7f37",
    "hue3": "#7a3db8",
}
_DARK = {
    "ground": "#14181d",
    "ink": "#e8edf2",
    "muted": "#a3afbb",
    "grid": "#363d46",
    "hue0": "#6cb6ff",
    "hue1": "#f5a35c",
    "hue2": "#5fd37a",
    "hue3": "#cfa3ff",
}
_DASHES = ("none", "8 5", "2 4", "10 4 2 4")
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # no XML can hold these
_HOLLOW = frozenset({"circle", "line", "path", "rect"})  # elements that never have content
_NARROW, _WIDE = frozenset("ijlftIr.,:;|!'()[]/ "), frozenset("mwMW@%&+−=±≤≥—…")


class PixelBox(NamedTuple):
    """A rectangle in pixels."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: PixelBox) -> bool:
        """True if the two rectangles overlap."""
        return not (
            self.right <= other.left or other.right <= self.left or self.bottom <= other.top or other.bottom <= self.top
        )

    def holds(self, other: PixelBox) -> bool:
        """True if ``other`` lies within this rectangle."""
        return (
            self.left <= other.left
            and self.top <= other.top
            and other.right <= self.right
            and other.bottom <= self.bottom
        )


def colours(selector: str) -> str:
    """CSS that gives ``selector`` the palette, light or dark as the reader prefers."""
    light, dark = _palette_rules(_LIGHT), _palette_rules(_DARK)
    return f"{selector}{{{light}}}@media (prefers-color-scheme:dark){{{selector}{{{dark}}}}}"


def _palette_rules(values: dict[str, str]) -> str:
    return "".join(f"--{name}:var(--hb-{name},{value});" for name, value in values.items())


STYLE = (
    colours(".hb-chart") + f".hb-chart{{max-width:100%;height:auto;font:{SIZE}px system-ui,'DejaVu Sans',sans-serif}}"
    ".hb-chart text{fill:var(--ink);stroke:var(--ground);stroke-width:4px;stroke-linejoin:round;paint-order:stroke}"
    ".hb-chart .hb-title{font-weight:600;font-size:15px}.hb-chart .hb-muted{fill:var(--muted)}"
    ".hb-ground{fill:var(--ground)}.hb-grid{stroke:var(--grid);stroke-width:1}"
    ".hb-axis{stroke:var(--muted);stroke-width:1}"
    ".hb-line{fill:none;stroke-width:2.5;stroke-linejoin:round}.hb-area{stroke:none;opacity:.14}"
    ".hb-rule{stroke:var(--ink);stroke-width:1.5;stroke-dasharray:6 4}"
    ".hb-dot{fill:var(--ground);stroke:var(--ink);stroke-width:2.5}"
    ".hb-whisker{fill:none;stroke:var(--ink);stroke-width:2}.hb-halo{fill:none;stroke:var(--ground);stroke-width:5}"
    ".hb-yes{fill:var(--hue0);stroke:var(--hue0);stroke-width:1.5}"
    ".hb-no{fill:none;stroke:var(--muted);stroke-width:1.5}"
    + "".join(f".hb-hue{i}{{stroke:var(--hue{i})}}.hb-fill{i}{{fill:var(--hue{i})}}" for i in range(HUES))
    + "".join(f".hb-dash{i}{{stroke-dasharray:{dash}}}" for i, dash in enumerate(_DASHES))
)


def escape(text: str) -> str:
    """Text that may stand in XML or HTML, in content or in a quoted attribute, whatever it was."""
    legal = _ILLEGAL.sub("\ufffd", text)
    for sign, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#39;")):
        legal = legal.replace(sign, entity)
    return legal


def tag(name: str, *children: str, **attributes: str | float) -> str:
    """One element; children are markup already, attributes are escaped (``class_``, ``stroke_width``)."""
    attribute_text = "".join(
        f' {_attribute_name(key)}="{_attribute_value(value)}"' for key, value in attributes.items()
    )
    return f"<{name}{attribute_text}/>" if name in _HOLLOW else f"<{name}{attribute_text}>{''.join(children)}</{name}>"


def _attribute_name(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


def _attribute_value(value: str | float) -> str:
    return escape(value) if isinstance(value, str) else number(value)


def number(value: float) -> str:
    """A coordinate with at most two decimals."""
    short = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if short == "-0" else short


def text(content: str, *, x: float, y: float, anchor: str = "start", kind: str = "") -> str:
    """One line of text; ``y`` is its baseline."""
    extra = {"class_": f"hb-{kind}"} if kind else {}
    return tag("text", escape(content), x=x, y=y, text_anchor=anchor, **extra)


def line(*, x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """A straight line."""
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=f"hb-{kind}")


def hue(index: int) -> str:
    """The classes of the ``index``-th series: colour and dash together, so that colour is never alone."""
    return f"hb-hue{index % HUES} hb-dash{(index + index // HUES) % len(_DASHES)}"


def text_width(content: str, *, size: float = SIZE) -> float:
    """How wide a line of text can get, on the safe side for common sans-serif fonts."""
    return size * sum(_character_width(sign) for sign in content)


def _character_width(sign: str) -> float:
    if unicodedata.combining(sign):
        return 0.0
    if sign in _NARROW:
        return 0.42
    if sign in _WIDE or unicodedata.east_asian_width(sign) in "WF":
        return 1.0
    return 0.78 if sign.isupper() else 0.64


def shorten(content: str, *, width: float) -> str:
    """The text, cut with an ellipsis where it would be wider than ``width``."""
    if text_width(content) <= width:
        return content
    while content and text_width(content + "…") > width:
        content = content[:-1]
    return content.rstrip() + "…"


def wrap(content: str, *, width: float, size: float = SIZE) -> list[str]:
    """Lines of at most ``width`` pixels, broken between words but not around an equals sign."""
    lines: list[str] = []
    for word in content.replace(" = ", "\u00a0=\u00a0").split(" "):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, size=size) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def document(body: Sequence[str], *, title: str, description: str, height: float) -> str:
    """A whole picture: an image to screen readers, named by its title and told by its description."""
    key = f"hb{zlib.crc32(f'{title}|{description}|{len(body)}'.encode(errors='replace')):08x}"
    return tag(
        "svg",
        tag("title", escape(title), id=f"{key}t"),
        tag("desc", escape(description), id=f"{key}d"),
        tag("style", STYLE),
        tag("rect", width=WIDTH, height=height, class_="hb-ground"),
        *body,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {number(height)}",
        width=WIDTH,
        height=height,
        role="img",
        aria_labelledby=f"{key}t",
        aria_describedby=f"{key}d",
        class_="hb-chart",
    )
