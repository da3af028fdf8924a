"""A file of lines that only grows: what is in it was on disk before anybody heard of it.

The board keeps its log in one, and every host of parties what they drew and said. A line that a crash cut off was never
spoken of, and is taken away when the file is opened again. One process at a time may have it open: two that write the
same log, or speak for the same party, could say two different things.
"""

from __future__ import annotations

import errno
import fcntl
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from hubbub.durable.files import sync_folder
from hubbub.terms import SourceUnavailable


class Journal:
    """An append-only file of lines, with one writer; the thread that closes it waits for one that still writes.

    Guarantee: a line whose ``append`` returned is in the file after a crash, whole and in its place.
    Because: it is written and synced before; the name of a new file too (POSIX fsync on the file and its folder).
    """

    def __init__(self, path: Path | str, *, mode: int = 0o600) -> None:
        self.path, self._turn = Path(path), threading.Lock()
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, mode)
        except OSError as error:
            raise self._failed(error) from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.lines = self._whole_lines()
        except BlockingIOError:
            os.close(self._file)
            raise self._taken() from None
        except OSError as error:
            os.close(self._file)
            raise self._failed(error) from None

    def append(self, lines: Sequence[bytes]) -> None:
        """Write lines and wait until they are on disk; all of them or, after an error, none."""
        data = b"".join(line + b"\n" for line in lines)
        if not data:
            return
        with self._turn:
            if self._file < 0:
                raise self._failed(OSError(errno.EBADF, "closed"))
            try:
                self._write(data)
                os.fsync(self._file)
            except OSError as error:
                self._take_back()
                raise self._failed(error) from None
            self._size += len(data)
            self.lines += lines

    def close(self) -> None:
        """Let others have it."""
        with self._turn:
            self._let_go()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _let_go(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _take_back(self) -> None:
        """Cut off what was not written whole; what cannot be cut is written no more, or lines would run together."""
        try:
            os.ftruncate(self._file, self._size)
        except OSError:
            self._let_go()

    def _write(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            left = left[os.write(self._file, left) :]

    def _whole_lines(self) -> list[bytes]:
        """What is in the file, less a line that was being written when its writer died."""
        data = self.path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            os.ftruncate(self._file, len(whole))
        os.fsync(self._file)
        sync_folder(self.path.parent)
        self._size = len(whole)
        return whole.split(b"\n")[:-1]

    def _failed(self, error: OSError) -> SourceUnavailable:
        return SourceUnavailable(
            f"{self.path} cannot be read and written: {os.strerror(error.errno or 0).lower()}.",
            why="Nothing is said that was not written down first.",
            fix="Make room or give rights in that folder, or name another file.",
        )

    def _taken(self) -> SourceUnavailable:
        return SourceUnavailable(
            f"another process has {self.path} open.",
            why="Two processes that speak from one file could say two different things.",
            fix="Let the other one finish, or stop it.",
        )
