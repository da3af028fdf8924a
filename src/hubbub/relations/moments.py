"""Moments: how long an interval is, what a moment becomes that much later, and the differences and texts of moments.

A moment is a date or a timestamp. Everything here keeps to the years 1 to 9999; what leaves them is missing.
"""

from __future__ import annotations

import calendar
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction

from hubbub.relations.column_images import MOST_VALUES
from hubbub.relations.expressions import Expr, ValueFacts, place_of
from hubbub.schema import Kind

EPOCH = date(1970, 1, 1)
DAY = 86_400_000_000  # microseconds
SHORT_UNITS = {"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000, "millisecond": 1_000, "microsecond": 1}
LONGEST = 1_000  # years that an interval may have: PostgreSQL has none before 4713 BC
_MOST_DAYS = 12_000  # that are looked through for the texts they have

# ---------------------------------------------------------------- intervals


@dataclass(frozen=True, slots=True)
class DateShift:
    """An interval that is added: months, days and seconds; ``as_date`` if a date stays a date (day + 1)."""

    months: int = 0
    days: int = 0
    seconds: int = 0
    as_date: bool = False

    @property
    def microseconds(self) -> int:
        """Its length without the months."""
        return self.days * DAY + self.seconds * 1_000_000

    def reversed(self) -> DateShift:
        """The same, back."""
        return DateShift(-self.months, -self.days, -self.seconds, self.as_date)

    def words(self) -> str:
        """The interval in fixtures."""
        parts = [(self.months, "months"), (self.days, "days"), (self.seconds, "seconds")]
        return " ".join(f"{number} {unit}" for number, unit in parts if number) or "nothing"


def is_short(shift: DateShift) -> bool:
    """Whether it is at most some centuries long: engines' calendars hold every sum of such an interval and a moment."""
    years = abs(shift.months) / 12 + abs(shift.days) / 365 + abs(shift.seconds) / (365 * 86_400)
    return years <= LONGEST


def shift_facts(parts: Sequence[Expr], param: object) -> ValueFacts:
    """Where a moment lies after an interval; a day more on both sides, since months have different lengths."""
    assert isinstance(param, DateShift)
    scale = DAY if parts[0].kind is Kind.DATE else 1
    spare = DAY if param.months else 0
    lower, upper = (None if end is None else _shifted_place(end * scale, param) for end in _ends(parts[0].facts))
    if lower is None or upper is None:
        return ValueFacts(kind=Kind.DATE if param.as_date else Kind.TIMESTAMP)
    if param.as_date:
        first, last = math.floor((lower - spare) / DAY), math.floor((upper + spare) / DAY)
        return ValueFacts(kind=Kind.DATE, lower=Fraction(first), upper=Fraction(last))
    return ValueFacts(kind=Kind.TIMESTAMP, lower=lower - spare, upper=upper + spare)


def _ends(facts: ValueFacts) -> tuple[Fraction | None, Fraction | None]:
    return facts.lower, facts.upper


def _shifted_place(place: Fraction, shift: DateShift) -> Fraction | None:
    try:
        moment = datetime(1970, 1, 1) + timedelta(microseconds=math.floor(place))
        moment = add_months(moment, shift.months) + timedelta(microseconds=shift.microseconds)
    except (OverflowError, ValueError):
        return None
    return place_of(moment)


def add_months(day: datetime, months: int) -> datetime:
    """The same day so many months later, or the last day of that month."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return day.replace(year=year, month=month + 1, day=min(day.day, calendar.monthrange(year, month + 1)[1]))


# ---------------------------------------------------------------- differences


def short_difference(parts: Sequence[Expr], unit: str) -> ValueFacts:
    """Boundaries of hours and shorter units that lie between two moments."""
    one, other = (_microseconds(part.facts) for part in parts)
    if one is None or other is None:
        return ValueFacts(kind=Kind.INTEGER, step=Fraction(1))
    size = SHORT_UNITS[unit]
    lower, upper = math.floor((other[0] - one[1]) / size) - 1, math.ceil((other[1] - one[0]) / size) + 1
    return ValueFacts(kind=Kind.INTEGER, lower=Fraction(lower), upper=Fraction(upper), step=Fraction(1))


def _microseconds(facts: ValueFacts) -> tuple[Fraction, Fraction] | None:
    if facts.lower is None or facts.upper is None:
        return None
    scale = DAY if facts.kind is Kind.DATE else 1
    return facts.lower * scale, facts.upper * scale


# ---------------------------------------------------------------- texts

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_OF_A_DAY: dict[str, Callable[[date], str]] = {
    "Y": lambda day: f"{day.year:04d}",
    "y": lambda day: f"{day.year % 100:02d}",
    "m": lambda day: f"{day.month:02d}",
    "d": lambda day: f"{day.day:02d}",
    "j": lambda day: f"{day.timetuple().tm_yday:03d}",
    "a": lambda day: _DAYS[day.weekday()][:3],
    "A": lambda day: _DAYS[day.weekday()],
    "b": lambda day: _MONTHS[day.month - 1][:3],
    "B": lambda day: _MONTHS[day.month - 1],
}
_OF_A_MONTH = "YymbB"
_FIRST_DAY = (date(1000, 1, 1) - EPOCH).days  # engines write earlier years with fewer digits
_OF_A_TIME = {"H": 24, "M": 60, "S": 60}
TIME_SIGNS = (*_OF_A_DAY, *_OF_A_TIME)
_SIGN = re.compile(r"%(.)|([^%]+)", re.DOTALL)
_PLAIN = re.compile(r"[-A-Za-z0-9 /:._,]+", re.ASCII)


def time_signs(form: str) -> list[tuple[str, str]] | None:
    """A form such as %Y-%m in parts: (sign, '') or ('', text between signs); None if it has anything else."""
    parts = [(match[1] or "", match[2] or "") for match in _SIGN.finditer(form)]
    whole = "".join(f"%{sign}" if sign else text for sign, text in parts) == form
    known = all(sign in TIME_SIGNS if sign else _PLAIN.fullmatch(text) for sign, text in parts)
    return parts if whole and known and form else None


def strftime_facts(parts: Sequence[Expr], param: object) -> ValueFacts:
    """The texts that a moment between bounds can have, if they are of days and not too many."""
    assert isinstance(param, str)
    signs = time_signs(param) or []
    used = {sign for sign, _ in signs if sign}
    bounds = _microseconds(parts[0].facts)
    if len(signs) == 1 and used <= set(_OF_A_TIME):
        values = tuple(f"{number:02d}" for number in range(_OF_A_TIME[signs[0][0]]))
        return ValueFacts(kind=Kind.TEXT, values=values)
    if bounds is None or used & set(_OF_A_TIME):
        return ValueFacts(kind=Kind.TEXT)
    first, last = (math.floor(end / DAY) for end in bounds)
    by_month = used <= set(_OF_A_MONTH)
    if not 0 <= last - first <= _MOST_DAYS * (30 if by_month else 1) or first < _FIRST_DAY:
        return ValueFacts(kind=Kind.TEXT)
    days = [EPOCH + timedelta(days=first), EPOCH + timedelta(days=last)]
    days = _month_starts(*days) if by_month else [EPOCH + timedelta(days=number) for number in range(first, last + 1)]
    texts = tuple(dict.fromkeys(_day_text(day, signs) for day in days))
    return ValueFacts(kind=Kind.TEXT, values=texts if len(texts) <= MOST_VALUES else None)


def _month_starts(first: date, last: date) -> list[date]:
    months = range(first.year * 12 + first.month - 1, last.year * 12 + last.month)
    return [date(month // 12, month % 12 + 1, 1) for month in months]


def _day_text(day: date, signs: Sequence[tuple[str, str]]) -> str:
    return "".join(_OF_A_DAY[sign](day) if sign else text for sign, text in signs)
