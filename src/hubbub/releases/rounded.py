"""A release to look at: rounded for people, never for calculating."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hubbub.explain import TextTable
from hubbub.releases import text
from hubbub.render import format_table as lined_up
from hubbub.render.charts import escape, tag

if TYPE_CHECKING:
    from hubbub.releases.release import Release

FOR_DISPLAY = "Rounded for display: calculate with the release itself."


@dataclass(frozen=True, slots=True)
class Rounded:
    """A release with as many digits as the noise leaves, counts not below 0. It has no numbers to calculate with."""

    release: Release

    def rows(self) -> list[tuple[str, ...]]:
        """The rows as words."""
        columns = [self._column(place) for place in range(len(self.release.columns))]
        return list(zip(*columns, strict=True))

    def _column(self, place: int) -> list[str]:
        values, (lows, highs) = self.release.told(place)
        if not self.release.is_noisy(place):
            return [text.format_public(value) for value in values]
        floor = self.release.counts_at(place)
        return [
            _round_to_error(value, low, high, floor=floor) for value, low, high in zip(values, lows, highs, strict=True)
        ]

    def __str__(self) -> str:
        table = lined_up(TextTable(self.release.columns_names, tuple(self.rows()))) if self.release.columns else ""
        return f"{table}\n{FOR_DISPLAY}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = tag("tr", *(tag("th", escape(name), scope="col") for name in self.release.columns_names))
        body = (tag("tr", *(tag("td", escape(cell)) for cell in row)) for row in self.rows())
        return tag("table", tag("thead", head), tag("tbody", *body)) + tag("p", escape(FOR_DISPLAY))


def _round_to_error(value: object, low: object, high: object, *, floor: bool) -> str:
    """A value with two digits of its error: "12,300" if the error is 2,000, "0" for a count below 0."""
    known = isinstance(value, int | float) and isinstance(low, int | float) and isinstance(high, int | float)
    if not known or isinstance(value, bool) or low == high:
        return text.format_number(value)
    assert isinstance(value, int | float) and isinstance(low, int | float) and isinstance(high, int | float)
    shown = max(0, value) if floor else value
    half = (high - low) / 2
    if not math.isfinite(half):
        return text.format_number(value)
    digits = 1 - math.floor(math.log10(half))
    return text.format_number(
        round(shown, digits) if digits > 0 else round(round(shown), digits), places=max(0, digits)
    )
