"""The house's borders: rooms are entered by their doors, underscores keep things at home, wings stay small.

A door says what is behind it: what it names exists, and one file is named to start with.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src" / "hubbub"
FILES = [path for path in sorted(SRC.rglob("*.py")) if path.parent != SRC]
MOST_SIDE_BY_SIDE = 21  # modules in one folder


def module_of(path: Path) -> str:
    return ".".join(("hubbub", *path.relative_to(SRC).with_suffix("").parts)).removesuffix(".__init__")


PACKAGES = {module_of(path) for path in FILES if path.name == "__init__.py"} | {"hubbub"}
MODULES = {module_of(path) for path in FILES}


ROOMS = sorted({path.relative_to(SRC).parts[0] for path in FILES})


def files_in(room: str) -> list[Path]:
    return [path for path in FILES if path.relative_to(SRC).parts[0] == room]


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def from_imports(source: str) -> Iterator[tuple[str, str]]:
    """(module, name) of every ``from hubbub... import name``."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "hubbub":
            yield from ((node.module or "", alias.name) for alias in node.names)


@cache
def exports(door: str) -> set[str]:
    """The names that a door lists: functions, classes, and modules that are meant to be used as such."""
    tree = ast.parse((SRC.joinpath(*door.split(".")[1:]) / "__init__.py").read_text(encoding="utf-8"))
    lists = [node.value for node in tree.body if isinstance(node, ast.Assign) and _name(node) == "__all__"]
    return {name for each in lists for name in ast.literal_eval(each)}


def _name(node: ast.Assign) -> str:
    return getattr(node.targets[0], "id", "")


def past_doors(source: str, module: str) -> list[str]:
    """Imports of another room's inside: a door is the ``__init__`` of a room or of a wing."""
    room = module.split(".")[1]
    return [
        f"{module} imports {origin}.{name}"
        for origin, name in from_imports(source)
        if origin != "hubbub" and origin.split(".")[1] != room
        if origin not in PACKAGES or (f"{origin}.{name}" in MODULES - PACKAGES and name not in exports(origin))
    ]


def underscores(source: str, module: str, *, package: bool = False) -> list[str]:
    """A name with an underscore stays in its module, and a module with one in its folder."""
    folder = module if package else module.rpartition(".")[0]
    found = []
    for origin, name in from_imports(source):
        full = f"{origin}.{name}"
        path = full if full in MODULES else origin
        hidden = [part for part in path.split(".") if part.startswith("_")]
        if hidden and path.rpartition(".")[0] != folder:
            found.append(f"{module} imports {path}")
        if name.startswith("_") and not name.startswith("__") and full not in MODULES:
            found.append(f"{module} imports {full}")
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_are_entered_by_their_doors(room: str) -> None:
    assert [line for path in files_in(room) for line in past_doors(text_of(path), module_of(path))] == []


@pytest.mark.parametrize("room", ROOMS)
def test_underscores_stay_at_home(room: str) -> None:
    assert [
        line
        for path in files_in(room)
        for line in underscores(text_of(path), module_of(path), package=path.name == "__init__.py")
    ] == []


def test_wings_stay_small() -> None:
    side_by_side = Counter(path.parent for path in FILES if path.name != "__init__.py")
    assert {str(folder): n for folder, n in side_by_side.items() if n > MOST_SIDE_BY_SIDE} == {}


def test_a_public_class_name_stands_for_one_thing() -> None:
    places: dict[str, set[str]] = {}
    for path in FILES:
        for node in ast.walk(ast.parse(text_of(path))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, set()).add(module_of(path))
    assert {name: sorted(modules) for name, modules in places.items() if len(modules) > 1} == {}


DOORS = sorted(PACKAGES - {"hubbub"})
CLASSES = {node.name for path in FILES for node in ast.walk(ast.parse(text_of(path))) if isinstance(node, ast.ClassDef)}


def words_of(door: str) -> str:
    file = SRC.joinpath(*door.split(".")[1:]) / "__init__.py"
    return ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""


def first_files(words: str, door: str) -> list[str]:
    """What a door says to start with, as a module behind it."""
    named = re.findall(r"\b[Ss]tart with\s+``([\w/]+)``", words)
    return [module for name in named if (module := f"{door}.{name.replace('/', '.')}") in MODULES]


def strangers(words: str, door: str) -> list[str]:
    """The small words in a door's docstring that are no module of its room, nothing that it exports or that such a
    thing has; and the classes that do not exist."""
    room, tokens = ".".join(door.split(".")[:2]), re.findall(r"``([^`]+)``", words)
    modules = {name.rpartition(".")[2] for name in MODULES if name.startswith(f"{room}.")} | set(ROOMS)
    behind = importlib.import_module(door)
    exported = {**vars(behind), **{name: getattr(behind, name) for name in exports(door)}}  # a door may be lazy
    known = modules.union(exported, *map(members, exported.values()))
    small = [token for token in tokens if re.fullmatch(r"[a-z_]\w*(/\w+)*/?", token)]
    classes = re.findall(r"\b[A-Z]\w*[a-z]\w*(?=\()", " ".join(tokens))
    return [token for token in small if token.rstrip("/").rpartition("/")[2] not in known] + [
        name for name in classes if name not in CLASSES
    ]


def members(thing: object) -> set[str]:
    """What a module of ours holds; the methods, fields and parameters of a class or a function."""
    if inspect.ismodule(thing):
        return set(vars(thing)) if thing.__name__.startswith("hubbub.") else set()
    if not callable(thing):
        return set()
    try:
        parameters = set(inspect.signature(thing).parameters)
    except (TypeError, ValueError):
        parameters = set()
    fields = (name for kind in getattr(thing, "__mro__", ()) for name in vars(kind).get("__annotations__", {}))
    return parameters.union(dir(thing), fields)


@pytest.mark.parametrize("door", DOORS)
def test_a_door_says_what_is_behind_it(door: str) -> None:
    words = words_of(door)
    assert words
    assert len(words.splitlines()[0]) > 20, "the first line says what the folder holds"
    assert strangers(words, door) == []


@pytest.mark.parametrize("door", DOORS)
def test_a_door_names_the_file_to_start_with(door: str) -> None:
    assert first_files(words_of(door), door), "it says: Start with ``module``."


@pytest.mark.parametrize("door", DOORS)
def test_a_door_lists_what_others_may_use(door: str) -> None:
    exported = importlib.import_module(door)
    assert [name for name in exported.__all__ if not hasattr(exported, name)] == []


def test_what_is_forbidden_is_noticed() -> None:
    assert past_doors("from hubbub.render.document import Section", "hubbub.sql.preview")
    assert past_doors("from hubbub.render import document", "hubbub.sql.preview")
    assert past_doors("def f():\n    from hubbub.ledger.requests import Pool", "hubbub.cli.commands.fit")
    assert not past_doors(
        "from hubbub.render import charts\nfrom hubbub.render.charts import Bar", "hubbub.sql.preview"
    )
    assert first_files("Start with ``samplers``.", "hubbub.noise")
    assert not first_files("Start with ``sampler``.", "hubbub.noise")
    assert strangers("``samplers`` and ``RandomSource(...)`` draw ``uniform``", "hubbub.noise") == []
    assert strangers("``sampler`` and ``RandomWell(...)``", "hubbub.noise") == ["sampler", "RandomWell"]
    assert underscores("from hubbub.noise._source import SECURE", "hubbub.mechanisms.laplace")
    assert underscores("from hubbub.noise.samplers import _draw", "hubbub.noise.fixed_point")
    assert not underscores("from hubbub.noise import _source", "hubbub.noise.samplers")
