"""How much, and for whom: the flags of ``hubbub budget`` that its commands share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hubbub.cli.options import values
from hubbub.cli.options.ledgers import PoolChoice

if TYPE_CHECKING:
    from hubbub.ledger import Plea
    from hubbub.terms import Budget


@dataclass(frozen=True, slots=True, kw_only=True)
class AmountOptions:
    """A budget as it was typed."""

    epsilon: Annotated[str | None, typer.Option("--epsilon", help="How much, in epsilon.", metavar="E")] = None
    delta: Annotated[
        str | None, typer.Option("--delta", help="The delta beside it; without one it is pure.", metavar="D")
    ] = None
    rho: Annotated[
        str | None, typer.Option("--rho", help="How much, in rho (zCDP), instead of epsilon.", metavar="R")
    ] = None

    def budget(self) -> Budget:
        """The budget; refused if nothing was typed."""
        return values.build_budget(self.epsilon, self.delta, self.rho)

    def maybe_budget(self) -> Budget | None:
        """The budget, if one was typed."""
        return values.maybe_budget(self.epsilon, self.delta, self.rho)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareOptions:
    """A share of a budget: of a project, of an analyst, in one of the two pools."""

    project: Annotated[str, typer.Option("--project", help="A share of this project.", metavar="NAME")] = ""
    analyst: Annotated[str, typer.Option("--analyst", help="A share of this analyst.", metavar="NAME")] = ""
    pool: Annotated[PoolChoice, typer.Option("--pool", help="For questions, or for plans fixed in advance.")] = (
        PoolChoice.QUESTIONS
    )

    @classmethod
    def of_request(cls, plea: Plea) -> ShareOptions:
        """The share that was asked for."""
        return cls(project=plea.project, analyst=plea.analyst, pool=PoolChoice(plea.pool))

    def arguments(self) -> dict[str, str]:
        """The same for a ledger."""
        return {"project": self.project, "analyst": self.analyst, "pool": self.pool.value}


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleOptions:
    """What one question costs at least, how many may fail, and which noise they get."""

    least_share: Annotated[
        str | None,
        typer.Option(
            "--least-share",
            help="Least price of a question, as a share of the budget. [default: 0.00001]",
            metavar="SHARE",
        ),
    ] = None
    most_failures: Annotated[
        int | None,
        typer.Option("--most-failures", help="Questions without an answer, until an owner looks. [default: 10]"),
    ] = None

    noise: Annotated[
        str | None,
        typer.Option("--noise", help="Of questions that ask for no other: auto, laplace or gaussian. [default: auto]"),
    ] = None

    def arguments(self) -> dict[str, Any]:
        """The rules that were typed; the others stay, or are the default."""
        least = None if self.least_share is None else values.parse_number(self.least_share, "least-share")
        rules = {"least_share": least, "most_failures": self.most_failures, "noise": self.noise}
        return {name: value for name, value in rules.items() if value is not None}
