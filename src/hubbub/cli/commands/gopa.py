"""``hubbub gopa ...``: averages among parties who trust neither a curator nor each other."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hubbub.cli.exit_codes import Exit
from hubbub.cli.options.gopa_consent import Limits, pinned
from hubbub.cli.options.gopa_files import (
    append,
    certified,
    read_agreement,
    read_key,
    read_roster,
    write_identity,
    write_new,
)
from hubbub.cli.options.gopa_plans import GopaPlanOptions, numbers_in, plan_table
from hubbub.cli.options.gopa_runs import Served, TakesPart
from hubbub.cli.options.ledgers import AsJson, State, told
from hubbub.cli.options.values import number
from hubbub.cli.output import streams as output

if TYPE_CHECKING:
    from hubbub.gopa import Certificate
    from hubbub.render import Json

app = typer.Typer(help="An average without a curator: masks that cancel, noise that is proved.", no_args_is_help=True)

Epsilon = Annotated[str, typer.Option(help="What the result may give away; there is no default.", metavar="E")]
Delta = Annotated[str, typer.Option(help="The chance that is left out; there is no default.", metavar="D")]
Honest = Annotated[str, typer.Option(help="The share of parties that work against nobody.", metavar="SHARE")]
Dropouts = Annotated[str, typer.Option(help="The share of parties that may be lost on the way.", metavar="SHARE")]
Coordinates = Annotated[int, typer.Option(help="How many numbers each party gives.", metavar="N", min=1)]
Kind = Annotated[str, typer.Option(help="range, one-hot (a choice) or ball (an L2 bound).", metavar="KIND")]
Steps = Annotated[int | None, typer.Option(help="Steps of the grid. [default: from --loss]", metavar="N", min=1)]
Loss = Annotated[str, typer.Option(help="What rounding to the grid may add to the variance.", metavar="SHARE")]
Agreed = Annotated[Path, typer.Argument(help="The agreement, as agree made it.", metavar="AGREEMENT")]
Earlier = Annotated[
    list[Path] | None,
    typer.Option("--previous", help="The log of the run whose inputs are used again; repeat it.", metavar="LOG"),
]
Pinned = Annotated[Path | None, typer.Option("--agreement", help="The agreement that is meant.", metavar="FILE")]
Run = Annotated[str | None, typer.Option("--run", help="The name of the run that is meant.", metavar="HASH")]
Known = Annotated[Path | None, typer.Option("--roster", help="Whom you know: lines of NAME KEY.", metavar="FILE")]
Html = Annotated[Path | None, typer.Option("--html", help="Write a page that needs nothing else.", metavar="FILE")]
Svg = Annotated[Path | None, typer.Option("--svg", help="Write the pictures into this folder.", metavar="DIR")]


class SimulatedAlgorithm(StrEnum):
    """Which algorithm a simulation runs."""

    VERIFIABLE = "verifiable"
    CLASSIC = "classic"


# ---------------------------------------------------------------- before a run


@app.command()
def plan(
    epsilon: Epsilon,
    delta: Delta,
    parties: Annotated[int, typer.Option(help="How many parties.", metavar="N", min=2)],
    honest: Honest = "0.5",
    dropouts: Dropouts = "0.05",
    coordinates: Coordinates = 1,
    kind: Kind = "range",
    steps: Steps = None,
    loss: Loss = "0.02",
    as_json: AsJson = False,
) -> None:
    """What a run needs, and how accurate it is: noise, neighbours, thresholds. Free."""
    asked = GopaPlanOptions(epsilon, delta, parties, honest, dropouts, coordinates, kind, steps, loss)
    words, content = plan_table(asked.plan())
    told(words, content, as_json=as_json)


@app.command()
def identity(
    name: Annotated[str, typer.Argument(help="Who this is.", metavar="NAME")],
    key: Annotated[
        Path | None, typer.Option(help="Where the private key goes. [default: NAME.key]", metavar="FILE")
    ] = None,
    roster: Annotated[Path | None, typer.Option(help="Also append the line to this roster.", metavar="FILE")] = None,
    as_json: AsJson = False,
) -> None:
    """Make a private key and print the line for the roster."""
    from hubbub.gopa import Identity

    made, path = Identity.new(name), key or Path(f"{name}.key")
    public = made.member.key.hex()
    write_identity(path, made)
    if roster is not None:
        append(roster, f"{name} {public}\n")
    told(f"{name} {public}", {"kind": "identity", "name": name, "key": public, "file": str(path)}, as_json=as_json)


@app.command()
def agree(
    file: Annotated[Path, typer.Argument(help="Where the agreement goes.", metavar="FILE")],
    roster: Annotated[Path, typer.Option(help="Who takes part: lines of NAME KEY.", metavar="FILE")],
    board: Annotated[str, typer.Option(help="The board's public key.", metavar="HEX")],
    epsilon: Epsilon,
    delta: Delta,
    honest: Honest = "0.5",
    dropouts: Dropouts = "0.05",
    lower: Annotated[str, typer.Option(help="The least value.", metavar="X")] = "0",
    upper: Annotated[str, typer.Option(help="The largest value.", metavar="X")] = "1",
    coordinates: Coordinates = 1,
    kind: Kind = "range",
    steps: Steps = None,
    loss: Loss = "0.02",
    name: Annotated[str, typer.Option(help="What is averaged.", metavar="NAME")] = "mean",
    title: Annotated[str, typer.Option(help="What the run is about.", metavar="TEXT")] = "",
    previous: Annotated[str | None, typer.Option(help="The run whose inputs are used again.", metavar="RUN")] = None,
    as_json: AsJson = False,
) -> None:
    """Write what all parties agree on: who, what, and with which numbers. Everybody reads it before taking part."""
    from hubbub.gopa import Agreement

    members = read_roster(roster)
    asked = GopaPlanOptions(epsilon, delta, len(members), honest, dropouts, coordinates, kind, steps, loss)
    made = Agreement(
        roster=members,
        board=read_key(board, "--board"),
        plan=asked.plan(),
        quantity=asked.quantity(name, lower, upper),
        title=title,
        previous=None if previous is None else read_key(previous, "--previous"),
    )
    write_new(file, made.text() + "\n")
    words, content = plan_table(made.plan)
    summary: dict[str, Json] = {"kind": "agreement", "file": str(file), "run": made.run.hex(), "plan": content}
    told(f"run {made.run.hex()}\n{words}", summary, as_json=as_json)


@app.command()
def show(
    agreement: Agreed,
    as_json: AsJson = False,
    html: Html = None,
) -> None:
    """An agreement in plain words: who is protected and how well, who must be honest, what leaves, and who is in."""
    from hubbub.gopa.reports import Notice

    found = Notice(read_agreement(agreement))
    output.leaflet(found, as_json=as_json, svg=None, html=html)
    if not found.sound:
        raise typer.Exit(Exit.NOT_PRIVATE)


# ---------------------------------------------------------------- a run


@app.command()
def board(
    agreement: Agreed,
    key: Annotated[Path, typer.Option(help="The board's private key.", metavar="FILE")],
    log: Annotated[Path, typer.Option(help="The log; one that is there is gone on with.", metavar="FILE")],
    host: Annotated[str, typer.Option(help="The address to listen on.", metavar="ADDRESS")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 takes any.", min=0, max=65535, metavar="N")] = 8770,
    joining: Annotated[float, typer.Option(help="Wait so long for all to join.", metavar="SECONDS", min=0.1)] = 600.0,
    deadline: Annotated[float, typer.Option(help="Most seconds of a later phase.", metavar="SECONDS", min=0.1)] = 60.0,
    patience: Annotated[
        float, typer.Option(help="Give up the silent when enough have spoken.", metavar="SECONDS", min=0.1)
    ] = 10.0,
    linger: Annotated[float, typer.Option(help="Serve the end so much longer.", metavar="SECONDS", min=0.0)] = 30.0,
    previous: Earlier = None,
) -> None:
    """Keep a run's log and close its phases in time. The log is the certificate: see verify."""
    from hubbub.gopa.protocol import Clock

    served = Served(
        agreement=agreement,
        key=key,
        log=log,
        previous=previous or [],
        clock=Clock(joining=joining, deadline=deadline, patience=patience),
        host=host,
        port=port,
        linger=linger,
    )
    _shown(served.run(), as_json=False)


