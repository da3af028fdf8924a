"""A fingerprint says which integers are read and with which noise, all of that, and nothing else."""

from __future__ import annotations

import dataclasses
import json
import os
import typing
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import product
from random import Random
from typing import Any

import pytest

from hubbub.relations import dialects, value_facts
from hubbub.relations.casts import CastTarget
from hubbub.relations.expressions import Expr, ValueFacts, literal
from hubbub.relations.moments import DateShift
from hubbub.relations.number_types import NumberType
from hubbub.schema.tables import Column, Dataset, PersonLink, Table
from hubbub.sql.bounds.suggest import plan_suggestion
from hubbub.sql.compiler.query_plan import (
    AggregateReading,
    BoundedSum,
    Bounding,
    Clamped,
    GroupKey,
    KeySelection,
    MeasuredLevel,
    Moved,
    NoiseKind,
    PlannedColumn,
    QuantileCurve,
    QuestionPlan,
)
from hubbub.sql.compiler.question import Aggregated, Field, Item, Ordering, Scan, SemiJoin, Subquery, Windowed
from hubbub.sql.compiler.syntax.functions import FUNCTIONS
from hubbub.sql.plan_identity import OPERATIONS, expression_identity, plan_identity, value_identity
from hubbub.sql.pricing.price import Price
from hubbub.sql.quote import QueryPlan, plan_kinds, plan_text, quote_plan
from hubbub.sql.workload.plan import plan_workload
from hubbub.terms import HubbubError, NotAllowed
from tests.sql._fingerprints import Entry, accept, entries, fingerprints
from tests.sql._meanings import DATASET, question
from tests.sql._mutants import Path, changed, paths
from tests.sql.passes.datasets import HOSPITAL, SURVEY
from tests.sql.passes.fixtures import every
from tests.sql.passes.used import USED, asked

PRICE = Price(rho=Fraction(1, 10), own=Fraction(1, 10**8))
REFUSED = (KeyError, TypeError, ValueError, AssertionError)

if os.environ.get("ACCEPT"):
    accept()


# ---------------------------------------------------------------- fingerprints that stay


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: f"{entry['kind']}: {entry.get('text', '')[:60]}")
def test_a_fingerprint_stays_as_it_is(entry: Entry) -> None:
    pinned = {name: entry[name] for name in ("question", "fingerprint")}
    assert fingerprints(entry) == pinned, (
        "This fingerprint has changed, and with it those of stored answers: everybody who asks again pays once more. "
        "If that is not the aim, undo it: a class, a field or an operation that is renamed keeps its tag in "
        "sql/plan_identity.py. If it is, say so in CHANGELOG.md and run this file with ACCEPT=1."
    )


def test_fingerprints_of_every_kind_of_request_are_pinned() -> None:
    assert len(entries()) >= 40
    assert {entry["kind"] for entry in entries()} == {"question", "suggestion", "workload", "remeasurement"}
    assert len({entry["fingerprint"] for entry in entries()}) == len(entries())


def test_a_changed_tag_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OPERATIONS, "gt", "greater")
    changed = [entry for entry in entries() if fingerprints(entry)["question"] != entry["question"]]
    assert 0 < len(changed) < len(entries())


# ---------------------------------------------------------------- what is distinguished


def _statements(planned: QueryPlan, dialect: str) -> list[list[str]]:
    """What an engine is asked; of one that refuses, nothing."""
    try:
        return [[statement.sql for statement in part] for part in planned.statements(dialect)]
    except NotAllowed:
        return []


def printed(planned: QueryPlan) -> str:
    """All that tells two questions apart by what is run: statements of each engine, public keys, quantiles."""
    statements = [_statements(planned, name) for name in dialects.DIALECTS]
    keys = [[repr(key.domain) for key in plan.keys] for plan in planned.plans]
    quantiles = [[(q.curve, str(q.quantile)) for q in plan.quantiles] for plan in planned.plans]
    return json.dumps([planned.dataset.fingerprint(), statements, keys, quantiles], sort_keys=True)


