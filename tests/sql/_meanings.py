"""Random SQL for comparing our meaning with DuckDB's: tables on their declared grids, and expressions of every kind."""

from __future__ import annotations

from fractions import Fraction
from random import Random

from hubbub import Budget
from hubbub.schema.tables import Column, Dataset, Kind, PersonLink, Table

MADE = """
CREATE TABLE people AS SELECT i AS pid, 18 + i % 50 AS age, CASE i % 3 WHEN 0 THEN 'f' WHEN 1 THEN 'm' END AS sex
FROM range(0, 40) r(i);
CREATE TABLE wards AS SELECT * FROM (VALUES ('n', 3, 'old'), ('s', 5, 'new'), (NULL, 7, 'new')) t(ward, beds, grp);
CREATE TABLE visits AS SELECT
  i // 4 AS pid, i AS vid, ['n', 's', 'e', NULL][1 + a % 4] AS ward,
  CASE WHEN b % 9 > 0 THEN (b % 41 - 20) * 0.5::DOUBLE END AS cost,
  CASE WHEN c % 8 > 0 THEN CAST(c % 25 AS BIGINT) - 12 END AS k, CAST(a % 80 AS BIGINT) AS x,
  CAST(b % 12 AS DOUBLE) / 10 AS price, DATE '2020-02-26' + CAST(a % 200 AS INTEGER) AS day,
  CASE WHEN b % 7 > 0 THEN TIMESTAMP '2020-02-28 22:00:00' + INTERVAL (c % 400) HOUR END AS ts,
  ['Ab', ' b ', NULL, '12', 'a_b', 'x%', '2.5', ''][1 + b % 8] AS txt, CASE WHEN a % 5 > 0 THEN b % 3 = 0 END AS ok
FROM (SELECT i, CAST(hash(i) % 100003 AS BIGINT) AS a, CAST(hash(-i) % 100019 AS BIGINT) AS b,
  CAST(hash(i + 1000) % 100043 AS BIGINT) AS c FROM range(0, 160) r(i));
CREATE TABLE items AS SELECT CASE WHEN i % 11 > 0 THEN i // 2 END AS vid, i % 7 AS n, ['x', 'y'][1 + i % 2] AS kind
FROM range(0, 300) r(i);
CREATE MACRO clip(v, low, high) AS CASE WHEN v IS NOT NULL THEN least(greatest(v, low), high) END;
CREATE MACRO width_bucket(v, low, high, n) AS CASE WHEN v < low THEN 0 WHEN v >= high THEN n + 1
  WHEN v IS NOT NULL THEN CAST(floor((v - low) / ((high - low) / n)) AS BIGINT) + 1 END
"""
_CAP = 1_000  # binds nobody


def _column(name: str, kind: Kind, low: int | None = None, high: int | None = None, **more: object) -> Column:
    ends = {"lower": None if low is None else Fraction(low), "upper": None if high is None else Fraction(high)}
    return Column(name=name, kind=kind, **ends, **more)  # type: ignore[arg-type]


