"""A file of lines: what was appended is there, whole and in its place, and nothing else."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from hubbub.durable import Journal
from hubbub.terms import SourceUnavailable


def _full(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_lines_are_there_when_it_is_opened_again(tmp_path: Path) -> None:
    with Journal(tmp_path / "log") as journal:
        journal.append([b"one", b"two"])
        journal.append([])
        journal.append([b"three"])
    with Journal(tmp_path / "log") as journal:
        assert journal.lines == [b"one", b"two", b"three"]


@pytest.mark.parametrize("cut", range(8))
def test_a_line_that_was_cut_off_is_taken_away(tmp_path: Path, cut: int) -> None:
    whole = b"one\ntwo\n"
    (tmp_path / "log").write_bytes(whole[:cut])
    with Journal(tmp_path / "log") as journal:
        assert journal.lines == ([b"one"] if cut >= 4 else [])
        journal.append([b"next"])
    assert (tmp_path / "log").read_bytes() == (b"one\n" if cut >= 4 else b"") + b"next\n"


def test_a_line_that_could_not_be_forced_to_disk_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Journal(tmp_path / "log") as journal:
        journal.append([b"one"])
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", _full)
            with pytest.raises(SourceUnavailable, match="no space"):
                journal.append([b"lost"])
        journal.append([b"two"])
        assert journal.lines == [b"one", b"two"]
    assert (tmp_path / "log").read_bytes() == b"one\ntwo\n"


def test_a_file_that_cannot_be_cut_is_written_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the next line would begin in the middle of the torn one."""
    real = os.write
    with Journal(tmp_path / "log") as journal:
        journal.append([b"one"])
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", lambda handle, data: real(handle, data[:2]) if len(data) > 2 else _full())
            patch.setattr(os, "ftruncate", _full)
            with pytest.raises(SourceUnavailable, match="no space"):
                journal.append([b"torn"])
        with pytest.raises(SourceUnavailable):
            journal.append([b"two"])
    with Journal(tmp_path / "log") as journal:
        assert journal.lines == [b"one"]


def test_two_cannot_have_it_open(tmp_path: Path) -> None:
    with Journal(tmp_path / "log"), pytest.raises(SourceUnavailable, match="another process"):
        Journal(tmp_path / "log")
    Journal(tmp_path / "log").close()


def test_the_folder_is_forced_to_disk_when_a_file_is_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders: list[bool] = []
    real = os.fsync

    def seen(handle: int) -> None:
        folders.append(stat.S_ISDIR(os.fstat(handle).st_mode))
        real(handle)

    monkeypatch.setattr(os, "fsync", seen)
    Journal(tmp_path / "log").close()
    assert folders == [False, True]
