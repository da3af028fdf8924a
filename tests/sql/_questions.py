"""Random questions of every accepted kind, on the tables of ``_databases``."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from hypothesis import strategies as st


@dataclass(frozen=True, slots=True)
class Source:
    """A FROM clause, and what can be said about one of its rows."""

    text: str
    person: str
    numbers: tuple[str, ...]
    keys: tuple[str, ...]
    conditions: tuple[str, ...]
    above: str = ""  # WITH


_COST = (
    "v.cost",
    "v.k",
    "v.cost * 2",
    "v.k + v.cost",
    "-v.cost",
    "ABS(v.cost)",
    "ROUND(v.cost)",
    "FLOOR(v.cost)",
    "v.k % 3",
    "v.k * v.k",
    "CLIP(v.cost / v.k, -1, 3)",
    "CLIP(POWER(v.cost, 3), 0, 50)",
    "CLIP(EXP(v.cost), 0, 5)",
    "CLIP(LENGTH(v.txt), 0, 3)",
    "CLIP(CAST(v.txt AS INTEGER), 0, 7)",
    "CASE WHEN v.k > 1 THEN v.cost ELSE v.k END",
    "COALESCE(v.cost, v.k)",
    "GREATEST(v.cost, v.k)",
    "NULLIF(v.k, 2)",
    "MONTH(v.day)",
    "DATE_DIFF('day', v.day, DATE '2020-07-01')",
    "DATE_DIFF('hour', v.day, DATE '2020-07-01')",
    "CLIP(EPOCH(v.day + INTERVAL 1 MONTH) / 1000000, 0, 9)",
    "CAST(v.cost AS INTEGER)",
    "SIGN(v.cost)",
    "SQRT(CLIP(v.cost, 0, 9))",
)
_KEYS = (
    "v.ward",
    "v.k",
    "v.k % 2",
    "FLOOR(v.cost)",
    "CASE WHEN v.cost > 2 THEN 'high' ELSE 'low' END",
    "MONTH(v.day)",
    "DATE_TRUNC('month', v.day)",
    "STRFTIME(v.day, '%Y-%m')",
    "DAYNAME(v.day)",
    "v.day + 3",
    "UPPER(v.ward)",
    "v.txt",
    "v.day",
    "v.cost",
    "LENGTH(v.txt)",
    "v.k = 2",
    "v.k + v.k",
    "CAST(v.cost AS INTEGER)",
)
_WHERE = (
    "v.cost > 1",
    "v.k = 2",
    "v.k IS NULL",
    "v.txt LIKE 'a%'",
    "REGEXP_MATCHES(v.txt, '^[a-c]+$')",
    "v.day >= DATE '2020-02-01'",
    "v.cost / v.k > 1",
    "v.day + INTERVAL 1 MONTH > DATE '2020-03-01'",
    "v.cost >= (SELECT AVG(z.cost) FROM visits z WHERE z.pid = v.pid)",
    "v.k = (SELECT COUNT(*) FROM visits z WHERE z.pid = v.pid AND z.k > 1)",
    "LN(v.cost) > 0",
    "CAST(v.txt AS INTEGER) = 1",
    "v.ward IN ('n', 's')",
    "NOT (v.ward = 'n' OR v.cost < 0)",
    "v.k BETWEEN 0 AND 3",
    "EXISTS (SELECT 1 FROM items z WHERE z.vid = v.vid AND z.price > 1)",
    "NOT EXISTS (SELECT 1 FROM people z WHERE z.pid = v.pid AND z.age > 3)",
    "EXISTS (SELECT 1 FROM visits z WHERE z.pid = v.pid AND z.k > v.k)",
    "v.pid IN (SELECT z.pid FROM people z WHERE z.sex = 'f')",
    "v.pid NOT IN (SELECT z.pid FROM people z WHERE z.sex = 'f')",
    "v.ward IN (SELECT w.ward FROM wards w WHERE w.beds > 3)",
)
_PEOPLE = Source(
    "people q", "q.pid", ("q.age", "q.age + 1", "q.age / 2"), ("q.sex", "q.region", "q.age % 3"), ("q.age > 1",)
)
_ITEMS = Source("items i", "", ("i.price", "i.price * 2", "i.price + 0"), ("i.kind", "i.price"), ("i.price > 0",))


def _with(text: str, *, numbers: tuple[str, ...] = (), keys: tuple[str, ...] = (), person: str = "v.pid") -> Source:
    return Source(text, person, _COST + numbers, _KEYS + keys, _WHERE)


def _inner(body: str, numbers: tuple[str, ...], keys: tuple[str, ...], conditions: tuple[str, ...] = ()) -> Source:
    return Source(f"({body}) s", "s.pid", numbers, keys, conditions)


_JOINS = (
    _with("visits v"),
    _with("visits v JOIN people q ON v.pid = q.pid", numbers=("q.age", "q.age + v.k"), keys=("q.sex", "q.region")),
    _with("visits v LEFT JOIN people q ON v.pid = q.pid", numbers=("q.age",), keys=("q.sex",)),
    _with("people q JOIN visits v ON v.pid = q.pid", numbers=("q.age",), keys=("q.sex", "q.region")),
    _with("people q LEFT JOIN visits v ON v.pid = q.pid AND v.k > 0", numbers=("q.age",), keys=("q.sex",)),
    _with("visits v JOIN items i ON i.vid = v.vid", numbers=("i.price",), keys=("i.kind", "i.price")),
    _with("items i JOIN visits v ON i.vid = v.vid", numbers=("i.price",), keys=("i.kind",)),
    _with("visits v LEFT JOIN items i ON i.vid = v.vid", numbers=("i.price",), keys=("i.kind",)),
    _with("visits v JOIN visits x ON v.vid = x.vid", numbers=("x.cost",), keys=("x.ward",)),
    Source("items i JOIN items j ON j.vid = i.vid", "", ("i.price", "j.price"), ("i.kind", "j.kind"), ("j.price > 0",)),
    _with("visits v JOIN wards w ON v.ward = w.ward", keys=("w.grp", "w.beds")),
    _with("wards w JOIN visits v ON v.ward = w.ward", keys=("w.grp",)),
    _with("visits v LEFT JOIN wards w USING (ward)", keys=("w.grp",)),
    _with("visits v JOIN visits x ON v.pid = x.pid", numbers=("x.cost", "x.k - v.k"), keys=("x.ward",)),
    _with(
        "people q JOIN visits v ON v.pid = q.pid LEFT JOIN items i ON i.vid = v.vid JOIN wards w ON w.ward = v.ward",
        numbers=("i.price", "q.age"),
        keys=("w.grp", "i.kind"),
    ),
    _with("(SELECT * FROM visits WHERE k > 0) v"),
    _with("(SELECT DISTINCT pid, vid, ward, cost, k, day, txt FROM visits) v"),
)
_PER_PERSON = (
    _inner(
        "SELECT pid, COUNT(*) AS n, SUM(cost) AS c, AVG(k) AS a, MAX(k) AS m FROM visits GROUP BY pid",
        ("s.n", "s.c", "s.a", "s.m", "s.n * 2"),
        ("s.n", "s.m", "CASE WHEN s.c > 3 THEN 1 ELSE 0 END", "s.c"),
        ("s.n > 1", "s.c > 2"),
    ),
    _inner(
        "SELECT pid, ward, COUNT(DISTINCT k) AS n, SUM(k) AS c FROM visits GROUP BY pid, ward HAVING COUNT(*) > 1",
        ("s.n", "s.c"),
        ("s.ward", "s.n", "s.c"),
        ("s.n = 1",),
    ),
    _inner(
        "SELECT v.pid, SUM(i.price) AS c, COUNT(i.price) FILTER (WHERE i.kind = 'x') AS n FROM visits v "
        "LEFT JOIN items i ON i.vid = v.vid GROUP BY v.pid",
        ("s.c", "s.n"),
        ("s.n", "s.c"),
    ),
    _inner(
        "SELECT pid, ward, cost + 0 AS c, price + 0 AS d, k + 1 AS n FROM visits JOIN items ON items.vid = visits.vid",
        ("s.c", "s.d", "s.n"),
        ("s.ward", "s.d", "s.n"),
    ),
    _inner(
        "SELECT pid, ward, k, ROW_NUMBER() OVER (PARTITION BY pid ORDER BY cost) AS r, LAG(k) OVER (PARTITION BY pid "
        "ORDER BY day) AS l, SUM(k) OVER (PARTITION BY pid, ward) AS t FROM visits",
        ("s.l", "s.k", "CLIP(s.t, 0, 6)", "CLIP(s.r, 0, 3)"),
        ("s.ward", "s.l", "s.k"),
        ("s.r = 1", "s.r <= 2", "s.t > 2"),
    ),
    _inner(
        "SELECT pid, ward, k, SUM(k) OVER (PARTITION BY pid ORDER BY cost ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) "
        "AS r, NTILE(3) OVER (PARTITION BY pid ORDER BY cost) AS t FROM visits",
        ("s.t", "s.k", "CLIP(s.r, 0, 6)"),
        ("s.ward", "s.t", "s.k"),
        ("s.r > 2", "s.t = 1"),
    ),
    _inner(
        "SELECT pid, ward, k FROM visits QUALIFY ROW_NUMBER() OVER (PARTITION BY pid ORDER BY day) = 1",
        ("s.k",),
        ("s.ward", "s.k"),
        ("s.k > 1",),
    ),
    _inner(
        "SELECT pid, MIN(day) AS f, MAX(CAST(day AS TIMESTAMP)) AS l FROM visits GROUP BY pid",
        ("CLIP(DATE_DIFF('day', s.f, s.l), 0, 30)", "CLIP(DATE_DIFF('minute', s.f, s.l) / 60, 0, 99)"),
        ("s.f", "DATE_TRUNC('month', s.l)", "STRFTIME(s.l, '%m')"),
        ("s.l > s.f + INTERVAL 20 DAY", "s.l - CAST(s.f AS TIMESTAMP) <= INTERVAL 30 DAY"),
    ),
    _inner(
        "SELECT pid, FIRST_VALUE(price + 0) OVER (PARTITION BY pid ORDER BY k) AS f, MAX(k) OVER (PARTITION BY pid) AS "
        "m FROM visits JOIN items ON items.vid = visits.vid",
        ("s.f", "s.m"),
        ("s.f", "s.m"),
    ),
)
_NAMED = (
    Source(
        "big b",
        "b.pid",
        ("b.total", "b.n"),
        ("b.n",),
        ("b.n > 1",),
        "WITH each AS (SELECT pid, cost, k FROM visits WHERE k IS NOT NULL), "
        "big AS (SELECT pid, SUM(cost) AS total, COUNT(*) AS n FROM each GROUP BY pid) ",
    ),
    Source(
        "visits v JOIN per p ON p.pid = v.pid",
        "v.pid",
        (*_COST, "p.n"),
        (*_KEYS, "p.n"),
        ("p.n > 1", *_WHERE),
        "WITH per AS (SELECT pid, COUNT(*) AS n FROM visits GROUP BY pid HAVING COUNT(*) > 1) ",
    ),
)
_UNMATCHED = (
    Source(
        "people q LEFT JOIN visits z ON z.pid = q.pid AND z.k > 1",
        "q.pid",
        ("q.age", "q.age * 2"),
        ("q.sex", "q.region"),
        ("z.pid IS NULL", "z.pid IS NULL AND q.age > 1"),
    ),
    Source(
        "visits v LEFT JOIN items z ON z.vid = v.vid",
        "v.pid",
        _COST,
        _KEYS,
        ("z.vid IS NULL", "(z.vid IS NULL AND v.k > 0)"),
    ),
)
SOURCES = (*_JOINS, *_UNMATCHED, _PEOPLE, _ITEMS, *_PER_PERSON, *_NAMED)
ROW_SOURCES = (
    Source("visits v", "", _COST, _KEYS, tuple(c for c in _WHERE if "SELECT" not in c)),
    _PEOPLE,
    _ITEMS,
    Source("visits v JOIN wards w ON v.ward = w.ward", "", _COST, (*_KEYS, "w.grp"), ("w.beds > 3",)),
    Source("wards w JOIN visits v ON v.ward = w.ward", "", _COST, (*_KEYS, "w.grp"), ("w.beds > 3",)),
    Source("(SELECT v.* FROM wards w JOIN visits v ON v.ward = w.ward) v", "", _COST, _KEYS, ()),
    Source("(SELECT ward, cost, k, day, txt FROM visits WHERE k > 0) v", "", _COST, _KEYS, ()),
    Source("(SELECT price + 0 AS d, kind FROM items) s", "", ("s.d",), ("s.d", "s.kind"), ("s.d > 1",)),
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, the law of its noise, and bounds on a person's totals."""

    text: str
    gaussian: bool
    totals: dict[str, Fraction] | None = None


