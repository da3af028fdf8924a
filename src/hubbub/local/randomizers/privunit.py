"""Means of vectors in the unit ball: PrivUnitG, by candidates that everybody can compute."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub import noise
from hubbub.local.estimates import VectorEstimate
from hubbub.local.randomizers.base import Randomizer, checked_state, local_step, no_reports, report_count
from hubbub.local.randomizers.common.exact_words import Codes, Words, bytes_for, from_bytes
from hubbub.local.randomizers.common.hash_family import SEEDS, mix_bits
from hubbub.local.randomizers.common.values import Values, epsilon_of, report_array
from hubbub.local.randomizers.two_sets import TwoSets
from hubbub.render import Json
from hubbub.terms import BadReport, OutOfRange, Real, WrongShape, fraction_of, refuse_masked, whole

_UNIT = 1 << 20  # of the fixed-point sums of a state
_CHOICE = 32  # a report is seed + 2^32 choice
_MOST_CANDIDATES = 1 << 12
Floats = NDArray[np.float64]


class PrivUnitG(Randomizer):
    """Report one of ``candidates`` Gaussian vectors: likely one of those that point most in the own direction.

    The seed of a report determines its candidates; those near to the own vector are e^epsilon times likelier to be
    chosen than the others. Exactly ``near`` of them count as near, whatever the vector: so the guarantee is exact
    although the candidates are floats. With ever more candidates the distribution becomes that of PrivUnitG; with few
    it is a little worse (``multiplier``). A vector shorter than 1 is first sent to its direction or the opposite one.

    Guarantee: epsilon-LDP for the vector of one person, for every seed.
    Because: [AFT22] for PrivUnitG; here, given the seed, one's own set is the near candidates (``TwoSets``), as
    in [SCBKT22].
    Error: the expected squared distance of the mean is about dimension / (n multiplier^2).
    Not covered: that somebody reported; vectors longer than 1 are shortened, NaN counts as 0.

    >>> from hubbub.noise.testing import seeded
    >>> survey = PrivUnitG(epsilon=4, dimension=3)
    >>> reports = survey.randomize([[0.6, 0.0, 0.8]] * 4000, rng=seeded(7))
    >>> survey.estimate(reports).values.round(1).tolist()
    [0.6, -0.0, 0.8]
    """

    protocol: ClassVar[str] = "privunitg"
    words = 4

    def __init__(self, *, epsilon: Real, dimension: int, candidates: int | None = None) -> None:
        self.epsilon = epsilon_of(epsilon)
        self.event = local_step(self.protocol, self.epsilon)
        self.dimension = whole(dimension, name="dimension", least=2)
        self.candidates = best_candidates(float(self.epsilon)) if candidates is None else _check_candidates(candidates)
        self.near = best_near(float(self.epsilon), self.candidates)
        self.sets = TwoSets.for_epsilon(self.epsilon, own=self.near, other=self.candidates - self.near)
        self.multiplier, self._square = _choice_moments(self.sets.p, self.near, self.candidates)
        self.symbols = None
        self.state_size = self.dimension
        self.payload_bytes = 4 + bytes_for(self.candidates)

    def parameters(self) -> dict[str, Json]:
        """The dimension, the candidates, and the threshold of the coin that picks a near one."""
        return {
            "protocol": self.protocol,
            "epsilon": str(self.epsilon),
            "dimension": self.dimension,
            "candidates": self.candidates,
            "thresholds": [str(self.sets.keep)],
        }

    def codes(self, values: Sequence[Any] | NDArray[Any]) -> Floats:
        """Vectors in the unit ball: longer ones are shortened, NaN and infinities count as 0."""
        array = self._numbers(values)
        if array.ndim != 2 or array.shape[1] != self.dimension:
            raise self._wrong_shape()
        array = np.where(np.isfinite(array), array, 0.0)
        longest = np.maximum(np.abs(array).max(axis=1, keepdims=True), 1.0)  # so that squares do not overflow
        shorter = array / longest
        norm = np.linalg.norm(shorter, axis=1, keepdims=True) * longest
        return np.asarray(shorter * (longest / np.maximum(norm, 1.0)))

    def randomize(self, values: Values, *, rng: noise.RandomSource | None = None) -> Any:
        """The report of each person in a list of vectors; of one person if one vector is given."""
        array = self._numbers(values)
        return int(super().randomize([array], rng=rng)[0]) if array.ndim == 1 else super().randomize(array, rng=rng)

    def _numbers(self, values: Any) -> Floats:
        refuse_masked(values)
        try:
            return np.array(values, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise self._wrong_shape() from None

    def _wrong_shape(self) -> WrongShape:
        return WrongShape(
            f"rows of {self.dimension} numbers were expected.",
            why="Each row is the vector of one person.",
            fix="Give a list of vectors, also for one person.",
        )

    def respond(self, values: Sequence[Any] | NDArray[Any], words: Words) -> Codes:
        """The reports that these vectors and these words lead to."""
        vectors = self.codes(values)
        return self._respond(vectors, self._checked_words(vectors, words))

    def accumulate(self, reports: ArrayLike) -> NDArray[np.int64]:
        """The sum of the chosen candidates, in units of 2^-20."""
        codes = self._reports(reports)
        total = np.zeros(self.dimension, dtype=np.int64)
        step = max(1, (1 << 22) // self.dimension)
        for start in range(0, len(codes), step):
            part = codes[start : start + step]
            chosen = self._candidates(part & (SEEDS - 1), part >> _CHOICE)
            total += np.rint(chosen * _UNIT).astype(np.int64).sum(axis=0)
        return total

    def decode(self, state: NDArray[np.int64], *, count: int) -> VectorEstimate:
        """The average candidate over the multiplier, which is unbiased."""
        people = report_count(count)
        mean = checked_state(state, self.state_size) / (_UNIT * people * self.multiplier)
        spread = (self.dimension - 1 + self._square) / (self.dimension * self.multiplier**2)
        return VectorEstimate(
            values=mean,
            variances=np.maximum(spread - mean**2, 0) / people,
            count=people,
            influence=self.influence(1.0),
            epsilon=self.epsilon,
            protocol=self.protocol,
        )

    def variance(self, *, count: int, frequency: float = 0.0) -> float:
        """The expected squared distance of the mean, if all have vectors of length 1, over the dimension."""
        total = (self.dimension - 1 + self._square) / self.multiplier**2 - 1
        return total / self.dimension / whole(count, name="count")

    def influence(self, share: float) -> float:
        """The most that this share of fake clients can move the mean, as a distance, also if they choose the seed.

        No candidate of any seed is longer than sqrt(dimension) + sqrt(2 ln(all candidates of all seeds / 10^-6)), but
        for a chance of one in a million that there is one somewhere.
        """
        fakes = float(fraction_of(share, name="share", zero=True, one=True))
        longest = math.sqrt(self.dimension) + math.sqrt(2 * math.log(SEEDS * self.candidates * 10**6))
        return fakes * (1 + longest / self.multiplier)

    def valid(self, payload: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Any seed will do, with a choice that is a candidate."""
        return from_bytes(self._rows(payload)) >> _CHOICE < self.candidates

    def _respond(self, codes: Floats, words: Words) -> Codes:
        reports = np.empty(len(codes), dtype=np.int64)
        step = max(1, (1 << 21) // (self.candidates * self.dimension))
        for start in range(0, len(codes), step):
            part = slice(start, start + step)
            reports[part] = self._respond_part(codes[part], words[part])
        return reports

    def _respond_part(self, vectors: Floats, words: Words) -> Codes:
        seeds = (words[:, 0] >> np.uint64(32)).astype(np.int64)
        directions = _unit_directions(vectors, words[:, 1])
        every = self._candidates(seeds[:, None], np.arange(self.candidates)[None, :])
        order = np.argsort(-np.einsum("nkd,nd->nk", every, directions), axis=1, kind="stable")
        rank = self.sets.interval(0, words[:, 2], words[:, 3])
        return np.asarray(seeds + (order[np.arange(len(seeds)), rank] << _CHOICE), dtype=np.int64)

    def _candidates(self, seeds: Codes, choices: Codes) -> Floats:
        """Gaussian vectors from a counter: Box and Muller's pairs of coordinates."""
        pairs = (self.dimension + 1) // 2
        start = mix_bits((seeds + (choices << _CHOICE)).astype(np.uint64))[..., None]
        counter = np.arange(2 * pairs, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        uniform = ((mix_bits(start + counter) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
        radius = np.sqrt(-2 * np.log(uniform[..., :pairs]))
        angle = 2 * np.pi * uniform[..., pairs:]
        both = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
        return both[..., : self.dimension]

    def _reports(self, reports: ArrayLike) -> Codes:
        codes = np.atleast_1d(report_array(reports))
        if not codes.size:
            raise no_reports()
        if (
            codes.dtype.kind not in "iu"
            or codes.ndim != 1
            or codes.min() < 0
            or codes.max() >> _CHOICE >= self.candidates
        ):
            raise BadReport(
                f"a report has a choice outside 0, ..., {self.candidates - 1}.",
                why="A report of PrivUnitG is seed + 2^32 choice.",
                fix="Estimate with the randomizer that made the reports.",
                reason="domain",
            )
        return codes.astype(np.int64, copy=False)


def _unit_directions(vectors: Floats, words: Words) -> Floats:
    """Unit vectors whose expectation is the vector: its direction with probability (1 + norm) / 2, or the opposite."""
    norm = np.linalg.norm(vectors, axis=1)
    first = np.zeros_like(vectors)
    first[:, 0] = 1.0
    direction = np.where(norm[:, None] > 0, vectors / np.maximum(norm, 1e-300)[:, None], first)
    uniform = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return np.asarray(np.where(uniform < (1 + norm) / 2, 1.0, -1.0)[:, None] * direction)


def best_candidates(epsilon: float) -> int:
    """A power of two with enough candidates that some of them are near."""
    wanted = 16 / _best_share(epsilon)
    return min(_MOST_CANDIDATES, max(64, 1 << math.ceil(math.log2(wanted))))


def best_near(epsilon: float, candidates: int) -> int:
    """How many of the candidates count as near: the share that is best with very many of them."""
    return min(candidates // 2, max(1, round(_best_share(epsilon) * candidates)))


@lru_cache(maxsize=256)
def _best_share(epsilon: float) -> float:
    """The share t of near candidates that maximizes density(quantile t) (e^epsilon - 1) / (1 + t (e^epsilon - 1))."""
    from statistics import NormalDist

    normal, odds = NormalDist(), math.expm1(epsilon)
    shares = [math.exp(-i / 40) / 2 for i in range(400)]
    return max(shares, key=lambda t: normal.pdf(normal.inv_cdf(t)) / (1 + t * odds))


@lru_cache(maxsize=256)
def _choice_moments(keep: float, near: int, candidates: int) -> tuple[float, float]:
    """First and second moment, along the own direction, of the candidate that is chosen.

    The mean of the ``near`` largest of so many normal numbers, by integrating each number's chance to be among them.
    """
    from scipy.special import betainc, ndtr

    x = np.linspace(-10, 10, 8001)
    density = np.exp(-x * x / 2) / math.sqrt(2 * math.pi) * (x[1] - x[0])
    among = density * betainc(candidates - near, near, ndtr(x)) * candidates / near
    top, square = float(among @ x), float(among @ (x * x))
    far = candidates - near
    rest, rest_square = -near * top / far, (candidates - near * square) / far
    return keep * top + (1 - keep) * rest, keep * square + (1 - keep) * rest_square


def _check_candidates(candidates: int) -> int:
    number = whole(candidates, name="candidates", least=2)
    if number > _MOST_CANDIDATES:
        raise OutOfRange(
            f"candidates must be at most {_MOST_CANDIDATES} and is {number}.",
            why="Each client computes all of them.",
            fix="Leave it out to get enough for this epsilon.",
        )
    return number
