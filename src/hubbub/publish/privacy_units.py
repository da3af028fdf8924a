"""At most so many rows per person, chosen from that person's rows alone."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hubbub.publish.cells import Codes, texts_of

if TYPE_CHECKING:
    import pyarrow

_ROUNDED = r"^-?(inf|\d(\.\d+)?e\+\d+)$"


def people_of(column: pyarrow.ChunkedArray) -> Codes:
    """A number for each row that tells people apart; -1 for a row that is nobody's."""
    import pyarrow.compute as pc

    encoded = pc.dictionary_encode(ids_of(column))
    return np.asarray(pc.fill_null(encoded.indices, -1)).astype(np.int64)


def ids_of(column: pyarrow.ChunkedArray) -> pyarrow.Array:
    """The ids that a column holds, as text; null where there is none, and where two people may have come to share one.

    That is so of a number that was rounded (a double of 2^53 or more, or its text, such as 1.79e+18) and of bytes that
    are no text. Each id is looked at by itself.
    """
    import pyarrow.compute as pc

    texts = texts_of(column)
    shared = pc.or_(pc.match_substring(texts, "\N{REPLACEMENT CHARACTER}"), pc.match_substring_regex(texts, _ROUNDED))
    return pc.if_else(shared, None, texts)


def chosen_rows(people: Codes, rows: pyarrow.Table, most: int) -> NDArray[np.bool_]:
    """Which rows count: of each person the ``most`` with the smallest hashes of their own values; nobody's do not.

    Guarantee: one person has at most ``most`` of the chosen rows, and which these are depends on that person's rows
    alone, so that adding or removing a person changes nobody else's.
    Because: [WZLDSG20] bounds contributions per person; a row's hash is a function of its own values, and rows with
    the same values are alike.
    """
    kept = people >= 0
    heavy = (
        np.flatnonzero(kept & (np.bincount(people + 1)[people + 1] > most)) if len(people) else np.empty(0, np.int64)
    )
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
