"""What the tests of the command line share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli._shell import Shell


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    """A folder in which nothing of the machine's own ledgers or second place is touched."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HUBBUB_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("HUBBUB_LEDGER", raising=False)
    monkeypatch.setenv("LOGNAME", "olga")
    return Shell(tmp_path, capsys)