@st.composite
def asked(draw: st.DrawFn, *, by_row: bool = False) -> Asked:
    """A question."""
    source = draw(st.sampled_from(ROW_SOURCES if by_row else SOURCES))
    several = st.lists(st.sampled_from(source.keys), max_size=2, unique=True)
    keys = draw(st.one_of(st.just([]), st.just([source.keys[0]]), several))
    totals = not by_row and draw(st.integers(0, 4)) == 0
    told = [draw(_sum(source) if totals else _aggregate(source)) for _ in range(draw(st.integers(1, 3)))]
    told += draw(_apart(source)) if not totals and draw(st.integers(0, 2)) == 0 else []
    wanted = [f"{key} AS key_{i}" for i, key in enumerate(keys)] + [
        f"{part} AS told_{i}" for i, part in enumerate(told)
    ]
    text = f"{source.above}SELECT {', '.join(wanted)} FROM {source.text}"
    conditions = draw(st.lists(st.sampled_from(source.conditions), max_size=2)) if source.conditions else []
    text += f" WHERE {' AND '.join(conditions)}" if conditions else ""
    text += f" GROUP BY {', '.join(str(i + 1) for i in range(len(keys)))}" if keys else ""
    most = Fraction(draw(st.integers(1, 12)))
    return Asked(text, draw(st.integers(0, 3)) > 0, {"told_0": most} if totals else None)


