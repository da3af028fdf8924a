"""What the parties of one host drew and said, on disk before anybody hears it.

Each line is a party's name and one of its ``records``. A party that is in the diary goes on where it was, with the same
secret and the same value; one that is not begins, and its secret and value are written before its first message.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from hubbub.durable import Journal
from hubbub.gopa.protocol import party as parties
from hubbub.gopa.protocol import verifier
from hubbub.gopa.protocol.agreement import Agreement
from hubbub.gopa.protocol.certificate import split_phases
from hubbub.gopa.protocol.consent import Consent
from hubbub.gopa.protocol.identities import Identity
from hubbub.gopa.protocol.log_chain import first_hash
from hubbub.gopa.protocol.party import Party
from hubbub.gopa.protocol.public_state import PublicState
from hubbub.gopa.quantities.grid import are_rounded_from, round_to_steps
from hubbub.terms import EmptyInput, MissingParameter, RequestChanged

_WHOLE = Consent()


@dataclass(frozen=True)
class Before:
    """A party's input in an earlier run: its steps, as they were rounded then, and their blinders."""

    steps: tuple[int, ...] = field(repr=False)
    blinders: tuple[int, ...] = field(repr=False)


class Diary:
    """The records of one or many parties of one run. It holds their secrets: only its owner can read the file."""

    def __init__(self, path: Path | str, agreement: Agreement) -> None:
        self.agreement = agreement
        self._journal = Journal(path, mode=0o600)
        self._records: dict[bytes, list[bytes]] = {}
        for line in self._journal.lines:
            name, _, record = line.partition(b" ")
            self._records.setdefault(name, []).append(record)

    @property
    def path(self) -> Path:
        """The file."""
        return self._journal.path

    def seat(
        self,
        identity: Identity,
        values: Sequence[object] | None = None,
        *,
        earlier: Before | None = None,
        consent: Consent = _WHOLE,
    ) -> Party:
        """The party of this identity, begun with these values (in the quantity's units) or gone on with.

        ``earlier`` is its input in the previous run, if the agreement names one: the same steps are used again,
        whatever a second rounding would give, and values need not be given. ``consent`` is what it takes part in:
        without one it protects all that it has, and nothing less.
        """
        return self.seats([identity], [values], [earlier], consent=consent)[0]

    def seats(
        self,
        identities: Sequence[Identity],
        values: Sequence[Sequence[object] | None],
        earlier: Sequence[Before | None] | None = None,
        *,
        consent: Consent = _WHOLE,
    ) -> list[Party]:
        """The parties of these identities, all new ones written at once."""
        consent.require(self.agreement)
        given = earlier or [None] * len(identities)
        seats = [self._seat(*one, consent) for one in zip(identities, values, given, strict=True)]
        new = [one for one in seats if one.identity.name.encode() not in self._records]
        self.write((one, one.records[0]) for one in new)
        return seats

    def _seat(
        self, identity: Identity, values: Sequence[object] | None, earlier: Before | None, consent: Consent
    ) -> Party:
        known = self._records.get(identity.name.encode())
        if known is None:
            steps = self._steps(identity, values, earlier)
            blinders = None if earlier is None else earlier.blinders
            return parties.start(self.agreement, identity, steps, earlier=blinders, consent=consent)
        party = parties.resume(self.agreement, identity, known)
        if values is not None and not are_rounded_from(self.agreement, values, party.secrets.values):
            raise RequestChanged(
                f"{identity.name} has begun this run with another value.",
                why="A value is bound before the coins; a second one under the same masks would show the difference.",
                fix="Go on without a value, or take part in a new run.",
            )
        return party

    def _steps(self, identity: Identity, values: Sequence[object] | None, earlier: Before | None) -> tuple[int, ...]:
        """What a new party begins with: its steps of the earlier run, or its values rounded now."""
        if earlier is not None:
            if values is not None and not are_rounded_from(self.agreement, values, earlier.steps):
                raise RequestChanged(
                    f"{identity.name} had another value in the previous run.",
                    why="All have agreed to use the inputs of that run again, and prove it.",
                    fix="Take part without a value: the one of that run is in its diary.",
                )
            return earlier.steps
        if values is None:
            raise MissingParameter(
                f"{identity.name} has not begun this run, and no value was given.",
                why="Only a party that has begun has its value written down.",
                fix="Give the value.",
            )
        return round_to_steps(self.agreement, values)

    def write(self, records: Iterable[tuple[Party, bytes]]) -> None:
        """Put records on disk, for each party in its order."""
        named = [(party.identity.name.encode(), record) for party, record in records]
        self._journal.append([name + b" " + record for name, record in named])
        for name, record in named:
            self._records.setdefault(name, []).append(record)

    def records(self, name: str) -> Sequence[bytes]:
        """What is written about a party."""
        return tuple(self._records.get(name.encode(), ()))

    def close(self) -> None:
        """Let others have the file."""
        self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def earlier_input(path: Path | str, log: bytes, identity: Identity) -> Before:
    """A party's input in an earlier run, from its diary of that run and the log."""
    lines = log.split(b"\n")
    agreement = Agreement.read(lines[0].decode("utf-8", "replace"))
    state = PublicState(
        agreement, None, first_hash(agreement)
    )  # what it rests on itself is not looked at before `share`
    for chapter in split_phases(lines[1:]):
        if state.phase == "share":
            break
        state = verifier.step(state, chapter)
    if state.phase != "share":
        raise EmptyInput(
            "the earlier log ends before its parties had shared anything.",
            why="Inputs are committed to after the nonces.",
            fix="Give the whole log of the earlier run.",
        )
    with Diary(path, agreement) as diary:
        party = diary.seat(identity, consent=Consent.to(agreement))  # it is over: nothing more leaves
        return Before(party.secrets.values, parties.input_blinders(party, state))
