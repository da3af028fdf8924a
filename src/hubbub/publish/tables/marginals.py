"""Counts by a few columns at a time: noisy, then made consistent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hubbub.ledger import AccountLike
from hubbub.publish.cells import Coding
from hubbub.publish.graphical.fitting import fit_model
from hubbub.publish.graphical.junction import tree_cells
from hubbub.publish.jobs import columns_told
from hubbub.publish.marginal_counts import Columns, Floats, Measurement
from hubbub.publish.tables.noisy_counts import (
    bound_rows,
    budget_of,
    check_cells,
    code_rows,
    labels_of,
    margin_of,
    measure_tables,
    public_cells,
)
from hubbub.publish.tables.published import Published
from hubbub.publish.unread_table import TableSource, unread_of
from hubbub.terms import EmptyInput, Neighbours, OutOfRange, Real, TooLarge

if TYPE_CHECKING:
    import pyarrow

_MOST_TOGETHER = 1 << 22  # cells of the model that makes tables agree
_METHOD = (
    "Each table was counted once and got discrete Gaussian noise on every cell. The published counts are those of one "
    "distribution, the one that fits all noisy tables best: so they are not negative, and whatever two tables have in "
    "common agrees."
)


def marginals(
    table: TableSource,
    *,
    of: Sequence[Sequence[str]],
    domain: Mapping[str, Any],
    epsilon: Real,
    delta: Real,
    unit: str | None = None,
    max_rows_per_unit: int | None = None,
    neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
    account: AccountLike | None = None,
    dataset: str | None = None,
) -> Published:
    """Counts by each combination of columns in ``of``, over public domains.

    Guarantee: all tables together are (epsilon, delta)-DP for the given unit and neighbours.
    Because: each is a vector of integers that one unit moves by at most ``max_rows_per_unit`` in L2 (by the root of 2
    times that under replacement), with discrete Gaussian noise [CKS20, Thm. 7], composed exactly; consistency is
    post-processing.
    Error: ``noisy`` is within ``margin`` of the truth with 95% confidence; ``count`` is biased where counts are small.
    Not covered: running time.

    >>> import pyarrow
    >>> from hubbub.publish import Categorical
    >>> people = pyarrow.table({"sex": ["f", "m"] * 500, "smokes": ["no", "no", "yes", "no"] * 250})
    >>> domain = {"sex": Categorical(["f", "m"], other="f"), "smokes": Categorical(["no", "yes"], other="no")}
    >>> made = marginals(people, of=[["sex"], ["sex", "smokes"]], domain=domain, epsilon=1, delta=1e-6)
    >>> made.tables["sex-smokes"].column_names
    ['sex', 'smokes', 'count', 'noisy', 'margin']
    """
    private = unread_of(table, domain, ids=[unit])
    wanted = _check_tables(of)
    names = list(dict.fromkeys(name for columns in wanted for name in columns))
    codings = public_cells(private.schema, names, domain)
    sizes = [coding.cells for coding in codings.values()]
    places: list[Columns] = [tuple(sorted(names.index(name) for name in columns)) for columns in wanted]
    check_cells(sizes, places)
    _check_together(sizes, places)
    budget = budget_of(private, epsilon, delta, unit, max_rows_per_unit, neighbours)
    sigmas, event = budget.sigmas([1.0] * len(places))
    noisy, receipt = measure_tables(
        account,
        event,
        lambda: code_rows(bound_rows(private.read(), budget, names), codings),
        list(zip(places, sigmas, strict=True)),
        sizes=sizes,
        budget=budget,
        job="tables",
        title="tables of counts",
        dataset=dataset,
        parts={
            "of": [list(columns) for columns in wanted],
            "columns": columns_told({name: domain[name] for name in names}),
        },
    )
    model = fit_model(sizes, noisy)
    titles = ["-".join(names[c] for c in columns) for columns in places]
    margins = dict(zip(titles, (margin_of(budget, sigma) for sigma in sigmas), strict=True))
    tables = {
        title: _counts_table(list(codings.items()), each, model.total * model.project(each.columns), margins[title])
        for title, each in zip(titles, noisy, strict=True)
    }
    return Published(tables, budget.guarantee(receipt), receipt, event, margins, _METHOD)


def _check_tables(of: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    wanted = [(columns,) if isinstance(columns, str) else tuple(columns) for columns in of]
    if not wanted or not all(wanted):
        raise EmptyInput(
            "no table was asked for.",
            why="of= lists the columns of each table.",
            fix='Write of=[["age"], ["age", "sex"]].',
        )
    if len({frozenset(columns) for columns in wanted}) < len(wanted) or any(len(set(c)) < len(c) for c in wanted):
        raise OutOfRange(
            "a table or a column was asked for twice.",
            why="Counting the same again would only split the budget.",
            fix="Name each combination of columns once.",
        )
    return wanted


def _check_together(sizes: Sequence[int], places: Sequence[Columns]) -> None:
    cells = tree_cells(sizes, places)
    if cells > _MOST_TOGETHER:
        raise TooLarge(
            f"making these tables agree takes a model of {cells:,} cells, and the most is {_MOST_TOGETHER:,}.",
            why="Tables that overlap in a ring must be looked at together.",
            fix="Ask for tables that overlap less, use fewer bins, or synthesize(...) the whole.",
        )


def _counts_table(
    codings: Sequence[tuple[str, Coding]], noisy: Measurement, counts: Floats, margin: int
) -> pyarrow.Table:
    import pyarrow

    cells = np.indices(counts.shape).reshape(counts.ndim, -1)
    columns: dict[str, Any] = {}
    for axis, column in enumerate(noisy.columns):
        name, coding = codings[column]
        columns[name] = pyarrow.array(labels_of(coding)).take(pyarrow.array(cells[axis]))
    columns["count"] = counts.ravel()
    columns["noisy"] = noisy.values.ravel().astype(np.int64)
    columns["margin"] = np.full(counts.size, margin)
    return pyarrow.table(columns)
