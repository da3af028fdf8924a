"""From a source on the command line to a connection: whose budget it is, and in which ledger."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hubbub.cli.options.ledgers import LEDGER, hints_name, is_file, resolve_decider
from hubbub.cli.options.source_facts import SourceFacts
from hubbub.cli.output import streams as output

if TYPE_CHECKING:
    from hubbub.schema import Dataset
    from hubbub.sql import Connection
    from hubbub.terms import Budget, UnknownPopulation

At = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        help=f"The ledger. [default: the descriptor's, {LEDGER}, or a file beside the source]",
        metavar="WHERE",
    ),
]
Project = Annotated[str, typer.Option("--project", help="For which project; in it, a repeat is free.", metavar="NAME")]
Analyst = Annotated[str | None, typer.Option("--analyst", help="Who asks. [default: who is logged in]", metavar="NAME")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionOptions:
    """Which ledger pays, for which project, and who asks."""

    at: At = None
    project: Project = "default"
    analyst: Analyst = None

    @property
    def asker(self) -> str:
        """Who asks: as typed, or who is logged in."""
        return self.analyst if self.analyst is not None else resolve_decider(None)


@contextmanager
def open_connection(facts: SourceFacts, payer: ConnectionOptions, *, lasting: bool = True) -> Iterator[Connection]:
    """A connection to the source; unless it is ``lasting``, no ledger is made and no budget opened.

    A source without a descriptor needs a budget until one is open in the ledger.
    """
    from hubbub.ledger import temporary_ledger
    from hubbub.sql import connect

    dataset = read_dataset(facts)
    where = locate_ledger(facts, dataset, payer.at)
    is_open = _promised_budget(where, dataset.population) is not None
    if not is_open and dataset.budget is None:
        raise _no_budget(where, dataset.population)
    with hints_name(where), ExitStack() as held:
        ledger = where if lasting or is_open else held.enter_context(temporary_ledger())
        arguments = {**facts.arguments(), "ledger": ledger, "project": payer.project, "analyst": payer.asker}
        connection = held.enter_context(connect(facts.source, **arguments))
        if lasting and not is_open:
            _announce_budget(connection, where)
        yield connection


def read_dataset(facts: SourceFacts) -> Dataset:
    """What is public about a source; no ledger is touched."""
    from hubbub.sql import declare

    dataset, engine = declare(facts.source, **facts.arguments())
    engine.close()
    return dataset


def read_dataset_with_budget(facts: SourceFacts, at: str | None) -> Dataset:
    """The same with the budget that is open, where none was said."""
    dataset = read_dataset(facts)
    where = locate_ledger(facts, dataset, at)
    return replace(dataset, budget=dataset.budget or _promised_budget(where, dataset.population))


def locate_ledger(facts: SourceFacts, dataset: Dataset, at: str | None) -> str:
    """Where the ledger is: as typed, as declared, as the environment says, or beside the data."""
    from hubbub.sql import ledger_place

    return at or dataset.ledger or os.environ.get(LEDGER) or str(ledger_place(facts.source, dataset))


def _promised_budget(where: str, population: str) -> Budget | None:
    """The budget of a population as it was opened, without making a ledger."""
    from hubbub.ledger import Ledger

    if is_file(where) and not Path(where).expanduser().exists():
        return None
    with Ledger(where, create=False) as ledger:
        opened = ledger.populations().get(population)
    return None if opened is None else opened.promised


def _announce_budget(connection: Connection, where: str) -> None:
    """Say what was opened."""
    opened = connection.budget.population
    output.talk(f"Opened the budget of {opened.name!r}: {opened.promised.measure().describe()}.")
    output.talk(f"The ledger is in {where}, its key and anchors in {connection.ledger.state}: keep the two apart.")


def _no_budget(where: str, population: str) -> UnknownPopulation:
    from hubbub.terms import UnknownPopulation

    return UnknownPopulation(
        f"no budget is open for {population!r} in {where}.",
        why="What may be spent on these people in all is decided once, and never guessed.",
        fix="Say it this first time: --budget 3,1e-6 (epsilon and delta); or name the right --ledger.",
    )
