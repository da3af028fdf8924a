"""Events: immutable data saying what was done. What they cost is worked out in ``accounting``.

    Event
    ├── steps, each with the unit and the neighbours for which its sensitivity holds
    │   ├── LaplaceNoise        discrete Laplace noise on a grid          (scale, L1 sensitivity)
    │   ├── GaussianNoise       discrete Gaussian noise on a grid         (sigma, L2 sensitivity)
    │   ├── GaussianKeys        keys above a threshold under such noise   (sigma, L2 sensitivity, own delta)
    │   ├── ExponentialChoice   the exponential mechanism                 (epsilon; bounded range)
    │   ├── PureStep            anything that is epsilon-DP               (epsilon)
    │   ├── ApproximateStep     anything that is (epsilon, delta)-DP      (epsilon, delta)
    │   └── ConcentratedStep    anything that is delta-approximately rho-zCDP (rho, delta)
    └── compositions
        ├── Compose             one after the other on the same data
        ├── Repeat              the same event so many times
        ├── Parallel            on disjoint parts of the data
        ├── Poisson             on a sample that takes each unit independently
        └── WithoutReplacement  on a sample of fixed size

Events are kept for ever: a field is never renamed, and never changes its meaning. A new need is a new
kind or a new optional field, and a fixture of each form ever written stays in the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import ClassVar

from hubbub.terms.errors import EmptyInput, OutOfRange, TooLarge, WrongShape
from hubbub.terms.names import plain_text
from hubbub.terms.numbers import fraction_of, positive, shown, whole
from hubbub.terms.units import Neighbours, Unit, unit_of

_FARTHEST = 10**300  # what is worked out of these numbers are doubles
_DEEPEST = 100  # compositions within each other


def _size_of(value: object, *, name: str) -> Fraction:
    """A size that costs can be worked out from."""
    number = positive(value, name=name)
    if not Fraction(1, _FARTHEST) <= number <= _FARTHEST:
        raise OutOfRange(
            f"{name} must lie between 1e-300 and 1e300 and is {shown(number)}.",
            why="Costs are worked out in doubles, which hold no such number.",
            fix="Measure in a larger or smaller unit.",
        )
    return number


@dataclass(frozen=True, slots=True)
class Event:
    """What was done to private data, as a value."""

    kind: ClassVar[str] = ""

    def steps(self) -> Iterator[Step]:
        """Every step inside, each once, however often it is repeated."""
        raise AssertionError("every event says what its steps are")  # pragma: no cover


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(Event):
    """One mechanism, run once."""

    mechanism: str
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    unit: Unit = field(default_factory=Unit)

    def steps(self) -> Iterator[Step]:
        yield self

    def _normalize(self, read: Callable[..., object], *names: str) -> None:
        """Put fields into the types that they are stored and read back in, with the words that every step has."""
        put = object.__setattr__
        for name in names:
            put(self, name, read(getattr(self, name), name=name))
        put(self, "mechanism", plain_text(self.mechanism, name="mechanism", longest=200))
        put(self, "neighbours", Neighbours.parse(self.neighbours))
        put(self, "unit", unit_of(self.unit))


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceNoise(Step):
    """Discrete Laplace noise with mass proportional to exp(-|x| / scale) on the multiples of ``grid``.

    ``sensitivity`` is in L1, over all ``dimension`` coordinates together, after rounding to the grid.
    """

    kind: ClassVar[str] = "laplace"
    scale: Fraction
    sensitivity: Fraction
    grid: Fraction
    dimension: int = 1
    mechanism: str = "laplace"

    def __post_init__(self) -> None:
        self._normalize(_size_of, "scale", "sensitivity", "grid")
        self._normalize(whole, "dimension")

    @property
    def epsilon(self) -> Fraction:
        """The pure cost for the event's own neighbours."""
        return self.sensitivity / self.scale


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianNoise(Step):
    """Discrete Gaussian noise with mass proportional to exp(-x^2 / (2 sigma^2)) on the multiples of ``grid``.

    ``sensitivity`` is in L2, over all ``dimension`` coordinates together, after rounding to the grid.
    """

    kind: ClassVar[str] = "gaussian"
    sigma: Fraction
    sensitivity: Fraction
    grid: Fraction
    dimension: int = 1
    mechanism: str = "gaussian"

    def __post_init__(self) -> None:
        self._normalize(_size_of, "sigma", "sensitivity", "grid")
        self._normalize(whole, "dimension")

    @property
    def rho(self) -> Fraction:
        """The zCDP cost for the event's own neighbours."""
        return (self.sensitivity / self.sigma) ** 2 / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianKeys(Step):
    """Keys named where a sum with discrete Gaussian noise reaches a threshold, and that noisy sum.

    On the keys that both data sets have this is ``GaussianNoise`` of the same fields. ``own`` bounds the chance that
    any key of one unit alone is named.
    """

    kind: ClassVar[str] = "gaussian-keys"
    sigma: Fraction
    sensitivity: Fraction
    grid: Fraction
    own: Fraction
    dimension: int = 1
    mechanism: str = "gaussian-keys"

    def __post_init__(self) -> None:
        self._normalize(_size_of, "sigma", "sensitivity", "grid")
        self._normalize(fraction_of, "own")
        self._normalize(whole, "dimension")

    @property
    def noise(self) -> GaussianNoise:
        """The same without the keys of one unit alone."""
        return GaussianNoise(
            sigma=self.sigma,
            sensitivity=self.sensitivity,
            grid=self.grid,
            dimension=self.dimension,
            mechanism=self.mechanism,
            neighbours=self.neighbours,
            unit=self.unit,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialChoice(Step):
    """A choice by the exponential mechanism: epsilon-DP and of range epsilon, hence epsilon^2/8-zCDP."""

    kind: ClassVar[str] = "exponential"
    epsilon: Fraction
    mechanism: str = "exponential"

    def __post_init__(self) -> None:
        self._normalize(_size_of, "epsilon")


@dataclass(frozen=True, slots=True, kw_only=True)
class PureStep(Step):
    """Anything that is epsilon-DP and about which no more is known; ``mechanism`` names it."""

    kind: ClassVar[str] = "pure"
    epsilon: Fraction

    def __post_init__(self) -> None:
        self._normalize(_size_of, "epsilon")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproximateStep(Step):
    """Anything that is (epsilon, delta)-DP and about which no more is known."""

    kind: ClassVar[str] = "approximate"
    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        self._normalize(_size_of, "epsilon")
        self._normalize(fraction_of, "delta")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcentratedStep(Step):
    """Anything that is delta-approximately rho-zCDP and about which no more is known."""

    kind: ClassVar[str] = "concentrated"
    rho: Fraction
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        self._normalize(_size_of, "rho")
        self._normalize(partial(fraction_of, zero=True), "delta")


@dataclass(frozen=True, slots=True)
class Several(Event):
    """Events put together; the classes below say how."""

    events: tuple[Event, ...]

    def __post_init__(self) -> None:
        if not self.events:
            raise EmptyInput(
                "a composition needs at least one event.",
                why="An empty composition would be a guarantee about nothing.",
                fix="Give the events that were run.",
            )
        object.__setattr__(self, "events", tuple(event_of(event) for event in self.events))

    def steps(self) -> Iterator[Step]:
        for event in self.events:
            yield from event.steps()


@dataclass(frozen=True, slots=True)
class Compose(Several):
    """Events run one after the other on the same data; later ones may look at earlier answers."""

    kind: ClassVar[str] = "compose"


@dataclass(frozen=True, slots=True)
class Parallel(Several):
    """Events on disjoint parts of the data: a unit's rows all lie in one part."""

    kind: ClassVar[str] = "parallel"


@dataclass(frozen=True, slots=True)
class Repeat(Event):
    """The same event ``times`` times on the same data."""

    kind: ClassVar[str] = "repeat"
    event: Event
    times: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "times", whole(self.times, name="times", most=_FARTHEST))
        event_of(self.event)

    def steps(self) -> Iterator[Step]:
        yield from self.event.steps()


