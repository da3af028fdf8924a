"""Anchors never go back, keep the larger totals, and survive a torn write."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub.accounting.budget_limits import Amount
from hubbub.ledger.book.anchors import Anchor, Anchors
from hubbub.terms import LedgerUnavailable

amounts = st.builds(Amount, *[st.integers(0, 2**240)] * 4)
HEADS = st.binary(min_size=32, max_size=32)


@given(st.text(max_size=100), st.integers(1, 2**60), HEADS, amounts, amounts, st.integers(1, 2**60))
def test_a_slot_reads_back(name: str, sequence: int, head: bytes, one: Amount, two: Amount, number: int) -> None:
    anchor = Anchor(name, sequence, head, (one, two), number)
    slot = anchor.pack()
    assert Anchor.unpack(slot) == anchor
    torn = bytearray(slot)
    torn[20] ^= 1
    assert Anchor.unpack(bytes(torn)) is None
    assert Anchor.unpack(bytes(len(slot))) is None and Anchor.unpack(b"") is None


def test_the_later_head_and_the_larger_totals_stay_whoever_comes_last(tmp_path: Path) -> None:
    one, two = Anchors(tmp_path), Anchors(tmp_path)
    one.cover("p", 13, b"a" * 32, (Amount(1), Amount()))
    two.cover("p", 12, b"b" * 32, (Amount(2), Amount()))
    assert two.read()["p"] == Anchor("p", 13, b"a" * 32, (Amount(2), Amount()), 2)
    one.cover("p", 14, b"c" * 32, (Amount(1), Amount(5)))
    assert one.read()["p"] == Anchor("p", 14, b"c" * 32, (Amount(2), Amount(5)), 3)
    two.cover("p", 10, b"d" * 32, (Amount(), Amount()))
    assert one.read()["p"].number == 3
    one.close()
    two.close()


def test_a_torn_write_leaves_the_slot_before(tmp_path: Path) -> None:
    anchors = Anchors(tmp_path)
    for sequence in range(1, 6):
        anchors.cover("p", sequence, bytes([sequence]) * 32, (Amount(sequence), Amount()))
    anchors.close()
    (path,) = tmp_path.glob("*.anchor")
    content = bytearray(path.read_bytes())
    content[1024 * (5 % 2) + 30] ^= 255
    path.write_bytes(bytes(content))
    again = Anchors(tmp_path)
    assert again.read()["p"].sequence == 4
    again.cover("p", 6, b"f" * 32, (Amount(6), Amount()))
    assert again.read()["p"].sequence == 6
    again.close()


def test_long_and_strange_names_have_files_of_their_own(tmp_path: Path) -> None:
    anchors = Anchors(tmp_path)
    names = ["", "x", "é" * 100, "a" * 100, "owners"]
    for name in names:
        anchors.cover(name, 1, b"a" * 32, (Amount(), Amount()))
    assert sorted(anchors.read()) == sorted(names)
    anchors.close()


def test_a_place_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(LedgerUnavailable):
        Anchors(tmp_path / "missing").cover("p", 1, b"a" * 32, (Amount(), Amount()))


def test_a_fork_takes_locks_of_its_own(tmp_path: Path) -> None:
    anchors = Anchors(tmp_path)
    anchors.cover("p", 1, b"a" * 32, (Amount(), Amount()))
    child = os.fork()
    if child == 0:
        try:
            anchors.cover("p", 2, b"b" * 32, (Amount(), Amount()))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    anchors.cover("p", 1, b"a" * 32, (Amount(), Amount()))
    assert anchors.read()["p"].sequence == 2
    anchors.close()
