"""A private election: the winner is drawn, likelier with more votes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from hubbub.explain import attacker_bounds, exponential_stories
from hubbub.render import Document, Figure, Json, Section, as_float, percent, short, text
from hubbub.render.charts import Bar, bar_chart, percentage
from hubbub.terms import EmptyInput, Real, WrongShape, positive, whole


def election(votes: Mapping[str, object], *, epsilon: Real, monotone: bool = True) -> Election:
    """The chance of each candidate under the exponential mechanism, the score being the number of votes.

    With ``monotone`` (right for votes, where neighbours add or remove one voter) the weights are
    e^(epsilon votes); without it they are those of any score, e^(epsilon votes / 2), which also hold if one
    voter may change a vote.

    >>> [f"{chance:.1%}" for chance in election({"A": 15, "B": 18, "C": 20}, epsilon=0.1).chances.values()]
    ['25.0%', '33.8%', '41.2%']
    """
    if not isinstance(votes, Mapping) or not all(isinstance(name, str) for name in votes):
        raise WrongShape(
            "votes must map the name of each candidate to a number of votes.",
            why="The candidates are the public options to choose from.",
            fix='Write votes={"A": 15, "B": 18}.',
        )
    if not votes:
        raise EmptyInput(
            "an election needs a candidate.",
            why="There is nobody to choose from.",
            fix='Write votes={"A": 15, "B": 18}.',
        )
    counted = tuple((name, whole(count, name="votes", least=0)) for name, count in votes.items())
    return Election(counted, positive(epsilon, name="epsilon"), monotone)


@dataclass(frozen=True, slots=True)
class Election(Document):
    """Votes, and the chance of each candidate to be drawn as winner.

    Guarantee: drawing a winner with these chances is epsilon-DP for one voter more or less; without
    ``monotone`` also for one voter who votes differently.
    Because: [MT07], [DR14]; see ``choosing.chances``.
    Not covered: a monotone draw if a voter may change a vote (that is 2 epsilon-DP).
    """

    votes: tuple[tuple[str, int], ...]
    epsilon: Fraction
    monotone: bool

    @property
    def title(self) -> str:
        """What is explained."""
        return f"A private election, epsilon = {short(self.epsilon)}"

    @property
    def chances(self) -> dict[str, float]:
        """The chance of each candidate, in the order given."""
        scores = [Fraction(count) for _, count in self.votes]
        drawn = exponential_stories.exponential_chances(
            scores, epsilon=self.epsilon, sensitivity=Fraction(1), monotone=self.monotone
        )
        return {name: chance for (name, _), chance in zip(self.votes, drawn, strict=True)}

    @property
    def winner(self) -> str:
        """Who has most votes (the first, if several)."""
        return max(self.votes, key=lambda pair: pair[1])[0]

    def svg(self) -> str:
        """The chances as bars."""
        bars = self._bars()
        return bar_chart(
            bars,
            title=f"The chance of each candidate, epsilon = {short(self.epsilon)}",
            description="; ".join(f"{bar.label}: {bar.shown}" for bar in bars) + ".",
            label="chance to be drawn",
            show=percentage,
        )

    def sections(self) -> tuple[Section, ...]:
        """The explanation, part by part."""
        how = (
            "Naming the candidate with most votes would let one vote decide, and so tell of that vote. Instead the "
            f"winner is drawn, with weights {exponential_stories.describe_weights(monotone=self.monotone)}: the more "
            "votes, the better the chance; and one voter more or less changes no chance by more than a factor of "
            f"e^epsilon = {short(attacker_bounds.odds_factor(as_float(self.epsilon)))}."
        )
        plain = text.bars([(bar.label, bar.value, bar.shown) for bar in self._bars()])
        figure = Figure("election", self.svg(), "Each candidate's chance to be drawn.", plain)
        return (
            Section("The draw", (how,), figure=figure),
            Section("With or without the factor 2", (_FACTOR_TWO,)),
        )

    def to_json(self) -> dict[str, Json]:
        """The numbers as one JSON document."""
        return {
            "kind": "election",
            "epsilon": as_float(self.epsilon),
            "monotone": self.monotone,
            "candidates": [{"name": name, "votes": count, "chance": self.chances[name]} for name, count in self.votes],
        }

    def _bars(self) -> list[Bar]:
        chances = self.chances
        return [
            Bar(f"{name}, {_format_votes(count)}", chances[name], shown=percent(chances[name]))
            for name, count in self.votes
        ]


def _format_votes(count: int) -> str:
    return "1 vote" if count == 1 else f"{count:,} votes"


_FACTOR_TWO = (
    "One more voter raises one score by 1 and lowers none, so the draw needs no factor 2: weights "
    "e^(epsilon votes) are epsilon-DP when a voter comes or goes. If a voter may change a vote, one score rises "
    "while another falls; then, as for scores in general, it takes e^(epsilon votes / 2): `monotone=False`, or "
    "`--general`."
)
