"""SQL is written by the printers of ``relations`` and by ``engines``; everybody else builds nodes, or has a reason."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src" / "hubbub"
WRITERS = ("engines/", "relations/dialects/", "relations/printer.py", "relations/value_printer.py")
WRITERS += ("relations/operation_printer.py", "relations/column_printer.py")
EXCEPTED = {
    "ledger/": "the book's own tables",
    "sql/relation/": "what stands around released numbers, in a place where no row is",
    "local/collection/": "the collector's own tables, and reports that are nobody's once they are noised",
    "local/shuffling/": "the relay's own tables",
    "learn/public/": "a cache of public vectors",
    "attacks/": "what an attacker asks",
    "studies/redteam/": "what an attacker asks, and what the owner looks up to judge it",
    "studies/demo/": "what an analyst asks",
    "cli/commands/": "what an analyst may ask, in examples",
}
_STATEMENT = re.compile(r"\b(SELECT|INSERT INTO|DELETE FROM|CREATE (TABLE|VIEW)|COPY \()\s")
_CLAUSES = "SELECT|FROM|WHERE|GROUP BY|HAVING|UNION ALL|(LEFT )?JOIN|ORDER BY|PARTITION BY|WITH"
_CLAUSE = re.compile(rf"^[\s(]*({_CLAUSES})\s\S*$")
_RUNS = {"rows", "arrays", "execute", "executemany", "bind", "write", "sql"}
_WORDS_FOR_PEOPLE = ("what", "why", "fix", "help", "about")


def sql_texts(source: str) -> Iterator[str]:
    """Texts of a module that are SQL: those that are put together from parts, and whole ones that are run."""
    tree = ast.parse(source)
    told = {id(inner) for node in ast.walk(tree) if _speaks(node) for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) not in told:
            yield from (text for text in _texts(node) if _is_sql(text))


def _texts(node: ast.AST) -> Iterator[str]:
    parts: list[ast.expr] = []
    if isinstance(node, ast.JoinedStr):
        parts = node.values
    elif isinstance(node, ast.Assign):
        parts = [node.value]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _RUNS:
        parts = node.args
    yield from (part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str))


def _is_sql(text: str) -> bool:
    return bool(_STATEMENT.search(text) or _CLAUSE.match(text))


def _speaks(node: ast.AST) -> bool:
    """An error, and an argument that is read by people."""
    if isinstance(node, ast.keyword):
        return node.arg in _WORDS_FOR_PEOPLE
    return isinstance(node, ast.Raise) or (isinstance(node, ast.Return) and _is_error(node.value))


def _is_error(value: ast.AST | None) -> bool:
    return isinstance(value, ast.Call) and any(keyword.arg == "why" for keyword in value.keywords)


def modules() -> list[Path]:
    names = [path.relative_to(SRC).as_posix() for path in sorted(SRC.rglob("*.py"))]
    return [SRC / name for name in names if not name.startswith((*WRITERS, *EXCEPTED))]


def test_no_module_but_the_printers_and_engines_contains_sql() -> None:
    found = {str(path.relative_to(SRC)): list(sql_texts(path.read_text(encoding="utf-8"))) for path in modules()}
    assert not {name: texts for name, texts in found.items() if texts}


@pytest.mark.parametrize("place", EXCEPTED)
def test_every_exception_is_one(place: str) -> None:
    files = [path for path in SRC.rglob("*.py") if path.relative_to(SRC).as_posix().startswith(place)]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    assert re.search(r"\b(SELECT|INSERT INTO|CREATE TABLE)\b", text)


@pytest.mark.parametrize(
    "source",
    [
        'text = f"SELECT {columns} FROM {table}"',
        'engine.rows("SELECT 1 FROM t")',
        'text += f" WHERE {condition}"',
        '_TABLES = "SELECT name FROM tables"',
        'text = f"{head} FROM t GROUP BY {keys}" + f" GROUP BY {keys}"',
    ],
)
def test_sql_that_is_put_together_is_noticed(source: str) -> None:
    assert list(sql_texts(source))


def test_what_is_said_to_people_is_not_sql() -> None:
    assert not list(sql_texts('raise NotAllowed(f"Only SELECT reads {this}.", why="x", fix="SELECT COUNT(*) FROM t.")'))
