"""``hubbub ledger ...``: read, verify, export, back up and restore the book of what was spent."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from hubbub.cli.exit_codes import Exit
from hubbub.cli.options import values
from hubbub.cli.options.groups import spread_groups
from hubbub.cli.options.ledgers import By, LedgerOptions, Why, must_exist, resolve_decider
from hubbub.cli.options.pages import AsJson, show_result
from hubbub.cli.output import streams as output

app = typer.Typer(help="The book of what was spent: read, verify, export, back up, restore.", no_args_is_help=True)

NEWEST = 50


@app.command()
@spread_groups
def log(
    *,
    population: Annotated[str | None, typer.Option(help="Only entries about this one.", metavar="NAME")] = None,
    start: Annotated[
        int | None, typer.Option("--from", help="All entries from this number on.", metavar="NUMBER", min=1)
    ] = None,
    newest: Annotated[
        int | None,
        typer.Option(help=f"The newest so many. [default: {NEWEST}, or all if --from is given]", metavar="N", min=1),
    ] = None,
    place: LedgerOptions,
    as_json: AsJson = False,
) -> None:
    """Entries as they stand in the ledger, oldest first, a line each."""
    most = newest if newest is not None or start is not None else NEWEST
    from hubbub.studies.spending import entry_to_json, format_entry

    with place.open() as ledger:
        if population is not None:
            ledger.budget(population)  # refuses an unknown one
        entries = ledger.log(start=start or 1, population=population, newest=most)
        if as_json:
            output.print_json({"kind": "log", "entries": [entry_to_json(entry) for entry in entries]})
        else:
            populations = ledger.populations()
            output.print_lines(format_entry(entry, populations) for entry in entries)


@app.command()
@spread_groups
def verify(
    *,
    export: Annotated[
        Path | None, typer.Argument(help="An exported file. [default: the ledger itself]", metavar="[EXPORT]")
    ] = None,
    public_key: Annotated[
        str | None, typer.Option(help="The key it must be signed with, known from elsewhere.", metavar="HEX")
    ] = None,
    without_anchor: Annotated[
        bool, typer.Option("--without-anchor", help="The second place is not at hand: a cut tail goes unnoticed.")
    ] = False,
    place: LedgerOptions,
    as_json: AsJson = False,
) -> None:
    """Check every hash, signature and anchor, and add up every cost again; leaves with 7 if anything is wrong."""
    from hubbub.ledger import verify_export, verify_ledger

    if export is not None:
        verification = verify_export(export, public_key=public_key)
    else:
        must_exist(place.at)
        verification = verify_ledger(place.at, state=place.state, anchor=not without_anchor, public_key=public_key)
    show_result(verification.text(), verification.to_json(), as_json=as_json)
    if not verification.ok:
        raise typer.Exit(Exit.VERIFICATION)


@app.command()
@spread_groups
def export(
    *,
    answers: Annotated[bool, typer.Option("--answers", help="The stored answers too.")] = False,
    out: Annotated[Path | None, typer.Option(help="Write into this file. [default: stdout]", metavar="FILE")] = None,
    place: LedgerOptions,
    as_json: AsJson = False,
) -> None:
    """The whole ledger as JSON Lines, which `hubbub ledger verify` checks anywhere."""
    with place.open() as ledger:
        lines = ledger.export(answers=answers)
        if out is not None:
            count = _write_lines(out, lines)
            show_result(
                f"wrote {count} lines into {out}", {"kind": "export", "file": str(out), "lines": count}, as_json=as_json
            )
        elif as_json:
            output.print_json({"kind": "export", "content": [json.loads(line) for line in lines]})
        else:
            output.print_lines(lines)


@app.command()
@spread_groups
def backup(
    file: Annotated[Path, typer.Argument(help="A new file.", metavar="FILE")],
    *,
    place: LedgerOptions,
    as_json: AsJson = False,
) -> None:
    """Copy the ledger, as of one moment, into a new file."""
    with place.open() as ledger:
        last = ledger.backup(file)
    words = f"copied entries up to #{last} into {file}"
    show_result(words, {"kind": "backup", "file": str(file), "last_entry": last}, as_json=as_json)


@app.command()
@spread_groups
def restore(
    backup: Annotated[Path, typer.Argument(help="The backup.", metavar="BACKUP")],
    why: Why,
    *,
    spend_all: Annotated[
        bool, typer.Option("--spend-all", help="Count all that is left as spent: for when there is no anchor.")
    ] = False,
    by: By = None,
    place: LedgerOptions,
    as_json: AsJson = False,
) -> None:
    """Put a backup into an empty place (--ledger); what was spent since counts as spent."""
    from hubbub.ledger import restore as put_back
    from hubbub.studies.spending import entry_to_json, format_entry

    must_exist(str(backup))
    number = put_back(backup, place.at, state=place.state, spend_all=spend_all, by=resolve_decider(by), why=why)
    with place.open() as ledger:
        (entry,), populations = ledger.log(start=number), ledger.populations()
    show_result(format_entry(entry, populations), {"kind": "restored", "entry": entry_to_json(entry)}, as_json=as_json)


@app.command()
@spread_groups
def erase(
    why: Why,
    *,
    before: Annotated[
        str | None, typer.Option(help="All answers stored before this date or time (UTC).", metavar="DATE")
    ] = None,
    charge: Annotated[
        list[int] | None, typer.Option(help="The answer to this charge; repeat it.", metavar="NUMBER")
    ] = None,
    by: By = None,
    place: LedgerOptions,
    as_json: AsJson = False,
) -> None:
    """Delete stored answers for ever. Their charges stay; asking again is charged again."""
    if (before is None) == (not charge):
        raise typer.BadParameter("say which answers: --before DATE, or --charge NUMBER.")
    until = None if before is None else values.parse_moment(before, name="--before")
    with place.open() as ledger:
        count = ledger.erase(charge or None, before=until, by=resolve_decider(by), why=why)
    show_result(f"erased {count} answer{'s' * (count != 1)}", {"kind": "erased", "answers": count}, as_json=as_json)


@app.command()
@spread_groups
def clock(why: Why, *, by: By = None, place: LedgerOptions, as_json: AsJson = False) -> None:
    """Go on from the clock's present time although the last entry is dated later."""
    with place.open() as ledger:
        ledger.accept_clock(by=resolve_decider(by), why=why)
    show_result("the ledger goes on from the clock's present time", {"kind": "clock"}, as_json=as_json)


# ---------------------------------------------------------------- parts


def _write_lines(path: Path, lines: Iterable[str]) -> int:
    """Write lines into a file that is there whole or not at all; returns how many."""
    from hubbub.durable import replacing_file

    count = 0
    try:
        with replacing_file(path) as draft, draft.open("w", encoding="utf-8") as file:
            for line in lines:
                file.write(line + "\n")
                count += 1
    except OSError as error:
        raise typer.BadParameter(f"cannot write {path}: {error.strerror}", param_hint="--out") from None
    return count
