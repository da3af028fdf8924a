"""Files that are there whole or not at all: die at every step, and look."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hubbub.durable import (
    SHARED,
    claim_name,
    lock_file,
    locked,
    make_private_folder,
    put_in_place,
    replace_file,
    replacing_file,
    sync_folder,
    write_fully,
    write_new_file,
)

OLD, NEW = b"old " * 100, b"new " * 5000


class Crash(BaseException):
    """The process dies here: no handler runs that catches errors."""


class Calls:
    """Every system call that writes, in order; it dies before call number ``deadly``, and a write is torn in two."""

    def __init__(self, patch: pytest.MonkeyPatch, deadly: int | None = None) -> None:
        self.names: list[str] = []
        self._deadly = deadly
        for name in ("open", "pwrite", "fsync"):
            patch.setattr(os, name, self._counted(name, getattr(os, name)))
        patch.setattr(Path, "replace", self._counted("replace", Path.replace))
        patch.setattr(Path, "unlink", self._counted("unlink", Path.unlink))

    def _counted(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            if self._deadly is not None and len(self.names) >= self._deadly:
                raise Crash
            self.names.append(_kind(name, arguments))
            if name == "pwrite" and len(arguments[1]) > 1:
                return real(arguments[0], arguments[1][: len(arguments[1]) // 2], arguments[2])
            return real(*arguments, **named)

        return call


def _kind(name: str, arguments: tuple[Any, ...]) -> str:
    """The name of a call; of a sync, also what it forces to disk."""
    if name == "fsync":
        return "sync folder" if stat.S_ISDIR(os.fstat(arguments[0]).st_mode) else "sync file"
    return name


def by_content(path: Path) -> None:
    replace_file(path, NEW)


def by_others(path: Path) -> None:
    with replacing_file(path) as draft:
        draft.write_bytes(NEW)


WAYS = pytest.mark.parametrize("write", [by_content, by_others])


@WAYS
@pytest.mark.parametrize("before", [OLD, None])
def test_whoever_dies_at_any_step_leaves_the_old_file_or_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], None], before: bytes | None
) -> None:
    path, seen = tmp_path / "file", set()
    for deadly in range(60):
        path.unlink(missing_ok=True)
        if before is not None:
            path.write_bytes(before)
        with monkeypatch.context() as patch:
            calls = Calls(patch, deadly)
            try:
                write(path)
                died = False
            except Crash:
                died = True
        content = path.read_bytes() if path.exists() else None
        assert content in {before, NEW}
        seen.add((content, died))
        if not died:
            assert len(calls.names) <= deadly and content == NEW
            break
    assert seen == {(before, True), (NEW, True), (NEW, False)}  # dead before the name was given, and after


@WAYS
def test_content_then_name_then_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], None]
) -> None:
    with monkeypatch.context() as patch:
        calls = Calls(patch)
        write(tmp_path / "file")
    steps = [name for name in calls.names if name not in {"open", "pwrite"}]
    assert steps == ["sync file", "replace", "sync folder"]


@WAYS
def test_a_full_disk_leaves_the_old_file_and_no_rubbish(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], None]
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "file"
    path.write_bytes(OLD)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            write(path)
    assert path.read_bytes() == OLD and list(tmp_path.iterdir()) == [path]


def test_a_block_that_fails_leaves_the_old_file_and_no_rubbish(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(OLD)
    with pytest.raises(KeyError), replacing_file(path) as draft:
        draft.write_bytes(NEW)
        raise KeyError
    assert path.read_bytes() == OLD and list(tmp_path.iterdir()) == [path]


def test_a_file_is_for_its_owner_unless_it_is_shared(tmp_path: Path) -> None:
    earlier = os.umask(0o022)
    try:
        replace_file(tmp_path / "private", b"")
        replace_file(tmp_path / "shared", b"", mode=SHARED)
        with replacing_file(tmp_path / "others"):
            pass
        claim_name(tmp_path / "claimed")
        write_new_file(tmp_path / "new", b"")
    finally:
        os.umask(earlier)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {"private": 0o600, "shared": 0o644, "others": 0o644, "claimed": 0o600, "new": 0o600}


def test_a_name_that_just_fits_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    replace_file(path, NEW)
    assert path.read_bytes() == NEW


def test_a_link_is_replaced_and_not_written_through(tmp_path: Path) -> None:
    target, path = tmp_path / "target", tmp_path / "link"
    target.write_bytes(OLD)
    path.symlink_to(target)
    replace_file(path, NEW)
    assert target.read_bytes() == OLD and path.read_bytes() == NEW and not path.is_symlink()


def test_many_writers_leave_the_whole_file_of_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    contents = [bytes([number]) * 200_000 for number in range(8)]
    threads = [threading.Thread(target=replace_file, args=(path, content)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_bytes() in contents and list(tmp_path.iterdir()) == [path]


def test_what_is_there_is_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(OLD)
    for write in (lambda: write_new_file(path, NEW), lambda: claim_name(path)):
        with pytest.raises(FileExistsError):
            write()
    assert path.read_bytes() == OLD


def test_a_new_file_whose_write_fails_leaves_its_name_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            write_new_file(tmp_path / "file", NEW)
    write_new_file(tmp_path / "file", NEW)
    assert (tmp_path / "file").read_bytes() == NEW


def test_folders_are_made_for_their_owner_all_the_way_down(tmp_path: Path) -> None:
    make_private_folder(tmp_path / "a" / "b")
    make_private_folder(tmp_path / "a" / "b")
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a", "a/b")] == [0o700, 0o700]
    sync_folder(tmp_path / "a")


def test_a_short_write_is_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.pwrite
    handle = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", lambda handle, content, offset: real(handle, content[:3], offset))
        write_fully(handle, b"0123456789", 2)
    os.close(handle)
    assert (tmp_path / "file").read_bytes() == b"\0\x000123456789"


def test_a_finished_file_takes_its_place(tmp_path: Path) -> None:
    (tmp_path / "draft").write_bytes(NEW)
    put_in_place(tmp_path / "draft", tmp_path / "file")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


# ---------------------------------------------------------------- locks

_HOLDER = """
import sys, time
from pathlib import Path
from hubbub.durable import lock_file
handle = lock_file(Path(sys.argv[1]))
print("locked", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the file locked until it is let go."""
    command = [sys.executable, "-c", _HOLDER, str(tmp_path / "lock")]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "locked\n"
    yield process
    process.kill()
    process.communicate()


@pytest.mark.parametrize("way", ["path", "handle"])
def test_a_lock_waits_for_the_other_process_and_is_free_when_that_one_dies(
    tmp_path: Path, holder: subprocess.Popen[str], way: str
) -> None:
    order: list[str] = []

    def take() -> None:
        if way == "path":
            os.close(lock_file(tmp_path / "lock"))
        else:
            handle = os.open(tmp_path / "lock", os.O_RDWR)
            with locked(handle):
                pass
            os.close(handle)
        order.append("taken")

    thread = threading.Thread(target=take)
    thread.start()
    thread.join(0.1)
    order.append("killed")
    holder.kill()
    thread.join(60)
    assert order == ["killed", "taken"]
