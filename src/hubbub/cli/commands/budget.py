"""``hubbub budget ...``: open a population's budget, look at it, grant, revoke, ask for more."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hubbub.cli.options import values
from hubbub.cli.options.ledgers import DEFAULT, AsJson, At, By, PoolChoice, State, Why, decider, opened, told
from hubbub.cli.output import streams as output

if TYPE_CHECKING:
    from hubbub.ledger import Ledger, Plea
    from hubbub.render import Json

app = typer.Typer(
    help="Whose data may be asked how much: open, look, grant, revoke, ask for more.", no_args_is_help=True
)

Name = Annotated[str, typer.Argument(help="The population.", metavar="NAME")]
MaybeName = Annotated[str | None, typer.Argument(help="The population. [default: all]", metavar="[NAME]")]
Epsilon = Annotated[str | None, typer.Option("--epsilon", help="How much, in epsilon.", metavar="E")]
Delta = Annotated[str | None, typer.Option("--delta", help="The delta beside it; without one it is pure.", metavar="D")]
Rho = Annotated[str | None, typer.Option("--rho", help="How much, in rho (zCDP), instead of epsilon.", metavar="R")]
Project = Annotated[str, typer.Option("--project", help="A share of this project.", metavar="NAME")]
Analyst = Annotated[str, typer.Option("--analyst", help="A share of this analyst.", metavar="NAME")]
InPool = Annotated[PoolChoice, typer.Option("--pool", help="For questions, or for plans fixed in advance.")]
Svg = Annotated[Path | None, typer.Option("--svg", help="Write the chart into this folder.", metavar="DIR")]
Html = Annotated[Path | None, typer.Option("--html", help="Write a page that needs nothing else.", metavar="FILE")]


LeastShare = Annotated[
    str | None,
    typer.Option(
        "--least-share",
        help="Least price of a question, as a share of the budget. [default: 0.00001]",
        metavar="SHARE",
    ),
]
MostFailures = Annotated[
    int | None,
    typer.Option("--most-failures", help="Questions without an answer, until an owner looks. [default: 10]"),
]


class Shares(StrEnum):
    """Who may draw on a budget."""

    OPTIONAL = "optional"
    REQUIRED = "required"


class NeighboursChoice(StrEnum):
    """Which data sets a guarantee compares."""

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"


@app.command("open")
def open_(
    name: Name,
    why: Why,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
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
    least_share: LeastShare = None,
    most_failures: MostFailures = None,
    by: By = None,
    at: At = DEFAULT,
    state: State = None,
    as_json: AsJson = False,
) -> None:
    """Open the budget of a population; begins a new ledger if there is none.

    AMOUNT counts as the budget does: epsilon, or rho if --rho was given.
    """
    budget = values.budget(epsilon, delta, rho)
    with opened(at, state, create=True) as ledger:
        new = not ledger.populations()
        ledger.open_population(
            name,
            budget,
            plans=values.part(plans, budget),
            lifetime=values.part(lifetime, budget),
            plans_lifetime=values.part(plans_lifetime, budget),
            each=values.part(each, budget),
            window=values.window(window, budget),
            neighbours=neighbours.value,
            unit=unit,
            shares=shares.value,
            share_answers=share_answers,
            **_given(least_share, most_failures),
            by=decider(by),
            why=why,
        )
        if new:
            output.talk(f"The ledger is in {at}, its key and anchors in {ledger.state}: keep the two apart.")
            output.talk(f"Its public key, for those who verify: {ledger.public_key}")
        _after(ledger, name, as_json=as_json)


@app.command()
def show(
    name: MaybeName = None,
    at: At = DEFAULT,
    state: State = None,
    as_json: AsJson = False,
    svg: Svg = None,
    html: Html = None,
) -> None:
    """What is spent, reserved and left: of one population, or of all."""
    from hubbub.cli.output.budget_table import Overview

    if name is None and svg is not None:
        raise typer.BadParameter("the chart is one of a population: name it.", param_hint="--svg")
    with opened(at, state) as ledger:
        shown = Overview.of(ledger) if name is None else ledger.budget(name)
    output.leaflet(shown, as_json=as_json, svg=svg, html=html)


@app.command()
def grant(
    name: Name,
    why: Why,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    project: Project = "",
    analyst: Analyst = "",
    pool: InPool = PoolChoice.QUESTIONS,
    request: Annotated[
        int | None, typer.Option(help="The number of the request that this answers.", metavar="NUMBER")
    ] = None,
    raise_lifetime: Annotated[
        bool, typer.Option("--raise-lifetime", help="Break the first promise, in the open and for ever.")
    ] = False,
    by: By = None,
    at: At = DEFAULT,
    state: State = None,
    as_json: AsJson = False,
) -> None:
    """Add to a population's budget, or (--project, --analyst) to a share of it.

    With --request and no amount, what was asked for is granted.
    """
    budget = values.maybe_budget(epsilon, delta, rho)
    with opened(at, state) as ledger:
        if budget is None and request is not None:
            asked = _asked(ledger, request, name)
            budget, project, analyst, pool = asked.budget, asked.project, asked.analyst, PoolChoice(asked.pool)
        ledger.grant(
            name,
            budget or values.budget(epsilon, delta, rho),
            project=project,
            analyst=analyst,
            pool=pool.value,
            plea=request,
            raise_lifetime=raise_lifetime,
            by=decider(by),
            why=why,
        )
        _after(ledger, name, as_json=as_json)


@app.command()
def revoke(
    name: Name,
    why: Why,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    project: Project = "",
    analyst: Analyst = "",
    pool: InPool = PoolChoice.QUESTIONS,
    by: By = None,
    at: At = DEFAULT,
    state: State = None,
    as_json: AsJson = False,
) -> None:
    """Take a budget or a share back: so much of it, or all. What was spent stays spent."""
    budget = values.maybe_budget(epsilon, delta, rho)
    with opened(at, state) as ledger:
        ledger.revoke(name, budget, project=project, analyst=analyst, pool=pool.value, by=decider(by), why=why)
        _after(ledger, name, as_json=as_json)


@app.command()
def rules(
    name: Name,
    why: Why,
    least_share: LeastShare = None,
    most_failures: MostFailures = None,
    by: By = None,
    at: At = DEFAULT,
    state: State = None,
    as_json: AsJson = False,
) -> None:
    """Change what one question costs at least, or how often an analyst may get no answer before an owner looks."""
    given = _given(least_share, most_failures)
    if not given:
        raise typer.BadParameter("say which rule: --least-share or --most-failures.")
    with opened(at, state) as ledger:
        ledger.change_rules(name, **given, by=decider(by), why=why)
        _after(ledger, name, as_json=as_json)


@app.command()
def look(
    name: Name,
    why: Why,
    analyst: Annotated[str, typer.Option("--analyst", help="Whose questions were looked at.", metavar="NAME")],
    by: By = None,
    at: At = DEFAULT,
    state: State = None,
    as_json: AsJson = False,
) -> None:
    """State that an owner looked at an analyst's questions without an answer; they count from zero again."""
    with opened(at, state) as ledger:
        ledger.acknowledge_failures(name, analyst=analyst, by=decider(by), why=why)
    content: Json = {"kind": "look", "population": name, "analyst": analyst}
    told(f"looked at the questions of {analyst} to {name} that had no answer", content, as_json=as_json)


