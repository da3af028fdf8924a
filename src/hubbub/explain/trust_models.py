"""Four degrees of trust for one question: how far the answer is off, and whom people must trust for it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from hubbub.accounting import mu_for
from hubbub.render import Document, Figure, Json, Section, TextTable, as_float, percent, short
from hubbub.render.charts import Axis, Mark, Panel, Series, Tick, line_chart
from hubbub.terms import OutOfRange, Real, fraction_of, positive, whole

SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
_BETWEEN = 2  # points of the picture from one size to the next
_NORMAL = 1.959964  # standard deviations that hold 95%
_LARGEST = 20  # beyond this epsilon there is nothing left to compare

Strengthen = Callable[[int], float]  # number of people -> the epsilon that each report may have by itself


def models(
    epsilon: Real,
    *,
    delta: Real = Fraction(1, 10**6),
    people: Real = 10_000,
    honest: Real = Fraction(1, 2),
    shuffled: Strengthen | None = None,
) -> Models:
    """What share of the people has some property, asked in four models at the same epsilon.

    ``honest`` is the share of people who do not work together against the others (for GOPA). ``shuffled`` tells which
    epsilon each report may have, so that so many shuffled ones have ``epsilon``; without it, a closed form does.

    >>> told = models(1, people=10_000)
    >>> {model.name: f"{model.error(10_000):.5f}" for model in told.models}
    {'trusted curator': '0.00030', 'GOPA': '0.00117', 'shuffled': '0.00351', 'local': '0.01881'}
    """
    cost = positive(epsilon, name="epsilon")
    if cost > _LARGEST:
        raise OutOfRange(
            f"epsilon must be at most {_LARGEST} for this picture and is {short(cost)}.",
            why="Beyond that no model protects anybody, and all are as good as exact.",
            fix="Pick a smaller epsilon.",
        )
    slack, trusted = fraction_of(delta, name="delta"), fraction_of(honest, name="honest", one=True)
    alone, loss = float(cost), float(slack)
    stronger = cache(shuffled or (lambda count: shuffled_epsilon(alone, count, loss)))
    return Models(
        cost,
        slack,
        whole(people, name="people", least=2),
        trusted,
        (
            TrustModel("trusted curator", "the curator, who sees everything", lambda n: math.log(20) / (alone * n)),
            TrustModel(
                "GOPA",
                f"that {percent(float(trusted), digits=0)} of the people do not work against you",
                lambda n: _NORMAL / (mu_for(alone, loss) * math.sqrt(float(trusted)) * n),
            ),
            TrustModel(
                "shuffled",
                "the shuffler, who sees sealed reports, and most other people",
                lambda n: _NORMAL * response_error(stronger(n), n),
            ),
            TrustModel("local", "nobody", lambda n: _NORMAL * response_error(alone, n)),
        ),
    )


def response_error(epsilon: float, people: int) -> float:
    """The standard deviation of a share by randomized response: e^(epsilon/2) / ((e^epsilon - 1) sqrt(n))."""
    return 1 / (2 * math.sinh(epsilon / 2) * math.sqrt(people))


def shuffled_epsilon(epsilon: float, people: int, delta: float) -> float:
    """The largest epsilon of a report for which the closed form says that ``people`` shuffled ones have ``epsilon``.

    [FMT21, Thm. 3.1]: ln(1 + (e-1)/(e+1) (8 sqrt(e ln(4/delta)/n) + 8 e/n)) if e = e^epsilon <= n/(16 ln(4/delta)).
    """
    low, high = epsilon, max(epsilon, math.log(max(1.0, people / (16 * math.log(4 / delta)))))
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _amplified_epsilon(middle, people, delta) <= epsilon else (low, middle)
    return low


def _amplified_epsilon(epsilon: float, people: int, delta: float) -> float:
    factor = math.exp(epsilon)
    spread = 8 * math.sqrt(factor * math.log(4 / delta) / people) + 8 * factor / people
    return math.log1p((factor - 1) / (factor + 1) * spread)


@dataclass(frozen=True, slots=True)
class TrustModel:
    """One model: its name, whom people trust in it, and what the share's error stays within, 95 times out of 100."""

    name: str
    trust: str
    error: Callable[[int], float]

    def needed(self, within: float) -> int:
        """How many people it takes for an error of at most ``within``, 95 times out of 100."""
        low, high = 1, 2
        while self.error(high) > within and high < 10**15:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.error(middle) <= within else (middle, high)
        return high


