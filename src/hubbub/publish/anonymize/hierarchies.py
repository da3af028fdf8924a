"""Hierarchies: how the values of a column may be made coarser, step by step, up to ``*``.

Four kinds, in Python or in a TOML file with one table per column::

    [age]
    intervals = [5, 10, 20]          # widths; each a multiple of the one before
    start = 0                        # where the intervals begin (0 if not said)

    [zip]
    keep = [4, 3, 2]                 # how many first characters stay

    [born]
    periods = ["month", "year", "decade"]

    [workclass.tree]                 # a tree of names; the leaves are the values
    government = ["Federal-gov", "Local-gov", "State-gov"]
    self-employed = ["Self-emp-inc", "Self-emp-not-inc"]
    private = ["Private"]

A missing value is a category of its own. No hierarchy says what it is near to, so it stays ``(missing)`` at every
level and joins the others only at the top, where everything is ``*``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn, TypeAlias, cast

import numpy as np

from hubbub.publish.anonymize.coded_columns import ANY, MISSING, Coded, Codes, Floats
from hubbub.publish.anonymize.spans import PERIODS, period_starts, print_spans, whole_numbers
from hubbub.schema import TomlText
from hubbub.terms import BadDescriptor, HubbubError, OutOfRange, WrongShape, exact, whole

Tree: TypeAlias = "Mapping[str, Tree] | Sequence[str]"


@dataclass(frozen=True, slots=True, eq=False)
class HierarchyLevels:
    """A hierarchy laid over the values of one column; level 0 is the values, the last level is ``*``.

    ``codes[i]`` is the node of each value at level i, ``names[i]`` what these nodes are called, and ``widths[i]`` how
    much of the column each covers: 0 for a single value, 1 for everything.
    """

    codes: tuple[Codes, ...]
    names: tuple[tuple[str, ...], ...]
    widths: tuple[Floats, ...]

    @property
    def height(self) -> int:
        """How many steps lead to the top."""
        return len(self.codes) - 1


class Hierarchy(ABC):
    """How the values of a column may be made coarser."""

    @abstractmethod
    def _steps(self, column: Coded) -> list[tuple[list[str], Floats]]:
        """For each level between the values and the top: the name of each value's node, and how much it covers."""

    def lacks(self, values: Sequence[str]) -> tuple[str, ...]:
        """Which of the values, as text, the hierarchy does not know."""
        return ()

    def on(self, column: Coded) -> HierarchyLevels:
        """The hierarchy over the values of a column; refuses one that lacks some of them."""
        self._check(column)
        top = [ANY] * len(column.labels), np.ones(len(column.labels))
        steps = [(column.texts(), np.zeros(len(column.labels))), *self._steps(column), top]
        for names, widths in steps[:-1] if column.gaps else ():
            names[0], widths[0] = MISSING, 0.0
        return _number_levels(column.name, steps)

    def _check(self, column: Coded) -> None:
        texts = column.texts()[column.gaps :]
        missed = self.lacks(texts)
        if missed:
            raise OutOfRange(
                f"the hierarchy of {column.name!r} misses {len(missed)} of the column's {len(texts)} values.",
                why="What it does not know it cannot make coarser.",
                fix="Add them: `hierarchy.lacks(values)` lists them. A missing value needs no place of its own.",
            )


def _number_levels(name: str, steps: Sequence[tuple[list[str], Floats]]) -> HierarchyLevels:
    """Nodes by their names; at level 0 by the values, of which two may be written alike: one that misses, and the word
    for it."""
    names, width = steps[0]
    codes, labels, widths = [np.arange(len(names))], [tuple(names)], [np.asarray(width)]
    for names, width in steps[1:]:
        numbers: dict[str, int] = {}
        code = np.array([numbers.setdefault(text, len(numbers)) for text in names], dtype=np.int64)
        first = np.unique(code, return_index=True)[1]
        codes.append(code)
        labels.append(tuple(numbers))
        widths.append(np.asarray(width)[first])
    for low, high in pairwise(codes):
        if np.unique(np.stack([low, high]), axis=1).shape[1] > int(low.max()) + 1:
            raise WrongShape(
                f"the levels of the hierarchy of {name!r} do not nest.",
                why="Values that share a node at one level must share one at every level above.",
                fix="Make each level a coarser form of the one before.",
            )
    return HierarchyLevels(tuple(codes), tuple(labels), tuple(widths))


