"""All subsets: the exponential attack of Dinur and Nissim, for a handful of people.

Ask about every subset. If no answer errs by more than E, any database that is consistent with all answers has at most
4E wrong bits: on the people whose true bit is 0 (a subset that was asked about) it differs from the truth by at most
2E, and on the others likewise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub.attacks.report import Attack
from hubbub.attacks.requirements import Bits, Floats, bit_array, check_lengths, finite_array
from hubbub.explain import Figure
from hubbub.render import Json, short
from hubbub.render.charts import Bar, bar_chart
from hubbub.terms import OutOfRange, Unsuitable, whole

_MOST = 14  # people: 2^14 candidates against 2^14 answers take a few seconds
_BLOCK = 512  # candidates at a time

Oracle = Callable[[Bits], float]


def all_subsets(people: int) -> Bits:
    """Every subset of so many people as a row of zeros and ones; row r holds the binary digits of r.

    >>> all_subsets(2).tolist()
    [[0, 0], [1, 0], [0, 1], [1, 1]]
    """
    count = whole(people, name="people")
    if count > _MOST:
        raise OutOfRange(
            f"people must be at most {_MOST} and is {count}.",
            why="This attack asks about every subset, and compares each answer with every possible database.",
            fix="Use reconstruct(), which needs a few questions per person.",
        )
    return ((np.arange(1 << count)[:, None] >> np.arange(count)) & 1).astype(np.int8)


def reconstruct_all_subsets(
    oracle: Oracle | ArrayLike, people: int, error: float, *, truth: ArrayLike | None = None
) -> AllSubsets:
    """A database that is consistent with the answers about all subsets, each wrong by at most ``error``.

    ``oracle`` is asked once per subset (a row of zeros and ones), or is the list of answers in the order of
    ``all_subsets``.

    Guarantee: at most 4 ``error`` of the bits are wrong, if no answer errs by more.
    Because: [DN03]; [DR14, Thm. 8.1]; the argument stands at the top of this module.

    >>> secret = np.array([1, 0, 1, 1, 0])
    >>> found = reconstruct_all_subsets(lambda subset: subset @ secret + 0.2, 5, error=0.2)
    >>> found.bits.tolist(), found.most_wrong
    ([1, 0, 1, 1, 0], 0)
    """
    subsets = all_subsets(people)
    answers = finite_array([oracle(row) for row in subsets] if callable(oracle) else oracle, name="answers", axes=1)
    check_lengths(len(answers), len(subsets), what="answers and subsets")
    largest = _largest_errors(subsets.astype(np.float32), answers)
    consistent = np.flatnonzero(largest <= error + 1e-4)
    if not consistent.size:
        raise Unsuitable(
            f"no database is consistent with answers that err by at most {error:g}.",
            why=f"The best one needs an error of {largest.min():.3g}.",
            fix="Give the largest error that the answers may have.",
        )
    known = None if truth is None else bit_array(truth, name="truth", axes=1)
    if known is not None:
        check_lengths(len(known), people, what="true bits and people")
    best = int(consistent[np.argmin(largest[consistent])])
    return AllSubsets(subsets[best], len(subsets), int(consistent.size), float(error), known)


def _largest_errors(subsets: NDArray[np.float32], answers: Floats) -> NDArray[np.float32]:
    """For every possible database, its largest distance from an answer."""
    single = answers.astype(np.float32)
    blocks = [subsets[start : start + _BLOCK] for start in range(0, len(subsets), _BLOCK)]
    return np.concatenate([np.abs(block @ subsets.T - single).max(axis=1) for block in blocks])


@dataclass(frozen=True, slots=True, eq=False)
class AllSubsets(Attack):
    """The consistent database that fits best, and how many others are consistent too."""

    kind: ClassVar[str] = "all-subsets"
    name: ClassVar[str] = "All subsets"

    bits: Bits
    questions: int
    consistent: int
    error: float
    truth: Bits | None = None

    @property
    def most_wrong(self) -> int:
        """The theorem's 4E: no more bits than that are wrong."""
        return min(self.bits.size, int(4 * self.error + 1e-9))

    @property
    def wrong(self) -> int | None:
        """How many bits are wrong; None if the truth was not given."""
        return None if self.truth is None else int(np.sum(self.bits != self.truth))

    @property
    def succeeded(self) -> bool:
        """Whether more than half of the bits are certain to be right."""
        return 2 * self.most_wrong < self.bits.size

    @property
    def headline(self) -> str:
        """What was found, in one plain sentence."""
        truth = "" if self.wrong is None else f"; in truth {self.wrong} are"
        return (
            f"After all {self.questions:,} subsets of {self.bits.size} people, at most {self.most_wrong} secret bits "
            f"can be guessed wrong{truth}."
        )

    def numbers(self) -> dict[str, Json]:
        """What was found, for programs."""
        return {
            "people": int(self.bits.size),
            "questions": self.questions,
            "consistent": self.consistent,
            "error": self.error,
            "most_wrong": self.most_wrong,
            "wrong": self.wrong,
        }

    def facts(self) -> tuple[tuple[str, str], ...]:
        """What was found, for people."""
        return (
            ("questions", f"{self.questions:,}"),
            ("largest error of an answer, E", short(self.error)),
            ("databases consistent with all answers", f"{self.consistent:,} of {self.questions:,}"),
            ("bits wrong at most (4E)", f"{self.most_wrong} of {self.bits.size}"),
            ("bits wrong", "not known" if self.wrong is None else str(self.wrong)),
        )

    def figure(self) -> Figure:
        """How few databases are left."""
        counts = {"before asking": self.questions, "after all answers": self.consistent}
        bars = [Bar(name, float(count), shown=f"{count:,}") for name, count in counts.items()]
        drawn = bar_chart(bars, title="Databases that are possible", description=self.headline, label="databases")
        return Figure(self.kind, drawn, "One database is everybody's secret bit.")

    def meaning(self) -> tuple[str, ...]:
        """What it means for the people in the data."""
        return (
            "Whoever sees answers to all questions, each with an error of at most E, knows all bits but 4E of them. No "
            "cleverness in choosing the errors helps: this holds for every way to answer.",
        )

    def remedy(self) -> tuple[str, ...]:
        """What would have helped, and what would not."""
        return (
            "Errors of the size of the data (E near n/4), or far fewer answers. A budget enforces the second: an "
            "error that can be lived with, until it is spent.",
        )
