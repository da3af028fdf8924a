"""The one way to people's eyes: documents as text and HTML, charts as SVG, numbers in words.

``Document`` is made of ``Section``, ``TextTable`` and ``Figure``; ``wording`` says numbers as people read them;
``charts`` draws. Nothing here knows of privacy. Start with ``document``.
"""

from hubbub.render import text
from hubbub.render.document import Document, Figure, Json, Section, TextTable
from hubbub.render.text import bars, format_table, icons, printable
from hubbub.render.wording import LARGEST, as_float, at_most, hundredths, one_in, out_of_100, percent, short

__all__ = [
    "LARGEST",
    "Document",
    "Figure",
    "Json",
    "Section",
    "TextTable",
    "as_float",
    "at_most",
    "bars",
    "format_table",
    "hundredths",
    "icons",
    "one_in",
    "out_of_100",
    "percent",
    "printable",
    "short",
    "text",
]
