"""``synthesize``: a private table in, a synthetic one out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hubbub.ledger import AccountLike
from hubbub.publish.cells import Codes, Coding, plain_table
from hubbub.publish.domains import (
    ColumnDomain,
    Domain,
    Found,
    SurrogateKey,
    check_names,
    check_type,
    domain_for,
    is_private,
)
from hubbub.publish.graphical.belief import GraphicalModel
from hubbub.publish.graphical.fitting import Zeros, fit_model
from hubbub.publish.graphical.totals import to_total, total_of
from hubbub.publish.jobs import TableJob, columns_told, table_facts
from hubbub.publish.marginal_counts import CodedRows, Measurement, Meter, Whom
from hubbub.publish.measured_marginals import MeasuredMarginals, read_text, text_of
from hubbub.publish.privacy_units import chosen_rows, people_of
from hubbub.publish.synthetic import structural_zeros
from hubbub.publish.synthetic.aim import AimPlan
from hubbub.publish.synthetic.compress import groups_for
from hubbub.publish.synthetic.discover import coding_with
from hubbub.publish.synthetic.mbi_engine import fitted_by_mbi, mbi_packages
from hubbub.publish.synthetic.plan import Modelled, SynthesisPlan, plan_for
from hubbub.publish.synthetic.release import RowSource, Synthetic
from hubbub.publish.synthetic.structural_zeros import Impossible
from hubbub.publish.unread_table import TableSource, Unread, unread_of
from hubbub.releases import release_job
from hubbub.terms import (
    AS_GIVEN,
    ApproximateDP,
    Guarantee,
    MissingParameter,
    Neighbours,
    OutOfRange,
    Real,
    Receipt,
    Unit,
    fraction_of,
    identity_of,
    positive,
    whole,
)

if TYPE_CHECKING:
    import pyarrow

ENGINES = ("built-in", "mbi")
_ITERATIONS = 1000


def synthesize(
    table: TableSource,
    *,
    epsilon: Real,
    delta: Real,
    method: str = "aim",
    domain: Domain | str | None = None,
    unit: str | None = None,
    max_rows_per_unit: int | None = None,
    neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
    rows: int | None = None,
    about_rows: int | None = None,
    impossible: Sequence[Impossible] = (),
    workload: Sequence[tuple[str, ...]] | None = None,
    engine: str = "built-in",
    max_cells: int = 1 << 17,
    seconds: float = 300.0,
    account: AccountLike | None = None,
    dataset: str | None = None,
) -> Synthetic:
    """A table of made-up rows with nearly the same marginals as the private one.

    ``table`` is a pandas, Polars or Arrow table, or the path of a CSV or Parquet file, read after the charge.
    ``domain`` says what may stand in each column (``Numeric``, ``Categorical``, ``Date``, ``SurrogateKey``); without it
    all domains are found privately, from the same budget. ``unit`` names the column that tells people apart, and then
    ``max_rows_per_unit`` of each person's rows count; without it each row is protected by itself. ``rows`` is how
    many rows the result has; without it, about as many as the private table has. ``about_rows`` is how many that is, if
    it is public: a budget whose noise would drown so few is then refused. Of ``aim``, ``max_cells`` bounds the model
    and ``seconds`` the time for fitting between the rounds, which is worked out from the models' sizes, not measured.

    Guarantee: the result, and any number of rows drawn from it, is (epsilon, delta)-DP for the given unit and
    neighbours.
    Because: noisy marginals [CKS20, Thm. 14] and exponential choices [CR21] within a zCDP budget that converts to
    (epsilon, delta) [CKS20, Prop. 12], composed [BS16, Lemma 1.7]; the rows are post-processing. The steps and their
    sensitivities: docs/proofs/synthetic.md.
    Error: each measured marginal has the noise that the method's plan says; what was not measured is what the model
    makes of it. Compare before use: a synthetic table is right about the marginals that it was made from.
    Not covered: running time; the number of rows of the private table under ``neighbours="replace"``.

    >>> import pyarrow
    >>> from hubbub.publish import Categorical, Numeric
    >>> people = pyarrow.table({"age": [30, 40, 50] * 400, "smokes": ["no", "no", "yes"] * 400})
    >>> domain = {"age": Numeric(lower=0, upper=99), "smokes": Categorical(["no", "yes"])}
    >>> made = synthesize(people, epsilon=1, delta=1e-6, method="mst", domain=domain, rows=1000)
    >>> made.table.num_rows, made.table.column_names
    (1000, ['age', 'smokes'])
    """
    private = unread_of(table, domain, ids=[unit])
    task = _check_task(private, domain, unit, max_rows_per_unit, neighbours, engine, rows, about_rows, impossible)
    plan = plan_for(
        task.columns, whom=task.whom, epsilon=epsilon, delta=delta, method=method, rows=about_rows, workload=workload,
        max_cells=whole(max_cells, name="max_cells"), seconds=positive(seconds, name="seconds"),
    )  # fmt: skip
    facts = table_facts(
        plan.event,
        size=plan.size,
        delta=fraction_of(delta, name="delta"),
        job="synthesis",
        title=f"synthetic data ({method})",
        dataset=dataset,
        parts={**told_of(task, plan), "impossible": [identity_of(dict(rule)) for rule in impossible]},
    )
    text, receipt = release_job(TableJob(facts, lambda: text_of([measured_table(private.read(), task, plan)])), account)
    (measured,), seed = read_text(text)
    source = source_of(task, measured)
    return Synthetic(
        source=source,
        rows=rows or max(1, round(source.model.total)),
        method=method,
        epsilon=float(positive(epsilon, name="epsilon")),
        delta=float(fraction_of(delta, name="delta")),
        event=plan.event,
        guarantee=guarantee_of(
            epsilon, delta, task.whom, receipt, kinds=isinstance(domain, Mapping), ids=private.id_caveats(unit)
        ),
        receipt=receipt,
        seed=seed,
    )


@dataclass(frozen=True)
class SynthesisTask:
    """One table to make: its domain, whom it protects, and how its model is fitted; public facts alone."""

    domain: Mapping[str, ColumnDomain]
    whom: Whom
    impossible: Sequence[Impossible] = ()
    engine: str = "built-in"
    unit: str | None = None

    @property
    def columns(self) -> dict[str, Modelled]:
        """The columns that are modelled: all but keys."""
        return {name: column for name, column in self.domain.items() if not isinstance(column, SurrogateKey)}

    @property
    def fit(self) -> Callable[..., GraphicalModel]:
        return fitted_by_mbi if self.engine == "mbi" else fit_model


def _check_task(
    private: Unread,
    domain: Domain | str | None,
    unit: str | None,
    most: int | None,
    neighbours: Neighbours | str,
    engine: str,
    rows: int | None,
    about: int | None,
    impossible: Sequence[Impossible],
) -> SynthesisTask:
    """What was asked for, checked before anything is charged."""
    for name, number in (("rows", rows), ("about_rows", about)):
        if number is not None:
            whole(number, name=name)
    _check_engine(engine)
    declared = _with_unit(private.schema, domain, unit)
    whom = whom_of(private.unit(unit), most, neighbours)
    task = SynthesisTask(declared, whom, tuple(impossible), engine, unit)
    structural_zeros.check_rules(task.impossible, task.columns)
    if not any(is_private(column) for column in task.columns.values()):
        structural_zeros.check_possible(structural_zeros.fine_zeros(task.impossible, codings_of(task, {})))
    return task


def whom_of(unit: Unit, most: int | None, neighbours: Neighbours | str) -> Whom:
    """Who is protected; a person's rows need a cap."""
    if unit.is_row:
        return Whom(unit, Neighbours.parse(neighbours))
    if most is None:
        raise MissingParameter(
            f"unit={unit.path!r} needs max_rows_per_unit.",
            why="A person with any number of rows could move a marginal without limit.",
            fix="Write max_rows_per_unit=...: the most rows of one person that count.",
        )
    return Whom(unit, Neighbours.parse(neighbours), whole(most, name="max_rows_per_unit"))


