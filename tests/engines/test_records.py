"""A line of a CSV file is a record by itself: whatever it holds, all other records stay as they are."""

from __future__ import annotations

import gzip
import random
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import pytest

from hubbub.engines import records
from hubbub.engines.records import LONGEST, Csv, first_line
from hubbub.engines.sources import header_of
from hubbub.terms import SourceUnavailable

NAMES = ("id", "ward", "cost")
PEERS = [b"%d,north,%d.5" % (i, i) for i in range(40)]
HOSTILE: dict[str, bytes] = {
    "an open quote": b'7,"north,1',
    "an open quote at the end": b'7,north,"',
    "a quote alone": b'"',
    "three quotes": b'"""',
    "signs after a quote": b'7,"north"x,1',
    "quotes in the middle": b'7,5" pipe" ",1',
    "quoted cells": b'"7","nor,th","""1"""',
    "too few cells": b"7,north",
    "too many cells": b"7,north,1,2",
    "no cells": b"",
    "only marks": b",,",
    "invalid UTF-8": b"7,n\xff\xfe\xc3,1",
    "a cut sign at the end": b"7,north,\xe2\x82",
    "a surrogate": b"7,\xed\xa0\x80,1",
    "NUL": b"7,no\0rth,1",
    "only NUL": b"\0",
    "a lone carriage return": b"7,no\rrth,1",
    "a carriage return in quotes": b'7,"no\rrth",1',
    "carriage returns": b"\r\r\r",
    "a carriage return at the end": b"7,north,1\r",
    "two at the end": b"7,north,1\r\r",
    "a mark of byte order": b"\xef\xbb\xbf7,north,1",
    "a backslash": b'7,"\\",1',
    "a comment": b"#7,north,1",
    "a line as long as may be": b"7,north," + b"x" * (LONGEST - 9),
    "a line too long": b"7,north," + b"x" * (LONGEST - 8),
    "a line far too long": b"7,north," + b"x" * (3 * LONGEST),
    "a long open quote": b'7,"' + b'x,"",' * 100_000,
    "long and invalid": b"7,north," + b"\xff" * (LONGEST - 9),
    "thousands of cells": b"," * 100_000,
    "an end of file": b"7,\x1a,1",
    "other line ends": "7,\u2028\u2029\x85\x0b\x0c,1".encode(),
}


def read(
    folder: Path, lines: Sequence[bytes], *, end: bytes = b"\n", last: bytes = b"\n"
) -> list[tuple[str | None, ...]]:
    """The records of a file with these lines."""
    file = folder / "t.csv"
    file.write_bytes(end.join([b"id,ward,cost", *lines]) + last)
    return [tuple(row.values()) for row in Csv((str(file),), NAMES).read().to_pylist()]


PEER_ROWS = [(str(i), "north", f"{i}.5") for i in range(40)]


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("last", [b"\n", b""], ids=["ended", "open"])
def test_a_hostile_line_is_its_own_loss_alone_wherever_it_stands(hostile: bytes, last: bytes, tmp_path: Path) -> None:
    own = read(tmp_path, [hostile])
    assert len(own) <= 1
    for place in (0, 1, 20, 39, 40):
        rows = read(tmp_path, [*PEERS[:place], hostile, *PEERS[place:]], last=last)
        assert rows == [*PEER_ROWS[:place], *own, *PEER_ROWS[place:]]


