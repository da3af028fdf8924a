"""What is said on the command line about a source: who is protected, bounds, keys, the budget."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hubbub.cli.options import values

if TYPE_CHECKING:
    from hubbub.schema import Value
    from hubbub.terms import Budget

Source = Annotated[
    str,
    typer.Argument(help="A descriptor (.toml), or a Parquet, CSV or DuckDB file or glob.", metavar="SOURCE"),
]
Unit = Annotated[
    str | None,
    typer.Option("--unit", help="The column that tells people apart, or 'row': each row alone.", metavar="COLUMN"),
]
MaxRows = Annotated[
    int | None, typer.Option("--max-rows", help="How many rows of one person count.", metavar="N", min=1)
]
Bounds = Annotated[
    list[str] | None,
    typer.Option(
        "--bound", help="Bounds of a number or date, and its grid; repeat it.", metavar="COLUMN=LOW:HIGH[:STEP]"
    ),
]
Keys = Annotated[
    list[str] | None, typer.Option("--key", help="The public values of a column; repeat it.", metavar="COLUMN=A,B,...")
]
Rows = Annotated[
    int | None, typer.Option("--rows", help="About how many rows there are, if that is public.", metavar="N", min=1)
]
Allowance = Annotated[
    str | None,
    typer.Option("--budget", help="What may be spent in all; needed once.", metavar="EPSILON[,DELTA]|rho=R[,DELTA]"),
]
Population = Annotated[
    str | None,
    typer.Option("--population", help="Whose budget this is. [default: the data's name]", metavar="NAME"),
]
Name = Annotated[
    str | None, typer.Option("--name", help="What the data are called. [default: the file's name]", metavar="NAME")
]
Version = Annotated[
    str | None,
    typer.Option("--version", help="Tells these data from earlier ones in the same place.", metavar="VERSION"),
]
Header = Annotated[
    str | None,
    typer.Option(
        "--header",
        help="Of a CSV file: 'yes' if its first line names its columns, or all names if no line does.",
        metavar="yes|A,B,...",
    ),
]


class NeighboursOption(StrEnum):
    """Which data sets a guarantee compares."""

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"


Compared = Annotated[
    NeighboursOption | None,
    typer.Option("--neighbours", help="One person more or less, or one replaced. [default: add-remove]"),
]

_DATE = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredFacts:
    """What was typed about a source; of a descriptor, which says everything itself, nothing."""

    unit: Unit = None
    max_rows: MaxRows = None
    bounds: Bounds = None
    keys: Keys = None
    rows: Rows = None
    budget: Allowance = None
    population: Population = None
    neighbours: Compared = None
    name: Name = None
    version: Version = None
    header: Header = None

    def arguments(self) -> dict[str, Any]:
        """The same for ``hubbub.connect``; what was not said is left out."""
        arguments = {
            "unit": self.unit,
            "max_rows_per_unit": self.max_rows,
            "bounds": dict(map(parse_bounds, self.bounds or ())) or None,
            "keys": {name: read_keys(words) for name, words in map(split_keys, self.keys or ())} or None,
            "rows": self.rows,
            "budget": None if self.budget is None else parse_budget(self.budget),
            "population": self.population,
            "neighbours": self.neighbours and self.neighbours.value,
            "name": self.name,
            "version": self.version,
            "header": None if self.header is None else parse_header(self.header),
        }
        return {name: value for name, value in arguments.items() if value is not None}


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """A source, and what was typed about it."""

    source: str
    declared: DeclaredFacts = field(default_factory=DeclaredFacts)

    @property
    def described(self) -> bool:
        """Whether the source is a descriptor."""
        return self.source.lower().endswith(".toml")

    def arguments(self) -> dict[str, Any]:
        """What was typed, for ``hubbub.connect``."""
        if not self.described and self.declared.unit is None:
            raise typer.BadParameter(
                "say who is protected: a column such as --unit patient_id, or --unit row.", param_hint="--unit"
            )
        return self.declared.arguments()


# ---------------------------------------------------------------- words -> values


def parse_budget(text: str) -> Budget:
    """``EPSILON``, ``EPSILON,DELTA``, ``rho=R`` or ``rho=R,DELTA`` as a budget."""
    amount, _, delta = text.partition(",")
    concentrated = amount.startswith("rho=")
    amount = amount.removeprefix("rho=").removeprefix("epsilon=")
    return values.build_budget(*((None, delta or None, amount) if concentrated else (amount, delta or None, None)))


def parse_bounds(text: str) -> tuple[str, tuple[Decimal | date, ...]]:
    """``cost=0:5000``, ``cost=0:5000:0.01`` or ``day=2025-01-01:2025-12-31``; ``..`` parts times, which hold colons."""
    name, _, rest = text.partition("=")
    parts = rest.split(".." if ".." in rest else ":")
    if not name or len(parts) not in (2, 3) or not all(parts):
        raise typer.BadParameter(f"'{text}' is not COLUMN=LOW:HIGH, such as cost=0:5000.", param_hint="--bound")
    return name, tuple(_parse_end(part, name) for part in parts)


def _parse_end(text: str, name: str) -> Decimal | date:
    if not _DATE.match(text):
        return values.parse_number(text, f"the bound of {name}")
    try:
        return date.fromisoformat(text) if len(text) == 10 else datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"'{text}' is not a date such as 2025-12-31.", param_hint="--bound") from None


def split_keys(text: str) -> tuple[str, list[str]]:
    """``ward=north,south``: the column and its values; one that holds a comma stands in double quotes."""
    name, _, rest = text.partition("=")
    words = next(csv.reader([rest]), [])
    if not name or not words:
        raise typer.BadParameter(f"'{text}' is not COLUMN=A,B, such as ward=north,south.", param_hint="--key")
    return name, words


def parse_header(text: str) -> bool | list[str]:
    """``yes``, or the names of the columns; ``no`` does not say what they are called."""
    if text.lower() in ("no", "false", "none"):
        raise typer.BadParameter(
            "if no line names the columns, name them all in their order, as in --header age,ward.",
            param_hint="--header",
        )
    return True if text.lower() in ("yes", "true") else next(csv.reader([text]), [])


def read_keys(words: Sequence[str]) -> list[Value]:
    """Keys as they are written: whole numbers, numbers, dates, times or truth values if all are, and else text.

    What a column holds has no say: one missing value makes doubles of integers. ``01`` is no number as people write it.
    """
    for read in _READINGS:
        with suppress(ValueError, KeyError):
            return [read(word) for word in words]
    return list(words)


def _read_integer(word: str) -> int:
    if str(int(word)) != word:
        raise ValueError
    return int(word)


def _read_decimal(word: str) -> float:
    if not _DECIMAL.fullmatch(word):
        raise ValueError
    return float(word)


_DECIMAL = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?")
_READINGS: tuple[Callable[[str], Value], ...] = (
    _read_integer,
    _read_decimal,
    lambda word: {"true": True, "false": False}[word],
    date.fromisoformat,
    datetime.fromisoformat,
)


def parse_amount(text: str, *, hint: str) -> tuple[str, Decimal]:
    """``n=100``: a column of the answer and a number."""
    name, separator, amount = text.partition("=")
    if not name or not separator:
        raise typer.BadParameter(f"'{text}' is not COLUMN=NUMBER, such as n=100.", param_hint=hint)
    return name, values.parse_number(amount, f"{hint} {name}")
