"""How far a budget goes, and how long it takes to decide whether one more question fits."""

from __future__ import annotations

import statistics
import tempfile
import time
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path

from bench.rows import Row
from bench.sql import ours, table
from hubbub.ledger import Ledger, Request, fingerprint
from hubbub.mechanisms import DiscreteGaussian
from hubbub.terms import Budget, BudgetExceeded

CASES = [(1, "82.6", 400), (3, "91.8", 3600)]  # epsilon at delta 1e-5, sigma of a COUNT, questions at least
DELTA = 1e-5


def rows(quick: bool) -> list[Row]:
    cases = CASES[:1] if quick else CASES
    return [*(_answered(*case) for case in cases), _decision(*CASES[-1])]


def _answered(epsilon: int, sigma: str, least: int) -> Row:
    path, count, start = table.modest(1000, 1), 0, time.perf_counter()
    rho = Fraction(1, 2) / Fraction(sigma) ** 2
    with ours.connected(path, max_rows_per_unit=1, budget=(epsilon, DELTA)) as connection:
        try:
            while count < 3 * least:
                ours.ask(connection, "SELECT COUNT(*) AS n FROM t", rho=rho)
                count += 1
        except BudgetExceeded:
            pass
    note = f"in {time.perf_counter() - start:.0f} s"
    name = f"COUNTs with sigma {sigma} that fit a budget of ({epsilon}, 1e-5)"
    return Row(name, count, "questions", least, "higher", note)


def _decision(epsilon: int, sigma: str, least: int) -> Row:
    """The ledger's own time for a charge near the end of the budget: decided, written and synced."""
    event = DiscreteGaussian(sensitivity=1, sigma=Fraction(sigma)).event
    taken = []
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(dir=Path.cwd()))
        ledger = stack.enter_context(Ledger(Path(folder, "ledger.db"), state=Path(folder, "state")))
        ledger.open_population("people", Budget(epsilon, DELTA), by="bench", why="bench")
        for number in range(least):
            wanted = Request(event=event, fingerprint=fingerprint(plan=str(number)), population="people", size=300)
            start = time.perf_counter()
            held = ledger.reserve(wanted)
            taken.append(time.perf_counter() - start)
            ledger.store(held, "{}")
    first, last = (statistics.median(part) * 1000 for part in (taken[1:101], taken[-100:]))
    note = f"after {least:,} charges, written and synced; at the start {first:.3f} ms"
    return Row("deciding whether a question fits", last, "ms", 1, "lower", note)
