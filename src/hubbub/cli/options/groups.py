"""Groups of options: flags that several commands share, declared once as the fields of a dataclass.

A command takes a group as one parameter, and ``spread_groups`` puts its flags where that parameter stands::

    @spread_groups
    def query(source: Source, *, price: PriceOptions, as_json: AsJson = False) -> None: ...

A field of a group may be a group itself. Typer sees the flags alone, and the command the groups alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints


def spread_groups(command: Callable[..., None]) -> Callable[..., None]:
    """The command with one parameter for each flag, as Typer reads it."""
    signature = inspect.signature(command, eval_str=True)
    groups = {name: given.annotation for name, given in signature.parameters.items() if is_dataclass(given.annotation)}
    flags = [flag for given in signature.parameters.values() for flag in _spread_flags(given)]

    @wraps(command)
    def run(**typed: Any) -> None:
        together = {name: _gather_group(group, typed) for name, group in groups.items()}
        command(**typed, **together)

    run.__signature__ = inspect.Signature(flags)  # type: ignore[attr-defined]
    run.__annotations__ = {flag.name: flag.annotation for flag in flags}
    return run


def _spread_flags(given: inspect.Parameter) -> Iterator[inspect.Parameter]:
    """The parameter, or those of its group."""
    if not is_dataclass(given.annotation):
        yield given.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        return
    types = get_type_hints(given.annotation, include_extras=True)
    for field in fields(given.annotation):
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        flag = inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=types[field.name]
        )
        yield from _spread_flags(flag)


def _gather_group(group: Any, typed: dict[str, Any]) -> object:
    """A group of what was typed; its flags are taken out of ``typed``."""
    types = {field.name: get_type_hints(group)[field.name] for field in fields(group)}
    return group(
        **{name: _gather_group(kind, typed) if is_dataclass(kind) else typed.pop(name) for name, kind in types.items()}
    )