@st.composite
def _apart(draw: st.DrawFn, source: Source) -> list[str]:
    """Aggregates of rows that exclude each other."""
    number, of = draw(st.sampled_from(source.numbers)), draw(st.sampled_from(source.numbers))
    apart = draw(
        st.sampled_from(
            (
                (f"{number} < 2", f"{number} >= 2"),
                (f"{number} = 1", f"{number} IN (2, 3)", f"{number} > 4", f"{number} IS NULL"),
                (f"{number} > 1", f"NOT {number} > 1"),
                (f"{number} BETWEEN 0 AND 1", f"{number} > 1 AND {number} < 3"),
            )
        )
    )
    forms = ("COUNT(*) FILTER (WHERE {})", f"SUM({of}) FILTER (WHERE {{}})", f"AVG({of}) FILTER (WHERE {{}})")
    forms += (f"COUNT(DISTINCT {of}) FILTER (WHERE {{}})", f"SUM(CASE WHEN {{}} THEN {of} ELSE 0 END)")
    return [draw(st.sampled_from(forms)).format(condition) for condition in apart]


@st.composite
def _sum(draw: st.DrawFn, source: Source) -> str:
    number = draw(st.sampled_from(source.numbers))
    return draw(st.sampled_from(["COUNT(*)", f"COUNT({number})", f"SUM({number})"]))


