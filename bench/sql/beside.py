"""Processor time of the same questions by peers, each in a process of its own."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

from bench.rows import Row
from bench.sql import children, table
from bench.sql.children import PEERS, Taken
from bench.sql.exact import Exact
from bench.sql.peers import QUESTIONS

TIMES = {table.FEWER: 3, table.ROWS: 1}  # how often peers are asked
CANNOT = "cannot express it"  # what a peer says that has no words for a question


def rows(quick: bool, prepared: dict[int, Path], *, again: bool) -> list[Row]:
    """``prepared`` has the prepared table of each size; with ``again`` off, what was kept of peers is used."""
    return [row for size in ([table.FEWER] if quick else TIMES) for row in _at(size, prepared[size], again)]


def _at(size: int, prepared: Path, again: bool) -> list[Row]:
    exact, found = Exact(table.path(size)), []
    for question in QUESTIONS:
        truth = exact.truth(question)
        mine = children.here("hubbub", question, size, path=prepared, times=3)
        slow = children.here("hubbub", question, size, times=3)
        for peer in PEERS:
            theirs = children.peer(peer, question, size, again=again, times=TIMES[size])
            if theirs.reason != CANNOT:  # a question that a peer has no words for is no comparison
                found.append(_row(theirs, mine, slow, truth))
    return found


def _row(theirs: Taken, mine: Taken, slow: Taken, truth: dict[str, tuple[float, ...]]) -> Row:
    name = f"{QUESTIONS[theirs.question]} ({theirs.question}), {theirs.rows:,} rows: times less processor time than "
    name += f"{theirs.peer} {theirs.version}".strip()
    if theirs.reason:
        return Row(name, 0, "x", 10, "higher", f"nothing to compare with: {theirs.reason}")
    note = f"{mine.cpu:.2f} s against {theirs.cpu:.2f}; unprepared {theirs.cpu / slow.cpu:.1f}x; "
    note += f"error {_error(mine, truth)} against {_error(theirs, truth)}{_age(theirs)}"
    return Row(name, theirs.cpu / mine.cpu, "x", 10, "higher", note)


def _error(taken: Taken, truth: dict[str, tuple[float, ...]]) -> str:
    """The median relative error of each number over the keys that were released, and how many those are."""
    keys = [key for key in taken.answer if key in truth]
    if not keys:
        return "- (0 keys)"
    numbers = range(len(truth[keys[0]]))
    median = [
        statistics.median(abs(taken.answer[k][i] - truth[k][i]) / abs(truth[k][i]) for k in keys) for i in numbers
    ]
    share = f" ({len(keys)} of {len(truth)} keys)" if len(keys) < len(truth) else ""
    return "/".join(f"{each:.2%}" for each in median) + share


def _age(taken: Taken) -> str:
    minutes = (time.time() - taken.when) / 60
    return f"; measured {minutes:.0f} minutes before" if minutes > 30 else ""
