"""Accounts: whose budget pays for something that is no SQL question, and in whose name.

Estimators, synthesizers and collectors take ``account=``: an ``Account``, a ledger with one population, or a
connection.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self, TypeAlias, runtime_checkable

from hubbub.ledger.ledger import Ledger
from hubbub.terms import MissingParameter, WrongShape, plain_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A population's budget in a ledger, and the project and analyst that draw on it."""

    ledger: Ledger
    population: str
    project: str = "default"
    analyst: str = "owner"

    def __post_init__(self) -> None:
        plain_name(self.population, what="population")

    @classmethod
    def of(cls, given: AccountLike) -> Self:
        """What somebody gave as ``account=``.

        >>> import tempfile, hubbub
        >>> from hubbub.ledger import Ledger
        >>> folder = tempfile.TemporaryDirectory()
        >>> with Ledger(f"{folder.name}/ledger.db", state=f"{folder.name}/state") as ledger:
        ...     ledger.open_population("patients", hubbub.Budget(3, 1e-6), by="owner", why="a start")
        ...     Account.of(ledger).population
        'patients'
        >>> folder.cleanup()
        """
        if isinstance(given, cls):
            return given
        if isinstance(given, Ledger):
            return cls(ledger=given, population=_only_population(given))
        account = getattr(given, "account", None)  # a connection knows its own
        if isinstance(account, cls):
            return account
        raise WrongShape(
            f"an account was expected and a {type(given).__name__} came.",
            why="What is spent must stand in a ledger, under the people it is about.",
            fix='Give Account(ledger=..., population="..."), a ledger with one population, or a connection.',
        )


@runtime_checkable
class HasAccount(Protocol):
    """What knows whose budget it draws on, such as a connection."""

    @property
    def account(self) -> Account:
        """The account."""


AccountLike: TypeAlias = Account | Ledger | HasAccount


def _only_population(ledger: Ledger) -> str:
    names = sorted(ledger.populations())
    if len(names) == 1:
        return names[0]
    raise MissingParameter(
        f"the ledger has {len(names)} populations: {', '.join(names)}." if names else "the ledger has no population.",
        why="A budget belongs to people, and it must be said to whom.",
        fix='Give Account(ledger=..., population="..."), or open one: hubbub budget open NAME.',
    )
