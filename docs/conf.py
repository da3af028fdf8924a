"""How the documentation is built: `make check` builds it with every warning an error and without a network."""

import fnmatch
import string
import sys
from pathlib import Path

from sphinx.application import Sphinx

HERE = Path(__file__).parent
PATTERN = {*string.ascii_letters, *string.digits, *"-_/*"}
sys.path.insert(0, str(HERE))

import _bibliography  # noqa: E402
import _docstrings  # noqa: E402
import _math  # noqa: E402

import hubbub  # noqa: E402

project = "Hubbub"
author = "The Hubbub authors"
release = hubbub.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinxcontrib.bibtex"]
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]

html_theme = "furo"
html_math_renderer = "mathml"
html_title = "Hubbub"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_static_path = ["_static"]
html_css_files = ["site.css"]

bibtex_bibfiles = ["references.bib"]
bibtex_default_style = "keys"  # labels are the keys, as in the docstrings
bibtex_cite_id = "{key}"

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True, "show-inheritance": True}

_bibliography.register_style()


def setup(app: Sphinx) -> None:
    """Connect the helpers beside this file."""
    _math.register(app)
    app.connect("autodoc-process-docstring", _docstrings.process)
    app.connect("doctree-resolved", _bibliography.link_keys)
    app.connect("source-read", _complete_index)


def _complete_index(app: Sphinx, docname: str, source: list[str]) -> None:
    """Leave out patterns that match no page yet, and list pages that no pattern names: they appear by themselves."""
    if docname == "index":
        pages = sorted(app.env.found_docs - {"index"})
        lines = source[0].splitlines()
        patterns = {line for line in lines if line and set(line) <= PATTERN}
        kept = [line for line in lines if not line.endswith("*") or fnmatch.filter(pages, line)]
        further = [page for page in pages if "/" not in page and not any(fnmatch.fnmatch(page, p) for p in patterns)]
        source[0] = "\n".join(kept).replace("<!-- further pages -->", "\n".join(further))
