"""Single fields of a descriptor: names, choices, numbers as typed, budgets; each refused at its place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import NoReturn

from hubbub.schema.toml_positions import TomlTable, did_you_mean
from hubbub.terms import Budget, InvalidParameter, exact, fraction_of, plain_name, positive

_REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")  # a URL; a single letter would be a Windows drive
_RATIO = re.compile(r"-?\d{1,100}/[1-9]\d{0,99}")  # for what has no decimal


def refuse_missing(section: TomlTable, name: str, wanted: str, example: str) -> NoReturn:
    """Refuse a section that lacks something, with a line to add."""
    section.refuse(
        name,
        f"{'.'.join(map(str, (*section.path, name)))} is missing: {wanted}.",
        why="There is no default for it: what holds for people is always stated.",
        fix=f"Add {example}.",
        key=True,
    )


def name_in(section: TomlTable, key: str, what: str, default: str = "") -> str:
    """A name that a ledger accepts."""
    if key not in section.content and not default:
        refuse_missing(section, key, f"what the {what} is called", f'{key} = "..."')
    value = section.words(key, default)
    try:
        return plain_name(value, what=what)
    except InvalidParameter as error:
        pass_on(section, key, error)


def pass_on(section: TomlTable, key: str, error: InvalidParameter) -> NoReturn:
    """A refusal of ours, at the place of the field."""
    section.refuse(key, f"{error.what.rstrip('.')}.", why=error.why, fix=error.fix)


def choice_in(section: TomlTable, key: str, allowed: Sequence[str]) -> str:
    """One of the allowed words; the first is the default."""
    value = section.words(key, allowed[0])
    if value not in allowed:
        section.refuse(
            key,
            f"{key} must be one of {', '.join(allowed)}.{did_you_mean(value, allowed)}",
            why="No other is known here.",
            fix=f'Write {key} = "{allowed[0]}", or another of them.',
        )
    return value


def fact_in(section: TomlTable, key: str) -> str:
    """A sentence or a date about who declared it."""
    value = section.content[key]
    return value.isoformat() if isinstance(value, date) else section.sentence(key)


def source_path(source: str, folder: Path | None) -> str:
    """A source: relative paths start from the descriptor's folder."""
    return source if not source or folder is None or _REMOTE.match(source) else str(folder / source)


def number_in(section: TomlTable, key: str) -> Fraction | None:
    """The number as typed: an integer, a decimal, or a ratio such as "1/3"."""
    value = section.content.get(key)
    if value is None:
        return None
    if isinstance(value, str) and _RATIO.fullmatch(value):
        return Fraction(value)
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        section.refuse(
            key,
            f"{key} must be a number{', a date or a time' * (key in ('lower', 'upper'))}.",
            why="What is declared is read as it stands, and never guessed from another type.",
            fix=f"Write it without quotes, as in {key} = {'2025-12-31 or ' * (key in ('lower', 'upper'))}0.01.",
        )
    try:
        return exact(value, name=key)
    except InvalidParameter as error:
        pass_on(section, key, error)


def budget_in(privacy: TomlTable) -> Budget:
    """The budget, exactly as typed."""
    if "budget" not in privacy.content:
        refuse_missing(privacy, "budget", "how much may be spent in all", "budget = { epsilon = ..., delta = ... }")
    section = privacy.section("budget")
    section.only("epsilon", "delta", "rho")
    given = {key: number_in(section, key) for key in section.content}
    for key, number in given.items():
        try:
            fraction_of(number, name=key, zero=True) if key == "delta" else positive(number, name=key)
        except InvalidParameter as error:
            pass_on(section, key, error)
    if ("epsilon" in given) == ("rho" in given):
        privacy.refuse(
            "budget",
            "a budget is given by epsilon or by rho, and one of them is needed.",
            why="There is no default budget, and two caps would contradict each other.",
            fix="Write budget = { epsilon = ..., delta = ... } or budget = { rho = ... }.",
        )
    return Budget(given.get("epsilon"), given.get("delta") or Fraction(0), given.get("rho"))