@app.command()
def party(
    agreement: Agreed,
    board: Annotated[str, typer.Option(help="The board, such as http://127.0.0.1:8770.", metavar="URL")],
    key: Annotated[Path, typer.Option(help="This party's private key.", metavar="FILE")],
    value_file: Annotated[
        Path | None, typer.Option(help="A file with its number, or numbers with commas or lines.", metavar="FILE")
    ] = None,
    value: Annotated[
        str | None,
        typer.Option(help="The same; - reads stdin. What is typed here others can see.", metavar="X,..."),
    ] = None,
    epsilon_at_most: Annotated[str | None, typer.Option(help="Refuse an agreement beyond.", metavar="E")] = None,
    delta_at_most: Annotated[
        str | None, typer.Option(help="Refuse beyond, with graphs that came to nothing.", metavar="D")
    ] = None,
    honest_at_most: Annotated[
        str | None, typer.Option(help="Rely on no larger share of honest parties.", metavar="SHARE")
    ] = None,
    share_at_least: Annotated[
        str, typer.Option(help="Protect no smaller part of what this party has, such as 1/2000.", metavar="SHARE")
    ] = "1",
    attempts_at_most: Annotated[
        int, typer.Option(help="Runs in a row that may end after their graph was drawn.", metavar="N", min=1)
    ] = 8,
    roster: Known = None,
    run: Run = None,
    diary: Annotated[
        Path | None, typer.Option(help="What it drew and said: secret. [default: beside the key]", metavar="FILE")
    ] = None,
    previous: Earlier = None,
    previous_diary: Annotated[
        Path | None, typer.Option(help="This party's diary of the previous run.", metavar="FILE")
    ] = None,
    ledger: Annotated[
        str | None, typer.Option("--ledger", help="Charge the reveal here: a file or a URL.", metavar="WHERE")
    ] = None,
    population: Annotated[str | None, typer.Option(help="Whose budget is charged.", metavar="NAME")] = None,
    state: State = None,
    give_up: Annotated[float, typer.Option(help="Try so long to reach the board.", metavar="SECONDS", min=0.0)] = 60.0,
    as_json: AsJson = False,
) -> None:
    """Take part in a run with a value that never leaves this machine in the clear; started again, go on."""
    taking = TakesPart(
        agreement=agreement,
        board=board,
        key=key,
        value=value,
        value_file=value_file,
        limits=Limits(epsilon_at_most, delta_at_most, honest_at_most, share_at_least, attempts_at_most, roster, run),
        diary=diary,
        previous=previous or [],
        previous_diary=previous_diary,
        ledger=ledger,
        population=population,
        state=state,
        give_up=give_up,
    )
    outcome = taking.run()
    for error in outcome.unpaid.values():
        raise error
    stopped = outcome.parties[0].stopped
    if stopped is not None and outcome.certificate.complete:
        output.talk(f"this party stayed out from {stopped.phase} on: {stopped.fault.value}")
    _shown(outcome.certificate, as_json=as_json)


