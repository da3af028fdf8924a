"""When a phase is over: as soon as everybody has spoken who can be expected to, or when time is up.

The protocol itself has no clock. How long the board waits decides who counts as a dropout and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

from hubbub.gopa.protocol.public_state import FIRST, PublicState
from hubbub.gopa.protocol.wire import ORDER
from hubbub.terms import OutOfRange


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """How many seconds the board waits.

    ``joining`` for everybody to join, ``deadline`` for a later phase. ``patience`` is shorter: if as many have spoken
    as must survive, and nobody more for so long, the others are given up.
    """

    joining: float = 600.0
    deadline: float = 60.0
    patience: float = 10.0

    def __post_init__(self) -> None:
        if not all(0 < seconds < float("inf") for seconds in (self.joining, self.deadline, self.patience)):
            raise OutOfRange(
                "the board waits a number of seconds above zero.",
                why="With none nobody could speak; for ever, one dropout would stop all.",
                fix="Give joining, deadline and patience in seconds.",
            )

    def left(self, phase: str, *, open_for: float, quiet_for: float, waiting: int, enough: bool) -> float:
        """How many seconds more a phase may stay open; none if nobody is waited for.

        >>> Clock(deadline=60, patience=5).left("cut", open_for=9, quiet_for=4, waiting=2, enough=True)
        1
        """
        if not waiting:
            return 0.0
        if phase == "join":
            return self.joining - open_for
        most = self.deadline - open_for
        return min(most, self.patience - quiet_for) if enough else most


def expected_speakers(public: PublicState) -> frozenset[int]:
    """Everybody who has something to say in the open phase, as far as the log tells."""
    if public.phase == "join":
        return frozenset(range(len(public.agreement.roster)))
    if public.phase in {"confirm", FIRST}:
        return public.counted
    if ORDER[public.phase] < ORDER[FIRST]:
        return public.members
    missing = public.releasable
    owners = missing.seeds
    holders = {one for dealer in missing.seeds | missing.keys for one in public.net.picks[dealer]}
    return owners | (public.opened & holders)
