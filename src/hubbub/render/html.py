"""Documents as HTML: a fragment for notebooks, a whole page for files. No script, no font, no network."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hubbub.render.charts.svg import WIDTH, colours, escape, tag

if TYPE_CHECKING:
    from hubbub.render.document import Figure, Section, TextTable

STYLE = (
    colours(".hb-document")
    + ".hb-document{font:16px/1.55 system-ui,'DejaVu Sans',sans-serif;color:var(--ink);background:var(--ground);"
    f"max-width:{WIDTH}px;margin:0 auto;padding:1rem}}"
    ".hb-document h1,.hb-document h2{line-height:1.25;margin:1.6em 0 .5em}"
    ".hb-document h1{font-size:1.6rem;margin-top:.5em}"
    ".hb-document h2{font-size:1.2rem}.hb-document p{margin:.5em 0 1em}"
    ".hb-document figure{margin:1rem 0}.hb-document figure svg{display:block}"
    ".hb-document figcaption{color:var(--muted);font-size:.9rem}"
    ".hb-document .hb-scroll{overflow-x:auto}"
    ".hb-document table{border-collapse:collapse;margin:1rem 0;font-variant-numeric:tabular-nums}"
    ".hb-document th,.hb-document td{padding:.35rem 1rem .35rem 0;text-align:right;border-bottom:1px solid var(--grid)}"
    ".hb-document th:first-child,.hb-document td:first-child{text-align:left}"
    ".hb-document tbody th{font-weight:inherit}.hb-document thead th{font-weight:600;vertical-align:bottom}"
)
_PAGE_STYLE = colours(":root") + ":root{color-scheme:light dark}body{margin:0;background:var(--ground)}"


def render_page(title: str, sections: Sequence[Section]) -> str:
    """A standalone document."""
    head = tag(
        "head",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width,initial-scale=1">',
        tag("title", escape(title)),
        tag("style", _PAGE_STYLE + STYLE),
    )
    body = tag("body", tag("main", _render_content(title, sections), class_="hb-document"))
    return f'<!DOCTYPE html>\n<html lang="en">{head}{body}</html>\n'


def render_fragment(title: str, sections: Sequence[Section]) -> str:
    """The same as part of another page."""
    return tag("div", tag("style", STYLE), _render_content(title, sections), class_="hb-document")


def _render_content(title: str, sections: Sequence[Section]) -> str:
    return tag("h1", escape(title)) + "\n".join(map(_render_section, sections))


def _render_section(section: Section) -> str:
    parts = [tag("h2", escape(section.heading)), *(tag("p", _render_paragraph(words)) for words in section.paragraphs)]
    if section.figure:
        parts.append(_render_figure(section.figure))
    if section.table:
        parts.append(_render_table(section.table, section.heading))
    return tag("section", *parts)


def _render_paragraph(paragraph: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(paragraph))


def _render_figure(figure: Figure) -> str:
    return tag("figure", figure.svg, tag("figcaption", escape(figure.caption)))


def _render_table(table: TextTable, name: str) -> str:
    head = tag("tr", *(tag("th", escape(cell), scope="col") for cell in table.header))
    rows = [
        tag("tr", tag("th", escape(row[0]), scope="row"), *(tag("td", escape(cell)) for cell in row[1:]))
        for row in table.rows
    ]
    body = tag("table", tag("thead", head), tag("tbody", *rows), aria_label=name)
    return tag("div", body, class_="hb-scroll", tabindex="0", role="group", aria_label=f"Table: {name}")
