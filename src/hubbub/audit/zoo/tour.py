"""A walk through the zoo: every broken mechanism and every repaired twin, audited."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from hubbub.audit.report import Audit
from hubbub.audit.zoo._exhibit import Exhibit
from hubbub.explain import Document, Figure, Section, TextTable
from hubbub.render import Json, short
from hubbub.render.charts import Bar, bar_chart


@dataclass(frozen=True, slots=True)
class TourStop:
    """One exhibit with the audits of the broken mechanism and of its twin."""

    exhibit: Exhibit
    broken: Audit
    fixed: Audit

    @property
    def caught(self) -> bool:
        """Whether the fault was found and the repair left alone."""
        return self.broken.refuted and not self.fixed.refuted


@dataclass(frozen=True, slots=True)
class Tour(Document):
    """All stops of a walk through the zoo."""

    stops: tuple[TourStop, ...]

    @property
    def title(self) -> str:
        """What this is."""
        return "The zoo of broken mechanisms"

    def sections(self) -> tuple[Section, ...]:
        """The table, and what each fault is."""
        caught = sum(stop.caught for stop in self.stops)
        words = (
            f"{caught} of {len(self.stops)} exhibits were told from their repaired twins: the bound of the broken one "
            "is above its claim, that of the twin is not."
        )
        faults = tuple(f"{_capitalize_first(stop.exhibit.name)}. {stop.exhibit.story}" for stop in self.stops)
        return (
            Section("What the audits found", (words,), self._table(), self._figure()),
            Section("The faults", faults),
        )

    def to_json(self) -> dict[str, Json]:
        """The numbers as one JSON document."""
        return {"kind": "zoo", "exhibits": [_stop_json(stop) for stop in self.stops]}

    def _table(self) -> TextTable:
        header = ("exhibit", "claimed", "true", "broken: at least", "repaired: at least", "caught")
        return TextTable(header, tuple(map(_stop_row, self.stops)))

    def _figure(self) -> Figure:
        return Figure(
            "zoo", self.svg(), "How far the bounds lie above the claims; where there is no bar, a fault was missed."
        )

    def svg(self) -> str:
        """How far above its claim each broken mechanism was shown to be."""
        bars = tuple(Bar(s.exhibit.name, max(0.0, (s.broken.bound or 0.0) - s.exhibit.claim)) for s in self.stops)
        return bar_chart(
            bars,
            title="How much more than its claimed epsilon each broken mechanism was shown to spend",
            description=", ".join(f"{bar.label}: {bar.value:.2f}" for bar in bars),
            label="epsilon above the claim",
        )


def tour(exhibits: Iterable[Exhibit] | None = None, *, trials: int | None = None, confidence: float = 0.95) -> Tour:
    """Audit every exhibit, broken and repaired; ``trials`` overrules how many runs each asks for."""
    if exhibits is None:
        from hubbub.audit.zoo import EXHIBITS

        exhibits = EXHIBITS.values()
    return Tour(
        tuple(
            TourStop(
                exhibit,
                exhibit.audit(trials=trials, confidence=confidence),
                exhibit.audit(fixed=True, trials=trials, confidence=confidence),
            )
            for exhibit in exhibits
        )
    )


def _capitalize_first(words: str) -> str:
    return words[:1].upper() + words[1:]


def _stop_row(stop: TourStop) -> tuple[str, ...]:
    exhibit = stop.exhibit
    claimed = short(exhibit.claim) + (f" (delta {short(exhibit.delta)})" if exhibit.delta else "")
    return (
        exhibit.name,
        claimed,
        _true_text(exhibit.true),
        _bound_text(stop.broken),
        _bound_text(stop.fixed),
        "yes" if stop.caught else "no",
    )


def _true_text(value: float | None) -> str:
    if value is None:
        return "not known"
    return "none" if math.isinf(value) else short(value)


def _bound_text(audit: Audit) -> str:
    return "no bound" if audit.bound is None else f"{audit.bound:.2f}"


def _stop_json(stop: TourStop) -> Json:
    exhibit = stop.exhibit
    infinite = exhibit.true is not None and math.isinf(exhibit.true)
    return {
        "name": exhibit.name,
        "claim": exhibit.claim,
        "delta": exhibit.delta,
        "true": None if infinite else exhibit.true,
        "infinite": infinite,
        "source": exhibit.source,
        "broken": stop.broken.bound,
        "fixed": stop.fixed.bound,
        "event": stop.broken.event,
        "caught": stop.caught,
    }
