"""What a question would cost and how exact it would be, before anything is charged or read."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from hubbub.accounting import Amount, Currency, Limit, cost_both_ways, cost_in
from hubbub.ledger import AccountBalance
from hubbub.mechanisms import WeightedPartitionSelection
from hubbub.render import Document, Json, Section, TextTable
from hubbub.sql.compiler.query_plan import KeySelection, QuestionPlan, readings_in
from hubbub.sql.error_prediction import Predicted, mechanism_words, predict_errors
from hubbub.sql.noise_allocation import NoiseAllocation
from hubbub.sql.quote import QueryQuote
from hubbub.terms import Real, exact, fraction_of


@dataclass(frozen=True, slots=True)
class PreviewColumn:
    """A column before it is asked for: what it is, its mechanism, and how exact it will be."""

    name: str
    about: str
    mechanism: str
    predicted: Predicted


@dataclass(frozen=True, slots=True)
class Preview(Document):
    """Cost, budget before and after, mechanism and error of each column, bounds and thresholds; free."""

    question: str
    guarantee: str
    cost: Amount
    currency: Currency
    line: AccountBalance
    columns: tuple[PreviewColumn, ...]
    rows: tuple[int | None, ...]
    bounds: tuple[str, ...]
    notes: tuple[str, ...]
    confidence: float
    repeated: bool = False
    refused: str = ""  # why the owner's rules refuse it, whatever is left

    @property
    def title(self) -> str:
        """What it is about."""
        return "Before you ask"

    @property
    def affordable(self) -> bool:
        """Whether it fits into what is left, and the owner's rules let one question cost as much or as little."""
        return not self.refused and self.line.limit is not None and self.line.limit.fits(self.line.spent + self.cost)

    @property
    def errors(self) -> dict[str, float | None]:
        """The error of each noisy column at the confidence; None where it depends on the data."""
        return {column.name: column.predicted.error for column in self.columns}

    def sections(self) -> tuple[Section, ...]:
        """Errors first, then the cost, then what was bounded."""
        header = ("column", f"error ({float(100 * self.confidence):g}%)")
        cells = tuple((c.name, c.predicted.words) for c in self.columns)
        return (
            Section("How exact", (self._shape(),), TextTable(header, cells)),
            Section(
                "Where noise is added",
                tuple(f"{c.name}: {c.about}. {_capitalized(c.mechanism)}." for c in self.columns),
            ),
            Section("What it costs", self._cost_words()),
            Section("What is bounded", (*self.bounds, *self.notes)),
        )

    def to_json(self) -> dict[str, Json]:
        """Everything as one JSON document."""
        return {
            "kind": "preview",
            "question": self.question,
            "guarantee": self.guarantee,
            "cost": {self._unit(): float(self.cost.parts()[0]), "delta": float(self.cost.parts()[1])},
            "left_before": float(self.line.left.parts()[0]),
            "left_after": float((self.line.left - self.cost).parts()[0]) if self.affordable else None,
            "affordable": self.affordable,
            "refused": self.refused or None,
            "already_answered": self.repeated,
            "confidence": self.confidence,
            "rows": list(self.rows),
            "columns": [
                {
                    "name": c.name,
                    "about": c.about,
                    "mechanism": c.mechanism,
                    "error": c.predicted.error,
                    "words": c.predicted.words,
                }
                for c in self.columns
            ],
            "bounds": list(self.bounds),
            "notes": list(self.notes),
        }

    def _shape(self) -> str:
        if any(rows is None for rows in self.rows):
            return "How many rows the answer has is decided by noisy counts of people."
        total = sum(rows for rows in self.rows if rows is not None)
        return f"The answer has {total:,} row{'s' if total != 1 else ''}, whatever the data are."

    def _unit(self) -> str:
        return "rho" if self.currency is Currency.CONCENTRATED else "epsilon"

    def _cost_words(self) -> tuple[str, ...]:
        lines = [f"By itself: {self.guarantee}"]
        if self.repeated:
            return (*lines, "It was answered before: asking again is free.")
        left, cost = float(self.line.left.parts()[0]), float(self.cost.parts()[0])
        share = f" ({100 * cost / left:.2g}% of what is left)" if left else ""
        lines.append(f"From the budget of {self.line.name!r}: {self._unit()} {cost:.4g} of {left:.4g}{share}.")
        if self.refused:
            lines.append(self.refused)
        elif not self.affordable:
            lines.append("That does not fit. Ask for a larger error, or request more budget.")
        else:
            lines.append(f"About {int(left / cost):,} questions like this one fit.")
        limit: Limit | None = self.line.limit
        if limit is not None and (before := limit.epsilon(self.line.spent)) is not None:
            after = limit.epsilon(self.line.spent + self.cost)
            lines.append(f"Everything told so far: epsilon {before:.4g}; with this answer {after:.4g}.")
        return tuple(lines)


