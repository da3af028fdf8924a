"""From private rows to noisy counts: cells from public domains, so many rows of a person, one charge."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from hubbub.accounting import mu_for, noise_for
from hubbub.ledger import AccountLike
from hubbub.publish.cells import CategoryCells, Codes, Coding, Scale, coding_of, plain_table
from hubbub.publish.domains import SurrogateKey, check_names, check_type, domain_for, is_private
from hubbub.publish.jobs import TableJob, table_facts
from hubbub.publish.marginal_counts import CodedRows, Columns, Measurement, Meter, Whom, marginal_noise
from hubbub.publish.measured_marginals import MeasuredMarginals, read_text, text_of
from hubbub.publish.privacy_units import chosen_rows, people_of
from hubbub.publish.unread_table import Unread
from hubbub.releases import release_job
from hubbub.terms import (
    AS_GIVEN,
    ApproximateDP,
    Compose,
    Event,
    Guarantee,
    MissingParameter,
    Neighbours,
    OutOfRange,
    Real,
    Receipt,
    TooLarge,
    Unit,
    fraction_of,
    positive,
    shown,
    whole,
)

if TYPE_CHECKING:
    import pyarrow

_MOST_CELLS = 1 << 20  # of one table
_CELL, _HEADER = 12, 4096  # bytes, as they are stored


@dataclass(frozen=True, slots=True)
class TablePrice:
    """What the tables may cost together, and who is protected."""

    price: ApproximateDP
    whom: Whom
    unit: str | None  # the column that tells people apart
    ids: tuple[str, ...] = ()  # whose rows do not count, in words

    def sigmas(self, ratios: Sequence[float]) -> tuple[list[Fraction], Event]:
        """The noise of each table, in these proportions, and the event of all together: within the price."""
        shares = tuple(Fraction(ratio).limit_denominator(1 << 20) for ratio in ratios)
        scale = _noise_scale(self.price, self.whom, shares)
        return [scale * share for share in shares], _compose_tables(self.whom, scale, shares)

    def guarantee(self, receipt: Receipt | None) -> Guarantee:
        """The promise in words."""
        caveats = [] if self.unit is None else [f"At most {self.whom.most} rows of one person count.", *self.ids]
        caveats.append(AS_GIVEN)
        caveats += ["Charged to no ledger."] if receipt is None else []
        return Guarantee(self.price, self.whom.unit, self.whom.neighbours, tuple(caveats))


@lru_cache(maxsize=64)
def _noise_scale(price: ApproximateDP, whom: Whom, shares: tuple[Fraction, ...]) -> Fraction:
    """The least noise that is worth the price, by the exact cost of all tables together."""
    together = float(whom.l2) * math.sqrt(sum(float(1 / share**2) for share in shares))
    return least_noise(lambda scale: _compose_tables(whom, scale, shares), together, price, whom.neighbours)


def least_noise(
    events: Callable[[Fraction], Event], sensitivity: float, price: ApproximateDP, neighbours: Neighbours
) -> Fraction:
    """The least sigma at which the events are within the price: near that of one Gaussian of the whole sensitivity."""
    guess = Fraction(f"{sensitivity / mu_for(float(price.epsilon), float(price.delta)):.4g}")  # on every machine alike
    return noise_for(
        events,
        epsilon_target=price.epsilon,
        delta=price.delta,
        neighbours=neighbours,
        least=guess * Fraction(99, 100),
        most=guess * 2 + 1,
        precision=Fraction(1, 2000),
    )


def _compose_tables(whom: Whom, scale: Fraction, shares: tuple[Fraction, ...]) -> Event:
    return Compose(tuple(marginal_noise(whom, scale * share).event for share in shares))


def budget_of(
    private: Unread,
    epsilon: Real | None,
    delta: Real | None,
    unit: str | None,
    most: int | None,
    neighbours: Neighbours | str,
) -> TablePrice:
    """What was asked for, checked."""
    price = ApproximateDP(positive(epsilon, name="epsilon"), fraction_of(delta, name="delta"))
    relation = Neighbours.parse(neighbours)
    if unit is None:
        return TablePrice(price, Whom(Unit(), relation), None)
    check_columns(private.schema, [unit])
    if most is None:
        raise MissingParameter(
            "a unit needs max_rows_per_unit.",
            why="A person with any number of rows could move a count without limit.",
            fix="Write max_rows_per_unit=...: the most rows of one person that count.",
        )
    whom = Whom(private.unit(unit), relation, whole(most, name="max_rows_per_unit"))
    return TablePrice(price, whom, unit, private.id_caveats(unit))


def public_cells(schema: pyarrow.Schema, names: Sequence[str], domain: Mapping[str, Any]) -> dict[str, Coding]:
    """How the columns are cut into cells: from public declarations alone."""
    check_columns(schema, names)
    chosen = [schema.field(name) for name in names]
    declared = domain_for(_arrow_schema(chosen), {name: domain[name] for name in names if name in domain})
    for name, column in declared.items():
        if isinstance(column, SurrogateKey) or is_private(column):
            raise OutOfRange(
                f"the domain of {name!r} is not public.",
                why="The cells of a published table are known before a row is read.",
                fix="Declare Numeric(lower=..., upper=..., bins=...), Categorical([...]) or Date(...).",
            )
    return {name: coding_of(column) for name, column in declared.items()}  # type: ignore[arg-type]


def _arrow_schema(fields: list[Any]) -> pyarrow.Schema:
    import pyarrow

    return pyarrow.schema(fields)


def check_columns(schema: pyarrow.Schema, names: Sequence[str]) -> None:
    """Refuse what the table does not have."""
    check_names(schema)
    for name in names:
        if name not in schema.names:
            raise OutOfRange(
                f"the table has no column {name!r}.",
                why="Counts are about the table's own columns.",
                fix=f"The columns are {', '.join(schema.names)}.",
            )
        check_type(schema.field(name))


def check_cells(sizes: Sequence[int], tables: Sequence[Columns]) -> None:
    """Refuse tables that would hold nothing but noise."""
    for columns in tables:
        cells = math.prod(sizes[c] for c in columns)
        if cells > _MOST_CELLS:
            raise TooLarge(
                f"a table would have {cells:,} cells, and the most is {_MOST_CELLS:,}.",
                why="Every cell gets noise of its own: with so many, nothing but noise would be seen.",
                fix="Give fewer columns at a time, or fewer bins= and values.",
            )


def bound_rows(private: pyarrow.Table, budget: TablePrice, names: Sequence[str]) -> pyarrow.Table:
    """The columns named, with at most so many rows of each person, chosen from that person's rows alone."""
    import pyarrow

    rows = plain_table(private, names)
    if budget.unit is None:
        return rows
    people = people_of(private[budget.unit])
    return rows.filter(pyarrow.array(chosen_rows(people, rows, budget.whom.most)))


