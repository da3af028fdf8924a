"""Four walks through the house: which functions and modules one call meets, and how often it comes back to one.

    python tools/walks.py            a table of the four
    python tools/walks.py sql        the modules of one, in order

A function counts when it is called for the first time. A step is a change to another module; a return is a step to a
module that the walk had left before. Each walk is taken twice, and the second time is counted: by then everything is
imported.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType

import hubbub

HOUSE = Path(hubbub.__file__).parent


@dataclass(frozen=True)
class Walk:
    """The functions that were called, in order of their first calls, and the modules that they stand in."""

    functions: tuple[CodeType, ...]

    @property
    def steps(self) -> list[str]:
        """The modules, one after the other."""
        modules = [module_of(function) for function in self.functions]
        return [module for index, module in enumerate(modules) if index == 0 or module != modules[index - 1]]

    @property
    def returns(self) -> int:
        """Steps to a module that was left before."""
        return len(self.steps) - len(set(self.steps))


def module_of(function: CodeType) -> str:
    """The module of a function, as a path in the house."""
    return str(Path(function.co_filename).relative_to(HOUSE).with_suffix(""))


def trace(walk: Callable[[], object]) -> Walk:
    """Take the walk, and note the functions of the house, in all threads."""
    seen: dict[CodeType, None] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code not in seen and not code.co_name.startswith("<") and str(HOUSE) in code.co_filename:
            seen[code] = None

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        walk()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return Walk(tuple(seen))


def sql_walk(folder: Path) -> Iterator[Callable[[], object]]:
    """A question by public keys, answered."""
    import pandas

    frame = pandas.DataFrame(
        {"patient": [1, 1, 2, 3], "ward": ["north", "south", "north", "east"], "cost": [10.0, 20.0, 5.0, 1.0]}
    )
    frame.to_parquet(folder / "visits.parquet")
    with hubbub.connect(
        folder / "visits.parquet",
        unit="patient",
        max_rows_per_unit=3,
        bounds={"cost": (0, 5000)},
        keys={"ward": ["north", "south", "east"]},
        budget=hubbub.Budget(3, 1e-6),
        ledger=hubbub.ledger.Ledger(folder / "ledger.db", state=folder / "state"),
    ) as db:
        for limit in (1, 2):
            text = f"SELECT ward, COUNT(*) AS n, AVG(cost) AS c FROM visits WHERE cost > {limit} GROUP BY ward"
            yield lambda text=text: db.sql(text, epsilon=0.5)  # type: ignore[misc]


def fit_walk(folder: Path) -> Iterator[Callable[[], object]]:
    """A logistic regression, fitted without a ledger."""
    import numpy

    from hubbub.learn import LogisticRegression

    rows = numpy.random.default_rng(1).random((200, 3))
    for _ in range(2):
        model = LogisticRegression(epsilon=1, delta=1e-6, norm=1.0)
        yield lambda model=model: model.fit(rows, rows[:, 0] > 0.5)  # type: ignore[misc]


def local_walk(folder: Path) -> Iterator[Callable[[], object]]:
    """One person's report to a signed collection."""
    from hubbub import local

    collection = local.Collection(
        name="walks",
        question="Is it so?",
        answers=("no", "yes"),
        randomizer=local.Loloha(epsilon=1, forever=2, domain=2),
        epochs=10,
        minimum_batch=10,
    )
    key = local.new_key()
    client = local.Client(local.sign(collection, key), local.public_text(key), state=str(folder / "client.json"))
    for epoch in range(2):
        yield lambda epoch=epoch: client.report("yes", epoch=epoch)  # type: ignore[misc]


def gopa_walk(folder: Path) -> Iterator[Callable[[], object]]:
    """A round of five parties in one process."""
    from hubbub.gopa.in_process import people, run

    for _ in range(2):
        parties = people(5, honest=0.8, dropouts=0.2)
        yield lambda parties=parties: run(parties, values=[[0], [1], [2], [1], [2]])  # type: ignore[misc]


WALKS = {
    "sql": ("db.sql", sql_walk),
    "fit": ("LogisticRegression.fit", fit_walk),
    "local": ("a local report", local_walk),
    "gopa": ("a GOPA round", gopa_walk),
}


def take(name: str) -> Walk:
    """One of the four walks; taken twice, counted once."""
    with tempfile.TemporaryDirectory() as folder:
        for walk in WALKS[name][1](Path(folder)):
            taken = trace(walk)
    return taken


def main(names: list[str]) -> None:
    """Print the table, or the modules of the walks that are named."""
    for name in names:
        print("\n".join(take(name).steps))
    if not names:
        print(f"{'walk':24} functions  modules  steps  returns")
        for name, (title, _) in WALKS.items():
            walk = take(name)
            numbers = (len(walk.functions), len(set(walk.steps)), len(walk.steps), walk.returns)
            print(f"{title:24} {numbers[0]:9} {numbers[1]:8} {numbers[2]:6} {numbers[3]:8}")


if __name__ == "__main__":
    main(sys.argv[1:])