def identified(planned: QueryPlan) -> str:
    return json.dumps(planned.identity(), sort_keys=True)


@cache
def accepted(random_ones: int) -> tuple[QueryPlan, ...]:
    """Every accepted question of the fixtures, one for each function, and random ones."""
    fixed = [planned for fixture in every() if (planned := _or_none(fixture.planned)) is not None]
    random = Random(11)
    texts = (question(random) for _ in range(random_ones))
    drawn = [p for text in texts if (p := _or_none(lambda text=text: plan_text(text, DATASET, gaussian=True)))]
    return (*fixed, *(asked(about) for about in USED), *drawn)


def _or_none(plan: Any) -> QueryPlan | None:
    try:
        planned: QueryPlan = plan()
    except HubbubError:
        return None
    return planned


def test_questions_have_one_fingerprint_if_and_only_if_the_same_is_run(soak: int) -> None:
    by_text, by_identity = defaultdict(set), defaultdict(set)
    for planned in accepted(90 * soak):
        by_text[printed(planned)].add(identified(planned))
        by_identity[identified(planned)].add(printed(planned))
    assert len(by_text) > 200
    assert not [texts for texts in by_identity.values() if len(texts) > 1], "an answer would be given for another"
    assert not [marks for marks in by_text.values() if len(marks) > 1], "one measurement would be paid for twice"


def test_whatever_changes_what_is_run_changes_the_fingerprint(soak: int) -> None:
    random, differing = Random(12), 0
    for planned in accepted(40 * soak):
        text, mark = printed(planned), identified(planned)
        for mutant in _mutants(planned, random, most=5 + soak):
            with_text = _or_refused(printed, mutant)
            if with_text in (None, text):
                continue
            differing += 1
            assert _or_refused(identified, mutant) != mark, planned.text
    assert differing > 120


def _mutants(planned: QueryPlan, random: Random, *, most: int) -> Iterator[QueryPlan]:
    """The plan with one thing changed (but for its tables), or the question under a dataset with one thing changed."""
    ways: list[Path] = [("plans", *way) for way in paths(planned.plans) if "table" not in way and not _is_word(way)]
    ways += [("dataset", *way) for way in paths(planned.dataset) if way[0] == "tables" and way[-1] not in _NATIVE]
    for way in random.sample(ways, min(most, len(ways))):
        mutant = _or_refused(changed, planned, way)
        if mutant is not None and way[0] == "dataset":
            mutant = _or_refused(lambda mutant=mutant: plan_text(planned.text, mutant.dataset, gaussian=True))
        if mutant is not None:
            yield mutant


def _is_word(way: Path) -> bool:
    """The word for a type of numbers is one of three, and the same in all places of an expression."""
    return way[-2:] == ("number", "name")


_NATIVE = ("native", "from_text")  # the source's own types are no part of a question


def _or_refused(function: Any, *given: Any) -> Any:
    """The value, or None where what was changed makes no sense."""
    try:
        return function(*given)
    except (*REFUSED, AttributeError, IndexError, RecursionError, HubbubError):
        return None


# ---------------------------------------------------------------- every part of a plan is decided about

