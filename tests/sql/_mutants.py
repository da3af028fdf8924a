"""Values made of dataclasses and tuples, with one small thing changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from datetime import date, timedelta
from enum import Enum
from fractions import Fraction
from typing import Any

Path = tuple[str | int, ...]
_ENDS = 3  # of a long list, so many at each end


def paths(value: Any) -> Iterator[Path]:
    """The way to every part that can be changed."""
    if is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            if field.init:
                yield from ((field.name, *rest) for rest in paths(getattr(value, field.name)))
    elif isinstance(value, tuple):
        yield ()
        for place, part in enumerate(value):
            if place < _ENDS or place >= len(value) - _ENDS:
                yield from ((place, *rest) for rest in paths(part))
    elif value is not None:
        yield ()


def changed(value: Any, path: Path) -> Any:
    """The value with the part at the end of the path changed."""
    if not path:
        return _other(value)
    [step, *rest] = path
    if isinstance(step, str):
        return replace(value, **{step: changed(getattr(value, step), tuple(rest))})
    return (*value[:step], changed(value[step], tuple(rest)), *value[step + 1 :])


def _other(value: Any) -> Any:
    """Another value of the same type."""
    if isinstance(value, Enum):
        kinds = list(type(value))
        return kinds[(kinds.index(value) + 1) % len(kinds)]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float | Fraction):
        return value + 1
    if isinstance(value, date):
        return value + timedelta(days=1)
    if isinstance(value, tuple):
        return value[::-1] if value[::-1] != value else (*value, *value)
    return f"{value}x" if isinstance(value, str) else object()
