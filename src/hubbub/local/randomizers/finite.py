"""Any finite randomizer, given by its channel matrix, and undone by inverting that matrix."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hubbub.local.pair_averages import nearest_shares
from hubbub.local.randomizers.base import FrequencyRandomizer, Randomizer, symbol_bytes
from hubbub.local.randomizers.common.exact_words import WORD, Codes, Words, exp_low
from hubbub.local.randomizers.exact_distribution import exact_distribution
from hubbub.render import Json
from hubbub.terms import NoBound, OutOfRange, WrongShape, exact, fraction_of, plain_array, whole

_MOST = 1 << 12


class FiniteRandomizer(FrequencyRandomizer):
    """Report y with probability ``matrix[x][y]`` for the value x, and estimate by the inverse.

    If H is the matrix with the values as columns, the expected shares of the reports are H z for shares z of the
    values. With as many reports as values the estimate is H^-1 times what was seen; with more, weighted least squares.
    Probabilities are rounded to multiples of 2^-64, and epsilon is worked out from these.

    Guarantee: epsilon-LDP for the value of one person, with the ``epsilon`` that the matrix has.
    Because: [CS208, Ex. 3.3], [KLNRS11]: the largest ratio within a column of reports is e^epsilon, by definition.
    Error: unbiased; variances from the matrix.
    Not covered: that somebody reported; values outside the domain count as ``missing``.

    >>> coin = FiniteRandomizer([[0.75, 0.25], [0.25, 0.75]])
    >>> round(float(coin.epsilon), 6), round(math.log(3), 6)
    (1.098612, 1.098612)
    >>> coin.inverse.round(6).tolist()
    [[1.5, -0.5], [-0.5, 1.5]]
    """

    protocol: ClassVar[str] = "finite"
    _worked_out = frozenset({"epsilon"})
    words = 1
    p, q = 1.0, 0.0  # what ``support`` gives are shares already

    def __init__(self, matrix: Sequence[Sequence[object]] | NDArray[Any], *, missing: int = 0) -> None:
        self.masses = _word_masses(matrix)
        super().__init__(epsilon=_matrix_epsilon(self.masses), domain=len(self.masses), missing=missing)
        self.symbols = self.state_size = len(self.masses[0])
        self.payload_bytes = symbol_bytes(self.symbols)
        self._ends = [[end for end in accumulate(row) if end < WORD] for row in self.masses]
        self.matrix = np.array([[float(Fraction(mass, WORD)) for mass in row] for row in self.masses])
        self.inverse = _matrix_inverse(self.matrix)

    @classmethod
    def of(cls, randomizer: Randomizer, values: Sequence[Any]) -> Self:
        """The matrix of another randomizer, from its exact distribution; symbols that never occur are left out.

        Rounding to 2^-64 may raise epsilon in the last digits.
        """
        distributions = [exact_distribution(randomizer, value) for value in values]
        reports = sorted(set().union(*distributions))
        return cls([[distribution.get(report, Fraction(0)) for report in reports] for distribution in distributions])

    def parameters(self) -> dict[str, Json]:
        """The matrix, in units of 2^-64."""
        return {
            "protocol": self.protocol,
            "epsilon": str(self.epsilon),
            "missing": self.missing,
            "masses": [[str(mass) for mass in row] for row in self.masses],
        }

    @classmethod
    def _read(cls, parameters: Mapping[str, Any]) -> Self:
        rows = [[Fraction(int(mass), WORD) for mass in row] for row in parameters["masses"]]
        return cls(rows, missing=parameters["missing"])

    def support(self, state: NDArray[np.int64], *, count: int) -> NDArray[np.float64]:
        """Reports that would support each value: here the estimate itself, in people."""
        return np.asarray(self.inverse @ state)

    def variance(self, *, count: int, frequency: float = 0.0) -> float:
        """The largest variance over the values, for one that this share has while the rest is spread evenly."""
        share = float(fraction_of(frequency, name="frequency", zero=True, one=True))
        own = np.diagonal(self._spreads)
        rest = (self._spreads.sum(axis=1) - own) / (self.domain - 1)
        return float((share * own + (1 - share) * rest).max() / whole(count, name="count"))

    def influence(self, share: float) -> float:
        """The most that this share of fake clients can move one estimated share: by the report with most weight."""
        fakes = float(fraction_of(share, name="share", zero=True, one=True))
        return fakes * float(max(self.inverse.max(), 1 - self.inverse.min()))

    def word_cuts(self, code: int) -> list[list[int]]:
        """For each word, where the report may change."""
        return [self._ends[code]]

    @cached_property
    def _spreads(self) -> NDArray[np.float64]:
        """The variance of the score for value i of a person with value x."""
        return np.asarray((self.inverse**2) @ self.matrix.T - (self.inverse @ self.matrix.T) ** 2)

    @cached_property
    def _limits(self) -> list[Words]:
        return [np.array(ends, dtype=np.uint64) for ends in self._ends]

    def _variances(self, shares: NDArray[np.float64], count: int) -> NDArray[np.float64]:
        return np.asarray(self._spreads @ nearest_shares(shares) / count)

    def _respond(self, codes: Codes, words: Words) -> Codes:
        reports = np.empty(len(codes), dtype=np.int64)
        for code in range(self.domain):
            mine = codes == code
            reports[mine] = np.searchsorted(self._limits[code], words[mine, 0], side="right")
        return reports


def _word_masses(matrix: Sequence[Sequence[object]] | NDArray[Any]) -> list[list[int]]:
    """Rows of probabilities in units of 2^-64 that add up to 2^64: cumulative sums are rounded, so none is lost."""
    plain = plain_array(matrix, name="the matrix")
    if plain.ndim != 2:
        raise _no_matrix()
    rows = [[exact(value, name="a probability") for value in row] for row in plain.tolist()]
    if len(rows) < 2 or len({len(row) for row in rows}) != 1 or not 2 <= len(rows[0]) <= _MOST:
        raise _no_matrix()
    return [_row_masses(row) for row in rows]


def _no_matrix() -> WrongShape:
    return WrongShape(
        "a matrix has a row for each value and, in each row, a probability for each report.",
        why="Two values at least, and every row of the same length.",
        fix="Give a list of rows, as in [[0.75, 0.25], [0.25, 0.75]].",
    )


def _row_masses(row: list[Fraction]) -> list[int]:
    total = sum(row)
    if min(row) < 0 or not Fraction(999_999, 1_000_000) <= total <= Fraction(1_000_001, 1_000_000):
        raise OutOfRange(
            "the probabilities of a row must not be negative and must add up to 1.",
            why="A person with this value sends exactly one report.",
            fix="Give each row as probabilities, or as fractions of its sum.",
        )
    ends = [round(WORD * part / total) for part in accumulate(row)]
    return [high - low for low, high in zip([0, *ends], ends, strict=False)]


def _matrix_epsilon(masses: list[list[int]]) -> Fraction:
    """The logarithm of the largest ratio, rounded up by about a billionth of a billionth."""
    ratio = Fraction(1)
    for column in zip(*masses, strict=True):
        if max(column) and not min(column):
            raise NoBound(
                "a report is possible for one value and impossible for another.",
                why="Whoever sends it gives away that it is not the other: no epsilon holds.",
                fix="Give every report a probability above zero for every value.",
            )
        ratio = max(ratio, Fraction(max(column), min(column))) if max(column) else ratio
    epsilon = Fraction(math.log(ratio))
    while exp_low(max(epsilon, Fraction(1, 10**6))) < ratio:
        epsilon += Fraction(1, 1 << 60)
    return max(epsilon, Fraction(1, 10**6))


def _matrix_inverse(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """What undoes the matrix: weighted least squares, with weights for values that are equally common."""
    common = matrix.mean(axis=0)
    weights = np.divide(1, common, out=np.zeros_like(common), where=common > 0)
    weighted = matrix * weights
    gram = weighted @ matrix.T
    if np.linalg.matrix_rank(gram, hermitian=True) < len(matrix):
        raise OutOfRange(
            "the matrix cannot be inverted.",
            why="Some values, or mixtures of them, send the same reports with the same probabilities.",
            fix="Give values whose rows are linearly independent.",
        )
    return np.asarray(np.linalg.solve(gram, weighted))
