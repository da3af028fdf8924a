"""The board: an append-only log that anybody can read. It is trusted for delivery and for nothing else.

``step(state, event)`` takes ``Post(line)`` or ``Shut()`` (whoever keeps the time says when) and returns the next state
and one reply. It never raises. It looks at form, signature, phase and head of a message, and at nothing that it says.

Of a party's messages for one phase the first is taken. The same line again is welcome (a party that crashed sends it
again), a different one is taken once more as the evidence that it is, and further ones are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from hubbub.gopa.protocol.agreement import Agreement
from hubbub.gopa.protocol.faults import Fault, Refused
from hubbub.gopa.protocol.identities import Identity
from hubbub.gopa.protocol.log_chain import Close, chain_hash, close_line, first_hash, parse_close
from hubbub.gopa.protocol.wire import ORDER, is_authentic, last_phase, next_phase, parse_message
from hubbub.terms import OutOfRange


@dataclass(frozen=True, slots=True)
class Post:
    """Somebody sends a line."""

    line: bytes


@dataclass(frozen=True, slots=True)
class Shut:
    """It is time to close the phase."""


@dataclass(frozen=True, slots=True)
class Reply:
    """Whether an event was taken, the line that stands in the log for it, and why not if not."""

    line: bytes | None = None
    fault: Fault | None = None
    party: int | None = None

    @property
    def taken(self) -> bool:
        return self.fault is None


class Lines:
    """Lines that only grow, with the lines of each party. A value: adding gives another one and leaves it as it was.

    All that grew out of each other share one list; a state that is added to twice copies it.
    """

    __slots__ = ("_by", "_lines", "_size")

    def __init__(self, lines: list[bytes] | None = None, by: dict[int, list[int]] | None = None, size: int = 0) -> None:
        self._lines, self._by, self._size = lines if lines is not None else [], by if by is not None else {}, size

    def __len__(self) -> int:
        return self._size

    def all(self) -> tuple[bytes, ...]:
        """The lines in their order."""
        return tuple(self._lines[: self._size])

    def of(self, party: int) -> list[bytes]:
        """The lines of one party."""
        return [self._lines[place] for place in self._by.get(party, ()) if place < self._size]

    def parties(self) -> frozenset[int]:
        """Who has sent a line."""
        return frozenset(party for party, places in self._by.items() if places[0] < self._size)

    def plus(self, party: int, line: bytes) -> Self:
        lines, by = self._lines, self._by
        if len(lines) != self._size:
            lines = lines[: self._size]
            by = {one: kept for one, places in by.items() if (kept := [p for p in places if p < self._size])}
        by.setdefault(party, []).append(self._size)
        lines.append(line)
        return type(self)(lines, by, self._size + 1)


@dataclass(frozen=True, slots=True)
class Board:
    """The log so far: the chapters that are closed, and the lines of the open phase."""

    agreement: Agreement
    identity: Identity = field(repr=False)
    chain: bytes
    phase: str = "join"
    chapters: tuple[tuple[bytes, ...], ...] = ()
    last: Close | None = None
    posted: Lines = field(default_factory=Lines)
    expected: frozenset[int] = frozenset()

    @property
    def waiting(self) -> frozenset[int]:
        """Who sent something in the last phase and nothing in this one; when there is nobody, the phase may be shut."""
        return self.expected - self.posted.parties()

    @property
    def log(self) -> list[bytes]:
        """All lines of the closed chapters, after the agreement's text: what a verifier reads."""
        return [self.agreement.text().encode(), *(line for chapter in self.chapters for line in chapter)]


def open_board(agreement: Agreement, identity: Identity) -> Board:
    """A board for one run; its key must be the one that was agreed on."""
    if identity.member.key != agreement.board:
        raise OutOfRange(
            "this is not the board's key.",
            why="The parties agreed on another one, and would take none of its closes.",
            fix="Use the key that the agreement names.",
        )
    everybody = frozenset(range(len(agreement.roster)))
    return Board(agreement, identity, first_hash(agreement), expected=everybody)


def restore_board(
    agreement: Agreement, identity: Identity, log: Sequence[bytes], posted: Sequence[bytes] = ()
) -> Board:
    """A board after a crash: from the lines of its closed chapters, and those that it had taken since."""
    board = open_board(agreement, identity)
    for line in [*log, *posted]:
        try:
            close = parse_close(agreement, line)
        except Refused:
            board, _ = step(board, Post(line))
            continue
        if close.phase == board.phase and close.hash == board.chain:
            board = _close_phase(board, line, close)
    return board


def step(state: Board, event: Post | Shut) -> tuple[Board, Reply]:
    """The board after an event, and the answer to whoever caused it."""
    if isinstance(event, Shut):
        if ORDER[state.phase] > ORDER[last_phase(state.agreement)]:
            return state, Reply(fault=Fault.WRONG_PHASE)
        line = close_line(state.agreement, state.identity, state.phase, state.chain)
        return _close_phase(state, line, parse_close(state.agreement, line)), Reply(line)
    try:
        return _take_line(state, event.line)
    except Refused as refused:
        return state, Reply(fault=refused.fault, party=refused.party)


def _close_phase(state: Board, line: bytes, close: Close) -> Board:
    return replace(
        state,
        chapters=(*state.chapters, (*state.posted.all(), line)),
        last=close,
        expected=state.posted.parties(),
        posted=Lines(),
        phase=next_phase(state.phase),
    )


def _take_line(state: Board, line: bytes) -> tuple[Board, Reply]:
    message = parse_message(state.agreement, line)
    party, earlier = message.party, state.posted.of(message.party)
    if line in earlier:
        return state, Reply(line, party=party)
    if message.phase != state.phase:
        raise Refused(Fault.WRONG_PHASE, party)
    if message.head != (state.last.head if state.last else b""):
        raise Refused(Fault.WRONG_HEAD, party)
    if not is_authentic(state.agreement, message):
        raise Refused(Fault.BAD_SIGNATURE)
    if len(earlier) > 1:
        raise Refused(Fault.EQUIVOCATION, party)
    grown = replace(state, chain=chain_hash(state.chain, line), posted=state.posted.plus(party, line))
    return grown, Reply(line, fault=Fault.EQUIVOCATION if earlier else None, party=party)
