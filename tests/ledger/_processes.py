"""Real processes for the hard tests: forked, so that nothing is imported again, and reporting through a pipe."""

from __future__ import annotations

import json
import os
import select
import signal
import traceback
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

Report = Callable[..., None]
_PATIENCE = 150  # seconds after which a child that hangs is ended, which fails its test
_write = os.write  # tests replace os.write inside children


@dataclass
class Ended:
    """What became of a child: everything that it reported, and how it ended."""

    reports: list[dict[str, Any]]
    status: int

    @property
    def killed(self) -> bool:
        return os.WIFSIGNALED(self.status) and os.WTERMSIG(self.status) == signal.SIGKILL

    def well(self) -> list[dict[str, Any]]:
        """The reports of a child that must have ended by itself and without an error."""
        assert os.WIFEXITED(self.status) and os.WEXITSTATUS(self.status) == 0, (self.status, self.reports)
        return self.reports

    def of(self, kind: str) -> list[Any]:
        """What was reported under one name."""
        return [report[kind] for report in self.reports if kind in report]


class Child:
    """A forked process that does ``work(report)`` and nothing else."""

    def __init__(self, work: Callable[[Report], None]) -> None:
        self._reading, writing = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # "multi-threaded": the other thread is pytest-xdist's
            self.pid = os.fork()
        if self.pid == 0:
            _be_child(work, writing)
        os.close(writing)
        self._rest = b""
        self._reports: list[dict[str, Any]] = []
        self._given = 0

    def next(self) -> dict[str, Any]:
        """Wait for the next report."""
        while self._given == len(self._reports):
            assert self._take(), f"the child ended early: {self.wait()}"
        self._given += 1
        return self._reports[self._given - 1]

    def drain(self) -> None:
        """Take what was reported so far, so that the pipe does not fill up; ``next`` waits for something newer."""
        while select.select([self._reading], [], [], 0)[0] and self._take():
            pass
        self._given = len(self._reports)

    def _take(self) -> bool:
        """Read some more; False when the child has ended."""
        found = os.read(self._reading, 65536)
        *lines, self._rest = (self._rest + found).split(b"\n")
        self._reports += [json.loads(line) for line in lines]
        return bool(found)

    def kill(self) -> Ended:
        os.kill(self.pid, signal.SIGKILL)
        return self.wait()

    def wait(self) -> Ended:
        """Wait until it ends."""
        while self._take():
            pass
        os.close(self._reading)
        _, status = os.waitpid(self.pid, 0)
        return Ended(self._reports, status)


def run(work: Callable[[Report], None]) -> Ended:
    """Do the work in a child and wait for it."""
    return Child(work).wait()


def run_all(works: Iterable[Callable[[Report], None]]) -> list[Ended]:
    """Do each work in a child of its own, all let go at the same moment."""
    gate, opener = os.pipe()

    def waiting(work: Callable[[Report], None]) -> Callable[[Report], None]:
        def begin(report: Report) -> None:
            os.close(opener)
            os.read(gate, 1)  # until the parent closes its end
            work(report)

        return begin

    children = [Child(waiting(work)) for work in works]
    os.close(gate)
    os.close(opener)
    return [child.wait() for child in children]


def _be_child(work: Callable[[Report], None], writing: int) -> NoReturn:
    def report(**said: Any) -> None:
        _write(writing, json.dumps(said).encode() + b"\n")  # short enough to be written at once

    status = 1
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(_PATIENCE)
        work(report)
        status = 0
    except BaseException:
        report(error=traceback.format_exc()[-3000:])
    finally:
        os._exit(status)
