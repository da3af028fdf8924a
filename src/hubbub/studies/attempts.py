"""One attack on one face of some data, as the red team and the comparison of publications try it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from hubbub.terms import HubbubError

if TYPE_CHECKING:
    from hubbub.attacks import Attack


@dataclass(frozen=True, slots=True, eq=False)
class FaceAttack:
    """An attack on a face: what came out, or why it does not apply."""

    name: str
    face: str
    result: Attack | None = None
    reason: str = ""

    @classmethod
    def attempt(cls, name: str, face: str, attack: Callable[[], Attack]) -> Self:
        """What the attack finds; what refuses to be attacked says so in its own words."""
        try:
            return cls(name, face, attack())
        except HubbubError as refusal:
            return cls(name, face, reason=f"{refusal.what} {refusal.why}")

    @property
    def outcome(self) -> str:
        """One word for the summary."""
        if self.result is None:
            return "does not apply"
        return "succeeded" if self.result.succeeded else "failed"
