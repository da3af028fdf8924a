"""``hubbub explain ...``: what an epsilon means, in words and pictures. Reads no data and spends nothing."""

from __future__ import annotations

from typing import Annotated

import typer

from hubbub.cli.options.groups import spread_groups
from hubbub.cli.options.pages import PageOptions, PictureOptions
from hubbub.cli.options.values import parse_number

app = typer.Typer(help="What an epsilon means, in words and pictures. Free.", no_args_is_help=True)

Epsilon = Annotated[str, typer.Argument(help="The epsilon; there is no default.", metavar="EPSILON")]
General = Annotated[bool, typer.Option("--general", help="Use the weights of scores in general (the factor 2).")]


@app.command()
@spread_groups
def epsilon(
    epsilon: Epsilon,
    *,
    delta: Annotated[str, typer.Option(help="The delta; 0 is pure differential privacy.", metavar="DELTA")] = "0",
    page: PictureOptions,
) -> None:
    """Odds, beliefs and tests: what EPSILON promises to one person."""
    from hubbub import explain

    explanation = explain.epsilon(parse_number(epsilon, "epsilon"), delta=parse_number(delta, "delta"))
    page.show(explanation)


@app.command()
@spread_groups
def charlie(
    epsilon: Epsilon,
    *,
    count: Annotated[str, typer.Option(help="The count with Charlie in it.", metavar="N")] = "101",
    sensitivity: Annotated[str, typer.Option(help="How far one person can move it.", metavar="N")] = "1",
    page: PictureOptions,
) -> None:
    """One count with and without Charlie: two curves that can hardly be told apart."""
    from hubbub import explain

    explanation = explain.charlie(
        parse_number(epsilon, "epsilon"),
        count=parse_number(count, "count"),
        sensitivity=parse_number(sensitivity, "sensitivity"),
    )
    page.show(explanation)


@app.command()
@spread_groups
def election(
    epsilon: Epsilon,
    *,
    votes: Annotated[list[str], typer.Option(help="A candidate and the votes; repeat it.", metavar="NAME=VOTES")],
    general: General = False,
    page: PictureOptions,
) -> None:
    """A private election: the exponential mechanism draws the winner."""
    from hubbub import explain

    counted: dict[str, object] = {}
    for vote in votes:
        name, separator, count = vote.rpartition("=")
        if not separator or not name:
            raise typer.BadParameter(f"'{vote}' is not NAME=VOTES, such as A=15.", param_hint="--votes")
        if name in counted:
            raise typer.BadParameter(f"'{name}' is given twice.", param_hint="--votes")
        counted[name] = parse_number(count, "votes")
    explanation = explain.election(counted, epsilon=parse_number(epsilon, "epsilon"), monotone=not general)
    page.show(explanation)


@app.command()
@spread_groups
def auction(
    epsilon: Epsilon,
    *,
    bid: Annotated[
        list[str] | None,
        typer.Option(help="A bid; repeat it. [default: 30 bids of 1.00 and 40 of 3.01]", metavar="PRICE"),
    ] = None,
    ceiling: Annotated[str, typer.Option(help="The highest price on offer (public).", metavar="PRICE")] = "5",
    step: Annotated[str, typer.Option(help="From one price on offer to the next (public).", metavar="PRICE")] = "0.01",
    general: General = False,
    page: PictureOptions,
) -> None:
    """A private price: why noise on the best one fails, and drawing it by revenue does not."""
    from hubbub import explain

    explanation = explain.auction(
        [parse_number(one, "bid") for one in bid] if bid else explain.EXAMPLE_BIDS,
        epsilon=parse_number(epsilon, "epsilon"),
        ceiling=parse_number(ceiling, "ceiling"),
        step=parse_number(step, "step"),
        monotone=not general,
    )
    page.show(explanation)


@app.command()
@spread_groups
def models(
    epsilon: Epsilon,
    *,
    delta: Annotated[str, typer.Option(help="The delta of shuffling and GOPA.", metavar="DELTA")] = "1e-6",
    people: Annotated[str, typer.Option(help="How many people are asked.", metavar="N")] = "10000",
    honest: Annotated[str, typer.Option(help="The share who do not work together against others.")] = "0.5",
    page: PictureOptions,
) -> None:
    """One question at four degrees of trust: curator, GOPA, shuffled reports, nobody."""
    from hubbub import explain
    from hubbub.local.amplification import shuffle_bounds

    cost, slack = parse_number(epsilon, "epsilon"), parse_number(delta, "delta")
    explanation = explain.models(
        cost,
        delta=slack,
        people=parse_number(people, "people"),
        honest=parse_number(honest, "honest"),
        shuffled=lambda count: shuffle_bounds.local_epsilon(cost, n=count, delta=slack),
    )
    page.show(explanation)


@app.command()
@spread_groups
def limits(page: PageOptions) -> None:
    """What differential privacy does not promise."""
    from hubbub import explain

    page.show(explain.not_promised())
