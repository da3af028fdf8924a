"""The command line: ``hubbub ...``. Commands are thin: parse, call the library, print.

Data goes to stdout and talk to stderr; every command has ``--json``; exit codes are listed in ``--help``.
Heavy imports happen inside the commands, so that ``--help`` answers at once. A new command is one new file
with a function (or a Typer app) and one line at the end of ``_build_app``. Nobody imports this room but for
``main``. Start with ``commands/query``, then ``exit_codes``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated

import typer

from hubbub.cli.commands import (
    attack,
    audit,
    budget,
    collect,
    dataset,
    demo,
    doctor,
    explain,
    fit,
    gopa,
    ledger,
    predict,
    publish,
    query,
)
from hubbub.cli.commands import init as beginning
from hubbub.cli.exit_codes import EPILOG, guard
from hubbub.cli.output.streams import replace_unknown_signs

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and leave with its exit code; the console script."""
    replace_unknown_signs(sys.stdout)
    replace_unknown_signs(sys.stderr)
    sys.exit(guard(lambda: _build_command()(args=arguments, prog_name="hubbub")))


@cache  # a program that runs many commands, as the tests do, reads all their signatures once
def _build_command() -> Callable[..., object]:
    return typer.main.get_command(_build_app())


def _build_app() -> typer.Typer:
    app = typer.Typer(
        epilog=EPILOG,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    app.callback()(_root_options)
    app.command("demo")(demo.demo)
    app.command("init")(beginning.init)
    app.command("query")(query.query)
    app.command("preview")(query.preview)
    app.command("describe")(dataset.describe)
    app.command("prepare")(dataset.prepare)
    app.add_typer(dataset.app, name="dataset")
    app.add_typer(explain.app, name="explain")
    app.add_typer(budget.app, name="budget")
    app.add_typer(ledger.app, name="ledger")
    app.add_typer(collect.app, name="collect")
    app.add_typer(gopa.app, name="gopa")
    app.command("fit")(fit.fit)
    app.command("predict")(predict.predict)
    app.command("publish")(publish.publish)
    app.command("attack")(attack.attack)
    app.command("audit")(audit.audit)
    app.command("doctor")(doctor.doctor)
    return app


def _print_version(asked: bool) -> None:
    if asked:
        from hubbub import __version__

        typer.echo(f"hubbub {__version__}")
        raise typer.Exit


def _root_options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and leave.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Answers about people that tell nothing about a person."""
