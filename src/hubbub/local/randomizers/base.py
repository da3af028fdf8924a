"""What every randomizer is: a fixed function of one person's value and of random words, and its way back.

The way of a value: ``codes`` (a public, total map to integers) -> ``respond`` (with random words) -> a report ->
``pack`` (bytes) ~> ``unpack`` -> ``accumulate`` (integers that add up) -> ``decode`` (an estimate with its error).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub import noise
from hubbub.local.estimates import Estimate, FrequencyEstimate
from hubbub.local.randomizers.common.exact_words import Codes, Words, bytes_for, from_bytes, to_bytes
from hubbub.local.randomizers.common.values import (
    Values,
    code_of,
    domain_codes,
    domain_of,
    epsilon_of,
    report_array,
    whole_reports,
)
from hubbub.noise import SECURE
from hubbub.render import Json
from hubbub.terms import (
    BadCollection,
    BadReport,
    EmptyInput,
    HubbubError,
    Neighbours,
    NotAuditable,
    PureStep,
    Real,
    Step,
    Unit,
    WrongShape,
    fraction_of,
    parse,
    plain_array,
    whole,
)

_CHUNK = 1 << 22  # random words held at a time
Reports = NDArray[Any]

_PROTOCOLS: dict[str, type[Randomizer]] = {}


class Randomizer(ABC):
    """One person's value goes in, a report that protects it comes out.

    Guarantee: each report is epsilon-LDP for the value of one person, against whoever sees it: for the exact
    probabilities with which words are turned into reports, no two values differ by more than e^epsilon.
    Because: [KLNRS11]; ``docs/proofs/local.md`` has the distribution of every randomizer and its thresholds.
    Not covered: that somebody reported at all, and when; running time; a person who reports twice pays twice.
    """

    protocol: ClassVar[str]
    _worked_out: ClassVar[frozenset[str]] = frozenset()  # parameters that follow from others, told for other languages
    _arguments: ClassVar[Mapping[str, str]] = {}  # the constructor's name of a parameter, where it has another
    epsilon: Fraction
    event: Step
    words: int  # random words per report
    symbols: int | None  # reports are the integers below this, and the state counts each of them; None: another form
    state_size: int
    payload_bytes: int

    def __init_subclass__(cls) -> None:
        if protocol := cls.__dict__.get("protocol"):
            _PROTOCOLS[protocol] = cls

    @abstractmethod
    def parameters(self) -> dict[str, Json]:
        """Everything that determines the distribution of a report; ``from_parameters`` reads it.

        Its keys are signed with a collection, and the key of permanent noise is made of them: with another key a client
        would draw a second answer, which is a second charge. So none is ever renamed, whatever an attribute is called.
        """

    @abstractmethod
    def codes(self, values: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
        """What people hold as integers: a public map that never fails because of a value."""

    @abstractmethod
    def respond(self, values: Sequence[Any] | NDArray[Any], words: Words) -> Reports:
        """The reports that these values and these words lead to: one row of ``words`` for each person."""

    @abstractmethod
    def decode(self, state: NDArray[np.int64], *, count: int) -> Estimate:
        """The estimate from the added-up states of ``count`` reports."""

    @abstractmethod
    def variance(self, *, count: int, frequency: float = 0.0) -> float:
        """The variance of one estimate from ``count`` reports, in closed form."""

    @abstractmethod
    def influence(self, share: float) -> float:
        """The most that this share of fake clients can move one estimate, whatever they send."""

    def check(self) -> None:  # noqa: B027 - most have nothing to check
        """Refuse what nobody could estimate from; it may take long, and is done once, before people are asked."""

    def word_cuts(self, code: int) -> list[list[int]]:
        """For each word, the cut points between which it leads to the same report for this code.

        With it ``exact_distribution`` works out the probability of every report.
        """
        raise NotAuditable(
            f"{self.protocol} has no finite distribution that could be written down.",
            why="Its noise is drawn exactly, by a sampler that takes as many random words as it needs.",
            fix="Use its event, or audit it as a black box.",
        )

    def randomize(self, values: Values, *, rng: noise.RandomSource | None = None) -> Any:
        """The report of one person, or of each person in an array."""
        source = SECURE if rng is None else rng
        if isinstance(values, int | float | np.integer | np.floating):
            return self._respond_one(values, source.random_words(self.words).tolist())
        codes = self.codes(values)
        return self._joined([self._respond(part, self._words_for(part, source)) for part in self._parts(codes)])

    def estimate(self, reports: ArrayLike) -> Estimate:
        """The estimate from the reports of many people."""
        array = self._reports(reports)
        return self.decode(self.accumulate(array), count=len(array))

    def accumulate(self, reports: ArrayLike) -> NDArray[np.int64]:
        """Reports as a vector of integers that add up: the state of many is the sum of the states of parts."""
        assert self.symbols is not None
        return np.bincount(self._reports(reports), minlength=self.symbols).astype(np.int64, copy=False)

    def pack(self, reports: ArrayLike) -> NDArray[np.uint8]:
        """Reports as rows of ``payload_bytes`` bytes."""
        return to_bytes(np.atleast_1d(whole_reports(reports)), self.payload_bytes)

    def unpack(self, payload: NDArray[np.uint8]) -> Reports:
        """Rows of bytes as reports; refused if one of them is no report of this randomizer."""
        if not self.valid(payload).all():
            raise BadReport(
                f"a payload is no report of {self.protocol}.",
                why="Its number lies outside what this randomizer can send.",
                fix="Send reports made with this collection's parameters.",
                reason="domain",
            )
        return self._unpack(payload)

    def valid(self, payload: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Which rows of bytes are reports that this randomizer can send."""
        assert self.symbols is not None
        return from_bytes(self._rows(payload)) < self.symbols

    def to_json(self) -> dict[str, Json]:
        """The parameters."""
        return self.parameters()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Randomizer) and self.parameters() == other.parameters()

    def __hash__(self) -> int:
        return hash((self.protocol, self.epsilon))

    def __repr__(self) -> str:
        arguments = {name: value for name, value in self.parameters().items() if name not in {"protocol", "thresholds"}}
        shown = (f"{self._arguments.get(name, name)}={value}" for name, value in arguments.items())
        return f"{type(self).__name__}({', '.join(shown)})"

    # for the randomizers

    @classmethod
    def _read(cls, parameters: Mapping[str, Any]) -> Self:
        """The randomizer with these parameters: what is written as text is a rational."""
        known = {"protocol", "thresholds", *cls._worked_out}
        wanted = {name: value for name, value in parameters.items() if name not in known}
        given = {cls._arguments.get(name, name): value for name, value in wanted.items()}
        return cls(**{name: parse(value) if isinstance(value, str) else value for name, value in given.items()})

    @abstractmethod
    def _respond(self, codes: NDArray[Any], words: Words) -> Reports:
        """``respond`` for codes."""

    def _respond_one(self, value: Any, words: list[int]) -> Any:
        """One report, as an int where reports are integers."""
        report = self._respond(self.codes([value]), np.array([words], dtype=np.uint64))[0]
        return int(report) if np.ndim(report) == 0 else report

    def _code(self, value: Any) -> int:
        """One value as a code."""
        return int(self.codes([value])[0])

    def _unpack(self, payload: NDArray[np.uint8]) -> Reports:
        return from_bytes(payload)

    def _reports(self, reports: ArrayLike) -> Reports:
        """Reports as integers, refused if one of them cannot be: reports are public."""
        codes = np.atleast_1d(report_array(reports))
        assert self.symbols is not None
        if not codes.size:
            raise no_reports()
        if codes.dtype.kind not in "iu" or codes.ndim != 1 or codes.min() < 0 or codes.max() >= self.symbols:
            raise BadReport(
                f"a report lies outside 0, ..., {self.symbols - 1}.",
                why=f"Reports of {self.protocol} are integers in this range.",
                fix="Estimate with the randomizer that made the reports.",
                reason="domain",
            )
        return codes

    def _rows(self, payload: NDArray[np.uint8]) -> NDArray[np.uint8]:
        if payload.ndim != 2 or payload.shape[1] != self.payload_bytes or payload.dtype != np.uint8:
            raise BadReport(
                f"a payload of {self.protocol} has {self.payload_bytes} bytes.",
                why="Every report of a collection has the same length, whatever it says.",
                fix="Send reports made with this collection's parameters.",
                reason="malformed",
            )
        return payload

    def _parts(self, codes: NDArray[Any]) -> Iterator[NDArray[Any]]:
        rows = max(1, _CHUNK // max(1, self.words))
        for start in range(0, max(1, len(codes)), rows):
            yield codes[start : start + rows]

    def _words_for(self, codes: NDArray[Any], source: noise.RandomSource) -> Words:
        return source.random_words(len(codes) * self.words).reshape(len(codes), self.words)

    def _joined(self, parts: list[Reports]) -> Reports:
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _checked_words(self, codes: NDArray[Any], words: Words) -> Words:
        plain = isinstance(words, np.ndarray) and not isinstance(words, np.ma.MaskedArray)
        if not plain or words.shape != (len(codes), self.words) or words.dtype != np.uint64:
            raise WrongShape(
                f"{self.protocol} needs {self.words} words of 64 bits for each value.",
                why="A report is a fixed function of a value and of its own words.",
                fix="Give an array of uint64 with one row for each value.",
            )
        return words.view(np.ndarray)


class FrequencyRandomizer(Randomizer):
    """A randomizer for one of ``domain`` values whose reports *support* values.

    A report supports its own value with probability ``p`` and any other with probability ``q``; the share of a value
    is (supporting reports / all reports - q) / (p - q), which is unbiased.
    """

    domain: int
    missing: int
    p: float
    q: float

    def __init__(self, *, epsilon: Real, domain: int, missing: int = 0) -> None:
        self.epsilon = epsilon_of(epsilon)
        self.domain = domain_of(domain)
        self.missing = code_of(missing, self.domain)
        self.event = local_step(self.protocol, self.epsilon)

    @abstractmethod
    def support(self, state: NDArray[np.int64], *, count: int) -> NDArray[np.float64]:
        """How many of ``count`` reports support each value."""

    def codes(self, values: Sequence[Any] | NDArray[Any]) -> Codes:
        """Codes as they are; anything outside the domain counts as ``missing``."""
        return domain_codes(values, domain=self.domain, missing=self.missing)

    def respond(self, values: Sequence[Any] | NDArray[Any], words: Words) -> Reports:
        """The reports that these values and these words lead to."""
        codes = self.codes(values)
        return self._respond(codes, self._checked_words(codes, words))

    def decode(self, state: NDArray[np.int64], *, count: int) -> FrequencyEstimate:
        """Unbiased shares of all values (some may fall outside [0, 1]), with their variances."""
        people = report_count(count)
        return self._frequencies(self.support(checked_state(state, self.state_size), count=people), people)

    @property
    def contrast(self) -> float:
        """How much likelier a report supports a value if it is the true one (as a difference)."""
        return self.p - self.q

    def variance(self, *, count: int, frequency: float = 0.0) -> float:
        """The variance of the estimated share of a value that this share of the reporting people has.

        [WBLJ17]: (f p (1 - p) + (1 - f) q (1 - q)) / (n (p - q)^2).
        """
        share = float(fraction_of(frequency, name="frequency", zero=True, one=True))
        return float(self._variances(np.array([share]), whole(count, name="count"))[0])

    def influence(self, share: float) -> float:
        """The most that this share of fake clients can move one estimated share, whatever they send [CSU21].

        A fake report that supports the target adds (1 - q) / (p - q) where an honest one adds between 0 and 1 on
        average; one that does not support it takes q / (p - q).
        """
        fakes = float(fraction_of(share, name="share", zero=True, one=True))
        return fakes * max(1 - self.q, self.p) / self.contrast

    def _frequencies(self, support: NDArray[np.float64], count: int) -> FrequencyEstimate:
        shares = (support / count - self.q) / self.contrast
        return FrequencyEstimate(
            values=shares,
            variances=self._variances(shares, count),
            count=count,
            null_variance=self.variance(count=count),
            influence=self.influence(1.0),
            epsilon=self.epsilon,
            protocol=self.protocol,
        )

    def _variances(self, shares: NDArray[np.float64], count: int) -> NDArray[np.float64]:
        likely = np.clip(shares, 0, 1)
        spread = likely * self.p * (1 - self.p) + (1 - likely) * self.q * (1 - self.q)
        return spread / (count * self.contrast**2)

    def _base_parameters(self, thresholds: Sequence[int]) -> dict[str, Json]:
        return {
            "protocol": self.protocol,
            "epsilon": str(self.epsilon),
            "domain": self.domain,
            "missing": self.missing,
            "thresholds": [str(t) for t in thresholds],
        }

    def _code(self, value: Any) -> int:
        """One value as a code, without numpy where it is a plain int."""
        if type(value) is int:
            return value if 0 <= value < self.domain else self.missing
        return int(self.codes([value])[0])


def from_parameters(parameters: Mapping[str, Any]) -> Randomizer:
    """The randomizer that ``parameters()`` describes; refused unless its distribution is exactly the one described.

    >>> from hubbub.local import KaryResponse
    >>> from_parameters(KaryResponse(epsilon=1, domain=10).parameters())
    KaryResponse(epsilon=1, domain=10, missing=0)
    """
    kind = _PROTOCOLS.get(str(parameters.get("protocol")))
    if kind is None:
        raise _unreadable_parameters("its protocol is not one of " + ", ".join(sorted(_PROTOCOLS)))
    try:
        randomizer = kind._read(parameters)
    except (HubbubError, TypeError, ValueError, KeyError) as problem:
        raise _unreadable_parameters(
            problem.what if isinstance(problem, HubbubError) else "parameters are missing"
        ) from None
    own = randomizer.parameters()
    if {name: own[name] for name in own if name in parameters or name not in kind._worked_out} != dict(parameters):
        raise _unreadable_parameters("its thresholds are not those of its epsilon")
    return randomizer


def _unreadable_parameters(problem: str) -> BadCollection:
    return BadCollection(
        f"a randomizer could not be made from its parameters: {problem}.",
        why="Client and collector must use the same distribution to the last bit.",
        fix="Give what parameters() of the randomizer says, unchanged.",
    )


def local_step(protocol: str, epsilon: Fraction) -> PureStep:
    """The event that one report leaves behind."""
    return PureStep(mechanism=f"local-{protocol}", epsilon=epsilon, neighbours=Neighbours.REPLACE, unit=Unit())


def symbol_bytes(symbols: int) -> int:
    """The payload of a report that is an integer below ``symbols``."""
    return bytes_for(symbols)


def report_count(count: int) -> int:
    """How many reports there are; none is refused."""
    number = whole(count, name="count", least=0)
    if number == 0:
        raise no_reports()
    return number


def checked_state(state: ArrayLike, size: int) -> NDArray[np.int64]:
    """A state of the declared length."""
    array = plain_array(state, name="a state")
    if array.shape != (size,) or array.dtype.kind not in "iuO":
        raise _no_state(size)
    try:
        return array.astype(np.int64, copy=False)
    except (OverflowError, TypeError, ValueError):
        raise _no_state(size) from None


def _no_state(size: int) -> WrongShape:
    return WrongShape(
        f"a state of {size} whole numbers was expected.",
        why="The state of a randomizer has one fixed length.",
        fix="Decode with the randomizer that made the reports.",
    )


def no_reports() -> EmptyInput:
    """The refusal to estimate from nothing."""
    return EmptyInput(
        "there are no reports to estimate from.",
        why="A share of nobody is undefined.",
        fix="Collect reports first.",
    )
