"""The certificate of a run: its log, which anybody can check offline.

A log is a file of lines: the agreement's text, then each phase's entries and the board's close. ``verify`` folds it as
every party did and says what follows: parameters, roster, result, privacy, who was named for what; or the first reason
why there is no result. It needs no key, no network and no trust in whoever kept the file: at most the tail can be
missing, and then the run is told to be unfinished.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from hubbub.gopa import public
from hubbub.gopa.agreement import Agreement
from hubbub.gopa.calibrate import Achieved
from hubbub.gopa.faults import Abort, Named
from hubbub.gopa.public import Inputs, Public
from hubbub.terms import EmptyInput

_CLOSE = b'{"close":'


@dataclass(frozen=True)
class Certificate:
    """What a log shows. ``complete`` is whether there is a result; else ``abort`` or an unfinished log says why not."""

    state: Public

    @property
    def agreement(self) -> Agreement:
        return self.state.agreement

    @property
    def complete(self) -> bool:
        return self.state.result is not None

    @property
    def abort(self) -> Abort | None:
        return self.state.abort

    @property
    def head(self) -> bytes:
        """The log's last hash with the board's signature: two people who compare it have seen the same run."""
        return self.state.head

    @property
    def means(self) -> tuple[Fraction, ...]:
        """The average of each coordinate, in the quantity's own units; empty without a result."""
        result, quantity, plan = self.state.result, self.agreement.quantity, self.agreement.plan
        if result is None:
            return ()
        return tuple(quantity.mean(total, parties=len(result.parties), plan=plan) for total in result.totals)

    @property
    def variance(self) -> float:
        """At most the variance of each mean, in squared units of the quantity."""
        parties = len(self.state.result.parties) if self.state.result else 0
        width = float(self.agreement.quantity.upper - self.agreement.quantity.lower)
        return self.agreement.plan.variance_of(parties) * width**2 if parties else float("inf")

    @property
    def parties(self) -> tuple[str, ...]:
        """The names of all who are in the result."""
        found = self.state.result.parties if self.state.result else ()
        return tuple(self.agreement.roster[place].name for place in found)

    @property
    def achieved(self) -> Achieved:
        """What the run protects, reckoned with those who revealed."""
        return self.state.achieved

    @property
    def named(self) -> tuple[tuple[str, Named], ...]:
        """Everybody who dropped out or cheated, in the order of the log."""
        return tuple((self.agreement.roster[one.party].name, one) for one in self.state.named)

    @property
    def inputs(self) -> Inputs:
        """The commitments to all inputs: what a later run compares its inputs with."""
        roster = self.agreement.roster
        points = {roster[place]: shared.statement.values for place, shared in self.state.shares.items()}
        return Inputs(self.agreement.run, points)


def verify(log: Sequence[bytes] | bytes, *, earlier: Inputs | None = None) -> Certificate:
    """What a log shows, worked out from nothing but its lines.

    ``earlier`` are the ``inputs`` of the previous run's certificate, if the agreement names one; no other run's.

    Guarantee: a complete certificate's sum is that of values and noises which their parties fixed before the coins and
    proved to be in range, over at least the agreed number of parties, a quorum of whom signed who they are.
    Because: docs/proofs/gopa.md [SBR22].
    Not covered: whether the values are true, and who stands behind the roster's keys.
    """
    lines = log.split(b"\n") if isinstance(log, bytes) else list(log)
    if not any(lines):
        raise EmptyInput("the log is empty.", why="Its first line is the agreement.", fix="Give the whole file.")
    state = public.start(Agreement.read(lines[0].decode("utf-8", "replace")), earlier=earlier)
    for chapter in chapters(lines[1:]):
        state = public.step(state, chapter)
    return Certificate(state)


def chapters(lines: Sequence[bytes]) -> Iterator[list[bytes]]:
    """The lines up to each close; lines after the last close belong to a phase that is still open."""
    chapter: list[bytes] = []
    for line in lines:
        if not line:
            continue
        chapter.append(line)
        if line.startswith(_CLOSE):
            yield chapter
            chapter = []
