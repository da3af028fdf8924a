"""What is known of an expression's value, worked out from what is known of its parts (interval arithmetic).

Every rule is of the kind "if the parts lie in these intervals, so does the whole". Where no rule is sure, the facts are
lost: an expression without bounds cannot be summed until its author clips it.
"""

from __future__ import annotations

import calendar
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from fractions import Fraction

from hubbub.relations import limits
from hubbub.relations.casts import cast_facts
from hubbub.relations.column_images import MOST_VALUES, grid_values, half_away, image_of
from hubbub.relations.expressions import Expr, ValueFacts, place_of
from hubbub.relations.moments import SHORT_UNITS, shift_facts, short_difference, strftime_facts
from hubbub.relations.number_types import type_of
from hubbub.schema import Kind

_EPOCH = date(1970, 1, 1)
_DAY = 86_400_000_000
Interval = tuple[Fraction | None, Fraction | None]


def build(op: str, args: Sequence[Expr], param: object = None, *, kind: Kind | None = None) -> Expr:
    """The operation on these parts, with everything that follows about its value."""
    parts = tuple(args)
    rule = _RULES.get(op)
    facts = rule(parts, param) if rule else ValueFacts(kind=kind or parts[0].kind)
    return Expr(op, parts, param, _with_number_type(op, parts, param, facts) if facts.kind.is_number else facts)


def _with_number_type(op: str, parts: tuple[Expr, ...], param: object, facts: ValueFacts) -> ValueFacts:
    """Facts of a number with the type that SQL gives it, and with its values where they follow from a column's."""
    if op != "cast":
        numbers = [part.facts.number for part in parts if part.kind.is_number]
        facts = replace(facts, number=type_of(op, numbers, param))
    image = image_of(op, parts, param)
    if image is None:
        return facts
    known = [value for value in image[1] if value is not None]
    if facts.kind is not Kind.INTEGER or not known or any(value.denominator != 1 for value in known):
        return replace(facts, image=image)
    values = tuple(sorted({int(value) for value in known}))
    return replace(facts, image=image, values=values, lower=Fraction(values[0]), upper=Fraction(values[-1]))


# ---------------------------------------------------------------- numbers


def _corner_values(parts: Sequence[Expr], combine: Callable[[Fraction, Fraction], Fraction]) -> Interval:
    a, b = parts[0].facts, parts[1].facts
    if not (a.bounded and b.bounded):
        return None, None
    assert a.lower is not None and a.upper is not None and b.lower is not None and b.upper is not None
    ends = [combine(x, y) for x in (a.lower, a.upper) for y in (b.lower, b.upper)]
    return min(ends), max(ends)


def _common_step(parts: Sequence[Expr]) -> Fraction | None:
    steps = [part.facts.step for part in parts if not _is_zero(part)] or [Fraction(1)]
    if any(step is None for step in steps):
        return None
    one, other = steps[0], steps[1] if len(steps) > 1 else steps[0]
    assert one is not None and other is not None
    return Fraction(
        math.gcd(one.numerator * other.denominator, other.numerator * one.denominator),
        one.denominator * other.denominator,
    )


def _is_zero(part: Expr) -> bool:
    """Whether it is 0, which lies on every grid."""
    return part.op == "literal" and part.param == 0 and part.kind.is_number


def _number(parts: Sequence[Expr], interval: Interval, step: Fraction | None) -> ValueFacts:
    lower, upper = (None if end is None or abs(end) > limits.LARGEST else end for end in interval)
    if step is not None and max(step.numerator, step.denominator) > limits.LARGEST:
        step = None  # no double holds it
    if step is None or step.denominator != 1:
        return ValueFacts(kind=Kind.NUMBER, lower=lower, upper=upper, step=step)
    return ValueFacts(
        kind=Kind.INTEGER, lower=lower, upper=upper, step=step, values=grid_values(lower, upper, int(step))
    )


def _add(parts: Sequence[Expr], _: object) -> ValueFacts:
    a, b = parts[0].facts, parts[1].facts
    lower = None if a.lower is None or b.lower is None else a.lower + b.lower
    upper = None if a.upper is None or b.upper is None else a.upper + b.upper
    return _number(parts, (lower, upper), _common_step(parts))


