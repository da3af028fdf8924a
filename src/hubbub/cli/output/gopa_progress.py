"""How far a run of GOPA has come, on stderr: a line for each phase, and on a terminal one that counts."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from hubbub.cli.output import streams as output
from hubbub.cli.output.terminal import ProgressLine

if TYPE_CHECKING:
    from hubbub.gopa.network import Standing
    from hubbub.gopa.protocol import PublicState

_WHAT = {
    "join": "keys and bound values",
    "nonce": "the coins are shown",
    "share": "commitments and proofs",
    "complain": "everybody checks",
    "cut": "who is in is signed",
    "reveal": "masked sums",
    "confirm": "who revealed is signed",
}


def describe_phase(phase: str) -> str:
    """What happens in a phase."""
    return _WHAT.get(phase, "masks are taken off")


class Phases(ProgressLine):
    """Tells each phase when it is over; on a terminal also how many have spoken in the one that is open."""

    def __init__(self) -> None:
        super().__init__("waiting for the board ...")
        self._began = time.monotonic()
        self._phase, self._posted = "", 0

    def board(self, at: Standing) -> None:
        """What the board sees."""
        if at.phase != self._phase:
            self._end(f"{self._posted:,} spoke")
            self._phase = at.phase
        self._posted = at.posted
        if not at.over:
            self.say(f"{_phase_row(at.phase)}  {at.posted:,} spoke, {at.waiting:,} are waited for ...")

    def party(self, seen: PublicState) -> None:
        """What a party sees."""
        if seen.phase != self._phase or seen.over:
            self._end(f"{len(seen.revealed or seen.inside):,} are in")
            self._phase = "" if seen.over else seen.phase
        if not seen.over:
            self.say(f"{_phase_row(seen.phase)}  ...")

    def _end(self, words: str) -> None:
        if self._phase:
            output.talk(f"{_phase_row(self._phase)}  {words}, {time.monotonic() - self._began:.1f} s")
        self._began = time.monotonic()


def _phase_row(phase: str) -> str:
    return f"{phase:<10}{describe_phase(phase):<24}"
