"""Bounds that nobody declared, estimated privately and charged: a cap on rows, clamps of values, bounds on totals."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from hubbub.mechanisms import NoisyCDF
from hubbub.mechanisms.common import NoisyCurve
from hubbub.relations import DIALECTS, Dialect, Expr, column, literal, print_relation
from hubbub.relations.nodes import (
    Aggregate,
    Alias,
    BucketEdges,
    Filter,
    NamedValue,
    PersonAggregate,
    Project,
    Relation,
    SharedRelation,
    UnionAll,
    With,
    bucket_of,
    count_rows,
    integer,
    is_known,
    largest_of,
    number_of,
    size_of,
    smallest_of,
    sum_of,
)
from hubbub.releases import LONGEST, JobFacts, release_job
from hubbub.schema import Column, Dataset, Kind, Table
from hubbub.sql.bounds.buckets import Buckets, rows_buckets, values_buckets
from hubbub.sql.bounds.suggestion import PeopleHistogram, Suggestion, suggest_lower, suggest_rows, suggest_upper
from hubbub.sql.compiler.lowering.lower_rows import RowsLowering
from hubbub.sql.compiler.query_plan import Bounding, BoundingShape, NoiseKind, QuantileCurve, QuestionPlan
from hubbub.sql.compiler.question import Item, Scan
from hubbub.sql.jobs import EngineJob
from hubbub.sql.plan_identity import Json, column_identity, noise_identity, ratio_identity, source_identity
from hubbub.sql.pricing.noise_allocation import NoiseAllocation, allocate_noise, event_of, measure_of
from hubbub.sql.pricing.price import AUTO, Price, PriceTerms, price_kinds
from hubbub.terms import Budget, Event, Guarantee, NotAllowed, Real, Receipt, Unit, UnknownName, WrongType

if TYPE_CHECKING:
    from hubbub.sql.connection import Connection

_ALIAS = "t0"
_THOUSANDTHS = 1000  # totals are added up as integers on this grid
_LARGEST = 1e12
_NUMBER = 26  # bytes of one stored number at most


def suggest_bounds(
    connection: Connection,
    table: str,
    *,
    columns: Sequence[str] | None = None,
    epsilon: Real | None = None,
    delta: Real | None = None,
    rho: Real | None = None,
    noise: str = AUTO,
    fresh: bool = False,
) -> Suggestion:
    """Suggest a cap on one person's rows, clamps of numeric columns, and bounds on a person's totals, for a price.

    The price is shared equally between histograms of people: one of how many rows they have, and for each column one of
    their largest value, one of their smallest, and one of what their values add up to in size. Asking again is free.

    Guarantee: the suggestion costs the price, for the dataset's unit and neighbours.
    Because: [HRMS10] through ``docs/proofs/suggest.md``: each person is in one bucket of each histogram, which depends
    on that person's rows alone, and each histogram is released by ``NoisyCDF`` with one row per unit.
    Error: each number has the interval of the bucket it comes from; shares of rows are estimates.
    Not covered: running time. What is suggested is right for the data as they are, not for those to come.
    """
    dataset = connection.dataset
    planned = plan_suggestion(dataset, table, columns)
    terms = PriceTerms(epsilon=epsilon, delta=delta, rho=rho, noise=noise)
    prices = price_kinds(terms, connection.limit, connection.balance)
    jobs = [SuggestJob(connection, planned, price, _histogram_noise(planned, kind, price)) for kind, price in prices]
    best = min(jobs, key=lambda job: typical_curve_error(job.spent))
    return release_job(best, connection.account, fresh=fresh)


def _histogram_noise(planned: PlannedSuggestion, kind: NoiseKind, price: Price) -> NoiseAllocation:
    dataset = planned.dataset
    unit = Unit(dataset.unit)
    return allocate_noise((planned.plan(),), kind, price, neighbours=dataset.neighbours, unit=unit)[0]


def typical_curve_error(spent: NoiseAllocation) -> float:
    """The mean error of the ranks that its curves tell, for comparing."""
    return fmean(float(curve.error(0.95)) for curve in spent.curves)


# ---------------------------------------------------------------- what is measured


@dataclass(frozen=True, slots=True)
class HistogramSpec:
    """A histogram of people: its name, what each person has of it, and its buckets."""

    name: str
    value: Expr
    buckets: Buckets
    edges: tuple[float | int, ...]  # those of the buckets, as the engine compares them


@dataclass(frozen=True, slots=True)
class PlannedSuggestion:
    """A table, its columns to be bounded, and the histograms that tell about them: public."""

    dataset: Dataset
    table: Table
    columns: tuple[Column, ...]

    def measures(self) -> tuple[HistogramSpec, ...]:
        """The histograms, in the order in which they are stored."""
        rows = rows_buckets()
        counted = HistogramSpec("rows", count_rows(), rows, tuple(int(edge) for edge in rows.edges))
        inside = [each for column in self.columns for each in self._of_column(column)]
        return (counted, *inside) if self.dataset.unit else tuple(inside)

    def _of_column(self, column: Column) -> list[HistogramSpec]:
        """The largest and the smallest value of a person, and the sum of their sizes, in integers."""
        number, size = number_of(self._expr(column)), size_of(self._expr(column), _LARGEST, _THOUSANDTHS)
        signed, sizes = values_buckets(signed=True), values_buckets(signed=False)
        doubles = tuple(float(edge) for edge in signed.edges)
        wholes = tuple(math.floor(edge * _THOUSANDTHS) for edge in sizes.edges)
        people = bool(self.dataset.unit)
        largest, smallest = (largest_of(number), smallest_of(number)) if people else (number, number)
        return [
            HistogramSpec(f"largest {column.name}", largest, signed, doubles),
            HistogramSpec(f"smallest {column.name}", smallest, signed, doubles),
            HistogramSpec(f"total {column.name}", sum_of(size) if people else size, sizes, wholes),
        ]

    def _expr(self, each: Column) -> Expr:
        return column(_ALIAS, self.table.name, each, unit=False)

    def plan(self) -> QuestionPlan:
        """A plan with nothing but curves, each of which counts a person once: for the sharing of the price."""
        measures = self.measures()
        curves = tuple(
            QuantileCurve(
                name=each.name,
                value=literal(0),
                condition=None,
                lower=Fraction(0),
                width=Fraction(1),
                cells=each.buckets.cells,
            )
            for each in measures
        )
        return QuestionPlan(
            source=(),
            where=None,
            keys=(),
            measures=(),
            curves=curves,
            bounding=Bounding(shape=BoundingShape.PEOPLE),
            moved=(),
            curve_rows=1,
            weights=(Fraction(1, len(curves)),) * len(curves),
            outputs=(),
            having=None,
            order=(),
            limit=None,
            offset=0,
            levels=(),
            notes=(),
        )

    def identity(self) -> dict[str, Json]:
        """What makes it this suggestion and no other, whatever its noise is."""
        scales = {"rows": rows_buckets(), "sizes": values_buckets(signed=False)}
        return {
            "kind": "suggestion",
            **source_identity(self.dataset),
            "table": self.table.name,
            "columns": [column_identity(each, each.name) for each in self.columns],
            "histograms": ["rows", "largest", "smallest", "total"],
            "edges": {name: [ratio_identity(edge) for edge in scale.edges] for name, scale in scales.items()},
            "totals": {"most": int(_LARGEST), "parts": _THOUSANDTHS},
        }

    def statement(self, dialect: Dialect) -> str:
        """What the engine is to run."""
        return print_relation(self.relation(), dialect)

    def relation(self) -> Relation:
        """(histogram, bucket, people): one row of the first part for each person, then counts."""
        measures = self.measures()
        scan = (Item(alias=_ALIAS, rows=Scan(self.table)),)
        source = RowsLowering(self.dataset).items(scan, [self._expr(each) for each in self.columns])
        values = tuple(NamedValue(f"v{i}", each.value) for i, each in enumerate(measures))
        people = SharedRelation("_hb_people", _each_person(source, values))
        buckets = [
            NamedValue(f"c{i}", bucket_of(people.column(f"v{i}"), BucketEdges(each.edges, each.buckets.signed)))
            for i, each in enumerate(measures)
        ]
        cells = SharedRelation("_hb_cells", Project(people, tuple(buckets)), materialized=True)
        return With((people, cells), UnionAll(tuple(_people_by_cell(cells, i) for i in range(len(measures)))))


def _each_person(source: Relation, values: tuple[NamedValue, ...]) -> Relation:
    """One row of each person, or every row where each is protected by itself."""
    if source.person is None:
        return Project(source, values)
    return PersonAggregate(Filter(source, (is_known(source.person.reference),)), (), values)


def _people_by_cell(cells: Relation, index: int) -> Relation:
    name = f"c{index}"
    known = Filter(cells, (is_known(cells.column(name)),))
    counted = Alias(Aggregate(known, (name,), (NamedValue("n", count_rows()),)), "counted")
    columns = [("h", integer(index)), ("cell", counted.column(name)), ("n", counted.column("n"))]
    return Project(counted, tuple(NamedValue(*each) for each in columns))


def plan_suggestion(dataset: Dataset, table: str, columns: Sequence[str] | None) -> PlannedSuggestion:
    """What is to be measured, from public facts."""
    found = dataset.table(table)
    if found is None:
        names = ", ".join(each.name for each in dataset.tables)
        raise UnknownName(
            f"there is no table {table!r}.", why="Bounds are suggested for one.", fix=f"Use one of: {names}."
        )
    if found.public:
        raise NotAllowed(
            f"the table {table!r} is public.", why="Nobody in it is protected.", fix="Read its bounds from it."
        )
    chosen = _numeric(dataset, found) if columns is None else tuple(_chosen(found, name) for name in columns)
    if not chosen and not dataset.unit:
        raise NotAllowed(
            f"there is nothing to suggest for {table!r}.",
            why="Every row is protected by itself, and no column is a number.",
            fix="Name numeric columns: suggest_bounds(..., columns=[...]).",
        )
    return PlannedSuggestion(dataset, found, chosen)


def _numeric(dataset: Dataset, table: Table) -> tuple[Column, ...]:
    """The numeric columns that are no keys, links or declared lists."""
    names = {table.key.lower(), table.link.column.lower() if table.link is not None else ""}
    return tuple(
        each for each in table.columns if each.kind.is_number and each.values is None and each.name.lower() not in names
    )


def _chosen(table: Table, name: str) -> Column:
    found = table.column(name)
    if found is None:
        known = ", ".join(each.name for each in table.columns)[:300]
        raise UnknownName(f"there is no column {name!r}.", why="Bounds were asked for it.", fix=f"Use one of: {known}.")
    if not found.kind.is_number:
        raise WrongType(
            f"the column {found.name!r} is no number.",
            why="Bounds are suggested for numbers.",
            fix="Leave it out; declare the first and last day of a date.",
        )
    return found


# ---------------------------------------------------------------- charge and run


@dataclass(frozen=True)
class SuggestJob(EngineJob):
    """Noisy histograms of people, charged and run."""

    planned: PlannedSuggestion
    price: Price
    spent: NoiseAllocation

    @property
    def facts(self) -> JobFacts:
        """What is charged and stored."""
        question, event = self.planned.identity(), event_of([self.spent])
        return JobFacts(
            event=event,
            identity={**question, "noise": noise_identity(self.spent.events())},
            question=question,
            size=512 + _NUMBER * sum(curve.cells for curve in _trees(self.spent)),
            title=f"suggest bounds for {self.planned.table.name}",
            tail=self.price.tail,
            stated=self.price.epsilon,
            guarantee=self._guarantee(event),
            seconds=min(LONGEST, self.connection.seconds),
        )

    def _guarantee(self, event: Event) -> Guarantee:
        dataset = self.planned.dataset
        return Guarantee(measure_of(self.price, event, dataset.neighbours), Unit(dataset.unit), dataset.neighbours)

    def statements(self) -> Iterable[str]:
        """The one statement that counts people by bucket."""
        return [self.planned.statement(DIALECTS[self.connection.engine.dialect])]

    def measure(self) -> str:
        """Count people by bucket, add noise, and give what is stored."""
        [text] = self.statements()
        rows = self.connection.engine.rows(text, seconds=self.connection.seconds)
        curves = [_released(mechanism, index, rows).tolist() for index, mechanism in enumerate(_trees(self.spent))]
        return json.dumps({"format": 1, "curves": curves}, separators=(",", ":"))

    def show(self, answer: str, receipt: Receipt | None, *, repeated: bool) -> Suggestion:
        """Caps and clamps with their reasons."""
        histograms = _histograms(self.planned, self.spent, json.loads(answer)["curves"])
        guarantee = self._guarantee(event_of([self.spent]))
        return _suggestion(
            self.planned, histograms, self.connection.limit.budget, guarantee, receipt, repeated=repeated
        )


def _trees(spent: NoiseAllocation) -> list[NoisyCDF]:
    """The curves, of which no quantile is read, so that they are measured whole."""
    return [curve for curve in spent.curves if isinstance(curve, NoisyCDF)]


def _released(mechanism: NoisyCDF, index: int, rows: Sequence[tuple[Any, ...]]) -> Any:
    counts = np.zeros(mechanism.cells, dtype=np.int64)
    for histogram, cell, people in rows:
        if histogram == index:
            counts[int(cell)] = int(people)
    return mechanism.release(counts).cumulative


def _histograms(
    planned: PlannedSuggestion, spent: NoiseAllocation, curves: Sequence[Sequence[float]]
) -> list[PeopleHistogram]:
    measures = planned.measures()
    return [
        PeopleHistogram(each.buckets, NoisyCurve(np.array(values, dtype=np.float64), mechanism.tree, mechanism.event))
        for each, mechanism, values in zip(measures, _trees(spent), curves, strict=True)
    ]


def _suggestion(
    planned: PlannedSuggestion,
    told: list[PeopleHistogram],
    budget: Budget,
    guarantee: Guarantee,
    receipt: Receipt | None,
    *,
    repeated: bool,
) -> Suggestion:
    noise, reference = reference_noise(budget)
    rows = suggest_rows(told.pop(0), noise_per_row=noise, reference=reference) if planned.dataset.unit else None
    columns = {}
    for place, each in enumerate(planned.columns):
        largest, smallest, total = told[3 * place : 3 * place + 3]
        whole = each.kind is Kind.INTEGER
        columns[each.name] = (
            suggest_lower("lower", smallest, whole=whole, what="their values are not below it"),
            suggest_upper("upper", largest, whole=whole, what="their values are not above it"),
            suggest_upper("total", total, whole=whole, what="their values add up to no more in size"),
        )
    return Suggestion(planned.table.name, rows, columns, guarantee, receipt, repeated)


def reference_noise(budget: Budget) -> tuple[float, str]:
    """The standard deviation of noise per row of the cap, for a question that costs a tenth of the budget."""
    if budget.epsilon is None:
        assert budget.rho is not None
        rho = budget.rho / 10
        return 1 / math.sqrt(2 * float(rho)), f"rho = {float(rho):g}, a tenth of the budget"
    epsilon = budget.epsilon / 10
    return math.sqrt(2) / float(epsilon), f"epsilon = {float(epsilon):g}, a tenth of the budget"