def _sub(parts: Sequence[Expr], _: object) -> ValueFacts:
    a, b = parts[0].facts, parts[1].facts
    lower = None if a.lower is None or b.upper is None else a.lower - b.upper
    upper = None if a.upper is None or b.lower is None else a.upper - b.lower
    return _number(parts, (lower, upper), _common_step(parts))


def _mul(parts: Sequence[Expr], _: object) -> ValueFacts:
    one, other = parts[0].facts.step, parts[1].facts.step
    step = None if one is None or other is None else one * other
    return _number(parts, _corner_values(parts, lambda x, y: x * y), step)


def _div(parts: Sequence[Expr], _: object) -> ValueFacts:
    below = parts[1].facts
    if not below.bounded or (below.lower <= 0 <= below.upper):  # type: ignore[operator]
        return ValueFacts(kind=Kind.NUMBER)
    return _number(parts, _corner_values(parts, lambda x, y: x / y), None)


def _mod(parts: Sequence[Expr], _: object) -> ValueFacts:
    a, below = parts[0].facts, parts[1].facts
    if not below.bounded:
        return ValueFacts(kind=Kind.NUMBER)
    step = _common_step(parts)
    most = max(abs(below.lower), abs(below.upper)) - (step or 0)  # type: ignore[arg-type]
    lower = Fraction(0) if a.lower is not None and a.lower >= 0 else -most
    upper = Fraction(0) if a.upper is not None and a.upper <= 0 else most
    return _number(parts, (lower, upper), step)


def _int_div(parts: Sequence[Expr], _: object) -> ValueFacts:
    """x // y of whole numbers, cut off toward zero."""
    facts = _div(parts, None)
    ends = (facts.lower, facts.upper)
    lower, upper = (None if end is None else Fraction(math.trunc(end)) for end in ends)
    return _number(parts, (lower, upper), Fraction(1))


def _neg(parts: Sequence[Expr], _: object) -> ValueFacts:
    a = parts[0].facts
    lower = None if a.upper is None else -a.upper
    upper = None if a.lower is None else -a.lower
    return _number(parts, (lower, upper), a.step)


def _abs(parts: Sequence[Expr], _: object) -> ValueFacts:
    a = parts[0].facts
    if not a.bounded:
        return _number(parts, (Fraction(0), None), a.step)
    assert a.lower is not None and a.upper is not None
    least = Fraction(0) if a.lower <= 0 <= a.upper else min(abs(a.lower), abs(a.upper))
    return _number(parts, (least, max(abs(a.lower), abs(a.upper))), a.step)


def _whole_number_facts(rounded: Callable[[Fraction], int]) -> Callable[[Sequence[Expr], object], ValueFacts]:
    def rule(parts: Sequence[Expr], _: object) -> ValueFacts:
        a = parts[0].facts
        lower = None if a.lower is None else Fraction(rounded(a.lower))
        upper = None if a.upper is None else Fraction(rounded(a.upper))
        return _number(parts, (lower, upper), Fraction(1))

    return rule


def _round(parts: Sequence[Expr], digits: object) -> ValueFacts:
    assert isinstance(digits, int)
    step = Fraction(10) ** -digits
    a = parts[0].facts
    if a.step is not None and (a.step / step).denominator == 1:
        return a  # there is nothing to round
    lower, upper = (None if end is None else half_away(end / step) * step for end in (a.lower, a.upper))
    return _number(parts, (lower, upper), step)


def _monotone_facts(
    function: Callable[[float], float], *, least: Fraction | None
) -> Callable[[Sequence[Expr], object], ValueFacts]:
    """A growing function, known where its argument is bounded inside its domain; rounded outward."""

    def rule(parts: Sequence[Expr], _: object) -> ValueFacts:
        a = parts[0].facts
        if not a.bounded or (least is not None and a.lower < least):  # type: ignore[operator]
            return ValueFacts(kind=Kind.NUMBER)
        assert a.lower is not None and a.upper is not None
        try:
            low, high = function(float(a.lower)), function(float(a.upper))
        except (OverflowError, ValueError):
            return ValueFacts(kind=Kind.NUMBER)
        margin = Fraction(max(abs(low), abs(high), 1e-9)) / 10**9
        return _number(parts, (Fraction(low) - margin, Fraction(high) + margin), None)

    return rule


