"""At most so many rows per person, chosen from that person's rows alone."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hubbub.publish.cells import Codes, texts_of

if TYPE_CHECKING:
    import pyarrow


def people_of(column: pyarrow.ChunkedArray) -> Codes:
    """A number for each row that tells people apart; rows without a name belong to one person together."""
    import pyarrow.compute as pc

    encoded = pc.dictionary_encode(texts_of(column), null_encoding="encode")
    return np.asarray(encoded.indices).astype(np.int64)


def chosen_rows(people: Codes, rows: pyarrow.Table, most: int) -> NDArray[np.bool_]:
    """Which rows count: of each person the ``most`` with the smallest hashes of their own values.

    Guarantee: one person has at most ``most`` of the chosen rows, and which these are depends on that person's rows
    alone, so that adding or removing a person changes nobody else's.
    Because: [WZLDSG20] bounds contributions per person; a row's hash is a function of its own values, and rows with
    the same values are alike.
    """
    kept = np.ones(len(people), dtype=bool)
    heavy = np.flatnonzero(np.bincount(people)[people] > most) if len(people) else np.empty(0, np.int64)
    if heavy.size:
        kept[heavy] = _rank_in_person(people[heavy], _row_hashes(rows.take(heavy))) < most
    return kept


def _rank_in_person(people: Codes, hashes: NDArray[np.uint64]) -> Codes:
    """Each row's place among its person's, by hash."""
    order = np.lexsort((hashes, people))
    first = np.flatnonzero(np.diff(people[order], prepend=-1))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
    return rank


def _row_hashes(rows: pyarrow.Table) -> NDArray[np.uint64]:
    """A 64-bit hash of each row's own values, the same in every run and every table."""
    import pyarrow
    import pyarrow.compute as pc

    texts, between = [texts_of(column) for column in rows.columns], pyarrow.scalar("\x1f", pyarrow.large_string())
    joined = pc.binary_join_element_wise(
        *texts, between, null_handling="replace", null_replacement="\x1e"
    )  # no value holds these signs by accident
    digests = [hashlib.blake2b(text.encode(), digest_size=8).digest() for text in joined.to_pylist()]
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)
