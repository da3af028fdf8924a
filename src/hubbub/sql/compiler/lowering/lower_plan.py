"""Plan -> relation nodes -> the engine's text: the rows of a question as integers, bounded, and added up by key."""

from __future__ import annotations

from dataclasses import dataclass

from hubbub.mechanisms.common import KeyWeights
from hubbub.relations import Dialect, Expr
from hubbub.relations.nodes import (
    NUMBER,
    PERSON,
    RANK,
    Aggregate,
    Alias,
    Cap,
    CapDifference,
    ClipTotals,
    FanOut,
    Filter,
    JoinKind,
    JoinRows,
    NamedValue,
    PersonAggregate,
    Project,
    Relation,
    StoredCap,
    Values,
    as_integer,
    count_rows,
    equal_values,
    is_known,
    is_listed,
    largest_of,
)
from hubbub.schema import Dataset, Kind, Value
from hubbub.sql.compiler.lowering.engine_statements import (
    EngineStatement,
    keep_chosen,
    number_keys,
    print_statement,
    with_chosen,
)
from hubbub.sql.compiler.lowering.lower_rows import RowsLowering
from hubbub.sql.compiler.lowering.lower_selection import weigh_people
from hubbub.sql.compiler.lowering.lower_sums import KeyedSums, MeasureSums, curve_sums, key_columns
from hubbub.sql.compiler.query_plan import BoundingShape, GroupKey, KeySelection, QuantileCurve, QuestionPlan, SumKind
from hubbub.sql.compiler.question import Scan


@dataclass(frozen=True, slots=True)
class LoweredStatement:
    """What one statement computes: its first ``keys`` columns are keys, the others integers."""

    relation: Relation
    keys: int
    integers: int


def write_statements(
    plan: QuestionPlan, dataset: Dataset, dialect: Dialect, *, secret: str
) -> tuple[EngineStatement, ...]:
    """The text of each statement of a plan."""
    return tuple(
        print_statement(each.relation, dialect, keys=each.keys, integers=each.integers)
        for each in lower_plan(plan, dataset, secret=secret)
    )


def lower_plan(plan: QuestionPlan, dataset: Dataset, *, secret: str) -> tuple[LoweredStatement, ...]:
    """One statement for the choice of keys and one for the measures (if there are any), and one for each curve.

    Guarantee: what follows the choice reads the chosen keys alone, and a unit moves it by no more than the bound of
    the plan allows, whichever keys they are.
    Because: docs/proofs/sql.md (unknown keys): rows of other keys are left out before a unit's rows are bounded.
    """
    lowering = _Lowering(plan, dataset, secret)
    first = [lowering.selection(plan.selection)] if plan.selection is not None else []
    first += [lowering.measures()] if plan.measures else []
    return (*first, *(lowering.curve(curve) for curve in plan.curves))


