"""Bayes-optimal privacy as a measure: how far a published table moves what an attacker believes of a person [MKGV07].

The attacker knows the quasi-identifiers of a person who is in the table, and how the sensitive column depends on some
columns in the population: the *prior belief*, for each value s, is f(s | q). The table says how often each value occurs
in the person's class c, and Bayes' rule gives the *posterior belief*

    n(c, s) f(s | q) / f(s | c)   over the same summed over all s,

with f(s | c) the mean of f(s | q) over the rows of the class. An attacker who knows only the whole table's shares has
f(s | q) = f(s), and believes the shares of the class afterwards. One who knows the whole joint distribution learns
nothing. The model "no belief moves by more than theta" cannot be kept in practice, as nobody knows what attackers know;
as a measure, for a stated attacker, it can be worked out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from hubbub.explain import Document, Figure, Section, TextTable
from hubbub.publish.anonymize.coded_columns import Codes, Floats, code_column, combine_codes, known_columns, named_rows
from hubbub.publish.anonymize.request import secrets_of
from hubbub.render import Json, out_of_100, percent
from hubbub.render import bars as text_bars
from hubbub.render.charts import Bar, bar_chart, percentage
from hubbub.schema import FrameLike
from hubbub.terms import OutOfRange, WrongShape, exact, shown

_AT_ONCE = 4096  # kinds of people whose beliefs are worked out together
_STEPS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8)


def beliefs(
    table: FrameLike,
    *,
    quasi_identifiers: list[str] | tuple[str, ...],
    sensitive: str,
    known: FrameLike | None = None,
    theta: float = 0.2,
) -> Beliefs:
    """How far the table moves beliefs about ``sensitive``, for an attacker who knows how it depends on ``known``.

    ``known`` is a table with one row for each row of ``table`` (columns of the original, say): the attacker knows how
    the sensitive column is distributed for every combination of its values. Without it, only over all.

    >>> wards = {"age": ["20-30", "20-30", "70-80", "70-80"], "ill": ["flu", "asthma", "cancer", "cancer"]}
    >>> import pyarrow
    >>> found = beliefs(pyarrow.table(wards), quasi_identifiers=["age"], sensitive="ill")
    >>> found.largest, found.breaches
    (0.5, 4)
    """
    rows = named_rows(table)
    names = known_columns(quasi_identifiers, rows, called="quasi-identifiers", why="They say which class is whose.")
    secret = secrets_of(rows, names, [sensitive])[sensitive].column
    limit = _theta_share(theta)
    classes, number = _group_rows([code_column(name, rows[name]) for name in names])
    groups = np.zeros(rows.num_rows, dtype=np.int64) if known is None else _known_groups(known, rows.num_rows)
    moved, own = _belief_moves(classes, number, groups, secret.codes, len(secret.labels))
    return Beliefs(names, sensitive, () if known is None else tuple(named_rows(known).column_names), limit, moved, own)


def _theta_share(theta: object) -> float:
    limit = exact(theta, name="theta")
    if not 0 < limit < 1:
        raise OutOfRange(
            f"theta must be between 0 and 1 and is {shown(limit)}.",
            why="A belief is a probability, and theta is how far it may move.",
            fix="Give theta such as 0.2.",
        )
    return float(limit)


def _group_rows(columns: list[Any]) -> tuple[Codes, int]:
    return combine_codes([column.codes for column in columns], [len(column.labels) for column in columns])


def _known_groups(known: FrameLike, rows: int) -> Codes:
    given = named_rows(known)
    if given.num_rows != rows or not given.column_names:
        raise WrongShape(
            f"`known` has {given.num_rows:,} rows and the table {rows:,}.",
            why="It says for each row what the attacker knows of that person.",
            fix="Give the same rows, in the same order (`Anonymized.kept` says which these are).",
        )
    return _group_rows([code_column(name, given[name]) for name in given.column_names])[0]


def _belief_moves(classes: Codes, number: int, groups: Codes, secret: Codes, values: int) -> tuple[Floats, Floats]:
    """For each row, the largest move of a belief about it, and by how much the belief in its true value rose."""
    prior = _secret_shares(groups, int(groups.max()) + 1, secret, values)
    inside = np.bincount(classes * values + secret, minlength=number * values).reshape(number, values)
    kinds, back = np.unique(np.stack([classes, groups]), axis=1, return_inverse=True)
    mean = _class_means(kinds, np.bincount(back), prior, number)
    moved, own = np.empty(classes.size), np.empty(classes.size)
    order = np.argsort(back, kind="stable")
    edges = np.searchsorted(back[order], np.arange(0, kinds.shape[1] + _AT_ONCE, _AT_ONCE))
    for chunk, (low, high) in enumerate(pairwise(edges)):
        some = kinds[:, chunk * _AT_ONCE : (chunk + 1) * _AT_ONCE]
        change = _posterior_belief(inside[some[0]], prior[some[1]], mean[some[0]]) - prior[some[1]]
        rows = order[low:high]
        local = back[rows] - chunk * _AT_ONCE
        moved[rows] = np.abs(change).max(axis=1)[local]
        own[rows] = change[local, secret[rows]]
    return moved, own


def _secret_shares(groups: Codes, number: int, secret: Codes, values: int) -> Floats:
    counts = np.bincount(groups * values + secret, minlength=number * values).reshape(number, values)
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def _class_means(kinds: Codes, sizes: Codes, prior: Floats, number: int) -> Floats:
    """f(s | c): the mean prior belief over the rows of each class."""
    total = np.zeros((number, prior.shape[1]))
    np.add.at(total, kinds[0], prior[kinds[1]] * sizes[:, None])
    return np.asarray(total / np.bincount(kinds[0], weights=sizes, minlength=number)[:, None])


def _posterior_belief(inside: Codes, prior: Floats, mean: Floats) -> Floats:
    weight = inside * np.divide(prior, mean, out=np.zeros_like(prior), where=mean > 0)
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))


def _percentage_points(move: float) -> str:
    """How far a belief moves, in points of a percentage."""
    return f"{100 * move:.3g} points"


@dataclass(frozen=True, slots=True, eq=False)
class Beliefs(Document):
    """How far a table moves the beliefs of one kind of attacker about each person in it."""

    quasi_identifiers: tuple[str, ...]
    sensitive: str
    known: tuple[str, ...]
    theta: float
    moved: Floats = field(repr=False)  # for each row, the largest change of a belief
    risen: Floats = field(repr=False)  # for each row, the change of the belief in what is true

    @property
    def largest(self) -> float:
        """The largest change of a belief about anybody."""
        return float(self.moved.max())

    @property
    def breaches(self) -> int:
        """About how many people some belief moves by more than theta."""
        return int(np.count_nonzero(self.moved > self.theta))

    @property
    def title(self) -> str:
        """What is measured."""
        return f"What the table changes about beliefs in {self.sensitive}"

    def sections(self) -> tuple[Section, ...]:
        """What was found, and what it does not say."""
        people, risen = self.moved.size, _percentage_points(float(self.risen.mean()))
        knows = f"how it depends on {', '.join(self.known)}" if self.known else "its shares in the whole table"
        summary = (
            f"Before: an attacker who knows of {self.sensitive} {knows}, and nothing else. After: the same with the "
            f"table, for a person whose {', '.join(self.quasi_identifiers)} are known. A belief moves by more than "
            f"{_percentage_points(self.theta)} for {out_of_100(self.breaches / people)} people; the largest move is "
            f"{_percentage_points(self.largest)}. On average the belief in what is true rises by {risen}."
        )
        limits = (
            "This is a measure for one stated attacker, and no guarantee: nobody knows what others know, and another "
            "attacker's beliefs may move further. Some of what moves is knowledge about groups, which a table is for. "
            "Differential privacy bounds the move for every attacker."
        )
        return (
            Section("Before and after", (summary,), None, self._figure()),
            Section("What this does not say", (limits,)),
        )

    def to_json(self) -> dict[str, Json]:
        """The numbers as one JSON document."""
        return {
            "kind": "beliefs",
            "sensitive": self.sensitive,
            "quasi_identifiers": list(self.quasi_identifiers),
            "known": list(self.known),
            "people": self.moved.size,
            "theta": self.theta,
            "breaches": self.breaches,
            "largest": self.largest,
            "mean_rise_of_the_truth": float(self.risen.mean()),
        }

    def table(self) -> TextTable:
        """How many people's beliefs move by how much."""
        return TextTable(
            ("a belief moves by more than", "people"), tuple((name, shown) for name, _, shown in self._bars())
        )

    def _bars(self) -> list[tuple[str, float, str]]:
        shares = [(step, float(np.mean(self.moved > step))) for step in _STEPS]
        return [
            (f"> {_percentage_points(step)}", share, percent(share) if share < 1 else "100%") for step, share in shares
        ]

    def _figure(self) -> Figure:
        bars = self._bars()
        svg = bar_chart(
            [Bar(name, share, shown=shown) for name, share, shown in bars],
            title=f"How far beliefs about {self.sensitive} move",
            description="; ".join(f"{name}: {shown}" for name, _, shown in bars) + ".",
            label="share of people about whom a belief moves by more than that",
            show=percentage,
            include=(1.0,),
        )
        return Figure("beliefs", svg, "Belief before and after the table, for each person in it.", text_bars(bars))
