"""A whole run in one process: board, verifier and all parties, with a script of who drops out and who cheats.

The state machines are those of a real run; only the network is missing. All parties read one public state.

    >>> from hubbub.gopa.in_process import people, run
    >>> told = run(people(5, honest=0.8, dropouts=0.2), values=[[0], [1], [2], [1], [2]])
    >>> told.certificate.complete, len(told.certificate.parties)
    (True, 5)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from hubbub.gopa.privacy.calibration import RunPlan, plan
from hubbub.gopa.protocol import board as boards
from hubbub.gopa.protocol import party as parties
from hubbub.gopa.protocol import verifier
from hubbub.gopa.protocol.agreement import Agreement, Quantity
from hubbub.gopa.protocol.board import Board, Post, Reply, Shut
from hubbub.gopa.protocol.certificate import Certificate
from hubbub.gopa.protocol.consent import Consent
from hubbub.gopa.protocol.identities import Identity
from hubbub.gopa.protocol.party import Party
from hubbub.gopa.protocol.public_state import Inputs, PublicState
from hubbub.gopa.protocol.wire import ORDER
from hubbub.terms import Real

Cheat = Callable[[Party, PublicState, tuple[bytes, ...]], Sequence[bytes]]


@dataclass(frozen=True)
class People:
    """The identities of a run and their agreement."""

    agreement: Agreement
    identities: tuple[Identity, ...] = field(repr=False)
    board: Identity = field(repr=False)


@dataclass(frozen=True)
class RunResult:
    """How a run went: the board, the last public state, the parties, and every refusal of the board."""

    board: Board
    public: PublicState
    parties: tuple[Party, ...]
    refusals: tuple[Reply, ...]
    states: tuple[PublicState, ...]

    @property
    def certificate(self) -> Certificate:
        return Certificate(self.public, ("agreement",))

    @property
    def log(self) -> list[bytes]:
        return self.board.log


def people(
    count: int,
    *,
    epsilon: Real = 1,
    delta: Real = 1e-6,
    honest: Real = 0.5,
    dropouts: Real = 0.05,
    quantity: Quantity | None = None,
    planned: RunPlan | None = None,
    previous: bytes | None = None,
) -> People:
    """So many identities with fresh keys, and an agreement between them."""
    identities = tuple(Identity.new(f"p{place}") for place in range(count))
    board = Identity.new("board")
    run_plan = planned or plan(epsilon, delta, count, honest, dropouts)
    roster = tuple(one.member for one in identities)
    agreed = Agreement(roster, board.member.key, run_plan, quantity or Quantity(), previous=previous)
    return People(agreed, identities, board)


def run(
    who: People,
    values: Sequence[Sequence[int]],
    *,
    drops: Mapping[int, str] | None = None,
    cheats: Mapping[int, Cheat] | None = None,
    earlier: Inputs | None = None,
    blinders: Sequence[Sequence[int]] | None = None,
) -> RunResult:
    """The run: ``drops`` says from which phase on a party is silent, ``cheats`` what it posts instead of its lines."""
    agreed = who.agreement
    board, public = boards.open_board(agreed, who.board), verifier.start(agreed, earlier=earlier)
    given: Sequence[Sequence[int] | None] = blinders or [None] * len(values)
    crowd = [
        parties.start(agreed, identity, value, earlier=old, consent=Consent.to(agreed))
        for identity, value, old in zip(who.identities, values, given, strict=True)
    ]
    stage = _Stage(board, public, crowd, drops or {}, cheats or {})
    while not stage.public.over:
        stage.phase()
    return RunResult(stage.board, stage.public, tuple(stage.crowd), tuple(stage.refusals), tuple(stage.states))


@dataclass
class _Stage:
    """What changes while a run goes on."""

    board: Board
    public: PublicState
    crowd: list[Party]
    drops: Mapping[int, str]
    cheats: Mapping[int, Cheat]
    refusals: list[Reply] = field(default_factory=list)
    states: list[PublicState] = field(default_factory=list)

    def phase(self) -> None:
        """Everybody who is there posts; then the phase is shut and the log folded."""
        for place in range(len(self.crowd)):
            if not self._gone(place):
                for line in self._lines(place):
                    self._post(line)
        self.board, _ = boards.step(self.board, Shut())
        self.states.append(self.public)
        self.public = verifier.step(self.public, self.board.chapters[-1])

    def _gone(self, place: int) -> bool:
        return place in self.drops and ORDER[self.public.phase] >= ORDER[self.drops[place]]

    def _lines(self, place: int) -> Sequence[bytes]:
        self.crowd[place], lines = parties.step(self.crowd[place], self.public)
        cheat = self.cheats.get(place)
        return cheat(self.crowd[place], self.public, lines) if cheat else lines

    def _post(self, line: bytes) -> None:
        self.board, reply = boards.step(self.board, Post(line))
        if not reply.taken:
            self.refusals.append(reply)
