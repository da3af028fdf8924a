"""Released numbers as people read them: "1,203 ±19", and tables of them for a terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING

from hubbub.explain import TextTable
from hubbub.render import table as lined_up

if TYPE_CHECKING:
    from hubbub.releases.release import Release

NONE = "—"
_ROWS = 40


def decimals(half: float) -> int:
    """How many decimals two digits of the error need."""
    if not math.isfinite(half) or half <= 0:
        return 6
    return max(0, min(12, 1 - math.floor(math.log10(half))))


def number(value: object, *, places: int = 6) -> str:
    """A number with thousands and so many decimals; None as a dash; anything else as itself."""
    if value is None:
        return NONE
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return _float(value, places)
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    return value.isoformat() if isinstance(value, date) else str(value)


def _float(value: float, places: int) -> str:
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if abs(value) >= 1e15:
        return f"{value:.6g}"
    told = f"{value:,.{places}f}"
    told = told.rstrip("0").rstrip(".") if places == 6 and "." in told else told
    return told.removeprefix("-") if not told.strip("-0.,") else told


def cell(value: object, low: object, high: object) -> tuple[str, str]:
    """A value as it reads, and its error: "±9", or both ends where they are not alike."""
    if not all(isinstance(end, int | float) for end in (value, low, high)) or isinstance(value, bool):
        return number(value), ""
    assert isinstance(value, int | float) and isinstance(low, int | float) and isinstance(high, int | float)
    if low == high == value:
        return number(value), ""
    places = decimals(float(high - low) / 2)
    told = number(value, places=places)
    if isinstance(value, int) and value - low == high - value:
        return told, f"±{high - value:,}"
    below, above = (number(float(gap), places=places) for gap in (value - low, high - value))
    return told, f"±{above}" if below == above else f"({number(low, places=places)} to {number(high, places=places)})"


def cells(values: Sequence[object], ends: tuple[Sequence[object], Sequence[object]]) -> list[str]:
    """Values with their errors."""
    return [" ".join(cell(*three)).strip() for three in zip(values, *ends, strict=True)]


def shown(release: Release, *, confidence: float, limit: int) -> list[list[str]]:
    """The columns as words, with an ellipsis where there are more rows than ``limit``."""
    head = release.head(limit)
    columns = [cells(*head.told(place, confidence)) for place in range(len(release.columns))]
    return [[*column, "…"] for column in columns] if len(release) > limit else columns


def told(release: Release, *, confidence: float = 0.95) -> str:
    """The release for a terminal: its table, its price, and what to bear in mind."""
    columns = shown(release, confidence=confidence, limit=_ROWS)
    level = f"{100 * confidence:g}%"
    if len(release) == 1:
        uncertain = [output.formula.is_uncertain(release.table) for output in release.columns]
        width = max((len(output.name) for output in release.columns), default=0)
        body = "\n".join(
            f"{output.name:<{width}}  {column[0]}{f' ({level})' if noisy else ''}"
            for output, column, noisy in zip(release.columns, columns, uncertain, strict=True)
        )
    else:
        rows = tuple(zip(*columns, strict=True))
        body = lined_up(TextTable(release.columns_names, rows)) if release.columns else ""
        body += f"\n({len(release):,} rows; {level} {'simultaneous ' if release.looked_at > 1 else ''}intervals)"
    return "\n".join([body, *release.remarks(), release.price()])
