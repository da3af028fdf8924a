"""A page's commands, typed one after the other, with its servers as real processes in the background."""

from __future__ import annotations

import re
import shlex
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.test_cli_pages import run


class Typed:
    """Types a line and gives what it printed; one that ends with & stays in the background.

    ``port`` is what the page calls the server's, ``told`` how a command tells a key, and ``used`` how later lines name
    it; ``{}`` stands for the key in both.
    """

    def __init__(self, folder: Path, *, port: str, told: str, used: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = str(free.getsockname()[1])
        self.folder, self.key, self.started = folder, "", list[subprocess.Popen[bytes]]()
        self._port, self._told, self._used = port, told, used

    def __call__(self, line: str) -> str:
        key = "(?!0{64})[0-9a-f]{64}"  # zeros are a page's wrong key
        named = re.sub(self._used.format(key), self._used.format(self.key), line)
        line = named.replace(self._port, self.port)
        printed = self._start(line.removesuffix("&")) if line.endswith("&") else run(line)
        if found := re.search(self._told.format("([0-9a-f]{64})"), printed):
            self.key = found[1]
        return printed.replace(self.port, self._port)

    def _start(self, line: str) -> str:
        """What a server printed when it listens; others have nothing to wait for."""
        log = self.folder / f"log{len(self.started)}"
        with log.open("w") as out:
            command = [sys.executable, "-m", "hubbub.cli", *shlex.split(line)[1:]]
            self.started.append(subprocess.Popen(command, stdout=out, stderr=out))
        if not re.search(r" (gopa board|serve|show|shuffle) ", f"{line} "):
            return ""
        for _ in range(1200):
            if "listening" in log.read_text():
                return log.read_text()
            time.sleep(0.05)
        raise AssertionError(log.read_text())

    def end(self) -> None:
        for process in self.started:
            process.kill()
            process.wait(30)


def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder, with the state beside it; gives where the state is."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("HUBBUB_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("HUBBUB_LEDGER", raising=False)
    return tmp_path / "state"
