"""``compare``: what tables are worth beside real rows, free on public rows and charged on private ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hubbub.ledger import AccountLike
from hubbub.publish.anonymize.anonymized_table import Anonymized
from hubbub.publish.anonymize.hierarchies import Hierarchy
from hubbub.publish.cells import CategoryCells, Coding
from hubbub.publish.jobs import columns_told
from hubbub.publish.marginal_counts import CodedRows
from hubbub.publish.metrics import private_metrics
from hubbub.publish.metrics.candidates import CandidateTable, Independent, RowTable, candidate_of
from hubbub.publish.metrics.comparison_cells import ComparisonCells, declared_cells
from hubbub.publish.metrics.public_metrics import MetricScope, public_scores
from hubbub.publish.metrics.range_queries import given_questions, random_questions
from hubbub.publish.metrics.report import UtilityComparison
from hubbub.publish.metrics.scores import INDEPENDENT, REAL, Scores
from hubbub.publish.privacy_units import people_of
from hubbub.publish.synthetic.release import Synthetic
from hubbub.publish.tables.noisy_counts import bound_rows, budget_of
from hubbub.publish.tables.published import Published
from hubbub.publish.unread_table import TableSource, unread_of
from hubbub.terms import EmptyInput, MissingParameter, Neighbours, OutOfRange, Real, identity_of, whole

if TYPE_CHECKING:
    import pyarrow

WIDTHS = (1, 2, 3)
_LEAST_ROWS = 20  # of a holdout


def compare(
    candidates: CandidateTable | Mapping[str, CandidateTable],
    *,
    holdout: TableSource | None = None,
    private: TableSource | None = None,
    epsilon: Real | None = None,
    delta: Real | None = None,
    domain: Mapping[str, Any] | None = None,
    target: str | None = None,
    workload: Sequence[Mapping[str, Any]] | None = None,
    widths: Sequence[int] = WIDTHS,
    bins: int = 20,
    sanity: Real = 0.01,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    about_rows: int | None = None,
    unit: str | None = None,
    max_rows_per_unit: int | None = None,
    neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
    account: AccountLike | None = None,
    dataset: str | None = None,
) -> UtilityComparison:
    """Compare tables that are to be handed out with real rows, beside two baselines.

    ``candidates`` is one table, or a dict of them by name: what ``synthesize``, ``mondrian``, ``full_domain`` and
    ``marginals`` gave, or plain tables. Real rows are either a public ``holdout``, and then everything is free; or the
    ``private`` rows, and then ``epsilon`` and ``delta`` say what the numbers may cost together, and ``account`` is
    charged. There is no number from private rows without noise.

    The baselines: one half of the real rows against the other, and a table whose columns are right one by one and
    independent of each other (of the other half; of the first candidate where the rows are private).

    Cells come from ``domain``; numbers and dates are compared in at most ``bins`` of them. A ``workload`` is a list of
    questions such as ``{"age": (30, 39), "sex": ["f"]}``; without one 200 are made up. Relative errors are relative to
    the true count, or to ``sanity`` of all rows if that is more. ``target`` is a column with a list of values that a
    model should predict (public rows only, as is pMSE).

    Guarantee: with ``private``, all numbers together are (epsilon, delta)-DP for the given unit and neighbours, for
    candidates that are known anyway.
    Because: whole numbers that one unit moves by at most ``max_rows_per_unit`` (twice that under replacement), with
    discrete Gaussian noise [CKS20, Thm. 7]; docs/proofs/metrics.md.
    Error: each number has its ``margin``, within which the one without noise lies with 95% confidence.
    Not covered: what the candidates themselves give away; running time.

    >>> import pyarrow
    >>> from hubbub.publish import Categorical
    >>> made = pyarrow.table({"sex": ["f", "m"] * 50, "smokes": ["no", "no", "yes", "no"] * 25})
    >>> domain = {"sex": Categorical(["f", "m"]), "smokes": Categorical(["no", "yes"])}
    >>> found = compare(made, holdout=made, domain=domain)
    >>> found["table"]["tvd1_mean"] < 0.1, [scores.name for scores in found.baselines]
    (True, ['real against real', 'independent columns'])
    """
    given = dict(candidates) if isinstance(candidates, Mapping) else {"table": candidates}
    real = unread_of(_real_rows(holdout, private, epsilon, delta), domain, ids=[unit])
    cells = ComparisonCells.of(
        _declared_codings(given, real.schema, domain, unit), bins=whole(bins, name="bins", least=2)
    )
    cells.check(real.schema, called="the table of real rows")
    view = _metric_scope(cells, widths, workload)
    place = _target_index(target, cells, public=private is None)
    candidates_by_name = {
        str(name): candidate_of(each, cells, name=str(name), hierarchies=hierarchies or {})
        for name, each in given.items()
    }
    if private is None:
        public = _enough_rows(real.read())
        free_scores = public_scores(
            candidates_by_name, public, view, float(private_metrics.sanity_share(sanity)), place
        )
        return UtilityComparison(_with_partitions(free_scores, given), target, public.num_rows)
    budget = budget_of(real, epsilon, delta, unit, max_rows_per_unit, neighbours)
    rows = about_rows or max(round(max(each.total for each in candidates_by_name.values())), 1)
    task = private_metrics.MetricTask(
        view.marginals, view.questions, rows, private_metrics.sanity_rows(sanity, rows), budget.whom
    )
    every = {**candidates_by_name, INDEPENDENT: Independent(candidates_by_name[_plainest_candidate(given)])}
    scores, event, receipt = private_metrics.release_metrics(
        [private_metrics.ScaledCandidate.of(each, task) for each in every.values()],
        task,
        budget,
        lambda: _halve_rows(bound_rows(real.read(), budget, [*cells.names, *([unit] if unit else [])]), cells, unit),
        account=account,
        dataset=dataset,
        parts={
            "candidates": list(candidates_by_name),
            "domain": None if domain is None else columns_told(domain),
            "bins": bins,
            "workload": None if workload is None else [identity_of(dict(rule)) for rule in workload],
        },
    )
    scores_by_name = {name: Scores(name, values) for name, values in zip([*every, REAL], scores, strict=True)}
    ordered = [
        *(scores_by_name[name] for name in candidates_by_name),
        scores_by_name[REAL],
        scores_by_name[INDEPENDENT],
    ]
    return UtilityComparison(_with_partitions(ordered, given), None, rows, budget.guarantee(receipt), receipt, event)


# ---------------------------------------------------------------- what was asked for


def _real_rows(
    holdout: TableSource | None, private: TableSource | None, epsilon: Real | None, delta: Real | None
) -> TableSource:
    """The rows that tables are compared with: public ones, or private ones that have a price."""
    if (holdout is None) == (private is None):
        raise MissingParameter(
            "comparing needs real rows: holdout= or private=, one of them.",
            why="Numbers about public rows are free; about private ones they cost something.",
            fix="Give holdout=public_rows; or private=rows, epsilon=..., delta=...",
        )
    if (private is not None) != (epsilon is not None and delta is not None):
        raise MissingParameter(
            "private= needs epsilon and delta, and holdout= takes neither.",
            why="Every number about private rows gets noise and is paid for; there is no other way to see one.",
            fix="Write private=rows, epsilon=0.2, delta=1e-6; or holdout=public_rows.",
        )
    rows = holdout if private is None else private
    assert rows is not None  # one of the two is there
    return rows


def _enough_rows(rows: pyarrow.Table) -> pyarrow.Table:
    if rows.num_rows < _LEAST_ROWS:
        raise EmptyInput(
            f"the holdout has {rows.num_rows} rows, and {_LEAST_ROWS} are the fewest.",
            why="One half of it is compared with the other.",
            fix="Give more public rows.",
        )
    return rows


def _metric_scope(
    cells: ComparisonCells, widths: Sequence[int], workload: Sequence[Mapping[str, Any]] | None
) -> MetricScope:
    questions = random_questions(cells) if workload is None else given_questions(workload, cells)
    if not questions:
        raise EmptyInput("the workload is empty.", why="It has no error.", fix="Leave workload= out, or ask something.")
    marginals = {width: tables for width in _check_widths(widths) if (tables := cells.marginals(width))}
    return MetricScope(cells, marginals, questions)


def _plainest_candidate(given: Mapping[Any, Any]) -> str:
    """The candidate whose single columns the independent baseline has: a synthetic one or counts, if there is one."""
    names = sorted(given, key=lambda name: not isinstance(given[name], Synthetic | Published))
    return str(names[0])


def _check_widths(widths: Sequence[int]) -> list[int]:
    chosen = sorted(set(widths))
    if not chosen or not set(chosen) <= set(WIDTHS):
        raise OutOfRange(
            f"widths must be some of {', '.join(map(str, WIDTHS))}.",
            why="Tables are compared by one, two or three columns at a time.",
            fix="Write widths=(1, 2).",
        )
    return chosen


def _declared_codings(
    given: Mapping[Any, Any], real: pyarrow.Schema, domain: Mapping[str, Any] | None, unit: str | None
) -> Mapping[str, Coding]:
    """Declared cells, or those that a synthetic table was made in: found privately, and paid for."""
    if not given:
        raise EmptyInput("there is no table to compare.", why="Nothing was given.", fix="Give one, or a dict of them.")
    if domain is None:
        for each in given.values():
            if isinstance(each, Synthetic):
                return each.source.codings
    return declared_cells(real, domain, unit=unit)


def _target_index(target: str | None, cells: ComparisonCells, *, public: bool) -> int | None:
    if target is None:
        return None
    if not public:
        raise OutOfRange(
            "a target needs public rows.",
            why="How good a model is on private rows is no sum that one person moves by a known amount.",
            fix="Give holdout=, or leave target= out (`hubbub.learn` measures models privately).",
        )
    if target not in cells.names or not isinstance(cells.codings[target], CategoryCells):
        raise OutOfRange(
            f"the target {target!r} is no compared column with a list of values.",
            why="A model learns to tell these values apart.",
            fix="Name a column that is declared as Categorical([...]).",
        )
    return cells.names.index(target)


def _with_partitions(scores: Sequence[Scores], given: Mapping[Any, Any]) -> tuple[Scores, ...]:
    """With what a partition cost, which stands in its manifest anyway."""
    parts = {str(name): each.metrics for name, each in given.items() if isinstance(each, Anonymized)}
    return tuple(Scores(one.name, one.values, parts.get(one.name), one.worst) for one in scores)


# ---------------------------------------------------------------- private rows


def _halve_rows(
    rows: pyarrow.Table, cells: ComparisonCells, unit: str | None
) -> tuple[RowTable, private_metrics.Halves]:
    """The private rows, and two halves of them: a coin for each person, whoever else there is."""
    codes = cells.encode(rows)
    people = people_of(rows[unit]) if unit else np.arange(len(codes))
    coins = np.random.default_rng().random(int(people.max(initial=-1)) + 1) < 0.5  # protects nobody: a fair split
    heads = coins[people]
    one, other = (RowTable(CodedRows(codes[part], cells.sizes)) for part in (heads, ~heads))
    return RowTable(CodedRows(codes, cells.sizes)), (one, other)