def told_of(task: SynthesisTask, plan: SynthesisPlan) -> dict[str, Any]:
    """What makes this request for one table different from all others, besides its event: public facts alone."""
    return {
        "columns": columns_told(task.domain),
        "unit": task.unit,
        "whom": plan.whom.identity(),
        "method": plan.method.identity(),
    }


def measured_table(table: pyarrow.Table, task: SynthesisTask, plan: SynthesisPlan) -> MeasuredMarginals:
    """Everything that the private rows are asked, in the plan's order."""
    private = plain_table(table, dict.fromkeys([*task.columns, *([task.unit] if task.unit else [])]))
    people = people_of(private[task.unit]) if task.unit else None
    rows, domains = coded_rows(private, task, plan, people)
    return measure_all(rows, plan, task, domains)


def coded_rows(
    private: pyarrow.Table, task: SynthesisTask, plan: SynthesisPlan, people: Codes | None
) -> tuple[CodedRows, dict[str, Found]]:
    """The rows as cells, at most so many per person, and the domains that were found on the way."""
    table = bound_rows(private, task, people) if people is not None else private
    kept = people_of(table[task.unit]) if task.unit else None
    domains = {
        name: plan.finder.find(column, table[name], kept)  # type: ignore[arg-type]
        for name, column in task.columns.items()
        if plan.finder is not None and is_private(column)
    }
    codings = codings_of(task, domains)
    codes = np.stack([coding.encode(table[name]) for name, coding in codings.items()], axis=1)
    return CodedRows(codes, tuple(coding.cells for coding in codings.values())), domains


