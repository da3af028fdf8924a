"""CSV files as records: one physical line is one record, and no line can touch another.

A line ends at a line feed; a carriage return before it is no part of it. Its cells stand between commas (tabs in a
``.tsv`` file). A cell that begins with a double quote ends with one, on the same line; inside it, two quotes stand for
one. Elsewhere a quote is a sign like others. An empty cell is missing. A line is left out, it alone, if it has more or
fewer cells than there are columns, a quote that does not end, a carriage return inside, or more than 2 MiB. Bytes that
are no UTF-8 and NULs become the replacement sign. Nothing is guessed from the rows: no separator, no type, no header.
"""

from __future__ import annotations

import gzip
import re
import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

import numpy as np

if TYPE_CHECKING:
    import pyarrow

LONGEST = 1 << 21  # bytes of a line
_BLOCK = 1 << 24  # bytes that are read at a time: more than a line has
_PARSED = 1 << 23  # bytes that are parsed at a time: more than a line has whose every byte became three
_BOM = b"\xef\xbb\xbf"
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}".encode()
_CELL = r'(?:"(?:[^"\r\n]|"")*"|(?:[^"{mark}\r\n][^{mark}\r\n]*)?)'
UNREADABLE = (OSError, EOFError, zlib.error)  # what a file that is gone, cut short or badly packed raises


@dataclass(frozen=True, slots=True)
class Csv:
    """CSV files of the same columns, which nobody has read yet; ``header`` says that their first lines hold names.

    Guarantee: the records of all other lines are the same with and without any one line.
    Because: every step below is a function of one line. Lines are cut at line feeds, which no other sign contains in
    UTF-8; the parser gets only lines whose quotes end, so that its cells and ours agree.
    """

    files: tuple[str, ...]
    names: tuple[str, ...]
    header: bool = True
    _lock: threading.Lock = field(default_factory=threading.Lock, compare=False, repr=False)
    _held: list[pyarrow.Table] = field(default_factory=list, compare=False, repr=False)

    def empty(self) -> pyarrow.Table:
        """The columns without a row: all text."""
        import pyarrow

        columns = pyarrow.schema([(name, pyarrow.string()) for name in self.names])
        return pyarrow.Table.from_batches([], columns)  # an array made of a list loads pandas, if it is there

    def read(self) -> pyarrow.Table:
        """The records as text, read when they are first asked for; whoever asks at the same time waits."""
        with self._lock:
            if not self._held:
                self._held.append(self._records())
            return self._held[0]

    def guessed(self) -> pyarrow.Table:
        """The records with the types that their cells look like: for an owner who sees the rows, and never else."""
        [file] = self.files
        mark = mark_of(file)
        lines = b"".join(_whole_lines(block, mark) for block in _file_blocks(file, header=self.header))
        return _parse_lines(lines, mark, self.names, {})

    def _records(self) -> pyarrow.Table:
        import pyarrow

        return pyarrow.concat_tables([self.empty(), *(table for file in self.files for table in self._tables(file))])

    def _tables(self, file: str) -> Iterator[pyarrow.Table]:
        import pyarrow

        mark, text = mark_of(file), dict.fromkeys(self.names, pyarrow.string())
        for block in _file_blocks(file, header=self.header):
            yield _parse_lines(_whole_lines(block, mark), mark, self.names, text)


def mark_of(file: str) -> str:
    """What separates cells, by the file's ending."""
    return "\t" if file.lower().removesuffix(".gz").endswith(".tsv") else ","


def first_line(file: str) -> list[str] | None:
    """The cells of the first line; None if that is no record, or longer than any line may be."""
    with _open_stream(file) as stream:
        line = stream.readline(LONGEST + 1).removeprefix(_BOM)
    if not line or len(line) > LONGEST:
        return None
    mark = mark_of(file)
    line = _whole_lines(line if line.endswith(b"\n") else line + b"\n", mark).removesuffix(b"\n")
    return _split_cells(line.decode(), mark) if line else None


