"""``hubbub attack``: what a dataset gives away, exact, k-anonymous and private, on one page."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from hubbub.cli.options.source_facts import allowance
from hubbub.cli.output import streams as output

if TYPE_CHECKING:
    from hubbub.studies.redteam import RedTeam
    from hubbub.terms import Budget


def attack(
    descriptor: Annotated[
        Path | None, typer.Argument(help="A descriptor (.toml). [default: a made-up clinic]", metavar="DESCRIPTOR")
    ] = None,
    table: Annotated[str | None, typer.Option("--table", help="The table to attack.", metavar="NAME")] = None,
    known: Annotated[
        str, typer.Option("--known", help="What outsiders know of people. [default: all they may]", metavar="A,B,...")
    ] = "",
    secret: Annotated[
        str | None, typer.Option("--secret", help="What they must not learn.", metavar="COLUMN[=VALUE]")
    ] = None,
    k: Annotated[int, typer.Option("--k", help="Of the k-anonymous table.", min=2, metavar="K")] = 10,
    budget: Annotated[
        str | None,
        typer.Option("--budget", help="Of the private answers. [default: the declared one]", metavar="EPSILON[,DELTA]"),
    ] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write the report as one page.", metavar="FILE")] = None,
    svg: Annotated[Path | None, typer.Option("--svg", help="Write the pictures into this folder.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Attack a dataset in every way that applies, and report what came out.

    For the owner of the data: it reads every row, and the report speaks of real people. No budget is spent: private
    answers are asked on ledgers of their own.
    """
    column, _, value = (secret or "").partition("=")
    told = _run(
        descriptor,
        table=table,
        known=[name.strip() for name in known.split(",") if name.strip()],
        secret=column.strip() or None,
        value=value.strip() or None,
        k=k,
        budget=None if budget is None else allowance(budget),
    )
    output.leaflet(told, as_json=as_json, svg=svg, html=html)


def _run(descriptor: Path | None, **wanted: Any) -> RedTeam:
    from hubbub.studies.redteam import example

    if descriptor is not None:
        return _attacked(str(descriptor), {}, **wanted)
    with example.clinic() as (file, declared):
        return _attacked(file, declared, **wanted)


def _attacked(source: str, declared: dict[str, Any], *, k: int, budget: Budget | None, **wanted: Any) -> RedTeam:
    from hubbub.sql import declare
    from hubbub.studies.redteam import RedTeam, attempts, faces, target
    from hubbub.terms import plain_text

    dataset, engine = declare(source, **declared)
    try:
        for column in (column for table in dataset.tables for column in table.columns):
            plain_text(column.name, name="a column's name")  # a Parquet file may call a column anything
        aimed = target.aim(dataset, engine, **wanted)
        promised = budget or dataset.budget or _no_budget()
        opened = partial(faces.private, dataset, engine, promised)
        made = []
        for attempt in attempts.all_attempts(aimed, engine, opened, k=k):
            output.talk(f"{attempt.name} on {attempt.face}: {attempt.outcome}")
            made.append(attempt)
        return RedTeam(aimed, promised, k, tuple(made))
    finally:
        engine.close()


def _no_budget() -> NoReturn:
    from hubbub.terms import MissingParameter

    raise MissingParameter(
        "the descriptor names no budget.",
        why="How much private answers give away depends on it.",
        fix="Write budget = { epsilon = ..., delta = ... } under [privacy], or --budget 1,1e-6.",
    )