DECIDES: dict[type, str] = {
    QuestionPlan: "source where keys measures curves bounding selection measured",
    MeasuredLevel: "kept",
    KeySelection: "keys weighted",
    GroupKey: "value domain",
    BoundedSum: "counted value condition step lower upper centre square other fine",
    QuantileCurve: "value condition lower width cells",
    Bounding: "shape rows keys rows_per_key totals fine norm",
    AggregateReading: "how curve quantile",
    DateShift: "months days seconds as_date",
    Item: "alias rows how on at_most unique_by",
    Scan: "table",
    Subquery: "source fields where keys having distinct private",
    Field: "name value",
    Table: "name identity columns link key public prepared",
    Column: "name kind",
    PersonLink: "column table key",
    Expr: "op args param facts",
    ValueFacts: "kind number step lower upper unit",
    NumberType: "name digits",
    CastTarget: "kind width digits name",
    Aggregated: "function distinct quantile",
    Windowed: "function arguments descending alias nulls_first frame",
    SemiJoin: "source where outer",
}
LEFT_OUT: dict[type, str] = {
    # noise, and what is done with noisy numbers, but for the quantiles that are read (Reading)
    QuestionPlan: "moved curve_rows weights outputs having order limit offset levels one_level notes clamped joint",
    GroupKey: "name possible",
    BoundedSum: "name",
    QuantileCurve: "name",
    MeasuredLevel: "share moved",
    Moved: "l1 l2_squared",
    PlannedColumn: "name value about notes",
    Ordering: "value descending nulls_first",
    Clamped: "name beyond all",
    AggregateReading: "measures weights lines whole centre lower upper root sample function centres",
    Subquery: "cap",
    Table: "source max_rows_per_unit rows why",
    Column: "lower upper step values max_per_unit max_rows_per_unit from_text native why bins other missing surrogate "
    "privately sensitive",  # these are for publishing
    Expr: "size",
    ValueFacts: "values max_per_unit max_rows_per_unit origin image",
    Windowed: "running",
}
SAMPLE = (
    "SELECT ward, COUNT(*) AS n, AVG(cost) AS m, VAR_POP(cost) AS v FROM visits WHERE ROUND(cost * 1.5, 1) > 2.5 AND "
    "DAY(day) % 7 = 1 AND CAST(cost AS DECIMAL(9, 1)) = 7 GROUP BY ward",
    "SELECT MEDIAN(cost) FILTER (WHERE urgent) AS m, COUNT(DISTINCT patient_id) AS n FROM visits",
    "SELECT COUNT(*) AS n FROM visits v JOIN visits w ON w.patient_id = v.patient_id JOIN wards x ON x.ward = v.ward",
    "SELECT ward, SUM(c) AS c FROM (SELECT patient_id, ward, SUM(cost) AS c, COUNT(DISTINCT day) FILTER (WHERE urgent) "
    "AS u FROM visits GROUP BY patient_id, ward HAVING COUNT(*) > 1) v GROUP BY ward",
    "SELECT COUNT(*) AS n FROM (SELECT DISTINCT patient_id, ROW_NUMBER() OVER (PARTITION BY patient_id, ward ORDER BY "
    "day DESC, cost) AS r, SUM(cost) OVER (PARTITION BY patient_id) AS t FROM visits) v WHERE r = 1 AND t > 5",
    "SELECT COUNT(*) AS n FROM visits v WHERE EXISTS (SELECT 1 FROM visits s WHERE s.patient_id = v.patient_id AND "
    "s.cost > v.cost)",
    "SELECT drug, COUNT(*) AS n FROM drugs GROUP BY drug ORDER BY n",
)


def _sample() -> list[QueryPlan]:
    clipped = plan_text(
        "SELECT ward, SUM(cost) AS s FROM visits GROUP BY ward", HOSPITAL, gaussian=True, totals={"s": Fraction(9)}
    )
    rollup = "SELECT ward, urgent, COUNT(*) AS n FROM visits GROUP BY ROLLUP (ward, urgent)"
    leveled = plan_kinds(rollup, HOSPITAL, [NoiseKind.GAUSSIAN], totals={}, clipping=False)[-1]
    assert leveled.plans[0].measured
    return [*(plan_text(text, HOSPITAL, gaussian=True, clipping="AVG" in text) for text in SAMPLE), clipped, leveled]


def reachable(kind: Any, known: set[type]) -> None:
    """Every dataclass that can stand below a type."""
    for inner in typing.get_args(kind):
        reachable(inner, known)
    if isinstance(kind, type) and is_dataclass(kind) and kind not in known:
        known.add(kind)
        for inner in typing.get_type_hints(kind).values():
            reachable(inner, known)


