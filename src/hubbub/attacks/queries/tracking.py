"""Following one person through reports that are noisy each by themselves: Alice stops buying bread.

A phone that reports every day with fresh randomness is found out by its own average. So systems *memoize*: they draw a
noisy value once and report that for as long as the true value stays [EPK14]. Then the average tells no more than one
report; but the day on which the true value changes shows, because the memory is drawn anew. A second layer of noise
on every report blurs that day, and many reports sharpen it again.

The attack needs the reports of people over time (people x epochs, and bits if a report is several), from whatever
randomizer: it looks for the epoch that best splits each person's reports in two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub.attacks.report import Attack
from hubbub.attacks.requirements import Floats, check_lengths, rectangular_array
from hubbub.attacks.roc import Roc
from hubbub.explain import Figure
from hubbub.render import Json, out_of_100, percent
from hubbub.render.charts import Panel, Series, line_chart, percentage
from hubbub.terms import OutOfRange, Unsuitable

Codes = NDArray[np.int64]

_MOST = 1 << 10  # different symbols in a report
FALSE_ALARMS = 0.05  # the chance to say of anybody at all that they changed, if nobody did
_BLOCK = 1 << 22  # counts held in memory at a time


def follow(reports: ArrayLike, *, values: ArrayLike | None = None) -> Following:
    """Guess each person's value, and whether and when it changed, from reports over time.

    ``reports`` has a row per person and a column per epoch, with whole numbers from 0 (a third axis holds the bits of
    reports that are several bits). ``values`` are the true values in the same rows and columns, for the report.

    >>> bread = [[1] * 20 + [0] * 20, [1] * 40, [0] * 40]
    >>> found = follow(bread)
    >>> found.changed.tolist(), int(found.epoch[0])
    ([True, False, False], 20)
    """
    codes = _report_codes(reports, "reports")
    truth = None if values is None else _report_codes(values, "values")
    if truth is not None:
        check_lengths(truth.shape[0], codes.shape[0], what="people in values and reports")
        check_lengths(truth.shape[1], codes.shape[1], what="epochs in values and reports")
    symbols = 2 if codes.ndim == 3 else int(codes.max()) + 1
    blocks = np.array_split(codes, max(1, codes.size * symbols // _BLOCK))
    limit = _evidence_limit(codes, symbols)
    followed = [_follow_block(block, symbols, limit) for block in blocks]
    scores, epoch, before, after = map(np.concatenate, zip(*followed, strict=True))
    return Following(codes, scores, epoch, before, after, scores > limit, truth)


def _evidence_limit(codes: Codes, symbols: int) -> float:
    """The evidence that, if nobody changes, somebody reaches in 5% of the cases, roughly.

    By the chi-squared law of twice the log-likelihood ratio, for all people and epochs at once.
    """
    from scipy.stats import chi2

    people, epochs = codes.shape[:2]
    freedom = codes.shape[2] if codes.ndim == 3 else max(1, symbols - 1)
    return float(chi2.isf(FALSE_ALARMS / (people * (epochs - 1)), freedom)) / 2


def _follow_block(codes: Codes, symbols: int, limit: float) -> tuple[Floats, Codes, Codes, Codes]:
    """Evidence, epoch, value before and value after, for each person of a block."""
    counts = _running_counts(codes, symbols)
    scores, epoch = _best_split(counts)
    early, total = counts[np.arange(len(codes)), epoch - 1], counts[:, -1]
    changed = scores > limit  # without a change, all reports tell of one value
    before, after = _likeliest_value(early), _likeliest_value(total - early)
    return (
        scores,
        epoch,
        np.where(changed, before, _likeliest_value(total)),
        np.where(changed, after, _likeliest_value(total)),
    )


def _report_codes(reports: ArrayLike, name: str) -> Codes:
    array = rectangular_array(reports)
    if array.ndim not in (2, 3) or array.shape[0] < 1 or array.shape[1] < 2 or array.dtype.kind not in "bui":
        raise Unsuitable(
            f"{name} must be whole numbers, people x epochs (x bits), and has shape {array.shape}.",
            why="A person is followed over at least two epochs.",
            fix="Give one row per person and one column per epoch.",
        )
    if int(array.min()) < 0 or int(array.max()) >= (2 if array.ndim == 3 else _MOST):
        raise Unsuitable(
            f"{name} must be codes from 0 to {1 if array.ndim == 3 else _MOST - 1}.",
            why="How often each symbol is reported is counted.",
            fix="Number the symbols; hash them into fewer if there are more.",
        )
    return array.astype(np.int64)


def _running_counts(codes: Codes, symbols: int) -> Floats:
    """How often each symbol (or a 0 and a 1 in each bit) came up to each epoch: people x epochs x bits x symbols."""
    bits = codes if codes.ndim == 3 else codes[:, :, None]
    return np.cumsum(bits[..., None] == np.arange(symbols), axis=1, dtype=np.float64)


def _best_split(counts: Floats) -> tuple[Floats, Codes]:
    """For each person the epoch that best splits the reports in two, and by how much likelier it makes them (log)."""
    total = counts[:, -1:]
    early = counts[:, :-1]
    gain = _log_likelihood(early) + _log_likelihood(total - early) - _log_likelihood(total)
    best = gain.argmax(axis=1)
    return gain[np.arange(len(gain)), best], best + 1


def _log_likelihood(counts: Floats) -> Floats:
    """The log-likelihood of reports under their own frequencies."""
    totals = counts.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(counts > 0, counts * np.log(counts / totals), 0.0)
    return np.asarray(terms.sum(axis=(-1, -2)), dtype=np.float64)


def _likeliest_value(counts: Floats) -> Codes:
    """The likeliest value: the commonest symbol, or the bit that is most often set."""
    single = counts.shape[1] == 1
    return np.asarray(counts[:, 0].argmax(axis=-1) if single else counts[:, :, 1].argmax(axis=-1), dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Following(Attack):
    """For each person: whether the value changed, the guesses before and after, the likeliest epoch, its evidence."""

    kind: ClassVar[str] = "following"
    name: ClassVar[str] = "Following over time"

    reports: Codes
    scores: Floats
    epoch: Codes
    before: Codes
    after: Codes
    changed: NDArray[np.bool_]
    values: Codes | None = None

    @property
    def _truly(self) -> NDArray[Any] | None:
        return None if self.values is None else (self.values != self.values[:, :1]).any(axis=1)

    @property
    def roc(self) -> Roc | None:
        """How well those whose value changed are told from the others; None without the truth, or if all are alike."""
        truly = self._truly
        if truly is None or truly.all() or not truly.any():
            return None
        return Roc.of(self.scores[truly], self.scores[~truly])

    @property
    def right(self) -> float | None:
        """The share of people whose first value is guessed right; None without the truth."""
        return None if self.values is None else float(np.mean(self.before == self.values[:, 0]))

    @property
    def succeeded(self) -> bool:
        """Whether somebody's change shows."""
        return bool(self.changed.any())

    @property
    def headline(self) -> str:
        """What was found, in one plain sentence."""
        changed, people = int(self.changed.sum()), len(self.scores)
        return f"Of {people:,} people followed over {self.reports.shape[1]:,} epochs, {changed:,} are seen to change."

    def numbers(self) -> dict[str, Json]:
        """What was found, for programs."""
        rates = {} if self.roc is None else self.roc.rates()
        about: dict[str, Json] = {"people": len(self.scores), "epochs": int(self.reports.shape[1])}
        return {**about, "changed": int(self.changed.sum()), "right": self.right, **rates}

    def facts(self) -> tuple[tuple[str, str], ...]:
        """What was found, for people."""
        rows = [("people", f"{len(self.scores):,}"), ("epochs", f"{self.reports.shape[1]:,}")]
        rows.append(("seen to change", f"{int(self.changed.sum()):,}"))
        if self.right is not None:
            rows.append(("first value guessed right", out_of_100(self.right)))
        if self.roc is not None and self._truly is not None:
            caught = float(np.mean(self.changed[self._truly]))
            rows += [("of those who changed, seen", percent(caught)), ("AUC", f"{self.roc.auc:.3f}")]
        return tuple(rows)

    def figure(self, person: int | None = None) -> Figure:
        """One person's reports: the one whose change is clearest, or the one asked for."""
        one = int(self.scores.argmax()) if person is None else person
        if not 0 <= one < len(self.scores):
            raise OutOfRange(
                f"there is no person {one}.", why="People are numbered from 0.", fix=f"At most {len(self.scores) - 1}."
            )
        agree_with = self._agreement(one)
        times, split = np.arange(1, len(agree_with) + 1), int(self.epoch[one])
        level = np.where(times <= split, agree_with[:split].mean(), agree_with[split:].mean())
        each = Series("each report", tuple(zip(times.tolist(), agree_with.tolist(), strict=True)), steps=True)
        mean = Series("average before and after", tuple(zip(times.tolist(), level.tolist(), strict=True)), steps=True)
        panel = Panel("reports the earlier value", (mean, each), include=(0.0, 1.0), show=percentage, height=200)
        drawn = line_chart(panel, title=f"Person {one}, epoch by epoch", description=self.headline, x="epoch")
        return Figure(self.kind, drawn, "A drop of the average is the day on which something changed.")

    def _agreement(self, person: int) -> Floats:
        """Per epoch, whether the report is the person's earlier value (or has its bit set)."""
        mine, value = self.reports[person], int(self.before[person])
        return np.asarray(mine[:, value] if mine.ndim == 2 else mine == value, dtype=np.float64)

    def meaning(self) -> tuple[str, ...]:
        """What it means for the people in the data."""
        if not self.succeeded:
            return ("Nobody's change stands out from the noise of the reports.",)
        return (
            "Alice bought bread every day for years, and then stopped. No single report says so for certain; all of "
            "them together do. Somebody may conclude that she fell ill, rightly or wrongly.",
        )

    def remedy(self) -> tuple[str, ...]:
        """What would have helped, and what would not."""
        return (
            "One promise for everything that a person ever reports: a budget per person over all epochs; or fresh "
            "pseudonyms and a shuffler, so that reports cannot be lined up.",
            "A promise per report does not help: it adds up. Remembering the noise helps as long as nothing changes, "
            "and marks the day when something does.",
        )
