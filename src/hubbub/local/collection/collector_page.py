"""The collector's own page: what the reports say, how far to trust it, and what it costs those who report."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from hubbub import explain
from hubbub.local.collection import collection_cost
from hubbub.local.estimates import Estimate, FrequencyEstimate, MeanEstimate
from hubbub.local.longitudinal.lifetime import Caps
from hubbub.local.longitudinal.memories import memory_of
from hubbub.local.statistics.postprocess import simplex
from hubbub.render import Document, Figure, Json, Section, TextTable, at_most, out_of_100, short
from hubbub.render.charts import Bar, bar_chart, percentage

if TYPE_CHECKING:
    from hubbub.local.collection.collection import Collection
    from hubbub.local.collection.collector import BatchWay, Collector
    from hubbub.local.collection.tally import Tally
    from hubbub.local.longitudinal.lifetime import CollectionSpending
    from hubbub.local.randomizers.base import Randomizer
    from hubbub.terms import Receipt

FAKES = (0.001, 0.01, 0.05, 0.1)
BARS, ROWS = 20, 100  # values in the picture, and in the table
DELTA = Fraction(1, 10**6)  # of what shuffling adds
_NOTHING_ADDED = (
    "Reports come through a shuffler. No smaller epsilon is claimed for that: reports that name their client's own "
    "hash function or cohort in every epoch can be linked behind it, and for Gaussian noise no bound is worked out."
)
_REASONS = {
    "malformed": "not a report at all",
    "version": "another version of the format",
    "collection": "for another collection",
    "protocol": "of another protocol",
    "epsilon": "with another epsilon",
    "digest": "made under other parameters",
    "epoch": "for an epoch that this collection does not have",
    "domain": "a value that cannot be reported",
    "replay": "an id that another report has",
    "closed": "for an epoch that is not open",
    "token": "without a valid token",
    "limit": "more than their token allows",
    "batch": "in a batch smaller than the shuffler's",
}


def read_page(collector: Collector, *, epoch: int | None = None) -> Page:
    """What a collector has to show about an epoch: the last one that has reports, unless one is asked for.

    It moves on by at least the minimum batch at a time, in all its numbers: two looks never differ by one report.
    """
    return replace(
        look_at(collector.published(epoch)),
        epochs=collector.store.published_epochs(),
        refused=collector.store.published_refusals(),
        way=collector.way,
        receipt=collector.receipt,
    )


def look_at(tally: Tally) -> Page:
    """What a tally alone has to show."""
    enough = tally.reports >= tally.collection.minimum_batch
    return Page(
        collection=tally.collection,
        epoch=tally.epoch,
        reports=tally.reports,
        estimate=tally.estimate() if enough else None,
        epochs={tally.epoch: tally.reports},
        refused={},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Document):
    """One epoch of a collection, as its collector shows it: in a browser, a terminal, or as data.

    ``simplex`` adds shares that are none below 0 and add up to 1: biased, beside the estimates and never instead.
    """

    collection: Collection
    epoch: int
    reports: int
    estimate: Estimate | None
    epochs: Mapping[int, int]
    refused: Mapping[str, int]
    way: BatchWay | None = None
    receipt: Receipt | None = None
    simplex: bool = False

    @property
    def title(self) -> str:
        """The question."""
        return self.collection.question

    def sections(self) -> tuple[Section, ...]:
        """The page, part by part."""
        if self.estimate is None:
            return self._waiting(), self._cost(), self._came()
        silent = collection_cost.silent_from(self.collection)
        past = (_past_section(self.collection, self.epoch),) if silent is not None and self.epoch >= silent else ()
        return self._answer(self.estimate), *past, _trust_section(self.estimate), self._cost(), self._came()

    def to_json(self) -> dict[str, Json]:
        """The same as data."""
        spent = collection_cost.whole_life(self.collection)
        return {
            "kind": "collection-estimate",
            "collection": self.collection.id,
            "digest": self.collection.digest.hex(),
            "question": self.collection.question,
            "epoch": self.epoch,
            "reports": self.reports if self.estimate is not None else 0,
            "minimum_batch": self.collection.minimum_batch,
            "estimate": None if self.estimate is None else self._estimate_json(self.estimate),
            "epsilon": {
                "report": float(self.collection.randomizer.epsilon),
                "constant": float(spent.constant),
                "values": float(spent.values),
                "worst_case": None if spent.worst_case is None else float(spent.worst_case),
                "shuffled": self._shuffled_json(),
            },
            "silent_from": collection_cost.silent_from(self.collection),
            "epochs": {str(epoch): count for epoch, count in self.epochs.items()},
            "refused": dict(self.refused),
            "receipt": None if self.receipt is None else self.receipt.sequence,
        }

    # ------------------------------------------------------------ what was found

    def _waiting(self) -> Section:
        words = (
            f"Fewer than {self.collection.minimum_batch:,} reports have come. Nothing is estimated before, as the "
            "configuration promises to everybody who reports."
        )
        return Section("Waiting for reports", (words,))

    def _answer(self, estimate: Estimate) -> Section:
        if isinstance(estimate, FrequencyEstimate):
            return self._shares(estimate)
        return self._mean(estimate) if isinstance(estimate, MeanEstimate) else estimate.sections()[0]

    def _shares(self, estimate: FrequencyEstimate) -> Section:
        order = [int(i) for i in np.argsort(-estimate.values, kind="stable")]
        limit, ends = estimate.detection_limit(simultaneous=True), estimate.intervals()
        rows = tuple(
            (
                self._name(i),
                _percent_text(estimate.values[i]),
                f"{_percent_text(ends[i, 0])} to {_percent_text(ends[i, 1])}",
                "no: below the limit" if estimate.values[i] <= limit else "yes",
            )
            for i in order[:ROWS]
        )
        words = (
            f"{self.reports:,} reports have come{self._when()}. Each answer was randomized at home, so the shares are "
            "estimates: each interval holds the true share among those who reported, 95 times out of 100.",
            f"The detection limit is {_percent_text(limit)}: below it, an answer cannot be told from one that nobody "
            f"gave. {_below_sentence(estimate.values, limit)} To tell a share of 1% from nobody takes about "
            f"{_rounded_count(self.reports * (limit / 0.01) ** 2)} reports.",
            *([f"The {ROWS} largest of {len(order):,} are shown."] if len(order) > ROWS else []),
        )
        figure = Figure("shares", self._shares_svg(estimate, order[:BARS], limit), "Shares with 95% intervals.")
        table = TextTable(("answer", "share", "95% interval", "told from nobody"), rows)
        if self.simplex:
            table = _with_simplex(table, simplex(estimate).values[order])
        return Section("What people answer", words, table, figure)

    def _shares_svg(self, estimate: FrequencyEstimate, shown: list[int], limit: float) -> str:
        ends = estimate.intervals()
        bars = [
            Bar(
                self._name(i),
                float(estimate.values[i]),
                float(ends[i, 0]),
                float(ends[i, 1]),
                _percent_text(estimate.values[i]) + ("*" if estimate.values[i] <= limit else ""),
            )
            for i in shown
        ]
        return bar_chart(
            bars,
            title=f"Estimated shares; * is below the detection limit of {_percent_text(limit)}",
            description=f"The {len(bars)} largest shares with their 95% intervals; the table below has the numbers.",
            label="share of the people",
            show=percentage,
        )

    def _mean(self, estimate: MeanEstimate) -> Section:
        low, high = estimate.interval()
        words = (
            f"{self.reports:,} reports have come{self._when()}. The mean is {estimate.value:.6g}, and lies between "
            f"{low:.6g} and {high:.6g}, 95 times out of 100. Values were held within {estimate.lower:g} and "
            f"{estimate.upper:g}.",
            f"Where people trust nobody, no method gets far below an error of {short(estimate.lower_bound)}, up to a "
            "constant.",
        )
        chart = bar_chart(
            [Bar("mean", estimate.value, low, high, f"{estimate.value:.4g}")],
            title="The estimated mean with its 95% interval",
            description=f"A bar to {estimate.value:.4g}, with an interval from {low:.4g} to {high:.4g}.",
            label="mean",
            include=(estimate.lower, estimate.upper),
        )
        return Section("What people answer", words, figure=Figure("mean", chart, "The mean with its 95% interval."))

    def _name(self, value: int) -> str:
        return self.collection.answers[value] if self.collection.answers else str(value)

    def _when(self) -> str:
        return f" in epoch {self.epoch}" if self.collection.epochs > 1 else ""

    # ------------------------------------------------------------ what it costs, and what came

    def _cost(self) -> Section:
        once, spent = self.collection.randomizer.epsilon, collection_cost.whole_life(self.collection)
        rows = (("one report", short(once)), *self._through(), *_lifetime_rows(spent))
        sentence = collection_cost.lifetime_bound(self.collection).describe()
        ledger = "Charged to no ledger."
        if self.receipt is not None:
            ledger = f"Charged to the budget of {self.receipt.population}: receipt #{self.receipt.sequence}."
        epochs = f"{self.collection.epochs:,} epoch{'s' * (self.collection.epochs > 1)}"
        words = (
            "Toss a coin between two answers and report one of them. Someone who sees the report and guesses which it "
            f"was is right {at_most(out_of_100(explain.epsilon(once).belief(0.5)))} times; without it, 50. That holds "
            "against everybody, this collector included.",
            f"Lifetime of the collection: {epochs}, {sentence}. {ledger}",
            *self._way_words(),
        )
        return Section("What it costs one person", words, TextTable(("for", "epsilon"), rows))

    def _way_words(self) -> tuple[str, ...]:
        """What shuffling adds, and what is assumed for it."""
        if self.way is None:
            return ()
        if self._shuffled_json() is None:
            return (_NOTHING_ADDED,)
        return (
            f"Reports came through a shuffler, each batch with at least {self.way.batch:,} new valid ones. That "
            f"{short(100 * float(self.way.honest))}% of them are from honest people is declared by whoever runs the "
            "collector: only among those does anybody hide, and only from those who do not run the shuffler.",
        )

    def _through(self) -> list[tuple[str, str]]:
        added = self._shuffled_json()
        if added is None or self.way is None:
            return []
        return [
            (
                f"one report, among {self.way.crowd:,} honest ones, shuffled",
                f"{added['epsilon']:.3g} (delta {short(DELTA)})",
            )
        ]

    def _shuffled_json(self) -> dict[str, Any] | None:
        """What shuffling makes of one report: only where reports come through a shuffler, and only where it is known.

        A client with a memory shows the same hash function or cohort in every epoch: once it is known whose it is, the
        shuffler hides nothing any more. For noise with a delta no bound is worked out.
        """
        linked = self.collection.epochs > 1 and memory_of(self.collection.randomizer) is not None
        if self.way is None or linked or hasattr(self.collection.randomizer, "delta"):
            return None
        epsilon = _amplified_epsilon(self.collection.randomizer, self.way.batch, self.way.crowd)
        honest = float(self.way.honest)
        return {"batch": self.way.batch, "honest": honest, "epsilon": epsilon, "delta": float(DELTA)}

    def _came(self) -> Section:
        rows = [("accepted", f"{sum(self.epochs.values()):,}")]
        rows += [(f"refused: {_REASONS.get(reason, reason)}", f"{count:,}") for reason, count in self.refused.items()]
        words = (
            "A report is kept with its epoch and its random id, and nothing else: no address, no program, no time, no "
            "order of arrival. What was refused is counted and not kept. This page moves on by at least "
            f"{self.collection.minimum_batch:,} reports at a time, in all its numbers.",
            *([self._others()] if len(self.epochs) > 1 else []),
        )
        return Section("What came in", words, TextTable(("reports", "how many"), tuple(rows)))

    def _others(self) -> str:
        counts = ", ".join(f"{epoch} ({count:,})" for epoch, count in list(self.epochs.items())[-12:])
        return f"Reports by epoch: {counts}. This is epoch {self.epoch}; `?epoch=` in the address shows another."

    def _estimate_json(self, estimate: Estimate) -> dict[str, Json]:
        fakes: Json = [{"fakes": share, "moves_at_most": estimate.shift(share)} for share in FAKES]
        document = {**estimate.to_json(), "fake_clients": fakes}
        if not isinstance(estimate, FrequencyEstimate):
            return document
        limit, ends = estimate.detection_limit(simultaneous=True), estimate.intervals()
        document["answers"] = list(self.collection.answers) or None
        document["interval_95"] = ends.tolist()
        document["detection_limit_95_all"] = limit
        document["below_limit"] = [bool(share <= limit) for share in estimate.values]
        if self.simplex:
            document["simplex_biased"] = simplex(estimate).values.tolist()
        return document


def _with_simplex(table: TextTable, shares: Any) -> TextTable:
    rows = tuple((*row, _percent_text(share)) for row, share in zip(table.rows, shares, strict=False))
    return TextTable((*table.header, "simplex (biased)"), rows)


@lru_cache(maxsize=64)
def _amplified_epsilon(randomizer: Randomizer, batch: int, crowd: int) -> float:
    from hubbub.local.amplification.shuffle_bounds import amplify

    return float(amplify(randomizer, n=batch, n_honest=max(1, crowd), delta=DELTA).epsilon)


def _past_section(collection: Collection, epoch: int) -> Section:
    """Reports past a cap say nothing, and nobody can tell which those are."""
    paid, usual, memory = collection_cost.silent_from(collection), Caps(), memory_of(collection.randomizer)
    what = f"{paid:,} reports" if memory is None else f"{paid:,} of {memory.kinds:,} remembered answers"
    words = (
        f"This collection takes an epsilon of {short(collection.cap)} from a person at most, and clients keep to "
        f"{short(usual.attribute)} for one attribute unless they were told otherwise. That pays for {what}. Past it, "
        "clients go on with reports that say nothing.",
        f"So in epoch {epoch} some reports, or all of them, may be about nobody's answer. They draw estimates toward "
        "an even spread (a mean: away from the truth), and the intervals do not hold that. Nobody can tell which they "
        "are.",
    )
    return Section("Some reports may say nothing", words)


def _trust_section(estimate: Estimate) -> Section:
    shares = isinstance(estimate, FrequencyEstimate)
    words = (
        "The intervals hold the noise alone. Reports are not checked against the truth, and nobody can: a client that "
        "sends what it likes is as good as another. If so many of the clients are fakes, they can have moved "
        + ("one share by at most:" if shares else "the mean by at most:"),
    )
    unit = "percentage points" if shares else "at most"
    rows = tuple((f"{100 * s:g}%", short(estimate.shift(s) * (100 if shares else 1))) for s in FAKES)
    return Section("How far to trust it", words, TextTable(("fake clients", unit), rows))


def _percent_text(share: float) -> str:
    """A share with two digits after the point; with more where it is small."""
    if share == 0 or abs(share) >= 0.001:
        return f"{100 * share:.2f}%"
    return f"{100 * share:.{2 - math.floor(math.log10(abs(100 * share)))}f}%"


def _below_sentence(values: Any, limit: float) -> str:
    below, negative = int((values <= limit).sum()), int((values < 0).sum())
    if not below:
        return "Every answer is above it."
    sentence = f"{below:,} of {len(values):,} answers are below it."
    return f"{sentence} Negative estimates are shown as they came out." if negative else sentence


def _rounded_count(count: float) -> str:
    """A count for people: two digits of it."""
    return f"{float(f'{count:.1e}'):,.0f}"


def _lifetime_rows(spent: CollectionSpending) -> list[tuple[str, str]]:
    """What all reports together cost; the three numbers are one where nothing is remembered."""
    if not spent.memoized:
        return [("all reports of the collection", short(spent.values))]
    worst = "no bound" if spent.worst_case is None else short(spent.worst_case)
    return [
        ("all reports, if the value never changes", short(spent.constant)),
        ("all reports, about what the values were", short(spent.values)),
        ("all reports, also about when they changed", worst),
    ]