@dataclass(frozen=True, slots=True)
class Intervals(Hierarchy):
    """Numbers in intervals of growing width.

    >>> Intervals([5, 10]).widths
    (5.0, 10.0)
    """

    widths: Sequence[float]
    start: float = 0

    def __post_init__(self) -> None:
        widths = [exact(width, name="a width") for width in self.widths]
        exact(self.start, name="start")
        pairs = pairwise(widths)
        if not widths or widths[0] <= 0 or any(b <= a or (b / a).denominator != 1 for a, b in pairs):
            raise OutOfRange(
                "the widths of intervals must grow, each a multiple of the one before.",
                why="Otherwise an interval would lie in two of the next level.",
                fix="Give widths such as [5, 10, 20].",
            )
        object.__setattr__(self, "widths", tuple(map(float, widths)))

    def _steps(self, column: Coded) -> list[tuple[list[str], Floats]]:
        whole_numbers(column, wanted="intervals")
        return [self._step(column, width) for width in self.widths]

    def _step(self, column: Coded, width: float) -> tuple[list[str], Floats]:
        low = np.floor((column.places - self.start) / width) * width + self.start
        return print_spans(column, low, low + width)


@dataclass(frozen=True, slots=True)
class Periods(Hierarchy):
    """Dates in months, quarters, years and decades."""

    units: Sequence[str]

    def __post_init__(self) -> None:
        order = [PERIODS.index(unit) if unit in PERIODS else -1 for unit in self.units]
        if not order or -1 in order or sorted(set(order)) != order:
            raise OutOfRange(
                "periods must be named from the shortest to the longest.",
                why="Each level is coarser than the one before.",
                fix=f"Choose among {', '.join(PERIODS)}, in this order.",
            )

    def _steps(self, column: Coded) -> list[tuple[list[str], Floats]]:
        return [print_spans(column, *period_starts(column, unit)) for unit in self.units]


@dataclass(frozen=True, slots=True)
class Prefixes(Hierarchy):
    """Texts of which fewer and fewer first characters stay, such as ``021**``."""

    keep: Sequence[int]

    def __post_init__(self) -> None:
        keep = [whole(count, name="keep", least=1) for count in self.keep]
        if not keep or sorted(set(keep), reverse=True) != keep:
            raise OutOfRange(
                "the numbers of characters that stay must fall.",
                why="Each level is coarser than the one before.",
                fix="Give numbers such as [4, 3, 2].",
            )

    def _steps(self, column: Coded) -> list[tuple[list[str], Floats]]:
        texts = column.texts()
        return [_name_shares([text[:count] + ANY * (len(text) - count) for text in texts]) for count in self.keep]


@dataclass(frozen=True, slots=True)
class Categories(Hierarchy):
    """A tree of names whose leaves are the values; a leaf that is less deep stays itself for longer.

    >>> job = Categories({"public": {"army": ["soldier"], "school": ["teacher"]}, "other": ["baker"]})
    >>> job.paths["soldier"], job.lacks(["baker", "pilot"])
    (('army', 'public'), ('pilot',))
    """

    tree: Tree

    def __post_init__(self) -> None:
        leaves = [leaf for leaf, _ in _tree_leaves(self.tree, ())]
        if not leaves or len(set(leaves)) < len(leaves):
            raise OutOfRange(
                "a tree has no leaves, or names one twice.",
                why="Each value has one place in the tree.",
                fix="List every value once: {'north': ['a', 'b'], 'south': ['c']}.",
            )

    @property
    def paths(self) -> dict[str, tuple[str, ...]]:
        """The nodes above each value, from the nearest to the one below the top."""
        return {leaf: above[::-1] for leaf, above in _tree_leaves(self.tree, ())}

    def lacks(self, values: Sequence[str]) -> tuple[str, ...]:
        """Which of the values, as text, the tree does not have."""
        paths = self.paths
        return tuple(value for value in values if value not in paths)

    def _steps(self, column: Coded) -> list[tuple[list[str], Floats]]:
        paths = self.paths
        height = max(map(len, paths.values()))
        nodes = {leaf: (leaf,) * (height - len(above)) + above for leaf, above in paths.items()}
        steps = []
        for level in range(height):
            sizes: dict[str, int] = {}
            for leaf in nodes:
                sizes[nodes[leaf][level]] = sizes.get(nodes[leaf][level], 0) + 1
            names = [MISSING if text not in nodes else nodes[text][level] for text in column.texts()]
            covered = [(sizes.get(name, 1) - 1) / max(len(nodes) - 1, 1) for name in names]
            steps.append((names, np.array(covered)))
        return steps


