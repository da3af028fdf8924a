"""The one way through: text -> tree -> checked -> resolved -> bounded -> planned -> printed, and its price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from hubbub.relations import DIALECTS
from hubbub.releases import LONGEST, JobFacts
from hubbub.schema import Dataset
from hubbub.sql.compiler.compile import PlanOptions, plan_one, read_question
from hubbub.sql.compiler.lower_plan import EngineStatement, write_statements
from hubbub.sql.compiler.query_plan import QuestionPlan
from hubbub.sql.compiler.question import Ordering, Question
from hubbub.sql.measurement import size_of
from hubbub.sql.noise_allocation import NoiseAllocation, allocate_noise, event_of, measure_of
from hubbub.sql.plan_identity import Json, noise_identity, plan_identity, source_identity
from hubbub.sql.price import Price
from hubbub.terms import Event, Guarantee, Unit

_FIXED = "0"  # the hash key in what is only tried or shown


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """A question, planned: nothing was charged, and no data was read."""

    text: str
    dataset: Dataset
    plans: tuple[QuestionPlan, ...]
    order: tuple[Ordering, ...] = ()
    limit: int | None = None
    offset: int = 0

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

    @property
    def tail(self) -> Fraction | None:
        """The delta of Gaussian tails, where part of the price's is for choosing keys (``allocate_noise``)."""
        return self.price.delta / 2 if self.stated is not None else None

    @property
    def stated(self) -> Fraction | None:
        """The epsilon that the noise was calibrated for, at ``tail``."""
        return self.price.epsilon if any(plan.selection is not None for plan in self.plans) else None

    def facts(self, *, seconds: float) -> JobFacts:
        """What is charged and stored."""
        question = self.planned.identity()
        noise = [noise_identity(each.events()) for each in self.spent]
        return JobFacts(
            event=self.event,
            tail=self.tail,
            stated=self.stated,
            identity={**question, "noise": noise},
            question=question,
            size=sum(size_of(each) for each in self.planned.plans),
            title=_title_line(self.planned.text),
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
    """Everything that can be said about a question from public facts."""
    options = PlanOptions(gaussian=gaussian, choose_keys=gaussian, totals=totals or {}, clipping=clipping)
    question = read_question(text, dataset)
    if isinstance(question, Question):
        return QueryPlan(text, dataset, (plan_one(question, dataset, options),))
    plans = tuple(plan_one(part, dataset, options) for part in question.parts)
    return QueryPlan(text, dataset, plans, question.order, question.limit, question.offset)


def quote_plan(planned: QueryPlan, price: Price) -> QueryQuote:
    """The noise that a price buys."""
    dataset = planned.dataset
    unit = Unit(dataset.unit)
    spent = allocate_noise(planned.plans, price, neighbours=dataset.neighbours, unit=unit)
    event = event_of(spent)
    holds = measure_of(price, event, dataset.neighbours)
    return QueryQuote(planned, price, spent, event, Guarantee(holds, unit, dataset.neighbours))


def _title_line(text: str) -> str:
    """The question as one printable line."""
    line = " ".join(text.split())
    return "".join(sign if sign.isprintable() else "?" for sign in line)[:400]
