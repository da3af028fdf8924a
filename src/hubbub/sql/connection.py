"""A connection: ask in SQL, preview for free, see the budget."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from hubbub.accounting import Currency
from hubbub.ledger import Account, AccountBalance, BudgetView, Ledger, Population
from hubbub.relations import limits
from hubbub.releases import Release, quote_job, release_job, request_for
from hubbub.schema import Dataset, Description, describe
from hubbub.sql.compiler.query_plan import NoiseKind
from hubbub.sql.explain_plan import PlanExplanation, explain_plan, explained_question
from hubbub.sql.jobs import AskJob
from hubbub.sql.noise_choice import Alternative, alternative_of, rank_alternatives
from hubbub.sql.price import AUTO, Price, PriceTerms, noise_kinds, price_plan
from hubbub.sql.quote import QueryPlan, QueryQuote, plan_kinds, quote_plan
from hubbub.terms import (
    CannotPromise,
    HubbubError,
    MissingParameter,
    NotAllowed,
    OutOfRange,
    Real,
    SourceUnavailable,
    exact,
)

if TYPE_CHECKING:
    from hubbub.sql.bounds.suggestion import Suggestion
    from hubbub.sql.preview import Preview
    from hubbub.sql.workload.release import WorkloadRelease

SECONDS = 300.0


class Connection:
    """A dataset, its engine and its ledger, for one analyst of one project.

    Guarantee: whatever is asked, everything that is told about the population stays within its budget, for its unit and
    neighbours.
    Because: [WRRW23, Thm. 1] through the ledger, which is charged before data is read; each answer is as private as its
    event says by ``docs/proofs/sql.md``.
    Not covered: running time.
    """

    def __init__(
        self,
        dataset: Dataset,
        engine: Any,
        ledger: Ledger,
        *,
        project: str = "default",
        analyst: str = "owner",
        seconds: float = SECONDS,
    ) -> None:
        self.dataset, self.engine, self.ledger = dataset, engine, ledger
        self.project, self.analyst, self.seconds = project, analyst, seconds
        self.limit = self.population.first_limit  # its currency, and the shares of its delta, never change
        self.rank_secret = secrets.token_hex(16)
        self._closed = False
        self.watch: Callable[[str], None] = lambda stage: None  # told "planned", "charged", "reading", "stored"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __copy__(self) -> Self:
        """Itself: it holds a ledger and an engine. scikit-learn copies the parameters of estimators."""
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        """Itself."""
        return self

    def __repr__(self) -> str:
        return f"<connection to {self.dataset.name!r}: {len(self.dataset.tables)} tables, {self.ledger!r}>"

    def close(self) -> None:
        """Let engine and ledger go; nothing can be asked afterwards."""
        self._closed = True
        self.engine.close()
        self.ledger.close()

    # ------------------------------------------------------------ asking

    def sql(
        self,
        text: str,
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        rho: Real | None = None,
        within: Real | None = None,
        share: Real | None = None,
        noise: str = AUTO,
        confidence: Real = 0.95,
        fresh: bool = False,
        totals: Mapping[str, object] | None = None,
        assume: Real | None = None,
        clipping: bool = False,
    ) -> Release:
        """Answer a question, for a price, for a ``share`` of the budget, or (``within``) with an error.

        ``epsilon`` means that by itself the answer is (epsilon, delta)-DP, with the least error that any noise gives
        for that; ``delta`` is the question's share of the budget's unless it is stated, and is not needed by Laplace
        noise. ``noise="laplace"`` or ``noise="gaussian"`` takes that one.

        ``totals`` bounds what one person adds up to in a COUNT or SUM, by its column. ``assume`` is a number of rows
        per group that averages may reckon with when they promise an error. ``clipping`` spends a part of the price on
        noisy counts of the values beyond their bounds, and tells what share was clamped. ``fresh`` pays for new noise
        although the same question was answered before.
        """
        if explained_question(text) is not None:
            raise NotAllowed(
                "EXPLAIN PRIVATE is no question: it explains one, for free.",
                why="What sql returns is an answer with a receipt.",
                fix="Use explain(text), or `hubbub query`, which tells the two apart.",
            )
        terms = PriceTerms(
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            within=within,
            share=share,
            noise=noise,
            confidence=confidence,
            assume=assume,
        )
        return self.answer(self._priced(text, terms, totals, clipping=clipping)[0].quote, fresh=fresh)

    def preview(
        self,
        text: str,
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        rho: Real | None = None,
        within: Real | None = None,
        share: Real | None = None,
        noise: str = AUTO,
        confidence: Real = 0.95,
        totals: Mapping[str, object] | None = None,
        assume: Real | None = None,
        clipping: bool = False,
    ) -> Preview:
        """What the same call of ``sql`` would cost and how exact it would be: free, and no data is read."""
        from hubbub.sql.preview import preview_quote

        terms = PriceTerms(
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            within=within,
            share=share,
            noise=noise,
            confidence=confidence,
            assume=assume,
        )
        alternatives = self._priced(text, terms, totals, clipping=clipping)
        job_quote = quote_job(AskJob(self, alternatives[0].quote), self.account)
        return preview_quote(
            alternatives,
            self.balance(),
            confidence=confidence,
            assume=assume,
            repeated=job_quote.repeated,
            refused=job_quote.refusal,
        )

    def explain(self, text: str) -> PlanExplanation:
        """Where bounds, limits and noise enter the plan of a question: free, and no data is read.

        ``text`` may begin with EXPLAIN PRIVATE, and need not.
        """
        inner = explained_question(text)
        kinds = noise_kinds(self.limit, AUTO)[-1:]
        return explain_plan(self._planned(text if inner is None else inner, None, kinds)[0])

    def suggest_bounds(
        self,
        table: str,
        *,
        columns: Sequence[str] | None = None,
        epsilon: Real | None = None,
        delta: Real | None = None,
        rho: Real | None = None,
        noise: str = AUTO,
        fresh: bool = False,
    ) -> Suggestion:
        """Caps and clamps for a table with their reasons, from noisy histograms of people: private, and charged."""
        from hubbub.sql.bounds.suggest import suggest_bounds

        self.check_open()
        return suggest_bounds(
            self, table, columns=columns, epsilon=epsilon, delta=delta, rho=rho, noise=noise, fresh=fresh
        )

    def workload(
        self,
        queries: Sequence[str],
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        rho: Real | None = None,
        noise: str = AUTO,
        names: Sequence[str] | None = None,
        fresh: bool = False,
    ) -> WorkloadRelease:
        """Many counting questions about one table, answered together with far less noise than one by one."""
        from hubbub.sql.workload.release import workload

        self.check_open()
        return workload(self, queries, epsilon=epsilon, delta=delta, rho=rho, noise=noise, names=names, fresh=fresh)

    @property
    def budget(self) -> BudgetView:
        """Spent and left."""
        return self.ledger.budget(self.dataset.population)

    @property
    def account(self) -> Account:
        """The same people's budget, for estimators and other things that take ``account=``."""
        return Account(
            ledger=self.ledger, population=self.dataset.population, project=self.project, analyst=self.analyst
        )

    def describe(self) -> Description:
        """What is public about the dataset."""
        return describe(self.dataset)

    def remeasure(
        self,
        release: Release,
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        rho: Real | None = None,
        within: Real | None = None,
        confidence: Real = 0.95,
        totals: Mapping[str, object] | None = None,
        assume: Real | None = None,
    ) -> Release:
        """The answer to the same question as exact as this price would buy it, for the difference to what was paid.

        The new numbers are combined with the old ones by their precision. Only sums and counts with Gaussian noise for
        public keys add up like that; for others the full price is due.
        """
        from hubbub.sql.remeasure import remeasure_release

        gaussian = any(measure.noise.distribution == NoiseKind.GAUSSIAN for measure in release.measures)
        terms = PriceTerms(
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            within=within,
            noise=NoiseKind.GAUSSIAN if gaussian else AUTO,
            confidence=confidence,
            assume=assume,
        )
        [alternative, *_] = self._priced(release.question, terms, totals)
        return remeasure_release(self, release, alternative.quote)

    # ------------------------------------------------------------ the way through

    def _planned(
        self,
        text: str,
        totals: Mapping[str, object] | None,
        kinds: Sequence[NoiseKind],
        *,
        clipping: bool = False,
    ) -> list[QueryPlan]:
        self.check_open()
        bounds = {} if totals is None else _check_totals(totals)
        norm = "L1" if self.limit.currency is Currency.PURE else "L2"
        choose = self.limit.whole.delta > 0
        return plan_kinds(text, self.dataset, kinds, totals=bounds, clipping=clipping, norm=norm, choose_keys=choose)

    def _priced(
        self, text: str, terms: PriceTerms, totals: Mapping[str, object] | None, *, clipping: bool = False
    ) -> list[Alternative]:
        """The question with each noise that it can have at that price, best first.

        What is best may depend on what is spent; one that was answered already is best in any case, since it is free.
        """
        line = cache(self.balance)
        kinds = noise_kinds(self.limit, self.population.noise if terms.noise == AUTO else terms.noise)
        plans = self._planned(text, totals, kinds, clipping=clipping)
        priced: list[Alternative] = []
        refusals: list[HubbubError] = []
        for planned in plans:
            try:
                quote = quote_plan(*self._price_plan(planned, terms, line))
            except (MissingParameter, CannotPromise) as error:
                refusals.append(error)
            else:
                priced.append(alternative_of(quote, self.population, line))
        if not priced:
            raise refusals[-1]
        ranked, by_spending = rank_alternatives(priced, for_error=terms.within is not None)
        if by_spending and len(ranked) > 1:
            ranked.sort(key=lambda each: not self._is_answered(each.quote))
        return ranked

    def _price_plan(
        self, planned: QueryPlan, terms: PriceTerms, line: Callable[[], AccountBalance]
    ) -> tuple[QueryPlan, Price]:
        if terms.within is None:
            return planned, price_plan(terms, planned.noise, self.limit, line, choosing=planned.chooses_keys)
        from hubbub.sql.price_for_error import price_within

        return price_within(planned, terms, self.limit)

    def _is_answered(self, quote: QueryQuote) -> bool:
        facts = AskJob(self, quote).facts
        return self.ledger.answered(request_for(facts, self.account))

    @property
    def population(self) -> Population:
        """The people, with the rules of their budget as they are now."""
        return self.ledger.populations()[self.dataset.population]

    def balance(self) -> AccountBalance:
        """What is spent on questions, and what is left."""
        return self.ledger.balance(self.dataset.population)

    def check_open(self) -> None:
        """Refuse what a closed connection is asked."""
        if self._closed:
            raise SourceUnavailable(
                "the connection is closed.",
                why="Its engine and its ledger were let go, and nothing can be read or charged.",
                fix="Connect again with hb.connect(...).",
            )

    def answer(self, quote: QueryQuote, *, fresh: bool = False) -> Release:
        """Charge, run, store and show a priced question."""
        return release_job(AskJob(self, quote), self.account, fresh=fresh, progress=self.watch)


def _check_totals(given: Mapping[str, object]) -> dict[str, Fraction]:
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise OutOfRange(
            "totals is a mapping from columns of the answer to numbers.",
            why="A bound on a person's total belongs to a COUNT or SUM that is told.",
            fix='Write totals={"n": 100}.',
        )
    limits.check_ordinary(**{f"totals[{name!r}]": value for name, value in given.items()})
    return {name: exact(value, name=f"totals[{name!r}]") for name, value in given.items()}
