"""What ``hubbub gopa board`` and ``hubbub gopa party`` do between parsing and printing."""

from __future__ import annotations

import asyncio
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from hubbub.cli.options.gopa_consent import Limits
from hubbub.cli.options.gopa_files import bytes_of, certified, read_agreement, read_identity, text_of
from hubbub.cli.options.gopa_plans import plainly
from hubbub.cli.output import streams as output
from hubbub.cli.output.gopa_progress import Phases

if TYPE_CHECKING:
    from hubbub.gopa import Agreement, Certificate, Identity
    from hubbub.gopa.network import Before, Charge, Diary, RunOutcome
    from hubbub.gopa.protocol import Clock, Inputs, Party
    from hubbub.ledger import Account


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A board as it was typed."""

    agreement: Path
    key: Path
    log: Path
    previous: list[Path]
    clock: Clock
    host: str
    port: int
    linger: float

    def run(self) -> Certificate:
        """Serve the run to its end."""
        from hubbub.gopa import Certificate
        from hubbub.gopa.network import Keeper, serve

        agreed, identity = read_agreement(self.agreement), read_identity(self.key)
        earlier = inputs_of(agreed, self.previous)
        with Keeper(agreed, identity, self.log, clock=self.clock, earlier=earlier, watch=Phases().board) as keeper:
            output.talk(f"run {agreed.run.hex()}")
            ended = serve(keeper, host=self.host, port=self.port, linger=self.linger, ready=_listening)
            return Certificate(ended, ("agreement",))


@dataclass(frozen=True, slots=True, kw_only=True)
class TakesPart:
    """A party as it was typed."""

    agreement: Path
    board: str
    key: Path
    value: str | None
    value_file: Path | None = None
    limits: Limits = field(default_factory=Limits)
    diary: Path | None
    previous: list[Path]
    previous_diary: Path | None
    ledger: str | None
    population: str | None
    state: Path | None
    give_up: float

    def run(self) -> RunOutcome:
        """Take part to the end."""
        from hubbub.gopa import Register
        from hubbub.gopa.network import Diary, charge_from, charge_with_consent, no_charge, require_affordable

        agreed, identity = read_agreement(self.agreement), read_identity(self.key)
        agreed.place(identity.member)
        consent, register = self.limits.consent(), Register(self.key.with_suffix(".attempts"))
        register.require(consent, agreed)
        earlier = inputs_of(agreed, self.previous)  # before anything is written down
        path = self.diary or self.key.with_name(f"{self.key.stem}-{agreed.run.hex()[:12]}.diary")
        with ExitStack() as stack:
            account = self._account(stack)
            diary = stack.enter_context(Diary(path, agreed))
            if account is not None and not diary.records(identity.name):
                require_affordable(account, agreed, identity.member)
            crowd = [diary.seat(identity, self._values(), earlier=self._before(identity), consent=consent)]
            if crowd[0].sent:
                output.talk(f"goes on with a run in which it has spoken {len(crowd[0].sent)} times")
            charge = no_charge if account is None else charge_from(account, agreed, identity.member)
            return asyncio.run(self._hosted(diary, crowd, charge_with_consent(consent, register, charge), earlier))

    def _values(self) -> list[object] | None:
        """The party's numbers: from a file, from stdin, or as they were typed."""
        if self.value is not None and self.value_file is not None:
            raise typer.BadParameter("--value and --value-file are two ways to say one thing.")
        if self.value_file is not None:
            return _numbers(text_of(self.value_file), "--value-file")
        if self.value is None:
            return None
        return _numbers(sys.stdin.read() if self.value == "-" else self.value, "--value")

    async def _hosted(self, diary: Diary, crowd: list[Party], charge: Charge, earlier: Inputs | None) -> RunOutcome:
        from hubbub.gopa.network import Host, HttpLink

        async with HttpLink(self.board, give_up=self.give_up) as link:
            return await Host(diary, crowd, link, charge=charge, earlier=earlier, watch=Phases().party).run()

    def _account(self, stack: ExitStack) -> Account | None:
        from hubbub.cli.options.ledgers import opened
        from hubbub.ledger import Account

        if (self.ledger is None) != (self.population is None):
            raise typer.BadParameter("--ledger and --population belong together.")
        if self.ledger is None or self.population is None:
            return None
        return Account(ledger=stack.enter_context(opened(self.ledger, self.state)), population=self.population)

    def _before(self, identity: Identity) -> Before | None:
        """This party's input in the previous run, from its diary and that run's log."""
        if self.previous_diary is None:
            return None
        from hubbub.gopa.network import earlier_input

        if not self.previous:
            raise typer.BadParameter("--previous-diary needs the log of that run, --previous.")
        return earlier_input(self.previous_diary, bytes_of(self.previous[-1]), identity)


def _listening(address: str) -> None:
    output.talk(f"listening on {address}")


def inputs_of(agreed: Agreement, previous: list[Path]) -> Inputs | None:
    """The inputs of the previous run, if the agreement names one; the log of any other run is refused."""
    found = certified(previous) if previous else None
    if (found and found.agreement.run) != agreed.previous:
        wanted = f"on run {agreed.previous.hex()[:16]}: give its log" if agreed.previous else "on no run: give no log"
        raise typer.BadParameter(f"the agreement rests {wanted}.", param_hint="--previous")
    return found.inputs if found else None


def _numbers(text: str, name: str) -> list[object]:
    """One number, or several with commas or line ends between them, exactly as typed."""
    parts = ",".join(text.split("\n")).strip(", \r\t")
    return [plainly(part, f"a part of {name}") for part in parts.split(",")]
