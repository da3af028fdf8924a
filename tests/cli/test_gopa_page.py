"""The page about GOPA: its commands print what it shows, with a real board and real parties; it names every option."""

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

PAGE = (DOCS / "cli-gopa.md").read_text(encoding="utf-8")
PORT = "8770"  # as the page calls it
NOISY = {
    r", \d+\.\d s$": ", <time>",
    r"\s+": " ",  # where lines break depends on the numbers
    r"is -?[\d.e-]+; 95 times out of 100 the exact one lies between -?[\d.e-]+ and -?[\d.e-]+\.": "is <mean>",
    r"--+": "--",
}


class Typed:
    """The page's commands, typed one after the other; a line that ends with & stays in the background."""

    def __init__(self, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = str(free.getsockname()[1])
        self.folder, self.key, self.started = folder, "", list[subprocess.Popen[bytes]]()

    def __call__(self, line: str) -> str:
        line = re.sub(r"--board [0-9a-f]{64}", f"--board {self.key}", line.replace(PORT, self.port))
        printed = self._start(line.removesuffix("&")) if line.endswith("&") else run(line)
        if found := re.match(r"board ([0-9a-f]{64})", printed):
            self.key = found[1]
        return printed.replace(self.port, PORT)

    def _start(self, line: str) -> str:
        log = self.folder / f"log{len(self.started)}"
        with log.open("w") as out:
            command = [sys.executable, "-m", "hubbub.cli", *shlex.split(line)[1:]]
            self.started.append(subprocess.Popen(command, stdout=out, stderr=out))
        for _ in range(1200 if " board " in f"{line} " and "--log" in line else 0):
            if "listening" in log.read_text():
                return log.read_text()
            time.sleep(0.05)
        return ""


def test_the_commands_print_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state, changing, seen = tmp_path / "state", CHANGING | NOISY, 0
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("HUBBUB_STATE", str(state))
    monkeypatch.delenv("HUBBUB_LEDGER", raising=False)
    typed = Typed(tmp_path)
    try:
        for _, body in BLOCK.findall(PAGE):
            for line, shown in commands(body):
                if "values.txt" in line:
                    continue  # there is no such file; tests of the command have one
                printed = typed(line).replace(str(state), SECOND_PLACE)
                assert same(printed, changing) == same(shown, changing), line
                seen += 1
        assert [process.wait(60) for process in typed.started] == [0] * 5
    finally:
        for process in typed.started:
            process.kill()
            process.wait(30)
    assert seen == 16


def test_the_page_names_every_option_beside_its_command() -> None:
    found = list(options("gopa"))
    assert len(found) > 60
    assert unnamed(PAGE, found, {"--help"}) == []
    assert unnamed(PAGE.replace("`--patience` (10),", ""), found, {"--help"}) != []
