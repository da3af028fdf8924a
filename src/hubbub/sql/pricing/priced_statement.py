"""A text -> what it would cost: planned with each noise that it can have, priced, and ranked; nothing is charged.

A statement around private questions is priced question by question, each for an equal share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

from hubbub.accounting import Currency
from hubbub.ledger import AccountBalance
from hubbub.relations import limits
from hubbub.releases import request_for
from hubbub.sql.compiler.query_plan import NoiseKind
from hubbub.sql.jobs import AskJob
from hubbub.sql.pricing.noise_choice import Alternative, alternative_of, rank_alternatives
from hubbub.sql.pricing.price import AUTO, Price, PriceTerms, noise_kinds, price_plan
from hubbub.sql.quote import QueryPlan, QueryQuote, plan_kinds, quote_plan
from hubbub.sql.relation.ask_relation import RelationQuote, check_outer_statement, quote_relation, share_terms
from hubbub.sql.relation.find_inner import AskedRelation, bounds_named, find_relation
from hubbub.sql.relation.offer_rewrite import offer_rewrite
from hubbub.terms import CannotPromise, HubbubError, MissingParameter, OutOfRange, QueryError, exact

if TYPE_CHECKING:
    from hubbub.sql.connection import Connection


def price_statement(
    connection: Connection,
    text: str,
    terms: PriceTerms,
    totals: Mapping[str, object] | None,
    *,
    clipping: bool = False,
) -> Sequence[Alternative] | RelationQuote:
    """The question with each noise that it can have at that price, best first; or a statement around questions."""
    wanted = connection.population.noise if terms.noise == AUTO else terms.noise
    planned = plan_statement(connection, text, totals, noise_kinds(connection.limit, wanted), clipping=clipping)
    if not isinstance(planned, AskedRelation):
        return _rank(connection, planned, terms)
    part = share_terms(terms, planned)
    return quote_relation(planned, lambda plans: _rank(connection, plans, part))


def plan_statement(
    connection: Connection,
    text: str,
    totals: Mapping[str, object] | None,
    kinds: Sequence[NoiseKind],
    *,
    clipping: bool = False,
    offer: bool = True,
) -> Sequence[QueryPlan] | AskedRelation:
    """The plans of a question, one for each kind of noise; or a statement around some.

    A refusal names a statement near it that is answered, if there is one; unless none is to be offered.
    """
    connection.check_open()
    bounds, limit = {} if totals is None else _check_totals(totals), connection.limit
    norm = "L1" if limit.currency is Currency.PURE else "L2"
    choose = limit.whole.delta > 0

    def plan(inner: str, own: Mapping[str, Fraction]) -> Sequence[QueryPlan]:
        return plan_kinds(
            inner, connection.dataset, kinds, totals=own, clipping=clipping, norm=norm, choose_keys=choose
        )

    try:
        return plan(text, bounds)
    except QueryError as error:
        refusal = error
    unused = set(bounds)

    def plan_inner(inner: str) -> Sequence[QueryPlan]:
        own = bounds_named(inner, bounds)
        unused.difference_update(own)
        return plan(inner, own)

    try:
        relation = find_relation(text, connection.dataset, plan_inner, refusal)
    except QueryError as error:
        if not offer:
            raise
        raise offer_rewrite(
            text, connection.dataset, lambda near: _is_answered_at_all(connection, near, kinds), error
        ) from None
    if unused:
        raise refusal  # a bound that no private question has a column for would silently be left out
    return relation


def _is_answered_at_all(connection: Connection, text: str, kinds: Sequence[NoiseKind]) -> bool:
    """Whether a text is a question, or a statement around some that fits their columns."""
    terms = PriceTerms(epsilon=1)
    try:
        planned = plan_statement(connection, text, None, kinds, offer=False)
        if isinstance(planned, AskedRelation):
            check_outer_statement(quote_relation(planned, lambda plans: _rank(connection, plans, terms)))
    except HubbubError:
        return False
    return True


def _rank(connection: Connection, plans: Sequence[QueryPlan], terms: PriceTerms) -> Sequence[Alternative]:
    """The question with each noise that it can have at that price, best first.

    What is best may depend on what is spent; one that was answered already is best in any case, since it is free.
    """
    line = cache(connection.balance)
    priced: list[Alternative] = []
    refusals: list[HubbubError] = []
    for planned in plans:
        try:
            quote = quote_plan(*_price_plan(connection, planned, terms, line))
        except (MissingParameter, CannotPromise) as error:
            refusals.append(error)
        else:
            priced.append(alternative_of(quote, connection.population, line))
    if not priced:
        raise refusals[-1]
    ranked, by_spending = rank_alternatives(priced, for_error=terms.within is not None)
    if by_spending and len(ranked) > 1:
        ranked.sort(key=lambda each: not _is_answered(connection, each.quote))
    return ranked


def _price_plan(
    connection: Connection, planned: QueryPlan, terms: PriceTerms, line: Callable[[], AccountBalance]
) -> tuple[QueryPlan, Price]:
    if terms.within is None:
        return planned, price_plan(terms, planned.noise, connection.limit, line, choosing=planned.chooses_keys)
    from hubbub.sql.pricing.price_for_error import price_within

    return price_within(planned, terms, connection.limit)


def _is_answered(connection: Connection, quote: QueryQuote) -> bool:
    facts = AskJob(connection, quote).facts
    return connection.ledger.answered(request_for(facts, connection.account))


def _check_totals(given: Mapping[str, object]) -> dict[str, Fraction]:
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise OutOfRange(
            "totals is a mapping from columns of the answer to numbers.",
            why="A bound on a person's total belongs to a COUNT or SUM that is told.",
            fix='Write totals={"n": 100}.',
        )
    limits.check_ordinary(**{f"totals[{name!r}]": value for name, value in given.items()})
    return {name: exact(value, name=f"totals[{name!r}]") for name, value in given.items()}
