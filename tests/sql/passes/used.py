"""Every function that a question may use, in a condition about one visit and its stay."""

from __future__ import annotations

from hubbub.sql.quote import QueryPlan, plan_text
from tests.sql.passes.datasets import HOSPITAL

USED = {
    "x + y": "cost + weight > 1",
    "x - y": "cost - weight > 1",
    "x * y": "cost * weight > 1",
    "x / y, infinite or no number if y is 0": "cost / weight > 1",
    "x // y of whole numbers, missing if y is 0": "DAY(day) // (MONTH(day) - 3) > 1",
    "x % y, missing (of doubles: no number) if y is 0": "cost % weight > 1",
    "-x": "-cost < 1",
    "ABS(x)": "ABS(cost) > 1",
    "SIGN(x)": "SIGN(cost) = 1",
    "FLOOR(x)": "FLOOR(cost) = 1",
    "CEIL(x)": "CEIL(cost) = 1",
    "TRUNC(x)": "TRUNC(cost) = 1",
    "ROUND(x, digits)": "ROUND(cost, 1) = 1.5",
    "SQRT(x), missing below 0": "SQRT(cost) > 1",
    "LN(x), missing at 0 and below": "LN(cost) > 1",
    "EXP(x)": "EXP(cost) > 1",
    "POWER(x, y)": "POWER(cost, 2) > 1",
    "LEAST(x, ...)": "LEAST(cost, weight, 3) > 1",
    "GREATEST(x, ...)": "GREATEST(cost, weight, 3) > 1",
    "CLIP(x, lower, upper)": "CLIP(cost, 0, 1) > 1",
    "WIDTH_BUCKET(x, lower, upper, buckets)": "WIDTH_BUCKET(cost, 0, 5000, 10) = 1",
    "COALESCE(x, ...)": "COALESCE(cost, weight, 0) > 1",
    "NULLIF(x, y)": "NULLIF(cost, 1) > 1",
    "x = y": "cost = 1",
    "x <> y": "cost <> 1",
    "x < y": "cost < 1",
    "x <= y": "cost <= 1",
    "x > y": "cost > 1",
    "x >= y": "cost >= 1",
    "x IS NOT DISTINCT FROM y": "cost IS NOT DISTINCT FROM weight",
    "AND": "urgent AND cost > 1",
    "OR": "urgent OR cost > 1",
    "NOT": "NOT urgent",
    "LIKE with a literal pattern": "diagnosis LIKE 'f%'",
    "ILIKE with a literal pattern": "diagnosis ILIKE 'F%'",
    "LOWER(s)": "LOWER(diagnosis) = 'flu'",
    "UPPER(s)": "UPPER(diagnosis) = 'FLU'",
    "TRIM(s)": "TRIM(diagnosis) = 'flu'",
    "LENGTH(s)": "LENGTH(diagnosis) = 3",
    "SUBSTRING(s, start, length)": "SUBSTRING(diagnosis, 1, 2) = 'fl'",
    "LEFT(s, n)": "LEFT(diagnosis, 2) = 'fl'",
    "RIGHT(s, n)": "RIGHT(diagnosis, 2) = 'lu'",
    "CONCAT(s, ...)": "CONCAT(diagnosis, '!') = 'flu!'",
    "s || t": "diagnosis || '!' = 'flu!'",
    "REPLACE(s, from, to)": "REPLACE(diagnosis, 'f', 'g') = 'glu'",
    "STARTS_WITH(s, t)": "STARTS_WITH(diagnosis, 'f')",
    "CONTAINS(s, t)": "CONTAINS(diagnosis, 'f')",
    "DATE_TRUNC(unit, day)": "DATE_TRUNC('month', day) = '2025-03-01'",
    "EXTRACT(part FROM day)": "EXTRACT(year FROM day) = 2025",
    "YEAR(day)": "YEAR(day) = 2025",
    "QUARTER(day)": "QUARTER(day) = 1",
    "MONTH(day)": "MONTH(day) = 1",
    "DAY(day)": "DAY(day) = 1",
    "DAYOFMONTH(day)": "DAYOFMONTH(day) = 1",
    "DAYOFWEEK(day)": "DAYOFWEEK(day) = 1",
    "DAYOFYEAR(day)": "DAYOFYEAR(day) = 1",
    "WEEK(day)": "WEEK(day) = 1",
    "WEEKOFYEAR(day)": "WEEKOFYEAR(day) = 1",
    "HOUR(time)": "HOUR(arrived) = 1",
    "MINUTE(time)": "MINUTE(arrived) = 1",
    "SECOND(time)": "SECOND(arrived) = 1",
    "DATE_DIFF(unit, from, to)": "DATE_DIFF('day', day, DATE '2025-12-31') > 1",
    "IF(condition, x, y)": "IF(urgent, cost, weight) > 1",
    "DATE_PART(part, day)": "DATE_PART('month', day) = 1",
}


def asked(about: str) -> QueryPlan:
    """The question how many visits with a stay meet the condition, planned."""
    question = f"SELECT COUNT(*) AS n FROM visits v JOIN stays s ON s.visit_id = v.visit_id WHERE {USED[about]}"
    return plan_text(question, HOSPITAL, gaussian=True)
