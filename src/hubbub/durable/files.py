"""Files that are there whole or not at all, whatever happens; folders and locks.

A file is written beside its place under a name that nobody else has, forced to disk, and given its name in one step;
then the folder is forced to disk, since a name can be lost as well. ``OSError`` is left to the caller, who knows what
was to be written.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PRIVATE = 0o600  # for its owner alone
SHARED = 0o666  # as the process' umask allows
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def replace_file(path: Path, content: bytes, *, mode: int = PRIVATE) -> None:
    """Put a file at ``path``, in place of one that is there.

    Guarantee: after a crash at any point the old file is there or the new one, never a part; the new one once this has
    returned.
    Because: POSIX rename is atomic, and comes after fsync of the content and before fsync of the folder.
    """
    draft = _draft_beside(path)
    try:
        _write_new(draft, content, mode)
        _take_name(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


@contextmanager
def replacing_file(path: Path, *, mode: int = SHARED) -> Iterator[Path]:
    """A new file beside ``path`` for others to write: it takes the name when the block ends well, else it goes."""
    draft = _draft_beside(path)
    try:
        os.close(os.open(draft, _NEW, mode))
        yield draft
        put_in_place(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def put_in_place(draft: Path, path: Path) -> None:
    """Force a finished file to disk and give it its name."""
    handle = os.open(draft, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
    _take_name(draft, path)


def write_new_file(path: Path, content: bytes, *, mode: int = PRIVATE) -> None:
    """Write a file that is not there yet; ``FileExistsError`` if it is, and then it is left as it was.

    The name is claimed first: a crash may leave the file empty, and never with a part of the content.
    """
    claim_name(path, mode=mode)
    try:
        replace_file(path, content, mode=mode)
    except BaseException:
        path.unlink(missing_ok=True)  # it is ours, and empty
        raise


def claim_name(path: Path, *, mode: int = PRIVATE) -> None:
    """Make an empty file; whoever comes second finds it there (``FileExistsError``)."""
    os.close(os.open(path, _NEW, mode))


def make_private_folder(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for their owner alone."""
    if not folder.is_dir():
        make_private_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def write_fully(handle: int, content: bytes, offset: int) -> None:
    """Write all of it: on a full disk the system may take a part, and says why only when asked for the rest."""
    while content:
        written = os.pwrite(handle, content, offset)
        content, offset = content[written:], offset + written


def sync_data(handle: int) -> None:
    """Force an open file's content to disk."""
    os.fdatasync(handle)


def sync_folder(folder: Path) -> None:
    """Force a folder's list of names to disk."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def lock_file(path: Path) -> int:
    """Open a file, made if need be, and wait until nobody else has it locked; closing it lets others have it."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
    except BaseException:
        os.close(handle)
        raise
    return handle


@contextmanager
def locked(handle: int) -> Iterator[None]:
    """Nobody else has this open file locked in the meantime."""
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(handle, fcntl.LOCK_UN)


def _draft_beside(path: Path) -> Path:
    """A name that no other process or machine chooses, and that is not too long where the file's own just fits."""
    return path.with_name(f".{secrets.token_hex(8)}.part")


def _write_new(path: Path, content: bytes, mode: int) -> None:
    handle = os.open(path, _NEW, mode)
    try:
        write_fully(handle, content, 0)
        os.fsync(handle)
    finally:
        os.close(handle)


def _take_name(draft: Path, path: Path) -> None:
    draft.replace(path)
    sync_folder(path.parent)
