"""What holds for every mechanism. A new one subclasses `Contract` and says how it is made, run and sampled."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any, ClassVar

import numpy as np
import pytest

from hubbub.noise.testing import seeded
from hubbub.terms import (
    HubbubError,
    Neighbours,
    NotANumber,
    OutOfRange,
    Unit,
    from_json,
    to_json,
)

from .laws import FALSE_ALARM, NoSource, breach, covered, p_value

BAD_NUMBERS: list[tuple[object, type[HubbubError]]] = [
    (0, OutOfRange),
    (-1, OutOfRange),
    (math.nan, OutOfRange),
    (math.inf, OutOfRange),
    ("1", NotANumber),
    (True, NotANumber),
]
BAD_PROBABILITIES = [*BAD_NUMBERS, (1, OutOfRange), (1.5, OutOfRange)]


class Contract:
    """Hooks first, then what must hold."""

    kind: ClassVar[Callable[..., Any]]
    standard: ClassVar[dict[str, object]]  # how it is made
    data: ClassVar[Any]  # what it is run on
    neighbours: ClassVar[tuple[Any, Any]]  # two inputs that one unit tells apart
    bad: ClassVar[dict[str, Sequence[tuple[object, type[HubbubError]]]]]
    bad_data: ClassVar[Sequence[tuple[object, type[HubbubError]]]] = ()
    odd_data: ClassVar[Sequence[object]] = ()
    needs: ClassVar[tuple[str, ...]] = ("epsilon",)
    relations: ClassVar[tuple[str, ...]] = ("add-remove", "replace")
    trials: ClassVar[int] = 20_000
    delta: ClassVar[float] = 0.0
    width: ClassVar[float | None] = 0.75  # an error bound scaled by this must no longer hold; None: see the test

    def make(self, **changes: object) -> Any:
        return type(self).kind(**{**self.standard, **changes})

    def run(self, mechanism: Any, data: Any, rng: Any) -> Any:
        return mechanism.release(data, rng=rng)

    def outcomes(self, data: Any, trials: int, rng: Any, **changes: object) -> Sequence[Hashable]:
        """Many independent outcomes, as values that can be counted."""
        mechanism = self.make(**changes)
        return [self.run(mechanism, data, rng) for _ in range(trials)]

    def repeats(self, soak: int) -> int:
        """How often it is run: in `make soak` four times as often, since single draws in Python are slow."""
        return self.trials * (1 if soak == 1 else 4)

    def off_by(self, factor: float) -> dict[str, object]:
        """Changes that make the noise smaller by that factor."""
        return {"epsilon": self.epsilon * factor}

    @property
    def epsilon(self) -> float:
        return float(self.standard["epsilon"])  # type: ignore[arg-type]

    def masses(self) -> dict[Hashable, float]:
        """The closed form of the law of ``outcomes(self.data)``."""
        raise NotImplementedError

    def errors(self, trials: int, rng: Any) -> tuple[Any, Callable[[float], float]]:
        """Errors that happened, and the bound that was told for a confidence."""
        raise NotImplementedError

    # what must hold

    def test_law_is_the_stated_one(self, soak: int) -> None:
        sample = self.outcomes(self.data, self.repeats(soak), seeded(11))
        assert p_value(sample, self.masses()) > FALSE_ALARM

    @pytest.mark.parametrize("factor", [10 / 11, 11 / 10])
    def test_noise_off_by_ten_percent_would_be_seen(self, factor: float, soak: int) -> None:
        sample = self.outcomes(self.data, self.repeats(soak), seeded(12), **self.off_by(factor))
        assert p_value(sample, self.masses()) < FALSE_ALARM

    def test_neighbours_cannot_be_told_apart_beyond_epsilon(self, soak: int) -> None:
        a, b = (self.outcomes(d, self.repeats(soak), seeded(13 + i)) for i, d in enumerate(self.neighbours))
        assert not breach(a, b, epsilon=self.epsilon, delta=self.delta)

    def test_half_the_noise_would_be_seen(self, soak: int) -> None:
        a, b = (
            self.outcomes(d, self.repeats(soak), seeded(15 + i), **self.off_by(2))
            for i, d in enumerate(self.neighbours)
        )
        assert breach(a, b, epsilon=self.epsilon, delta=self.delta)

    def test_bad_parameters_are_refused(self) -> None:
        for name, values in self.bad.items():
            for value, error in values:
                with pytest.raises(error) as refusal:
                    self.make(**{name: value})
                assert refusal.type is error, (name, value)

    def test_a_cost_must_be_given(self) -> None:
        for name in self.needs:
            standard = {key: value for key, value in self.standard.items() if key != name}
            with pytest.raises((HubbubError, TypeError)):
                type(self).kind(**standard)

    def test_bad_data_is_refused_before_noise_is_drawn(self) -> None:
        for data, error in self.bad_data:
            with pytest.raises(error):
                self.run(self.make(), data, NoSource())

    def test_odd_values_never_raise(self) -> None:
        for data in self.odd_data:
            self.run(self.make(), data, seeded(17))

    def test_the_secure_source_is_the_default(self) -> None:
        assert self.run(self.make(), self.data, None) is not ...

    def test_event_survives_json(self) -> None:
        for relation in self.relations:
            event = self.make(neighbours=relation, unit=Unit("people.id")).event
            assert from_json(to_json(event)) == event
            assert {(s.neighbours, s.unit) for s in event.steps()} == {(Neighbours(relation), Unit("people.id"))}

    def test_unknown_neighbours_are_refused(self) -> None:
        with pytest.raises(OutOfRange):
            self.make(neighbours="siblings")

    @pytest.mark.parametrize("confidence", [0.8, 0.95])
    def test_error_holds_and_is_not_too_wide(self, confidence: float, soak: int) -> None:
        errors, bound = self.errors(self.repeats(soak), seeded(18))
        assert covered(np.asarray(errors), bound(confidence), confidence)
        if self.width is not None:
            assert not covered(np.asarray(errors), bound(confidence) * self.width, confidence)

    def test_bad_confidence_is_refused(self) -> None:
        _, bound = self.errors(1, seeded(19))
        for value, error in BAD_PROBABILITIES:
            with pytest.raises(error):
                bound(value)  # type: ignore[arg-type]
