"""The functions that a question may use: scalar ones, each of which is total, reads nothing else and always gives the
same value, and aggregates.

    name of the parser's node (or of a function it does not know) -> our operation, its parts and their kinds

A new scalar function is one line here, one rule in ``relations/value_facts.py`` and one template per engine.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp


@dataclass(frozen=True, slots=True)
class ScalarFunction:
    """An operation, the parts of the parser's node that are its arguments, and the kind of each.

    Kinds: ``n`` number, ``t`` text, ``d`` date or timestamp, ``b`` boolean, ``*`` any (all alike). An upper-case
    letter means that the argument must be a literal, which becomes part of the operation.
    """

    op: str
    parts: tuple[str, ...]
    kinds: str
    about: str = ""
    optional: int = 0  # how many of the last arguments may be left out

    def takes(self, number: int) -> bool:
        """Whether it can have so many arguments."""
        if "expressions" in self.parts and len(self.kinds) == 1:
            return number >= 1
        most = max(len(self.kinds), len(self.parts))
        return most - self.optional <= number <= most

    def arguments(self, node: exp.Expr) -> list[exp.Expr]:
        """The arguments in the parser's node, in our order."""
        values = [node.args.get(name) for name in self.parts]
        return [
            part for value in values if value is not None for part in (value if isinstance(value, list) else [value])
        ]


def _unary(op: str, kind: str, about: str = "") -> ScalarFunction:
    return ScalarFunction(op, ("this",), kind, about)


def _binary(op: str, kinds: str, about: str = "") -> ScalarFunction:
    return ScalarFunction(op, ("this", "expression"), kinds, about)


FUNCTIONS: dict[str, ScalarFunction] = {
    "Add": _binary("add", "nn", "x + y"),
    "Sub": _binary("sub", "nn", "x - y"),
    "Mul": _binary("mul", "nn", "x * y"),
    "Div": _binary("div", "nn", "x / y, infinite or no number if y is 0"),
    "IntDiv": _binary("int_div", "nn", "x // y of whole numbers, missing if y is 0"),
    "Mod": _binary("mod", "nn", "x % y, missing (of doubles: no number) if y is 0"),
    "Neg": _unary("neg", "n", "-x"),
    "Abs": _unary("abs", "n", "ABS(x)"),
    "Sign": _unary("sign", "n", "SIGN(x)"),
    "Floor": _unary("floor", "n", "FLOOR(x)"),
    "Ceil": _unary("ceil", "n", "CEIL(x)"),
    "Trunc": _unary("trunc", "n", "TRUNC(x)"),
    "Round": ScalarFunction("round", ("this", "decimals"), "nN", "ROUND(x, digits)", optional=1),
    "Sqrt": _unary("sqrt", "n", "SQRT(x), missing below 0"),
    "Ln": _unary("ln", "n", "LN(x), missing at 0 and below"),
    "Log": ScalarFunction("log", ("this", "expression"), "nn", "LOG(x), LOG10(x), LOG2(x), LOG(base, x)", optional=1),
    "Exp": _unary("exp", "n", "EXP(x)"),
    "Pow": _binary("power", "nn", "POWER(x, y)"),
    "Least": ScalarFunction("least", ("this", "expressions"), "*", "LEAST(x, ...)"),
    "Greatest": ScalarFunction("greatest", ("this", "expressions"), "*", "GREATEST(x, ...)"),
    "clip": ScalarFunction("clip", ("expressions",), "nnn", "CLIP(x, lower, upper)"),
    "WidthBucket": ScalarFunction(
        "width_bucket",
        ("this", "min_value", "max_value", "num_buckets"),
        "nLLN",
        "WIDTH_BUCKET(x, lower, upper, buckets)",
    ),
    "Coalesce": ScalarFunction("coalesce", ("this", "expressions"), "*", "COALESCE(x, ...)"),
    "Nullif": _binary("nullif", "*", "NULLIF(x, y)"),
    "EQ": _binary("eq", "*", "x = y"),
    "NEQ": _binary("ne", "*", "x <> y"),
    "LT": _binary("lt", "*", "x < y"),
    "LTE": _binary("le", "*", "x <= y"),
    "GT": _binary("gt", "*", "x > y"),
    "GTE": _binary("ge", "*", "x >= y"),
    "NullSafeEQ": _binary("same", "*", "x IS NOT DISTINCT FROM y"),
    "And": _binary("and", "bb", "AND"),
    "Or": _binary("or", "bb", "OR"),
    "Not": _unary("not", "b", "NOT"),
    "Like": _binary("like", "tT", "LIKE with a literal pattern"),
    "ILike": _binary("ilike", "tT", "ILIKE with a literal pattern"),
    "Lower": _unary("lower", "t", "LOWER(s)"),
    "Upper": _unary("upper", "t", "UPPER(s)"),
    "Trim": _unary("trim", "t", "TRIM(s)"),
    "Length": _unary("length", "t", "LENGTH(s)"),
    "Substring": ScalarFunction(
        "substring", ("this", "start", "length"), "tNN", "SUBSTRING(s, start, length)", optional=1
    ),
    "Left": _binary("left", "tN", "LEFT(s, n)"),
    "Right": _binary("right", "tN", "RIGHT(s, n)"),
    "Concat": ScalarFunction("concat", ("expressions",), "t", "CONCAT(s, ...)"),
    "DPipe": _binary("pipe", "tt", "s || t"),
    "Replace": ScalarFunction("replace", ("this", "expression", "replacement"), "tTT", "REPLACE(s, from, to)"),
    "StartsWith": _binary("starts_with", "tT", "STARTS_WITH(s, t)"),
    "Contains": _binary("contains", "tT", "CONTAINS(s, t)"),
    "RegexpLike": _binary("matches", "tT", "REGEXP_MATCHES(s, pattern)"),
    "RegexpFullMatch": _binary("matches:whole", "tT", "REGEXP_FULL_MATCH(s, pattern)"),
    "SimilarTo": _binary("matches:whole", "tT", "s SIMILAR TO pattern"),
    "RegexpExtract": ScalarFunction(
        "match_part", ("this", "expression", "group"), "tTN", "REGEXP_EXTRACT(s, pattern, group)", optional=1
    ),
    "TimestampTrunc": ScalarFunction("date_trunc", ("this", "unit"), "dU", "DATE_TRUNC(unit, day)"),
    "DateTrunc": ScalarFunction("date_trunc", ("this", "unit"), "dU", "DATE_TRUNC(unit, day)"),
    "Extract": ScalarFunction("extract", ("expression", "this"), "dU", "EXTRACT(part FROM day)"),
    "TimeToUnix": _unary("epoch", "d", "EPOCH(time)"),
    "TimeToStr": ScalarFunction("strftime", ("this", "format"), "dT", "STRFTIME(time, '%Y-%m')"),
    "Dayname": _unary("strftime:%A", "d", "DAYNAME(day)"),
    "Monthname": _unary("strftime:%B", "d", "MONTHNAME(day)"),
    "DateAdd": _binary("add", "dd", "DATE_ADD(day, INTERVAL 3 MONTH)"),
    "DateBin": ScalarFunction("time_bucket", ("this", "expression"), "Ud", "TIME_BUCKET(INTERVAL 1 WEEK, time)"),
    "LastDay": _unary("last_day", "d", "LAST_DAY(day)"),
    "Year": _unary("extract:year", "d", "YEAR(day)"),
    "Quarter": _unary("extract:quarter", "d", "QUARTER(day)"),
    "Month": _unary("extract:month", "d", "MONTH(day)"),
    "Day": _unary("extract:day", "d", "DAY(day)"),
    "DayOfMonth": _unary("extract:day", "d", "DAYOFMONTH(day)"),
    "DayOfWeek": _unary("extract:dow", "d", "DAYOFWEEK(day)"),
    "DayOfWeekIso": _unary("extract:isodow", "d", "ISODOW(day)"),
    "DayOfYear": _unary("extract:doy", "d", "DAYOFYEAR(day)"),
    "WeekOfYear": _unary("extract:week", "d", "WEEKOFYEAR(day)"),
    "Week": _unary("extract:week", "d", "WEEK(day)"),
    "Hour": _unary("extract:hour", "d", "HOUR(time)"),
    "Minute": _unary("extract:minute", "d", "MINUTE(time)"),
    "Second": _unary("extract:second", "d", "SECOND(time)"),
    "DateDiff": ScalarFunction("date_diff", ("expression", "this", "unit"), "ddU", "DATE_DIFF(unit, from, to)"),
    "If": ScalarFunction("if", ("this", "true", "false"), "b**", "IF(condition, x, y)", optional=1),
    "date_part": ScalarFunction("date_part", ("expressions",), "Td", "DATE_PART(part, day)"),
}

