"""What a question would cost and how exact it would be, before anything is charged or read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self, TypeVar

from hubbub.accounting import UNKNOWN, Amount, Currency
from hubbub.ledger import AccountBalance, amount_words
from hubbub.mechanisms import WeightedPartitionSelection
from hubbub.render import Document, Json, Section, TextTable
from hubbub.sql.compiler.query_plan import KeySelection, QuestionPlan, readings_in
from hubbub.sql.pricing.error_prediction import Predicted, level_notes, mechanism_words, predict_errors
from hubbub.sql.pricing.noise_allocation import NoiseAllocation
from hubbub.sql.pricing.noise_choice import Alternative
from hubbub.sql.pricing.told_from_noise import floor_notes
from hubbub.sql.quote import QueryQuote
from hubbub.terms import Guarantee, Real, ZeroConcentratedDP, exact, fraction_of

Words = TypeVar("Words", str, tuple[str, ...])


@dataclass(frozen=True, slots=True)
class PreviewColumn:
    """A column before it is asked for: what it is, its mechanism, and how exact it will be."""

    name: str
    about: str
    mechanism: str
    predicted: Predicted


@dataclass(frozen=True, slots=True)
class PreviewNoise:
    """A noise that the question could have: what its columns' errors would be, what is charged, how many more fit."""

    name: str
    errors: tuple[str, ...]  # in words, column by column
    charged: str
    more: int
    closes: bool  # whether it closes the concentrated account for good

    def to_json(self) -> dict[str, Json]:
        """The same as JSON."""
        return {
            "noise": self.name,
            "errors": list(self.errors),
            "charged": self.charged,
            "more_like_it": self.more,
            "closes_concentrated_account": self.closes,
        }


