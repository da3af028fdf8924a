"""Privacy models of partitions: what every class of a published table has to fulfil.

A model is a small frozen value with ``holds(classes)``, which answers for all classes at once, so that models combine:
``models=[KAnonymity(10), EntropyL(3, "disease")]``. Each says in plain words what it does *not* protect against,
because none of them bounds what a person with other knowledge can learn.

A class is counted in people: in rows, where each row is somebody else's, and in different people, where a unit tells
them apart. Of diversity, ``DistinctL`` counts values, whoever has them; ``EntropyL`` and ``RecursiveL`` count how many
people have each value. t-closeness is about the rows, which are what is published.

A missing sensitive value is no value for the three kinds of diversity: of {flu, flu, (missing)} everybody whose illness
is known has flu. For t-closeness it is a value like others, the lowest of numbers and dates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from hubbub.publish.anonymize import distances as _distances
from hubbub.publish.anonymize.coded_columns import Codes, Floats, Truths
from hubbub.publish.anonymize.equivalence_classes import EquivalenceClasses
from hubbub.publish.anonymize.hierarchies import Hierarchy
from hubbub.render import short
from hubbub.terms import OutOfRange, exact, positive, shown, whole

_SLACK = 1e-12  # shares are floats: a class that is exactly at the limit holds

MEMBERSHIP = "It does not hide who is in the table, and it says nothing about other releases of the same people."


@runtime_checkable
class PrivacyModel(Protocol):
    """What every class has to fulfil."""

    monotone: ClassVar[bool]
    """Whether a class that holds still holds after rows of a class that does not hold have joined it."""

    @property
    def sensitive(self) -> str | None:
        """The sensitive column that it is about, if any."""

    @property
    def least(self) -> int:
        """A class with fewer rows never holds."""

    def holds(self, classes: EquivalenceClasses) -> Truths:
        """For each class, whether it fulfils the model."""

    def measure(self, classes: EquivalenceClasses) -> float:
        """The largest parameter (for t: the smallest) that all classes fulfil."""

    @property
    def words(self) -> str:
        """What it asks for, in one sentence."""

    @property
    def gaps(self) -> str:
        """What it does not protect against."""


@dataclass(frozen=True, slots=True)
class KAnonymity:
    """Every class has at least k people: k rows, unless a unit says whose they are [Swe02].

    >>> KAnonymity(5).words
    'Every combination of the quasi-identifiers has at least 5 rows.'
    """

    monotone: ClassVar[bool] = True
    sensitive: ClassVar[None] = None
    k: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole(self.k, name="k", least=2))

    @property
    def least(self) -> int:
        """A class with fewer rows never holds."""
        return self.k

    def holds(self, classes: EquivalenceClasses) -> Truths:
        """Whether each class has k people."""
        return classes.sizes >= self.k

    def measure(self, classes: EquivalenceClasses) -> float:
        """The size of the smallest class."""
        return float(classes.sizes.min())

    @property
    def words(self) -> str:
        """What it asks for."""
        return f"Every combination of the quasi-identifiers has at least {self.k} rows."

    @property
    def gaps(self) -> str:
        """What it does not protect against."""
        return (
            "k-anonymity hides which row is yours, not what the rows of your class have in common: if all of them "
            "have the same disease, everybody who knows that you are in the table knows yours (homogeneity). Who can "
            "rule out some values learns the rest (background knowledge). A column that is not named as a "
            "quasi-identifier and known to somebody undoes it. " + MEMBERSHIP
        )


@dataclass(frozen=True, slots=True)
class DistinctL:
    """Every class has at least l different values of the sensitive column [MKGV07]."""

    monotone: ClassVar[bool] = True
    l: int  # noqa: E741  (the name of the notion)
    sensitive: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", whole(self.l, name="l", least=2))

    @property
    def least(self) -> int:
        """A class with fewer rows never holds."""
        return self.l

    def holds(self, classes: EquivalenceClasses) -> Truths:
        """Whether each class has l different values."""
        return _distinct_values(classes, self.sensitive) >= self.l

    def measure(self, classes: EquivalenceClasses) -> float:
        """The fewest different values in a class."""
        return float(_distinct_values(classes, self.sensitive).min())

    @property
    def words(self) -> str:
        """What it asks for."""
        return f"Every class has at least {self.l} different values of {self.sensitive}."

    @property
    def gaps(self) -> str:
        """What it does not protect against."""
        return (
            f"Distinct l-diversity counts values and not how often they occur: 99 rows in 100 of a class may have the "
            f"same {self.sensitive}. Who can rule out {self.l - 1} values is certain, and values that differ may mean "
            "the same (gastritis and a stomach ulcer). " + MEMBERSHIP
        )


@dataclass(frozen=True, slots=True)
class EntropyL:
    """The entropy of the sensitive column in every class is at least log l [MKGV07]."""

    monotone: ClassVar[bool] = False
    l: float  # noqa: E741
    sensitive: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", _above_one(self.l))

    @property
    def least(self) -> int:
        """A class with fewer rows never holds."""
        return ceil(self.l)

    def holds(self, classes: EquivalenceClasses) -> Truths:
        """Whether the entropy of each class is large enough."""
        return _class_entropies(classes, self.sensitive) >= log(self.l) - _SLACK

    def measure(self, classes: EquivalenceClasses) -> float:
        """e to the smallest entropy of a class."""
        return float(np.exp(_class_entropies(classes, self.sensitive).min()))

    @property
    def words(self) -> str:
        """What it asks for."""
        return (
            f"In every class the values of {self.sensitive} are as mixed as {short(self.l)} equally frequent ones "
            "(entropy)."
        )

    @property
    def gaps(self) -> str:
        """What it does not protect against."""
        return (
            f"Entropy l-diversity bounds how mixed a class is, not how far it is from the whole table: a rare "
            f"{self.sensitive} may be many times likelier in a class than overall (skewness), and all its values may "
            "mean nearly the same (similarity). " + MEMBERSHIP
        )


@dataclass(frozen=True, slots=True)
class RecursiveL:
    """Recursive (c, l)-diversity: the most frequent value occurs less than c times as often as all but the l - 1 most
    frequent values together, and so still after any l - 2 values are ruled out [MKGV07]."""

    monotone: ClassVar[bool] = False
    c: float
    l: int  # noqa: E741
    sensitive: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "c", float(positive(self.c, name="c")))
        object.__setattr__(self, "l", whole(self.l, name="l", least=2))

    @property
    def least(self) -> int:
        """A class with fewer rows never holds."""
        return self.l

    def holds(self, classes: EquivalenceClasses) -> Truths:
        """Whether r1 < c (r_l + ... + r_m) in each class."""
        first, rest = self._top_and_tail(classes)
        return first < self.c * rest

    def measure(self, classes: EquivalenceClasses) -> float:
        """The c above which all classes hold; infinite if one has fewer than l values."""
        first, rest = self._top_and_tail(classes)
        return float(np.max(np.where(rest > 0, first / np.maximum(rest, 1), np.inf)))

    def _top_and_tail(self, classes: EquivalenceClasses) -> tuple[Codes, Codes]:
        cells = classes.known(self.sensitive)
        counts = cells.count[np.lexsort((-cells.count, cells.owner))]
        rank = np.arange(counts.size) - cells.starts[cells.owner]
        parts = [np.where(wanted, counts, 0) for wanted in (rank == 0, rank >= self.l - 1)]
        first, rest = (np.bincount(cells.owner, weights=part, minlength=classes.number) for part in parts)
        return first.astype(np.int64), rest.astype(np.int64)

    @property
    def words(self) -> str:
        """What it asks for."""
        return (
            f"In every class the most frequent {self.sensitive} has fewer than {short(self.c)} times as many rows as "
            f"all but the {self.l - 1} most frequent ones together."
        )

    @property
    def gaps(self) -> str:
        """What it does not protect against."""
        return (
            f"Recursive diversity keeps the most frequent value of a class from standing out, also after {self.l - 2} "
            f"values are ruled out; who rules out more, or knows how likely each {self.sensitive} is for a person, "
            "learns more. A rare value may be many times likelier than overall (skewness). " + MEMBERSHIP
        )


@dataclass(frozen=True, slots=True)
class TCloseness:
    """In every class the sensitive column is distributed as in the whole table, up to a distance of t [LLV07].

    The distance is the earth mover's: how much has to be moved, times how far. Numbers and dates are as far apart
    as their ranks ("ordered"), words are all equally far apart ("equal"), and values of a hierarchy as far as one
    must climb to meet ("hierarchy"). Which of these it is follows from the column unless a hierarchy is given.
    """

    monotone: ClassVar[bool] = False
    t: float
    sensitive: str
    hierarchy: Hierarchy | None = None

    def __post_init__(self) -> None:
        t = exact(self.t, name="t")
        if not 0 <= t < 1:
            raise OutOfRange(
                f"t must be at least 0 and below 1 and is {shown(t)}.",
                why="The distance of two distributions is between 0 and 1; at 1 everything holds.",
                fix="Give t such as 0.2.",
            )
        object.__setattr__(self, "t", float(t))

    @property
    def least(self) -> int:
        """A class with fewer rows never holds."""
        return 1

    def distances(self, classes: EquivalenceClasses) -> Floats:
        """How far the sensitive column of each class is from the whole table."""
        secret, cells = classes.secrets[self.sensitive], classes.cells(self.sensitive)
        if self.hierarchy is not None:
            return _distances.hierarchical_distance(
                cells, classes.totals, secret.shares, self.hierarchy.on(secret.column)
            )
        if secret.column.numeric:
            return _distances.ordered_distance(cells, classes.totals, secret.shares)
        return _distances.equal_distance(cells, classes.totals, secret.shares)

    def holds(self, classes: EquivalenceClasses) -> Truths:
        """Whether each class is within t of the whole table."""
        return self.distances(classes) <= self.t + _SLACK

    def measure(self, classes: EquivalenceClasses) -> float:
        """The largest distance of a class."""
        return float(self.distances(classes).max())

    @property
    def words(self) -> str:
        """What it asks for."""
        return f"In every class {self.sensitive} is distributed as in the whole table, up to {short(self.t)}."

    @property
    def gaps(self) -> str:
        """What it does not protect against."""
        return (
            f"t-closeness bounds a distance and not a ratio: a {self.sensitive} that one person in a thousand has may "
            f"be {short(self.t)} more likely in a class. It protects against an attacker who knows the whole table's "
            "distribution and nothing else about you, and it costs the relations between columns for which a table is "
            "published. " + MEMBERSHIP
        )


def _distinct_values(classes: EquivalenceClasses, name: str) -> Codes:
    return np.bincount(classes.known(name).owner, minlength=classes.number)


def _class_entropies(classes: EquivalenceClasses, name: str) -> Floats:
    """The entropy of the known values of the sensitive column in each class, in nats."""
    cells = classes.known(name)
    share = cells.count / np.bincount(cells.owner, weights=cells.count, minlength=classes.number)[cells.owner]
    total = np.bincount(cells.owner, weights=-share * np.log(share), minlength=classes.number)
    return np.asarray(total, dtype=np.float64)


def _above_one(value: object) -> float:
    number = exact(value, name="l")
    if number <= 1:
        raise OutOfRange(
            f"l must be above 1 and is {shown(number)}.",
            why="With l = 1 every class holds, also one that has a single value.",
            fix="Give l such as 2 or 2.5.",
        )
    return float(number)


def model_words(model: PrivacyModel, *, people: bool) -> str:
    """What a model asks for, in one sentence that says what is counted."""
    if not people:
        return model.words
    if isinstance(model, KAnonymity):
        return f"Every combination of the quasi-identifiers has at least {model.k} people."
    if isinstance(model, RecursiveL):
        return model.words.replace("times as many rows as", "times as many people as")
    return model.words


def least_size(models: Sequence[PrivacyModel]) -> int:
    """No class with fewer rows fulfils all the models."""
    return max((model.least for model in models), default=1)


def all_hold(models: Sequence[PrivacyModel], classes: EquivalenceClasses) -> Truths:
    """For each class, whether it fulfils all the models."""
    held = np.ones(classes.number, dtype=bool)
    for model in models:
        held &= model.holds(classes)
    return held
