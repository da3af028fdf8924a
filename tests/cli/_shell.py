"""A folder to type commands in, and questions to ask in between."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hubbub.cli import main
from hubbub.ledger import Ledger, Request, fingerprint
from hubbub.mechanisms import DiscreteGaussian
from tests.charging import ask as charge

COUNT = DiscreteGaussian(sensitivity=1, epsilon=0.2, delta=1e-8)


@dataclass(frozen=True)
class Said:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Shell:
    """A folder with a ledger in it."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capture = folder, capture
        self.file = folder / "hubbub.db"

    def __call__(self, line: str, *more: str) -> Said:
        """Type a command: words between spaces, then arguments that may hold spaces."""
        with pytest.raises(SystemExit) as leaving:
            main([*line.split(), *more])
        told = self._capture.readouterr()
        return Said(int(leaving.value.code or 0), told.out, told.err)

    def open(self, name: str = "patients", *, budget: str = "--epsilon 1 --delta 1e-6", rules: str = "") -> Said:
        """Open a population."""
        said = self(f"budget open {name} {budget} {rules} --by board --why", "yearly report")
        assert said.code == 0, said.err
        return said

    def ledger(self) -> Ledger:
        """The ledger, as a program opens it."""
        return Ledger(self.file)

    def ask(self, plan: str, *, project: str = "flu", analyst: str = "ana", of: str = "patients") -> None:
        """Ask one question as a program does."""
        with self.ledger() as ledger:
            charge(
                ledger,
                question(plan, project=project, analyst=analyst, of=of),
                lambda _: json.dumps(COUNT.release(100)),
            )


def question(plan: str, *, project: str = "flu", analyst: str = "ana", of: str = "patients") -> Request:
    return Request(
        event=COUNT.event,
        fingerprint=fingerprint(plan=plan),
        population=of,
        project=project,
        analyst=analyst,
        title=plan,
        size=64,
    )
