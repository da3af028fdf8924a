"""What an attack on trained models found: one way to train by itself, or several side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hubbub.attacks.report import Attack
from hubbub.attacks.roc import RARE, Roc, roc_svg
from hubbub.explain import Figure, TextTable
from hubbub.render import Json, out_of_100, percent
from hubbub.terms import EmptyInput


@dataclass(frozen=True, slots=True, eq=False)
class ModelMembership(Attack):
    """How well an attack tells what models were trained on, over all models and examples.

    Scores of one example under different models are not quite independent; the intervals ignore that.
    """

    kind: ClassVar[str] = "model-membership"
    name: ClassVar[str] = "Membership in training data"

    attack: str
    roc: Roc
    models: int
    examples: int
    epsilon: float | None = None

    @property
    def title(self) -> str:
        """What was tried."""
        return f"{self.name}, by {self.attack}"

    @property
    def succeeded(self) -> bool:
        """Whether, at 1 false accusation in 100, clearly more than 5 members in 100 are found."""
        return self.roc.names_people

    @property
    def headline(self) -> str:
        """What was found, in one plain sentence."""
        return (
            f"Looking at a model's answers alone, {out_of_100(self.roc.tpr(0.01))} of its training examples are found "
            "while 1 in 100 others is wrongly named."
        )

    def numbers(self) -> dict[str, Json]:
        """What was found, for programs."""
        about: dict[str, Json] = {"attack": self.attack, "models": self.models, "examples": self.examples}
        return {**about, **self.roc.rates(), "epsilon": self.epsilon}

    def facts(self) -> tuple[tuple[str, str], ...]:
        """What was found, for people."""
        rows = [("attack", self.attack), ("models", f"{self.models:,}"), ("examples", f"{self.examples:,}")]
        rows.append(("AUC", f"{self.roc.auc:.3f}"))
        rows += [(f"members found at {percent(fpr)} wrongly named", self.roc.shown(fpr)) for fpr in RARE]
        return tuple(rows)

    def figure(self) -> Figure:
        """The ROC on logarithmic axes."""
        curves = {self.attack: self.roc}
        drawn = roc_svg(curves, title="What models were trained on", description=self.headline, epsilon=self.epsilon)
        return Figure(self.kind, drawn, "The further up on the left, the more examples are found with certainty.")

    def meaning(self) -> tuple[str, ...]:
        """What it means for the people in the data."""
        sentence = "A model that was fitted closely is surer of what it has seen than of what it has not."
        if not self.succeeded:
            return (sentence, "Here the difference is too small to name anybody.")
        return (
            sentence,
            "Whoever may query the model can find out about some people for certain that they are in its training "
            "data, and with it what all of those have in common: a diagnosis, a debt.",
        )

    def remedy(self) -> tuple[str, ...]:
        """What would have helped, and what would not."""
        return (
            "Training with differential privacy bounds every such attack. Stopping early, regularizing and more data "
            "make the average attack weaker, and still leave unusual people exposed.",
            "Hiding the probabilities and telling the class alone helps little: they can be estimated.",
        )


@dataclass(frozen=True, slots=True, eq=False)
class TrainingComparison(Attack):
    """The same attack on several ways to train, side by side: with and without privacy, say."""

    kind: ClassVar[str] = "membership-comparison"
    name: ClassVar[str] = "Membership in training data, compared"

    results: dict[str, ModelMembership]

    def __post_init__(self) -> None:
        if not self.results:
            raise EmptyInput("there is nothing to compare.", why="No result was given.", fix="Give results by name.")

    @property
    def succeeded(self) -> bool:
        """Whether the attack succeeds on any of them."""
        return any(result.succeeded for result in self.results.values())

    @property
    def headline(self) -> str:
        """What was found, in one plain sentence."""
        shares = [f"{out_of_100(result.roc.tpr(0.01))} ({name})" for name, result in self.results.items()]
        return f"Members found while 1 in 100 others is wrongly named: {', '.join(shares)}."

    def numbers(self) -> dict[str, Json]:
        """What was found, for programs."""
        return {name: result.numbers() for name, result in self.results.items()}

    def facts(self) -> tuple[tuple[str, str], ...]:
        """The AUC of each."""
        return tuple((name, f"AUC {result.roc.auc:.3f}") for name, result in self.results.items())

    def table(self) -> TextTable:
        """One row for each way to train."""
        header = ("training", "AUC", *(f"found at {percent(fpr)} wrongly named" for fpr in RARE))
        rows = [(n, f"{r.roc.auc:.3f}", *map(r.roc.shown, RARE)) for n, r in self.results.items()]
        return TextTable(header, tuple(rows))

    def figure(self) -> Figure:
        """All curves in one picture."""
        curves = {name: result.roc for name, result in self.results.items()}
        drawn = roc_svg(curves, title="What models were trained on", description=self.headline)
        return Figure(self.kind, drawn, "The nearer to blind guessing, the better people hide.")

    def meaning(self) -> tuple[str, ...]:
        """What it means for the people in the data."""
        return next(iter(self.results.values())).meaning()

    def remedy(self) -> tuple[str, ...]:
        """What would have helped, and what would not."""
        return next(iter(self.results.values())).remedy()
