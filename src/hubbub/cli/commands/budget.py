"""``hubbub budget ...``: open a population's budget, look at it, grant, revoke, ask for more."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from hubbub.cli.options import values
from hubbub.cli.options.budgets import AmountOptions, RuleOptions, ShareOptions
from hubbub.cli.options.groups import spread_groups
from hubbub.cli.options.ledgers import By, LedgerOptions, Why, resolve_decider
from hubbub.cli.options.pages import AsJson, PictureOptions, show_result
from hubbub.cli.output import streams as output

if TYPE_CHECKING:
    from hubbub.ledger import Ledger, Plea
    from hubbub.render import Json

app = typer.Typer(
    help="Whose data may be asked how much: open, look, grant, revoke, ask for more.", no_args_is_help=True
)

Name = Annotated[str, typer.Argument(help="The population.", metavar="NAME")]
MaybeName = Annotated[str | None, typer.Argument(help="The population. [default: all]", metavar="[NAME]")]


class Shares(StrEnum):
    """Who may draw on a budget."""

    OPTIONAL = "optional"
    REQUIRED = "required"


class NeighboursChoice(StrEnum):
    """Which data sets a guarantee compares."""

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"


@app.command("open")
@spread_groups
def open_(
    name: Name,
    why: Why,
    *,
    amount: AmountOptions,
    plans: Annotated[
        str | None, typer.Option(help="The part of it set aside for plans.", metavar="AMOUNT[,DELTA]")
    ] = None,
    lifetime: Annotated[
        str | None,
        typer.Option(
            help="What it and all later grants may reach. [default: the budget itself]", metavar="AMOUNT[,DELTA]"
        ),
    ] = None,
    plans_lifetime: Annotated[
        str | None,
        typer.Option(help="The part of that for plans. [default: as --plans]", metavar="AMOUNT[,DELTA]"),
    ] = None,
    each: Annotated[
        str | None, typer.Option(help="What one request may cost by itself.", metavar="AMOUNT[,DELTA]")
    ] = None,
    window: Annotated[
        str | None,
        typer.Option(help="A cap for every day, week, month or year (UTC).", metavar="EVERY=AMOUNT[,DELTA]"),
    ] = None,
    neighbours: Annotated[
        NeighboursChoice, typer.Option(help="One person more or less, or one person's values replaced.")
    ] = NeighboursChoice.ADD_REMOVE,
    unit: Annotated[
        str, typer.Option(help="The path that tells people apart. [default: rows]", metavar="TABLE.COLUMN")
    ] = "",
    shares: Annotated[Shares, typer.Option(help="Whether only those may spend who have a share.")] = Shares.OPTIONAL,
    share_answers: Annotated[
        bool, typer.Option("--share-answers", help="Give stored answers to other projects too, for free.")
    ] = False,
    rules: RuleOptions,
    by: By = None,
    place: LedgerOptions,
    as_json: AsJson = False,
) -> None:
    """Open the budget of a population; begins a new ledger if there is none.

    AMOUNT counts as the budget does: epsilon, or rho if --rho was given.
    """
    budget = amount.budget()
    with place.open(create=True) as ledger:
        new = not ledger.populations()
        ledger.open_population(
            name,
            budget,
            plans=values.parse_part(plans, budget),
            lifetime=values.parse_part(lifetime, budget),
            plans_lifetime=values.parse_part(plans_lifetime, budget),
            each=values.parse_part(each, budget),
            window=values.parse_window(window, budget),
            neighbours=neighbours.value,
            unit=unit,
            shares=shares.value,
            share_answers=share_answers,
            **rules.arguments(),
            by=resolve_decider(by),
            why=why,
        )
        if new:
            output.talk(f"The ledger is in {place.at}, its key and anchors in {ledger.state}: keep the two apart.")
            output.talk(f"Its public key, for those who verify: {ledger.public_key}")
        _show_budget(ledger, name, as_json=as_json)


@app.command()
@spread_groups
def show(
    name: MaybeName = None,
    *,
    place: LedgerOptions,
    page: PictureOptions,
) -> None:
    """What is spent, reserved and left: of one population, or of all."""
    from hubbub.studies.spending import BudgetOverview

    if name is None and page.svg is not None:
        raise typer.BadParameter("the chart is one of a population: name it.", param_hint="--svg")
    with place.open() as ledger:
        budgets = BudgetOverview.from_ledger(ledger) if name is None else ledger.budget(name)
    page.show(budgets)


@app.command()
@spread_groups
def grant(
    name: Name,
    why: Why,
    *,
    amount: AmountOptions,
    share: ShareOptions,
    request: Annotated[
        int | None, typer.Option(help="The number of the request that this answers.", metavar="NUMBER")
    ] = None,
    raise_lifetime: Annotated[
        bool, typer.Option("--raise-lifetime", help="Break the first promise, in the open and for ever.")
    ] = False,
    by: By = None,
    place: LedgerOptions,
    as_json: AsJson = False,
) -> None:
    """Add to a population's budget, or (--project, --analyst) to a share of it.

    With --request and no amount, what was asked for is granted.
    """
    budget = amount.maybe_budget()
    with place.open() as ledger:
        if budget is None and request is not None:
            plea = _open_request(ledger, request, name)
            budget, share = plea.budget, ShareOptions.of_request(plea)
        ledger.grant(
            name,
            budget or amount.budget(),
            **share.arguments(),
            plea=request,
            raise_lifetime=raise_lifetime,
            by=resolve_decider(by),
            why=why,
        )
        _show_budget(ledger, name, as_json=as_json)


@app.command()
@spread_groups
def revoke(
    name: Name,
    why: Why,
    *,
    amount: AmountOptions,
    share: ShareOptions,
    by: By = None,
    place: LedgerOptions,
    as_json: AsJson = False,
) -> None:
    """Take a budget or a share back: so much of it, or all. What was spent stays spent."""
    budget = amount.maybe_budget()
    with place.open() as ledger:
        ledger.revoke(name, budget, **share.arguments(), by=resolve_decider(by), why=why)
        _show_budget(ledger, name, as_json=as_json)


@app.command()
@spread_groups
def rules(
    name: Name,
    why: Why,
    *,
    rules: RuleOptions,
    by: By = None,
    place: LedgerOptions,
    as_json: AsJson = False,
) -> None:
    """Change what one question costs at least, or how often an analyst may get no answer before an owner looks."""
    changes = rules.arguments()
    if not changes:
        raise typer.BadParameter("say which rule: --least-share or --most-failures.")
    with place.open() as ledger:
        ledger.change_rules(name, **changes, by=resolve_decider(by), why=why)
        _show_budget(ledger, name, as_json=as_json)


@app.command()
@spread_groups
def look(
    name: Name,
    why: Why,
    *,
    analyst: Annotated[str, typer.Option("--analyst", help="Whose questions were looked at.", metavar="NAME")],
    by: By = None,
    place: LedgerOptions,
    as_json: AsJson = False,
) -> None:
    """State that an owner looked at an analyst's questions without an answer; they count from zero again."""
    with place.open() as ledger:
        ledger.acknowledge_failures(name, analyst=analyst, by=resolve_decider(by), why=why)
    content: Json = {"kind": "look", "population": name, "analyst": analyst}
    show_result(f"looked at the questions of {analyst} to {name} that had no answer", content, as_json=as_json)