def bound_rows(private: pyarrow.Table, task: SynthesisTask, people: Codes) -> pyarrow.Table:
    """At most ``whom.most`` rows of each person, before anything is looked at."""
    import pyarrow

    return private.filter(pyarrow.array(chosen_rows(people, private.select(list(task.columns)), task.whom.most)))


def measure_all(
    rows: CodedRows, plan: SynthesisPlan, task: SynthesisTask, domains: dict[str, Found]
) -> MeasuredMarginals:
    """Singles on the declared cells, then coarser cells, then pairs on those."""
    meter = Meter(rows, plan.whom)
    singles = [meter.measure((column,), sigma=plan.method.single) for column in range(len(rows.sizes))]
    codings = codings_of(task, domains)
    groups = _coarse_groups(singles, list(codings.values()), float(plan.method.single))
    coarse = Meter(rows.merged(groups), plan.whom)
    merged = [single.merged(groups) for single in singles]
    if isinstance(plan.method, AimPlan):
        masks = structural_zeros.coarse_zeros(structural_zeros.fine_zeros(task.impossible, codings), groups)
        pairs = plan.method.measure(coarse, merged, masks)
    else:
        pairs = plan.method.measure(coarse, merged)
    return MeasuredMarginals(domains, tuple(singles), tuple(groups), tuple(pairs))


def _coarse_groups(singles: Sequence[Measurement], codings: Sequence[Coding], sigma: float) -> list[Codes]:
    total = total_of(singles)
    counts = [to_total(single.values, total) for single in singles]
    return [
        groups_for(count, sigma=sigma, total=total, ordered=coding.ordered, missing=coding.missing)
        for count, coding in zip(counts, codings, strict=True)
    ]


def source_of(task: SynthesisTask, measured: MeasuredMarginals) -> RowSource:
    """The model, fitted to what was stored."""
    codings = codings_of(task, measured.found_domains)
    zeros: list[Zeros] = structural_zeros.fine_zeros(task.impossible, codings)
    groups = list(measured.groups)
    singles = [single.merged(groups) for single in measured.singles]
    sizes = tuple(int(group.max()) + 1 for group in groups)
    model = task.fit(
        sizes,
        [*singles, *measured.pairs],
        zeros=structural_zeros.coarse_zeros(zeros, groups),
        iterations=_ITERATIONS,
    )
    keys = {name: column for name, column in task.domain.items() if isinstance(column, SurrogateKey)}
    return RowSource(codings, keys, list(task.domain), measured, model, zeros)


def codings_of(task: SynthesisTask, domains: Mapping[str, Found]) -> dict[str, Coding]:
    """How each modelled column is cut into cells."""
    return {name: coding_with(column, domains.get(name)) for name, column in task.columns.items()}


def guarantee_of(
    epsilon: Real,
    delta: Real,
    whom: Whom,
    receipt: Receipt | None,
    *,
    kinds: bool = True,
    ids: Sequence[str] = (),
) -> Guarantee:
    """The promise in words. ``kinds``: whether somebody declared what the columns hold; ``ids``: whose rows do not
    count."""
    caveats = [] if whom.unit.is_row else [f"At most {whom.most} rows of one person count.", *ids]
    caveats.append("Any number of rows may be drawn: they say no more than the noisy marginals.")
    caveats.append(AS_GIVEN)
    if not kinds:
        caveats.append("Which columns hold numbers, words and truth values counts as public: nobody declared it.")
    if receipt is None:
        caveats.append("Charged to no ledger.")
    cost = ApproximateDP(positive(epsilon, name="epsilon"), fraction_of(delta, name="delta"))
    return Guarantee(cost, whom.unit, whom.neighbours, tuple(caveats))


def _with_unit(schema: pyarrow.Schema, domain: Domain | str | None, unit: str | None) -> dict[str, ColumnDomain]:
    """The domain, with the column that tells people apart as a key if nothing else is said."""
    if unit is None:
        return domain_for(schema, domain)
    if unit not in schema.names:
        raise OutOfRange(
            f"the table has no column {unit!r}.",
            why="The unit is a column that tells people apart.",
            fix=f"The columns are {', '.join(schema.names)}.",
        )
    check_names(schema)
    check_type(schema.field(unit))
    others = schema.remove(schema.get_field_index(unit))
    rest = {name: column for name, column in domain.items() if name != unit} if isinstance(domain, Mapping) else domain
    declared = domain_for(others, rest)
    own = domain.get(unit, SurrogateKey(unit)) if isinstance(domain, Mapping) else SurrogateKey(unit)
    return {name: own if name == unit else declared[name] for name in schema.names}


def _check_engine(engine: str) -> None:
    if engine not in ENGINES:
        raise OutOfRange(
            f"there is no engine {engine!r}.",
            why="A model is fitted by the built-in engine, or by the package mbi.",
            fix='Write engine="built-in" or engine="mbi".',
        )
    if engine == "mbi":
        mbi_packages()