_DAY = 86_400_000_000
VISITS = (
    _column("pid", Kind.INTEGER),
    _column("vid", Kind.INTEGER),
    _column("ward", Kind.TEXT, values=("n", "s", "e")),
    _column("cost", Kind.NUMBER, -10, 10, step=Fraction(1, 2)),
    _column("k", Kind.INTEGER, -12, 12),
    _column("x", Kind.INTEGER, 0, 79),
    Column(name="price", kind=Kind.NUMBER, lower=Fraction(0), upper=Fraction(11, 10), step=Fraction(1, 10),
           values=tuple(i / 10 for i in range(12))),
    _column("day", Kind.DATE, 18318, 18517),
    _column("ts", Kind.TIMESTAMP, 18320 * _DAY, 18337 * _DAY),
    _column("txt", Kind.TEXT, values=("Ab", " b ", "12", "a_b", "x%", "2.5", "")),
    _column("ok", Kind.BOOLEAN),
)  # fmt: skip
DATASET = Dataset(
    name="d",
    population="d",
    unit="people.pid",
    budget=Budget(1, 1e-6),
    tables=(
        Table(
            name="people",
            columns=(
                _column("pid", Kind.INTEGER),
                _column("age", Kind.INTEGER, 18, 67),
                _column("sex", Kind.TEXT, values=("f", "m")),
            ),
            link=PersonLink("pid"),
            key="pid",
            max_rows_per_unit=1,
        ),
        Table(
            name="visits", columns=VISITS, link=PersonLink("pid", "people", "pid"), key="vid", max_rows_per_unit=_CAP
        ),
        Table(
            name="items",
            columns=(
                _column("vid", Kind.INTEGER),
                _column("n", Kind.INTEGER, 0, 6),
                _column("kind", Kind.TEXT, values=("x", "y")),
            ),
            link=PersonLink("vid", "visits", "vid"),
            max_rows_per_unit=_CAP,
        ),
        Table(
            name="wards",
            columns=(
                _column("ward", Kind.TEXT, values=("n", "s")),
                _column("beds", Kind.INTEGER, 0, 9),
                _column("grp", Kind.TEXT, values=("old", "new")),
            ),
            key="ward",
            public=True,
        ),
    ),
)


