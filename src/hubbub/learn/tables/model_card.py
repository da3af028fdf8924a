"""Model cards: what was trained, what is promised, on which bounds it rests, and how good it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from hubbub.explain import Document, Figure, Section, TextTable
from hubbub.explain import epsilon as explained
from hubbub.learn.stored_words import tag_of
from hubbub.learn.tables import Category
from hubbub.learn.tables.fit_table import ONE_OF_EACH
from hubbub.learn.tables.table_model import TableModel
from hubbub.render import Json, short
from hubbub.terms import ApproximateDP, to_json


@dataclass(frozen=True, slots=True)
class ModelCard(Document):
    """One page about a fitted model, from public facts and released numbers alone."""

    model: TableModel

    @property
    def title(self) -> str:
        """What the card is about."""
        return f"Model card: {self.model.target.name}, by {self._kind}"

    @property
    def _kind(self) -> str:
        return tag_of(self.model.estimator)

    def sections(self) -> tuple[Section, ...]:
        """Promise, model, data, quality, limits, receipt."""
        parts = (self._promise(), self._quality(), self._trained(), self._data(), self._limits(), self._receipt())
        return tuple(part for part in parts if part is not None)

    def to_json(self) -> dict[str, Json]:
        """The card as one document; the event and the receipt in full."""
        model, score = self.model, self.model.score
        return {
            "kind": "model-card",
            "model": self._kind,
            "target": model.target.name,
            "guarantee": {**to_json(model.guarantee), "words": model.guarantee.describe()},
            "event": to_json(model.event),
            "receipt": None if model.receipt is None else to_json(model.receipt),
            "score": None if score is None else _score_json(model),
            "columns": [{"name": each.name, "known": each.words()} for each in (*model.columns, model.target)],
            "notes": dict(model.notes),
        }

    def markdown(self) -> str:
        """The card as Markdown, for a repository."""
        return "\n".join([f"# {_escape_markdown(self.title)}\n", *map(_section_markdown, self.sections())])

    # ------------------------------------------------------------ sections

    def _promise(self) -> Section:
        guarantee = self.model.guarantee
        sentences = [guarantee.describe()]
        figure = None
        if isinstance(guarantee.holds, ApproximateDP):
            meaning = explained(guarantee.holds.epsilon, delta=guarantee.holds.delta)
            sentences.insert(0, meaning.odds_sentence)
            first = meaning.sections()[0].figure
            figure = None if first is None else Figure("odds", first.svg, first.caption, first.plain)
        return Section("The promise", tuple(sentences), figure=figure)

    def _quality(self) -> Section:
        score = self.model.score
        if score is None:
            return Section(
                "How good it is",
                (
                    "Nobody measured it. Public test rows (--test) cost nothing; --holdout private measures on private "
                    "rows for no more than the model.",
                ),
            )
        words = f"{score.kind.capitalize()}: {score.words()} (95%), on about {score.rows:,.0f} rows."
        how = self.model.notes.get("measured", "")
        return Section("How good it is", (words, how) if how else (words,))

    def _trained(self) -> Section:
        facts = [("model", self._kind), ("target", self.model.target.name), *_model_settings(self.model.estimator)]
        facts += [(name, notes) for name, notes in self.model.notes.items() if name != "measured"]
        return Section("What was trained", (), TextTable(("what", "how"), tuple(facts)))

    def _data(self) -> Section:
        words = (
            "Cells are read by these facts alone. Numbers outside their bounds count as the nearest bound; what is no "
            "number, or on no list, counts as missing."
        )
        rows = tuple(
            (each.name, "values" if isinstance(each, Category) else "number", each.words())
            for each in (*self.model.columns, self.model.target)
        )
        return Section("What counts as known about the columns", (words,), TextTable(("column", "kind", "known"), rows))

    def _limits(self) -> Section:
        several = "Somebody with several rows is protected only if one of them was used."
        if ONE_OF_EACH in self.model.guarantee.caveats:
            several = "Of somebody with several rows one was used, and the others are not in the model."
        return Section(
            "What it does not promise",
            (
                "What is true of many people, the model may tell about each of them. Predictions for private rows are "
                f"as private as the rows. {several}",
            ),
        )

    def _receipt(self) -> Section | None:
        receipt = self.model.receipt
        if receipt is None:
            return None
        rows = (
            ("population", receipt.population),
            ("entry", str(receipt.sequence)),
            ("charged", receipt.charged.describe()),
            ("at", receipt.at),
            ("head of the chain", f"{receipt.head[:16]}..."),
        )
        return Section(
            "The receipt", ("The ledger was charged before a row was read.",), TextTable(("what", "is"), rows)
        )


def _model_settings(estimator: Any) -> list[tuple[str, str]]:
    """The recipe of a network, or what a user may want to know of another model."""
    recipe = getattr(estimator, "recipe_", None)
    settings = []
    if recipe is not None:
        settings = [("steps", f"{recipe.steps:,}"), ("rows in a step, about", f"{recipe.batch:,}")]
        settings.append(("clipping norm of a row's gradient", short(recipe.clip)))
    rows = getattr(estimator, "rows_", None)
    return settings if rows is None else [*settings, ("rows, by a noisy count", f"{rows:,}")]


def _score_json(model: TableModel) -> Mapping[str, Json]:
    score = model.score
    assert score is not None
    low, high = score.interval
    how = model.notes.get("measured", "")
    return {"kind": score.kind, "value": score.value, "low": low, "high": high, "rows": score.rows, "how": how}


def _section_markdown(section: Section) -> str:
    lines = [f"## {section.heading}\n", *(f"{_escape_markdown(paragraph)}\n" for paragraph in section.paragraphs)]
    if section.table is not None:
        cells = [section.table.header, tuple("---" for _ in section.table.header), *section.table.rows]
        lines += ["| " + " | ".join(_table_cell(each) for each in row) + " |" for row in cells]
        lines.append("")
    return "\n".join(lines)


def _table_cell(text: str) -> str:
    return _escape_markdown(text).replace("|", "\\|").replace("\n", " ")


def _escape_markdown(text: str) -> str:
    """Names of columns and classes are not ours, and Markdown may hold HTML."""
    return escape(text, quote=False)
