"""``hubbub audit``: a lower bound on epsilon for anybody's mechanism. Touches no ledger and spends nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hubbub.cli.exit_codes import Exit
from hubbub.cli.options.groups import spread_groups
from hubbub.cli.options.pages import PictureOptions
from hubbub.cli.options.values import parse_number
from hubbub.cli.output import streams as output

if TYPE_CHECKING:
    from hubbub.audit import Audit

Target = Annotated[
    str | None,
    typer.Argument(
        help="What to audit: a callable of one input, looked for in this folder first.", metavar="MODULE:NAME"
    ),
]
First = Annotated[
    str | None, typer.Option("--a", help="An input: JSON or a Python literal, or @FILE.", metavar="VALUE")
]
Second = Annotated[str | None, typer.Option("--b", help="A neighbouring input, likewise.", metavar="VALUE")]
Trials = Annotated[int | None, typer.Option("--trials", help="Runs on each input. [default: 100000]", metavar="N")]
Delta = Annotated[str, typer.Option("--delta", help="The delta beside epsilon; 0 is pure.", metavar="D")]
Claim = Annotated[str | None, typer.Option("--claim", help="The epsilon that is claimed.", metavar="E")]
Confidence = Annotated[str, typer.Option("--confidence", help="How sure the bound is.", metavar="C")]
Timeout = Annotated[float, typer.Option("--timeout", help="Seconds after which there is no bound.", metavar="S", min=0)]
Vectorized = Annotated[bool, typer.Option("--vectorized", help="It takes an input and a number, and returns so many.")]
Relation = Annotated[str, typer.Option("--neighbours", help="add-remove or replace: written into the report.")]
Reals = Annotated[bool, typer.Option("--reals", help="Leave the low bits of floats alone.")]
Zoo = Annotated[bool, typer.Option("--zoo", help="Audit the broken mechanisms of the zoo and their twins instead.")]


@spread_groups
def audit(
    target: Target = None,
    a: First = None,
    b: Second = None,
    trials: Trials = None,
    delta: Delta = "0",
    claim: Claim = None,
    confidence: Confidence = "0.95",
    timeout: Timeout = 300.0,
    vectorized: Vectorized = False,
    neighbours: Relation = "add-remove",
    reals: Reals = False,
    zoo: Zoo = False,
    *,
    page: PictureOptions,
) -> None:
    """What must epsilon at least be? Run a mechanism on two neighbouring inputs and count.

    The mechanism runs in a process of its own; what it prints goes to stderr. Ends with 7 if the claim is refuted, and
    with 2 if there is no bound: because the mechanism hangs, raises, or returns nothing that can be counted.
    """
    if zoo:
        return _tour_zoo(trials, page)
    if target is None or a is None or b is None:
        raise typer.BadParameter("give MODULE:NAME and two neighbouring inputs, --a and --b; or --zoo.")
    result = _run_apart(
        target,
        _read_literal(a, "--a"),
        _read_literal(b, "--b"),
        timeout=timeout,
        vectorized=vectorized,
        trials=trials or 100_000,
        delta=float(parse_number(delta, "delta")),
        confidence=float(parse_number(confidence, "confidence")),
        claim=None if claim is None else float(parse_number(claim, "claim")),
        neighbours=neighbours,
        low_bits=not reals,
    )
    page.show(result)
    output.talk(result.verdict)
    if result.bound is None:
        raise typer.Exit(Exit.USAGE)
    if result.refuted:
        raise typer.Exit(Exit.VERIFICATION)
    return None


def _tour_zoo(trials: int | None, page: PictureOptions) -> None:
    from hubbub.audit import zoo

    output.talk(f"auditing {len(zoo.EXHIBITS)} broken mechanisms and their twins")
    page.show(zoo.tour(trials=trials))


def _read_literal(value: str, option: str) -> str:
    """What was typed, or what is in the file behind an @."""
    from hubbub.audit import CannotLoad, parse_literal

    try:
        text = Path(value[1:]).read_text(encoding="utf-8") if value.startswith("@") else value
        parse_literal(text)
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"cannot read {value[1:]}: {type(error).__name__}.", param_hint=option) from None
    except CannotLoad as problem:
        raise typer.BadParameter(f"{problem}.", param_hint=option) from None
    return text


def _run_apart(target: str, a: str, b: str, **options: Any) -> Audit:
    from hubbub.audit import CannotLoad, run_apart

    try:
        result, printed = run_apart(target, a, b, **options)
    except CannotLoad as problem:
        raise typer.BadParameter(f"{problem}.") from None
    if printed.strip():
        output.talk(printed.rstrip())
    return result
