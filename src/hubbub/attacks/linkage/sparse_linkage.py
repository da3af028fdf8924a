"""Linkage of sparse data: a few approximate facts find a record among thousands [NS08]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from hubbub.attacks import plain_tables
from hubbub.attacks.plain_tables import PlainTable
from hubbub.attacks.report import Attack, count_of
from hubbub.explain import Figure
from hubbub.render import Json
from hubbub.render import bars as text_bars
from hubbub.render.charts import Bar, bar_chart
from hubbub.terms import Real, Unsuitable, exact, positive

if TYPE_CHECKING:
    import pyarrow

Floats = NDArray[np.float64]


def link_sparse(
    released: PlainTable,
    public: PlainTable,
    *,
    record: str,
    person: str,
    item: str,
    tolerances: Mapping[str, Real] | None = None,
    eccentricity: Real = 4,
    truth: Mapping[object, object] | None = None,
) -> SparseLinkage:
    """Find the record of each public person by a few items that both have, or say that there is none.

    Both tables are long: a row per record (or person) and ``item``, with further columns to compare in
    ``tolerances``: a difference of one tolerance leaves e^-1 of the similarity ({"stars": 1.5, "day": 30}). A
    record scores sum w(i) * (mean similarity of the columns) over the common items i, where w(i) = 1/ln(records
    that have i): rare items tell most. The best record is named only if it leads the second by ``eccentricity``
    standard deviations of all scores [NS08, Sec. 4]; else the answer is nobody. (There 1.5 was enough; among a few
    thousand records a stranger reaches that one time in five, and 4 about one time in a hundred.) ``truth`` maps
    people who are in the release to their records.

    >>> from hubbub.attacks import populations
    >>> films = populations.ratings(people=400, reviewers=20, strangers=20)
    >>> found = link_sparse(films.released, films.public, record="record", person="name", item="film",
    ...                     tolerances={"stars": 1.5, "day": 30}, truth=films.truth)
    >>> found.right > 15, found.wrong < 5
    (True, True)
    """
    ours, theirs = (
        plain_tables.read_table(released, called="released"),
        plain_tables.read_table(public, called="public"),
    )
    scales = {name: float(positive(size, name=f"the tolerance of {name}")) for name, size in (tolerances or {}).items()}
    plain_tables.known_columns(ours, [record, item, *scales], called="released")
    plain_tables.known_columns(theirs, [person, item, *scales], called="public")
    board = _Scoreboard.of(ours, theirs, record=record, item=item, scales=scales)
    least = float(exact(eccentricity, name="eccentricity"))
    names, who = theirs.column(person).to_pylist(), plain_tables.encode_column(theirs.column(person))
    rows = [np.flatnonzero(who == i) for i in range(plain_tables.count_distinct(who))]
    best_matches = [board.best(names[mine[0]], mine) for mine in rows]
    return SparseLinkage(tuple(best_matches), board.records, least, None if truth is None else dict(truth))


@dataclass(frozen=True, slots=True)
class Lead:
    """The best record for a person, how far it leads (in standard deviations of all scores), and the items known."""

    person: object
    record: object
    eccentricity: float
    items: int


@dataclass(frozen=True, slots=True, eq=False)
class SparseLinkage(Attack):
    """The best record of each public person, and which of them lead far enough to be named."""

    kind: ClassVar[str] = "sparse-linkage"
    name: ClassVar[str] = "Sparse linkage"

    leads: tuple[Lead, ...]
    records: int
    least: float
    truth: dict[object, object] | None = None

    @property
    def named(self) -> dict[object, object]:
        """The people who were found, with their records."""
        return {lead.person: lead.record for lead in self.leads if lead.eccentricity >= self.least}

    @property
    def right(self) -> int:
        """How many were found and are right; 0 where the truth is not known."""
        return sum((self.truth or {}).get(person, self) == record for person, record in self.named.items())

    @property
    def wrong(self) -> int:
        """How many were found and are wrong, strangers among them; 0 where the truth is not known."""
        return 0 if self.truth is None else len(self.named) - self.right

    @property
    def succeeded(self) -> bool:
        """Whether somebody was found, and (where that is known) more rightly than wrongly."""
        return bool(self.named) and (self.truth is None or self.right > self.wrong)

    @property
    def headline(self) -> str:
        """What was found, in one sentence."""
        named = count_of(len(self.named), len(self.leads))
        sentence = f"{named} of the people with public items were found among {self.records:,} records"
        if self.truth is None:
            return f"{sentence}."
        inside = sum(lead.person in self.truth for lead in self.leads)
        return f"{sentence}: {self.right:,} of the {inside:,} who are there rightly, and {self.wrong:,} by mistake."

    def numbers(self) -> dict[str, Json]:
        """What was found, for programs."""
        return {
            "people": len(self.leads),
            "records": self.records,
            "named": len(self.named),
            "right": self.right if self.truth is not None else None,
            "wrong": self.wrong if self.truth is not None else None,
            "least_eccentricity": self.least,
            "mean_items_known": float(np.mean([lead.items for lead in self.leads])),
        }

    def facts(self) -> tuple[tuple[str, str], ...]:
        """What was found, for people."""
        rows = [
            ("records without names", f"{self.records:,}"),
            ("people with public items", f"{len(self.leads):,}"),
            ("items known of each, on average", f"{np.mean([lead.items for lead in self.leads]):.1f}"),
            ("found", count_of(len(self.named), len(self.leads))),
        ]
        if self.truth is not None:
            rows += [("of these, right", count_of(self.right, len(self.named)))]
            rows += [("of these, wrong", count_of(self.wrong, len(self.named)))]
        return tuple(rows)

    def figure(self) -> Figure:
        """How far the best record leads, person by person."""
        values = np.array([lead.eccentricity for lead in self.leads])
        edges = self.least * np.array([0.5, 1, 2, 4])
        names = ["no lead", *(f"at least {edge:.3g}" for edge in edges)]
        counts = np.bincount(np.digitize(values, edges), minlength=len(names))
        bars = [(name, float(count), f"{count:,}") for name, count in zip(names, counts, strict=True)]
        svg = bar_chart(
            [Bar(name, count, shown=shown) for name, count, shown in bars],
            title="How far the best record leads the second",
            description="; ".join(f"{name}: {shown} people" for name, _, shown in bars) + ".",
            label="people, by lead in standard deviations",
        )
        caption = f"Whoever leads by {self.least:.3g} or more is named; else the answer is nobody."
        return Figure(self.kind, svg, caption, text_bars(bars))

    def meaning(self) -> tuple[str, ...]:
        """What it means for the people in the data."""
        if not self.succeeded:
            return ("A few public items do not single out a record here, and the attack says so instead of guessing.",)
        return (
            "Nearly everybody likes something rare. A handful of approximate facts from elsewhere (a review, a remark "
            "at the coffee machine) points to one record among thousands, and then all the rest of it has a name.",
            "The attacker can tell when an answer is to be trusted, by how far it leads: people who are not in the "
            "data are mostly left alone.",
        )

    def remedy(self) -> tuple[str, ...]:
        """What would have helped."""
        return (
            "Small noise on the values does not help: the attack tolerates it. Nor does k-anonymity: with thousands of "
            "items everything is a quasi-identifier, and to hide it all is to delete it.",
            "Sparse data can be used without being handed out: answers and models with differential privacy for all "
            "rows of a person, or reports that each person randomizes before sending.",
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Scoreboard:
    """The released records by item, ready to be scored against a few items of somebody."""

    items: NDArray[np.int64]  # of the public rows
    starts: NDArray[np.int64]  # the released rows of item i are starts[i] to starts[i + 1]
    owners: NDArray[np.int64]
    weights: Floats
    released: Floats  # a row per compared column, each in units of its tolerance
    public: Floats
    names: list[object]

    @classmethod
    def of(
        cls, ours: pyarrow.Table, theirs: pyarrow.Table, *, record: str, item: str, scales: Mapping[str, float]
    ) -> _Scoreboard:
        mine, yours, _, _ = plain_tables.common_codes(ours, theirs, [(item, item)])
        if not np.isin(yours, mine).any():
            raise Unsuitable(
                f"the two tables have no {item} in common.",
                why="Records are compared by the items that both tables have.",
                fix="Check that both write the items alike.",
            )
        owners = plain_tables.encode_column(ours.column(record))
        order = np.argsort(mine, kind="stable")
        size = 1 + max(int(mine.max()), int(yours.max()))
        support = np.bincount(mine, minlength=size)
        first = np.unique(owners, return_index=True)[1]
        return cls(
            yours,
            np.concatenate([[0], np.cumsum(support)]),
            owners[order],
            1 / np.log(np.maximum(support, 2)),
            _scaled_columns(ours, scales)[:, order],
            _scaled_columns(theirs, scales),
            ours.column(record).take(first).to_pylist(),
        )

    @property
    def records(self) -> int:
        return len(self.names)

    def best(self, person: object, rows: NDArray[np.int64]) -> Lead:
        """The record with the highest score, and its lead over the second in standard deviations."""
        scores = np.zeros(self.records)
        for row in rows:
            at = slice(self.starts[self.items[row]], self.starts[self.items[row] + 1])
            likeness = np.exp(-np.abs(self.released[:, at] - self.public[:, [row]]))
            alike = likeness.mean(axis=0) if len(likeness) else np.ones(at.stop - at.start)
            np.add.at(scores, self.owners[at], self.weights[self.items[row]] * alike)
        return Lead(person, self.names[int(np.argmax(scores))], _score_lead(scores), len(rows))


def _score_lead(scores: Floats) -> float:
    if len(scores) < 2 or not scores.std():
        return 0.0
    second, first = np.partition(scores, -2)[-2:]
    return float((first - second) / scores.std())


def _scaled_columns(table: pyarrow.Table, scales: Mapping[str, float]) -> Floats:
    """The compared columns as numbers (dates as days) in units of their tolerances."""
    columns = [plain_tables.numeric_column(table.column(name), called=name) / scale for name, scale in scales.items()]
    return np.array(columns) if columns else np.zeros((0, table.num_rows))