class Writer:
    """Writes expressions over a row of visits ``v``, by kind."""

    def __init__(self, random: Random, *, deep: int = 3) -> None:
        self.random, self.deep = random, deep

    def pick(self, *options: str) -> str:
        return self.random.choice(options)

    def number(self, left: int | None = None) -> str:
        """A number of any type."""
        left = self.deep if left is None else left
        if left <= 0:
            return self.pick("v.cost", "v.k", "v.x", "v.price", "v.k", self.literal())
        one, two = self.number(left - 1), self.number(left - 1)
        return self.pick(
            f"({one} + {two})",
            f"({one} - {two})",
            f"({one} * {two})",
            f"({one} / {two})",
            f"({one} % {two})",
            f"({self.whole(left - 1)} // {self.whole(left - 1)})",
            f"(-{one})",
            f"ABS({one})",
            f"SIGN({one})",
            f"FLOOR({one})",
            f"CEIL({one})",
            f"TRUNC({one})",
            f"ROUND({one})",
            f"ROUND({one}, {self.pick('1', '2', '0', '-1')})",
            f"GREATEST({one}, {two})",
            f"LEAST({one}, {two})",
            f"COALESCE({one}, {two})",
            f"NULLIF({one}, {two})",
            f"CASE WHEN {self.condition(left - 1)} THEN {one} ELSE {two} END",
            f"CASE WHEN {self.condition(left - 1)} THEN {one} END",
            f"CASE {one} WHEN {two} THEN {self.literal()} WHEN {self.literal()} THEN {two} ELSE {one} END",
            f"CAST({one} AS {self.pick('INTEGER', 'BIGINT', 'DOUBLE', 'DECIMAL(10,0)', 'DECIMAL(12,2)', 'DECIMAL')})",
            f"TRY_CAST({self.text(left - 1)} AS {self.pick('INTEGER', 'DOUBLE', 'DECIMAL(6,1)', 'TINYINT')})",
            f"TRY_CAST({one} AS {self.pick('TINYINT', 'SMALLINT', 'DECIMAL(3,1)')})",
            f"CAST({self.condition(left - 1)} AS INTEGER)",
            self.whole(left),
            f"EXTRACT(EPOCH FROM v.ts - {self.moment()})",
            f"EPOCH({self.pick('v.ts', 'v.day')})",
        )

    def moment(self) -> str:
        """A timestamp."""
        return self.pick("TIMESTAMP '2020-03-05 12:30:00'", "CAST(v.day AS TIMESTAMP)", f"(v.ts + {self.interval()})")

    def interval(self) -> str:
        """Of days, or of a length that depends on the month."""
        return "INTERVAL " + self.pick(
            "3 DAY", "'36 hours'", "90 MINUTE", "1 MONTH", "'2 quarters'", "1 YEAR", "7 SECOND"
        )

    def whole(self, left: int) -> str:
        """A whole number by its type."""
        if left <= 0:
            return self.pick("v.k", "v.x", "3", "-2", "7")
        return self.pick(
            f"({self.whole(left - 1)} + {self.whole(left - 1)})",
            f"({self.whole(left - 1)} * 2)",
            f"LENGTH({self.text(left - 1)})",
            f"EXTRACT({self.pick('year', 'month', 'day', 'dow', 'isodow', 'doy', 'week', 'quarter')} FROM v.day)",
            f"EXTRACT({self.pick('hour', 'minute', 'day', 'dow')} FROM v.ts)",
            f"DATE_DIFF('{self.pick('day', 'week', 'month', 'quarter', 'year')}', v.day, DATE '2020-05-31')",
            "(v.day - DATE '2020-03-01')",
            f"DATE_DIFF('{self.pick('hour', 'minute', 'second', 'millisecond')}', v.ts, {self.moment()})",
            f"DATE_DIFF('{self.pick('hour', 'minute')}', v.day, v.ts)",
            f"EXTRACT(DAY FROM v.ts - {self.moment()})",
            f"(CAST(v.ts AS DATE) - {self.pick('v.day', 'CAST(v.ts AS DATE)')})",
            f"{self.pick('YEAR', 'MONTH', 'DAY', 'WEEK', 'DAYOFYEAR', 'DAYOFWEEK')}(v.day)",
        )

    def literal(self) -> str:
        return self.pick("0", "1", "-3", "10", "0.1", "0.5", "2.25", "1.005", "-0.3", "1e1", "2.5e-1", "NULL")

    def text(self, left: int) -> str:
        if left <= 0:
            return self.pick("v.txt", "v.ward", "'a'", "'B'", "'12'", "v.txt")
        one = self.text(left - 1)
        return self.pick(
            f"UPPER({one})",
            f"LOWER({one})",
            f"TRIM({one})",
            f"SUBSTRING({one}, {self.pick('1', '2', '0', '-2')}, {self.pick('1', '0', '3')})",
            f"LEFT({one}, {self.pick('1', '-1', '2')})",
            f"RIGHT({one}, {self.pick('1', '-1', '2')})",
            f"CONCAT({one}, {self.text(left - 1)})",
            f"({one} || {self.text(left - 1)})",
            f"REPLACE({one}, 'b', 'cc')",
            f"COALESCE({one}, 'none')",
            f"NULLIF({one}, 'Ab')",
            f"REGEXP_EXTRACT({one}, '{self.pick(*REGULAR)}')",
            f"REGEXP_EXTRACT({one}, '([a-z])(.|b)?', {self.pick('0', '1', '2')})",
            f"CASE WHEN {self.condition(left - 1)} THEN {one} ELSE 'x' END",
            f"CAST({self.whole(left - 1)} AS VARCHAR)",
            f"CAST({self.pick('v.day', 'v.ok', 'v.ts', 'v.k')} AS VARCHAR)",
            f"STRFTIME({self.date(left - 1)}, '{self.pick('%Y-%m', '%d.%m.%y', '%H:%M:%S', '%a %b', '%j')}')",
            f"{self.pick('DAYNAME', 'MONTHNAME')}({self.pick('v.day', 'v.ts')})",
        )

    def date(self, left: int) -> str:
        if left <= 0:
            return self.pick("v.day", "DATE '2020-03-31'", "'2020-04-01'", "v.ts", "TIMESTAMP '2020-03-05 12:30:00'")
        return self.pick(
            f"DATE_TRUNC('{self.pick('month', 'week', 'year', 'quarter', 'day')}', {self.pick('v.day', 'v.ts')})",
            f"CAST({self.pick('v.ts', 'v.day')} AS {self.pick('DATE', 'TIMESTAMP')})",
            f"(DATE '2020-01-31' + INTERVAL {self.pick('1 MONTH', '40 DAY', '2 WEEK')})",
            f"COALESCE({self.date(left - 1)}, DATE '2020-03-03')",
            "DATE_TRUNC('hour', v.ts)",
            f"({self.pick('v.day', 'v.ts')} {self.pick('+', '-')} {self.interval()})",
            f"(v.day {self.pick('+', '-')} {self.pick('1', '45')})",
            f"LAST_DAY({self.pick('v.day', 'v.ts')})",
            f"TIME_BUCKET(INTERVAL 1 {self.pick('DAY', 'WEEK', 'MONTH', 'HOUR')}, v.ts)",
        )

    def condition(self, left: int | None = None) -> str:
        """A condition."""
        left = self.deep if left is None else left
        sign = self.pick("=", "<>", "<", "<=", ">", ">=")
        if left <= 0:
            return self.pick("v.ok", f"v.k {sign} {self.literal()}", f"v.price {sign} 0.3", "v.cost IS NULL", "TRUE")
        one = self.condition(left - 1)
        return self.pick(
            f"({one} AND {self.condition(left - 1)})",
            f"({one} OR {self.condition(left - 1)})",
            f"(NOT {one})",
            f"({self.number(left - 1)} {sign} {self.number(left - 1)})",
            f"({self.text(left - 1)} {sign} {self.text(left - 1)})",
            f"({self.date(left - 1)} {sign} {self.date(left - 1)})",
            f"({self.number(left - 1)} BETWEEN {self.literal()} AND {self.number(left - 1)})",
            f"({self.number(left - 1)} {self.pick('IN', 'NOT IN')} ({self.literal()}, 0.1, {self.literal()}))",
            f"({self.text(left - 1)} {self.pick('IN', 'NOT IN')} ('Ab', {self.pick(repr('s'), 'NULL')}, 'n'))",
            f"({self.number(left - 1)} IS {self.pick('', 'NOT ')}NULL)",
            f"({one} IS {self.pick('TRUE', 'FALSE', 'NOT TRUE', 'NULL')})",
            f"({self.number(left - 1)} IS NOT DISTINCT FROM {self.number(left - 1)})",
            f"({self.text(left - 1)} {self.pick('LIKE', 'NOT LIKE', 'ILIKE')} {self.pattern()})",
            f"{self.pick('REGEXP_MATCHES', 'REGEXP_FULL_MATCH')}({self.text(left - 1)}, '{self.pick(*REGULAR)}')",
            f"({self.text(left - 1)} SIMILAR TO '{self.pick(*REGULAR)}')",
            f"{self.pick('STARTS_WITH', 'CONTAINS')}({self.text(left - 1)}, {self.pick(repr('a'), repr('b'))})",
            f"CASE WHEN {one} THEN {self.condition(left - 1)} ELSE {self.condition(left - 1)} END",
            f"(v.ts - {self.moment()} {sign} INTERVAL {self.pick('5 DAY', '36 HOUR', '10 MINUTE')})",
            self.subquery(),
            self.subquery(),
        )

    def pattern(self) -> str:
        return "'" + self.pick("a%", "_b%", "A_", "x%", "%b", "a\\_b", "", "%") + "'"

    def subquery(self) -> str:
        """EXISTS and IN over public rows and over the same person's."""
        negated = self.pick("", "NOT ")
        return self.pick(
            f"{negated}EXISTS (SELECT 1 FROM wards w WHERE w.ward = v.ward AND w.beds > {self.pick('3', '4')})",
            f"(v.ward {negated}IN (SELECT w.ward FROM wards w WHERE w.beds {self.pick('> 4', '< 6', '> 9')}))",
            f"{negated}EXISTS (SELECT 1 FROM visits z WHERE z.pid = v.pid AND z.k > v.k)",
            f"(v.k {negated}IN (SELECT z.k + 1 FROM visits z WHERE z.pid = v.pid AND z.vid <> v.vid))",
            f"(v.pid {negated}IN (SELECT p.pid FROM people p WHERE p.age > {self.pick('30', '50')}))",
            f"(v.k {self.pick('>', '=', '<=')} (SELECT {self.pick('MAX(z.k)', 'MIN(z.k)', 'COUNT(z.k)')} FROM visits z "
            f"WHERE z.pid = v.pid{self.pick('', ' AND z.x > 10')}))",
            f"{negated}EXISTS (SELECT i.n FROM items i WHERE i.vid = v.vid AND i.n = {self.pick('2', '9')})",
        )


