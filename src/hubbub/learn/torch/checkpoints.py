"""A run that can go on: its state in a file, written whole or not at all.

The file holds a point of the run that the accounting covers already (every set of weights along the way is part of
what is released), the number of steps done, and a token under which the run was charged. There is no generator's
state in it: noise is always fresh. Steps that were done after the last save died with the process, unseen, and are run
again; what anybody can see has the same law as if they had been run once (``docs/proofs/networks.md``). So that nobody
picks the best of many tries, a run may begin three times from one saved step.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import torch

from hubbub.durable import replacing_file
from hubbub.learn.training.network import Floats
from hubbub.terms import MechanismExhausted, NewerFormat, RequestChanged, Unreadable

_FORMAT = 1
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class TrainingState:
    """A point of a run: after ``step`` steps, with these weights."""

    plan: str  # what was planned, as a fingerprint
    weights: Floats
    mean: Floats  # of the last weights, as far as they count
    clip: float
    step: int = 0
    optimizer: dict[str, Any] = field(default_factory=dict)
    token: str = field(default_factory=lambda: secrets.token_hex(16))
    attempts: int = 0

    def write(self, path: Path) -> None:
        """Put it into a file, whole or not at all."""
        kept = {
            "format": _FORMAT,
            "plan": self.plan,
            "weights": torch.from_numpy(self.weights),
            "mean": torch.from_numpy(self.mean),
            "clip": self.clip,
            "step": self.step,
            "optimizer": self.optimizer,
            "token": self.token,
            "attempts": self.attempts,
        }
        with replacing_file(path) as draft, draft.open("wb") as file:
            torch.save(kept, file)

    @classmethod
    def read(cls, path: Path) -> Self:
        """From a file."""
        try:
            kept = torch.load(path, weights_only=True)
            version = kept.pop("format")
        except Exception:
            raise _unreadable_state(path) from None
        if version != _FORMAT:
            raise NewerFormat(
                f"{path.name} was written by another version of Hubbub.",
                why="What it means may have changed.",
                fix="Go on with the version that wrote it.",
            )
        return cls(
            plan=kept["plan"],
            weights=kept["weights"].numpy(),
            mean=kept["mean"].numpy(),
            clip=kept["clip"],
            step=kept["step"],
            optimizer=kept["optimizer"],
            token=kept["token"],
            attempts=kept["attempts"],
        )


def starting_state(path: Path | None, fresh: TrainingState, *, steps: int) -> TrainingState:
    """The state to go on from: the file's, if it is of the same plan, or ``fresh``, which is put there.

    The token is in the file before anything is charged under it.
    """
    if path is None:
        return fresh
    if not path.exists():
        fresh.write(path)
        return fresh
    state = TrainingState.read(path)
    if state.plan != fresh.plan:
        raise RequestChanged(
            f"{path.name} is the state of another run.",
            why="Steps under another plan would be another charge.",
            fix="Give the same model, data and parameters, or another checkpoint=.",
        )
    if state.attempts >= _ATTEMPTS and state.step < steps:
        raise MechanismExhausted(
            f"{path.name} was gone on with {_ATTEMPTS} times from the same step.",
            why="Trying again until the result pleases would be a choice that nobody accounted for.",
            fix="Delete the file and pay for a new run.",
        )
    return state


def record_attempt(path: Path | None, state: TrainingState) -> None:
    """Put on record that a run begins from this state."""
    if path is not None:
        replace(state, attempts=state.attempts + 1).write(path)


def _unreadable_state(path: Path) -> Unreadable:
    return Unreadable(
        f"{path.name} is no state of a run.", why="It is damaged, or another file.", fix="Give another checkpoint=."
    )
