"""What nobody else on the machine should see: answers and tokens, from a file, stdin or a prompt.

What stands on a command line is in the shell's history, and in the list of processes that every user can read.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from hubbub.cli.options.values import parse_number
from hubbub.cli.output.terminal import ask_hidden

if TYPE_CHECKING:
    from hubbub.local.collection import Collection

_LONGEST = 1 << 16  # characters of an answer or a token


@dataclass(frozen=True, slots=True)
class Answer:
    """A person's answer as it came, and whether a hand typed it on the command line."""

    text: str
    typed: bool
    stdin: bool = False

    def value(self, collection: Collection) -> str | int | float:
        """The answer for the client.

        A slip of the hand is told before anything is sent. What comes from a file or a program is never refused,
        because a report that is missing would tell: it counts as the collection's missing value instead.
        """
        return value_of(collection, self.text) if self.typed else _any_value(collection, self.text)


def answer_of(value: str | None, file: Path | None) -> Answer:
    """The answer: typed, from a file, from stdin (``-``), or asked for where somebody sits at a terminal."""
    if value is not None and file is not None:
        raise typer.BadParameter("give VALUE or --value-file, not both.", param_hint="VALUE")
    if file is not None:
        return Answer(_read_file(file, "--value-file"), typed=False)
    if value == "-":
        return Answer(_read_stdin(), typed=False, stdin=True)
    if value is not None:
        return Answer(value, typed=True)
    if sys.stdin.isatty():
        return Answer(ask_hidden("Answer:"), typed=True)
    raise typer.BadParameter("give the answer: - reads it from stdin, --value-file from a file.", param_hint="VALUE")


def token_of(token: str | None, file: Path | None, *, stdin: bool = False) -> str | None:
    """The token: from a file, the environment, stdin (``-``) or the command line; None if there is none."""
    if token is not None and file is not None:
        raise typer.BadParameter("give --token or --token-file, not both.", param_hint="--token")
    if file is not None:
        return _read_file(file, "--token-file")
    if token != "-":  # noqa: S105 - the sign for stdin
        return token
    if stdin:
        raise typer.BadParameter("the answer is read from stdin already.", param_hint="--token")
    return _read_stdin()


def value_of(collection: Collection, text: str) -> str | int | float:
    """What was typed, as an answer of the collection; a slip of the hand is told before anything is sent."""
    if not collection.answers:
        return _check_number(collection, parse_number(text, "VALUE"))
    if text not in collection.answers:
        raise typer.BadParameter(f"choose one of {', '.join(collection.answers)}.", param_hint="VALUE")
    return text


def _check_number(collection: Collection, typed: Decimal) -> int | float:
    """A number that the collection asks for: it stays on this device until it is randomized."""
    if not typed.is_finite():
        raise typer.BadParameter("a finite number is needed.", param_hint="VALUE")
    domain = getattr(collection.randomizer, "domain", None)
    if domain is not None and not (typed == int(typed) and 0 <= typed < domain):
        raise typer.BadParameter(f"choose a whole number from 0 to {domain - 1}.", param_hint="VALUE")
    return int(typed) if typed == int(typed) else float(typed)


def _any_value(collection: Collection, text: str) -> str | int | float:
    """Whatever the text is: the client takes what it does not know as missing."""
    if collection.answers:
        return text
    try:
        return float(Decimal(text))
    except (InvalidOperation, ValueError, OverflowError):
        return text


def _read_file(path: Path, name: str) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as source:
            return source.read(_LONGEST).strip()
    except OSError as error:
        raise typer.BadParameter(f"cannot read {path}: {error.strerror}", param_hint=name) from None


def _read_stdin() -> str:
    return sys.stdin.read(_LONGEST).strip()
