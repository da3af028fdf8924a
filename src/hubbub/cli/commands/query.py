"""``hubbub query`` and ``hubbub preview``: ask in SQL, and see beforehand what it costs and how exact it is."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hubbub.cli.options import values
from hubbub.cli.options.connections import Analyst, At, Project, connected
from hubbub.cli.options.ledgers import AsJson
from hubbub.cli.options.source_facts import (
    Allowance,
    Bounds,
    Compared,
    Header,
    Keys,
    MaxRows,
    Name,
    Population,
    Rows,
    Source,
    SourceFacts,
    Unit,
    Version,
    pair,
)
from hubbub.cli.output import streams as output

if TYPE_CHECKING:
    from hubbub.releases import Release
    from hubbub.sql import Connection

Question = Annotated[
    str, typer.Argument(help='SELECT ..., or EXPLAIN PRIVATE SELECT ...; "-" reads it from stdin.', metavar="SQL")
]
Epsilon = Annotated[str | None, typer.Option("--epsilon", help="What the answer may cost.", metavar="E")]
Rho = Annotated[str | None, typer.Option("--rho", help="The same in rho, instead of epsilon.", metavar="R")]
Delta = Annotated[
    str | None, typer.Option("--delta", help="The delta beside epsilon. [default: 1/100 of the budget's]", metavar="D")
]
Within = Annotated[
    str | None, typer.Option("--within", help="The error that is fine, instead of a cost.", metavar="ERROR")
]
Confidence = Annotated[str, typer.Option("--confidence", help="Of intervals, and of --within.", metavar="C")]
Assume = Annotated[
    str | None, typer.Option("--assume", help="Rows per group that averages may reckon with.", metavar="N")
]
Totals = Annotated[
    list[str] | None,
    typer.Option("--total", help="What one person adds up to in a COUNT or SUM; repeat it.", metavar="COLUMN=N"),
]
Html = Annotated[Path | None, typer.Option("--html", help="Write a page that needs nothing else.", metavar="FILE")]

_EXPLAIN = re.compile(r"\s*EXPLAIN\s+PRIVATE\s+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PriceOptions:
    """What an answer may cost, or how far it may stray; numbers as they were typed."""

    epsilon: str | None
    rho: str | None
    delta: str | None
    within: str | None
    confidence: str
    assume: str | None
    totals: list[str] | None

    def arguments(self) -> dict[str, Any]:
        """The same for a connection."""
        said = {name: getattr(self, name) for name in ("epsilon", "rho", "delta", "within", "confidence", "assume")}
        numbers: dict[str, Any] = {
            name: values.number(text, f"--{name}") for name, text in said.items() if text is not None
        }
        return {**numbers, "totals": dict(pair(text, hint="--total") for text in self.totals or ())}

    def check(self) -> None:
        """Refuse a question without a price, in the words of somebody who types."""
        if len([way for way in (self.epsilon, self.rho, self.within) if way is not None]) != 1:
            raise typer.BadParameter(
                "say what it may cost (--epsilon 0.5 or --rho 0.01), or how exact it must be (--within 20)."
            )


def query(
    source: Source,
    sql: Question,
    epsilon: Epsilon = None,
    rho: Rho = None,
    delta: Delta = None,
    within: Within = None,
    confidence: Confidence = "0.95",
    assume: Assume = None,
    total: Totals = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Pay for new noise although this was answered before.")
    ] = False,
    unit: Unit = None,
    max_rows: MaxRows = None,
    bound: Bounds = None,
    key: Keys = None,
    rows: Rows = None,
    budget: Allowance = None,
    population: Population = None,
    neighbours: Compared = None,
    name: Name = None,
    version: Version = None,
    header: Header = None,
    at: At = None,
    project: Project = "default",
    analyst: Analyst = None,
    intervals: Annotated[bool, typer.Option("--intervals/--no-intervals", help="Show how far values stray.")] = True,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV; both ends of intervals are columns.")] = False,
) -> None:
    """Ask a question in SQL; the answer is private, charged before data is read, and comes with its error.

    A source without a descriptor needs --unit, and --budget the first time. The same question again is free.
    """
    from hubbub.cli.output.answers import show

    if as_json and as_csv:
        raise typer.BadParameter("one form at a time: --json or --csv.")
    price = PriceOptions(epsilon, rho, delta, within, confidence, assume, total)
    facts = SourceFacts(
        source,
        unit,
        max_rows,
        bound or (),
        key or (),
        rows,
        budget,
        population,
        neighbours,
        name=name,
        version=version,
        header=header,
    )
    text = read(sql)
    if explained := _EXPLAIN.match(text):
        with connected(facts, at=at, project=project, analyst=analyst, lasting=False) as connection:
            output.leaflet(connection.explain(text[explained.end() :]), as_json=as_json, svg=None, html=None)
        return
    price.check()
    said = price.arguments()
    with connected(facts, at=at, project=project, analyst=analyst) as connection:
        release = answer(connection, text, **said, fresh=fresh)
    form = "json" if as_json else "csv" if as_csv else "table"
    show(release, form=form, intervals=intervals, confidence=float(said["confidence"]))


def answer(connection: Connection, text: str, **said: Any) -> Release:
    """Ask, and tell how far it has come if it takes long."""
    from hubbub.cli.output.stages import watched

    with watched(connection):
        return connection.sql(text, **said)


def preview(
    source: Source,
    sql: Question,
    epsilon: Epsilon = None,
    rho: Rho = None,
    delta: Delta = None,
    within: Within = None,
    confidence: Confidence = "0.95",
    assume: Assume = None,
    total: Totals = None,
    unit: Unit = None,
    max_rows: MaxRows = None,
    bound: Bounds = None,
    key: Keys = None,
    rows: Rows = None,
    budget: Allowance = None,
    population: Population = None,
    neighbours: Compared = None,
    name: Name = None,
    version: Version = None,
    header: Header = None,
    at: At = None,
    project: Project = "default",
    analyst: Analyst = None,
    as_json: AsJson = False,
    html: Html = None,
) -> None:
    """What the same query would cost and how exact it would be: free, and no data is read.

    No ledger is made and no budget opened.
    """
    price = PriceOptions(epsilon, rho, delta, within, confidence, assume, total)
    price.check()
    facts = SourceFacts(
        source,
        unit,
        max_rows,
        bound or (),
        key or (),
        rows,
        budget,
        population,
        neighbours,
        name=name,
        version=version,
        header=header,
    )
    with connected(facts, at=at, project=project, analyst=analyst, lasting=False) as connection:
        told = connection.preview(read(sql), **price.arguments())
    output.leaflet(told, as_json=as_json, svg=None, html=html)


def read(sql: str) -> str:
    """The question: as typed, or from stdin."""
    return sys.stdin.read() if sql == "-" else sql
