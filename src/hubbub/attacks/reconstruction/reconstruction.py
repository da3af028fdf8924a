"""Reconstruction: the secret bits of everybody from many counts, exact or noisy.

A query is a row of zeros and ones: who is asked about. Its answer is how many of them have the secret, give or take
the noise. Enough answers that are not noisy enough tell nearly every bit [DN03]; that is a fact of linear algebra, and
no rule about which question is innocent helps against it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub.attacks.reconstruction.least_squares import solve_box, solve_ridge
from hubbub.attacks.reconstruction.linear_programs import least_largest_error, least_total_error
from hubbub.attacks.reconstruction.message_passing import message_passing
from hubbub.attacks.report import Attack
from hubbub.attacks.requirements import Bits, Floats, bit_array, check_lengths, finite_array
from hubbub.attacks.share_interval import clopper_pearson
from hubbub.explain import Figure, belief
from hubbub.render import Json, out_of_100, percent, short
from hubbub.render.charts import Bar, bar_chart, percentage
from hubbub.terms import OutOfRange, Unsuitable, whole

METHODS: dict[str, Callable[[NDArray[np.float32], Floats], Floats]] = {
    "box": solve_box,
    "least-squares": solve_ridge,
    "lp": least_total_error,
    "lp-largest": least_largest_error,
    "message-passing": message_passing,
}


def reconstruct(queries: ArrayLike, answers: ArrayLike, *, method: str = "box") -> Bits:
    """The guessed bit of each person, from a 0/1 matrix (queries x people) and one noisy sum per query.

    - ``"box"``: least squares with every bit in [0, 1]; good for any queries, seconds for thousands of people
    - ``"least-squares"``: the same without the box: one linear system
    - ``"lp"``: least total error [DMT07]: for a few answers that are wrong without bound
    - ``"lp-largest"``: least largest error [DN03]: for noise that is known to be bounded
    - ``"message-passing"``: the best there is for many random subsets of half the people and Gaussian noise

    >>> queries = [[1, 1, 0], [0, 1, 1], [1, 0, 1], [1, 1, 1]]
    >>> reconstruct(queries, [1.3, 0.8, 2.1, 1.9]).tolist()
    [1, 0, 1]
    """
    asked, sums = _check_system(queries, answers)
    return (_solver_named(method)(asked, sums) > 0.5).astype(np.int8)


def random_subsets(people: int, queries: int, *, seed: int = 0) -> Bits:
    """Queries about random subsets, each person in half of them: a matrix of zeros and ones."""
    shape = (whole(queries, name="queries"), whole(people, name="people"))
    return np.asarray(np.random.default_rng(seed).integers(0, 2, shape, dtype=np.int8))


def random_ranges(people: int, queries: int, *, seed: int = 0) -> Bits:
    """Queries about ranges of people in their order: ``BETWEEN`` two of them.

    The ends run through random orders of all places between people. So every place is an end twice before any is
    four times, and as many ranges as there are people, exactly answered, already determine all bits.
    """
    count, rows = whole(people, name="people"), whole(queries, name="queries")
    random = np.random.default_rng(seed)
    orders = [random.permutation(count + 1) for _ in range(-(-rows // (count + 1)))]
    starts = np.concatenate(orders)[:rows]
    ends = np.concatenate([np.roll(order, -1) for order in orders])[:rows]
    low, high = np.minimum(starts, ends)[:, None], np.maximum(starts, ends)[:, None]
    places = np.arange(count)
    return np.asarray((places >= low) & (places < high), dtype=np.int8)


def _check_system(queries: ArrayLike, answers: ArrayLike) -> tuple[NDArray[np.float32], Floats]:
    asked = bit_array(queries, name="queries", axes=2)
    sums = finite_array(answers, name="answers", axes=1)
    check_lengths(len(asked), len(sums), what="queries and answers")
    if len(asked) < asked.shape[1]:
        raise Unsuitable(
            f"{len(asked)} queries are too few for {asked.shape[1]} people.",
            why="With fewer equations than unknown bits, many databases fit the answers equally well.",
            fix="Ask at least one question per person; four are usual.",
        )
    return asked.astype(np.float32), sums


def _solver_named(name: str) -> Callable[[NDArray[np.float32], Floats], Floats]:
    if name not in METHODS:
        raise OutOfRange(
            f"there is no method {name!r}.",
            why="A system can be solved in a few ways.",
            fix=f"One of {', '.join(METHODS)}.",
        )
    return METHODS[name]


@dataclass(frozen=True, slots=True, eq=False)
class Reconstruction(Attack):
    """Guessed bits, how well they explain the answers, and how many are right where the truth is known.

    ``epsilon`` and ``delta`` are what all answers together promise about one person's bit (None: nothing).
    """

    kind: ClassVar[str] = "reconstruction"
    name: ClassVar[str] = "Reconstruction"

    bits: Bits
    questions: int
    residual: float
    truth: Bits | None = None
    people: Sequence[object] = ()
    epsilon: float | None = None
    delta: float = 0.0

    @classmethod
    def of(
        cls,
        queries: ArrayLike,
        answers: ArrayLike,
        *,
        method: str = "box",
        truth: ArrayLike | None = None,
        people: Sequence[object] = (),
        epsilon: float | None = None,
        delta: float = 0.0,
    ) -> Reconstruction:
        """Run ``reconstruct`` and report on it; ``truth`` is only used to count how many bits are right."""
        asked, sums = _check_system(queries, answers)
        guess = (_solver_named(method)(asked, sums) > 0.5).astype(np.int8)
        known = None if truth is None else bit_array(truth, name="truth", axes=1)
        if known is not None:
            check_lengths(len(known), len(guess), what="true and guessed bits")
        residual = float(np.sqrt(np.mean((asked @ guess.astype(np.float32) - sums) ** 2)))
        return cls(guess, len(sums), residual, known, people, epsilon, delta)

    @property
    def right(self) -> float | None:
        """The share of people whose bit is guessed right; None if the truth was not given."""
        return None if self.truth is None else float(np.mean(self.bits == self.truth))

    @property
    def named(self) -> tuple[object, ...]:
        """The people who are said to have the secret: their ids if they were given, else their places."""
        places = np.flatnonzero(self.bits).tolist()
        return tuple(self.people[place] if len(self.people) else place for place in places)

    @property
    def blind(self) -> float:
        """What guessing the commoner bit for everybody gets right."""
        share = float(np.mean(self.bits if self.truth is None else self.truth))
        return max(share, 1 - share)

    @property
    def ceiling(self) -> float:
        """The most that any attack gets right on average, for bits that are 0 or 1 alike, given the guarantee.

        Guarantee: (e^epsilon + delta) / (1 + e^epsilon), if the answers are (epsilon, delta)-DP for changing one bit.
        Because: [KOV15]; ``hubbub.explain.attacker_bounds.belief`` at 1/2. One run may lie above its average.
        Not covered: bits that are related to each other or to something public.
        """
        return 1.0 if self.epsilon is None else belief(0.5, epsilon=self.epsilon, delta=self.delta)

    @property
    def succeeded(self) -> bool:
        """Whether clearly more bits are right than by blind guessing; without a truth, whether all answers fit.

        Clearly: luck alone would do as well less than once in a thousand times.
        """
        if self.right is None:
            return self.residual < 1e-6
        return clopper_pearson(round(self.right * self.bits.size), self.bits.size, confidence=0.998)[0] > self.blind

    @property
    def headline(self) -> str:
        """What was found, in one plain sentence."""
        asked = f"{self.questions:,} counts about {self.bits.size:,} people"
        if self.right is None:
            return f"{asked} give a guess of every secret bit; the answers are off it by {short(self.residual)}."
        blindly = f"a blind guess gives {out_of_100(self.blind)}"
        return f"{asked} give the secret bit of {out_of_100(self.right)} people; {blindly}."

    def numbers(self) -> dict[str, Json]:
        """What was found, for programs."""
        return {
            "people": int(self.bits.size),
            "questions": self.questions,
            "right": self.right,
            "blind": self.blind,
            "ceiling": self.ceiling,
            "residual": self.residual,
            "epsilon": self.epsilon,
        }

    def facts(self) -> tuple[tuple[str, str], ...]:
        """What was found, for people."""
        rows = [
            ("people", f"{self.bits.size:,}"),
            ("questions", f"{self.questions:,}"),
            ("bits that are right", "not known" if self.right is None else percent(self.right)),
            ("by blind guessing", percent(self.blind)),
            ("typical distance of an answer from the guess", short(self.residual)),
        ]
        if self.epsilon is not None:
            rows.append((f"the most on average at epsilon = {short(self.epsilon)}", percent(self.ceiling)))
        return tuple(rows)

    def figure(self) -> Figure:
        """Bits right: blindly, by this attack, and at most."""
        drawn = bar_chart(
            self._bars(),
            title="Secret bits that are guessed right",
            description=self.headline,
            label="share of people",
            show=percentage,
            include=(0.0, 1.0),
        )
        return Figure(self.kind, drawn, "Whiskers are 95% intervals. At 50% nothing was learned.")

    def _bars(self) -> list[Bar]:
        bars = [Bar("blind guess", self.blind, shown=percent(self.blind))]
        if self.right is not None:
            low, high = clopper_pearson(round(self.right * self.bits.size), self.bits.size)
            bars.append(Bar("this attack", self.right, low, high, percent(self.right)))
        if self.epsilon is not None:
            bars.append(Bar("most, on average", self.ceiling, shown=percent(self.ceiling)))
        return bars

    def meaning(self) -> tuple[str, ...]:
        """What it means for the people in the data."""
        noise = self.residual / math.sqrt(self.bits.size)
        sentence = (
            f"The answers are off the guessed bits by {short(self.residual)}, which is {short(noise)} times the root "
            "of the number of people. Noise well below that root hides nobody from questions about random subsets, "
            "however innocent each looks: together they are a system of equations, and its solution is everybody's "
            "secret."
        )
        if self.succeeded:
            return (sentence, "Whoever may ask these questions holds the secret column of the table.")
        return (sentence, "Here the guesses are no better than blind ones: the answers hide each person.")

    def remedy(self) -> tuple[str, ...]:
        """What would have helped, and what would not."""
        return (
            "A budget for all answers together: noise that grows with the number of questions, and an end to asking. "
            "At a total epsilon of 1 no attack whatever gets more than 73 of 100 bits right on average.",
            "Refusing small counts, rounding, or a fixed small noise per answer do not help: the attack asks about "
            "half of all people each time. Nor does differential privacy with a huge epsilon.",
        )