def _split_cells(line: str, mark: str) -> list[str]:
    """The cells of one line whose quotes end."""
    cells = re.findall(f"(?:^|{mark}){_CELL.format(mark=mark)}", line)
    bare = [cells[0], *(cell[1:] for cell in cells[1:])]
    return [cell[1:-1].replace('""', '"') if cell.startswith('"') else cell for cell in bare]


def _open_stream(file: str) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(file, "rb")) if file.lower().endswith(".gz") else Path(file).open("rb")


# ---------------------------------------------------------------- bytes -> lines


def _file_blocks(file: str, *, header: bool) -> Iterator[bytes]:
    """The lines of a file after its header, many at a time."""
    with _open_stream(file) as stream:
        if header:
            stream.readline(LONGEST + 1)
        for place, block in enumerate(_read_blocks(stream)):
            yield block.removeprefix(_BOM) if not place and not header else block


def _read_blocks(stream: IO[bytes]) -> Iterator[bytes]:
    """Whole lines, each with its line feed; what is longer than a line may be is passed over while it is read."""
    rest, passing = b"", False
    while chunk := stream.read(_BLOCK):
        if passing:
            end = chunk.find(b"\n") + 1
            if not end:
                continue
            chunk, passing = chunk[end:], False
        block = rest + chunk
        end = block.rfind(b"\n") + 1
        rest = block[end:]
        if len(rest) > LONGEST:
            rest, passing = b"", True
        if end:
            yield block[:end]
    if rest:
        yield rest + b"\n"


def _whole_lines(block: bytes, mark: str) -> bytes:
    """The lines of a block that are records, as text that a parser reads in one way."""
    import pyarrow.compute as pc

    lines, sizes = _split_lines(block)
    if sizes.max(initial=0) > LONGEST:
        block = _join_lines(lines, sizes <= LONGEST)
    try:
        block.decode()
    except UnicodeDecodeError:
        block = block.decode("utf-8", "replace").encode()  # a line feed is never part of what is replaced
    block = block.replace(b"\0", _REPLACEMENT).replace(b"\r\n", b"\n")
    if b'"' not in block and b"\r" not in block:
        return block
    cell = _CELL.format(mark=mark)
    lines, _ = _split_lines(block)
    return _join_lines(lines, pc.match_substring_regex(lines, f"^{cell}(?:{mark}{cell})*\n\\z"))


def _split_lines(block: bytes) -> tuple[pyarrow.Array, np.ndarray[tuple[int], np.dtype[np.int32]]]:
    """Each line with its line feed, over the same bytes; and how many bytes each has."""
    import pyarrow

    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n")) + 1
    places = np.concatenate(([0], ends)).astype(np.int32)
    buffers = [None, pyarrow.py_buffer(places), pyarrow.py_buffer(block)]
    return pyarrow.Array.from_buffers(pyarrow.binary(), ends.size, buffers), np.diff(places)


def _join_lines(lines: pyarrow.Array, kept: object) -> bytes:
    """The lines that are kept, as one block."""
    import pyarrow

    chosen = lines.filter(pyarrow.array(kept))
    return b"" if not len(chosen) else chosen.buffers()[2].to_pybytes()


# ---------------------------------------------------------------- lines -> cells


def _parse_lines(lines: bytes, mark: str, names: Sequence[str], types: Mapping[str, pyarrow.DataType]) -> pyarrow.Table:
    """The cells of whole lines; those of another number of cells are left out, and so are empty lines."""
    import pyarrow
    from pyarrow import csv

    text = b"\n" + lines  # else a mark of byte order would be cut from the line that happens to be a block's first
    return csv.read_csv(
        pyarrow.BufferReader(text),
        read_options=csv.ReadOptions(column_names=names, block_size=_PARSED, use_threads=False),
        parse_options=csv.ParseOptions(delimiter=mark, invalid_row_handler=lambda _: "skip"),
        convert_options=csv.ConvertOptions(column_types=types, null_values=[""], strings_can_be_null=True),
    )