@app.command()
def request(
    name: Name,
    why: Why,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    project: Project = "",
    analyst: Analyst = "",
    pool: InPool = PoolChoice.QUESTIONS,
    by: By = None,
    at: At = DEFAULT,
    state: State = None,
    as_json: AsJson = False,
) -> None:
    """Ask the owner for more; prints the number of the request."""
    budget = values.budget(epsilon, delta, rho)
    with opened(at, state) as ledger:
        number = ledger.request_budget(
            name, budget, project=project, analyst=analyst, pool=pool.value, by=decider(by), why=why
        )
    how = f"hubbub budget grant {name} --request {number}"
    content: Json = {"kind": "request", "number": number, "population": name, "budget": budget.measure().describe()}
    told(str(number), content, as_json=as_json)
    output.talk(f"Request {number} is open; the owner answers with `{how}` or `hubbub budget refuse {number}`.")


@app.command()
def refuse(
    number: Annotated[int, typer.Argument(help="The number of the request.", metavar="NUMBER")],
    why: Why,
    by: By = None,
    at: At = DEFAULT,
    state: State = None,
    as_json: AsJson = False,
) -> None:
    """Turn down a request for more."""
    with opened(at, state) as ledger:
        ledger.decline_request(number, by=decider(by), why=why)
    told(f"refused request {number}", {"kind": "refusal", "request": number}, as_json=as_json)


@app.command()
def disjoint(
    names: Annotated[list[str], typer.Argument(help="Two or more populations.", metavar="NAME NAME...")],
    why: Why,
    by: By = None,
    at: At = DEFAULT,
    state: State = None,
    as_json: AsJson = False,
) -> None:
    """State that no person is in two of these populations, so that each pays for itself alone."""
    with opened(at, state) as ledger:
        ledger.declare_disjoint(*names, by=decider(by), why=why)
    content: Json = {"kind": "disjoint", "populations": sorted(set(names))}
    told(f"declared disjoint: {', '.join(sorted(set(names)))}", content, as_json=as_json)


@app.command()
def history(
    name: MaybeName = None,
    at: At = DEFAULT,
    state: State = None,
    as_json: AsJson = False,
    as_lines: Annotated[bool, typer.Option("--jsonl", help="Print JSON Lines.")] = False,
) -> None:
    """Grants, revocations and charges over time, a line each."""
    from hubbub.cli.output.budget_history import HEADER, History

    with opened(at, state) as ledger:
        if name is not None:
            ledger.budget(name)  # refuses an unknown one
        steps = (step for step in History().steps(ledger.log()) if name in (None, step.population))
        if as_json:
            output.document({"kind": "history", "population": name, "steps": [step.to_json() for step in steps]})
        elif as_lines:
            output.stream(json.dumps(step.to_json(), ensure_ascii=False) for step in steps)
        else:
            output.data(HEADER)
            output.stream(step.line() for step in steps)


def _asked(ledger: Ledger, number: int, name: str) -> Plea:
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


def _after(ledger: Ledger, name: str, *, as_json: bool) -> None:
    """The budget as it is after a change."""
    from hubbub.cli.output.budget_table import numbers

    view = ledger.budget(name)
    if as_json:
        output.document(view.to_json())
    else:
        output.data(numbers([view]))


def _given(least_share: str | None, most_failures: int | None) -> dict[str, Any]:
    """The rules that were typed; the others stay, or are the default."""
    typed = {
        "least_share": None if least_share is None else values.number(least_share, "least-share"),
        "most_failures": most_failures,
    }
    return {name: value for name, value in typed.items() if value is not None}