@dataclass(frozen=True, slots=True)
class Poisson(Event):
    """An event on a sample that takes each unit independently with probability ``rate``."""

    kind: ClassVar[str] = "poisson"
    event: Event
    rate: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", _size_of(fraction_of(self.rate, name="rate", one=True), name="rate"))
        event_of(self.event)

    def steps(self) -> Iterator[Step]:
        yield from self.event.steps()


@dataclass(frozen=True, slots=True)
class WithoutReplacement(Event):
    """An event on a uniform sample of ``sample`` out of ``population`` units."""

    kind: ClassVar[str] = "without-replacement"
    event: Event
    sample: int
    population: int

    def __post_init__(self) -> None:
        put, sample = object.__setattr__, whole(self.sample, name="sample")
        put(self, "sample", sample)
        put(self, "population", whole(self.population, name="population", least=sample, most=_FARTHEST))
        event_of(self.event)

    def steps(self) -> Iterator[Step]:
        yield from self.event.steps()


def event_of(value: Event) -> Event:
    """An event that others may hold, and nothing that only looks like one."""
    if not isinstance(value, Event):
        raise WrongShape(
            f"an event was expected and a {type(value).__name__} came.",
            why="Costs are worked out from what was done, and only events say that.",
            fix="Pass mechanism.event.",
        )
    if _nesting_depth(value) >= _DEEPEST:
        raise TooLarge(
            f"events are at most {_DEEPEST} deep within each other.",
            why="Every reader of the ledger has to take them apart again.",
            fix="Say how often with one Repeat, and put what follows each other into one Compose.",
        )
    return value


def _nesting_depth(event: Event) -> int:
    inner = event.events if isinstance(event, Several) else [getattr(event, "event", None)]
    return 1 + max(_nesting_depth(each) if each is not None else 0 for each in inner)
