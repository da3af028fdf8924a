"""What is asked of the ledger, and what it gives back: a reservation to run under, or the answer it has already."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

from hubbub.accounting import Amount, Currency
from hubbub.durable import canonical_json
from hubbub.ledger.book.chain import iso_time, sha256_hex
from hubbub.terms import (
    Event,
    MissingParameter,
    OutOfRange,
    Receipt,
    WrongShape,
    fraction_of,
    plain_name,
    plain_text,
    positive,
    whole,
)

_FINGERPRINT = re.compile(r"[0-9a-f]{64}")
LARGEST = 64 * 2**20  # bytes of one stored answer
_LEAST_TAIL = Fraction(1, 10**300)
LONGEST = 3600  # seconds of one run
LAST = 2**62  # sequence number
ATTEMPTS = 3  # runs under one charge


class Pool(StrEnum):
    """The two parts into which an owner splits a budget beforehand."""

    QUESTIONS = "questions"
    PLANS = "plans"


def fingerprint(**parts: Any) -> str:
    """The fingerprint of a request: SHA-256 over everything that makes it this request and no other.

    Give the dataset, its declared version, the normalized plan and every parameter, as JSON values; never rows.

    >>> fingerprint(dataset="hospital", version="1", plan="count", epsilon="0.5")[:16]
    '0aa10e9eae3b2a51'
    """
    return sha256_hex(canonical_json(parts))


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One thing to be charged: an event, whose budget it draws on, and for whom.

    ``population`` names the people the data are about (one name or several); a declared ``dataset`` with its
    ``version`` may stand for them. ``size`` is the number of bytes of the record that will hold the answer, known
    before any data is read. A plan (its parameters all fixed in advance) also says the ``delta`` at which it is paid.
    Where a budget is counted both ways, ``tail`` is the delta at which a question's epsilon is worked out (its share of
    the budget's, if it is not said), and ``stated`` the epsilon that the event was calibrated for.
    ``question`` is a fingerprint without the accuracy, the same for the same version, bounds and keys: requests that
    share it can be remeasured. ``patience`` is how many seconds a run may take: while three are under way, a fourth
    asker waits so long before paying anew. ``title`` is shown in the log. ``chosen`` says that somebody chose the
    price: the owner's least price holds for that, and not for what a protocol costs by itself.
    """

    event: Event
    fingerprint: str
    population: str | tuple[str, ...] = ()
    dataset: str = ""
    version: str = ""
    project: str = "default"
    analyst: str = "owner"
    pool: Pool = Pool.QUESTIONS
    size: int = 4096
    delta: Fraction = Fraction(0)
    tail: Fraction | None = None
    stated: Fraction | None = None
    question: str = ""
    refines: int | None = None
    patience: float = 10.0
    title: str = ""
    fresh: bool = False
    chosen: bool = True

    def __post_init__(self) -> None:
        put = object.__setattr__
        named = (self.population,) if isinstance(self.population, str) else tuple(self.population)
        put(self, "population", tuple(plain_name(n, what="population") for n in named))
        put(self, "pool", Pool(self.pool))
        plain_name(self.project, what="project")
        plain_name(self.analyst, what="analyst")
        plain_text(self.title, name="title")
        plain_text(self.dataset, name="dataset", longest=1000)
        plain_text(self.version, name="version", longest=1000)
        plain_text(self.question, name="question", longest=64)
        if not isinstance(self.event, Event):
            raise WrongShape(
                "a request needs an event.",
                why="What is charged is worked out from the event, never taken on trust.",
                fix="Pass mechanism.event.",
            )
        if not _FINGERPRINT.fullmatch(self.fingerprint):
            raise OutOfRange(
                "a fingerprint is 64 hexadecimal digits.",
                why="It decides what counts as the same request.",
                fix="Make it with hubbub.ledger.fingerprint(...).",
            )
        if not named and not self.dataset:
            raise MissingParameter(
                "a request says whose budget it draws on: a population, or a declared dataset.",
                why="A budget belongs to people.",
                fix='Write population="..." or dataset="...", version="...".',
            )
        if whole(self.size, name="size") > LARGEST:
            raise OutOfRange(
                f"an answer of {self.size} bytes is above the most that is stored, {LARGEST}.",
                why="The ledger keeps answers in its own rows.",
                fix="Ask for fewer keys, or publish the result as a file and store its hash.",
            )
        put(self, "delta", fraction_of(self.delta, name="delta", zero=True))
        if self.tail is not None:
            put(self, "tail", fraction_of(self.tail, name="tail", zero=True))
            if 0 < self.tail < _LEAST_TAIL:
                raise OutOfRange(
                    "a tail delta is 0, or at least 1e-300.",
                    why="Tails are worked out in doubles, and one that they do not hold would close an account.",
                    fix="Leave tail out: it is the question's share of the budget's.",
                )
        if self.stated is not None:
            put(self, "stated", positive(self.stated, name="stated"))
        if self.refines is not None:
            put(self, "refines", whole(self.refines, name="refines", most=LAST))
        if not 0 <= self.patience <= LONGEST:
            raise OutOfRange(
                f"patience is between 0 and {LONGEST} seconds.",
                why="It is how long a run may take before somebody else pays for a new one.",
                fix="Give the longest time that a run is allowed.",
            )

    @property
    def populations(self) -> tuple[str, ...]:
        """The names given."""
        return self.population  # type: ignore[return-value]  # made a tuple above


@dataclass(frozen=True, slots=True)
class Charged:
    """A charge that stands in the book."""

    request: Request
    sequence: int
    head: bytes
    at: int
    populations: tuple[str, ...]
    costs: Mapping[str, Amount]
    currency: Currency

    @property
    def receipt(self) -> Receipt:
        """The proof: the entry's place, and the head of the chain that covers it."""
        return Receipt(
            population=self.populations[0],
            sequence=self.sequence,
            head=self.head.hex(),
            fingerprint=self.request.fingerprint,
            event=self.request.event,
            charged=self.costs[self.populations[0]].measure(self.currency),
            at=iso_time(self.at),
        )


@dataclass(frozen=True, slots=True)
class Reservation(Charged):
    """Charged, and nobody has seen an answer: run it now and ``store`` what comes out."""

    attempt: int = 1
    totals: Mapping[str, tuple[Amount, Amount]] | None = None


@dataclass(frozen=True, slots=True)
class Stored(Charged):
    """An answer that stands in the book; ``repeated`` if it was there before this request, which then was free."""

    answer: str = ""
    repeated: bool = False
