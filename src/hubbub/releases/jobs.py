"""A job: everything about one release that is decided before it is charged, and the only code that reads its rows.

A question in SQL, a training run, a table to publish, a collection and a party's reveal are jobs. ``door`` takes them
through: bind, charge, run, store, show.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, TypeVar

from hubbub.terms import Event, Guarantee, Receipt

T_co = TypeVar("T_co", covariant=True)
Progress = Callable[[str], None]  # is told "planned", "charged", "reading", "stored": public facts alone

LONGEST = 3600.0  # seconds that a run may take


def no_progress(stage: str) -> None:
    """The progress that nobody follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFacts:
    """What is charged, promised and stored: public facts, known before a row is read.

    ``identity`` is JSON that tells the job from all others (kind, dataset, version, plan, noise): the same identity in
    the same project gets the stored answer, for free; None is never the same twice. ``size`` is the number of bytes
    that are stored. A job that is ``fixed_in_advance`` (a plan, no question) is paid from the pool for plans, if the
    owner set one aside, at its ``delta``. A question is calibrated for the epsilon ``stated`` at a ``tail`` delta, or
    (None) costs what accounting makes of its event. ``guarantee`` is what people are promised. ``question`` is the
    identity without the accuracy, ``refines`` the charge that this one makes more exact. ``seconds`` is how long a run
    may take: others wait so long before they pay anew. ``chosen`` says that somebody chose the price: the owner's least
    price holds for that, and not for what a protocol costs by itself.
    """

    event: Event
    identity: Mapping[str, Any] | None
    size: int
    title: str
    fixed_in_advance: bool = False
    delta: Fraction = Fraction(0)
    tail: Fraction | None = None
    stated: Fraction | None = None
    guarantee: Guarantee | None = None
    question: Mapping[str, Any] | None = None
    refines: int | None = None
    seconds: float = LONGEST
    chosen: bool = True


class Job(Protocol[T_co]):
    """One thing to be released."""

    @property
    def facts(self) -> JobFacts:
        """What it is, from public facts."""

    def bind(self) -> None:
        """Refuse what no data could answer; touches no row, no statistics and no file of the data."""

    def run(self, progress: Progress) -> str:
        """Read private rows and give what is stored. If it raises, that is settled, and nobody is told what it was."""

    def show(self, answer: str, receipt: Receipt | None, *, repeated: bool) -> T_co:
        """What people see, from what is stored: post-processing alone."""
