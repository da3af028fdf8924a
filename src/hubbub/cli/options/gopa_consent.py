"""What a party or a verifier knows beforehand, as it was typed: limits, a roster, the run that is meant."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from hubbub.cli.options.gopa_files import read_agreement, read_key, read_roster
from hubbub.cli.options.values import number

if TYPE_CHECKING:
    from hubbub.gopa import Consent

_QUOTIENT = re.compile(r"(\d{1,30})/(\d{1,30})")


@dataclass(frozen=True, slots=True)
class Limits:
    """What a party takes part in."""

    epsilon: str | None = None
    delta: str | None = None
    honest: str | None = None
    share: str = "1"
    attempts: int = 8
    roster: Path | None = None
    run: str | None = None

    def consent(self) -> Consent:
        """The same as a value."""
        from hubbub.gopa import Consent

        return Consent(
            epsilon=_number(self.epsilon, "--epsilon-at-most"),
            delta=_number(self.delta, "--delta-at-most"),
            honest=_number(self.honest, "--honest-at-most"),
            share=_number(self.share, "--share-at-least") or Fraction(0),
            attempts=self.attempts,
            roster=None if self.roster is None else read_roster(self.roster),
            run=None if self.run is None else read_key(self.run, "--run"),
        )


def pinned(agreement: Path | None, run: str | None, roster: Path | None) -> dict[str, Any]:
    """What ``verify`` compares a log with."""
    return {
        "agreement": None if agreement is None else read_agreement(agreement),
        "run": None if run is None else read_key(run, "--run"),
        "roster": None if roster is None else read_roster(roster),
    }


def _number(text: str | None, name: str) -> Fraction | None:
    """A number, or a quotient of two."""
    if text is None:
        return None
    if (found := _QUOTIENT.fullmatch(text)) is not None:
        if not int(found[2]):
            raise typer.BadParameter("a quotient has no zero below.", param_hint=name)
        return Fraction(int(found[1]), int(found[2]))
    given = number(text, name)
    return Fraction(given) if given.is_finite() else Fraction(0)
