"""A comparison as it is read: every table beside the two baselines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hubbub.explain import Document, Figure, Section, TextTable
from hubbub.publish.metrics.scores import AUC, DISTANCES, INDEPENDENT, PMSE, REAL, USES, Scores, mean_of
from hubbub.render import Json, percent, short
from hubbub.render import bars as text_bars
from hubbub.render.charts import Bar, bar_chart, percentage, plain
from hubbub.terms import Event, Guarantee, Receipt, to_json

_HOW = (
    "Distance (total variation): of 100 rows, how many would have to be moved to other cells to make both tables "
    "alike, over all combinations of one, two or three columns.",
    "Error of a count: how far off the number of rows in ranges and lists of values is, as a share of all rows, and "
    "relative to the true count (or to a small share of all rows, for tiny counts); more than all counts as all.",
)
_MODELS = (
    "pMSE: how well a model tells the rows from real ones: 0 if not at all, 0.25 if always. It is over 0 for real rows "
    "too, so look at the number over real against real: 1 is as good as real.",
    "AUC: how well a model that learned from the table ranks real people: 0.5 is a coin, 1 always right.",
)


@dataclass(frozen=True)
class UtilityComparison(Document):
    """What tables are worth: ``scores`` of each, then of the two baselines; ``found["name"]["tvd2_mean"]`` is a number.

    ``guarantee`` is None where the real rows were public: then nothing was charged and nothing has noise.
    """

    scores: tuple[Scores, ...]
    target: str | None
    rows: int  # real ones: as many as the holdout has, or about as many as are private
    guarantee: Guarantee | None = None
    receipt: Receipt | None = None
    event: Event | None = field(default=None, repr=False)

    def __getitem__(self, name: str) -> Scores:
        return next(scores for scores in self.scores if scores.name == name)

    @property
    def candidates(self) -> tuple[Scores, ...]:
        """The tables that were compared."""
        return self.scores[:-2]

    @property
    def baselines(self) -> tuple[Scores, ...]:
        """Real against real, and independent columns."""
        return self.scores[-2:]

    @property
    def title(self) -> str:
        """What is told."""
        return "What the tables are worth"

    @property
    def headline(self) -> str:
        """The best of the tables between the two baselines, in one sentence."""
        metric = mean_of(2) if mean_of(2) in self.scores[0].values else next(iter(self.scores[0].values))
        best = min(self.candidates, key=lambda scores: scores[metric])
        shown = [scores.values[metric].shown(metric) for scores in (best, self[REAL], self[INDEPENDENT])]
        return (
            f"Nearest to the real rows is {best.name}: {shown[0]} away ({DISTANCES[metric]}). Two samples of real rows "
            f"are {shown[1]} apart, a table of independent columns {shown[2]}."
        )

    def sections(self) -> tuple[Section, ...]:
        """Where the numbers come from, and what they are."""
        near = Section(
            "How near the tables are",
            (self.headline, self._source()),
            self._table(DISTANCES, worst=True),
            self._figure(),
        )
        words = [] if self.target is None else [f"A model learned to predict {self.target} from each table (AUC)."]
        used = Section("What they can be used for", tuple(words), self._table(USES), self._learned())
        sections = [near, used]
        parts = [scores for scores in self.scores if scores.partition]
        if parts:
            sections.append(Section("What making rows alike cost", (), _partition_table(parts)))
        return (*sections, Section("How to read this", (*_HOW, *(_MODELS if self._models else ()))))

    def to_json(self) -> dict[str, Json]:
        """The numbers as one JSON document."""
        return {
            "kind": "comparison",
            "headline": self.headline,
            "rows": self.rows,
            "target": self.target,
            "tables": [scores.to_json() for scores in self.candidates],
            "baselines": [scores.to_json() for scores in self.baselines],
            "guarantee": None if self.guarantee is None else to_json(self.guarantee),
            "receipt": None if self.receipt is None else to_json(self.receipt),
        }

    @property
    def _models(self) -> bool:
        return any(PMSE in scores.values for scores in self.scores)

    def _source(self) -> str:
        if self.guarantee is None:
            return (
                f"Measured on {self.rows:,} public rows, which costs nothing: all are compared with one half of them, "
                "also the other half (real against real)."
            )
        return (
            "Measured on the private rows, with noise: ± says how far a number is from the one without noise, 95 times "
            f"in 100. {self.guarantee.describe()} That is for tables that are handed out anyway. Real against real are "
            "two halves at random; halves differ more than whole tables would, about 1.4 times. pMSE and models need "
            "public rows."
        )

    def _table(self, words: Mapping[str, str], *, worst: bool = False) -> TextTable:
        keys = [key for key in words if any(key in scores.values for scores in self.scores)]
        pairs = worst and any(scores.worst for scores in self.scores)
        rows = [
            (
                one.name,
                *(one.values[key].shown(key) if key in one.values else "-" for key in keys),
                *([one.worst] if pairs else []),
            )
            for one in self.scores
        ]
        return TextTable(("table", *(words[key] for key in keys), *(["farthest pair"] if pairs else [])), tuple(rows))

    def _figure(self) -> Figure | None:
        metric = mean_of(2)
        shown = [one for one in self.scores if metric in one.values]
        if not shown:
            return None
        bars = [(one.name, one[metric], one.values[metric].shown(metric)) for one in shown]
        svg = bar_chart(
            [_metric_bar(one, metric) for one in shown],
            title="How far pairs of columns are from real rows",
            description="; ".join(f"{name}: {text}" for name, _, text in bars) + ".",
            label="mean distance over all pairs of columns: 0 is the same table",
            show=percentage,
        )
        return Figure("distances", svg, "Shorter is better; real against real is what chance does.", text_bars(bars))

    def _learned(self) -> Figure | None:
        shown = [one for one in self.scores if AUC in one.values]
        if not shown:
            return None
        bars = [(one.name, one[AUC], f"{one[AUC]:.3f}") for one in shown]
        svg = bar_chart(
            [Bar(name, value, shown=text) for name, value, text in bars],
            title=f"Predicting {self.target} for real people",
            description="; ".join(f"{name}: {text}" for name, _, text in bars) + ".",
            label="AUC of a model that learned from the table: 0.5 is a coin, 1 always right",
            show=plain,
            include=(0.5, 1.0),
        )
        return Figure("learned", svg, "Longer is better; a coin gets 0.5.", text_bars(bars))


def _metric_bar(one: Scores, metric: str) -> Bar:
    score = one.values[metric]
    low, high = (max(0.0, score.value - score.margin), score.value + score.margin) if score.margin else (None, None)
    return Bar(one.name, score.value, low, high, shown=score.shown(metric))


def _partition_table(parts: Sequence[Scores]) -> TextTable:
    rows = []
    for one in parts:
        cost = one.partition
        assert cost is not None
        rows.append(
            (
                one.name,
                percent(cost.gcp),
                f"{cost.discernibility:,}",
                short(cost.average_size),
                percent(cost.suppression),
                f"{cost.smallest:,}",
            )
        )
    header = ("table", "lost (GCP)", "discernibility", "rows per class, over k", "rows left out", "smallest class")
    return TextTable(header, tuple(rows))
