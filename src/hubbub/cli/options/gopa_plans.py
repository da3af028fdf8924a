"""A plan as it was typed, and as it is shown."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hubbub.cli.options.gopa_files import text_of
from hubbub.cli.options.values import parse_number

if TYPE_CHECKING:
    from hubbub.gopa import Quantity, RunPlan, Sensitivity
    from hubbub.render import Json

Epsilon = Annotated[str, typer.Option(help="What the result may give away; there is no default.", metavar="E")]
Delta = Annotated[str, typer.Option(help="The chance that is left out; there is no default.", metavar="D")]
Honest = Annotated[str, typer.Option(help="The share of parties that work against nobody.", metavar="SHARE")]
Dropouts = Annotated[str, typer.Option(help="The share of parties that may be lost on the way.", metavar="SHARE")]

_KINDS = {"range": "range", "one-hot": "one-hot", "ball": "norm"}


@dataclass(frozen=True, slots=True, kw_only=True)
class GopaPlanOptions:
    """What a run is to give, as it was typed."""

    epsilon: Epsilon
    delta: Delta
    honest: Honest = "0.5"
    dropouts: Dropouts = "0.05"
    coordinates: Annotated[int, typer.Option(help="How many numbers each party gives.", metavar="N", min=1)] = 1
    kind: Annotated[str, typer.Option(help="range, one-hot (a choice) or ball (an L2 bound).", metavar="KIND")] = (
        "range"
    )
    steps: Annotated[int | None, typer.Option(help="Steps of the grid. [default: from --loss]", metavar="N", min=1)] = (
        None
    )
    loss: Annotated[str, typer.Option(help="What rounding to the grid may add to the variance.", metavar="SHARE")] = (
        "0.02"
    )

    def plan(self, parties: int) -> RunPlan:
        """The plan of a run of so many parties."""
        from hubbub.gopa import plan

        steps = 1 if self.kind == "one-hot" and self.steps is None else self.steps
        return plan(
            parse_number(self.epsilon, "--epsilon"),
            parse_number(self.delta, "--delta"),
            parties,
            parse_number(self.honest, "--honest"),
            parse_number(self.dropouts, "--dropouts"),
            sensitivity=self.sensitivity(),
            loss=parse_number(self.loss, "--loss"),
            steps=steps,
        )

    def sensitivity(self) -> Sensitivity:
        """What one party can change."""
        from hubbub.gopa import Sensitivity

        if self.kind not in _KINDS:
            raise typer.BadParameter(f"choose one of {', '.join(_KINDS)}.", param_hint="--kind")
        return Sensitivity(_KINDS[self.kind], self.coordinates)  # type: ignore[arg-type]  # one of the three words

    def quantity(self, name: str, lower: str, upper: str) -> Quantity:
        """What is averaged."""
        from hubbub.gopa import Quantity

        return Quantity(
            name=name,
            coordinates=self.coordinates,
            lower=Fraction(parse_number(lower, "--lower")),
            upper=Fraction(parse_number(upper, "--upper")),
            one_hot=self.kind == "one-hot",
            ball=self.kind == "ball",
        )


def describe_plan(plan: RunPlan) -> tuple[str, dict[str, Json]]:
    """A plan for people and for programs."""
    error = math.sqrt(plan.variance)
    rows = {
        "parties": plan.parties,
        "may be corrupted": plan.corrupted,
        "must survive": plan.survivors,
        "signatures of a quorum": plan.quorum,
        "others that each picks": plan.degree,
        "shares that open a secret": plan.threshold(plan.degree),
        "steps of the range": plan.steps,
        "bits of noise from each": plan.noise_bits,
    }
    table = "\n".join(f"{name:<28}{value:>12,}" for name, value in rows.items())
    words = (
        f"The mean will be off by about {error:.2g} of the range (one standard deviation), with epsilon = "
        f"{float(plan.epsilon):g} and delta = {plan.delta_noise + plan.delta_graph:.2e}.\n{table}"
    )
    return words, {
        "kind": "gopa-plan",
        "epsilon": float(plan.epsilon),
        "delta": float(plan.delta),
        "delta_noise": plan.delta_noise,
        "delta_graph": plan.delta_graph,
        "parties": plan.parties,
        "corrupted": plan.corrupted,
        "survivors": plan.survivors,
        "quorum": plan.quorum,
        "neighbours": plan.degree,
        "threshold": plan.threshold(plan.degree),
        "steps": plan.steps,
        "noise_bits": plan.noise_bits,
        "std_dev": error,
        "stuck": plan.stuck,
    }


def read_numbers(source: str) -> list[float]:
    """The numbers of a file, one on each line."""
    text = sys.stdin.read() if source == "-" else text_of(Path(source))
    lines = [(index, line) for index, line in enumerate(text.splitlines(), 1) if line.strip()]
    return [float(parse_private_number(line, f"line {index}")) for index, line in lines]


def parse_private_number(text: str, name: str) -> Decimal:
    """A private number as it was typed; one that cannot be read is not shown again."""
    try:
        return Decimal(text.strip())
    except InvalidOperation:
        raise typer.BadParameter(f"{name} is not a number.") from None
