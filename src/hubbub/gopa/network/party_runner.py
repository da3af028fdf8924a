"""One or many parties in one process, against a board.

The log is read and folded once for all of them, and each proof verified once. What a party says is on disk before it
leaves, and what it costs is charged before that. A host that dies goes on, when it is started again, with the same
bytes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from hubbub.gopa.network.board_link import BoardLink
from hubbub.gopa.network.party_log import Diary
from hubbub.gopa.protocol import party as parties
from hubbub.gopa.protocol import verifier
from hubbub.gopa.protocol.board import Reply
from hubbub.gopa.protocol.certificate import Certificate
from hubbub.gopa.protocol.faults import Fault
from hubbub.gopa.protocol.party import Party
from hubbub.gopa.protocol.public_state import Inputs, PublicState
from hubbub.gopa.protocol.wire import message_limit
from hubbub.terms import HubbubError, OutOfRange, SourceUnavailable

Charge = Callable[[Party, PublicState, bytes], object]
Watch = Callable[[PublicState], None]
AT_ONCE = 16  # parties whose messages are written and sent together
WAIT = 20.0  # seconds that one question for news may take
_CLOSE = b'{"close":'


def no_charge(party: Party, public: PublicState, line: bytes) -> None:
    """No charge: the party keeps no ledger."""


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What a host has seen of a run when it ended: the public state, its parties, and what kept one from going on.

    ``refusals`` are the board's; ``unpaid`` why ledgers and consents let a line not leave, by name.
    """

    public: PublicState
    parties: tuple[Party, ...]
    refusals: tuple[Reply, ...] = ()
    unpaid: dict[str, Exception] = field(default_factory=dict)

    @property
    def certificate(self) -> Certificate:
        """What the log shows, as this host worked it out."""
        return Certificate(self.public, ("agreement",))


class Host:
    """Parties of one run and their diary.

    Guarantee: no message of a party leaves before it, and all that it said before, is on disk, and before ``charge``
    was given it, with the log as this host folded it, and returned.
    Because: ``Diary.write`` returns after the sync, and what is sent is read back from the party's own records.
    """

    def __init__(
        self,
        diary: Diary,
        crowd: Sequence[Party],
        link: BoardLink,
        *,
        charge: Charge = no_charge,
        earlier: Inputs | None = None,
        watch: Watch = lambda public: None,
    ) -> None:
        self._diary, self._crowd, self._link = diary, list(crowd), link
        self._charge, self._watch = charge, watch
        self._public = verifier.start(diary.agreement, earlier=earlier)
        self._height, self._chapter, self._size = 0, list[bytes](), 0
        self._refusals: list[Reply] = []
        self._unpaid: dict[str, Exception] = {}

    async def run(self) -> RunOutcome:
        """Take part until the run is over."""
        while not self._public.over:
            while await self._news(wait=0.0):
                pass
            self._watch(self._public)
            if not self._public.over:
                await self._speak()
                while not await self._news(wait=WAIT):
                    pass
        self._watch(self._public)
        return RunOutcome(self._public, tuple(self._stopped()), tuple(self._refusals), self._unpaid)

    def _stopped(self) -> Iterator[Party]:
        """The parties as they see the end."""
        for party in self._crowd:
            yield parties.step(party, self._public)[0]

    # ------------------------------------------------ listening

    async def _news(self, *, wait: float) -> bool:
        """Whether the log had more: read, and folded up to its last close."""
        lines = await self._link.read(self._height, wait=wait)
        self._height += len(lines)
        for line in lines:
            self._chapter.append(line)
            self._size += len(line)
            if line.startswith(_CLOSE):
                chapter, self._chapter, self._size = self._chapter, [], 0
                self._public = await asyncio.to_thread(verifier.step, self._public, chapter)
            elif self._too_much():
                raise SourceUnavailable(
                    "the board gives more for a phase than its parties could have sent.",
                    why="A log without end is no log.",
                    fix="Stop here, and ask who runs the board.",
                )
        return bool(lines)

    def _too_much(self) -> bool:
        """Whether the open phase has more lines or bytes than a board takes: two messages of each party."""
        agreed = self._diary.agreement
        most = 2 * len(agreed.roster)
        return len(self._chapter) > most or self._size > most * message_limit(agreed, self._public.phase)

    # ------------------------------------------------ speaking

    async def _speak(self) -> None:
        """Each party says what the open phase asks of it; sending one group's lines, the next is worked out."""
        sending: list[asyncio.Task[None]] = []
        for start in range(0, len(self._crowd), AT_ONCE):
            lines = await asyncio.to_thread(self._said, range(start, min(start + AT_ONCE, len(self._crowd))))
            if lines:
                sending.append(asyncio.create_task(self._send(lines)))
        await asyncio.gather(*sending)

    def _said(self, places: Sequence[int]) -> list[bytes]:
        """The lines that these parties send now: written down, and paid for."""
        steps = [(place, *parties.step(self._crowd[place], self._public)) for place in places]
        self._diary.write(
            (after, line) for place, after, lines in steps for line in lines if line not in self._said_by(place)
        )
        for place, after, _ in steps:
            self._crowd[place] = after
        return [line for _, after, lines in steps for line in lines if self._paid(after, line)]

    def _said_by(self, place: int) -> Sequence[bytes]:
        return tuple(self._crowd[place].sent.values())

    def _paid(self, party: Party, line: bytes) -> bool:
        """Whether a line may leave: only after its charge, again after a crash (the same charge is free)."""
        try:
            self._charge(party, self._public, line)
        except HubbubError as error:  # whatever kept it from being paid for, it does not leave
            self._unpaid[party.identity.name] = error
            return False
        return True

    async def _send(self, lines: Sequence[bytes]) -> None:
        refused = [reply for reply in await self._link.post(lines) if not reply.taken]
        if any(reply.fault is Fault.OTHER_RUN for reply in refused):
            raise OutOfRange(
                "the board keeps another run than the one agreed on.",
                why="Its agreement differs in a name, a number or a key.",
                fix="Compare the agreement with the board's (GET /v1/agreement), and agree on one.",
            )
        self._refusals += refused
