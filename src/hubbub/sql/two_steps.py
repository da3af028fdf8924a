"""Asks and previews a question in two steps: a count is bought, and what it tells decides the price of the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hubbub.ledger import amount_words
from hubbub.releases import Release, quote_job
from hubbub.sql.count_preview import CountPreview, LaterStep
from hubbub.sql.jobs import AskJob
from hubbub.sql.preview import Preview, preview_quote
from hubbub.sql.pricing.count_first import CountFirst
from hubbub.sql.pricing.noise_choice import Alternative
from hubbub.sql.pricing.priced_statement import rank_plans
from hubbub.terms import CannotPromise, Real, exact

if TYPE_CHECKING:
    from hubbub.sql.connection import Connection

_MANY = 10**9  # rows: an error that needs more is none that noise could keep
_SHOWN = (1_000, 10_000, 100_000)  # rows for which a preview tells what the second step would cost


def ask_in_steps(connection: Connection, asked: CountFirst, *, fresh: bool) -> Release:
    """Charge and answer the count, then the question at the price that follows; each is repeated for free.

    Guarantee: as private as both answers together, each of which is charged before it is read.
    Because: [WRRW23, Thm. 1] through the ledger: the price of the second step depends on released numbers alone.
    Not covered: that the second step fits; if it does not, or if the count tells too little, the count alone is paid.
    """
    AskJob(connection, _at_rows(connection, asked, _MANY).quote).bind()  # what no data could answer costs no count
    count = connection.answer(asked.count[0].quote)
    best = rank_plans(connection, asked.plans, asked.terms_after(count))[0]
    release = connection.answer(best.quote, fresh=fresh)
    return replace(release, notes=(*release.notes, asked.note(count)))


def preview_in_steps(connection: Connection, asked: CountFirst) -> Preview | CountPreview:
    """What is bought first and what may follow; once the count was bought, what does follow. Free: no data is read."""
    AskJob(connection, _at_rows(connection, asked, _MANY).quote).bind()
    confidence = asked.terms.confidence
    first = preview_ranked(connection, asked.count, confidence=confidence)
    if first.repeated:
        count = connection.answer(asked.count[0].quote)
        terms = asked.terms_after(count)
        ranked = rank_plans(connection, asked.plans, terms)
        preview = preview_ranked(connection, ranked, confidence=confidence, assume=terms.assume)
        return replace(preview, notes=(*preview.notes, asked.note(count)))
    later = tuple(_later_step(connection, asked, first, rows) for rows in _SHOWN)
    return CountPreview(
        asked.text, asked.within, asked.columns, float(exact(confidence, name="confidence")), first, later
    )


def preview_ranked(
    connection: Connection, ranked: Sequence[Alternative], *, confidence: Real, assume: Real | None = None
) -> Preview:
    """The preview of a priced question, whose alternatives come best first."""
    job_quote = quote_job(AskJob(connection, ranked[0].quote), connection.account)
    return preview_quote(
        ranked,
        connection.balance(),
        confidence=confidence,
        assume=assume,
        repeated=job_quote.repeated,
        refused=job_quote.refusal,
    )


def _later_step(connection: Connection, asked: CountFirst, first: Preview, rows: int) -> LaterStep:
    try:
        step = _at_rows(connection, asked, rows)
    except CannotPromise as error:
        return LaterStep(rows, error.what, fits=False)
    limit, spent = first.line.limit, first.line.spent + first.cost
    fits = limit is not None and limit.fits(spent + step.cost)
    return LaterStep(rows, amount_words(step.cost, first.currency), fits)


def _at_rows(connection: Connection, asked: CountFirst, rows: int) -> Alternative:
    """The best noise if every group has so many rows."""
    return rank_plans(connection, asked.plans, asked.terms_for(rows))[0]
