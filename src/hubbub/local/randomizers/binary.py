"""Warner's randomized response: a bit, or a sign."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hubbub.local.randomizers.base import FrequencyRandomizer
from hubbub.local.randomizers.common.exact_words import Codes, Number, Word
from hubbub.local.randomizers.common.integer_reports import IntegerReports
from hubbub.local.randomizers.common.values import epsilon_of, integer_column
from hubbub.local.randomizers.mean_base import MeanRandomizer
from hubbub.local.randomizers.two_sets import coin_for
from hubbub.render import Json
from hubbub.terms import OutOfRange, Real, exact, shown


class BinaryResponse(IntegerReports, FrequencyRandomizer):
    """Answer yes (1) or no (0): truthfully with probability e^epsilon / (e^epsilon + 1).

    Guarantee: epsilon-LDP for the answer of one person.
    Because: [Warner65]: two sets of one report (``TwoSets``).
    Error: n * variance is e^epsilon / (e^epsilon - 1)^2 for each of the two shares.
    Not covered: that somebody answered; anything but 0 and 1 counts as ``missing``.

    >>> from hubbub.noise.testing import seeded
    >>> survey = BinaryResponse(epsilon=1)
    >>> reports = survey.randomize([0] * 7000 + [1] * 3000, rng=seeded(7))
    >>> survey.estimate(reports).values.round(2).tolist()
    [0.7, 0.3]
    """

    protocol: ClassVar[str] = "binary"
    words = 1

    def __init__(self, *, epsilon: Real, missing: int = 0) -> None:
        super().__init__(epsilon=epsilon, domain=2, missing=missing)
        self.sets = coin_for(self.epsilon)
        self.symbols = self.state_size = 2
        self.payload_bytes = 1
        self.p = self.sets.p
        self.q = 1 - self.p

    def parameters(self) -> dict[str, Json]:
        """The threshold of the coin that keeps the answer."""
        parameters = self._base_parameters([self.sets.keep])
        del parameters["domain"]
        return parameters

    def support(self, state: NDArray[np.int64], *, count: int) -> NDArray[np.float64]:
        """A report supports the answer that it names."""
        return state.astype(np.float64)

    def word_cuts(self, code: int) -> list[list[int]]:
        """For each word, where the report may change."""
        return [[self.sets.keep]]

    def _report(self, code: Number, words: Sequence[Word]) -> Number:
        return self.sets.flip(code, words[0])


class SignResponse(IntegerReports, MeanRandomizer):
    """Report a sign, +1 or -1: the true one with probability e^epsilon / (e^epsilon + 1).

    The mean is c times the average report, with c = (e^epsilon + 1) / (e^epsilon - 1). Reports are 1 for +1 and 0
    for -1.

    Guarantee: epsilon-LDP for the sign of one person.
    Because: [Warner65], [CS208, Sec. 3]: two sets of one report (``TwoSets``).
    Error: n * variance is c^2 - y^2 for a sign y, at most c^2 for the mean of a population.
    Not covered: that somebody reported; anything but +1 and -1 counts as ``missing``.

    >>> from hubbub.noise.testing import seeded
    >>> survey = SignResponse(epsilon=1)
    >>> survey.estimate(survey.randomize([1] * 6000 + [-1] * 4000, rng=seeded(7)))
    MeanEstimate(0.22029 ±0.0422 (95%), 10000 people)
    """

    protocol: ClassVar[str] = "sign"
    words = 1

    def __init__(self, *, epsilon: Real, missing: Real = -1) -> None:
        self.sets = coin_for(epsilon_of(epsilon))
        contrast = 2 * self.sets.p - 1
        super().__init__(epsilon=epsilon, lower=-1, upper=1, missing=_check_sign(missing), steps=1, symbols=2)
        self._scores = np.array([-1 / contrast, 1 / contrast])

    def parameters(self) -> dict[str, Json]:
        """The threshold of the coin that keeps the sign."""
        return {
            "protocol": self.protocol,
            "epsilon": str(self.epsilon),
            "missing": int(self.missing),
            "thresholds": [str(self.sets.keep)],
        }

    def codes(self, values: Sequence[Any] | NDArray[Any]) -> Codes:
        """0 for -1 and 1 for +1; anything else counts as ``missing``."""
        array = integer_column(values)
        return np.where((array == 1) | (array == -1), array == 1, self.missing == 1).astype(np.int64)

    def word_cuts(self, code: int) -> list[list[int]]:
        """For each word, where the report may change."""
        return [[self.sets.keep]]

    def _spread(self, value: float) -> float:
        return float(self._scores[1]) ** 2 - value * value

    def _code(self, value: Any) -> int:
        if type(value) is int:
            return int((value if value in (1, -1) else self.missing) == 1)
        return int(self.codes([value])[0])

    def _report(self, code: Number, words: Sequence[Word]) -> Number:
        return self.sets.flip(code, words[0])


def _check_sign(missing: Real) -> int:
    sign = exact(missing, name="missing")
    if sign not in (1, -1):
        raise OutOfRange(
            f"missing must be +1 or -1 and is {shown(sign)}.",
            why="What counts as missing is reported as one of the two signs.",
            fix="Give a public default.",
        )
    return int(sign)