def _least(parts: Sequence[Expr], _: object) -> ValueFacts:
    uppers = [part.facts.upper for part in parts if part.facts.upper is not None]
    lowers = [part.facts.lower for part in parts]
    lower = min(low for low in lowers if low is not None) if all(low is not None for low in lowers) else None
    return _chosen(parts, (lower, min(uppers) if uppers and _never_null(parts) else _all(parts, "upper", max)))


def _greatest(parts: Sequence[Expr], _: object) -> ValueFacts:
    lowers = [part.facts.lower for part in parts if part.facts.lower is not None]
    uppers = [part.facts.upper for part in parts]
    upper = max(high for high in uppers if high is not None) if all(high is not None for high in uppers) else None
    return _chosen(parts, (max(lowers) if lowers and _never_null(parts) else _all(parts, "lower", min), upper))


def _never_null(parts: Sequence[Expr]) -> bool:
    """A literal among the parts is always there, so it always takes part in LEAST and GREATEST."""
    return any(part.op == "literal" for part in parts)


def _all(parts: Sequence[Expr], side: str, pick: Callable[[list[Fraction]], Fraction]) -> Fraction | None:
    ends = [getattr(part.facts, side) for part in parts]
    return None if any(end is None for end in ends) else pick(ends)


def _chosen(parts: Sequence[Expr], interval: Interval) -> ValueFacts:
    """The value of one of the parts."""
    kind = parts[0].kind
    if kind.is_number:
        return _number(parts, interval, _fold_steps(parts))
    return ValueFacts(kind=kind, lower=interval[0], upper=interval[1])


def _fold_steps(parts: Sequence[Expr]) -> Fraction | None:
    parts = [part for part in parts if not _is_zero(part)] or parts[:1]
    step = parts[0].facts.step
    for part in parts[1:]:
        if step is None or part.facts.step is None:
            return None
        step = _common_step([Expr("", facts=ValueFacts(kind=Kind.NUMBER, step=step)), part])
    return step


# ---------------------------------------------------------------- choices, texts, dates


def _case(parts: Sequence[Expr], _: object) -> ValueFacts:
    """CASE c1 THEN v1 ... ELSE v: one of the branches."""
    branches = [*parts[1:-1:2], parts[-1]]
    given = [branch for branch in branches if not (branch.op == "literal" and branch.param is None)]
    return _one_of(given or branches[-1:])


def _one_of(branches: Sequence[Expr]) -> ValueFacts:
    kind = branches[0].kind
    if any(branch.kind is not kind for branch in branches):
        kind = Kind.NUMBER if all(branch.kind.is_number for branch in branches) else kind
    lists = [branch.facts.values for branch in branches]
    values = None if any(part is None for part in lists) else tuple(dict.fromkeys(v for p in lists for v in p or ()))
    facts = _chosen(branches, (_all(branches, "lower", min), _all(branches, "upper", max)))
    return ValueFacts(
        kind=kind,
        lower=facts.lower,
        upper=facts.upper,
        step=facts.step,
        values=values if values is not None else facts.values,
    )


def _coalesce(parts: Sequence[Expr], _: object) -> ValueFacts:
    return _one_of(parts)


def _nullif(parts: Sequence[Expr], _: object) -> ValueFacts:
    return _one_of(parts[:1])


def _boolean(parts: Sequence[Expr], _: object) -> ValueFacts:
    return ValueFacts(kind=Kind.BOOLEAN, values=(False, True))


def _text(parts: Sequence[Expr], _: object) -> ValueFacts:
    return ValueFacts(kind=Kind.TEXT)