@dataclass(frozen=True, slots=True)
class Preview(Document):
    """Cost, budget before and after, mechanism and error of each column, bounds and thresholds; free.

    ``noises`` are those that the question could have at that price, the one that it will have first.
    """

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
    noises: tuple[PreviewNoise, ...] = ()
    repeated: bool = False
    refused: str = ""  # why the ledger refuses it: the owner's rules, a budget, a share or a window

    @property
    def title(self) -> str:
        """What it is about."""
        return "Before you ask"

    @property
    def affordable(self) -> bool:
        """Whether it fits into what is left, and the owner's rules let one question cost as much or as little."""
        return not self.refused and self._fits_population

    @property
    def _fits_population(self) -> bool:
        return self.line.limit is not None and self.line.limit.fits(self.line.spent + self.cost)

    @property
    def errors(self) -> dict[str, float | None]:
        """The error of each noisy column at the confidence; None where it depends on the data."""
        return {column.name: column.predicted.error for column in self.columns}

    def with_refusal(self, change: Callable[[str], str]) -> Self:
        """The same, the ledger's refusal in the words of another surface."""
        return replace(self, refused=change(self.refused))

    def sections(self) -> tuple[Section, ...]:
        """Errors first, then the cost, then what was bounded."""
        header = ("column", f"error ({float(100 * self.confidence):g}%)")
        cells = _equal_lines((c.name, c.predicted.words) for c in self.columns)
        return (
            Section("How exact", (self._shape(),), TextTable(header, cells)),
            Section(
                "Where noise is added",
                tuple(f"{c.name}: {c.about}. {_capitalized(c.mechanism)}." for c in self.columns),
            ),
            Section("What it costs", self._cost_words()),
            *self._noise_sections(),
            Section("What is bounded", (*self.bounds, *self.notes)),
        )

    def to_json(self) -> dict[str, Json]:
        """Everything as one JSON document."""
        return {
            "kind": "preview",
            "question": self.question,
            "guarantee": self.guarantee,
            "cost": _cost_json(self.cost, self.currency),
            "left_before": _cost_json(self.line.left, self.currency),
            "left_after": _cost_json(self._left_after(), self.currency) if self.affordable else None,
            "affordable": self.affordable,
            "noises": [noise.to_json() for noise in self.noises],
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

    def _left_after(self) -> Amount:
        limit = self.line.limit
        return Amount() if limit is None else limit.left(self.line.spent + self.cost)

    def _cost_words(self) -> tuple[str, ...]:
        lines = [f"By itself: {self.guarantee}"]
        if self.repeated:
            return (*lines, "It was answered before: asking again is free.")
        limit = self.line.limit
        left = "nothing" if limit is None else limit.left_words(self.line.spent)
        lines.append(
            f"From the budget of {self.line.name!r}: {amount_words(self.cost, self.currency)}; {left} is left."
        )
        if self.refused and self._fits_population:
            lines.append(self.refused)
        elif not self.affordable:
            nothing = limit is None or limit.is_used_up(self.line.spent)
            lines.append(f"That does not fit. {'R' if nothing else 'Ask for a larger error, or r'}equest more budget.")
        elif self.noises:
            lines.append(f"After it, {self.noises[0].more:,} more like it fit.")
            if self.noises[0].closes:
                lines.append("After this, questions are added up in epsilon only: it uses up the account of rho.")
        if limit is not None and (before := limit.epsilon(self.line.spent)) is not None:
            after = f"; with this answer {limit.epsilon(self.line.spent + self.cost):.4g}" if self.affordable else ""
            lines.append(f"Everything told so far: epsilon {before:.4g}{after}.")
        return tuple(lines)

    def _noise_sections(self) -> tuple[Section, ...]:
        """The noises side by side, where there is a choice."""
        if len(self.noises) < 2 or self.repeated:
            return ()
        columns = _equal_lines(
            (column.name, tuple(each.errors[i].split(";")[0] for each in self.noises))
            for i, column in enumerate(self.columns)
        )
        header = ("noise", *(names for names, _ in columns), "charged", "more like it")
        rows = tuple(
            (each.name, *(errors[i] for _, errors in columns), each.charged, f"{each.more:,}")
            for i, each in enumerate(self.noises)
        )
        words = tuple(
            f"After {each.name} noise, questions are added up in epsilon only."
            for each in self.noises
            if each.closes and self.affordable
        )
        return (Section("With which noise", words, TextTable(header, rows)),)


def _equal_lines(lines: Iterable[tuple[str, Words]]) -> tuple[tuple[str, Words], ...]:
    """Names and words, with the names of equal words in one line."""
    names: dict[Words, list[str]] = {}
    for name, words in lines:
        names.setdefault(words, []).append(name)
    return tuple((", ".join(each), words) for words, each in names.items())


def _cost_json(amount: Amount, currency: Currency) -> dict[str, Json]:
    """A cost by the names that prices have; null where an account knows none."""
    (loss, own), (epsilon, tail) = (tuple(map(float, part)) for part in (amount.parts(), amount.basic_parts()))
    if currency is not Currency.EITHER:
        return {"rho" if currency is Currency.CONCENTRATED else "epsilon": loss, "delta": own}
    known = {"epsilon": amount.epsilon < UNKNOWN, "rho": amount.loss < UNKNOWN}
    return {
        "epsilon": epsilon if known["epsilon"] else None,
        "delta": own + tail,
        "rho": loss if known["rho"] else None,
    }


def preview_quote(
    alternatives: Sequence[Alternative],
    line: AccountBalance,
    *,
    confidence: Real,
    assume: Real | None,
    repeated: bool,
    refused: str = "",
) -> Preview:
    """The preview of a priced question, whose alternatives come best first."""
    level = float(fraction_of(confidence, name="confidence"))
    reckoned = None if assume is None else exact(assume, name="assume")
    best, quote = alternatives[0], alternatives[0].quote
    pairs = list(zip(quote.planned.plans, quote.spent, strict=True))
    return Preview(
        question=quote.planned.text,
        guarantee=_guarantee_words(quote.guarantee, best.cost, line.currency),
        cost=best.cost,
        currency=line.currency,
        line=line,
        columns=tuple(_quote_columns(quote, level, reckoned)),
        rows=tuple(plan.rows for plan, _ in pairs),
        bounds=tuple(dict.fromkeys(words for plan, spent in pairs for words in _bound_words(plan, spent))),
        notes=tuple(dict.fromkeys(_quote_notes(pairs, level, reckoned))),
        confidence=level,
        noises=tuple(_preview_noise(each, line, level, reckoned) for each in alternatives),
        repeated=repeated,
        refused="" if repeated else refused,
    )


def _guarantee_words(guarantee: Guarantee, cost: Amount, currency: Currency) -> str:
    """What the answer promises by itself: in epsilon where the budget is, with the rho of its noise in brackets."""
    if (
        currency is not Currency.EITHER
        or not isinstance(guarantee.holds, ZeroConcentratedDP)
        or cost.epsilon >= UNKNOWN
    ):
        return guarantee.describe()
    in_epsilon = replace(guarantee, holds=cost.measure(currency))
    return f"{in_epsilon.describe().removesuffix('.')} ({guarantee.holds.describe()})."


def _preview_noise(
    alternative: Alternative, line: AccountBalance, level: float, reckoned: Fraction | None
) -> PreviewNoise:
    errors = tuple(column.predicted.words for column in _quote_columns(alternative.quote, level, reckoned))
    charged = amount_words(alternative.cost, line.currency)
    return PreviewNoise(alternative.noise.value, errors, charged, alternative.more, alternative.closes)


def _quote_columns(quote: QueryQuote, level: float, reckoned: Fraction | None) -> list[PreviewColumn]:
    pairs = zip(quote.planned.plans, quote.spent, strict=True)
    return [column for plan, spent in pairs for column in _preview_columns(plan, spent, level, reckoned)]


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
    words = [_capitalized(plan.bound_words) + "."]
    if spent.chooser is not None and plan.selection is not None:
        words.append(plan.selection.words().capitalize() + ".")
        words.append(_choice_words(plan.selection, spent.chooser))
        if plan.measures or plan.curves:
            words.append("A first statement chooses groups; what is told is read afterwards, of the chosen ones alone.")
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


def _quote_notes(
    pairs: Sequence[tuple[QuestionPlan, NoiseAllocation]], level: float, reckoned: Fraction | None
) -> list[str]:
    return [
        note
        for plan, spent in pairs
        for note in (*_plan_notes(plan), *floor_notes(plan, spent, confidence=level, assume=reckoned))
    ]


def _plan_notes(plan: QuestionPlan) -> list[str]:
    return [*plan.notes, *level_notes(plan), *(note for output in plan.outputs for note in output.notes)]
