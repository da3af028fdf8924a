"""What docstrings and pages promise: a reason for each guarantee, citations and proofs that exist, light imports."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "hubbub"
DOCS = ROOT / "docs"
FILES = sorted(SRC.rglob("*.py"))
PAGES = [ROOT / "README.md", *sorted(p for p in DOCS.rglob("*.md") if "_build" not in p.parts)]

KEY = r"(?:[A-Z][A-Za-z]*\d{2}|CS208)"
CITATION = re.compile(rf"\[({KEY}(?=[,;\]])[^\[\]]*)")
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def docstrings(source: str) -> Iterator[tuple[str, str]]:
    """(name, docstring) of everything in a source file that has one."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, Definition | ast.Module) and (text := ast.get_docstring(node)):
            yield getattr(node, "name", "module"), text


def comments(source: str) -> Iterator[str]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return (token.string for token in tokens if token.type == tokenize.COMMENT)


def words_of(source: str) -> str:
    """All that a source file says to people: docstrings and comments."""
    return "\n".join([*(text for _, text in docstrings(source)), *comments(source)])


# ---------------------------------------------------------------- guarantees


def without_reason(source: str) -> list[str]:
    """Names whose docstring has a ``Guarantee:`` and no ``Because:``."""
    return [name for name, text in docstrings(source) if "Guarantee:" in text and "Because:" not in text]


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_guarantee_says_why(path: Path) -> None:
    assert without_reason(path.read_text(encoding="utf-8")) == []


def test_a_guarantee_without_a_reason_is_noticed() -> None:
    promise = 'def f():\n    """Do.\n\n    Guarantee: epsilon-DP.\n    {}\n    """\n'
    assert without_reason(promise.format("Error: none.")) == ["f"]
    assert without_reason(promise.format("Because: [DMNS06, Prop. 1].")) == []


def test_mechanisms_state_guarantees() -> None:
    promising = sum("Guarantee:" in path.read_text(encoding="utf-8") for path in (SRC / "mechanisms").glob("[!_]*.py"))
    assert promising >= 8


# ---------------------------------------------------------------- citations


def cited(text: str) -> set[str]:
    """Every key in square brackets: [CKS20], [CKS20, Thm. 4], [WZ10, KOV15]."""
    return {key for inside in CITATION.findall(text) for key in re.findall(rf"(?:^|[,;] ?)({KEY})(?=[,;\]]|$)", inside)}


def entries() -> set[str]:
    return set(re.findall(r"^@\w+\{([^,]+),", (DOCS / "references.bib").read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_citations_of_the_source_exist(path: Path) -> None:
    assert cited(words_of(path.read_text(encoding="utf-8"))) - entries() == set()


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_citations_of_the_pages_exist(path: Path) -> None:
    assert cited(path.read_text(encoding="utf-8")) - entries() == set()


def test_a_missing_citation_is_noticed() -> None:
    assert cited("as in [ABC99, Thm. 1], [WZ10, KOV15] and [CS208], not [P401] or x[3]") == {
        "ABC99",
        "WZ10",
        "KOV15",
        "CS208",
    }
    assert "ABC99" not in entries()
    assert cited(words_of('x = "[ABC99]"  # see [ABD99]\n')) == {"ABD99"}


def test_entries_are_complete() -> None:
    text = (DOCS / "references.bib").read_text(encoding="utf-8")
    for entry in re.split(r"^@", text, flags=re.MULTILINE)[1:]:
        for field in ("author", "title", "year"):
            assert re.search(rf"^ *{field} *= *\{{", entry, re.MULTILINE), entry


def test_entries_are_given_once() -> None:
    keys = re.findall(r"^@\w+\{([^,]+),", (DOCS / "references.bib").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(keys) == len(set(keys))


# ---------------------------------------------------------------- proofs and decisions


def pages_named(text: str) -> set[str]:
    """Pages of the documentation that a text names by their path."""
    return set(re.findall(r"docs/((?:proofs|decisions|errors)/[\w.-]+?\.md)", text))


@pytest.mark.parametrize("path", [*FILES, *PAGES], ids=name_of)
def test_proofs_and_decisions_that_are_named_exist(path: Path) -> None:
    assert {page for page in pages_named(path.read_text(encoding="utf-8")) if not (DOCS / page).is_file()} == set()


def test_a_missing_proof_is_noticed() -> None:
    assert pages_named("see ``docs/proofs/no-such-proof.md``.") == {"proofs/no-such-proof.md"}
    assert not (DOCS / "proofs/no-such-proof.md").exists()


# ---------------------------------------------------------------- docstrings


def undocumented(source: str) -> list[str]:
    """Public functions and classes at the top of a module without a docstring."""
    tree = ast.parse(source)
    public = [node for node in tree.body if isinstance(node, Definition) and not node.name.startswith("_")]
    silent = [node.name for node in public if not ast.get_docstring(node) and not _is_overload(node)]
    return silent if ast.get_docstring(tree) or not tree.body else ["module", *silent]


def _is_overload(node: Definition) -> bool:
    return any(isinstance(mark, ast.Name) and mark.id == "overload" for mark in node.decorator_list)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_what_is_public_has_a_docstring(path: Path) -> None:
    assert undocumented(path.read_text(encoding="utf-8")) == []


def test_a_missing_docstring_is_noticed() -> None:
    assert undocumented('"""Module."""\ndef shown(): ...\ndef _hidden(): ...\nclass Shown: ...\n') == ["shown", "Shown"]
    assert undocumented("x = 1\n") == ["module"]


# ---------------------------------------------------------------- light imports

HEAVY = ("numpy", "scipy", "dp_accounting", "cryptography", "typer", "rich", "duckdb", "pyarrow", "sqlglot")
OPTIONAL = ("numba", "opendp", "pandas", "torch", "matplotlib", "pyspark", "mpmath", "hypothesis")


def loaded_by(statement: str, watched: tuple[str, ...]) -> set[str]:
    """Which of the watched packages a fresh interpreter has loaded after the statement."""
    script = f"import sys\n{statement}\nprint(*(set({watched!r}) & sys.modules.keys()))"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(told.stdout.split())


@pytest.mark.parametrize("statement", ["import hubbub", "import hubbub.terms", "from hubbub import Budget"])
def test_the_front_door_loads_nothing_heavy(statement: str) -> None:
    assert loaded_by(statement, (*HEAVY, *OPTIONAL)) == set()


@pytest.mark.parametrize("room", ["noise", "accounting", "mechanisms", "explain", "releases", "engines", "sql", "cli"])
def test_a_room_loads_no_extra_and_no_slow_accountant(room: str) -> None:
    assert loaded_by(f"import hubbub.{room}", ("dp_accounting", "scipy", *OPTIONAL)) == set()


def test_a_heavy_import_is_noticed() -> None:
    assert loaded_by("import hubbub.noise", HEAVY) == {"numpy"}