@app.command()
@spread_groups
def request(
    name: Name,
    why: Why,
    *,
    amount: AmountOptions,
    share: ShareOptions,
    by: By = None,
    place: LedgerOptions,
    as_json: AsJson = False,
) -> None:
    """Ask the owner for more; prints the number of the request."""
    budget = amount.budget()
    with place.open() as ledger:
        number = ledger.request_budget(name, budget, **share.arguments(), by=resolve_decider(by), why=why)
    how = f"hubbub budget grant {name} --request {number}"
    content: Json = {"kind": "request", "number": number, "population": name, "budget": budget.measure().describe()}
    show_result(str(number), content, as_json=as_json)
    output.talk(f"Request {number} is open; the owner answers with `{how}` or `hubbub budget refuse {number}`.")


@app.command()
@spread_groups
def refuse(
    number: Annotated[int, typer.Argument(help="The number of the request.", metavar="NUMBER")],
    why: Why,
    *,
    by: By = None,
    place: LedgerOptions,
    as_json: AsJson = False,
) -> None:
    """Turn down a request for more."""
    with place.open() as ledger:
        ledger.decline_request(number, by=resolve_decider(by), why=why)
    show_result(f"refused request {number}", {"kind": "refusal", "request": number}, as_json=as_json)


@app.command()
@spread_groups
def disjoint(
    names: Annotated[list[str], typer.Argument(help="Two or more populations.", metavar="NAME NAME...")],
    why: Why,
    *,
    by: By = None,
    place: LedgerOptions,
    as_json: AsJson = False,
) -> None:
    """State that no person is in two of these populations, so that each pays for itself alone."""
    with place.open() as ledger:
        ledger.declare_disjoint(*names, by=resolve_decider(by), why=why)
    content: Json = {"kind": "disjoint", "populations": sorted(set(names))}
    show_result(f"declared disjoint: {', '.join(sorted(set(names)))}", content, as_json=as_json)


@app.command()
@spread_groups
def history(
    name: MaybeName = None,
    *,
    place: LedgerOptions,
    as_json: AsJson = False,
    as_lines: Annotated[bool, typer.Option("--jsonl", help="Print JSON Lines.")] = False,
) -> None:
    """Grants, revocations and charges over time, a line each."""
    from hubbub.studies.spending import HEADER, BudgetHistory

    with place.open() as ledger:
        if name is not None:
            ledger.budget(name)  # refuses an unknown one
        steps = (step for step in BudgetHistory().steps(ledger.log()) if name in (None, step.population))
        if as_json:
            output.print_json({"kind": "history", "population": name, "steps": [step.to_json() for step in steps]})
        elif as_lines:
            output.print_lines(json.dumps(step.to_json(), ensure_ascii=False) for step in steps)
        else:
            output.print_data(HEADER)
            output.print_lines(step.format_line() for step in steps)


def _open_request(ledger: Ledger, number: int, name: str) -> Plea:
    """The open request of that number."""
    from hubbub.terms import BudgetConflict

    for plea in ledger.pleas():
        if (plea.number, plea.population) == (number, name):
            return plea
    raise BudgetConflict(
        f"no request with number {number} is open for {name!r}.",
        why="It was answered already, or never made.",
        fix="See the open ones: `hubbub budget show`.",
    )


def _show_budget(ledger: Ledger, name: str, *, as_json: bool) -> None:
    """The budget as it is after a change."""
    from hubbub.cli.output.terminal import draw_table
    from hubbub.studies.spending import budgets_table

    view = ledger.budget(name)
    show_result(draw_table(budgets_table([view])), view.to_json(), as_json=as_json)
