"""The certificate of a run: its log, which anybody can check offline.

A log is a file of lines: the agreement's text, then each phase's entries and the board's close. ``verify`` folds it as
every party did and says what follows: parameters, roster, result, privacy, who was named for what; or the first reason
why there is no result. It needs no key, no network and no trust in whoever kept the file: at most the tail can be
missing, and then the run is told to be unfinished.

But anybody can make up keys and hold a run with himself. A log by itself is consistent with itself and no more. Whose
run it is follows from what the reader knows beforehand: the agreement, the run's name, or the keys on the roster.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from hubbub.gopa.privacy.calibration import Achieved
from hubbub.gopa.protocol import verifier
from hubbub.gopa.protocol.agreement import Agreement
from hubbub.gopa.protocol.consent import Roster, roster_members
from hubbub.gopa.protocol.faults import Abort, Named
from hubbub.gopa.protocol.public_state import Inputs, PublicState
from hubbub.terms import EmptyInput, OtherRun

_CLOSE = b'{"close":'


@dataclass(frozen=True)
class Certificate:
    """What a log shows. ``complete`` is whether there is a result; else ``abort`` or an unfinished log says why not.

    ``pins`` is what it was compared with: ``agreement``, ``run``, ``roster``. Without any it is consistent with itself
    only: all its keys may be those of one person.
    """

    state: PublicState
    pins: tuple[str, ...] = ()

    @property
    def pinned(self) -> bool:
        """Whether it is the run that the reader meant, and not just somebody's."""
        return bool(self.pins)

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
        parties = self.state.result.parties if self.state.result else ()
        return tuple(self.agreement.roster[place].name for place in parties)

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
        points = {roster[place]: shared.input.statement.values for place, shared in self.state.shares.items()}
        return Inputs(self.agreement.run, points)


def verify(
    log: Sequence[bytes] | bytes,
    *,
    earlier: Inputs | None = None,
    agreement: Agreement | None = None,
    run: bytes | str | None = None,
    roster: Roster | None = None,
) -> Certificate:
    """What a log shows, worked out from nothing but its lines.

    ``agreement``, ``run`` (its name) and ``roster`` say which run is meant, each enough by itself; the log of another
    one is refused. Without any, the certificate is not ``pinned``. ``earlier`` are the ``inputs`` of the previous run's
    certificate, if the agreement names one; no other run's.

    Guarantee: a complete certificate's sum is that of values and noises which their parties fixed before the coins and
    proved to be in range, over at least the agreed number of parties, a quorum of whom signed who they are.
    Because: docs/proofs/gopa.md [SBR22].
    Not covered: whether the values are true, who stands behind the roster's keys; without a pin, whose run it is.
    """
    lines = log.split(b"\n") if isinstance(log, bytes) else list(log)
    if not any(lines):
        raise EmptyInput("the log is empty.", why="Its first line is the agreement.", fix="Give the whole file.")
    agreed = Agreement.read(lines[0].decode("utf-8", "replace"))
    pins = _check_pins(agreed, agreement, run, roster)
    state = verifier.start(agreed, earlier=earlier)
    for chapter in split_phases(lines[1:]):
        state = verifier.step(state, chapter)
    return Certificate(state, pins)


def _check_pins(
    agreed: Agreement, agreement: Agreement | None, run: bytes | str | None, roster: Roster | None
) -> tuple[str, ...]:
    """What of the reader's knowledge the log fits, or a refusal."""
    met = {
        "agreement": None if agreement is None else agreement.run == agreed.run,
        "run": None
        if run is None
        else (run.hex() if isinstance(run, bytes) else run.strip().lower()) == agreed.run.hex(),
        "roster": None if roster is None else set(roster_members(roster)) == set(agreed.roster),
    }
    if False in met.values():
        wrong = [name for name, fits in met.items() if fits is False]
        raise OtherRun(
            f"this is the log of run {agreed.run.hex()[:16]}, with keys {agreed.fingerprint}, and another one was "
            f"meant: compare the {' and the '.join(wrong)}.",
            why="Anybody can hold a run with keys of their own; its log is consistent with itself, and not the one "
            "that was meant.",
            fix="Get the log of the run that was agreed on, or compare the agreement with the others.",
        )
    return tuple(name for name, fits in met.items() if fits)


def split_phases(lines: Sequence[bytes]) -> Iterator[list[bytes]]:
    """The lines up to each close; lines after the last close belong to a phase that is still open."""
    chapter: list[bytes] = []
    for line in lines:
        if not line:
            continue
        chapter.append(line)
        if line.startswith(_CLOSE):
            yield chapter
            chapter = []
