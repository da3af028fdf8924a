"""A synthetic table as it leaves us: rows in any number, with the receipt and the guarantee."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hubbub.publish.cells import Codes, Coding
from hubbub.publish.domains import SurrogateKey
from hubbub.publish.graphical.belief import GraphicalModel
from hubbub.publish.graphical.fitting import Zeros
from hubbub.publish.graphical.totals import to_total
from hubbub.publish.marginal_counts import Floats
from hubbub.publish.measured_marginals import MeasuredMarginals
from hubbub.publish.synthetic.compress import missing_unseen
from hubbub.publish.synthetic.generate import draw_cells, draw_codes
from hubbub.publish.synthetic.structural_zeros import forbidden_rows
from hubbub.terms import Event, Guarantee, OutOfRange, Receipt, whole

if TYPE_CHECKING:
    import pyarrow

CHUNK = 100_000
_TRIES = 50


@dataclass(frozen=True)
class RowSource:
    """Where the rows of one table come from: a model over coarse cells, and how to write them out."""

    codings: Mapping[str, Coding]
    keys: Mapping[str, SurrogateKey]
    order: Sequence[str]
    measured: MeasuredMarginals
    model: GraphicalModel
    zeros: Sequence[Zeros] = ()

    def codes(self, count: int, generator: np.random.Generator, known: dict[int, Codes] | None = None) -> Codes:
        """Rows of declared cells; whatever cannot be is drawn again, and at last replaced by a row that can.

        ``known`` columns of coarse cells are given, and the others drawn to go with them.
        """
        drawn = self._fine(draw_codes(self.model, count, generator, known=known), generator)
        for _ in range(_TRIES if self.zeros else 0):
            bad = np.flatnonzero(forbidden_rows(drawn, self.zeros))
            if not bad.size:
                return drawn
            given = {column: cells[bad] for column, cells in (known or {}).items()}
            drawn[bad] = self._fine(draw_codes(self.model, bad.size, generator, known=given), generator)
        return self._without(drawn, generator)

    def write(self, codes: Codes, generator: np.random.Generator, *, first: int) -> dict[str, Any]:
        """The columns as values, and made-up keys numbered from ``first`` on."""
        import pyarrow

        columns: dict[str, Any] = {}
        for place, (name, coding) in enumerate(self.codings.items()):
            columns[name] = coding.decode(codes[:, place], generator)
        for name, key in self.keys.items():
            columns[name] = pyarrow.array([f"{key.prefix}-{first + i + 1}" for i in range(len(codes))])
        return columns

    @cached_property
    def _within(self) -> list[Floats]:
        """For each column, the chances of the declared cells given the coarse one."""
        chances = []
        parts = zip(self.measured.singles, self.measured.groups, self.codings.values(), strict=True)
        for single, group, coding in parts:
            counts = to_total(single.values, self.model.total) + 1e-9
            if coding.missing and len(counts) > 1 and missing_unseen(counts, float(single.variance[0]) ** 0.5):
                counts[-1] = 0.0
            table = np.zeros((int(group.max()) + 1, len(group)))
            table[group, np.arange(len(group))] = counts
            chances.append(table)
        return chances

    def _fine(self, coarse: Codes, generator: np.random.Generator) -> Codes:
        columns = [draw_cells(chances, coarse[:, place], generator) for place, chances in enumerate(self._within)]
        return np.stack(columns, axis=1)

    def _without(self, drawn: Codes, generator: np.random.Generator) -> Codes:
        bad = forbidden_rows(drawn, self.zeros)
        if not bad.any():
            return drawn
        good = np.flatnonzero(~bad)
        if not good.size:
            raise OutOfRange(
                "the structural zeros leave no combination that the model holds possible.",
                why="Every row that was drawn was declared impossible.",
                fix="Declare fewer impossible combinations.",
            )
        drawn[bad] = drawn[generator.choice(good, int(bad.sum()))]
        return drawn


@dataclass(frozen=True)
class Synthetic:
    """A synthetic table: made from noisy marginals alone, so it is as private as they are, however many rows are drawn.

    ``table`` has as many rows as the private table, nearly (or ``rows`` of them); ``batches(n)`` gives any number.
    """

    source: RowSource = field(repr=False)
    rows: int
    method: str
    epsilon: float
    delta: float
    event: Event = field(repr=False)
    guarantee: Guarantee
    receipt: Receipt | None
    seed: int = field(repr=False)

    @cached_property
    def table(self) -> pyarrow.Table:
        """The synthetic rows, as an Arrow table."""
        import pyarrow

        return pyarrow.Table.from_batches(list(self.batches(self.rows)))

    def batches(self, rows: int | None = None, *, chunk: int = CHUNK) -> Iterator[pyarrow.RecordBatch]:
        """So many rows, chunk by chunk: free, and the same ones each time."""
        import pyarrow

        count, most = whole(self.rows if rows is None else rows, name="rows"), whole(chunk, name="chunk")
        for number, first in enumerate(range(0, count, most)):
            generator = np.random.default_rng([self.seed, number])
            codes = self.source.codes(min(most, count - first), generator)
            table = self.source.write(codes, generator, first=first)
            yield pyarrow.RecordBatch.from_pydict({name: table[name] for name in self.source.order})

    def to_arrow(self) -> pyarrow.Table:
        """The same as ``table``."""
        return self.table

    def to_pandas(self) -> Any:
        """The rows as a pandas frame."""
        return self.table.to_pandas()
