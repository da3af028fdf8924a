"""The seal of a prepared copy: a digest of the file's own footer, which no other file has.

A Parquet file ends with a footer: its schema, its notes, and for each group of rows how many there are, where they lie
and how large they are. Programs that filter, append or join files write a footer of their own and often keep the notes.
So the notes of a copy hold a digest of the footer they stand in, and a note that was carried to another file gives
itself away. Checking it reads the footer and no row.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from pathlib import Path

from hubbub.engines import notes_in_footer

FORMAT = "2"
_FORMAT, _UNIT, _PERSON, _SEAL = "hubbub.prepared", "hubbub.unit", "hubbub.person", "hubbub.seal"
_END = b"PAR1"
_BLANK = b"0" * 64


@dataclass(frozen=True, slots=True)
class Notes:
    """What a file says of itself: for which unit it was prepared, in which form ids were compared, and its seal."""

    unit: str
    form: str
    sealed: bool


def notes_for(unit: str, form: str) -> dict[str, str]:
    """The notes to write with a copy; its seal is a word of the right length that stands nowhere else."""
    return {_FORMAT: FORMAT, _UNIT: unit, _PERSON: form, _SEAL: secrets.token_hex(len(_BLANK) // 2)}


def seal(file: Path, word: str) -> None:
    """Put the digest of the footer in the place of the word in it."""
    start, footer = _read_footer(file)
    assert footer.count(word.encode()) == 1, "the engine writes notes as they are"
    with file.open("r+b") as opened:
        opened.seek(start + footer.index(word.encode()))
        opened.write(_seal_digest(start, footer, word).encode())


def word_of(notes: dict[str, str]) -> str:
    """The word that stands where the seal will be."""
    return notes[_SEAL]


def notes_in(file: str) -> Notes | None:
    """What a Parquet file says of itself; None if it never was a copy, or is no Parquet file."""
    footer = notes_in_footer(file)
    if footer is None or _FORMAT.encode() not in footer:
        return None  # opening what is no Parquet file will say so
    notes = {name: note.decode("utf-8", "replace") for name, note in footer.items()}
    unit, form, word = (notes.get(name.encode(), "") for name in (_UNIT, _PERSON, _SEAL))
    return Notes(unit, form, notes[_FORMAT.encode()] == FORMAT and _is_sealed(Path(file), word))


def _is_sealed(file: Path, word: str) -> bool:
    start, footer = _read_footer(file)
    whole = len(word) == len(_BLANK) and footer.count(word.encode()) == 1
    return whole and secrets.compare_digest(_seal_digest(start, footer, word), word)


def _read_footer(file: Path) -> tuple[int, bytes]:
    """Where the footer begins, and its bytes up to the end of the file."""
    size = file.stat().st_size
    with file.open("rb") as opened:
        opened.seek(max(0, size - 8))
        tail = opened.read()
        length = int.from_bytes(tail[:4], "little") + 8
        if tail[4:] != _END or length > size:
            return size, b""
        opened.seek(size - length)
        return size - length, opened.read()


def _seal_digest(start: int, footer: bytes, word: str) -> str:
    return hashlib.sha256(start.to_bytes(8, "little") + footer.replace(word.encode(), _BLANK)).hexdigest()