REGULAR = ("a", "^a", "b$", "[a-c]+.", "(a|bc){1,2}", "[^a]", "^.?b*$", "\\\\d+|A", "\\\\w\\\\s", "x|", "(?:a)+?")

_FROM = (
    "visits v",
    "visits v",
    "visits v JOIN people p ON p.pid = v.pid",
    "people p LEFT JOIN visits v ON v.pid = p.pid AND v.k > 0",
    "visits v LEFT JOIN wards w ON w.ward = v.ward",
    "visits v JOIN items i ON i.vid = v.vid",
    "(SELECT * FROM visits WHERE k > -5) v",
    "(SELECT * FROM visits WHERE x > 3 QUALIFY RANK() OVER (PARTITION BY pid ORDER BY {k} {nulls}) <= 2) v",
    "(SELECT pid, vid, ward, cost, k, x, price, day, ts, txt, ok, ROW_NUMBER() OVER (PARTITION BY pid ORDER BY "
    "{k} {nulls}, vid) AS r, RANK() OVER (PARTITION BY pid ORDER BY {k} {nulls}) AS s, LAG(k) OVER (PARTITION BY pid "
    "ORDER BY {k} {nulls}, vid) AS l, SUM(x) OVER (PARTITION BY pid ORDER BY {k} {nulls}) AS t FROM visits) v",
)
_PER_PERSON = (
    "(SELECT pid, COUNT(*) AS n, SUM(k) AS c, MIN(cost) AS low, AVG(x) AS a, COUNT(DISTINCT ward) AS w, "
    "COUNT(k) FILTER (WHERE ok) AS f, SUM(price) AS e, MIN(ts) AS u, "
    "MAX(ts) FILTER (WHERE ok) AS t FROM visits GROUP BY pid {having}) s"
)