def _text_of(function: Callable[[str], str]) -> Callable[[Sequence[Expr], object], ValueFacts]:
    """A function of one text: a finite list stays one."""

    def rule(parts: Sequence[Expr], _: object) -> ValueFacts:
        known = parts[0].facts.values
        if known is None or not all(isinstance(v, str) and v.isascii() for v in known):
            return ValueFacts(kind=Kind.TEXT)
        return ValueFacts(kind=Kind.TEXT, values=tuple(dict.fromkeys(function(str(value)) for value in known)))

    return rule


def _length(parts: Sequence[Expr], _: object) -> ValueFacts:
    return ValueFacts(kind=Kind.INTEGER, lower=Fraction(0), step=Fraction(1))


_PARTS: dict[str, tuple[int, int]] = {
    "month": (1, 12),
    "quarter": (1, 4),
    "day": (1, 31),
    "dow": (0, 6),
    "isodow": (1, 7),
    "doy": (1, 366),
    "week": (1, 53),
    "hour": (0, 23),
    "minute": (0, 59),
    "second": (0, 59),
}


def _extract(parts: Sequence[Expr], part: object) -> ValueFacts:
    if part == "year":
        days = _day_bounds(parts[0].facts)
        interval = (None, None) if days is None else (Fraction(days[0].year), Fraction(days[1].year))
    elif (few := _few_days(parts[0].facts)) and part in _OF_DAYS:
        numbers = sorted({_OF_DAYS[str(part)](day) for day in few})
        facts = _number(parts, (Fraction(numbers[0]), Fraction(numbers[-1])), Fraction(1))
        return replace(facts, values=tuple(numbers))
    else:
        first, last = _PARTS[str(part)]
        interval = (Fraction(first), Fraction(last))
    return _number(parts, interval, Fraction(1))


_OF_DAYS: dict[str, Callable[[date], int]] = {
    "quarter": lambda day: (day.month + 2) // 3,
    "month": lambda day: day.month,
    "day": lambda day: day.day,
    "dow": lambda day: day.isoweekday() % 7,
    "isodow": lambda day: day.isoweekday(),
    "doy": lambda day: day.timetuple().tm_yday,
    "week": lambda day: day.isocalendar().week,
}


def _few_days(facts: ValueFacts) -> list[date]:
    """All days between the bounds, if they are less than a year."""
    days = _day_bounds(facts)
    if days is None or not 0 <= (days[1] - days[0]).days < 366:
        return []
    return [days[0] + timedelta(days=i) for i in range((days[1] - days[0]).days + 1)]


def _day_bounds(facts: ValueFacts) -> tuple[date, date] | None:
    """The first and last day of a bounded date or timestamp."""
    if not facts.bounded or facts.kind not in (Kind.DATE, Kind.TIMESTAMP):
        return None
    scale = 1 if facts.kind is Kind.DATE else _DAY
    first, last = (math.floor(end / scale) for end in (facts.lower, facts.upper))  # type: ignore[operator]
    try:
        return _EPOCH + timedelta(days=first), _EPOCH + timedelta(days=last)
    except OverflowError:
        return None


def _date_trunc(parts: Sequence[Expr], unit: object) -> ValueFacts:
    days = _day_bounds(parts[0].facts)
    if days is None or unit in ("hour", "minute", "second"):
        return ValueFacts(kind=Kind.TIMESTAMP if unit in ("hour", "minute", "second") else Kind.DATE)
    if _count_periods(days, str(unit)) > MOST_VALUES:
        return ValueFacts(kind=Kind.DATE)
    starts = tuple(_period_starts(days[0], days[1], str(unit)))
    return ValueFacts(kind=Kind.DATE, lower=place_of(starts[0]), upper=place_of(starts[-1]), values=starts)


def _count_periods(days: tuple[date, date], unit: str) -> float:
    return (days[1] - days[0]).days / {"day": 1, "week": 7, "month": 28, "quarter": 89, "year": 365}[unit] + 2


def truncated(day: date, unit: str) -> date:
    """The first day of the period that the day lies in."""
    if unit == "week":
        return day - timedelta(days=day.weekday())
    if unit == "month":
        return day.replace(day=1)
    if unit == "quarter":
        return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
    return day.replace(month=1, day=1) if unit == "year" else day


