"""What a fit is before a value is read: its public facts, and the plan that they lead to.

An estimator makes a plan of the facts. The plan trains on the rows, once the ledger is charged, and says what the
released numbers mean: it is the model while it is fitted.
"""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from numpy.typing import ArrayLike

from hubbub.learn.training.network import Floats
from hubbub.ledger import Account
from hubbub.terms import Guarantee, Neighbours, Repeat, Unit

Price = tuple[Fraction, Fraction]  # (epsilon, delta)
Watch = Callable[[int], None]


def nobody(step: int) -> None:
    """Nobody is watching."""


@dataclass(frozen=True, slots=True)
class Watcher:
    """A ``watch=`` that is also told how many steps there will be."""

    begin: Callable[[int], object]
    step: Callable[[int], object]

    def __call__(self, done: int) -> None:
        """So many steps are done."""
        self.step(done)


@dataclass(frozen=True, slots=True)
class RowCount:
    """How many rows a fit is planned for, and how many there are at most."""

    expected: int
    most: int

    @classmethod
    def public(cls, rows: int) -> RowCount:
        """A number that counts as public; parts of a table that coins draw may have up to twice what is expected."""
        return cls(rows, 2 * rows)


@dataclass(frozen=True, slots=True)
class FitFacts:
    """What is public about a fit: the shape of the table, the price, who pays, and whom it protects.

    ``rows`` is how many came, which counts as public if nothing was said about it, and ``declared`` what was said
    instead; with ``private_rows`` neither is public. ``y`` is looked at only where its labels count as public: there is
    no ``account``, and no classes are declared.
    """

    rows: int
    columns: int
    y: ArrayLike | None
    declared: int | None
    private_rows: bool
    public_rows: bool
    row_count: RowCount  # what to plan for, where the number of rows is declared or counts as public
    price: Price
    neighbours: Neighbours
    unit: Unit
    guarantee: Guarantee
    account: Account | None


class FitPlan(Protocol):
    """A model that is decided on: what will be done, what it promises, and how the rows become numbers."""

    @property
    def event(self) -> Repeat:
        """What will be done."""

    @property
    def guarantee(self) -> Guarantee:
        """What is promised."""

    @property
    def size(self) -> int:
        """How many numbers are stored."""

    @property
    def identity(self) -> Mapping[str, object]:
        """What, beside the event, makes two fits the same."""

    def train(self, X: ArrayLike, y: ArrayLike | None, watch: Watch = nobody) -> Floats:
        """Read the rows, and release what was decided: exactly ``size`` numbers."""

    def learned(self, values: Floats) -> dict[str, object]:
        """What a fitted estimator knows, by the names of its attributes: from the released numbers alone."""
