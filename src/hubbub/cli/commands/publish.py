"""``hubbub publish``: one table in one or several ways, what each is worth, and what attacks get out of it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hubbub.cli.options import values
from hubbub.cli.options.connections import Analyst, ConnectionOptions, Project
from hubbub.cli.options.ledgers import LEDGER
from hubbub.cli.options.pages import AsJson, PageOptions
from hubbub.cli.options.source_facts import Compared, MaxRows
from hubbub.cli.output import streams as output

if TYPE_CHECKING:
    from hubbub.ledger import Account
    from hubbub.publish import Unread
    from hubbub.studies.publication import Publication, PublicationRequest, PublicationTable, Yardstick

WHOLE = ("aim", "mst", "marginals", "tables", "mondrian", "full-domain")  # of any table
METHODS = (*WHOLE, "top-down", "daily")
_ALL = "all"


class Format(StrEnum):
    """How tables are written."""

    CSV = "csv"
    PARQUET = "parquet"


def publish(
    source: Annotated[
        str,
        typer.Argument(help="A descriptor (.toml), or a CSV or Parquet file with the private rows.", metavar="SOURCE"),
    ],
    method: Annotated[
        list[str], typer.Option("--method", help=f"{', '.join(METHODS)} or all; repeat it.", metavar="METHOD")
    ],
    table: Annotated[str | None, typer.Option("--table", help="Which table of a descriptor.", metavar="NAME")] = None,
    domain: Annotated[
        str | None,
        typer.Option("--domain", help="What may stand in each column (TOML), or 'private'.", metavar="FILE|private"),
    ] = None,
    header: Annotated[
        str | None,
        typer.Option("--header", help="Of a CSV file: 'yes' if its first line names its columns.", metavar="yes"),
    ] = None,
    columns: Annotated[str, typer.Option("--columns", help="Publish these. [default: all]", metavar="A,B,...")] = "",
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", help="What each private method may cost.", metavar="E")
    ] = None,
    delta: Annotated[str | None, typer.Option("--delta", help="The delta beside it.", metavar="D")] = None,
    rows: Annotated[
        int | None, typer.Option("--rows", help="So many made-up rows. [default: about as many]", metavar="N", min=1)
    ] = None,
    about_rows: Annotated[
        int | None,
        typer.Option("--about-rows", help="How many rows there are, if public: checks the price.", metavar="N", min=1),
    ] = None,
    of: Annotated[
        list[str] | None,
        typer.Option("--of", help="A table of counts by these columns; repeat it.", metavar="A,B,..."),
    ] = None,
    places: Annotated[
        Path | None, typer.Option("--places", help="The public places to count (CSV, a column per level).")
    ] = None,
    by: Annotated[str, typer.Option("--by", help="Count places by these columns, too.", metavar="A,B,...")] = "",
    day: Annotated[str | None, typer.Option("--day", help="The column that says the day.", metavar="COLUMN")] = None,
    first: Annotated[
        str | None, typer.Option("--first", help="The first day of the series.", metavar="YYYY-MM-DD")
    ] = None,
    days: Annotated[
        int | None, typer.Option("--days", help="How many days the series has.", metavar="N", min=1)
    ] = None,
    max_places: Annotated[
        int, typer.Option("--max-places", help="Places at which a person counts on a day, at most.", metavar="N", min=1)
    ] = 1,
    k: Annotated[int | None, typer.Option("--k", help="Rows that look alike, at least.", metavar="K")] = None,
    l: Annotated[  # noqa: E741  (the name of the notion)
        int | None, typer.Option("--l", help="Different sensitive values in each class, at least.", metavar="L")
    ] = None,
    t: Annotated[
        str | None, typer.Option("--t", help="Largest distance of a class from the whole table.", metavar="T")
    ] = None,
    known: Annotated[
        str,
        typer.Option("--quasi-identifiers", help="Columns that outsiders may know of a person.", metavar="A,B,..."),
    ] = "",
    sensitive: Annotated[
        str | None, typer.Option("--sensitive", help="The column that they must not learn.", metavar="COLUMN")
    ] = None,
    keep: Annotated[
        str,
        typer.Option("--keep", help="Publish these as they are, also if they tell rows apart.", metavar="A,B,..."),
    ] = "",
    hierarchies: Annotated[
        Path | None, typer.Option("--hierarchies", help="How values are made coarser (TOML).", metavar="FILE")
    ] = None,
    suppression: Annotated[
        str, typer.Option("--suppression", help="Share of rows that full-domain may leave out.", metavar="S")
    ] = "0",
    relaxed: Annotated[bool, typer.Option("--relaxed", help="Mondrian may divide rows that share a value.")] = False,
    unit: Annotated[
        str | None,
        typer.Option("--unit", help="The column that tells people apart. [default: each row]", metavar="COLUMN"),
    ] = None,
    max_rows: MaxRows = None,
    neighbours: Compared = None,
    holdout: Annotated[
        Path | None, typer.Option("--holdout", help="Compare with these public rows, for free.", metavar="FILE")
    ] = None,
    measure: Annotated[
        str | None, typer.Option("--measure", help="Or with the private rows, for this epsilon.", metavar="E")
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", help="What models predict. [default: the sensitive column]")
    ] = None,
    attack: Annotated[
        bool, typer.Option("--attacks/--no-attacks", help="Attack the tables, for the owner's eyes.")
    ] = True,
    at: Annotated[
        str | None, typer.Option("--ledger", help=f"The ledger. [env var: {LEDGER}]", metavar="WHERE")
    ] = None,
    population: Annotated[
        str | None, typer.Option("--population", help="Whose budget it is, in that ledger.", metavar="NAME")
    ] = None,
    project: Project = "default",
    analyst: Analyst = None,
    dataset: Annotated[
        str | None,
        typer.Option("--dataset", help="Name and version of the rows: the same again is free.", metavar="NAME"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Write the table (.csv, .parquet), or a folder of them.", metavar="PLACE"),
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="Of the tables in a folder.")] = Format.CSV,
    report: Annotated[
        Path | None, typer.Option("--report", help="Write the report: .html, .json or .txt.", metavar="FILE")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Publish a table: anonymized, as noisy counts, or as made-up rows; and tell what each is worth.

    With several methods the same table is published in each way, and they stand side by side. Methods that are
    differentially private are charged, each by itself, before a row is read for them. A descriptor says what may stand
    in columns, who is protected, and whose budget and ledger it is. Prints the report.
    """
    from hubbub.cli.options.publication_source import described_source, file_source
    from hubbub.cli.output import publication_files
    from hubbub.publish import read_hierarchies
    from hubbub.studies.publication import (
        Method,
        PublicationRequest,
        Yardstick,
        beside_descriptor,
        check_affordable,
        check_request,
        public_rows,
        read_places,
    )

    chosen = [Method(name) for name in _parse_methods(method)]
    several = len(chosen) > 1 or chosen[0].is_counts
    if out is None and len(chosen) == 1:
        raise typer.BadParameter("say where the table goes.", param_hint="--out")
    if holdout is not None and measure is not None:
        raise typer.BadParameter("compare with public rows (--holdout) or with private ones (--measure), not both.")
    publication_files.check_places(source, out, report, several=several)
    order = PublicationRequest(
        methods=sorted(chosen, key=lambda each: each.is_private),  # what costs nothing may still refuse
        epsilon=_parse_number(epsilon, "--epsilon"),
        delta=_parse_number(delta, "--delta"),
        k=k,
        l=l,
        t=_parse_number(t, "--t"),
        known=_split_names(known),
        sensitive=sensitive,
        keep=_split_names(keep),
        hierarchies={} if hierarchies is None else read_hierarchies(hierarchies),
        suppression=values.parse_number(suppression, "--suppression"),
        relaxed=relaxed,
        domain=_read_domain(domain),
        domain_file=domain,
        of=[_split_names(columns) for columns in of or ()],
        places=None if places is None else read_places(places),
        by=_split_names(by),
        day=day,
        first=first,
        days=days,
        max_places=max_places,
        rows=rows,
        about=about_rows,
        unit=unit,
        max_rows=max_rows,
        neighbours="add-remove" if neighbours is None else neighbours.value,
        dataset=dataset,
    )
    payer = ConnectionOptions(at=at, project=project, analyst=analyst)
    if source.lower().endswith(".toml"):
        for option, given in {"--header": header, "--neighbours": neighbours}.items():
            if given is not None:
                raise beside_descriptor(option)
        opened = described_source(source, order, _split_names(columns), payer, population, table=table, measure=measure)
    else:
        opened = file_source(
            source, order, _split_names(columns), payer, population, headed=_parse_header(header), measure=measure
        )
    with opened as desk:
        private, order = desk.private, desk.order
        yardstick = Yardstick(
            public_rows(holdout, order), _parse_number(measure, "--measure"), target or order.sensitive
        )
        events = [*check_request(order, private), *yardstick.checked(order, private.schema)]
        check_affordable(events, desk.account, order)
        _announce_price(order)
        publication = _publish_tables(
            source, private, order, yardstick, desk.account, out=out, form=form, attack=attack
        )
    _show_report(publication, report, as_json=as_json)