def test_of_every_part_of_a_plan_it_is_said_whether_it_decides() -> None:
    known: set[type] = set()
    for kind in (
        QuestionPlan,
        CastTarget,
        Aggregated,
        Windowed,
        SemiJoin,
        AggregateReading,
        DateShift,
    ):  # the parameters of expressions
        reachable(kind, known)
    assert known == {*DECIDES, *LEFT_OUT}
    for part in known:
        named = [*DECIDES.get(part, "").split(), *LEFT_OUT.get(part, "").split()]
        assert sorted(named) == sorted(field.name for field in fields(part)), (
            f"Say of each field of {part} here whether it decides, and encode it in sql/plan_identity.py if it does. "
            "One that has another name now keeps its tag."
        )


def test_what_decides_is_in_the_fingerprint_and_the_rest_is_not() -> None:
    seen: dict[tuple[type, str], set[bool]] = defaultdict(set)
    for planned in _sample():
        mark = identified(planned)
        for way in [*(("plans", *w) for w in paths(planned.plans)), *(("dataset", *w) for w in paths(planned.dataset))]:
            place = _place(planned, way)
            if place is not None:
                seen[place].add(_or_refused(identified, changed(planned, way)) != mark)
    decided = {(kind, name) for kind, names in DECIDES.items() for name in names.split()}
    left = {(kind, name) for kind, names in LEFT_OUT.items() for name in names.split()}
    never = {place for place, outcomes in seen.items() if outcomes == {False}}
    missed = sorted(f"{kind.__name__}.{name}" for kind, name in decided & never)
    assert not missed, f"{missed} changed, and the fingerprint stays"
    extra = sorted(f"{kind.__name__}.{name}" for kind, name in left if True in seen.get((kind, name), ()))
    assert not extra, f"{extra} are left out, and yet the fingerprint changes"


def _place(value: Any, way: Path) -> tuple[type, str] | None:
    """The class and field in which a path ends."""
    place = None
    for step in way:
        if isinstance(step, str):
            place = (type(value), step)
            value = getattr(value, step)
        else:
            value = value[step]
    return place if place is not None and place[0] in {*DECIDES, *LEFT_OUT} else None


def test_every_operation_that_can_be_planned_has_a_tag() -> None:
    made_of_others = {"clip", "if", "date_part", "width_bucket", "log", "epoch", "time_bucket", "last_day"}
    planned = {function.op.partition(":")[0] for function in FUNCTIONS.values()} - made_of_others
    assert planned <= {*OPERATIONS}
    assert {*value_facts._RULES} - {"exists"} <= {*OPERATIONS}


@pytest.mark.parametrize(
    "value",
    [
        Expr("read", param=0),
        Expr("output", param=0),
        Expr("new_operation", (literal(1),)),
        Expr("add", (literal(1), literal(2)), param=1.5),
        Expr("add", (literal(1), literal(2)), param=Fraction(1)),
        Expr("literal", param=b"bytes"),
        Expr("aggregate", (literal(1),), Aggregated("median")),
        Expr("aggregate", (literal(1),), Aggregated("sum", quantile=Fraction(1, 2))),
        Expr("window", (), Windowed("nth_value", 0, (), "t0")),
    ],
    ids=lambda value: value.op,
)
def test_what_was_never_given_an_identity_is_refused(value: Expr) -> None:
    with pytest.raises((KeyError, TypeError)):
        expression_identity(value)


def test_a_new_kind_of_rows_is_refused() -> None:
    @dataclass(frozen=True)
    class Shuffled(Scan):
        pass

    [plan] = plan_text("SELECT COUNT(*) AS n FROM visits", HOSPITAL, gaussian=True).plans
    source = (replace(plan.source[0], rows=Shuffled(plan.source[0].rows.table)),)  # type: ignore[union-attr]
    with pytest.raises(KeyError):
        plan_identity(replace(plan, source=source))


def test_no_two_values_look_alike() -> None:
    values: list[Any] = [None, True, 1, 1.0, Fraction(1), "1", "true", "1/1", 0, False, 0.0, -0.0, "", "null"]
    assert len({json.dumps(value_identity(value)) for value in values}) == len(values)


