"""The fixture files: what each pass of the compiler makes of a question, as text that people can review.

-- section: Aggregates              a heading of docs/sql-coverage.md, until the next one
-- name: COUNT(*)                   what the question shows
-- with: survey pure total=100      options: another dataset, a budget without delta, a bound on the total of `s`
SELECT COUNT(*) AS n FROM visits
-- expected:
-- what the pass makes of it, each line behind two dashes
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from hubbub.relations.expressions import Expr, shown
from hubbub.sql.compiler.compile import read_tree
from hubbub.sql.compiler.query_plan import QuestionPlan
from hubbub.sql.compiler.question import Item, Question, Scan, UnionOfQuestions
from hubbub.sql.compiler.syntax.allow_nodes import allow_nodes
from hubbub.sql.compiler.syntax.parse import parse
from hubbub.sql.explain_plan import explained_question
from hubbub.sql.quote import QueryPlan, plan_text
from hubbub.terms import HubbubError
from tests.sql.passes.datasets import DATASETS, Dataset

FOLDER = Path(__file__).parent
SECRET = "00000000000000000000000000000000"
_BLOCK = re.compile(
    r"(?:^-- section: (?P<section>.*)\n)?^-- name: (?P<name>.*)\n(?:-- with: (?P<options>.*)\n)?"
    r"(?P<sql>(?:.*\n)*?)-- expected:\n(?P<expected>(?:--.*\n)*)",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Fixture:
    """One question, and what a pass makes of it."""

    stage: str
    section: str
    name: str
    options: str
    sql: str
    expected: str

    @property
    def dataset(self) -> Dataset:
        return DATASETS["survey" if "survey" in self.options.split() else "hospital"]

    @property
    def gaussian(self) -> bool:
        return "pure" not in self.options.split()

    @property
    def totals(self) -> dict[str, Fraction]:
        given = re.search(r"total=(\S+)", self.options)
        return {"s": Fraction(given[1])} if given else {}

    def planned(self) -> QueryPlan:
        """The question, planned; EXPLAIN PRIVATE plans the question inside."""
        text = explained_question(self.sql) or self.sql
        return plan_text(text, self.dataset, gaussian=self.gaussian, totals=self.totals)

    def told(self) -> str:
        """What the pass makes of the question now: its result in words, or the refusal."""
        try:
            return PASSES[self.stage](self)
        except HubbubError as error:
            return str(error)

    def text(self, heading: str) -> str:
        """The block as it stands in the file, with what the pass says now."""
        lines = [f"-- section: {self.section}"] if self.section != heading else []
        lines += [f"-- name: {self.name}", *([f"-- with: {self.options}"] if self.options else [])]
        return "\n".join([*lines, self.sql, "-- expected:", *(f"-- {x}".rstrip() for x in self.told().split("\n"))])


def fixtures(stage: str) -> list[Fixture]:
    """The questions of one pass."""
    found: list[Fixture] = []
    section = ""
    text = (FOLDER / f"{stage}.sql").read_text(encoding="utf-8")
    for block in _BLOCK.finditer(text):
        section = block["section"] or section
        expected = "\n".join(line[2:].removeprefix(" ") for line in block["expected"].splitlines())
        found.append(
            Fixture(stage, section, block["name"], block["options"] or "", block["sql"].rstrip("\n"), expected)
        )
    assert len(found) == text.count("-- name: "), f"{stage}.sql has a block that cannot be read"
    return found


def every() -> list[Fixture]:
    """All questions of all passes."""
    return [fixture for stage in PASSES for fixture in fixtures(stage)]


def accept(stage: str) -> None:
    """Rewrite what is expected of a pass as what it says now, for review."""
    blocks, heading = [], ""
    for fixture in fixtures(stage):
        blocks.append(fixture.text(heading))
        heading = fixture.section
    (FOLDER / f"{stage}.sql").write_text("\n\n".join(blocks) + "\n", encoding="utf-8")


# ---------------------------------------------------------------- the passes in words


def _parsed(fixture: Fixture) -> str:
    inner = explained_question(fixture.sql)
    tree, _ = parse(fixture.sql if inner is None else inner)
    told = f"{type(tree).__name__}: {tree.sql(dialect='duckdb')}"
    return told if inner is None else f"to be explained\n{told}"


def _checked(fixture: Fixture) -> str:
    tree, text = parse(fixture.sql)
    names = sorted({type(node).__name__ for node in allow_nodes(tree, text).walk()})
    return f"allowed: {', '.join(names)}"


def _resolved(fixture: Fixture) -> str:
    tree, text = parse(explained_question(fixture.sql) or fixture.sql)
    told = read_tree(tree, text, fixture.dataset)
    questions = told.parts if isinstance(told, UnionOfQuestions) else (told,)
    return "\nUNION ALL\n".join("\n".join(_question(each)) for each in questions)


def _question(question: Question) -> Iterator[str]:
    for item in question.source:
        yield from _item(item)
    yield from ([f"where {question.where.words()}"] if question.where else [])
    for key in question.keys:
        yield f"key {key.name} = {key.value.words()}: {_facts(key.value)}"
    for output in question.outputs:
        yield f"output {output.name} = {output.value.words()}"
    yield from ([f"having {question.having.words()}"] if question.having else [])
    for part in question.order:
        yield f"order by {part.value.words()}{' descending' if part.descending else ''}"
    if question.limit is not None or question.offset:
        yield f"limit {question.limit} offset {question.offset}"
    if question.levels:
        yield f"levels {', '.join(str(level) for level in question.levels)}"
    yield f"rows of one person: {'not known' if question.cap is None else question.cap}"


def _item(item: Item) -> Iterator[str]:
    how = {"from": "from", "inner": "join", "left": "left join"}[item.how]
    on = f" on {item.on.words()}" if item.on is not None else ""
    if isinstance(item.rows, Scan):
        yield f"{how} {item.rows.table.name} as {item.alias}{on}"
        return
    rows = item.rows
    kind = "one row per person" if rows.keys is not None else "rows"
    yield f"{how} {'distinct ' if rows.distinct else ''}{kind} as {item.alias}{on}"
    for inner in rows.source:
        yield from (f"  {line}" for line in _item(inner))
    yield from ([f"  where {rows.where.words()}"] if rows.where else [])
    yield from (f"  {field.name} = {field.value.words()}: {_facts(field.value)}" for field in rows.fields)
    yield from ([f"  having {rows.having.words()}"] if rows.having else [])


def _facts(value: Expr) -> str:
    facts = value.facts
    parts = [facts.kind.value, *(["the person"] if facts.unit else [])]
    if facts.lower is not None or facts.upper is not None:
        ends = ["?" if end is None else shown(end) for end in (facts.lower, facts.upper)]
        parts.append(f"[{ends[0]}, {ends[1]}]")
    parts += [f"step {shown(facts.step)}"] if facts.step is not None else []
    if facts.values is not None:
        first = ", ".join(shown(each) for each in facts.values[:4])
        parts.append(f"{len(facts.values)} values ({first}{', ...' if len(facts.values) > 4 else ''})")
    return ", ".join(parts)


def _bounded(fixture: Fixture) -> str:
    return "\nUNION ALL\n".join("\n".join(_bounds(plan)) for plan in fixture.planned().plans)


def _bounds(plan: QuestionPlan) -> Iterator[str]:
    yield f"{plan.bounding.shape.value}: {plan.bounding.words()}"
    if plan.selection is not None:
        yield f"choice: {plan.selection.words()}"
    for measure, moved in zip(plan.measures, plan.moved, strict=True):
        low, high = measure.interval
        yield f"{measure.name} [{low}, {high}]: L1 {moved.l1}, L2 squared {moved.l2_squared}"
    for group in plan.joint:
        yield f"one price for {', '.join(f'm{index}' for index in group)}"
    if plan.curves:
        yield f"rows of one unit on a curve: {plan.curve_rows}"


def _planned(fixture: Fixture) -> str:
    return "\nUNION ALL\n".join("\n".join(_plan(plan)) for plan in fixture.planned().plans)


def _plan(plan: QuestionPlan) -> Iterator[str]:
    for key in plan.keys:
        domain = "chosen privately" if key.domain is None else f"{len(key.domain)} public values"
        yield f"key {key.name}: {domain}"
    for i, measure in enumerate(plan.measures):
        grid = (
            "" if measure.value is None else f", steps of {shown(measure.step)} in [{measure.lower}, {measure.upper}]"
        )
        centre = f" around {measure.centre}" if measure.centre else ""
        yield f"m{i} = {measure.name} ({measure.counted.value}{grid}{centre})"
    for i, curve in enumerate(plan.curves):
        yield f"curve {i} = {curve.name}, {curve.cells} cells of {shown(curve.width)} from {shown(curve.lower)}"
    yield f"weights {', '.join(f'{float(weight):.4f}' for weight in plan.weights)}"
    for output in plan.outputs:
        yield f"output {output.name} = {output.value.words()}"
        yield from (f"  note: {note}" for note in output.notes)
    yield from ([f"having {plan.having.words()}"] if plan.having else [])
    yield from (f"note: {note}" for note in plan.notes)


def _printed(fixture: Fixture) -> str:
    planned = fixture.planned()
    parts = []
    for dialect in ("duckdb", "postgres"):
        parts.append(f"{dialect}:")
        parts += [_lines(s.sql) for part in planned.statements(dialect, secret=SECRET) for s in part]
    return "\n".join(parts)


def _lines(sql: str) -> str:
    """A statement with a line for each part, so that changes can be seen."""
    return re.sub(
        r" (?=(?:heavy|parts|kept|numbered|large|pairs|ranked) AS \(|UNION ALL|FROM |WHERE |GROUP BY )", "\n  ", sql
    )


PASSES: dict[str, Callable[[Fixture], str]] = {
    "parse": _parsed,
    "check": _checked,
    "resolve": _resolved,
    "bound": _bounded,
    "plan": _planned,
    "print": _printed,
}