# ---------------------------------------------------------------- what was typed


def _parse_methods(given: Sequence[str]) -> list[str]:
    names = [name for each in given for name in _split_names(each)]
    if _ALL in names:
        names = [*WHOLE, *(name for name in names if name != _ALL)]
    for name in names:
        if name not in METHODS:
            raise typer.BadParameter(f"'{name}' is none of {', '.join((*METHODS, _ALL))}.", param_hint="--method")
    return list(dict.fromkeys(names))


def _split_names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _parse_header(text: str | None) -> bool:
    if text is not None and text.lower() != "yes":
        raise typer.BadParameter(
            "only 'yes' is known here; a table without names of columns needs them in its first line.",
            param_hint="--header",
        )
    return text is not None


def _parse_number(text: str | None, name: str) -> Any:
    return None if text is None else values.parse_number(text, name)


def _read_domain(given: str | None) -> Any:
    from hubbub.publish import PRIVATE, read_domain

    return given if given is None or given == PRIVATE else read_domain(given)


# ---------------------------------------------------------------- doing it


def _publish_tables(
    source: str,
    private: Unread,
    order: PublicationRequest,
    yardstick: Yardstick,
    account: Account | None,
    *,
    out: Path | None,
    form: Format,
    attack: bool,
) -> Publication:
    """Publish, with a bar, and write each table into its place."""
    from hubbub.cli.output import publication_files
    from hubbub.cli.output.fit_progress import show_steps
    from hubbub.studies.publication import publish_and_compare, stage_count

    def write(table: PublicationTable) -> None:
        if out is not None:
            place = out / table.name if len(order.methods) > 1 else out
            publication_files.write_table(table, place, format=form.value)

    with show_steps("publishing") as watch:
        watch.begin(stage_count(order))
        name = Path(source).name
        return publish_and_compare(name, private, order, yardstick, account, write=write, watch=watch, attack=attack)


def _announce_price(order: PublicationRequest) -> None:
    count = sum(method.is_private for method in order.methods)
    if count > 1:
        output.talk(f"{count} private methods, each for epsilon = {order.epsilon}, delta = {order.delta}: they add up.")
    if count and not order.unit:
        output.talk("Each row is protected by itself. If a person may have several rows, name the column: --unit.")


def _show_report(publication: Publication, report: Path | None, *, as_json: bool) -> None:
    import json

    html = report if report is not None and report.suffix.lower() == ".html" else None
    if report is not None and html is None:
        text = (
            json.dumps(publication.to_json(), indent=2, ensure_ascii=False)
            if report.suffix == ".json"
            else publication.text()
        )
        report.write_text(text, encoding="utf-8")
        output.talk(f"wrote {report}")
    PageOptions(as_json=as_json, html=html).show(publication)