def code_rows(private: pyarrow.Table, codings: Mapping[str, Coding]) -> Codes:
    """The cell of each row in each column."""
    return np.stack([coding.encode(private[name]) for name, coding in codings.items()], axis=1)


def measure_tables(
    account: AccountLike | None,
    event: Event,
    rows: Callable[[], Codes],
    tables: Sequence[tuple[Columns, Fraction]],
    *,
    sizes: Sequence[int],
    budget: TablePrice,
    job: str,
    title: str,
    dataset: str | None,
    parts: Mapping[str, Any],
) -> tuple[list[Measurement], Receipt | None]:
    """The noisy tables, charged before ``rows()`` reads anything, and stored before they are seen."""

    def run() -> str:
        meter = Meter(CodedRows(rows(), tuple(sizes)), budget.whom)
        marginals = [meter.measure(columns, sigma=sigma) for columns, sigma in tables]
        return text_of([MeasuredMarginals({}, (), (), tuple(marginals))])

    size = _HEADER + sum(200 + _CELL * math.prod(sizes[c] for c in columns) for columns, _ in tables)
    facts = table_facts(
        event,
        size=size,
        delta=budget.price.delta,
        job=job,
        title=title,
        dataset=dataset,
        parts={
            **parts,
            "whom": budget.whom.identity(),
            "tables": [[list(columns), str(sigma)] for columns, sigma in tables],
            "sizes": list(sizes),
        },
    )
    text, receipt = release_job(TableJob(facts, run), account)
    (stored,), _ = read_text(text)
    return list(stored.pairs), receipt


def margin_of(budget: TablePrice, sigma: Fraction) -> int:
    """How far a noisy count is from the truth, 95 times in 100."""
    return int(marginal_noise(budget.whom, sigma).error(0.95))


def labels_of(coding: Coding) -> list[Any]:
    """What stands in each cell, in words: the value, or the range of a bin."""
    if isinstance(coding, CategoryCells):
        return list(coding.values) if coding.other in coding.values else [*coding.values, coding.other]
    labels = [_bin_label(coding, a, b) for a, b in zip(coding.edges, coding.edges[1:], strict=False)]
    return [*labels, None] if coding.missing else labels


def _bin_label(scale: Scale, low: Fraction, high: Fraction) -> str:
    import datetime

    def words(edge: Fraction) -> str:
        if scale.kind == "date":
            return (datetime.date(1970, 1, 1) + datetime.timedelta(days=int(edge))).isoformat()
        return f"{shown(edge)}"

    if scale.kind == "float":
        return f"{words(low)} to {words(high)}"
    return words(low) if high - low == 1 else f"{words(low)} to {words(high - 1)}"