NOW = frozenset(("now", "get_current_timestamp"))  # besides CURRENT_TIMESTAMP: the day of the question, not a time
TIME_UNITS = ("day", "week", "month", "quarter", "year")
DIFFERENCES = (*TIME_UNITS, "hour", "minute", "second", "millisecond", "microsecond")
TRUNCATIONS = (*TIME_UNITS, "hour", "minute", "second")
TIME_PARTS = ("year", "quarter", "month", "day", "dow", "isodow", "doy", "week", "hour", "minute", "second")
SAME_PART = {"dayofweek": "dow", "dayofmonth": "day", "dayofyear": "doy", "weekofyear": "week", "weekday": "dow"}


def find_function(node: exp.Expr) -> ScalarFunction | None:
    """The function that a node calls, if it calls one."""
    return FUNCTIONS.get(str(node.this).lower() if isinstance(node, exp.Anonymous) else type(node).__name__)


AGGREGATES: dict[type[exp.Expr], str] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
    exp.LogicalOr: "max",  # BOOL_OR and BOOL_AND, of conditions
    exp.LogicalAnd: "min",
    exp.Variance: "var_samp",
    exp.VariancePop: "var_pop",
    exp.Stddev: "stddev_samp",
    exp.StddevSamp: "stddev_samp",
    exp.StddevPop: "stddev_pop",
    exp.Median: "quantile",
    exp.Quantile: "quantile",
    exp.PercentileCont: "quantile",
    exp.PercentileDisc: "quantile",
    exp.ApproxQuantile: "quantile",
    exp.Corr: "corr",
    exp.CovarPop: "covar_pop",
    exp.CovarSamp: "covar_samp",
    exp.RegrSlope: "regr_slope",
    exp.RegrIntercept: "regr_intercept",
    exp.RegrR2: "regr_r2",
    exp.RegrCount: "regr_count",
    exp.RegrAvgx: "regr_avgx",
    exp.RegrAvgy: "regr_avgy",
}
PAIRED = frozenset(
    (
        *("corr", "covar_pop", "covar_samp", "regr_slope", "regr_intercept", "regr_r2"),
        *("regr_count", "regr_avgx", "regr_avgy"),
    )
)
