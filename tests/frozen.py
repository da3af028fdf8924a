"""What tests of earlier versions share.

``FrozenAnswers`` stores answers of an earlier version in place of what runs: what is shown then is read from those.
"""

from __future__ import annotations

from typing import Any

from hubbub.ledger import Ledger, Reservation, Stored


class FrozenAnswers(Ledger):
    """``answer`` is stored for every request from now on, whatever its run gives."""

    answer: str = ""

    def store(self, reservation: Reservation, answer: str) -> Stored:
        """Store the frozen answer."""
        del answer
        return super().store(reservation, self.answer)


def by_rho_alone(budget: dict[str, Any]) -> dict[str, Any]:
    """What 0.1 would say of a budget that is counted both ways now: rho, and own deltas, to the last digit."""
    for line in (*budget["accounts"], *budget["shares"]):
        if line["currency"] == "either":
            line["currency"] = "concentrated"
            for part in ("spent", "reserved", "left"):
                line[part] = {key: line[part][key] for key in ("loss", "delta")}
    return budget
