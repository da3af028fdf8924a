"""Every part of an accepted question is read or refused: none can be set, or taken away, without a difference."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlglot import exp

from hubbub.sql.compiler.compile import read_tree
from hubbub.sql.compiler.question import Question, UnionOfQuestions
from hubbub.sql.compiler.syntax.allow_nodes import ALLOWED
from hubbub.sql.compiler.syntax.functions import FUNCTIONS
from hubbub.sql.compiler.syntax.parse import parse
from hubbub.sql.compiler.syntax.source_text import QueryText
from tests.sql._meanings import DATASET
from tests.sql.passes.datasets import HOSPITAL
from tests.sql.passes.used import USED

ASKED = """
WITH c AS (SELECT * FROM visits) SELECT ward AS w, COUNT(*) AS n FROM c AS v WHERE k > 1 GROUP BY ward HAVING COUNT(*) > 2 ORDER BY n DESC LIMIT 3 OFFSET 1
SELECT ward, SUM(k) AS n FROM visits GROUP BY ROLLUP (ward) UNION ALL SELECT ward, COUNT(k) FROM visits GROUP BY CUBE (ward) ORDER BY n
SELECT ward, COUNT(DISTINCT k) AS n FROM visits GROUP BY GROUPING SETS ((ward), ())
SELECT ward, ok, COUNT(*) AS n, GROUPING(ward) AS g, GROUPING_ID(ward, ok) AS i FROM visits GROUP BY GROUPING SETS ((ward, ok), (ward))
SELECT COUNT_IF(k > 2) AS n FROM visits
SELECT COUNT(*) AS n FROM (SELECT pid, BOOL_OR(k > 2) AS some, BOOL_AND(ok) AS every FROM visits GROUP BY pid) AS q WHERE some AND every
SELECT COUNT(*) FILTER (WHERE k BETWEEN 1 AND 3) AS n, MEDIAN(k) AS m, MIN(k) AS a, MAX(k) AS b, AVG(k) AS c FROM visits
SELECT VAR_SAMP(k) AS a, VAR_POP(k) AS b, STDDEV(k) AS c, STDDEV_POP(k) AS d, STDDEV_SAMP(k) AS e FROM visits
SELECT QUANTILE_CONT(k, 0.3) AS a, QUANTILE_DISC(k, 0.3) AS b, APPROX_QUANTILE(k, 0.3) AS c, QUANTILE(k, 0.2) AS q FROM visits
SELECT PERCENTILE_CONT(0.3) WITHIN GROUP (ORDER BY k DESC) AS a, PERCENTILE_DISC(0.3) WITHIN GROUP (ORDER BY x) AS b FROM visits
SELECT COUNT(*) AS n FROM visits AS v LEFT JOIN people AS p ON p.pid = v.pid JOIN wards USING (ward)
SELECT COUNT(*) AS n FROM visits v WHERE EXISTS (SELECT 1 FROM items i WHERE i.vid = v.vid) AND v.pid IN (SELECT p.pid FROM people p)
SELECT SUM(CASE WHEN ok THEN 1 WHEN k = 2 THEN 3 ELSE k END) AS n, SUM(CASE k WHEN 2 THEN 5 END) AS m FROM visits
SELECT COUNT(*) AS n FROM visits WHERE CAST(cost AS DECIMAL(10, 2)) = 2.5 AND TRY_CAST(txt AS INTEGER) IN (1, 2) AND ok IS TRUE
SELECT COUNT(*) AS n FROM visits WHERE day < DATE '2020-01-31' + INTERVAL 3 MONTH AND k IS NOT NULL AND k > NULL
SELECT COUNT(*) AS n FROM visits WHERE txt NOT LIKE 'a%' AND txt NOT ILIKE 'b%' OR ok
SELECT COUNT(r) AS n FROM (SELECT k, ROW_NUMBER() OVER (PARTITION BY pid ORDER BY day) AS r, LAG(k, 2) OVER (PARTITION BY pid ORDER BY day) AS l, LEAD(k) OVER (PARTITION BY pid ORDER BY day) AS e FROM visits) AS s WHERE l > 1 AND e > 1
SELECT COUNT(*) AS n FROM (SELECT DISTINCT pid, RANK() OVER (PARTITION BY pid ORDER BY k NULLS FIRST) AS r, DENSE_RANK() OVER (PARTITION BY pid ORDER BY k) AS d, FIRST_VALUE(k) OVER (PARTITION BY pid ORDER BY k DESC) AS f FROM visits) AS s WHERE r + d + f > 2
SELECT COUNT(*) AS n FROM visits WHERE COALESCE(k, x, 3) > LEAST(k, x, 2) AND CONCAT(txt, ward) = 'a'
SELECT COUNT(*) AS n FROM visits WHERE NOT (k = 1) AND (x > 2 OR -k > 3)
SELECT COUNT(*) AS n FROM visits WHERE STRFTIME(ts, '%Y') = '2020' AND DAYNAME(day) = 'Monday' AND MONTHNAME(day) = 'May' AND ISODOW(day) = 3
SELECT COUNT(*) AS n FROM visits WHERE EPOCH(ts) > 3 AND TIME_BUCKET(INTERVAL 1 WEEK, day) > DATE '2020-01-01' AND LAST_DAY(day) > day
SELECT COUNT(*) AS n FROM visits WHERE DATE_ADD(day, INTERVAL 3 MONTH) > ts AND LOG(2, k) > 1 AND LOG(k) < 2
SELECT COUNT(*) AS n FROM visits WHERE REGEXP_MATCHES(txt, 'a+') AND txt SIMILAR TO 'b|c' AND REGEXP_FULL_MATCH(txt, 'd') AND REGEXP_EXTRACT(txt, '(e)', 1) = 'e'
SELECT COUNT(DISTINCT (k, ward)) AS n, COUNT(DISTINCT k, x) AS m FROM visits
SELECT CORR(k, x) AS a, COVAR_POP(k, x) AS b, COVAR_SAMP(k, x) AS c, REGR_SLOPE(k, x) AS d, REGR_INTERCEPT(k, x) AS e, REGR_R2(k, x) AS f, REGR_COUNT(k, x) AS g, REGR_AVGX(k, x) AS h, REGR_AVGY(k, x) AS i FROM visits
SELECT ward, APPROX_COUNT_DISTINCT(k) AS n FROM visits GROUP BY ALL ORDER BY ALL DESC
SELECT COUNT(*) AS n FROM (SELECT SUM(k) OVER (PARTITION BY pid ORDER BY day ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING) AS s, NTILE(3) OVER (PARTITION BY pid ORDER BY day) AS t FROM visits) AS q WHERE s > t
SELECT COUNT(*) AS n FROM (SELECT k, ward FROM visits QUALIFY ROW_NUMBER() OVER (PARTITION BY pid ORDER BY day) = 1) AS s
SELECT COUNT(*) AS n FROM visits WHERE day < CURRENT_DATE AND ts < CURRENT_TIMESTAMP AND ts < NOW() - INTERVAL 3 DAY AND ts > LOCALTIMESTAMP
SELECT COUNT(*) AS n FROM visits WHERE DATETRUNC('month', day) > DATE '2020-01-01' AND DATE_PART('month', day) = 3
"""  # noqa: E501

# What makes no difference, under which nodes (all of them, if none is named), and why it does not.
ALIKE: dict[tuple[str, str], tuple[tuple[str, ...], str]] = {
    ("Identifier", "quoted"): ((), "names are compared without case, in quotes or not, as in DuckDB"),
    ("Cast", "_type"): ((), "the parser's copy of the type"),
    ("TryCast", "_type"): ((), "the parser's copy of the type"),
    ("TryCast", "safe"): ((), "the parser's word for TRY_CAST; every cast here gives NULL where it fails"),
    ("DataType", "nested"): ((), "said by the parser of every type; lists and structs are refused by name"),
    ("Count", "big_int"): ((), "the parser's word for DuckDB's COUNT, which is a BIGINT"),
    ("Count", "this"): ((), "COUNT() is COUNT(*)"),
    ("Window", "over"): ((), "the word OVER"),
    ("Column", "table"): ((), "the name is the same column's where one table has it"),
    ("Subquery", "alias"): ((), "nobody names it"),
    ("Table", "alias"): ((), "nobody names it"),
    ("TableAlias", "this"): ((), "nobody names it"),
    ("Literal", "is_string"): (("Interval", "Select"), "INTERVAL '3' MONTH is INTERVAL 3 MONTH; EXISTS reads no value"),
    ("Select", "expressions"): (("Exists",), "EXISTS asks whether there are rows"),
    ("Select", "distinct"): (("Exists", "Subquery"), "whether a value is among others does not depend on how often"),
    ("Select", "order"): (("Exists", "Subquery", "CTE"), "without LIMIT, the order of a subquery has no meaning"),
    ("Select", "with_"): ((), "a query in WITH that nobody names is not run"),
    ("Union", "with_"): ((), "a query in WITH that nobody names is not run"),
    ("Select", "group"): ((), "a GROUP BY of nothing"),
    ("Ordered", "nulls_first"): (("Order",), "in WITHIN GROUP: a percentile is one of values, not of NULLs"),
    **{
        (name, flag): ((), "said by the parser for this dialect, always; NULLs are skipped or passed on as in DuckDB")
        for name in FUNCTIONS
        for flag in ("ignore_nulls", "safe", "coalesce", "date_part_boundary", "null_if_pos_overflow")
    },
}
UNWRITTEN = {"DateTrunc"}  # of other dialects; the parser says TimestampTrunc here


def is_alike(node: exp.Expr, name: str) -> bool:
    parents, why = ALIKE.get((type(node).__name__, name), (("",), ""))
    return bool(why) and (not parents or type(node.parent).__name__ in parents)


def questions() -> Iterator[tuple[str, Any]]:
    for text in ASKED.strip().split("\n"):
        yield text, DATASET
    for condition in USED.values():
        yield f"SELECT COUNT(*) AS n FROM visits v JOIN stays s ON s.visit_id = v.visit_id WHERE {condition}", HOSPITAL


QUESTIONS = list(questions())


def meaning(tree: exp.Expr, dataset: Any) -> Question | UnionOfQuestions | None:
    """What a tree asks; None if it is refused, in whatever way."""
    try:
        return read_tree(tree, QueryText(""), dataset)
    except Exception:
        return None


def nodes(tree: exp.Expr) -> list[exp.Expr]:
    return list(tree.walk())


def test_no_part_can_be_taken_away_without_a_difference() -> None:
    for text, dataset in QUESTIONS:
        tree, _ = parse(text)
        before = meaning(tree.copy(), dataset)
        assert before is not None, text
        for place, node in enumerate(nodes(tree)):
            for name, value in list(node.args.items()):
                if value not in (None, False, [], "") and not is_alike(node, name):
                    copy = tree.copy()
                    nodes(copy)[place].set(name, None)
                    assert meaning(copy, dataset) != before, f"{type(node).__name__}.{name} is not read: {text}"


def candidates(name: str) -> Iterator[Any]:
    """What could stand there; an order is one, since what has no parts of its own orders nothing."""
    if name == "order":
        yield exp.Order(expressions=[exp.Ordered(this=exp.Literal.number(1), desc=True)])
        return
    yield True
    yield exp.to_identifier("zz")
    yield exp.column("k")
    yield [exp.column("k")]
    yield exp.Literal.string("x")
    yield exp.Literal.number(7)
    yield "NATURAL"


def test_no_part_can_be_added_without_a_difference() -> None:
    seen = set[tuple[str, str, str]]()
    for text, dataset in QUESTIONS:
        tree, _ = parse(text)
        before = meaning(tree.copy(), dataset)
        for place, node in enumerate(nodes(tree)):
            for name in type(node).arg_types:
                part = (type(node).__name__, name, type(node.parent).__name__)
                if node.args.get(name) in (None, False, [], "") and not is_alike(node, name) and part not in seen:
                    seen.add(part)
                    for value in candidates(name):
                        copy = tree.copy()
                        nodes(copy)[place].set(name, value)
                        assert meaning(copy, dataset) != before, f"{part} is not read: {text}"


def test_every_accepted_node_is_tried() -> None:
    tried = {type(node).__name__ for text, _ in QUESTIONS for node in nodes(parse(text)[0])}
    assert ALLOWED - tried == UNWRITTEN
