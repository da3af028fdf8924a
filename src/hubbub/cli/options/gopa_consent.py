"""What a party or a verifier knows beforehand, as it was typed: limits, a roster, the run that is meant."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hubbub.cli.options.gopa_files import read_agreement, read_key, read_roster
from hubbub.cli.options.values import parse_number

if TYPE_CHECKING:
    from hubbub.gopa import Consent

Run = Annotated[str | None, typer.Option("--run", help="The name of the run that is meant.", metavar="HASH")]
Roster = Annotated[Path | None, typer.Option("--roster", help="Whom you know: lines of NAME KEY.", metavar="FILE")]

_QUOTIENT = re.compile(r"(\d{1,30})/(\d{1,30})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a party takes part in."""

    epsilon: Annotated[
        str | None, typer.Option("--epsilon-at-most", help="Refuse an agreement beyond.", metavar="E")
    ] = None
    delta: Annotated[
        str | None,
        typer.Option("--delta-at-most", help="Refuse beyond, with graphs that came to nothing.", metavar="D"),
    ] = None
    honest: Annotated[
        str | None, typer.Option("--honest-at-most", help="Rely on no larger share of honest parties.", metavar="SHARE")
    ] = None
    share: Annotated[
        str,
        typer.Option(
            "--share-at-least", help="Protect no smaller part of what this party has, such as 1/2000.", metavar="SHARE"
        ),
    ] = "1"
    attempts: Annotated[
        int,
        typer.Option(
            "--attempts-at-most", help="Runs in a row that may end after their graph was drawn.", metavar="N", min=1
        ),
    ] = 8
    roster: Roster = None
    run: Run = None

    def consent(self) -> Consent:
        """The same as a value."""
        from hubbub.gopa import Consent

        return Consent(
            epsilon=_parse_share(self.epsilon, "--epsilon-at-most"),
            delta=_parse_share(self.delta, "--delta-at-most"),
            honest=_parse_share(self.honest, "--honest-at-most"),
            share=_parse_share(self.share, "--share-at-least") or Fraction(0),
            attempts=self.attempts,
            roster=None if self.roster is None else read_roster(self.roster),
            run=None if self.run is None else read_key(self.run, "--run"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Pins:
    """Which run a verifier means."""

    agreement: Annotated[
        Path | None, typer.Option("--agreement", help="The agreement that is meant.", metavar="FILE")
    ] = None
    run: Run = None
    roster: Roster = None

    def arguments(self) -> dict[str, Any]:
        """What ``verify`` compares a log with."""
        return {
            "agreement": None if self.agreement is None else read_agreement(self.agreement),
            "run": None if self.run is None else read_key(self.run, "--run"),
            "roster": None if self.roster is None else read_roster(self.roster),
        }


def _parse_share(text: str | None, name: str) -> Fraction | None:
    """A number, or a quotient of two."""
    if text is None:
        return None
    if (quotient := _QUOTIENT.fullmatch(text)) is not None:
        if not int(quotient[2]):
            raise typer.BadParameter("a quotient has no zero below.", param_hint=name)
        return Fraction(int(quotient[1]), int(quotient[2]))
    given = parse_number(text, name)
    return Fraction(given) if given.is_finite() else Fraction(0)
