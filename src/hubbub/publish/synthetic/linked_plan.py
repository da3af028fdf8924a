"""Tables that hang together by a key: what is declared about them, what that costs, and what the rows are asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hubbub.publish.cells import plain_table
from hubbub.publish.domains import ColumnDomain, Domain, Numeric, SurrogateKey, domain_for, is_private
from hubbub.publish.marginal_counts import Whom
from hubbub.publish.measured_marginals import MeasuredMarginals
from hubbub.publish.privacy_units import ids_of, people_of
from hubbub.publish.synthetic.plan import SynthesisPlan, plan_for
from hubbub.publish.synthetic.synthesis import SynthesisTask, bound_rows, measured_table, told_of
from hubbub.terms import MissingParameter, Neighbours, OutOfRange, Real, Unit, whole

if TYPE_CHECKING:
    import pyarrow

_PARENT = Fraction(1, 2)  # of the cost, for the table of people


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """``table.column`` names a row of the parent table; of one person ``max_rows`` count."""

    table: str
    column: str
    max_rows: int


@dataclass(frozen=True)
class Family:
    """The tables and how they hang together: a task for the parent, then one for each link."""

    parent: str
    key: str
    links: tuple[ForeignKey, ...]
    names: tuple[str, ...]  # the parent's modelled columns
    tasks: tuple[SynthesisTask, ...]

    @property
    def unit(self) -> Unit:
        """Everything about one person."""
        return Unit(f"{self.parent}.{self.key}")

    @property
    def given(self) -> list[str]:
        """The parent's columns, as they are called beside a link's own."""
        return [f"{self.parent}.{name}" for name in self.names]


def family_of(
    schemas: Mapping[str, pyarrow.Schema],
    parent: str,
    key: str,
    links: tuple[ForeignKey, ...],
    domain: Mapping[str, Domain],
    neighbours: Neighbours,
) -> Family:
    """What was asked for, checked from the schemas and declarations alone."""
    _check_names(schemas, parent, key, links, domain)
    unit = Unit(f"{parent}.{key}")
    own = domain_for(schemas[parent], {key: SurrogateKey(key), **domain[parent]})
    names = tuple(name for name, column in own.items() if not isinstance(column, SurrogateKey))
    for link in links:
        whole(link.max_rows, name="max_rows")
    counters: dict[str, ColumnDomain] = {counter_of(link): Numeric(lower=0, upper=link.max_rows) for link in links}
    tasks = [SynthesisTask({**own, **counters}, Whom(unit, neighbours), unit=key)]
    for link in links:
        declared = domain_for(schemas[link.table], {link.column: SurrogateKey(key), **domain[link.table]})
        given = {f"{parent}.{name}": own[name] for name in names}
        whom = Whom(unit, neighbours, link.max_rows)
        tasks.append(SynthesisTask({**given, **declared}, whom, unit=link.column))
    for task in tasks:
        _check_public(task)
    return Family(parent, key, links, names, tuple(tasks))


def plans_of(family: Family, epsilon: Real, delta: Real, method: str, people: int | None) -> list[SynthesisPlan]:
    """Half of the cost for the people, the rest evenly for the links."""
    if people is not None:
        whole(people, name="people")
    common: dict[str, Any] = {"epsilon": epsilon, "delta": delta}
    first = family.tasks[0]
    plans = [plan_for(first.columns, whom=first.whom, method=method, share=_PARENT, rows=people, **common)]
    share, given = (1 - _PARENT) / len(family.links), len(family.names)
    for task in family.tasks[1:]:
        plans.append(plan_for(task.columns, whom=task.whom, method="mst", share=share, given=given, **common))
    return plans


def family_told(family: Family, plans: Sequence[SynthesisPlan]) -> dict[str, Any]:
    """What makes this request different from all others, besides its event."""
    tables = [told_of(task, plan) for task, plan in zip(family.tasks, plans, strict=True)]
    links = [[link.table, link.column, link.max_rows] for link in family.links]
    return {"parent": family.parent, "key": family.key, "links": links, "tables": tables}


def measured_family(
    arrows: Mapping[str, pyarrow.Table], family: Family, plans: list[SynthesisPlan]
) -> list[MeasuredMarginals]:
    """Everything that the private tables are asked."""
    people = plain_table(arrows[family.parent], arrows[family.parent].column_names)
    own = SynthesisTask({name: family.tasks[0].domain[name] for name in people.column_names}, family.tasks[0].whom)
    one_each = bound_rows(people, own, people_of(people[family.key]))
    pointing = {link: plain_table(arrows[link.table], arrows[link.table].column_names) for link in family.links}
    joined = [_join_people(one_each, pointing[link], family, link) for link in family.links]
    counted = one_each
    for link, rows in zip(family.links, joined, strict=True):
        counted = counted.append_column(counter_of(link), _count_links(one_each[family.key], rows[link.column]))
    tables = [counted, *joined]
    return [measured_table(table, task, plan) for table, task, plan in zip(tables, family.tasks, plans, strict=True)]


def _join_people(people: pyarrow.Table, rows: pyarrow.Table, family: Family, link: ForeignKey) -> pyarrow.Table:
    """Each row of a link's table beside its person's columns; rows that point to nobody are left out."""
    import pyarrow
    import pyarrow.compute as pc

    place = pc.index_in(ids_of(rows[link.column]), value_set=ids_of(people[family.key]), skip_nulls=True)
    there = pc.is_valid(place)
    matched = people.select(list(family.names)).take(place.filter(there))
    kept = rows.filter(there)
    columns = {given: matched[name] for given, name in zip(family.given, family.names, strict=True)}
    return pyarrow.table({**columns, **{name: kept[name] for name in kept.column_names}})


def _count_links(keys: pyarrow.ChunkedArray, pointing: pyarrow.ChunkedArray) -> Any:
    """How many rows point to each key."""
    import pyarrow
    import pyarrow.compute as pc

    place = pc.index_in(ids_of(pointing), value_set=ids_of(keys), skip_nulls=True)
    return pyarrow.array(np.bincount(np.asarray(place).astype(np.int64), minlength=len(keys)))


def counter_of(link: ForeignKey) -> str:
    """The parent's column that says how many rows of the link's table a person has."""
    return f"number of {link.table}"


def _check_names(
    schemas: Mapping[str, pyarrow.Schema],
    parent: str,
    key: str,
    links: Sequence[ForeignKey],
    domain: Mapping[str, Domain],
) -> None:
    wanted = {parent: key, **{link.table: link.column for link in links}}
    if not links or len(wanted) != len(links) + 1 or set(wanted) != set(schemas) or set(domain) != set(schemas):
        raise MissingParameter(
            "each table is the parent or has one link to it, and each has a domain.",
            why="Everything about a person must be known to be theirs.",
            fix='Write parent="people", key="id", links=[Link("visits", "person", max_rows=20)], '
            'domain={"people": {...}, "visits": {...}}.',
        )
    for table, column in wanted.items():
        if column not in schemas[table].names:
            raise OutOfRange(
                f"table {table!r} has no column {column!r}.",
                why="Keys tell whose rows are whose.",
                fix=f"Its columns are {', '.join(schemas[table].names)}.",
            )


def _check_public(task: SynthesisTask) -> None:
    private = [name for name, column in task.domain.items() if is_private(column)]
    if private:
        raise MissingParameter(
            f"the domain of {private[0]!r} is private.",
            why="Linked tables are coded alike in several models, which needs public domains.",
            fix="Give bounds or a list of values; synthesize the table alone to find them.",
        )