@st.composite
def _aggregate(draw: st.DrawFn, source: Source) -> str:
    number, key = draw(st.sampled_from(source.numbers)), draw(st.sampled_from(source.keys))
    kinds = [
        "COUNT(*)",
        f"COUNT({key})",
        f"COUNT(DISTINCT {key})",
        f"SUM({number})",
        f"AVG({number})",
        f"VAR_POP({number})",
        f"{draw(st.sampled_from(('CORR', 'COVAR_POP', 'REGR_SLOPE', 'REGR_AVGX', 'REGR_COUNT')))}({number}, {number})",
        f"COUNT(DISTINCT ({key}, {number}))",
        f"STDDEV({number})",
        f"MEDIAN({number})",
        f"QUANTILE_CONT({number}, 0.9)",
        f"MAX({number})",
        f"SUM(CASE WHEN {number} > 1 THEN {number} ELSE 0 END)",
        f"SUM(CASE WHEN {number} > 1 THEN 1 ELSE 0 END)",
        f"COUNT(CASE WHEN {number} > 1 THEN NULL ELSE {key} END)",
        *([f"COUNT(DISTINCT {source.person})"] * 2 if source.person else []),
        *([f"COUNT(DISTINCT CASE WHEN {number} > 1 THEN {source.person} END)"] if source.person else []),
    ]
    told = draw(st.sampled_from(kinds))
    if source.conditions and draw(st.integers(0, 3)) == 0:
        told += f" FILTER (WHERE {draw(st.sampled_from(source.conditions))})"
    return told
