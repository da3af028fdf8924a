"""Heavy hitters without a known domain: frequent strings by growing prefixes, round by round (PEM, TreeHist)."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub import noise
from hubbub.local.estimates import FrequencyEstimate, normal_quantile
from hubbub.local.randomizers.base import local_step, no_reports
from hubbub.local.randomizers.common.exact_words import Codes, integer_below
from hubbub.local.randomizers.common.values import report_array
from hubbub.local.randomizers.local_hashing import LocalHashing
from hubbub.noise import SECURE
from hubbub.render import Document, Figure, Json, Section, TextTable, short
from hubbub.render.charts import Bar, bar_chart, percentage
from hubbub.terms import BadReport, OutOfRange, Real, Step, TooLarge, WrongShape, fraction_of, refuse_masked, whole

LETTERS = "abcdefghijklmnopqrstuvwxyz"
_END = "\0"  # fills a string up to the full length
_NAMES = 1 << 24  # prefixes are known by 24 bits of a digest
_MOST_CANDIDATES = 1 << 17
_MOST_LENGTH = 64


@dataclass(frozen=True, slots=True, eq=False)
class FrequentStrings(Document):
    """The strings that were found, with their shares.

    ``candidates`` is how many strings were looked at in the last round: intervals hold for all of them at once.
    ``variances`` are for the shares among all who reported: the noise, and that each string is counted among the people
    of the last round alone. ``null_variance`` is the variance for a string that nobody has.
    """

    strings: tuple[str, ...]
    values: NDArray[np.float64]
    variances: NDArray[np.float64]
    null_variance: float
    count: int
    candidates: int
    rounds: int
    epsilon: Fraction

    @property
    def shares(self) -> dict[str, float]:
        """The estimated share of each string, the largest first."""
        return dict(zip(self.strings, self.values.tolist(), strict=True))

    def intervals(self, confidence: Real = 0.95) -> NDArray[np.float64]:
        """Rows (low, high): all strings that were looked at lie within theirs at once, with that confidence."""
        reach = normal_quantile(confidence, self.candidates) * np.sqrt(self.variances)
        return np.stack([self.values - reach, self.values + reach], axis=1)

    def detection_limit(self, confidence: Real = 0.95) -> float:
        """The share from which a string is found with that confidence; rarer ones may be missed."""
        return detection_limit(self.null_variance, self.candidates, self.rounds, confidence)

    @property
    def title(self) -> str:
        """What is told."""
        return f"Frequent strings of {self.count:,} people"

    def sections(self) -> tuple[Section, ...]:
        """The report, part by part."""
        limit = self.detection_limit()
        words = (
            f"{len(self.strings)} strings were found among {self.count:,} people; nobody listed them beforehand. Each "
            f"person sent one report about one prefix, protected at home with epsilon = {short(self.epsilon)}.",
            f"A string that {100 * limit:.2g}% of the people have is found 95 times out of 100. Rarer ones may be "
            "missing. That a listed one is there by chance alone happens in fewer than 1 of 20 collections.",
        )
        ends = self.intervals()
        rows = tuple(
            (string, f"{100 * share:.2f}%", f"{100 * low:.2f}% to {100 * high:.2f}%")
            for (string, share), (low, high) in zip(self.shares.items(), ends, strict=True)
        )
        if not rows:
            return (Section("What was found", words),)
        bars = [
            Bar(string, share, float(low), float(high))
            for (string, share), (low, high) in zip(self.shares.items(), ends, strict=True)
        ]
        svg = bar_chart(
            bars, title=self.title, description="Shares with intervals.", label="share of the people", show=percentage
        )
        table = TextTable(("string", "share", "95% interval, all at once"), rows)
        return (Section("What was found", words, table, Figure("strings", svg, "Shares with 95% intervals.")),)

    def to_json(self) -> dict[str, Json]:
        """The numbers as one JSON document."""
        return {
            "kind": "frequent-strings",
            "count": self.count,
            "epsilon": float(self.epsilon),
            "detection_limit_95": self.detection_limit(),
            "strings": [
                {"string": string, "share": share, "interval_95": ends.tolist()}
                for (string, share), ends in zip(self.shares.items(), self.intervals(), strict=True)
            ],
        }


class HeavyHitters:
    """Find the strings over ``alphabet``, of at most ``length`` characters, that many people have.

    Each person is given one round by chance and reports the prefix of that round's length, by local hashing of its
    digest. The collector extends prefixes by ``step`` characters from round to round: all that are above chance, and
    the best of the rest up to ``keep``.

    Guarantee: epsilon-LDP for the string of one person.
    Because: [WLJ21], [WBLJ17]: one report by an epsilon-LDP randomizer, in a round that has nothing to do with the
    string.
    Error: shares are unbiased for the strings that are looked at, but for digests that collide (one in 2^24 for each
    pair); ``detection_limit`` says which strings are found.
    Not covered: that somebody reported. A string with other characters counts as the empty one; longer ones are cut.

    >>> from hubbub.noise.testing import seeded
    >>> words = HeavyHitters(epsilon=4, alphabet="abc", length=4)
    >>> told = words.randomize(["abba"] * 6000 + ["cab"] * 4000, rng=seeded(7))
    >>> sorted(words.estimate(told).strings)
    ['abba', 'cab']
    """

    def __init__(
        self,
        *,
        epsilon: Real,
        alphabet: str = LETTERS,
        length: int = 8,
        step: int = 1,
        keep: int = 60,
    ) -> None:
        self.alphabet = _check_alphabet(alphabet)
        self.length = whole(length, name="length")
        self.step = min(self.length, whole(step, name="step"))
        self.keep = whole(keep, name="keep")
        if self.keep * (len(alphabet) + 1) ** self.step > _MOST_CANDIDATES or self.length > _MOST_LENGTH:
            raise TooLarge(
                f"there would be more than {_MOST_CANDIDATES:,} candidates, or over {_MOST_LENGTH} characters.",
                why="Every kept prefix is extended by every combination of step characters.",
                fix="Use a smaller step, alphabet or keep.",
            )
        self.randomizer = LocalHashing(epsilon=epsilon, domain=_NAMES)
        self.event: Step = local_step("heavy-hitters", self.randomizer.epsilon)

    @property
    def rounds(self) -> int:
        """How many lengths of prefixes there are."""
        return -(-self.length // self.step)

    def randomize(self, strings: Sequence[Any], *, rng: noise.RandomSource | None = None) -> NDArray[np.int64]:
        """The report of each person: rows (round, report)."""
        source = SECURE if rng is None else rng
        full = [self._full(string) for string in _flat_list(strings)]
        rounds = integer_below(source.random_words(len(full)), self.rounds)
        names = self._names(text[: self._size(turn)] for text, turn in zip(full, rounds.tolist(), strict=True))
        reports = np.asarray(self.randomizer.randomize(names, rng=source)) if full else names
        return np.stack([rounds, reports], axis=1)

    def estimate(self, reports: ArrayLike) -> FrequentStrings:
        """The frequent strings, from the reports of many people."""
        parts = self._split(reports)
        kept = [""]
        for turn, part in enumerate(parts):
            candidates = self._extended(kept, self._size(turn))
            estimate = self.randomizer.estimate(part, self._names(candidates))
            kept = self._kept(candidates, estimate)
        return self._above_chance(candidates, estimate, sum(map(len, parts)))

    def detection_limit(self, count: int, confidence: Real = 0.95) -> float:
        """The share from which a string is found with that confidence, if ``count`` people report."""
        variance = self.randomizer.variance(count=max(1, whole(count, name="count") // self.rounds))
        return detection_limit(variance, self.keep * (len(self.alphabet) + 1) ** self.step, self.rounds, confidence)

    def _kept(self, candidates: list[str], estimate: FrequencyEstimate) -> list[str]:
        """All prefixes that are above chance, and the best of the rest up to ``keep``; one at least."""
        order = np.argsort(-estimate.values, kind="stable")
        sure = int(np.sum(estimate.values > _chance_threshold(estimate.null_variance, len(candidates))))
        likely = int(np.sum(estimate.values > 0))
        return [candidates[i] for i in order[: max(1, sure, min(self.keep, likely))][: self._most_kept]]

    @property
    def _most_kept(self) -> int:
        return int(_MOST_CANDIDATES // (len(self.alphabet) + 1) ** self.step)

    def _above_chance(self, candidates: list[str], estimate: FrequencyEstimate, count: int) -> FrequentStrings:
        limit = _chance_threshold(estimate.null_variance, len(candidates))
        best = [int(i) for i in np.argsort(-estimate.values, kind="stable") if estimate.values[i] > limit]
        return FrequentStrings(
            strings=tuple(candidates[i].rstrip(_END) for i in best),
            values=estimate.values[best],
            variances=self._variances(estimate, count)[best],
            null_variance=estimate.null_variance,
            count=count,
            candidates=len(candidates),
            rounds=self.rounds,
            epsilon=self.randomizer.epsilon,
        )

    def _variances(self, estimate: FrequencyEstimate, count: int) -> NDArray[np.float64]:
        """Of the shares among all people: the noise, and that those of the last round are a sample of them."""
        likely = np.clip(estimate.values, 0, 1)
        return np.asarray(estimate.variances + likely * (1 - likely) * (1 / estimate.count - 1 / count))

    def _full(self, string: object) -> str:
        known = string if isinstance(string, str) and set(string) <= set(self.alphabet) else ""
        return known[: self.length].ljust(self.length, _END)

    def _size(self, turn: int) -> int:
        return min(self.length, (turn + 1) * self.step)

    def _names(self, prefixes: Iterable[str]) -> Codes:
        """The digest of each prefix with its length: what is hashed, and the same at every client."""
        texts = [f"{len(prefix)}:{prefix}".encode() for prefix in prefixes]
        return np.array([int.from_bytes(hashlib.sha256(text).digest()[:3], "little") for text in texts], dtype=np.int64)

    def _extended(self, prefixes: list[str], size: int) -> list[str]:
        """All prefixes of the next length that begin with one of these; an ended string only stays as it is."""
        more = size - len(prefixes[0]) if prefixes else 0
        ended = _END * more
        tails = [tail for length in range(more + 1) for tail in self._tails(length, more)]
        return [prefix + tail for prefix in prefixes for tail in ([ended] if prefix.endswith(_END) else tails)]

    def _tails(self, length: int, size: int) -> Iterable[str]:
        return ("".join(letters).ljust(size, _END) for letters in product(self.alphabet, repeat=length))

    def _split(self, reports: ArrayLike) -> list[Codes]:
        rows = report_array(reports)
        if rows.ndim != 2 or rows.shape[1] != 2 or rows.dtype.kind not in "iu":
            raise BadReport(
                "these are no reports about prefixes.",
                why="Rows of two integers were expected: the round, and the report there.",
                fix="Give what randomize() returned.",
            )
        parts = [rows[rows[:, 0] == turn, 1] for turn in range(self.rounds)]
        if any(not len(part) for part in parts) or sum(map(len, parts)) != len(rows):
            raise no_reports()
        return parts


def _flat_list(strings: Any) -> list[Any]:
    """A flat list, one entry for each person; refused by its type alone."""
    refuse_masked(strings, name="strings")
    if isinstance(strings, str | bytes) or (
        not isinstance(strings, Sequence | np.ndarray) and not hasattr(strings, "dtype")
    ):
        raise WrongShape(
            f"a list of strings was expected and a {type(strings).__name__} came.",
            why="Each entry is what one person holds.",
            fix="Give a list, also for one person.",
        )
    return list(strings)


def detection_limit(variance: float, candidates: int, rounds: int, confidence: Real) -> float:
    """The share that exceeds the threshold of the last round, and survives the others, with that confidence."""
    level = float(fraction_of(confidence, name="confidence"))
    return _chance_threshold(variance, candidates) + NormalDist().inv_cdf(level ** (1 / rounds)) * math.sqrt(variance)


def _chance_threshold(variance: float, candidates: int) -> float:
    """What none of so many strings that nobody has exceeds, 19 times out of 20."""
    return NormalDist().inv_cdf(1 - 0.05 / candidates) * math.sqrt(variance)


def _check_alphabet(alphabet: str) -> str:
    if not alphabet or len(set(alphabet)) != len(alphabet) or _END in alphabet:
        raise OutOfRange(
            "alphabet must have each character once.",
            why="Prefixes grow by one character of the alphabet at a time.",
            fix="Give a string of different characters.",
        )
    return alphabet
