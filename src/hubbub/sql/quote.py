"""The one way through: text -> tree -> checked -> resolved -> bounded -> planned -> printed, and its price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from hubbub.relations import DIALECTS
from hubbub.releases import LONGEST, JobFacts
from hubbub.schema import Dataset
from hubbub.sql.compiler.compile import PlanOptions, plan_one, read_question
from hubbub.sql.compiler.lowering.engine_statements import EngineStatement
from hubbub.sql.compiler.lowering.lower_plan import write_statements
from hubbub.sql.compiler.measured_levels import measure_levels
from hubbub.sql.compiler.query_plan import NoiseKind, QuestionPlan
from hubbub.sql.compiler.question import Ordering, Question, UnionOfQuestions
from hubbub.sql.compiler.rewrites.row_counts import count_rows_first
from hubbub.sql.compiler.separate_levels import separate_levels
from hubbub.sql.measurement import size_of
from hubbub.sql.plan_identity import Json, noise_identity, plan_identity, source_identity
from hubbub.sql.pricing.noise_allocation import NoiseAllocation, allocate_noise, event_of, measure_of
from hubbub.sql.pricing.price import Price
from hubbub.terms import Event, Guarantee, HubbubError, Unit

_FIXED = "0"  # the hash key in what is only tried or shown


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """A question, planned: nothing was charged, and no data was read."""

    text: str
    dataset: Dataset
    noise: NoiseKind
    plans: tuple[QuestionPlan, ...]
    order: tuple[Ordering, ...] = ()
    limit: int | None = None
    offset: int = 0

    @property
    def chooses_keys(self) -> bool:
        """Whether keys of some part are chosen privately."""
        return any(not plan.public_keys for plan in self.plans)

    def statements(self, dialect: str, *, secret: str = _FIXED) -> tuple[tuple[EngineStatement, ...], ...]:
        """What the engine is to run, for each plan; with the secret of the ranks only where it is to run on data."""
        return tuple(write_statements(each, self.dataset, DIALECTS[dialect], secret=secret) for each in self.plans)

    def identity(self) -> dict[str, Json]:
        """What makes it this question and no other, whatever its noise is."""
        plans = [plan_identity(each) for each in self.plans]
        return {"kind": "question", **source_identity(self.dataset), "plans": plans}


@dataclass(frozen=True, slots=True)
class QueryQuote:
    """A planned question with its noise: everything that is known before it is charged."""

    planned: QueryPlan
    price: Price
    spent: tuple[NoiseAllocation, ...]
    event: Event
    guarantee: Guarantee

    @property
    def plans(self) -> tuple[QuestionPlan, ...]:
        """The plans of its parts."""
        return self.planned.plans

    def facts(self, *, seconds: float) -> JobFacts:
        """What is charged and stored."""
        question = self.planned.identity()
        noise = [noise_identity(each.events()) for each in self.spent]
        return JobFacts(
            event=self.event,
            identity={**question, "noise": noise},
            question=question,
            size=sum(size_of(each) for each in self.planned.plans),
            title=_title_line(self.planned.text),
            tail=self.price.tail,
            stated=self.price.epsilon,
            guarantee=self.guarantee,
            seconds=min(LONGEST, seconds),
        )


def plan_text(
    text: str,
    dataset: Dataset,
    *,
    gaussian: bool,
    totals: Mapping[str, Fraction] | None = None,
    clipping: bool = False,
) -> QueryPlan:
    """Everything that can be said about a question with noise of one kind, from public facts."""
    kinds = (NoiseKind.GAUSSIAN if gaussian else NoiseKind.LAPLACE,)
    return plan_kinds(text, dataset, kinds, totals=totals or {}, clipping=clipping)[0]


def plan_kinds(
    text: str,
    dataset: Dataset,
    kinds: Sequence[NoiseKind],
    *,
    totals: Mapping[str, Fraction],
    clipping: bool,
    norm: str = "",
    choose_keys: bool | None = None,
    count_first: bool = False,
) -> list[QueryPlan]:
    """Plans for each kind of noise; a kind that the question cannot have is left out, unless that leaves none.

    With Laplace noise, averages, sums and counts of one value may be read off parts as well: a plan of its own. So is
    one with noise on each level of totals.
    ``norm`` is that of a person's totals, and ``choose_keys`` says whether keys may be chosen privately: neither may
    depend on the noise where there is a choice of it. ``count_first`` plans the count of the rows that its averages are
    over, in its place.
    """
    read = read_question(text, dataset)
    if count_first:
        assert isinstance(read, Question)
        read, text = count_rows_first(read), f"rows behind the averages of: {text}"
    plans: list[QueryPlan] = []
    refusals: list[HubbubError] = []
    for kind in kinds:
        gaussian = kind is NoiseKind.GAUSSIAN
        options = PlanOptions(
            gaussian=gaussian,
            choose_keys=gaussian if choose_keys is None else choose_keys,
            totals=totals,
            clipping=clipping,
            norm=norm,
        )
        try:
            question = separate_levels(read, choose_keys=options.choose_keys)
            plans.append(_plan_read(text, question, dataset, kind, options))
            if not gaussian and not clipping and not totals:
                split = _plan_read(text, question, dataset, kind, replace(options, split=True))
                plans += [split] if split.plans != plans[-1].plans else []
            plans += [leveled for each in plans if each.noise is kind if (leveled := _with_levels(each)) is not None]
        except HubbubError as error:
            refusals.append(error)
    if not plans:
        raise refusals[-1]
    told = [planned for planned in plans if any(plan.measures or plan.curves for plan in planned.plans)]
    return told or plans[-1:]  # a choice of keys has Gaussian noise, whatever is told beside it


def _with_levels(planned: QueryPlan) -> QueryPlan | None:
    """The same with noise on each level of totals; None if it has no totals, or they are best as sums."""
    gaussian, neighbours = planned.noise is NoiseKind.GAUSSIAN, planned.dataset.neighbours
    plans = [measure_levels(plan, neighbours, gaussian=gaussian) for plan in planned.plans]
    if not any(plans):
        return None
    both = zip(planned.plans, plans, strict=True)
    return replace(planned, plans=tuple(leveled or plain for plain, leveled in both))


def _plan_read(
    text: str, question: Question | UnionOfQuestions, dataset: Dataset, kind: NoiseKind, options: PlanOptions
) -> QueryPlan:
    if isinstance(question, Question):
        return QueryPlan(text, dataset, kind, (plan_one(question, dataset, options),))
    plans = tuple(plan_one(part, dataset, options) for part in question.parts)
    return QueryPlan(text, dataset, kind, plans, question.order, question.limit, question.offset)


def quote_plan(planned: QueryPlan, price: Price) -> QueryQuote:
    """The noise that a price buys."""
    dataset = planned.dataset
    unit = Unit(dataset.unit)
    spent = allocate_noise(planned.plans, planned.noise, price, neighbours=dataset.neighbours, unit=unit)
    event = event_of(spent)
    holds = measure_of(price, event, dataset.neighbours)
    return QueryQuote(planned, price, spent, event, Guarantee(holds, unit, dataset.neighbours))


def _title_line(text: str) -> str:
    """The question as one printable line."""
    line = " ".join(text.split())
    return "".join(sign if sign.isprintable() else "?" for sign in line)[:400]
