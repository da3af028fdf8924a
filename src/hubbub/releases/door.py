"""The one door: what reads private rows is bound, charged, run, stored and shown here, and nowhere else."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from hubbub.ledger import Account, AccountLike, Amount, Pool, Request, Reservation, fingerprint
from hubbub.releases.jobs import Job, JobFacts, Progress, no_progress
from hubbub.terms import BelowLeastPrice, BudgetConflict, BudgetExceeded, NeedsOwner, NoAnswer, NoBound

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class JobQuote:
    """What a job would cost each population, whether its answer is there already, and why it would be refused."""

    costs: Mapping[str, Amount]
    repeated: bool
    refusal: str = ""


def release_job(
    job: Job[T], account: AccountLike | None, *, fresh: bool = False, progress: Progress = no_progress
) -> T:
    """Charge a job, run it, store what it gives, and show that; the same job again is free, unless it is ``fresh``.

    Without an account nothing is charged, and the receipt is None.

    Guarantee: no private row is read before the charge is durable, nothing is shown that the book does not hold, and
    nothing is refunded.
    Because: ``docs/proofs/ledger.md``, with the filters of [WRRW23, Thm. 1] and [RRUV16, Thm. 3.6]; ``run`` is the only
    code of a job that reads rows, and it is called here alone.
    """
    job.bind()
    if account is None:
        return job.show(job.run(progress), None, repeated=False)
    payer = Account.of(account)
    request = request_for(job.facts, payer, fresh=fresh)
    progress("planned")
    stored = payer.ledger.reserve(request)
    if isinstance(stored, Reservation):
        progress("charged")
        stored = payer.ledger.store(stored, _run_charged(job, payer, stored, progress))
    progress("stored")
    return job.show(stored.answer, stored.receipt, repeated=stored.repeated)


def quote_job(job: Job[T], account: AccountLike) -> JobQuote:
    """What ``release_job`` would do with the same job: free, nothing is written and no row is read."""
    job.bind()
    payer = Account.of(account)
    request = request_for(job.facts, payer)
    repeated = payer.ledger.answered(request)
    costs: Mapping[str, Amount] = {}
    with suppress(BelowLeastPrice, BudgetConflict, BudgetExceeded, NoBound):  # told as the refusal
        costs = payer.ledger.preview(request)
    return JobQuote(costs, repeated, refusal_of([job], payer))


def check_jobs(jobs: Sequence[Job[T]], account: AccountLike, *, fresh: bool = False) -> None:
    """Refuse jobs that do not fit together into every budget, share and window, before the first is charged."""
    payer = Account.of(account)
    payer.ledger.check_together([request_for(job.facts, payer, fresh=fresh) for job in jobs])


def refusal_of(jobs: Sequence[Job[T]], account: AccountLike) -> str:
    """Why the ledger would refuse these jobs together; nothing if it would not. Free, and nothing is written."""
    try:
        check_jobs(jobs, account)
    except (BelowLeastPrice, BudgetConflict, BudgetExceeded, NeedsOwner, NoBound) as error:
        return f"It would be refused: {error.what} {error.fix}"
    return ""


def request_for(facts: JobFacts, payer: Account, *, fresh: bool = False) -> Request:
    """What a job asks of the ledger of an account."""
    pool = plan_pool(payer) if facts.fixed_in_advance else Pool.QUESTIONS
    identity = {"once": secrets.token_hex(16)} if facts.identity is None else facts.identity
    return Request(
        event=facts.event,
        fingerprint=fingerprint(**identity),
        question="" if facts.question is None else fingerprint(**facts.question),
        population=payer.population,
        project=payer.project,
        analyst=payer.analyst,
        pool=pool,
        size=facts.size,
        delta=facts.delta if pool is Pool.PLANS else Fraction(0),
        tail=facts.tail,
        stated=facts.stated,
        refines=facts.refines,
        patience=facts.seconds,
        title=facts.title,
        fresh=fresh,
        chosen=facts.chosen,
    )


def plan_pool(payer: Account) -> Pool:
    """What a plan is paid from: the pool for plans, if the owner set a part aside for them; else that for questions."""
    population = payer.ledger.populations().get(payer.population)  # if it is not there, the ledger will say so
    return Pool.PLANS if population is None or population.pools.get(Pool.PLANS) else Pool.QUESTIONS


def _run_charged(job: Job[T], payer: Account, reservation: Reservation, progress: Progress) -> str:
    """What a run gives; one that failed is settled, and one that was stopped is resumed under the same charge.

    Every failure is one: of which kind it is may depend on rows, and its words may quote one.
    """
    with suppress(Exception):
        return job.run(progress)
    payer.ledger.fail(reservation, "the engine gave no answer")
    raise NoAnswer(  # raised outside of a handler: no error that may quote a row hangs on it
        "the engine gave no answer within its time and memory, and the question is charged.",
        why="Whether it ends may depend on the data, so a refund would tell something about them.",
        fix="Ask for less at once, or let the owner allow more time or memory.",
    )
