"""The page about collecting: its commands print what it shows, with a real collector, and it names every option."""

from __future__ import annotations

import re
import shlex
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.test_cli_pages import BLOCK, CHANGING, DOCS, SECOND_PLACE, commands, options, run, same, unnamed

PAGE = (DOCS / "cli-collect.md").read_text(encoding="utf-8")
PORT = "8765"  # as the page calls it
NOISY = {
    r"-?\d+\.\d+": "<number>",  # estimates
    r"^[\w-]{107}$": "<token>",
    r"--+": "--",
    r" +": " ",
}


class Typed:
    """The page's commands, typed one after the other; a line that ends with & stays in the background."""

    def __init__(self, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = str(free.getsockname()[1])
        self.folder, self.key, self.servers = folder, "", list[subprocess.Popen[bytes]]()

    def __call__(self, line: str) -> str:
        (page_key,) = set(re.findall(r"--key ([1-9a-f][0-9a-f]{63})", PAGE))
        line = line.replace(PORT, self.port).replace(page_key, self.key)
        printed = self._start(line.removesuffix("&")) if line.endswith("&") else run(line)
        if found := re.search(r"Clients need this key.*: ([0-9a-f]{64})", printed):
            self.key = found[1]
        return printed.replace(self.port, PORT)

    def _start(self, line: str) -> str:
        log = self.folder / "log"
        with log.open("w") as out:
            command = [sys.executable, "-m", "hubbub.cli", *shlex.split(line)[1:]]
            self.servers.append(subprocess.Popen(command, stdout=out, stderr=out))
        for _ in range(600):
            if "listening" in log.read_text():
                return log.read_text()
            time.sleep(0.05)
        raise AssertionError(log.read_text())


def test_the_commands_print_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state, changing, seen = tmp_path / "state", CHANGING | NOISY, 0
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("HUBBUB_STATE", str(state))
    monkeypatch.delenv("HUBBUB_LEDGER", raising=False)
    typed = Typed(tmp_path)
    try:
        for language, body in BLOCK.findall(PAGE):
            if language == "python":
                exec(body.replace(PORT, typed.port), {})
                continue
            for line, shown in commands(body):
                printed = typed(line).replace(str(state), SECOND_PLACE)
                assert same(printed, changing) == same(shown, changing), line
                seen += 1
    finally:
        for server in typed.servers:
            server.terminate()
            server.wait(30)
    assert seen == 9


def test_the_page_names_every_option_beside_its_command() -> None:
    found = list(options("collect"))
    assert len(found) > 35
    assert unnamed(PAGE, found, {"--help"}) == []
    assert unnamed(PAGE.replace("`--per-token`,", ""), found, {"--help"}) != []


def test_every_command_that_ends_has_json() -> None:
    found = list(options("collect"))
    ending = {command for command, _ in found} - {"hubbub collect serve", "hubbub collect shuffle"}
    assert {command for command, option in found if option == "--json"} == ending
