"""``hubbub gopa ...``: averages among parties who trust neither a curator nor each other."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hubbub.cli.exit_codes import Exit
from hubbub.cli.options.gopa_consent import Pins
from hubbub.cli.options.gopa_files import (
    append_text,
    read_agreement,
    read_key,
    read_roster,
    verify_logs,
    write_identity,
    write_new,
)
from hubbub.cli.options.gopa_plans import (
    Delta,
    Dropouts,
    Epsilon,
    GopaPlanOptions,
    Honest,
    describe_plan,
    read_numbers,
)
from hubbub.cli.options.gopa_runs import Agreed, BoardOptions, Earlier, PartyOptions
from hubbub.cli.options.groups import spread_groups
from hubbub.cli.options.pages import AsJson, PageOptions, PictureOptions, show_result
from hubbub.cli.options.values import parse_number
from hubbub.cli.output import streams as output

if TYPE_CHECKING:
    from hubbub.gopa import Certificate
    from hubbub.render import Json

app = typer.Typer(help="An average without a curator: masks that cancel, noise that is proved.", no_args_is_help=True)

Lower = Annotated[str, typer.Option(help="The least value.", metavar="X")]
Upper = Annotated[str, typer.Option(help="The largest value.", metavar="X")]


class SimulatedAlgorithm(StrEnum):
    """Which algorithm a simulation runs."""

    VERIFIABLE = "verifiable"
    CLASSIC = "classic"


# ---------------------------------------------------------------- before a run


@app.command()
@spread_groups
def plan(
    options: GopaPlanOptions,
    parties: Annotated[int, typer.Option(help="How many parties.", metavar="N", min=2)],
    as_json: AsJson = False,
) -> None:
    """What a run needs, and how accurate it is: noise, neighbours, thresholds. Free."""
    words, content = describe_plan(options.plan(parties))
    show_result(words, content, as_json=as_json)


@app.command()
@spread_groups
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

    new, path = Identity.new(name), key or Path(f"{name}.key")
    public = new.member.key.hex()
    write_identity(path, new)
    if roster is not None:
        append_text(roster, f"{name} {public}\n")
    show_result(
        f"{name} {public}", {"kind": "identity", "name": name, "key": public, "file": str(path)}, as_json=as_json
    )


@app.command()
@spread_groups
def agree(
    file: Annotated[Path, typer.Argument(help="Where the agreement goes.", metavar="FILE")],
    roster: Annotated[Path, typer.Option(help="Who takes part: lines of NAME KEY.", metavar="FILE")],
    board: Annotated[str, typer.Option(help="The board's public key.", metavar="HEX")],
    options: GopaPlanOptions,
    *,
    lower: Lower = "0",
    upper: Upper = "1",
    name: Annotated[str, typer.Option(help="What is averaged.", metavar="NAME")] = "mean",
    title: Annotated[str, typer.Option(help="What the run is about.", metavar="TEXT")] = "",
    previous: Annotated[str | None, typer.Option(help="The run whose inputs are used again.", metavar="RUN")] = None,
    as_json: AsJson = False,
) -> None:
    """Write what all parties agree on: who, what, and with which numbers. Everybody reads it before taking part."""
    from hubbub.gopa import Agreement

    members = read_roster(roster)
    agreement = Agreement(
        roster=members,
        board=read_key(board, "--board"),
        plan=options.plan(len(members)),
        quantity=options.quantity(name, lower, upper),
        title=title,
        previous=None if previous is None else read_key(previous, "--previous"),
    )
    write_new(file, agreement.text() + "\n")
    words, content = describe_plan(agreement.plan)
    summary: dict[str, Json] = {"kind": "agreement", "file": str(file), "run": agreement.run.hex(), "plan": content}
    show_result(f"run {agreement.run.hex()}\n{words}", summary, as_json=as_json)


@app.command()
@spread_groups
def show(
    agreement: Agreed,
    *,
    page: PageOptions,
) -> None:
    """An agreement in plain words: who is protected and how well, who must be honest, what leaves, and who is in."""
    from hubbub.gopa.reports import Notice

    notice = Notice(read_agreement(agreement))
    page.show(notice)
    if not notice.sound:
        raise typer.Exit(Exit.NOT_PRIVATE)


# ---------------------------------------------------------------- a run


@app.command()
@spread_groups
def board(options: BoardOptions) -> None:
    """Keep a run's log and close its phases in time. The log is the certificate: see verify."""
    _show_certificate(options.run(), PictureOptions())


@app.command()
@spread_groups
def party(options: PartyOptions, *, as_json: AsJson = False) -> None:
    """Take part in a run with a value that never leaves this machine in the clear; started again, go on."""
    outcome = options.run()
    for error in outcome.unpaid.values():
        raise error
    stopped = outcome.parties[0].stopped
    if stopped is not None and outcome.certificate.complete:
        output.talk(f"this party stayed out from {stopped.phase} on: {stopped.fault.value}")
    _show_certificate(outcome.certificate, PictureOptions(as_json=as_json))


@app.command()
@spread_groups
def verify(
    log: Annotated[Path, typer.Argument(help="A run's log.", metavar="LOG")],
    *,
    pins: Pins,
    previous: Earlier = None,
    page: PictureOptions,
) -> None:
    """Check every proof and signature of a run, offline, and say what it came to.

    Say which run is meant (--agreement, --run or --roster): without it a log is consistent with itself, and may have
    been made up by one person.
    """
    _show_certificate(verify_logs([*(previous or []), log], **pins.arguments()), page)


def _show_certificate(certificate: Certificate, page: PictureOptions) -> None:
    """The certificate; a run without a result, or of whom nobody knows, is told by the exit code too."""
    from hubbub.gopa.reports import CertificateSheet

    page.show(CertificateSheet(certificate))
    if not certificate.complete:
        raise typer.Exit(Exit.VERIFICATION)
    if not certificate.pinned:
        raise typer.Exit(Exit.UNPINNED)


# ---------------------------------------------------------------- without a network


@app.command()
@spread_groups
def simulate(
    values: Annotated[str, typer.Argument(help="A file with a number on each line; - is stdin.", metavar="FILE")],
    epsilon: Epsilon,
    delta: Delta,
    honest: Honest = "0.5",
    dropouts: Dropouts = "0.05",
    lower: Lower = "0",
    upper: Upper = "1",
    profile: Annotated[
        SimulatedAlgorithm, typer.Option(help="verifiable, or classic as in the lectures.")
    ] = SimulatedAlgorithm.VERIFIABLE,
    degree: Annotated[
        int | None, typer.Option(help="How many others each picks. [default: as planned]", metavar="K", min=1)
    ] = None,
    repair: Annotated[bool, typer.Option(help="Take the masks of lost parties off (classic).")] = True,
    *,
    page: PictureOptions,
) -> None:
    """A run in one process, without messages and proofs: what would be published, and how accurate."""
    from hubbub.gopa import simulate as run

    result = run(
        read_numbers(values),
        epsilon=parse_number(epsilon, "--epsilon"),
        delta=parse_number(delta, "--delta"),
        honest=parse_number(honest, "--honest"),
        dropouts=parse_number(dropouts, "--dropouts"),
        lower=parse_number(lower, "--lower"),
        upper=parse_number(upper, "--upper"),
        profile=profile.value,
        degree=degree,
        repair=repair,
    )
    page.show(result)