@dataclass(frozen=True, slots=True)
class Flat(Hierarchy):
    """Only the values and ``*``: what holds for a column without a hierarchy of its own."""

    def _steps(self, column: Coded) -> list[tuple[list[str], Floats]]:
        return []


def _tree_leaves(tree: Tree, above: tuple[str, ...]) -> list[tuple[str, tuple[str, ...]]]:
    if isinstance(tree, Mapping):
        return [path for name, below in tree.items() for path in _tree_leaves(below, (*above, str(name)))]
    if isinstance(tree, str) or not isinstance(tree, Sequence):
        raise OutOfRange(
            "a branch of a tree is neither a table of branches nor a list of values.",
            why="A tree ends in lists of values.",
            fix="Write {'north': ['a', 'b'], 'south': ['c']}.",
        )
    return [(str(leaf), above) for leaf in tree]


def _name_shares(names: list[str]) -> tuple[list[str], Floats]:
    """Names with the share of the column's values that each covers."""
    _, back, sizes = np.unique(names, return_inverse=True, return_counts=True)
    return names, (sizes[back] - 1) / max(len(names) - 1, 1)


KINDS: dict[str, Any] = {"intervals": Intervals, "periods": Periods, "keep": Prefixes, "tree": Categories}


def read_hierarchies(source: str | Path | Mapping[str, Any]) -> dict[str, Hierarchy]:
    """The hierarchies of a TOML file (or of the same as a dict), by column.

    >>> sorted(read_hierarchies({"age": {"intervals": [5, 10]}, "sex": {"tree": {"any": ["f", "m"]}}}))
    ['age', 'sex']
    """
    if isinstance(source, Mapping):
        return {str(name): _read_hierarchy(str(name), table) for name, table in source.items()}
    text = TomlText.read(source, called="file of hierarchies", why=_WHY, fix="Check the path.")
    return {name: _read_hierarchy(name, table, text) for name, table in text.load(numbers=float).items()}


_WHY = "Each table of the file says for one column how its values are made coarser."


def _read_hierarchy(name: str, table: object, text: TomlText | None = None) -> Hierarchy:
    if not isinstance(table, Mapping) or len(kinds := sorted(table.keys() & KINDS.keys())) != 1:
        _refuse_hierarchy(text, (name,), f"it needs one of {', '.join(KINDS)}")
    unknown = sorted(table.keys() - {*kinds, "start" if kinds == ["intervals"] else kinds[0]})
    if unknown:
        _refuse_hierarchy(text, (name, unknown[0]), f"it has the unknown key {unknown[0]!r}")
    form: Any = table[kinds[0]]
    if not isinstance(form, Mapping if kinds == ["tree"] else list):
        _refuse_hierarchy(text, (name, kinds[0]), f"{kinds[0]} has the wrong form")
    try:
        if kinds == ["intervals"]:
            return Intervals(list(form), start=table.get("start", 0))
        return cast(Hierarchy, KINDS[kinds[0]](form))
    except HubbubError as problem:
        _refuse_hierarchy(text, (name, kinds[0]), problem.what.rstrip("."))


def _refuse_hierarchy(text: TomlText | None, path: tuple[str, ...], problem: str) -> NoReturn:
    what = f"the hierarchy {path[0]!r} cannot be used: {problem}."
    fix = "See the page on anonymized tables for the four kinds."
    if text is not None:
        text.refuse(path, what, why=_WHY, fix=fix, key=True)
    raise BadDescriptor(what, why=_WHY, fix=fix)
