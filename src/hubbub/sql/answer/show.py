"""Stored answer -> release: what was measured, what it cost, what holds; all post-processing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from hubbub.ledger import AccountBalance
from hubbub.releases import Noise, NoisyColumn, NoisyTable, Release, formulas
from hubbub.sql.answer.rows import AnswerPart, AnswerRows, part_of
from hubbub.sql.compiler.query_plan import QuestionPlan
from hubbub.sql.measurement import LEVELS, NoisyResult, Quantiles, public_keys, read
from hubbub.sql.pricing.error_prediction import level_notes
from hubbub.sql.quote import QueryQuote
from hubbub.terms import Receipt, root_of


def show_answer(
    quote: QueryQuote, answer: str, receipt: Receipt | None, balance: AccountBalance, *, repeated: bool
) -> Release:
    """The release of a stored answer."""
    return release(quote, read(answer, quote.plans), receipt, _budget_left(balance), repeated=repeated)


def example_answer(quote: QueryQuote) -> Release:
    """An answer with one row of made-up zeros: its columns are those of the answer, before anything is charged."""
    return release(quote, [_example_result(plan) for plan in quote.plans], None, "", repeated=False)


def _example_result(plan: QuestionPlan) -> NoisyResult:
    nothing = ((0.0,),) * len(LEVELS)
    quantiles = tuple(Quantiles((0.0,), nothing, nothing) for _ in plan.quantiles)
    people = () if plan.selection is None or plan.selection.weighted else (0,)
    if plan.measured:
        sizes = (plan.cells_of(level.kept) for level in plan.measured for _ in plan.measures)
        return NoisyResult(public_keys(plan.keys), tuple((0,) * size for size in sizes), ())
    return NoisyResult(((None,) * len(plan.keys),), ((0,),) * len(plan.measures), quantiles, people=people)


def release(
    quote: QueryQuote, results: Sequence[NoisyResult], receipt: Receipt | None, budget_left: str, *, repeated: bool
) -> Release:
    """The answer to a question from what its plans measured."""
    planned = quote.planned
    parts = [part_of(*each) for each in zip(planned.plans, quote.spent, results, strict=True)]
    [whole, *others] = [AnswerRows.of(part) for part in parts]
    if others:
        cut = (planned.order, planned.limit, planned.offset)
        whole = AnswerRows.stacked([whole, *others], *cut).selected(None, *cut)
    return Release(
        keys=whole.keys,
        measures=whole.measures,
        columns=whole.columns,
        guarantee=quote.guarantee,
        receipt=receipt,
        question=planned.text,
        repeated=repeated,
        notes=tuple(dict.fromkeys((*_plan_notes(planned.plans), *_room_notes(results)))),
        parameters=_shown_parameters(quote),
        budget_left=budget_left,
        clipped={name: words for part in parts for name, words in _clamped_shares(part)},
        looked_at=whole.looked_at,
    )


def _plan_notes(plans: Sequence[QuestionPlan]) -> Iterator[str]:
    for plan in plans:
        yield from (*plan.notes, *level_notes(plan))


def _room_notes(results: Sequence[NoisyResult]) -> Iterator[str]:
    """Where fewer of the chosen keys are told than there are."""
    for result in results:
        if result.left_out is not None:
            which = f"the {len(result.keys):,} with the most people, by their noisy numbers"
            yield f"More groups were chosen than an answer has room for: {which}, are told."


def _shown_parameters(quote: QueryQuote) -> dict[str, str]:
    price = quote.price
    given = {"epsilon": price.epsilon, "delta": price.delta or None, "rho": price.rho}
    parameters = {name: f"{float(value):g}" for name, value in given.items() if value is not None}
    for i, plan in enumerate(quote.planned.plans):
        label = "bounding" if len(quote.planned.plans) == 1 else f"bounding of part {i + 1}"
        parameters[label] = plan.bound_words
    for plan, spent in zip(quote.planned.plans, quote.spent, strict=True):
        if spent.chooser is not None and plan.selection is not None:
            parameters["choice of keys"] = plan.selection.words()
            parameters["threshold for keys"] = (
                f"about {-(-spent.chooser.threshold // spent.chooser.weights.one)} people"
            )
    return parameters


def _budget_left(line: AccountBalance) -> str:
    if line.epsilon is not None and line.limit is not None:
        return f"epsilon {float(line.limit.budget.epsilon or Fraction(0)) - line.epsilon:.4g}"
    return f"rho {float(line.left.parts()[0]):.4g}"


def _clamped_shares(part: AnswerPart) -> Iterator[tuple[str, str]]:
    """What share of each value was clamped, over all groups together, where that was paid for."""
    groups = len(part.keys)
    for clamped in part.plan.clamped if groups else ():
        totals = tuple(
            NoisyColumn(
                m.name, m.step, Noise(m.noise.distribution, root_of(m.noise.scale**2 * groups)), (sum(m.values),)
            )
            for m in (part.measures[clamped.beyond], part.measures[clamped.all])
        )
        share, table = formulas.Over(formulas.Ref(0), formulas.Ref(1)), NoisyTable((), totals, 1, ())
        (share_with_interval,), ((low,), (high,)) = share.evaluate(table), share.interval(table, 0.95)
        if share_with_interval is None or low is None or high is None:
            yield clamped.name, "how many values were clamped cannot be told from noise."
            continue
        ends = [100 * min(1.0, max(0.0, float(end))) for end in (share_with_interval, low, high)]
        yield clamped.name, f"about {ends[0]:.2g}% of its values ({ends[1]:.2g}% to {ends[2]:.2g}%) were clamped."