@app.command()
def verify(
    log: Annotated[Path, typer.Argument(help="A run's log.", metavar="LOG")],
    agreement: Pinned = None,
    run: Run = None,
    roster: Known = None,
    previous: Earlier = None,
    as_json: AsJson = False,
    svg: Svg = None,
    html: Html = None,
) -> None:
    """Check every proof and signature of a run, offline, and say what it came to.

    Say which run is meant (--agreement, --run or --roster): without it a log is consistent with itself, and may have
    been made up by one person.
    """
    pins = pinned(agreement, run, roster)
    _shown(certified([*(previous or []), log], **pins), as_json=as_json, svg=svg, html=html)


def _shown(found: Certificate, *, as_json: bool, svg: Path | None = None, html: Path | None = None) -> None:
    """The certificate; a run without a result, or of whom nobody knows, is told by the exit code too."""
    from hubbub.gopa.reports import CertificateSheet

    output.leaflet(CertificateSheet(found), as_json=as_json, svg=svg, html=html)
    if not found.complete:
        raise typer.Exit(Exit.VERIFICATION)
    if not found.pinned:
        raise typer.Exit(Exit.UNPINNED)


# ---------------------------------------------------------------- without a network


@app.command()
def simulate(
    values: Annotated[str, typer.Argument(help="A file with a number on each line; - is stdin.", metavar="FILE")],
    epsilon: Epsilon,
    delta: Delta,
    honest: Honest = "0.5",
    dropouts: Dropouts = "0.05",
    lower: Annotated[str, typer.Option(help="The least value.", metavar="X")] = "0",
    upper: Annotated[str, typer.Option(help="The largest value.", metavar="X")] = "1",
    profile: Annotated[
        SimulatedAlgorithm, typer.Option(help="verifiable, or classic as in the lectures.")
    ] = SimulatedAlgorithm.VERIFIABLE,
    degree: Annotated[
        int | None, typer.Option(help="How many others each picks. [default: as planned]", metavar="K", min=1)
    ] = None,
    repair: Annotated[bool, typer.Option(help="Take the masks of lost parties off (classic).")] = True,
    as_json: AsJson = False,
    svg: Svg = None,
    html: Html = None,
) -> None:
    """A run in one process, without messages and proofs: what would be published, and how accurate."""
    from hubbub.gopa import simulate as run

    found = run(
        numbers_in(values),
        epsilon=number(epsilon, "--epsilon"),
        delta=number(delta, "--delta"),
        honest=number(honest, "--honest"),
        dropouts=number(dropouts, "--dropouts"),
        lower=number(lower, "--lower"),
        upper=number(upper, "--upper"),
        profile=profile.value,
        degree=degree,
        repair=repair,
    )
    output.leaflet(found, as_json=as_json, svg=svg, html=html)