def test_names_of_classes_and_fields_do_not_leak() -> None:
    keys: set[str] = set()
    for planned in accepted(0):
        _keys(planned.identity()["plans"], keys)
    here = "rows where keys sums curves quantiles bound of values adds if step lower upper centre squared other parts "
    here += "width cells shape rows_per_key totals norm as join on at_most unique_by ranked_by table private "
    here += "prepared fields frame by having distinct op args with type from digits kind name value function "
    here += "order filtered person others fraction float datetime date chosen most weighted months days seconds"
    assert keys <= set(here.split())


def _keys(document: Any, known: set[str]) -> None:
    if isinstance(document, dict):
        known.update(document)
    for part in document.values() if isinstance(document, dict) else document if isinstance(document, list) else ():
        _keys(part, known)


# ---------------------------------------------------------------- what is promised (decision 16)


def mark_of(text: str, dataset: Dataset = HOSPITAL, **given: Any) -> str:
    return identified(plan_text(text, dataset, gaussian=True, **given))


ONE = "SELECT ward, SUM(cost) AS s, COUNT(*) AS n FROM visits GROUP BY ward"
ALIKE = (
    "SELECT ward AS place, SUM(cost) AS total, COUNT(*) AS number FROM visits GROUP BY ward",
    "SELECT ward, SUM(cost) AS s, COUNT(*) AS n FROM visits GROUP BY ward HAVING COUNT(*) > 10",
    "SELECT ward, SUM(cost) AS s, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC LIMIT 2 OFFSET 1",
    "SELECT ward, SUM(cost) / COUNT(*) AS mean FROM visits GROUP BY ward",
    "SELECT ward, ROUND(2 * SUM(cost) - COUNT(*)) AS x FROM visits GROUP BY 1",
    "SELECT v.ward, SUM(V.COST) AS s, COUNT(*) AS n FROM visits AS v GROUP BY v.ward",
    "SELECT ward, SUM(cost) AS s, COUNT(*) AS n FROM visits GROUP BY ROLLUP (ward)",
)
OTHERS = (
    "SELECT ward, SUM(cost) AS s FROM visits GROUP BY ward",
    "SELECT SUM(cost) AS s, COUNT(*) AS n FROM visits",
    "SELECT ward, SUM(cost) AS s, COUNT(cost) AS n FROM visits GROUP BY ward",
    "SELECT ward, SUM(CLIP(cost, 0, 10)) AS s, COUNT(*) AS n FROM visits GROUP BY ward",
    "SELECT ward, SUM(cost) AS s, COUNT(*) AS n FROM visits WHERE cost > 0 GROUP BY ward",
    "SELECT ward, SUM(cost) AS s, COUNT(*) AS n FROM visits WHERE ward = 'north' GROUP BY ward",
    "SELECT ward, SUM(cost) AS s, COUNT(DISTINCT patient_id) AS n FROM visits GROUP BY ward",
)


@pytest.mark.parametrize("text", ALIKE)
def test_the_same_sums_put_otherwise_are_one_measurement(text: str) -> None:
    assert mark_of(text) == mark_of(ONE)