def question(random: Random) -> str:
    """A question whose answer can be compared with the engine's own."""
    writer = Writer(random, deep=random.choice((1, 2, 2, 3)))
    if random.random() < 0.15:
        return _per_person(random, writer)
    source = random.choice(_FROM)
    nulls = writer.pick("NULLS FIRST", "NULLS LAST", "", "DESC", "DESC NULLS FIRST")
    text = source.format(k=writer.pick("k", "cost", "ts"), nulls=nulls)
    above = ""
    if random.random() < 0.15 and text == "visits v":
        above, text = "WITH c AS (SELECT * FROM visits WHERE x > 3) ", "c v"
    keys = [random.choice(_KEYS).format(c=writer.condition(1)) for _ in range(random.choice((0, 0, 1, 1, 2)))]
    parts = [f"{key} AS key_{i}" for i, key in enumerate(keys)]
    parts += [f"{_aggregate(random, writer)} AS told_{i}" for i in range(random.choice((1, 2, 3)))]
    asked = f"{above}SELECT {', '.join(parts)} FROM {text}"
    asked += f" WHERE {writer.condition()}" if random.random() < 0.6 else ""
    return asked + (f" GROUP BY {', '.join(str(i + 1) for i in range(len(keys)))}" if keys else "")


_KEYS = (
    "v.ward",
    "v.price",
    "FLOOR(v.x / 10) * 10",
    "v.k % 10",
    "v.x % 10",
    "v.k // 5",
    "v.x // 10",
    "v.k * v.k",
    "v.k + 0",
    "v.k * 3 - 1",
    "ABS(v.k)",
    "SIGN(v.k)",
    "ROUND(v.x, -1)",
    "ROUND(v.cost)",
    "TRUNC(v.cost)",
    "CEIL(v.cost / 3)",
    "CAST(v.cost AS INTEGER)",
    "CAST(v.k + 1 AS VARCHAR)",
    "CAST(v.x * 0.5 AS INTEGER)",
    "CAST(v.cost AS DECIMAL(10,0))",
    "MONTH(v.day)",
    "EXTRACT(week FROM v.day)",
    "DATE_TRUNC('month', v.day)",
    "STRFTIME(v.day, '%Y-%m')",
    "DAYNAME(v.ts)",
    "TIME_BUCKET(INTERVAL 1 MONTH, v.day)",
    "CAST(v.ts AS DATE)",
    "UPPER(v.txt)",
    "TRIM(v.txt)",
    "CASE WHEN {c} THEN 'yes' WHEN v.k > 3 THEN 'maybe' END",
    "CASE WHEN {c} THEN 10 ELSE 25 END",
    "COALESCE(v.ward, 'none')",
    "{c}",
    "NULLIF(v.k + 0, 3)",
    "GREATEST(v.k, 0)",
)


