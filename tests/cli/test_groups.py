"""Groups of options: Typer sees flags, commands see groups."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from hubbub.cli.options.groups import spread_groups

Count = Annotated[int, typer.Option("--count", help="How many.", min=1)]


@dataclass(frozen=True, kw_only=True)
class Inner:
    count: Count = 3
    names: Annotated[list[str] | None, typer.Option("--name")] = None


@dataclass(frozen=True, kw_only=True)
class Outer:
    file: Annotated[str, typer.Argument()]
    inner: Inner = field(default_factory=Inner)
    last: Annotated[bool, typer.Option("--last")] = False


@dataclass(frozen=True, kw_only=True)
class Twin:
    count: Count = 5


def program() -> typer.Typer:
    app = typer.Typer()

    @app.command()
    @spread_groups
    def show(
        first: Annotated[str, typer.Argument()], *, outer: Outer, plain: Annotated[int, typer.Option()] = 7
    ) -> None:
        """What is shown."""
        typer.echo(f"{first} {outer} {plain}")

    return app


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("a b", f"a {Outer(file='b')} 7"),
        ("a b --count 2 --last", f"a {Outer(file='b', inner=Inner(count=2), last=True)} 7"),
        ("--plain 1 a b --name x --name y", f"a {Outer(file='b', inner=Inner(names=['x', 'y']))} 1"),
    ],
)
def test_a_group_holds_what_was_typed_and_else_its_defaults(line: str, shown: str) -> None:
    assert CliRunner().invoke(program(), line.split()).stdout.strip() == shown


def test_flags_stand_in_the_help_where_their_group_stands() -> None:
    told = CliRunner().invoke(program(), ["--help"]).stdout
    places = [told.index(flag) for flag in ("--count", "--name", "--last", "--plain")]
    assert places == sorted(places)
    assert "What is shown." in told


def test_a_flag_is_checked_as_any_other() -> None:
    assert CliRunner().invoke(program(), ["a", "b", "--count", "0"]).exit_code == 2
    assert CliRunner().invoke(program(), ["a"]).exit_code == 2


def test_two_groups_with_one_name_are_refused_at_once() -> None:
    with pytest.raises(ValueError, match="duplicate parameter name: 'count'"):

        @spread_groups
        def _(one: Inner, two: Twin) -> None: ...
