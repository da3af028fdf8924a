"""``hubbub query`` and ``hubbub preview``: ask in SQL, and see beforehand what it costs and how exact it is."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hubbub.cli.options import values
from hubbub.cli.options.connections import ConnectionOptions, locate_ledger, open_connection, read_dataset
from hubbub.cli.options.groups import spread_groups
from hubbub.cli.options.ledgers import name_ledger
from hubbub.cli.options.pages import AsJson, PageOptions
from hubbub.cli.options.source_facts import DeclaredFacts, Source, SourceFacts, parse_amount

if TYPE_CHECKING:
    from hubbub.releases import Release
    from hubbub.sql import Connection

Question = Annotated[
    str, typer.Argument(help='SELECT ..., or EXPLAIN PRIVATE SELECT ...; "-" reads it from stdin.', metavar="SQL")
]
_EXPLAIN = re.compile(r"\s*EXPLAIN\s+PRIVATE\s+", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceOptions:
    """What an answer may cost, or how far it may stray; numbers as they were typed."""

    epsilon: Annotated[str | None, typer.Option("--epsilon", help="What the answer may cost.", metavar="E")] = None
    rho: Annotated[str | None, typer.Option("--rho", help="The same in rho, instead of epsilon.", metavar="R")] = None
    delta: Annotated[
        str | None,
        typer.Option("--delta", help="The delta beside epsilon. [default: its share of the budget's]", metavar="D"),
    ] = None
    within: Annotated[
        str | None, typer.Option("--within", help="The error that is fine, instead of a cost.", metavar="ERROR")
    ] = None
    share: Annotated[
        str | None, typer.Option("--share", help="The share of the budget that it may cost: 0.1 or 1/10.", metavar="S")
    ] = None
    noise: Annotated[
        str | None, typer.Option("--noise", help="auto (least error), laplace or gaussian.", metavar="NOISE")
    ] = None
    confidence: Annotated[str, typer.Option("--confidence", help="Of intervals, and of --within.", metavar="C")] = (
        "0.95"
    )
    assume: Annotated[
        str | None, typer.Option("--assume", help="Rows per group that averages may reckon with.", metavar="N")
    ] = None
    totals: Annotated[
        list[str] | None,
        typer.Option("--total", help="What one person adds up to in a COUNT or SUM; repeat it.", metavar="COLUMN=N"),
    ] = None

    def arguments(self) -> dict[str, Any]:
        """The same for a connection."""
        names = ("epsilon", "rho", "delta", "within", "confidence", "assume")
        typed = {name: getattr(self, name) for name in names}
        numbers = {name: values.parse_number(text, f"--{name}") for name, text in typed.items() if text is not None}
        others: dict[str, Any] = {} if self.noise is None else {"noise": self.noise}
        if self.share is not None:
            others["share"] = values.parse_share(self.share, "share")
        return {**numbers, **others, "totals": dict(parse_amount(text, hint="--total") for text in self.totals or ())}

    def check(self) -> None:
        """Refuse a question without a price, in the words of somebody who types."""
        ways = ("epsilon", "rho", "within", "share")
        given = [f"--{way}" for way in ways if getattr(self, way) is not None]
        if len(given) > 1:
            raise typer.BadParameter(f"the price is given {len(given)} times: {', '.join(given)}. Keep one of them.")
        if not given:
            raise typer.BadParameter(
                "say what it may cost (--epsilon 0.5, --share 1/10 or --rho 0.01), or how exact it must be "
                "(--within 20)."
            )


@spread_groups
def query(
    source: Source,
    sql: Question,
    *,
    price: PriceOptions,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Pay for new noise although this was answered before.")
    ] = False,
    declared: DeclaredFacts,
    payer: ConnectionOptions,
    intervals: Annotated[bool, typer.Option("--intervals/--no-intervals", help="Show how far values stray.")] = True,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV; both ends of intervals are columns.")] = False,
) -> None:
    """Ask a question in SQL; the answer is private, charged before data is read, and comes with its error.

    A source without a descriptor needs --unit, and --budget the first time. The same question again is free.
    """
    from hubbub.cli.output.answers import show_answer

    if as_json and as_csv:
        raise typer.BadParameter("one form at a time: --json or --csv.")
    facts, text = SourceFacts(source, declared), read_question(sql)
    if explained := _EXPLAIN.match(text):
        with open_connection(facts, payer, lasting=False) as connection:
            PageOptions(as_json=as_json).show(connection.explain(text[explained.end() :]))
        return
    price.check()
    arguments = price.arguments()
    with open_connection(facts, payer) as connection:
        release = ask_question(connection, text, **arguments, fresh=fresh)
    form = "json" if as_json else "csv" if as_csv else "table"
    show_answer(release, form=form, intervals=intervals, confidence=float(arguments["confidence"]))


@spread_groups
def preview(
    source: Source,
    sql: Question,
    *,
    price: PriceOptions,
    declared: DeclaredFacts,
    payer: ConnectionOptions,
    page: PageOptions,
) -> None:
    """What the same query would cost and how exact it would be: free, and no data is read.

    No ledger is made and no budget opened.
    """
    price.check()
    facts = SourceFacts(source, declared)
    where = locate_ledger(facts, read_dataset(facts), payer.at)
    with open_connection(facts, payer, lasting=False) as connection:
        shown = connection.preview(read_question(sql), **price.arguments())
        page.show(shown.with_refusal(lambda words: name_ledger(words, where)))


def ask_question(connection: Connection, text: str, **arguments: Any) -> Release:
    """Ask, and tell how far it has come if it takes long."""
    from hubbub.cli.output.stages import show_stages

    with show_stages(connection):
        return connection.sql(text, **arguments)


def read_question(sql: str) -> str:
    """The question: as typed, or from stdin."""
    return sys.stdin.read() if sql == "-" else sql
