"""What all commands about a ledger share: which one, who and why, and how it is opened."""

from __future__ import annotations

import getpass
import os
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hubbub.ledger import Account, Ledger

_COMMAND = re.compile(r"`(hubbub (?:budget|ledger) [^`]*)`")
LEDGER = "HUBBUB_LEDGER"  # environment variable: which ledger, if --ledger does not say
DEFAULT = "hubbub.db"

At = Annotated[
    str, typer.Option("--ledger", envvar=LEDGER, help="The ledger: a file or a postgresql:// URL.", metavar="WHERE")
]
State = Annotated[
    Path | None,
    typer.Option("--state", help="The second place, with key and anchors. [env var: HUBBUB_STATE]", metavar="DIR"),
]
By = Annotated[str | None, typer.Option("--by", help="Who decides. [default: who is logged in]", metavar="WHO")]
Why = Annotated[str, typer.Option("--why", help="The reason; it stays in the ledger.", metavar="TEXT")]


class PoolChoice(StrEnum):
    """The two parts of a budget."""

    QUESTIONS = "questions"
    PLANS = "plans"


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerOptions:
    """Which ledger."""

    at: At = DEFAULT
    state: State = None

    @contextmanager
    def open(self, *, create: bool = False) -> Iterator[Ledger]:
        """The ledger; made only if ``create`` says so."""
        with hints_name(self.at), open_ledger(self.at, self.state, create=create) as ledger:
            yield ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountOptions:
    """Who pays, if anybody: a ledger and a population in it, or neither."""

    ledger: Annotated[
        str | None, typer.Option("--ledger", help="Charge it here: a file or a postgresql:// URL.", metavar="WHERE")
    ] = None
    population: Annotated[str | None, typer.Option("--population", help="Whose budget is charged.", metavar="NAME")] = (
        None
    )
    state: State = None

    @contextmanager
    def open(self) -> Iterator[Account | None]:
        """The account, with its ledger open; None if nobody pays."""
        from hubbub.ledger import Account

        if (self.ledger is None) != (self.population is None):
            raise typer.BadParameter("--ledger and --population belong together.")
        if self.ledger is None or self.population is None:
            yield None
            return
        with hints_name(self.ledger), open_ledger(self.ledger, self.state) as ledger:
            yield Account(ledger=ledger, population=self.population)


@contextmanager
def open_ledger(at: str, state: Path | None, *, create: bool = False) -> Iterator[Ledger]:
    """The ledger; made only if ``create`` says so."""
    from hubbub.ledger import Ledger

    if not create:
        must_exist(at)
    with Ledger(at, state=state, create=create) as ledger:
        yield ledger


@contextmanager
def hints_name(where: str) -> Iterator[None]:
    """Commands that an error prints name this ledger, unless they would find it by themselves."""
    from hubbub.terms import HubbubError

    try:
        yield
    except HubbubError as error:
        error.fix = name_ledger(error.fix, where)
        raise


def name_ledger(words: str, where: str) -> str:
    """Words in which commands about budgets and ledgers say which ledger they are about."""
    if where == os.environ.get(LEDGER, DEFAULT):
        return words
    option = f" --ledger {shlex.quote(where)}"
    return _COMMAND.sub(lambda found: f"`{found[1]}`" if "--ledger" in found[1] else f"`{found[1]}{option}`", words)


def must_exist(at: str) -> None:
    """Refuse a file that is not there, in the words of somebody who types."""
    from hubbub.terms import LedgerUnavailable

    if is_file(at) and not Path(at).expanduser().exists():
        raise LedgerUnavailable(
            f"there is no ledger in '{at}'.",
            why="Looking never makes one.",
            fix=f"Name the right one with --ledger or {LEDGER}, or begin one: `hubbub budget open`.",
        )


def is_file(at: str) -> bool:
    """Whether a ledger's place is a path and not a URL."""
    return "://" not in at


def resolve_decider(by: str | None) -> str:
    """Who decides: as given, or who is logged in."""
    if by is not None:
        return by
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        raise typer.BadParameter("nobody is logged in: say who decides.", param_hint="--by") from None
