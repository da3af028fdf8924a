"""The broken sparse-vector variants that [LSL17] collects from the literature, with its numbers.

Each says which answers lie above a threshold of 0 and claims epsilon = 1. For auditing only; nobody is protected.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hubbub.audit.zoo._exhibit import Exhibit
from hubbub.audit.zoo._noise import laplace

_STOPPED = -1  # in the place of questions that were no longer answered


@dataclass(frozen=True, slots=True)
class SparseVector:
    """Compare each answer with one noisy threshold; stop after ``count`` that lie above (None: never).

    An outcome is a row of 1 (above), 0 (below) and -1 (not answered any more). With ``values`` it is the place of the
    first answer above and its noisy value.
    """

    threshold_scale: float
    answer_scale: float
    count: int | None
    values: bool = False

    def __call__(self, answers: Any, size: int) -> Any:
        """``size`` independent runs."""
        noisy = np.broadcast_to(np.asarray(answers, dtype=np.float64), (size, len(answers)))
        if self.answer_scale:
            noisy = noisy + laplace(self.answer_scale, (size, len(answers)))
        above = noisy >= laplace(self.threshold_scale, (size, 1))
        return self._first(noisy, above) if self.values else self._row(above)

    def _row(self, above: Any) -> Any:
        answers = above.astype(np.int64)
        if self.count is not None:
            before = np.cumsum(answers, axis=1) - answers
            answers[before >= self.count] = _STOPPED
        return answers

    @staticmethod
    def _first(noisy: Any, above: Any) -> Any:
        place = np.where(above.any(axis=1), above.argmax(axis=1), above.shape[1])
        seen = np.take_along_axis(noisy, np.minimum(place, above.shape[1] - 1)[:, None], axis=1)[:, 0]
        return np.stack([place, np.where(place < above.shape[1], seen, 0.0)], axis=1)


def repaired(count: int) -> SparseVector:
    """[LSL17, Alg. 1] at epsilon = 1: half for the threshold, half for answers, whose noise grows with ``count``."""
    return SparseVector(threshold_scale=2.0, answer_scale=4.0 * count, count=count)


def exhibits() -> tuple[Exhibit, ...]:
    """All of this family."""
    return (
        Exhibit(
            name="sparse vector that releases the answer",
            story="The noisy answer that was compared is released. It tells that the threshold lies below it, so every "
            "earlier answer is charged for after all.",
            source="LSL17",
            broken=SparseVector(threshold_scale=2.0, answer_scale=2.0, count=1, values=True),
            fixed=repaired(1),
            a=(*(0,) * 12, 1),
            b=(*(1,) * 12, 0),
            claim=1.0,
            true=math.inf,
        ),
        Exhibit(
            name="sparse vector with noise that does not grow with c",
            story="Five answers may lie above, and the noise is for one.",
            source="LSL17",
            broken=SparseVector(threshold_scale=4.0, answer_scale=4 / 3, count=5),
            fixed=repaired(5),
            a=(*(0,) * 5, *(0,) * 5),
            b=(*(1,) * 5, *(-1,) * 5),
            claim=1.0,
            true=(1 + 6 * 5) / 4,
        ),
        Exhibit(
            name="sparse vector without noise on the answers",
            story="Only the threshold is noisy, so answers are put into their exact order.",
            source="LSL17",
            broken=SparseVector(threshold_scale=2.0, answer_scale=0.0, count=None),
            fixed=repaired(10),
            a=(*(0,) * 5, *(1,) * 5),
            b=(*(1,) * 5, *(0,) * 5),
            claim=1.0,
            true=math.inf,
        ),
        Exhibit(
            name="sparse vector with unlimited positives",
            story="It never stops, whatever the number of answers above.",
            source="LSL17",
            broken=SparseVector(threshold_scale=2.0, answer_scale=2.0, count=None),
            fixed=repaired(10),
            a=(*(0,) * 5, *(0,) * 5),
            b=(*(1,) * 5, *(-1,) * 5),
            claim=1.0,
            true=math.inf,
        ),
    )