_TOLD_APART = ("v.pid", "v.txt", "v.ward", "v.cost", "v.day", "v.ts", "v.ok")


def _aggregate(random: Random, writer: Writer) -> str:
    told = random.choice(
        (
            "COUNT(*)",
            f"COUNT({writer.number(1)})",
            f"COUNT({writer.text(1)})",
            f"COUNT(DISTINCT ({writer.whole(1)}, {random.choice(_TOLD_APART)}))",
            f"COUNT(DISTINCT {random.choice(('v.k', 'v.pid', 'v.txt', 'v.price', writer.whole(1)))})",
            f"SUM({random.choice(_SUMMED)})",
            f"SUM(CASE WHEN {writer.condition(1)} THEN {random.choice(_SUMMED)} ELSE 0 END)",
            f"AVG({random.choice(_SUMMED)})",
            f"COUNT(*) * 2 - COUNT({random.choice(_SUMMED)})",
            f"ROUND(SUM({random.choice(_SUMMED)}) / 7, 2)",
        )
    )
    filtered = told.count("(") == told.count(")") and told.endswith(")") and not told.startswith("ROUND")
    return f"{told} FILTER (WHERE {writer.condition(1)})" if filtered and random.random() < 0.4 else told


_SUMMED = (
    "v.k",
    "v.x",
    "v.cost",
    "v.price",
    "v.k + v.x",
    "v.k * 10",
    "-v.cost",
    "v.cost * 2",
    "v.price * 10",
    "v.k * 0.5",
    "v.k % 5",
    "v.k // 3",
    "ABS(v.k)",
    "ROUND(v.cost)",
    "FLOOR(v.x / 10) * 10",
    "CAST(v.cost AS INTEGER)",
    "CAST(v.x * 0.5 AS INTEGER)",
    "CAST(v.price AS DECIMAL(4,1))",
    "COALESCE(v.k, 3)",
    "GREATEST(v.k, v.cost)",
    "LEAST(v.k, 2.5)",
    "NULLIF(v.k, 3)",
    "CAST(v.ok AS INTEGER)",
    "MONTH(v.day)",
    "DATE_DIFF('week', v.day, DATE '2020-05-31')",
    "CLIP(v.k * v.x, -50, 50)",
)


