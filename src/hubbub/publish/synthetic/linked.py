"""Several tables with a foreign key: people, and the visits (purchases, trips, ...) that each of them has.

The table of people is made first, with one more column: how many visits a person has. The visits are then made for each
made-up person, from how visits depend on that person's columns and on each other's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hubbub.ledger import AccountLike
from hubbub.publish.cells import Codes
from hubbub.publish.domains import Domain
from hubbub.publish.jobs import TableJob, table_facts
from hubbub.publish.marginal_counts import Whom
from hubbub.publish.measured_marginals import read_text, text_of
from hubbub.publish.synthetic.linked_plan import (
    Family,
    ForeignKey,
    counter_of,
    family_of,
    family_told,
    measured_family,
    plans_of,
)
from hubbub.publish.synthetic.release import CHUNK, RowSource
from hubbub.publish.synthetic.synthesis import guarantee_of, source_of
from hubbub.publish.unread_table import unread_of
from hubbub.releases import release_job
from hubbub.terms import (
    Compose,
    Event,
    Guarantee,
    Neighbours,
    Real,
    Receipt,
    fraction_of,
    whole,
)

if TYPE_CHECKING:
    import pyarrow


def synthesize_linked(
    tables: Mapping[str, Any],
    *,
    parent: str,
    key: str,
    links: Sequence[ForeignKey],
    epsilon: Real,
    delta: Real,
    domain: Mapping[str, Domain],
    method: str = "aim",
    neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
    people: int | None = None,
    account: AccountLike | None = None,
    dataset: str | None = None,
) -> LinkedSynthetic:
    """Made-up people with made-up visits: the tables fit together by a made-up key.

    ``parent`` is the table with one row per person, told apart by ``key``; each link's table points to it. ``method``
    is how the table of people is modelled; the others get a tree (MST) that starts from the person's columns.

    Guarantee: all tables together are (epsilon, delta)-DP for everything about one person: the row in ``parent`` and
    all rows that point to it.
    Because: one row per person and at most ``max_rows`` of each link count [WZLDSG20]; noisy marginals and choices as
    in ``synthesize`` [CKS20, Thm. 14], [CR21], composed [BS16, Lemma 1.7]: docs/proofs/synthetic.md.
    Not covered: running time. Two visits of one person are made independently, given that person's columns; rows that
    point to nobody are left out.
    """
    named = {parent: key, **{link.table: link.column for link in links}}
    private = {name: unread_of(table, domain.get(name), ids=[named.get(name)]) for name, table in tables.items()}
    schemas = {name: table.schema for name, table in private.items()}
    family = family_of(schemas, parent, key, tuple(links), domain, Neighbours.parse(neighbours))
    ids = dict.fromkeys(caveat for name, table in private.items() for caveat in table.id_caveats(named[name]))
    plans = plans_of(family, epsilon, delta, method, people)
    event = Compose(tuple(event for plan in plans for event in plan.events))
    facts = table_facts(
        event,
        size=sum(plan.size for plan in plans),
        delta=fraction_of(delta, name="delta"),
        job="linked synthesis",
        title=f"linked synthetic data ({method})",
        dataset=dataset,
        parts=family_told(family, plans),
    )
    text, receipt = release_job(
        TableJob(
            facts,
            lambda: text_of(measured_family({name: each.read() for name, each in private.items()}, family, plans)),
        ),
        account,
    )
    measured, seed = read_text(text)
    sources = [source_of(task, m) for task, m in zip(family.tasks, measured, strict=True)]
    whom = Whom(family.unit, Neighbours.parse(neighbours))
    return LinkedSynthetic(
        family=family,
        sources=sources,
        people=people or max(1, round(sources[0].model.total)),
        event=event,
        guarantee=guarantee_of(epsilon, delta, whom, receipt, ids=list(ids)),
        receipt=receipt,
        seed=seed,
    )


@dataclass(frozen=True)
class LinkedSynthetic:
    """Synthetic tables that fit together; ``tables`` has them all, ``batches(n)`` those of any number of people."""

    family: Family = field(repr=False)
    sources: list[RowSource] = field(repr=False)
    people: int
    event: Event = field(repr=False)
    guarantee: Guarantee
    receipt: Receipt | None
    seed: int = field(repr=False)

    @cached_property
    def tables(self) -> dict[str, pyarrow.Table]:
        """Every table by its name."""
        import pyarrow

        parts = list(self.batches(self.people))
        return {name: pyarrow.Table.from_batches([part[name] for part in parts]) for name in parts[0]}

    def batches(self, people: int | None = None, *, chunk: int = CHUNK) -> Iterator[dict[str, pyarrow.RecordBatch]]:
        """So many people with their rows in the other tables, chunk by chunk."""
        count, most = whole(self.people if people is None else people, name="people"), whole(chunk, name="chunk")
        before = [0] * len(self.sources)
        for number, first in enumerate(range(0, count, most)):
            generator = np.random.default_rng([self.seed, number])
            yield self._chunk(min(most, count - first), first, before, generator)

    def _chunk(
        self, count: int, first: int, before: list[int], generator: np.random.Generator
    ) -> dict[str, pyarrow.RecordBatch]:
        import pyarrow

        family, parent = self.family, self.sources[0]
        codes = parent.codes(count, generator)
        tables = parent.write(codes, generator, first=first)
        shown = [name for name in parent.order if name not in {counter_of(link) for link in family.links}]
        out = {family.parent: pyarrow.RecordBatch.from_pydict({name: tables[name] for name in shown})}
        for place, link in enumerate(family.links, start=1):
            times = np.asarray(tables[counter_of(link)])
            owners = np.repeat(np.arange(count), times)
            rows = self._children(place, codes[owners], generator, first=before[place])
            rows[link.column] = tables[family.key].take(pyarrow.array(owners))
            before[place] += len(owners)
            order = [name for name in self.sources[place].order if name not in family.given]
            out[link.table] = pyarrow.RecordBatch.from_pydict({name: rows[name] for name in order})
        return out

    def _children(self, place: int, parents: Codes, generator: np.random.Generator, *, first: int) -> dict[str, Any]:
        """Rows of a link's table for these parents, given as rows of declared cells."""
        source, columns = self.sources[place], range(len(self.family.names))
        known = {column: source.measured.groups[column][parents[:, column]] for column in columns}
        return source.write(source.codes(len(parents), generator, known), generator, first=first)
