"""``hubbub doctor``: what is installed, what is missing, and whether the random source works."""

from __future__ import annotations

import typer

from hubbub.cli.exit_codes import Exit
from hubbub.cli.options.pages import AsJson, show_result
from hubbub.cli.output.terminal import emphasize


def doctor(as_json: AsJson = False) -> None:
    """What is installed, what is missing, and whether randomness works."""
    from hubbub.studies.installation import examine_installation

    checkup = examine_installation()
    show_result(checkup.text(emphasis=emphasize), checkup.to_json(), as_json=as_json)
    if not checkup.healthy:
        raise typer.Exit(Exit.VERIFICATION)
