"""Prices and asks a statement around private questions: each through the one door, then what stands around them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hubbub.accounting import Amount
from hubbub.engines import ReleasedTables
from hubbub.releases import DerivedRelease, Release, check_jobs, quote_job, refusal_of, release_job
from hubbub.sql.answer import example_answer
from hubbub.sql.explain_plan import explain_plan
from hubbub.sql.jobs import AskJob
from hubbub.sql.preview import Preview, preview_quote
from hubbub.sql.pricing.noise_choice import Alternative
from hubbub.sql.pricing.price import PriceTerms
from hubbub.sql.quote import QueryPlan, QueryQuote
from hubbub.sql.relation.cell_bounds import inner_bounds
from hubbub.sql.relation.choice_words import choice_words
from hubbub.sql.relation.copies import InnerTables
from hubbub.sql.relation.find_inner import AskedRelation
from hubbub.sql.relation.relation_preview import RelationExplanation, RelationPreview
from hubbub.sql.relation.relation_release import release_of
from hubbub.sql.relation.run_outer import OuterRun
from hubbub.terms import Real, exact

if TYPE_CHECKING:
    from hubbub.sql.connection import Connection


@dataclass(frozen=True, slots=True)
class RelationQuote:
    """A relation with the price of each of its inner questions."""

    relation: AskedRelation
    alternatives: tuple[Sequence[Alternative], ...]  # of each question, best first

    @property
    def quotes(self) -> tuple[QueryQuote, ...]:
        """Each question with the noise that is best for it."""
        return tuple(each[0].quote for each in self.alternatives)


def share_terms(terms: PriceTerms, relation: AskedRelation) -> PriceTerms:
    """The equal share of each different question in a price; those that read the same integers count once."""
    parts = len({_identity_of(plans[0]) for plans in relation.inner})
    stated = {name: getattr(terms, name) for name in ("epsilon", "delta", "rho", "share")}
    shares = {name: exact(value, name=name) / parts for name, value in stated.items() if value is not None}
    return replace(terms, **shares)  # type: ignore[arg-type]


def quote_relation(
    relation: AskedRelation, price: Callable[[Sequence[QueryPlan]], Sequence[Alternative]]
) -> RelationQuote:
    """The quotes of all inner questions, each at its share of the price."""
    return RelationQuote(relation, tuple(price(plans) for plans in relation.inner))


def ask_relation(connection: Connection, quote: RelationQuote, *, fresh: bool = False) -> DerivedRelease:
    """Charge and answer each inner question, and run what stands around them on their answers.

    Guarantee: as private as its inner questions together, each of which is charged, stored and shown by the one door;
    what stands around them is refused before the first charge if it does not fit their columns, and all of it if a
    budget, a share or a window does not hold all of them together.
    Because: [DR14], post-processing: the outer statement runs in a place that holds released tables alone.
    Not covered: running time. An outer statement that fails on released numbers fails after the charge; the inner
    answers are stored, and free to ask again.
    """
    check_relation(connection, quote, fresh=fresh)
    inner = _ask_each(connection, quote.quotes, fresh=fresh)
    connection.watch("around")
    with ReleasedTables() as place:
        run = OuterRun(quote.relation.outer, InnerTables(inner), place)
        run.fill()
        return release_of(run, quote.relation.text, inner, inner_bounds(quote.relation))


def _ask_each(connection: Connection, quotes: Sequence[QueryQuote], *, fresh: bool) -> tuple[Release, ...]:
    """The answers in order; a question that stands there twice is asked anew once."""
    releases, asked = [], set[str]()
    for quote in quotes:
        identity = _identity_of(quote.planned)
        job = AskJob(connection, quote)
        new = fresh and identity not in asked
        releases.append(release_job(job, connection.account, fresh=new, progress=connection.watch))
        asked.add(identity)
    return tuple(releases)


def check_relation(connection: Connection, quote: RelationQuote, *, fresh: bool) -> None:
    """Refuse all that can be refused from public facts: statements, the owner's rules, too small a budget or share."""
    jobs = {_identity_of(each.planned): AskJob(connection, each) for each in quote.quotes}
    for each in quote.quotes:
        AskJob(connection, each).bind()
    check_outer_statement(quote)
    check_jobs(list(jobs.values()), connection.account, fresh=fresh)


def check_outer_statement(quote: RelationQuote) -> None:
    """Refuse an outer statement that does not fit the columns of its questions."""
    with ReleasedTables() as place:
        OuterRun(quote.relation.outer, InnerTables(tuple(map(example_answer, quote.quotes))), place).check()


def preview_relation(
    connection: Connection, quote: RelationQuote, *, confidence: Real, assume: Real | None
) -> RelationPreview:
    """The previews of all inner questions: free, and no data is read."""
    check_outer_statement(quote)
    line = connection.ledger.balance(connection.dataset.population)
    previews: dict[str, Preview] = {}
    jobs: dict[str, AskJob] = {}
    for each in quote.alternatives:
        identity, job = _identity_of(each[0].quote.planned), AskJob(connection, each[0].quote)
        jobs.setdefault(identity, job)
        job_quote = quote_job(job, connection.account)
        previews[identity] = preview_quote(
            each, line, confidence=confidence, assume=assume, repeated=job_quote.repeated, refused=job_quote.refusal
        )
    together = Amount()
    for preview in previews.values():
        together = together if preview.repeated else together + preview.cost
    return RelationPreview(
        quote.relation.text,
        tuple(previews.values()),
        together,
        line,
        choice_words(quote.relation),
        refusal_of(list(jobs.values()), connection.account),
    )


def explain_relation(relation: AskedRelation) -> RelationExplanation:
    """Where bounds and noise enter each inner question, and what stands around them."""
    outer = relation.outer.sql(dialect="duckdb")
    return RelationExplanation(
        relation.text, outer, tuple(explain_plan(plans[0]) for plans in relation.inner), choice_words(relation)
    )


def _identity_of(plan: QueryPlan) -> str:
    return json.dumps(plan.identity(), default=str)
