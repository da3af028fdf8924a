"""Reconstruction against whatever answers SQL: ask many counts, then solve for everybody's secret.

The attacker knows who is in the table (their ids) and wants a yes-or-no about each: ``loanStatus = 'C'``, say. Every
question is a harmless count over about half of all people. This is the loan database of the lectures [All23], and how
a commercial system was broken [CN20].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from hubbub.attacks.queries.asking import SqlInterface, ask
from hubbub.attacks.reconstruction.reconstruction import Reconstruction, random_ranges, random_subsets
from hubbub.attacks.requirements import Bits
from hubbub.terms import OutOfRange, Unsuitable, whole

_FIRST, _SECOND = 997, 1009  # small primes: the products fit into 32-bit integers of any SQL

Asked = tuple[Bits, list[str]]  # who is asked about, and the same as SQL conditions


def reconstruct_from(
    interface: SqlInterface,
    *,
    table: str,
    person: str,
    people: Sequence[object],
    secret: str,
    by: str = "subsets",
    questions: int | None = None,
    asking: Mapping[str, object] | None = None,
    method: str = "box",
    truth: ArrayLike | None = None,
    epsilon: float | None = None,
    delta: float = 0.0,
    seed: int = 0,
) -> Reconstruction:
    """Who has the ``secret`` (an SQL condition), from counts that ``interface.sql`` answers.

    ``person`` is the column that tells people apart, ``people`` their ids, one row each. Questions are about random
    ``by="subsets"`` (``id IN (...)``), ``"ranges"`` (``id BETWEEN ... AND ...``), or ``"hashes"`` (arithmetic on whole
    numbers as ids, so that a question is short); four per person unless ``questions`` says how many. ``asking`` goes
    along with each, such as ``{"rho": 0.001}``. ``epsilon`` and ``delta`` are what all answers together promise about
    one person, for the report; so is the ``truth``.

    >>> import duckdb
    >>> bank = duckdb.connect()
    >>> _ = bank.sql("CREATE TABLE loans AS SELECT i AS client, CASE i * i % 7 WHEN 2 THEN 'C' END AS status "
    ...              "FROM range(30) t(i)")
    >>> found = reconstruct_from(bank, table="loans", person="client", people=range(30), secret="status = 'C'",
    ...                          by="ranges", truth=[i * i % 7 == 2 for i in range(30)])
    >>> found.right
    1.0
    """
    known = _distinct_people(people)
    count = 4 * len(known) if questions is None else whole(questions, name="questions")
    queries, conditions = _question_maker(by)(known, person, count, seed)
    options = dict(asking or {})
    counted = f"SELECT COUNT(*) AS n FROM {table} WHERE ({secret}) AND "  # noqa: S608 - the attacker writes it
    answers = [ask(interface, counted + condition, **options) for condition in conditions]
    return Reconstruction.of(queries, answers, method=method, truth=truth, people=known, epsilon=epsilon, delta=delta)


def _distinct_people(people: Sequence[object]) -> list[object]:
    known = list(people)
    if not known or len(set(known)) < len(known):
        raise Unsuitable(
            "people must be a list of ids, each of them once.",
            why="There is one secret bit per person.",
            fix="Give each id once; of a table with several rows per person ask about one row each.",
        )
    return known


def _question_maker(by: str) -> Callable[[list[object], str, int, int], Asked]:
    makers = {"subsets": _by_subsets, "ranges": _by_ranges, "hashes": _by_hashes}
    if by not in makers:
        raise OutOfRange(
            f"there are no questions by {by!r}.",
            why="A question picks people in one of a few ways.",
            fix=f"One of {', '.join(makers)}.",
        )
    return makers[by]


def _by_subsets(people: list[object], column: str, count: int, seed: int) -> Asked:
    """One condition per random subset: a list of ids. An empty subset asks about nobody."""
    queries = random_subsets(len(people), count, seed=seed)
    literals = np.array([sql_literal(one) for one in people], dtype=object)
    chosen = [", ".join(literals[row == 1]) or "NULL" for row in queries]
    return queries, [f"{column} IN ({ids})" for ids in chosen]


def _by_ranges(people: list[object], column: str, count: int, seed: int) -> Asked:
    """One condition per range of the ordered ids: where it begins and where it ends."""
    try:
        ranks = {one: rank for rank, one in enumerate(sorted(people))}  # type: ignore[type-var]
    except TypeError:
        raise Unsuitable(
            "people must have ids that can be put in order.", why="A range has two ends.", fix='Use by="subsets".'
        ) from None
    ordered = [sql_literal(one) for one in ranks]
    queries = random_ranges(len(people), count, seed=seed)
    ends = [np.flatnonzero(row)[[0, -1]] for row in queries]
    conditions = [f"{column} BETWEEN {ordered[low]} AND {ordered[high]}" for low, high in ends]
    return queries[:, [ranks[one] for one in people]], conditions


def _by_hashes(people: list[object], column: str, count: int, seed: int) -> Asked:
    """One condition per random hash of the id: the people whose hash is odd."""
    ids = np.array([one for one in people if isinstance(one, int | np.integer)], dtype=np.int64)
    if len(ids) < len(people) or ids.min() < 0:
        raise Unsuitable(
            "hashes need ids that are whole numbers of at least 0.",
            why="The hash is arithmetic that any SQL can do.",
            fix='Use by="subsets".',
        )
    keys = np.random.default_rng(seed).integers(1, _FIRST, (count, 3))
    mixed = np.outer(keys[:, 0], ids % _FIRST) + np.outer(keys[:, 1], ids % _SECOND) + keys[:, 2:]
    hashed = "({c} % {p}) * {a} + ({c} % {q}) * {b} + {k}"
    texts = [hashed.format(c=column, p=_FIRST, q=_SECOND, a=a, b=b, k=k) for a, b, k in keys.tolist()]
    return (mixed % _FIRST % 2).astype(np.int8), [f"({text}) % {_FIRST} % 2 = 1" for text in texts]


def sql_literal(value: object) -> str:
    """A number or text as SQL writes it.

    >>> sql_literal(7), sql_literal("O'Hara")
    ('7', "'O''Hara'")
    """
    if isinstance(value, int | float | np.integer | np.floating):
        return str(value)
    return "'" + str(value).replace("'", "''") + "'"
