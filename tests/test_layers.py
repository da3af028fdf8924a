"""The house has floors: a room imports only rooms above it, and a few doors stay shut."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src" / "hubbub"

ROOMS = (
    "terms",
    "noise",
    "accounting",
    "mechanisms",
    "durable",
    "render",
    "explain",
    "schema",
    "relations",
    "engines",
    "ledger",
    "releases",
    "web",
    "sql",
    "learn",
    "publish",
    "local",
    "gopa",
    "attacks",
    "audit",
    "studies",
    "server",
    "cli",
)
ISLANDS = {
    "sql",
    "learn",
    "publish",
    "local",
    "gopa",
    "attacks",
    "audit",
}  # studies, server and cli bring them together
IMPORTERS = {"cli": set(), "server": {"cli"}, "studies": {"server", "cli"}}  # rooms at the bottom, and who may use them
SHUT = {("releases", "engines"), ("ledger", "engines")}  # what is charged and shown does not know where rows lie
NOISY = {"mechanisms", "local", "learn", "gopa"}  # who may draw noise; a new name here is a decision (0017, 0018)
FOR_TESTS = "hubbub.noise.testing"


def imports(source: str, module: str) -> Iterator[str]:
    """Every module of ours that the source imports, also inside functions; docstrings are no imports."""
    package = module if module.endswith("__init__") else module.rpartition(".")[0]
    package = package.removesuffix(".__init__")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "hubbub")
        elif isinstance(node, ast.ImportFrom):
            yield from _from(node, package)
        elif isinstance(node, ast.Call):
            yield from _dynamic(node)


def _from(node: ast.ImportFrom, package: str) -> Iterator[str]:
    above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
    origin = ".".join([*above, *([node.module] if node.module else [])])
    if origin.split(".")[0] == "hubbub":
        yield from (f"{origin}.{alias.name}" for alias in node.names)


def _dynamic(node: ast.Call) -> Iterator[str]:
    """import_module("hubbub.sql") and __import__("hubbub.sql")."""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in {"import_module", "__import__"} and node.args:
        wanted = node.args[0]
        told = (
            wanted.value if isinstance(wanted, ast.Constant) else "hubbub"
        )  # worked out at run time: cannot be checked
        if isinstance(told, str) and told.split(".")[0] == "hubbub":
            yield told


def violations(source: str, module: str) -> list[str]:
    """What is wrong with the imports of a module such as ``hubbub.sql.compiler.syntax.parse``."""
    room = module.split(".")[1]
    return [problem for name in imports(source, module) if (problem := _problem(room, name))]


def _problem(room: str, name: str) -> str:
    if name == FOR_TESTS or name.startswith(f"{FOR_TESTS}."):
        return f"{room} imports {FOR_TESTS}, which is for tests"
    parts = name.split(".")
    if len(parts) == 1:
        return f"{room} imports the whole of hubbub, which hides what it uses"
    other = parts[1]
    if other == room or (other not in ROOMS and other.startswith("__")):
        return ""
    if other not in ROOMS:
        return f"{room} imports {name}, which is no room"
    if other in IMPORTERS and room not in IMPORTERS[other]:
        return f"{room} imports {other}, which only {', '.join(sorted(IMPORTERS[other])) or 'nobody'} may"
    if (room, other) in SHUT:
        return f"{room} imports {other}, which it may not know"
    if ROOMS.index(other) > ROOMS.index(room):
        return f"{room} imports {other}, which lies below it"
    if room in ISLANDS and other in ISLANDS:
        return f"{room} imports {other}: they do not know each other"
    if room == "noise" and other != "terms":
        return f"noise imports {other} and may import terms only"
    if other == "noise" and room not in NOISY:
        return f"{room} imports noise, which only {', '.join(sorted(NOISY))} may"
    return ""


def module_of(path: Path) -> str:
    return ".".join(("hubbub", *path.relative_to(SRC).with_suffix("").parts))


FILES = [path for path in sorted(SRC.rglob("*.py")) if path.parent != SRC]


def test_every_folder_is_a_room() -> None:
    assert {path.relative_to(SRC).parts[0] for path in FILES} <= set(ROOMS)
    assert {path.name for path in SRC.glob("*.py")} == {"__init__.py"}


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_a_room_imports_only_what_it_may(path: Path) -> None:
    assert violations(path.read_text(encoding="utf-8"), module_of(path)) == []


def test_the_front_door_loads_rooms_lazily() -> None:
    """``hubbub/__init__.py`` names rooms for type checkers and loads them when they are used, at no other time."""
    tree = ast.parse((SRC / "__init__.py").read_text(encoding="utf-8"))
    eager = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert {getattr(node, "module", None) or node.names[0].name for node in eager} <= {
        "__future__",
        "importlib",
        "typing",
    }
    told = set(imports((SRC / "__init__.py").read_text(encoding="utf-8"), "hubbub.__init__"))
    assert not {name for name in told if name.startswith(("hubbub.server", "hubbub.cli", FOR_TESTS))}


@pytest.mark.parametrize(
    ("module", "source", "told"),
    [
        ("hubbub.terms.units", "from hubbub.noise import uniform", "lies below"),
        ("hubbub.noise.samplers", "from hubbub.accounting import epsilon", "lies below"),
        ("hubbub.accounting.privacy_loss_distribution", "from hubbub import mechanisms", "lies below"),
        (
            "hubbub.accounting.privacy_loss_distribution",
            "def f():\n    from hubbub.noise import uniform",
            "which only gopa, learn, local, mechanisms may",
        ),
        ("hubbub.mechanisms.laplace", "def f():\n    import hubbub.sql.compiler.syntax.parse", "lies below"),
        ("hubbub.learn.sgd", "from hubbub.sql import parse", "do not know each other"),
        ("hubbub.studies.demo", "import hubbub.server", "which only cli may"),
        ("hubbub.server.app", "from hubbub.cli import main", "which only nobody may"),
        ("hubbub.learn.fit", "from hubbub.studies import redteam", "which only cli, server may"),
        ("hubbub.releases.door", "from hubbub.engines import DuckDB", "may not know"),
        ("hubbub.mechanisms.laplace", "from hubbub.noise.testing import seeded", "for tests"),
        ("hubbub.mechanisms.laplace", "from hubbub.noise import testing", "for tests"),
        ("hubbub.mechanisms.laplace", "import hubbub.noise.testing as t", "for tests"),
        ("hubbub.mechanisms.laplace", "from ..noise.testing import seeded", "for tests"),
        ("hubbub.mechanisms.laplace", "import importlib\nimportlib.import_module('hubbub.noise.testing')", "for tests"),
        ("hubbub.mechanisms.laplace", "import importlib\nimportlib.import_module(name)", "hides what it uses"),
        ("hubbub.mechanisms.laplace", "import hubbub", "hides what it uses"),
        ("hubbub.accounting.__init__", "from .. import mechanisms", "lies below"),
        ("hubbub.sql.compiler.syntax.parse", "from hubbub.helpers import x", "no room"),
    ],
)
def test_a_forbidden_import_is_noticed(module: str, source: str, told: str) -> None:
    [problem] = violations(source, module)
    assert told in problem


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("hubbub.mechanisms.laplace", "from hubbub import noise"),
        ("hubbub.mechanisms.laplace", '"""\n>>> from hubbub.noise.testing import seeded\n"""'),
        ("hubbub.noise.samplers", "from hubbub.terms import exact\nfrom hubbub.noise import _laws"),
        ("hubbub.cli.main", "from hubbub import __version__, sql, learn, server"),
        ("hubbub.studies.redteam.faces", "from hubbub import sql, attacks"),
        ("hubbub.accounting.privacy_loss_distribution", "import numpy\nfrom . import costs"),
    ],
)
def test_an_allowed_import_passes(module: str, source: str) -> None:
    assert violations(source, module) == []


# ---------------------------------------------------------------- one way to disk

TO_DISK = {  # who may do by itself what durable does, and why
    ("hubbub.gopa.protocol.party_secrets", "sorts the keys of JSON"): "private records keep the spelling they had",
    (
        "hubbub.publish.anonymize.manifest",
        "sorts the keys of JSON",
    ): "a page for people, with line breaks; never hashed",
    ("hubbub.studies.demo.ledger_book", "renames a file"): "the demo plays somebody who puts back an old copy",
}
_CALLS = {"fsync": "syncs a file", "fdatasync": "syncs a file", "flock": "locks a file", "lockf": "locks a file"}
_IMPORTS = {"fcntl": "locks a file", "cryptography.hazmat.primitives.asymmetric.ed25519": "makes keys of its own"}


def to_disk(source: str) -> set[str]:
    """What a module does by itself that only ``durable`` should do."""
    return {deed for node in ast.walk(ast.parse(source)) for deed in _deeds(node)}


def _deeds(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        yield from [_CALLS[name]] if name in _CALLS else []
        if name in {"replace", "rename", "renames"} and _renames(node):
            yield "renames a file"
        if any(word.arg == "sort_keys" for word in node.keywords):
            yield "sorts the keys of JSON"
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "journal_mode" in node.value.lower():
        yield "switches a log on"
    elif isinstance(node, ast.Import | ast.ImportFrom):
        names = [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
        yield from (deed for name, deed in _IMPORTS.items() if name in names)


def _renames(node: ast.Call) -> bool:
    """``os.replace(a, b)``, or ``path.replace(b)``: text is replaced by two arguments, fields by keywords."""
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    on_path = isinstance(node.func, ast.Attribute) and len(node.args) == 1 and not node.keywords
    return on_path or (isinstance(owner, ast.Name) and owner.id == "os")


@pytest.mark.parametrize("path", [path for path in FILES if path.parent.name != "durable"], ids=module_of)
def test_only_durable_knows_the_way_to_disk(path: Path) -> None:
    module = module_of(path)
    deeds = to_disk(path.read_text(encoding="utf-8"))
    assert deeds == {deed for owner, deed in TO_DISK if owner == module}


@pytest.mark.parametrize(
    ("source", "deed"),
    [
        ("os.fsync(handle)", "syncs a file"),
        ("from os import fdatasync\nfdatasync(1)", "syncs a file"),
        ("fcntl.flock(handle, 2)", "locks a file"),
        ("import fcntl", "locks a file"),
        ("os.replace(a, b)", "renames a file"),
        ("os.rename(a, b)", "renames a file"),
        ("draft.replace(path)", "renames a file"),
        ("draft.rename(path)", "renames a file"),
        ("json.dumps(x, sort_keys=True)", "sorts the keys of JSON"),
        ("json.JSONEncoder(sort_keys=True)", "sorts the keys of JSON"),
        ("connection.execute('PRAGMA journal_mode = WAL')", "switches a log on"),
        ("connection.execute(f'PRAGMA Journal_Mode={x}')", "switches a log on"),
        ("from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey", "makes keys of its own"),
        ("import cryptography.hazmat.primitives.asymmetric.ed25519 as e", "makes keys of its own"),
    ],
)
def test_another_way_to_disk_is_noticed(source: str, deed: str) -> None:
    assert to_disk(source) == {deed}


@pytest.mark.parametrize(
    "source",
    ["text.replace('a', 'b')", "dataclasses.replace(x, a=1)", "day.replace(year=1)", "frame.rename(columns={})"],
)
def test_what_only_looks_like_a_rename_passes(source: str) -> None:
    assert to_disk(source) == set()