class _Lowering:
    def __init__(self, plan: QuestionPlan, dataset: Dataset, secret: str) -> None:
        self.plan, self.secret = plan, secret
        self.rows = RowsLowering(dataset)
        self.keys = key_columns(plan, self.rows)
        self.groups = tuple(key.name for key in self.keys)
        [first, *others] = plan.source
        self.alone = not others and isinstance(first.rows, Scan)
        self.prepared = self.alone and isinstance(first.rows, Scan) and first.rows.table.prepared
        # ranks go over all rows of a person: they are of use where these are the rows of the question
        self.ranked = self.prepared and plan.where is None and plan.selection is None

    def measures(self) -> LoweredStatement:
        """The integers of all measures, by key."""
        sums = MeasureSums(self.plan, self.rows).lower(self.groups)
        additive = all(measure.counted is SumKind.SUM for measure in self.plan.measures)
        return self._lowered(self._bounded(sums, additive=additive), len(sums.keys), len(sums.totals))

    def selection(self, selection: KeySelection) -> LoweredStatement:
        """People by key, each under at most so many keys, and weighed by how many these are; and the key's number."""
        sums = KeyedSums(self.groups, (), (NamedValue("m0", count_rows()),), (), ())
        numbered = number_keys(self._people_by_key(sums, selection), self.groups, ("m0",), self.secret)
        return LoweredStatement(numbered, len(self.groups), 2)

    def _people_by_key(self, sums: KeyedSums, selection: KeySelection) -> Relation:
        scope = self._scope(sums, every_key=True)
        if scope.person is None:
            return self._summed(scope, sums)
        named = Cap(self._pairs(scope, sums), selection.keys, sums.keys, self.secret)
        if not selection.weighted:
            return Aggregate(Alias(named, "pairs"), self.groups, sums.totals)
        return weigh_people(named, self.groups, KeyWeights(selection.keys, weighted=True).steps)

    def curve(self, curve: QuantileCurve) -> LoweredStatement:
        """How many rows fall into each cell, by key."""
        sums = curve_sums(curve, self.groups, self.rows)
        counted = Alias(self._bounded(sums, additive=True), "counted")
        keys = (NamedValue(key, counted.column(key)) for key in sums.keys)
        number = NamedValue("m0", as_integer(counted.column("m0")))
        return self._lowered(Project(counted, (*keys, number)), len(sums.keys), 1)

    def _lowered(self, read: Relation, keys: int, integers: int) -> LoweredStatement:
        return LoweredStatement(read if self.plan.selection is None else with_chosen(read), keys, integers)

    # ------------------------------------------------------------ the scope: rows with person, keys and integers

    def _scope(
        self,
        sums: KeyedSums,
        stored: tuple[str, ...] = (),
        *,
        later: bool = False,
        most: int = 0,
        every_key: bool = False,
    ) -> Relation:
        """The rows; ``later`` leaves long lists of keys to be looked at once per group.

        ``most`` keeps so many rows of each person, by the ranks of a prepared copy. Where keys are chosen, rows of
        others are left out, but for the choice itself (``every_key``).
        """
        plan = self.plan
        used = [plan.where, *(key.value for key in plan.keys), *sums.used]
        source = self._kept(self.rows.items(plan.source, used, stored), sums, most)
        lists = [
            is_listed(named.value, key.domain)
            for key, named in zip(plan.keys, self.keys, strict=True)
            if key.domain is not None and not (later and _is_long(key))
        ]
        columns = [*self.keys, *sums.columns, *(NamedValue(name, source.column(name)) for name in stored)]
        kept: Relation = Filter(source, tuple(lists))
        if plan.selection is not None and not every_key:
            kept = keep_chosen(kept, [key.value for key in self.keys], self.secret)
        return Project(kept, tuple(columns))

    def _people(self, sums: KeyedSums) -> Relation:
        """The person of at least each row of the scope: cheaper to read where only persons are wanted."""
        lean = [self.plan.where, *(sums.used if sums.conditions else ())]
        return self._kept(self.rows.items(self.plan.source, lean), sums, 0)

    def _kept(self, source: Relation, sums: KeyedSums, most: int) -> Relation:
        """The rows that the question is about: those that meet its conditions, and are somebody's."""
        where = [] if self.plan.where is None else [self.rows.value(self.plan.where)]
        kept: Relation = Filter(source, (*where, *sums.conditions))
        if most:
            return StoredCap(kept, most)  # no rank, no person
        return kept if source.person is None else Filter(kept, (is_known(source.person.reference),))

    # ------------------------------------------------------------ bounding

    def _bounded(self, sums: KeyedSums, *, additive: bool) -> Relation:
        bounding, shape = self.plan.bounding, self.plan.bounding.shape
        if shape is BoundingShape.PEOPLE:
            return self._each_person(sums)
        if shape is BoundingShape.TOTALS:
            names = [column.name for column in sums.columns]
            norms = tuple(zip(names, bounding.totals, bounding.fine, strict=True))
            return ClipTotals(self._scope(sums), sums.keys, norms, bounding.norm == "L2", self.plan.size)
        if shape is BoundingShape.KEYS or (shape is BoundingShape.ROWS and bounding.keys is not None):
            return self._within_keys(sums, each_key=shape is BoundingShape.KEYS)
        if shape is BoundingShape.ROWS and not additive and not self.ranked:
            cap = Cap(self._scope(sums), bounding.rows or 1, _ordered_by(sums.content), self.secret)
            return Aggregate(Alias(cap, "kept"), sums.keys, sums.totals)
        return self._known_groups(self._over_rows(sums))

    def _each_person(self, sums: KeyedSums) -> Relation:
        """Each person once per key, under at most so many keys."""
        pairs, most = self._pairs(self._scope(sums), sums), self.plan.bounding.keys
        if most is not None:
            pairs = Cap(pairs, most, _ordered_by(sums.keys), self.secret)
        return Aggregate(Alias(pairs, "pairs"), sums.keys, sums.totals)

    def _pairs(self, rows: Relation, sums: KeyedSums) -> Relation:
        """Each person and key once."""
        scope = Alias(rows, "scope")
        keys = tuple(scope.column(key) for key in sums.keys)
        named = [NamedValue(name, key) for name, key in zip(sums.keys, keys, strict=True)]
        named += [
            NamedValue(each.name, largest_of(scope.column(each.name)))
            for each in sums.columns
            if each.name not in sums.keys
        ]
        size = self.plan.size if sums.keys == self.groups else None
        return PersonAggregate(scope, keys, tuple(named), key_values=size)

    def _within_keys(self, sums: KeyedSums, *, each_key: bool) -> Relation:
        """At most so many keys of one person, and so many rows in each of them (KEYS) or in all (ROWS)."""
        bounding = self.plan.bounding
        most = (bounding.rows_per_key if each_key else bounding.rows) or 1
        cap = Cap(
            self._scope(sums),
            most,
            _ordered_by(sums.content),
            self.secret,
            keys=self.groups,
            most_keys=bounding.keys,
            each_key=each_key,
        )
        return Aggregate(Alias(cap, "kept"), sums.keys, sums.totals)

    def _over_rows(self, sums: KeyedSums) -> Relation:
        """Sums over rows, with at most so many of one person."""
        bounding = self.plan.bounding
        if bounding.shape is BoundingShape.ROW:
            return self._summed(self._scope(sums, later=self.alone), sums)
        most = bounding.rows or 1
        if self.ranked:
            return self._summed(self._scope(sums, (RANK,), later=self.alone, most=most), sums)
        scope = self._scope(sums, (NUMBER,) if self.prepared else (), later=self.alone)
        return CapDifference(
            scope,
            sums.keys,
            sums.totals,
            self._people(sums),
            most,
            _ordered_by(sums.content),
            self.secret,
            inline=len(self.plan.source) == 1,
        )

    def _summed(self, scope: Relation, sums: KeyedSums) -> Relation:
        return Aggregate(Alias(scope, "scope"), sums.keys, sums.totals)

    def _known_groups(self, summed: Relation) -> Relation:
        """The groups that are public; the cap of a table counts all its rows, also those of other groups."""
        whole_sum = Alias(summed, "summed")
        known: Relation = whole_sum
        for name, key in zip(self.groups, self.plan.keys, strict=True):
            if self.alone and _is_long(key):
                known = _among(known, whole_sum.column(name), name, key.domain or ())
        return summed if known is whole_sum else known


def _ordered_by(content: tuple[str, ...]) -> tuple[str, ...]:
    """What the order of a person's rows hangs on: what they say, and whose they are.

    By what they say alone the order would be everybody's: some keys and values would lose all that lies beyond the
    caps, others nothing. Rows that say nothing are all alike.
    """
    return (PERSON, *content) if content else ()


def _among(groups: Relation, value: Expr, name: str, domain: tuple[Value, ...]) -> Relation:
    """The groups whose key is one of some public values.

    By a join, as an engine may look through a condition on a key before it adds up, once for each row.
    """
    listed = Alias(Values((name,), tuple((each,) for each in domain)), f"listed_{name}")
    return JoinRows(groups, listed, (equal_values(value, listed.column(name)),), FanOut.TO_ONE, JoinKind.SEMI)


def _is_long(key: GroupKey) -> bool:
    """Whether a key is looked up in a list of texts, which takes longer than adding up."""
    return key.domain is not None and key.value.kind is Kind.TEXT