def _period_starts(first: date, last: date, unit: str) -> Iterator[date]:
    day = truncated(first, unit)
    while True:
        yield day
        try:
            day = _next_period(day, unit)
        except (OverflowError, ValueError):
            return
        if day > last:
            return


def _next_period(day: date, unit: str) -> date:
    if unit in ("day", "week"):
        return day + timedelta(days=1 if unit == "day" else 7)
    months = {"month": 1, "quarter": 3, "year": 12}[unit]
    return shifted(day, months)


def shifted(day: date, months: int) -> date:
    """The same day so many months later, or the last day of that month."""
    index = day.year * 12 + day.month - 1 + months
    year, month = divmod(index, 12)
    return day.replace(year=year, month=month + 1, day=min(day.day, calendar.monthrange(year, month + 1)[1]))


def _date_diff(parts: Sequence[Expr], unit: object) -> ValueFacts:
    """Whole days between two dates, or boundaries crossed between them."""
    if unit in SHORT_UNITS:
        facts = short_difference(parts, str(unit))
        return _number(parts, (facts.lower, facts.upper), facts.step)
    first, second = _day_bounds(parts[0].facts), _day_bounds(parts[1].facts)
    if first is None or second is None:
        return ValueFacts(kind=Kind.INTEGER, step=Fraction(1))
    place = _PLACES[str(unit)]
    lower, upper = place(second[0]) - place(first[1]), place(second[1]) - place(first[0])
    spare = int(unit == "week")  # engines count weeks before 1970 towards 1970
    return _number(parts, (Fraction(lower - spare), Fraction(upper + spare)), Fraction(1))


_PLACES: dict[str, Callable[[date], int]] = {  # how many boundaries lie before a day; they rise with it
    "day": date.toordinal,
    "week": lambda day: (day.toordinal() - 1) // 7,
    "month": lambda day: day.year * 12 + day.month,
    "quarter": lambda day: day.year * 4 + (day.month - 1) // 3,
    "year": lambda day: day.year,
}


def timestamp_at(place: Fraction) -> datetime:
    """The timestamp so many microseconds after 1970."""
    return datetime(1970, 1, 1) + timedelta(microseconds=int(place))


def date_at(place: Fraction) -> date:
    """The date so many days after 1970."""
    return _EPOCH + timedelta(days=int(place))


_RULES: dict[str, Callable[[Sequence[Expr], object], ValueFacts]] = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "mod": _mod,
    "int_div": _int_div,
    "neg": _neg,
    "abs": _abs,
    "floor": _whole_number_facts(math.floor),
    "ceil": _whole_number_facts(math.ceil),
    "trunc": _whole_number_facts(math.trunc),
    "sign": lambda parts, _: _number(parts, (Fraction(-1), Fraction(1)), Fraction(1)),
    "round": _round,
    "sqrt": _monotone_facts(math.sqrt, least=Fraction(0)),
    "ln": _monotone_facts(math.log, least=Fraction(1, 10**9)),
    "log10": _monotone_facts(math.log10, least=Fraction(1, 10**9)),
    "exp": _monotone_facts(math.exp, least=None),
    "power": lambda parts, _: ValueFacts(kind=Kind.NUMBER),
    "least": _least,
    "greatest": _greatest,
    "case": _case,
    "coalesce": _coalesce,
    "nullif": _nullif,
    **dict.fromkeys(
        ("eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not", "isnull", "same", "in", "like", "ilike"), _boolean
    ),
    **dict.fromkeys(("contains", "starts_with", "matches", "exists", "not_null", "present"), _boolean),
    "lower": _text_of(str.lower),
    "upper": _text_of(str.upper),
    "trim": _text_of(lambda text: text.strip(" ")),
    **dict.fromkeys(("substring", "left", "right", "concat", "pipe", "replace", "match_part", "spelled"), _text),
    "length": _length,
    "extract": _extract,
    "date_trunc": _date_trunc,
    "date_diff": _date_diff,
    "shift": shift_facts,
    "strftime": strftime_facts,
    "cast": cast_facts,
}
