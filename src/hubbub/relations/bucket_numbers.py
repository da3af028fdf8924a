"""WIDTH_BUCKET: which of so many equal parts between two numbers a value lies in, made of operations that are there."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from hubbub.relations.casts import TARGETS
from hubbub.relations.expressions import Expr, literal
from hubbub.relations.value_facts import build


def bucket_number(value: Expr, lower: Expr, upper: Expr, buckets: Expr) -> Expr:
    """The number of the bucket from 1 on; 0 below all of them, and one more than there are above.

    Its values are those that the value's declared bounds allow.
    """
    low, high, number = (Fraction(part.param) for part in (lower, upper, buckets))
    span = high - low
    across = literal(int(span) if span.denominator == 1 else float(span))
    parts = build("div", [build("mul", [build("sub", [value, lower]), buckets]), across])
    inside = build("cast", [build("floor", [parts])], TARGETS["BIGINT"])
    held = build("least", [build("greatest", [build("add", [inside, literal(1)]), literal(1)]), buckets])
    above = literal(int(number) + 1)
    bucket = build("case", [build("lt", [value, lower]), literal(0), build("ge", [value, upper]), above, held])

    def of_end(end: Fraction | None, otherwise: int) -> int:
        if end is None:
            return otherwise
        place = math.floor((end - low) * number / span) + 1
        return min(max(place, 0), int(number) + 1)

    first, last = of_end(value.facts.lower, 0), of_end(value.facts.upper, int(number) + 1)
    values = tuple(range(first, last + 1))
    return replace(bucket, facts=replace(bucket.facts, lower=Fraction(first), upper=Fraction(last), values=values))