def _per_person(random: Random, writer: Writer) -> str:
    having = random.choice(("", "HAVING COUNT(*) > 3", "HAVING n > 2 AND SUM(k) < 9", "HAVING MIN(cost) < -3"))
    source = _PER_PERSON.format(having=having)
    sign = writer.pick("=", "<", ">=", "<>")
    where = random.choice(
        (
            f"s.n {sign} 4",
            f"s.c {sign} 3",
            f"s.low {sign} -2.5",
            f"s.a {sign} 30.5",
            f"s.e {sign} 2.2",
            "s.c IS NULL",
            "s.t > s.u + INTERVAL 3 DAY",
        )
    )
    key = random.choice(("s.n", "s.w", "s.f", "s.n % 2", "s.w = 1"))
    told = random.choice(("COUNT(*)", "SUM(s.n)", "SUM(CLIP(s.c, -9, 9))", "COUNT(s.low)", "COUNT(DISTINCT s.pid)"))
    return f"SELECT {key} AS key_0, {told} AS told_0 FROM {source} WHERE {where} GROUP BY 1"


# ---------------------------------------------------------------- after the noise

NOISY = "SELECT v.ward AS w, v.x // 20 AS g, COUNT(*) AS n, SUM(v.k) AS s, AVG(v.cost) AS a FROM visits v GROUP BY 1, 2"


class After(Writer):
    """Writes what may stand in HAVING, ORDER BY and an outer query: over w, g, n, s and a."""

    def number(self, left: int | None = None) -> str:
        left = self.deep if left is None else left
        if left <= 0:
            return self.pick("n", "s", "a", "g", "n", "3", "0", "-2", "0.5", "7.25")
        one, two = self.number(left - 1), self.number(left - 1)
        return self.pick(
            *(f"({one} {sign} {two})" for sign in ("+", "-", "*")),
            f"({one} / (n + 1))",
            f"(-{one})",
            f"(n % {self.pick('3', '4')})",
            *(f"{name}({one})" for name in ("ABS", "FLOOR", "CEIL", "TRUNC", "SIGN")),
            f"ROUND({one}, {self.pick('0', '1', '-1')})",
            *(f"{name}({one}, {two})" for name in ("GREATEST", "LEAST", "COALESCE", "NULLIF")),
            f"CASE WHEN {self.condition(left - 1)} THEN {one} ELSE {two} END",
            f"CASE WHEN {self.condition(left - 1)} THEN {one} END",
            f"CAST({one} AS DOUBLE)",
        )

    def condition(self, left: int | None = None) -> str:
        left = self.deep if left is None else left
        sign = self.pick("=", "<>", "<", "<=", ">", ">=")
        if left <= 0:
            return self.pick(f"n {sign} 5", f"s {sign} 0", "a IS NULL", f"w {sign} 'n'", f"g {sign} 2")
        one, two = self.condition(left - 1), self.condition(left - 1)
        return self.pick(
            f"({one} AND {two})",
            f"({one} OR {two})",
            f"(NOT {one})",
            f"({self.number(left - 1)} {sign} {self.number(left - 1)})",
            f"({self.number(left - 1)} BETWEEN {self.number(left - 1)} AND 9)",
            f"({self.number(left - 1)} {self.pick('IN', 'NOT IN')} (1, {self.pick('3', 'NULL')}, 4, 0.5))",
            f"(w {self.pick('IN', 'NOT IN')} ('n', {self.pick('NULL', repr('s'))}))",
            f"({one} IS {self.pick('TRUE', 'NOT TRUE', 'NULL')})",
            f"({self.number(left - 1)} IS NOT DISTINCT FROM {self.number(left - 1)})",
        )


def ending(random: Random) -> tuple[str, str]:
    """A condition on noisy rows, and an order with LIMIT and OFFSET."""
    writer = After(random, deep=random.choice((1, 2)))
    order = []
    for _ in range(random.choice((0, 1, 1, 2))):
        by = writer.pick("n", "s", "a", "w", "g", writer.number(1), writer.number(1), writer.pick("3", "4", "5"))
        order.append(f"{by} {writer.pick('', 'ASC', 'DESC')} {writer.pick('', 'NULLS FIRST', 'NULLS LAST')}")
    limit = random.choice(("", "", "LIMIT 3", "LIMIT 0", "LIMIT 2 OFFSET 1", "OFFSET 2", "LIMIT 100"))
    return writer.condition(), f"ORDER BY {', '.join([*order, 'w', 'g'])} {limit}"
