"""A text -> what it would cost: planned with each noise that it can have, priced, and ranked; nothing is charged.

A statement around private questions is priced question by question, each for an equal share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

from hubbub.accounting import Currency, Limit
from hubbub.ledger import AccountBalance
from hubbub.relations import limits
from hubbub.releases import request_for
from hubbub.sql.compiler.query_plan import NoiseKind
from hubbub.sql.jobs import AskJob
from hubbub.sql.pricing.count_first import CountFirst, count_terms
from hubbub.sql.pricing.noise_choice import Alternative, alternative_of, rank_alternatives
from hubbub.sql.pricing.price import AUTO, Price, PriceTerms, noise_kinds, price_plan, shares_of_accounts
from hubbub.sql.pricing.price_for_error import lacks_count, price_within
from hubbub.sql.quote import QueryPlan, QueryQuote, plan_kinds, quote_plan
from hubbub.sql.relation.ask_relation import RelationQuote, check_outer_statement, quote_relation, share_terms
from hubbub.sql.relation.find_inner import AskedRelation, bounds_named, find_relation
from hubbub.sql.relation.offer_rewrite import offer_rewrite
from hubbub.terms import CannotPromise, HubbubError, MissingParameter, OutOfRange, QueryError, exact

if TYPE_CHECKING:
    from hubbub.sql.connection import Connection

_WORTH_TELLING = 1.05  # times that an error is smaller


def price_statement(
    connection: Connection,
    text: str,
    terms: PriceTerms,
    totals: Mapping[str, object] | None,
    *,
    clipping: bool = False,
) -> Sequence[Alternative] | RelationQuote | CountFirst:
    """The question with each noise that it can have at that price, best first; or a statement around questions.

    One whose price hangs on how many rows there are is priced in two steps.
    """
    wanted = connection.population.noise if terms.noise == AUTO else terms.noise
    kinds = noise_kinds(connection.limit, wanted)
    planned = plan_statement(connection, text, totals, kinds, clipping=clipping)
    if not isinstance(planned, AskedRelation):
        if terms.within is not None and terms.assume is None and lacks_count(planned[0]):
            return CountFirst(text, _price_count(connection, text, kinds, terms), planned, terms)
        return rank_plans(connection, planned, terms)
    part = share_terms(terms, planned)
    return quote_relation(planned, lambda plans: rank_plans(connection, plans, part))


def _price_count(
    connection: Connection, text: str, kinds: Sequence[NoiseKind], terms: PriceTerms
) -> Sequence[Alternative]:
    """The count that is bought before the averages of a question."""
    plans = plan_kinds(
        text, connection.dataset, kinds, totals={}, clipping=False, norm=_norm(connection), count_first=True
    )
    return rank_plans(connection, plans, count_terms(terms, connection.limit))


def _norm(connection: Connection) -> str:
    """In which a person's totals are bounded."""
    return "L1" if connection.limit.currency is Currency.PURE else "L2"


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
    bounds = {} if totals is None else _check_totals(totals)
    norm, choose = _norm(connection), connection.limit.whole.delta > 0

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
            check_outer_statement(quote_relation(planned, lambda plans: rank_plans(connection, plans, terms)))
    except HubbubError:
        return False
    return True


def rank_plans(connection: Connection, plans: Sequence[QueryPlan], terms: PriceTerms) -> Sequence[Alternative]:
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
    totals = any(plan.levels for planned in plans for plan in planned.plans)
    known = [each for each in priced if totals and _is_answered(connection, each.quote)]  # as sums of what was told
    ranked, by_spending = rank_alternatives(known or priced, for_error=terms.within is not None)
    if by_spending and len(ranked) > 1:
        ranked.sort(key=lambda each: not _is_answered(connection, each.quote))
    return ranked


def share_note(connection: Connection, ranked: Sequence[Alternative], terms: PriceTerms) -> str:
    """Where a share was taken of rho, and the same share of epsilon would tell more: by how much; else nothing."""
    if terms.share is None or connection.limit.currency is not Currency.EITHER:
        return ""
    _, by_epsilon = shares_of_accounts(terms, _present_limit(connection))
    other = rank_plans(connection, [each.quote.planned for each in ranked], by_epsilon)[0]
    times = ranked[0].error / other.error if other.error else 1.0
    if times < _WORTH_TELLING or not other.fits:
        return ""
    closes = ", and uses up the account of rho for good" if other.closes else ""
    epsilon = float(exact(by_epsilon.epsilon, name="epsilon"))
    return f"The same share of epsilon (epsilon={epsilon:.4g}) has an error {times:.2g} times smaller{closes}."


def _present_limit(connection: Connection) -> Limit:
    return connection.balance().limit or connection.limit


def _price_plan(
    connection: Connection, planned: QueryPlan, terms: PriceTerms, line: Callable[[], AccountBalance]
) -> tuple[QueryPlan, Price]:
    if terms.within is None:
        return planned, price_plan(terms, planned.noise, connection.limit, line, choosing=planned.chooses_keys)
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
