"""Citations are plain text, ``[CKS20, Thm. 4]``, in code and pages alike; here they become links."""

from __future__ import annotations

import re

from docutils import nodes
from pybtex.plugin import register_plugin
from pybtex.style.formatting.unsrt import Style
from pybtex.style.labels import BaseLabelStyle
from pybtex.style.sorting.author_year_title import SortingStyle
from sphinx.application import Sphinx

PAGE = "references"
KEYS = re.compile(r"(?<=[\[ ;])(?:[A-Z][A-Za-z]*\d{2}|CS208)(?=[\],;])")
CITATION = re.compile(r"\[(?:[A-Z][A-Za-z]*\d{2}|CS208)[\],;][^\[\]]*\]?")


class KeyLabels(BaseLabelStyle):
    """The label of an entry is its key."""

    def format_labels(self, sorted_entries):  # type: ignore[no-untyped-def]
        return [entry.key for entry in sorted_entries]


class ByKey(SortingStyle):
    """Entries in the order of their keys."""

    def sorting_key(self, entry):  # type: ignore[no-untyped-def]
        return entry.key.lower()


class KeyStyle(Style):
    """The plain style, labelled and sorted by key."""

    default_label_style = "keys"
    default_sorting_style = "keys"


def register_style() -> None:
    """Make the style known to the bibliography extension."""
    register_plugin("pybtex.style.labels", "keys", KeyLabels)
    register_plugin("pybtex.style.sorting", "keys", ByKey)
    register_plugin("pybtex.style.formatting", "keys", KeyStyle)


def link_keys(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Link every cited key to its entry."""
    if docname == PAGE or app.builder.format != "html" or PAGE not in app.env.found_docs:
        return
    target = app.builder.get_relative_uri(docname, PAGE)
    for text in list(doctree.findall(nodes.Text)):
        inside = text.parent
        if CITATION.search(text) and not isinstance(inside, nodes.literal | nodes.literal_block | nodes.reference):
            inside.replace(text, _linked(str(text), target))


def _linked(text: str, target: str) -> list[nodes.Node]:
    parts: list[nodes.Node] = []
    end = 0
    for citation in CITATION.finditer(text):
        for key in KEYS.finditer(text, citation.start(), citation.end()):
            parts.append(nodes.Text(text[end : key.start()]))
            parts.append(nodes.reference("", key[0], refuri=f"{target}#{nodes.make_id(key[0])}", internal=True))
            end = key.end()
    return [*parts, nodes.Text(text[end:])]
