"""Differences in a query log: counts and sums, harmless one by one, that single out a few people when subtracted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from hubbub.attacks import plain_tables
from hubbub.attacks.plain_tables import PlainTable
from hubbub.attacks.queries import query_log
from hubbub.attacks.queries.guess_margin import SURE, chance_right
from hubbub.attacks.queries.isolation import isolate
from hubbub.attacks.queries.nested_pairs import NestedQueries, pairs
from hubbub.attacks.queries.query_log import Log, Query
from hubbub.attacks.report import Attack
from hubbub.explain import Figure, TextTable
from hubbub.render import Json, out_of_100
from hubbub.render import bars as text_bars
from hubbub.render.charts import Bar, bar_chart
from hubbub.terms import Real, Unsuitable, exact, whole

if TYPE_CHECKING:
    import pyarrow

_SHOWN = 10  # pairs in a table


def differences(
    log: Log,
    *,
    table: PlainTable | None = None,
    secret: str | Sequence[str] = (),
    person: str | None = None,
    few: int = 3,
    noise: Real = 0,
) -> Differences:
    """Search a log of (question, answer) for differences of counts and sums that are about at most ``few`` people.

    A question is SQL (``SELECT COUNT(*)``, ``SUM(x)`` or ``AVG(x)`` with WHERE, without groups) or a set of
    conditions, which means a count. Two questions make a pair if one has all conditions of the other and more, or
    a narrower range; halves of a whole (a condition and its negation) are added up first, and averages multiplied by
    their counts. Whom the difference is about is counted in ``table`` if there is one, else taken from the log: the
    difference of two counts itself, or a question about just these people (the lectures' q1). ``person`` is the column
    of the table that tells people apart; without it each row counts as a person.

    With a ``table`` and the ``secret`` columns, linear algebra finds everybody whose secret follows from *any*
    combination of answers (``isolate``). ``noise`` is the standard deviation in each answer.

    Not covered: groups, joins and subqueries (left out and counted); and, without a table, missing values, for which
    neither a condition nor its negation holds.

    >>> log = [("SELECT COUNT(*) FROM patients WHERE age = 26 AND zip = 12345 AND gender = 'm'", 1),
    ...        ("SELECT COUNT(*) FROM patients WHERE diag LIKE 'flu'", 100),
    ...        ("SELECT COUNT(*) FROM patients WHERE NOT (age = 26 AND zip = 12345 AND gender = 'm') "
    ...         "AND diag LIKE 'flu'", 99)]
    >>> [(pair.describe(), pair.answer) for pair in differences(log).small_pairs]
    [("age = 26 AND diag LIKE 'flu' AND gender = 'm' AND zip = 12345", 1.0)]
    """
    queries, skipped = query_log.read_log(log)
    if not queries:
        raise Unsuitable(
            "the log has no count, sum or average to compare.",
            why="Only these, without GROUP BY, have differences that are about people.",
            fix="Give at least two of them.",
        )
    most, spread = whole(few, name="few"), abs(float(exact(noise, name="noise")))
    nested = list(pairs([*queries, *query_log.derived_queries(queries)]))
    rows = None if table is None else plain_tables.read_table(table, called="the table")
    hidden = {secret.lower()} if isinstance(secret, str) else {name.lower() for name in secret}
    sized = _from_log(nested, queries, spread) if rows is None else _from_table(nested, rows, person)
    small_pairs = tuple(pair for pair in sized if pair.people is not None and 1 <= pair.people <= most)
    people = () if rows is None or not hidden else _isolated_people(queries, rows, hidden, spread)
    return Differences(len(queries), skipped, len(nested), small_pairs, people, most, spread)


@dataclass(frozen=True, slots=True)
class Difference:
    """A pair of questions, and how many people their difference is about (None: it cannot be told)."""

    pair: NestedQueries
    people: int | None

    @property
    def answer(self) -> float:
        """The difference of the answers."""
        return self.pair.difference

    def describe(self) -> str:
        """Whom it is about."""
        return self.pair.describe()


@dataclass(frozen=True, slots=True)
class Isolated:
    """A person (row of the table) whose part in a secret follows from the log: what, how much, and its noise."""

    person: int
    what: str
    value: float
    std_dev: float


@dataclass(frozen=True, slots=True, eq=False)
class Differences(Attack):
    """The differences that are about few people, and everybody whose secret follows from the log."""

    kind: ClassVar[str] = "differences"
    name: ClassVar[str] = "Differences in a log"

    queries: int
    skipped: int
    nested: int
    small_pairs: tuple[Difference, ...]
    people: tuple[Isolated, ...]
    few: int
    noise: float

    @property
    def chance(self) -> float:
        """How often a guess from the best difference is right: 1 without noise."""
        terms = [pair.pair.terms for pair in self.small_pairs]
        spreads = [self.noise * sqrt(count) for count in terms] + [person.std_dev for person in self.people]
        return chance_right(min(spreads)) if spreads else 0.5

    @property
    def succeeded(self) -> bool:
        """Whether a difference is about few people, and noise does not drown it."""
        return bool(self.small_pairs or self.people) and self.chance >= SURE

    @property
    def headline(self) -> str:
        """What was found, in one sentence."""
        count = f"{len(self.small_pairs):,} difference{'' if len(self.small_pairs) == 1 else 's'}"
        sentence = f"In a log of {self.queries:,}, {count} about at most {self.few:,} people"
        if self.people:
            sentence += f", and all together tell the secrets of {len({p.person for p in self.people}):,}"
        if not self.noise or not (self.small_pairs or self.people):
            return f"{sentence}."
        return f"{sentence}; with this noise a guess from them is right {out_of_100(self.chance)} times."

    def numbers(self) -> dict[str, Json]:
        """What was found, for programs."""
        return {
            "questions": self.queries,
            "left_out": self.skipped,
            "nested_pairs": self.nested,
            "differences": [
                {
                    "about": pair.describe(),
                    "large": pair.pair.large.describe(),
                    "small": pair.pair.small.describe(),
                    "answers": [*pair.pair.large.answers, *pair.pair.small.answers],
                    "difference": pair.answer,
                    "people": pair.people,
                }
                for pair in self.small_pairs
            ],
            "isolated": [{"person": p.person, "what": p.what, "value": p.value} for p in self.people],
            "chance_right": self.chance,
        }

    def facts(self) -> tuple[tuple[str, str], ...]:
        """What was found, for people."""
        return tuple((pair.describe(), f"{pair.answer:.6g}") for pair in self.small_pairs)

    def table(self) -> TextTable:
        """The differences, those about fewest people first."""
        first = sorted(self.small_pairs, key=lambda pair: (pair.people or 0, pair.describe()))[:_SHOWN]
        rows = tuple((pair.describe(), f"{pair.people:,}", f"{pair.answer:.6g}") for pair in first)
        return TextTable(("a difference about", "people", "answer"), rows or (("nobody in particular", "", ""),))

    def figure(self) -> Figure:
        """Questions, nested pairs, and the differences about few people."""
        bars = [
            ("questions", self.queries),
            ("pairs that are nested", self.nested),
            (f"about at most {self.few:,} people", len(self.small_pairs)),
            ("people whose secret follows", len({p.person for p in self.people})),
        ]
        svg = bar_chart(
            [Bar(name, float(count), shown=f"{count:,}") for name, count in bars],
            title="From harmless questions to people",
            description="; ".join(f"{name}: {count:,}" for name, count in bars) + ".",
            label="number",
        )
        plain = text_bars([(name, float(count), f"{count:,}") for name, count in bars])
        return Figure(self.kind, svg, "Nobody needs to have meant it: ordinary reports can do this.", plain)

    def meaning(self) -> tuple[str, ...]:
        """What it means for the people in the data."""
        if not (self.small_pairs or self.people):
            return ("No pair of these questions singles out few people. Questions of other kinds were not searched.",)
        return (
            "Two counts over many people that differ in a few tell about these few. The questions may come from "
            "different analysts, months apart, and none of them may have meant it.",
        )

    def remedy(self) -> tuple[str, ...]:
        """What would have helped."""
        return (
            "Checking each question against the log finds what is found here, and misses what other data add. Noise "
            "that hides one person, paid from one budget for all analysts together, covers every difference at once.",
        )


def _from_log(nested: Sequence[NestedQueries], queries: Sequence[Query], noise: float) -> list[Difference]:
    """Sizes as the log itself tells them; a noisy difference of counts tells none."""
    counts = {(q.table, q.conditions): q.answer for q in queries if q.aggregate == "COUNT" and q.of == "*"}
    between = {
        (pair.large.table, pair.between): pair.difference for pair in nested if pair.large.what[:2] == ("COUNT", "*")
    }

    def size(pair: NestedQueries) -> int | None:
        table = pair.large.table
        sizes = [counts.get((table, pair.left_out)), counts.get((table, pair.between))]
        sizes += [] if noise else [between.get((table, pair.between))]
        known = [round(answer) for answer in sizes if answer is not None]
        return _smaller_group(known) if known else None

    return [Difference(pair, size(pair)) for pair in nested]


def _from_table(nested: Sequence[NestedQueries], rows: pyarrow.Table, person: str | None) -> list[Difference]:
    """Sizes counted in the table: of those left out, or of those in between if these are fewer (but somebody)."""
    if not nested:
        return []
    wanted = [part for pair in nested for part in (pair.large.conditions, pair.small.conditions, pair.left_out)]
    masks = query_log.condition_masks(rows, wanted).reshape(len(nested), 3, -1)
    whose = np.arange(rows.num_rows)
    if person is not None:
        [column] = plain_tables.known_columns(rows, [person], called="the table")
        whose = plain_tables.encode_column(rows.column(column))
    between = masks[:, 0] & ~masks[:, 1]  # also those for whom a missing value decides
    return [
        Difference(pair, _smaller_group([len(np.unique(whose[mask])) for mask in (few, others)]))
        for pair, few, others in zip(nested, between, masks[:, 2], strict=True)
    ]


def _smaller_group(sizes: Sequence[int]) -> int:
    """The smaller group; one that turned out empty (the victim does not have it) still was about the other."""
    return min((size for size in sizes if size > 0), default=0)


def _isolated_people(
    queries: Sequence[Query], rows: pyarrow.Table, hidden: set[str], noise: float
) -> tuple[Isolated, ...]:
    """Everybody whose secret follows from the answers about one secret, for each secret that was asked about."""
    asked: dict[tuple[str, frozenset[str]], list[Query]] = {}
    for query in queries:
        secret = frozenset(part for part in query.conditions if query_log.condition_columns(part) & hidden)
        if query.aggregate != "AVG" and (secret or query.of in hidden):
            asked.setdefault((f"{query.aggregate}({query.of})", secret), []).append(query)
    solved = [_solve_group(what, secret, group, rows, noise) for (what, secret), group in asked.items()]
    return tuple(person for people in solved for person in people)


def _solve_group(
    what: str, secret: frozenset[str], group: Sequence[Query], rows: pyarrow.Table, noise: float
) -> list[Isolated]:
    """The people isolated by questions that all ask about the same secret."""
    answers = [query.answer for query in group]
    isolation = isolate(
        query_log.condition_masks(rows, [query.conditions - secret for query in group]), answers, noise=noise
    )
    description = f"{what} where {query_log.conjunction(secret)}"
    return [
        Isolated(person, description, value, float(spread))
        for (person, value), spread in zip(isolation.values.items(), isolation.std_devs, strict=True)
    ]