def preview_quote(
    quote: QueryQuote, line: AccountBalance, *, confidence: Real, assume: Real | None, repeated: bool, refused: str = ""
) -> Preview:
    """The preview of a priced question."""
    level = float(fraction_of(confidence, name="confidence"))
    reckoned = None if assume is None else exact(assume, name="assume")
    pairs = list(zip(quote.planned.plans, quote.spent, strict=True))
    return Preview(
        question=quote.planned.text,
        guarantee=quote.guarantee.describe(),
        cost=_cost_of(quote, line),
        currency=line.currency,
        line=line,
        columns=tuple(column for plan, spent in pairs for column in _preview_columns(plan, spent, level, reckoned)),
        rows=tuple(plan.size for plan, _ in pairs),
        bounds=tuple(dict.fromkeys(words for plan, spent in pairs for words in _bound_words(plan, spent))),
        notes=tuple(dict.fromkeys(note for plan, _ in pairs for note in _plan_notes(plan))),
        confidence=level,
        repeated=repeated,
        refused="" if repeated else refused,
    )


def _cost_of(quote: QueryQuote, line: AccountBalance) -> Amount:
    """What would be charged, as the ledger works it out."""
    neighbours = quote.planned.dataset.neighbours
    if line.currency is not Currency.EITHER or line.limit is None:
        return cost_in(line.currency, quote.event, neighbours)
    return cost_both_ways(line.limit, quote.event, neighbours, tail=quote.tail, stated=quote.stated)


def _preview_columns(
    plan: QuestionPlan, spent: NoiseAllocation, level: float, reckoned: Fraction | None
) -> list[PreviewColumn]:
    predicted = iter(predict_errors(plan, spent, confidence=level, assume=reckoned))
    return [
        PreviewColumn(output.name, output.about, mechanism_words(plan, spent, output.value), next(predicted))
        for output in plan.outputs
        if readings_in(output.value)
    ]


def _capitalized(words: str) -> str:
    return words[:1].upper() + words[1:]


def _bound_words(plan: QuestionPlan, spent: NoiseAllocation) -> list[str]:
    words = [plan.bounding.words().capitalize() + "."]
    if spent.chooser is not None and plan.selection is not None:
        words.append(plan.selection.words().capitalize() + ".")
        words.append(_choice_words(plan.selection, spent.chooser))
    clamped = [output.about for output in plan.outputs if " in [" in output.about]
    return [*words, *(f"{about}: values beyond are clamped." for about in clamped)]


def _choice_words(selection: KeySelection, chooser: WeightedPartitionSelection) -> str:
    least, sure = (-(-number // chooser.weights.one) for number in (chooser.threshold, chooser.error(0.95)))
    words = f"A group appears if its noisy number of people reaches {least:,}; one of {sure:,} people appears with 95%"
    if not selection.weighted:
        return f"{words} confidence."
    return (
        f"{words} confidence, if all of them are in {selection.keys:,} groups. Who is in fewer counts for more in "
        f"each: in one alone, for {chooser.weights.of(1) / chooser.weights.one:.3g}."
    )


def _plan_notes(plan: QuestionPlan) -> list[str]:
    return [*plan.notes, *(note for output in plan.outputs for note in output.notes)]