@pytest.mark.parametrize("size", [64, 100, 1 << 10])
def test_where_a_block_ends_makes_no_difference(size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = {name: line for name, line in HOSTILE.items() if len(line) < 50}
    lines = list(chain.from_iterable(zip(small.values(), PEERS, strict=False)))
    whole = read(tmp_path, lines)
    monkeypatch.setattr(records, "_BLOCK", size)
    assert read(tmp_path, lines) == whole
    monkeypatch.setattr(records, "LONGEST", 48)
    assert set(read(tmp_path, [*lines, b"1,north," + b"x" * 5000, *PEERS])) >= set(PEER_ROWS)


def test_any_bytes_between_two_line_feeds_leave_the_others_as_they_are(tmp_path: Path, soak: int) -> None:
    draw = random.Random(16)
    signs = [b'"', b'""', b",", b"\r", b"\0", b"\xff", b"\xc3", b"a", b" ", b"\t", b"\xef\xbb\xbf", "ä".encode(), b"'"]
    for _ in range(60 * soak):
        odd = [b"".join(draw.choices(signs, k=draw.randrange(12))) for _ in range(30)]
        alone = [read(tmp_path, [line]) for line in odd]
        assert read(tmp_path, odd) == list(chain.from_iterable(alone))


def plain_cells(line: str) -> list[str] | None:
    """The rule of a line, sign by sign: an oracle that shares nothing with the reader."""
    cells, rest = [], line
    while True:
        if rest.startswith('"'):
            cell, rest = "", rest[1:]
            while True:
                inside, quote, rest = rest.partition('"')
                if not quote:
                    return None
                cell += inside
                if not rest.startswith('"'):
                    break
                cell, rest = cell + '"', rest[1:]
            if rest and not rest.startswith(","):
                return None
        else:
            cell, comma, after = rest.partition(",")
            rest = comma + after
        cells.append(cell)
        if not rest:
            return cells
        rest = rest[1:]


def test_cells_are_those_of_a_reader_that_goes_sign_by_sign(tmp_path: Path, soak: int) -> None:
    draw = random.Random(4)
    for _ in range(40 * soak):
        lines = ["".join(draw.choices('"",,ab ', k=draw.randrange(1, 12))) for _ in range(50)]
        wanted = [tuple(cell or None for cell in cells) for line in lines if len(cells := plain_cells(line) or []) == 3]
        assert read(tmp_path, [line.encode() for line in lines]) == wanted


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_both_kinds_of_line_ends_give_the_same_records(end: bytes, tmp_path: Path) -> None:
    lines = [b'"a,b",c,d', b"", b"1,2,3"]
    assert read(tmp_path, lines, end=end, last=b"") == [("a,b", "c", "d"), ("1", "2", "3")]
    assert read(tmp_path, [b"1,2,3\r\n4,5,6", b"7,8,9"]) == [("1", "2", "3"), ("4", "5", "6"), ("7", "8", "9")]


def test_an_empty_cell_is_missing_with_and_without_quotes(tmp_path: Path) -> None:
    assert read(tmp_path, [b'1,,""', b"NULL,NaN, "]) == [("1", None, None), ("NULL", "NaN", " ")]


def test_a_parser_that_lets_quotes_run_on_would_be_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "_whole_lines", lambda block, mark: block)
    rows = read(tmp_path, [HOSTILE["an open quote"], *PEERS])
    assert rows != PEER_ROWS


# ---------------------------------------------------------------- files


def test_packed_files_tabs_and_several_files_are_read_alike(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbfid,ward\n1,n\n")
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(b"id,ward\n2,s"))
    (tmp_path / "c.tsv").write_bytes(b'id\tward\n3\t"x\ty"\n')
    files = tuple(str(tmp_path / name) for name in ("a.csv", "b.csv.gz", "c.tsv"))
    assert header_of(*files) == ["id", "ward"]
    rows = Csv(files, ("id", "ward")).read().to_pylist()
    assert [tuple(row.values()) for row in rows] == [("1", "n"), ("2", "s"), ("3", "x\ty")]


def test_without_a_header_the_first_line_is_a_record(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbf1,n\n2,s\n")
    rows = Csv((str(tmp_path / "a.csv"),), ("id", "ward"), header=False).read().to_pylist()
    assert [row["id"] for row in rows] == ["1", "2"]


def test_records_are_read_once_and_kept(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"id\n1\n")
    table = Csv((str(tmp_path / "a.csv"),), ("id",))
    assert table.empty().num_rows == 0
    assert table.read().num_rows == 1
    (tmp_path / "a.csv").unlink()
    assert table.read().num_rows == 1


@pytest.mark.parametrize(
    "first",
    [b"", b"\n", b"id,id", b"ID,id", b"id,", b'id,"ward', b"id\rward", b"id," + b"x" * LONGEST, b"\xff\xfei\0d\0\r"],
)
def test_a_first_line_that_is_no_list_of_names_is_not_shown(first: bytes, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(first + b"\nAnn Example,17\n")
    with pytest.raises(SourceUnavailable) as refusal:
        header_of(str(tmp_path / "t.csv"))
    assert "does not name its columns" in refusal.value.what
    assert "Ann" not in str(refusal.value) and "ward" not in str(refusal.value)


def test_files_of_one_table_have_one_header(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,ward\n1,n\n")
    (tmp_path / "b.csv").write_text("ward,id\nn,1\n")
    with pytest.raises(SourceUnavailable, match="does not name"):
        header_of(str(tmp_path / "a.csv"), str(tmp_path / "b.csv"))


@pytest.mark.parametrize(
    ("line", "cells"),
    [
        (b"a,b", ["a", "b"]),
        (b'"a,b","c""d",', ["a,b", 'c"d', ""]),
        (b",a", ["", "a"]),
        (b'5" pipe, b', ['5" pipe', " b"]),
        (b"\xef\xbb\xbfa", ["a"]),
        (b"a\r", ["a"]),
    ],
)
def test_a_first_line_has_the_cells_of_any_line(line: bytes, cells: list[str], tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(line + b"\n")
    assert first_line(str(tmp_path / "t.csv")) == cells