@dataclass(frozen=True, slots=True)
class Models(Document):
    """The same question in four models, at the same epsilon for each person.

    The trusted curator adds Laplace noise [DMNS06] and is epsilon-DP; local answers are two-valued randomized response
    [Warner65] and epsilon-LDP. Shuffled ones [FMT21] and GOPA [SBR22], whose noise adds up to that of a curator with
    Gaussian noise over the honest people, are (epsilon, delta)-DP.
    """

    epsilon: Fraction
    delta: Fraction
    people: int
    honest: Fraction
    models: tuple[TrustModel, ...]

    @property
    def title(self) -> str:
        """What is explained."""
        return f"One question, four degrees of trust: epsilon = {short(self.epsilon)}"

    @property
    def gap(self) -> float:
        """How many times the local error is that of the trusted curator: it grows with the root of the people."""
        return self.models[-1].error(self.people) / self.models[0].error(self.people)

    def sections(self) -> tuple[Section, ...]:
        """The explanation, part by part."""
        first, last = self.models[0], self.models[-1]
        words = (
            f"What share of {self.people:,} people has some property? With a curator whom all trust, the answer is off "
            f"by at most {_format_points(first.error(self.people))} of 100, 95 times out of 100. If people trust "
            f"nobody and randomize at home, by {_format_points(last.error(self.people))}: {short(self.gap)} times as "
            "much.",
            "The gap grows with the root of the number of people, and no local protocol can close it: noise is added "
            "once by a curator, and once by each of n people otherwise. Shuffling and GOPA lie between.",
        )
        figure = Figure(
            "models", self.svg(), "Both axes are logarithmic: the local line falls half as steeply as the others."
        )
        return (
            Section("How far the answer is off", words, self._table(), figure),
            Section("Whom you trust, and how many people it takes", (_NEEDED,), self._trust()),
        )

    def svg(self) -> str:
        """The error of each model by the number of people, on logarithmic axes."""
        sizes = [10 ** (2 + i / _BETWEEN) for i in range(_BETWEEN * (len(SIZES) - 1) + 1)]
        series = tuple(
            Series(model.name, tuple((math.log10(n), math.log10(model.error(round(n)))) for n in sizes))
            for model in self.models
        )
        mark = Mark(
            math.log10(self.people),
            math.log10(self.models[-1].error(self.people)),
            f"{short(self.gap)} times the curator's error",
        )
        errors = ", ".join(f"{model.name} {_format_points(model.error(self.people))}" for model in self.models)
        return line_chart(
            Panel("error of the share (95%)", series, marks=(mark,), show=_format_tick, height=340),
            title=self.title,
            description=f"Error against number of people. At {self.people:,} people, points of 100: {errors}.",
            x=Axis("people", 2.0, 6.0, tuple(Tick(float(i), f"{10**i:,}") for i in range(2, 7))),
        )

    def to_json(self) -> dict[str, Json]:
        """The numbers as one JSON document."""
        return {
            "kind": "models",
            "epsilon": as_float(self.epsilon),
            "delta": as_float(self.delta),
            "people": self.people,
            "honest": as_float(self.honest),
            "gap": self.gap,
            "models": [
                {
                    "name": model.name,
                    "trust": model.trust,
                    "errors_95": {str(n): model.error(n) for n in (*SIZES, self.people)},
                    "people_for_one_point": model.needed(0.01),
                }
                for model in self.models
            ],
        }

    def _table(self) -> TextTable:
        rows = tuple((f"{n:,}", *(_format_points(model.error(n)) for model in self.models)) for n in SIZES)
        return TextTable(("people", *(model.name for model in self.models)), rows)

    def _trust(self) -> TextTable:
        rows = tuple((model.name, model.trust, f"{model.needed(0.01):,}") for model in self.models)
        return TextTable(("model", "you trust", "people for ±1 point"), rows)


_NEEDED = (
    "The numbers above are points of 100, for 95% of the answers. The more people trust, the fewer are needed: the "
    "last column is how many it takes for an answer within one point."
)


def _format_points(error: float) -> str:
    """An error in points of 100, as people read it."""
    return f"{100 * error:.3g}"


def _format_tick(value: float, digits: int) -> str:
    """A tick of a logarithmic axis of shares."""
    return f"{100 * 10**value:.3g}%"
