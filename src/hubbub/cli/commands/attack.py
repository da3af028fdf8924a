"""``hubbub attack``: what a dataset gives away, exact, k-anonymous and private, on one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hubbub.cli.options.groups import spread_groups
from hubbub.cli.options.pages import PictureOptions
from hubbub.cli.options.source_facts import parse_budget
from hubbub.cli.output import streams as output


@spread_groups
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
    *,
    page: PictureOptions,
) -> None:
    """Attack a dataset in every way that applies, and report what came out.

    For the owner of the data: it reads every row, and the report speaks of real people. No budget is spent: private
    answers are asked on ledgers of their own.
    """
    from hubbub.studies.redteam import attack_dataset

    column, _, value = (secret or "").partition("=")
    report = attack_dataset(
        None if descriptor is None else str(descriptor),
        table=table,
        known=[name.strip() for name in known.split(",") if name.strip()],
        secret=column.strip() or None,
        value=value.strip() or None,
        k=k,
        budget=None if budget is None else parse_budget(budget),
        watch=lambda attempt: output.talk(f"{attempt.name} on {attempt.face}: {attempt.outcome}"),
    )
    page.show(report)
