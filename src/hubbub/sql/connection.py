"""A connection: ask in SQL, preview for free, see the budget."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from hubbub.ledger import Account, AccountBalance, BudgetView, Ledger, Population
from hubbub.releases import Release, release_job
from hubbub.schema import Dataset, Description, describe
from hubbub.sql.compiler.query_plan import NoiseKind
from hubbub.sql.explain_plan import PlanExplanation, explain_plan, explained_question
from hubbub.sql.jobs import AskJob
from hubbub.sql.pricing.count_first import CountFirst
from hubbub.sql.pricing.price import AUTO, PriceTerms, noise_kinds
from hubbub.sql.pricing.priced_statement import plan_statement, price_statement, share_note
from hubbub.sql.quote import QueryQuote
from hubbub.sql.relation.ask_relation import RelationQuote, ask_relation, explain_relation, preview_relation
from hubbub.sql.relation.find_inner import AskedRelation
from hubbub.sql.two_steps import ask_in_steps, preview_in_steps, preview_ranked
from hubbub.terms import (
    NotAllowed,
    Real,
    SourceUnavailable,
)

if TYPE_CHECKING:
    from hubbub.sql.bounds.suggestion import Suggestion
    from hubbub.sql.count_preview import CountPreview
    from hubbub.sql.preview import Preview
    from hubbub.sql.relation.relation_preview import RelationExplanation, RelationPreview
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
        many = len(self.dataset.tables)
        return f"<connection to {self.dataset.name!r}: {many} table{'s' * (many > 1)}, {self.ledger!r}>"

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
        per group that averages may reckon with when they promise an error; without it, or declared rows, a noisy count
        is bought first. ``clipping`` spends a part of the price on
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
        priced = price_statement(self, text, terms, totals, clipping=clipping)
        if isinstance(priced, CountFirst):
            return ask_in_steps(self, priced, fresh=fresh)
        return self.answer(priced if isinstance(priced, RelationQuote) else priced[0].quote, fresh=fresh)

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
    ) -> Preview | RelationPreview | CountPreview:
        """What the same call of ``sql`` would cost and how exact it would be: free, and no data is read."""
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
        priced = price_statement(self, text, terms, totals, clipping=clipping)
        if isinstance(priced, RelationQuote):
            return preview_relation(self, priced, confidence=confidence, assume=assume)
        if isinstance(priced, CountFirst):
            return preview_in_steps(self, priced)
        preview = preview_ranked(self, priced, confidence=confidence, assume=assume)
        note = "" if preview.repeated else share_note(self, priced, terms)
        return replace(preview, notes=(*preview.notes, note)) if note else preview

    def explain(self, text: str) -> PlanExplanation | RelationExplanation:
        """Where bounds, limits and noise enter the plan of a question: free, and no data is read.

        ``text`` may begin with EXPLAIN PRIVATE, and need not.
        """
        inner = explained_question(text)
        kinds = noise_kinds(self.limit, AUTO)[-1:]
        planned = plan_statement(self, text if inner is None else inner, None, kinds)
        return explain_relation(planned) if isinstance(planned, AskedRelation) else explain_plan(planned[0])

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
        priced = price_statement(self, release.question, terms, totals)
        if isinstance(priced, CountFirst):
            raise NotAllowed(
                "an answer is measured again for a price, or with the number of rows that its error reckons with.",
                why="The price of this error hangs on a count, which is another question.",
                fix="Give assume=1000 (rows per group), or a price (epsilon=...).",
            )
        if isinstance(priced, RelationQuote):
            raise NotAllowed(
                "a statement around private questions cannot be measured again as a whole.",
                why="What is measured again is a private question.",
                fix="Measure its parts: db.remeasure(release.inner[0], ...), and ask again.",
            )
        return remeasure_release(self, release, priced[0].quote)

    # ------------------------------------------------------------ the way through

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

    def answer(self, quote: QueryQuote | RelationQuote, *, fresh: bool = False) -> Release:
        """Charge, run, store and show a priced question, or a statement around some."""
        if isinstance(quote, RelationQuote):
            return ask_relation(self, quote, fresh=fresh)
        return release_job(AskJob(self, quote), self.account, fresh=fresh, progress=self.watch)
