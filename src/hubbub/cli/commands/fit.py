"""``hubbub fit``: a private model of a table, with a card."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hubbub.cli.options import values
from hubbub.cli.options.connections import ConnectionOptions, open_connection
from hubbub.cli.options.groups import spread_groups
from hubbub.cli.options.ledgers import LEDGER, open_ledger
from hubbub.cli.options.pages import AsJson, PageOptions
from hubbub.cli.options.source_facts import (
    Allowance,
    Bounds,
    Compared,
    DeclaredFacts,
    Header,
    Keys,
    Population,
    Source,
    SourceFacts,
)
from hubbub.cli.output import streams as output

if TYPE_CHECKING:
    from hubbub.engines import Engine
    from hubbub.learn.tables import Cells, Chosen, TableModel
    from hubbub.ledger import AccountLike
    from hubbub.schema import Dataset


class ModelChoice(StrEnum):
    """What may be trained."""

    LOGISTIC = "logistic"
    SVM = "svm"
    MLP = "mlp"
    TREES = "trees"
    NB = "nb"
    LINEAR = "linear"
    RIDGE = "ridge"


class BoundsOrigin(StrEnum):
    """Where bounds of numbers come from."""

    DECLARED = "declared"
    PRIVATE = "private"


class Held(StrEnum):
    """What is held out to measure on."""

    PRIVATE = "private"


Unit = Annotated[
    str | None,
    typer.Option(
        "--unit", help="The column that tells people apart; one row of each counts. [default: row]", metavar="COLUMN"
    ),
]
RowsOrPrivate = Annotated[
    str | None,
    typer.Option("--rows", help="About how many rows, if public. [default: declared, or private]", metavar="N|private"),
]
Test = Annotated[
    Path | None, typer.Option("--test", help="Measure on this file, whose rows are public.", metavar="FILE")
]
Holdout = Annotated[
    Held | None, typer.Option("--holdout", help="Measure on private rows held out, at no further cost.")
]
Card = Annotated[
    Path | None, typer.Option("--card", help="Write the model card: .html, .md, .json or .txt.", metavar="FILE")
]


@dataclass(frozen=True, slots=True)
class FitOptions:
    """What somebody asked for, as it was typed."""

    target: str
    epsilon: str
    delta: str
    model: ModelChoice | None
    columns: str
    table: str | None
    bounds: BoundsOrigin
    rows: str | None
    holdout: Held | None
    fresh: bool


@dataclass(frozen=True, slots=True)
class FitSource:
    """Where the data are, what is public about them, and who pays."""

    dataset: Dataset
    engine: Engine
    account: AccountLike | None
    described: bool


@spread_groups
def fit(
    source: Source,
    target: Annotated[str, typer.Option("--target", help="The column to predict.", metavar="COLUMN")],
    epsilon: Annotated[str, typer.Option("--epsilon", help="What the model may cost.", metavar="E")],
    delta: Annotated[str, typer.Option("--delta", help="The delta beside it.", metavar="D")],
    model: Annotated[
        ModelChoice | None, typer.Option("--model", help="[default: logistic, or linear for numbers]")
    ] = None,
    columns: Annotated[
        str, typer.Option("--columns", help="The columns to learn from. [default: all others]", metavar="A,B,...")
    ] = "",
    table: Annotated[str | None, typer.Option("--table", help="Which table of a descriptor.", metavar="NAME")] = None,
    bound: Bounds = None,
    key: Keys = None,
    bounds: Annotated[
        BoundsOrigin,
        typer.Option("--bounds", help="'private' finds missing bounds of numbers, for a part of the price."),
    ] = BoundsOrigin.DECLARED,
    unit: Unit = None,
    rows: RowsOrPrivate = None,
    test: Test = None,
    holdout: Holdout = None,
    *,
    payer: ConnectionOptions,
    budget: Allowance = None,
    population: Population = None,
    neighbours: Compared = None,
    header: Header = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Pay again for new noise.")] = False,
    out: Annotated[Path | None, typer.Option("--out", help="Write the model into this file.", metavar="FILE")] = None,
    card: Card = None,
    as_json: AsJson = False,
) -> None:
    """Train a private model on a table, and tell what it promises and how good it is.

    Bounds and categories of columns are public facts: from a descriptor, or typed. The ledger is charged once, before
    a row is read. Prints the model card.
    """
    from hubbub.cli.output.model_files import card_of, check_writable, write_model

    if test is not None and holdout is not None:
        raise typer.BadParameter("measure on public rows (--test) or on private ones (--holdout), not both.")
    for place in filter(None, (out, card)):
        check_writable(place, ending=place == card)
    declared = DeclaredFacts(
        unit=unit or _default_unit(source),
        bounds=bound,
        keys=key,
        budget=budget,
        population=population,
        neighbours=neighbours,
        header=header or _infer_header(source, target),
    )
    order = FitOptions(target, epsilon, delta, model, columns, table, bounds, rows, holdout, fresh)
    with _open_source(SourceFacts(source, declared), payer) as desk:
        model_of_table = _train_model(desk, order, test)
    write_model(model_of_table, out=out, card=card)
    PageOptions(as_json=as_json).show(card_of(model_of_table))


def _infer_header(source: str, target: str) -> str | None:
    """A CSV file whose first line names the column to predict has a header."""
    from hubbub.engines import header_of, no_header
    from hubbub.schema import files_of, is_csv

    if not is_csv(source):
        return None
    if target.lower() not in map(str.lower, header_of(*files_of(source))):
        raise no_header(Path(source).name, [target])
    return "yes"


def _default_unit(source: str) -> str | None:
    return None if source.lower().endswith(".toml") else "row"


@contextmanager
def _open_source(facts: SourceFacts, payer: ConnectionOptions) -> Iterator[FitSource]:
    """A descriptor names its ledger; for a file one is charged if it is named, and else none."""
    if facts.described or facts.declared.budget is not None:
        with open_connection(facts, payer) as connection:
            yield FitSource(connection.dataset, connection.engine, connection, facts.described)
        return
    from hubbub.ledger import Account
    from hubbub.sql import declare

    where = payer.at or os.environ.get(LEDGER)
    with ExitStack() as held:
        account = None
        if where is not None:
            ledger = held.enter_context(open_ledger(where, None))
            named = facts.declared.population or Account.of(ledger).population
            account = Account(ledger=ledger, population=named, project=payer.project, analyst=payer.asker)
        else:
            output.talk(f"No --ledger and no {LEDGER}: charged to no ledger.")
        dataset, engine = declare(facts.source, **facts.arguments())
        held.callback(engine.close)
        yield FitSource(dataset, engine, account, described=False)


def _train_model(desk: FitSource, order: FitOptions, test: Path | None) -> TableModel:
    """Decide, charge, read, train."""
    from hubbub.cli.output.fit_progress import show_steps
    from hubbub.learn.tables import chosen, fit_table, public_cells, reader
    from hubbub.schema import choose_table

    table = choose_table(desk.dataset, order.table)
    wanted = [name.strip() for name in order.columns.split(",") if name.strip()]
    choice = chosen(table, target=order.target, wanted=wanted, private=order.bounds is BoundsOrigin.PRIVATE)
    _announce_columns(desk, choice)
    names = [each.name for each in (*choice.columns, choice.target)]
    known = None if test is None else public_cells(test, names)  # before a charge: it may not be there
    with show_steps("training") as watch:
        model = fit_table(
            reader(desk.engine, desk.dataset, table, names),
            columns=choice.columns,
            target=choice.target,
            epsilon=values.parse_number(order.epsilon, "--epsilon"),
            delta=values.parse_number(order.delta, "--delta"),
            model=order.model,
            measure=order.holdout is not None,
            rows=_row_count(order.rows, table.rows),
            neighbours=desk.dataset.neighbours,
            unit=desk.dataset.unit,
            picked=bool(desk.dataset.unit),
            account=desk.account,
            dataset=None if order.fresh or not desk.described else _rows_fingerprint(desk.dataset, table.name),
            watch=watch,
        )
    model = replace(model, notes={"data": table.name, **model.notes})
    return model if known is None else _score_on_public_rows(model, known, str(test and test.name))


def _announce_columns(desk: FitSource, choice: Chosen) -> None:
    if choice.dates:
        output.talk(f"Left out, for they are dates: {', '.join(choice.dates)}.")
    if not desk.dataset.unit:
        output.talk("Each row is protected by itself. If a person may have several rows, name the column: --unit.")


def _row_count(typed: str | None, declared: int | None) -> int | str:
    """How many rows: as typed, as declared, or counted privately."""
    if typed is None:
        return "private" if declared is None else declared
    return typed if typed == "private" else int(values.parse_number(typed, "--rows"))


def _rows_fingerprint(dataset: Dataset, table: str) -> str:
    """What tells these rows from others, as for a question: the declared facts and where the rows come from."""
    from hubbub.ledger import fingerprint

    return fingerprint(**dataset.fingerprint(), table=table)


def _score_on_public_rows(model: TableModel, known: Cells, name: str) -> TableModel:
    how = f"Measured on {name}, whose rows count as public: that costs nothing.{_describe_constant_guess(model, known)}"
    return replace(model, score=model.measured(known), notes={**model.notes, "measured": how})


def _describe_constant_guess(model: TableModel, known: Cells) -> str:
    """What a guess without a model would be worth."""
    from hubbub.learn.tables import Category

    if not isinstance(model.target, Category):
        return ""
    truths = list(model.truth(known))
    common = max(model.target.values, key=truths.count)
    return f" Always saying {common} would be right for {truths.count(common) / max(1, len(truths)):.1%}."