@pytest.mark.parametrize("text", OTHERS)
def test_other_sums_are_another_measurement(text: str) -> None:
    assert mark_of(text) != mark_of(ONE)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cost > 1000", "cost > 1e3"),
        ("cost > 1.50", "cost > 1.5e0"),
        ("v.patient_id = p.patient_id", "p.patient_id = v.patient_id"),
        (
            "v.patient_id = p.patient_id AND (cost > 1 AND urgent)",
            "(p.patient_id = v.patient_id AND cost > 1) AND urgent",
        ),
    ],
)
def test_conditions_that_are_run_alike_are_one(one: str, other: str) -> None:
    text = "SELECT COUNT(*) AS n FROM visits v JOIN patients p ON v.patient_id = p.patient_id WHERE {}"
    if "p." in one:
        text = "SELECT COUNT(*) AS n FROM visits v JOIN patients p ON {}"
    assert mark_of(text.format(one)) == mark_of(text.format(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("CAST(1.5 AS DECIMAL(9, 0)) > cost", "CAST(1.5e0 AS DECIMAL(9, 0)) > cost"),
        ("DAY(day) % 7 = 1", "DAY(day) % 7e0 = 1"),
        ("diagnosis = '1'", "diagnosis = '1/1'"),
        ("cost > 1", "cost > 1.0000001"),
        ("day > DATE '2025-01-02'", "day > TIMESTAMP '2025-01-02 00:00:00'"),
    ],
)
def test_conditions_that_are_run_otherwise_are_two(one: str, other: str) -> None:
    text = "SELECT COUNT(*) AS n FROM visits WHERE {}"
    assert mark_of(text.format(one)) != mark_of(text.format(other))


def test_columns_that_only_name_the_person_are_part_of_a_question() -> None:
    stays = "SELECT w.patient_id, s.visit_id FROM stays s JOIN visits w ON w.visit_id = s.visit_id"
    text = (
        f"SELECT COUNT(*) AS n FROM visits v WHERE EXISTS (SELECT 1 FROM ({stays}) s WHERE s.visit_id = v.visit_id{{}})"
    )
    plans = [plan_text(text.format(more), HOSPITAL, gaussian=True) for more in ("", " AND s.patient_id = v.patient_id")]
    assert printed(plans[0]) != printed(plans[1])
    assert identified(plans[0]) != identified(plans[1])


def test_quantiles_that_differ_in_the_seventh_digit_are_two() -> None:
    text = "SELECT QUANTILE_CONT(cost, {}) AS q FROM visits"
    assert mark_of(text.format("0.1234567")) != mark_of(text.format("0.12345671"))


def test_the_noise_is_in_the_fingerprint_and_not_in_the_question() -> None:
    planned = plan_text(ONE, HOSPITAL, gaussian=True)
    prices = [PRICE, replace(PRICE, rho=Fraction(1, 5)), Price(epsilon=Fraction(1), tail=Fraction(1, 10**8))]
    facts = [quote_plan(planned, price).facts(seconds=1) for price in prices]
    assert len({json.dumps(each.identity) for each in facts}) == 3
    assert len({json.dumps(each.question) for each in facts}) == 1


DATASETS = (
    HOSPITAL,
    replace(HOSPITAL, version="2"),
    replace(HOSPITAL, name="clinic"),
    replace(HOSPITAL, tables=(replace(HOSPITAL.tables[0], identity="elsewhere"), *HOSPITAL.tables[1:])),
    SURVEY,
)


def test_requests_of_other_kinds_and_data_have_other_identities() -> None:
    identities = []
    for dataset in DATASETS:
        table, column = ("answers", "age") if dataset is SURVEY else ("visits", "cost")
        texts = [f"SELECT COUNT(*) AS n FROM {table}", f"SELECT COUNT(*) AS n FROM {table} WHERE ward = 'north'"]
        workloads = [plan_workload(some, dataset, gaussian=True) for some in (texts, texts[1:], texts[::-1])]
        suggestions = [plan_suggestion(dataset, table, some) for some in ([column], None)]
        questions = [plan_text(text, dataset, gaussian=True) for text in texts]
        identities += [each.identity() for each in workloads]
        identities += [each.identity() for each in suggestions]
        identities += [each.identity() for each in questions]
    marks = [json.dumps(each, sort_keys=True) for each in identities]
    assert all(one == other or marks[one] != marks[other] for one, other in product(range(len(marks)), repeat=2))
    assert all(isinstance(each["kind"], str) for each in identities)


def test_a_plan_is_left_as_it_was() -> None:
    [plan] = plan_text(ONE, HOSPITAL, gaussian=True).plans
    before = dataclasses.asdict(plan)
    assert plan_identity(plan) == plan_identity(plan)
    assert dataclasses.asdict(plan) == before
