"""Graphs that were drawn and came to nothing: a party's own record of runs that ended before its reveal.

Whoever closes the phases knows the graph once the nonces are shown, and can let a run end there that it does not like,
and draw again. Each drawing has its own chance to fail the honest; a reveal pays for all of them since the last one. So
a party writes down each run before its nonce leaves, and each reveal before that leaves.

A record is lines of text: ``RUN graph CHANCE`` and ``RUN reveal``.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Self

from hubbub.durable import Journal
from hubbub.gopa.privacy.calibration import graph_failure
from hubbub.gopa.protocol.agreement import Agreement
from hubbub.gopa.protocol.consent import Consent
from hubbub.gopa.protocol.party import Party
from hubbub.gopa.protocol.public_state import PublicState
from hubbub.terms import BeyondConsent, LedgerDamaged, SourceUnavailable

_LINE = re.compile(r"([0-9a-f]{64}) (?:graph (\d{1,400}(?:/\d{1,400})?)|reveal)")
_PATIENCE = 5.0  # seconds for another process that is writing


@dataclass(frozen=True)
class Attempts:
    """What a party has drawn and revealed so far: a value.

    Guarantee: if every nonce and every reveal of a party is preceded by ``require`` and followed by ``after``, each of
    its reveals is (epsilon, delta)-DP with the epsilon and delta of its consent, however often others let a run end.
    Because: the union bound over all graphs that were drawn since the last reveal: docs/proofs/gopa.md, "What an abort
    costs" [SBR22].
    """

    lines: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not all(isinstance(line, str) and _LINE.fullmatch(line) for line in self.lines):
            raise LedgerDamaged(
                "this is no record of the runs that a party took part in.",
                why="What it has drawn before is part of what its next reveal costs.",
                fix="Find the file that this party wrote.",
            )

    def has(self, agreement: Agreement) -> bool:
        """Whether the party has shown its nonce in this run."""
        return any(line.startswith(agreement.run.hex()) for line in self.lines)

    @property
    def reveals(self) -> int:
        """In how many runs the party has revealed."""
        return len({line for line in self.lines if line.endswith(" reveal")})

    def open(self, agreement: Agreement) -> dict[str, Fraction]:
        """The other runs since the last reveal, with the chance that the graph of each failed."""
        last = max((place for place, line in enumerate(self.lines) if line.endswith(" reveal")), default=-1)
        drawn = (_LINE.fullmatch(line) for line in self.lines[last + 1 :])
        chances = {one[1]: Fraction(one[2]) for one in drawn if one is not None and one[2] is not None}
        chances.pop(agreement.run.hex(), None)
        return chances

    def lost(self, agreement: Agreement) -> Fraction:
        """What the graphs of those runs add to the delta of this one."""
        return sum(self.open(agreement).values(), Fraction(0))

    def require(self, consent: Consent, agreement: Agreement) -> None:
        """Refuse to go on with a run that is beyond a consent, with all that came to nothing before it."""
        if f"{agreement.run.hex()} reveal" in self.lines:
            return  # it left before, was paid for, and is the same again
        lost = {run: chance for run, chance in self.open(agreement).items() if chance}
        if len(lost) > consent.attempts:
            raise BeyondConsent(
                f"{len(lost)} runs of this party have ended after their graph was drawn, and at most "
                f"{consent.attempts} were consented to.",
                why="Whoever may draw the graph again and again gets one in which somebody is surrounded.",
                fix="Find out who ends them, and with whom to agree; then consent to more attempts.",
            )
        consent.require(agreement, lost=self.lost(agreement))

    def after(self, party: Party, public: PublicState, line: bytes) -> Self:
        """The record when this line of a party leaves; the same one for lines that draw and reveal nothing."""
        run = party.agreement.run.hex()
        if line == party.sent.get("reveal"):
            return self._with(f"{run} reveal")
        if line == party.sent.get("nonce") and not self.has(party.agreement):
            return self._with(f"{run} graph {graph_failure_chance(party.agreement, joined_count(public))}")
        return self

    def _with(self, line: str) -> Self:
        return self if line in self.lines else type(self)((*self.lines, line))


def graph_failure_chance(agreement: Agreement, count: int) -> Fraction:
    """The chance that a graph among so many fails the honest, as far as it can matter.

    One that fails more often than the agreed delta is never revealed into: each party works that out before.
    """
    return min(Fraction(graph_failure(agreement.plan, count)), agreement.plan.delta)


def joined_count(public: PublicState) -> int:
    """Among how many the graph of a run is drawn."""
    return len(public.net.joined) or len(public.inside)


# ---------------------------------------------------------------- on disk


class Register:
    """A party's attempts in a file of its own, which all its runs share."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    def read(self) -> Attempts:
        """What is written; nothing if there is no such file yet."""
        if not self.path.exists():
            return Attempts()
        with self._opened() as journal:
            return Attempts(tuple(_decode_lines(journal.lines)))

    def require(self, consent: Consent, agreement: Agreement) -> None:
        """Refuse as ``Attempts`` does."""
        self.read().require(consent, agreement)

    def note(self, party: Party, public: PublicState, line: bytes) -> None:
        """Write down that a line leaves, before it does."""
        with self._opened() as journal:
            before = tuple(_decode_lines(journal.lines))
            after = Attempts(before).after(party, public, line).lines
            journal.append([text.encode() for text in after[len(before) :]])

    def _opened(self) -> Journal:
        """The file, as soon as no other process of this party has it."""
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                return Journal(self.path, mode=0o600)
            except SourceUnavailable:
                if not self.path.exists() or time.monotonic() > until:
                    raise
                time.sleep(0.05)


def _decode_lines(lines: Iterable[bytes]) -> list[str]:
    return [line.decode("ascii", "replace") for line in lines]
