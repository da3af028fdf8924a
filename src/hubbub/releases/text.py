"""Released numbers as people read them: "1,203 ±19", and tables of them for a terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING

from hubbub.explain import TextTable
from hubbub.render import format_table as lined_up

if TYPE_CHECKING:
    from hubbub.releases.release import Release

NONE = "—"
_ROWS = 40


def error_decimals(half: float) -> int:
    """How many decimals two digits of the error need."""
    if not math.isfinite(half) or half <= 0:
        return 6
    return max(0, min(12, 1 - math.floor(math.log10(half))))


def format_number(value: object, *, places: int = 6) -> str:
    """A number with thousands and so many decimals; None as a dash; anything else as itself."""
    if value is None:
        return NONE
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return _format_float(value, places)
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    return value.isoformat() if isinstance(value, date) else str(value)


def format_public(value: object) -> str:
    """A key or a public number: as a number reads, but without thousands, since 1985 may be a year or a name."""
    is_plain_number = isinstance(value, int | float) and not isinstance(value, bool)
    return format_number(value).replace(",", "") if is_plain_number else format_number(value)


def _format_float(value: float, places: int) -> str:
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if abs(value) >= 1e15:
        return f"{value:.6g}"
    text = f"{value:,.{places}f}"
    text = text.rstrip("0").rstrip(".") if places == 6 and "." in text else text
    return text.removeprefix("-") if not text.strip("-0.,") else text


def format_cell(value: object, low: object, high: object) -> tuple[str, str]:
    """A value as it reads, and its error: "±9", or both ends where they are not alike."""
    if not all(isinstance(end, int | float) for end in (value, low, high)) or isinstance(value, bool):
        return format_number(value), ""
    assert isinstance(value, int | float) and isinstance(low, int | float) and isinstance(high, int | float)
    if low == high == value:
        return format_number(value), ""
    places = error_decimals(float(high - low) / 2)
    text = format_number(value, places=places)
    if isinstance(value, int) and value - low == high - value:
        return text, f"±{high - value:,}"
    below, above = (format_number(float(gap), places=places) for gap in (value - low, high - value))
    return (
        text,
        f"±{above}"
        if below == above
        else f"({format_number(low, places=places)} to {format_number(high, places=places)})",
    )


def format_cells(values: Sequence[object], ends: tuple[Sequence[object], Sequence[object]]) -> list[str]:
    """Values with their errors."""
    return [" ".join(format_cell(*three)).strip() for three in zip(values, *ends, strict=True)]


def format_column(release: Release, place: int, confidence: float, *, intervals: bool = True) -> list[str]:
    """The values of a column as words, with their errors if there is noise in them."""
    values, ends = release.told(place, confidence)
    if not release.is_noisy(place):
        return [format_public(value) for value in values]
    return format_cells(values, ends if intervals else (values, values))


def shown_columns(release: Release, *, confidence: float, limit: int) -> list[list[str]]:
    """The columns as words, with an ellipsis where there are more rows than ``limit``."""
    head = release.head(limit)
    columns = [format_column(head, place, confidence) for place in range(len(release.columns))]
    return [[*column, "…"] for column in columns] if len(release) > limit else columns


def release_text(release: Release, *, confidence: float = 0.95) -> str:
    """The release for a terminal: its table, its price, and what to bear in mind."""
    columns = shown_columns(release, confidence=confidence, limit=_ROWS)
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
