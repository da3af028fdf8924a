"""What ``hubbub gopa board`` and ``hubbub gopa party`` do between parsing and printing."""

from __future__ import annotations

import asyncio
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hubbub.cli.options.gopa_consent import Limits
from hubbub.cli.options.gopa_files import bytes_of, read_agreement, read_identity, text_of, verify_logs
from hubbub.cli.options.gopa_plans import parse_private_number
from hubbub.cli.options.ledgers import AccountOptions
from hubbub.cli.output import streams as output
from hubbub.cli.output.gopa_progress import Phases

if TYPE_CHECKING:
    from hubbub.gopa import Agreement, Certificate, Identity
    from hubbub.gopa.network import Before, Charge, Diary, RunOutcome
    from hubbub.gopa.protocol import Inputs, Party


Agreed = Annotated[Path, typer.Argument(help="The agreement, as agree made it.", metavar="AGREEMENT")]
Earlier = Annotated[
    list[Path] | None,
    typer.Option("--previous", help="The log of the run whose inputs are used again; repeat it.", metavar="LOG"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardOptions:
    """A board as it was typed."""

    agreement: Agreed
    key: Annotated[Path, typer.Option(help="The board's private key.", metavar="FILE")]
    log: Annotated[Path, typer.Option(help="The log; one that is there is gone on with.", metavar="FILE")]
    host: Annotated[str, typer.Option(help="The address to listen on.", metavar="ADDRESS")] = "127.0.0.1"
    port: Annotated[int, typer.Option(help="The port; 0 takes any.", min=0, max=65535, metavar="N")] = 8770
    joining: Annotated[float, typer.Option(help="Wait so long for all to join.", metavar="SECONDS", min=0.1)] = 600.0
    deadline: Annotated[float, typer.Option(help="Most seconds of a later phase.", metavar="SECONDS", min=0.1)] = 60.0
    patience: Annotated[
        float, typer.Option(help="Give up the silent when enough have spoken.", metavar="SECONDS", min=0.1)
    ] = 10.0
    linger: Annotated[float, typer.Option(help="Serve the end so much longer.", metavar="SECONDS", min=0.0)] = 30.0
    previous: Earlier = None

    def run(self) -> Certificate:
        """Serve the run to its end."""
        from hubbub.gopa import Certificate
        from hubbub.gopa.network import Keeper, serve
        from hubbub.gopa.protocol import Clock

        agreed, identity = read_agreement(self.agreement), read_identity(self.key)
        earlier = earlier_inputs(agreed, self.previous or [])
        clock = Clock(joining=self.joining, deadline=self.deadline, patience=self.patience)
        with (
            Phases() as phases,
            Keeper(agreed, identity, self.log, clock=clock, earlier=earlier, watch=phases.board) as keeper,
        ):
            output.talk(f"run {agreed.run.hex()}")
            ended = serve(keeper, host=self.host, port=self.port, linger=self.linger, ready=output.announce_address)
            return Certificate(ended, ("agreement",))


@dataclass(frozen=True, slots=True, kw_only=True)
class PartyOptions:
    """A party as it was typed."""

    agreement: Agreed
    board: Annotated[str, typer.Option(help="The board, such as http://127.0.0.1:8770.", metavar="URL")]
    key: Annotated[Path, typer.Option(help="This party's private key.", metavar="FILE")]
    value_file: Annotated[
        Path | None, typer.Option(help="A file with its number, or numbers with commas or lines.", metavar="FILE")
    ] = None
    value: Annotated[
        str | None,
        typer.Option(help="The same; - reads stdin. What is typed here others can see.", metavar="X,..."),
    ] = None
    limits: Limits = field(default_factory=Limits)
    diary: Annotated[
        Path | None, typer.Option(help="What it drew and said: secret. [default: beside the key]", metavar="FILE")
    ] = None
    previous: Earlier = None
    previous_diary: Annotated[
        Path | None, typer.Option(help="This party's diary of the previous run.", metavar="FILE")
    ] = None
    payer: AccountOptions = field(default_factory=AccountOptions)
    give_up: Annotated[float, typer.Option(help="Try so long to reach the board.", metavar="SECONDS", min=0.0)] = 60.0

    def run(self) -> RunOutcome:
        """Take part to the end."""
        from hubbub.gopa import Register
        from hubbub.gopa.network import Diary, charge_from, charge_with_consent, no_charge, require_affordable

        agreed, identity = read_agreement(self.agreement), read_identity(self.key)
        agreed.place(identity.member)
        consent, register = self.limits.consent(), Register(self.key.with_suffix(".attempts"))
        register.require(consent, agreed)
        earlier = earlier_inputs(agreed, self.previous or [])  # before anything is written down
        path = self.diary or self.key.with_name(f"{self.key.stem}-{agreed.run.hex()[:12]}.diary")
        with ExitStack() as stack:
            account = stack.enter_context(self.payer.open())
            diary = stack.enter_context(Diary(path, agreed))
            if account is not None and not diary.records(identity.name):
                require_affordable(account, agreed, identity.member)
            crowd = [diary.seat(identity, self._values(), earlier=self._earlier_input(identity), consent=consent)]
            if crowd[0].sent:
                output.talk(f"goes on with a run in which it has spoken {len(crowd[0].sent)} times")
            charge = no_charge if account is None else charge_from(account, agreed, identity.member)
            return asyncio.run(self._take_part(diary, crowd, charge_with_consent(consent, register, charge), earlier))

    def _values(self) -> list[object] | None:
        """The party's numbers: from a file, from stdin, or as they were typed."""
        if self.value is not None and self.value_file is not None:
            raise typer.BadParameter("--value and --value-file are two ways to say one thing.")
        if self.value_file is not None:
            return _parse_numbers(text_of(self.value_file), "--value-file")
        if self.value is None:
            return None
        return _parse_numbers(sys.stdin.read() if self.value == "-" else self.value, "--value")

    async def _take_part(self, diary: Diary, crowd: list[Party], charge: Charge, earlier: Inputs | None) -> RunOutcome:
        from hubbub.gopa.network import Host, HttpLink

        with Phases() as phases:
            async with HttpLink(self.board, give_up=self.give_up) as link:
                return await Host(diary, crowd, link, charge=charge, earlier=earlier, watch=phases.party).run()

    def _earlier_input(self, identity: Identity) -> Before | None:
        """This party's input in the previous run, from its diary and that run's log."""
        if self.previous_diary is None:
            return None
        from hubbub.gopa.network import earlier_input

        if not self.previous:
            raise typer.BadParameter("--previous-diary needs the log of that run, --previous.")
        return earlier_input(self.previous_diary, bytes_of(self.previous[-1]), identity)


def earlier_inputs(agreed: Agreement, previous: list[Path]) -> Inputs | None:
    """The inputs of the previous run, if the agreement names one; the log of any other run is refused."""
    certificate = verify_logs(previous) if previous else None
    if (certificate and certificate.agreement.run) != agreed.previous:
        required = f"on run {agreed.previous.hex()[:16]}: give its log" if agreed.previous else "on no run: give no log"
        raise typer.BadParameter(f"the agreement rests {required}.", param_hint="--previous")
    return certificate.inputs if certificate else None


def _parse_numbers(text: str, name: str) -> list[object]:
    """One number, or several with commas or line ends between them, exactly as typed."""
    parts = ",".join(text.split("\n")).strip(", \r\t")
    return [parse_private_number(part, f"a part of {name}") for part in parts.split(",")]
