"""A plan as it was typed, and as it is shown."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from hubbub.cli.options.gopa_files import text_of
from hubbub.cli.options.values import number

if TYPE_CHECKING:
    from hubbub.gopa import Quantity, RunPlan, Sensitivity
    from hubbub.render import Json

_KINDS = {"range": "range", "one-hot": "one-hot", "ball": "norm"}


@dataclass(frozen=True, slots=True)
class GopaPlanOptions:
    """What was asked for."""

    epsilon: str
    delta: str
    parties: int
    honest: str
    dropouts: str
    coordinates: int
    kind: str
    steps: int | None
    loss: str

    def plan(self) -> RunPlan:
        """The plan for it."""
        from hubbub.gopa import plan

        steps = 1 if self.kind == "one-hot" and self.steps is None else self.steps
        return plan(
            number(self.epsilon, "--epsilon"),
            number(self.delta, "--delta"),
            self.parties,
            number(self.honest, "--honest"),
            number(self.dropouts, "--dropouts"),
            sensitivity=self.sensitivity(),
            loss=number(self.loss, "--loss"),
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
            lower=Fraction(number(lower, "--lower")),
            upper=Fraction(number(upper, "--upper")),
            one_hot=self.kind == "one-hot",
            ball=self.kind == "ball",
        )


def plan_table(made: RunPlan) -> tuple[str, dict[str, Json]]:
    """A plan for people and for programs."""
    error = math.sqrt(made.variance)
    rows = {
        "parties": made.parties,
        "may be corrupted": made.corrupted,
        "must survive": made.survivors,
        "signatures of a quorum": made.quorum,
        "others that each picks": made.degree,
        "shares that open a secret": made.threshold(made.degree),
        "steps of the range": made.steps,
        "bits of noise from each": made.noise_bits,
    }
    table = "\n".join(f"{name:<28}{value:>12,}" for name, value in rows.items())
    words = (
        f"The mean will be off by about {error:.2g} of the range (one standard deviation), with epsilon = "
        f"{float(made.epsilon):g} and delta = {made.delta_noise + made.delta_graph:.2e}.\n{table}"
    )
    return words, {
        "kind": "gopa-plan",
        "epsilon": float(made.epsilon),
        "delta": float(made.delta),
        "delta_noise": made.delta_noise,
        "delta_graph": made.delta_graph,
        "parties": made.parties,
        "corrupted": made.corrupted,
        "survivors": made.survivors,
        "quorum": made.quorum,
        "neighbours": made.degree,
        "threshold": made.threshold(made.degree),
        "steps": made.steps,
        "noise_bits": made.noise_bits,
        "std_dev": error,
        "stuck": made.stuck,
    }


def numbers_in(source: str) -> list[float]:
    """The numbers of a file, one on each line."""
    text = sys.stdin.read() if source == "-" else text_of(Path(source))
    return [float(plainly(line, f"line {place}")) for place, line in enumerate(text.splitlines(), 1) if line.strip()]


def plainly(text: str, name: str) -> Decimal:
    """A private number as it was typed; one that cannot be read is not shown again."""
    try:
        return Decimal(text.strip())
    except InvalidOperation:
        raise typer.BadParameter(f"{name} is not a number.") from None
