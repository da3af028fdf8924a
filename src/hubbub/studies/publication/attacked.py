"""The attacks that match: on the table as it is, without names, and on every table that was made from it.

For the owner of the data: the attacks read every row, and what they find speaks of real people.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hubbub import attacks
from hubbub.publish import Anonymized, CodedRows, Published, Synthetic
from hubbub.publish.anonymize import split_unit
from hubbub.publish.metrics import Candidate, ComparisonCells, RowTable, candidate_of, declared_cells
from hubbub.studies.attempts import FaceAttack
from hubbub.studies.publication.methods import PublicationTable
from hubbub.studies.publication.request import Method, PublicationRequest
from hubbub.terms import Unsuitable

if TYPE_CHECKING:
    import pyarrow

    from hubbub.attacks import Attack

RAW = "the table without names"
EXACT = "the same counts without noise"
MOST_LINKED = 2000  # released rows that are linked
MOST_RECONSTRUCTED = 1000  # people whose secret is reconstructed
MOST_TRACED = 300  # people who are looked for, and as many others
MOST_SHARES = 3000
_BINS = 8
_PERSON = "whose row it is"  # no column of a table that was read


@dataclass(frozen=True, slots=True, eq=False)
class TableAttack(FaceAttack):
    """An attack on a table; and, where people were named, what was learned of them."""

    secret: float | None = None  # of the people named, the share whose sensitive value is then right
    blind: float | None = None  # and what guessing the most frequent value gets right
    sampled: int | None = None  # how many rows the table has, if only some of them were attacked

    @property
    def headline(self) -> str:
        """What came out, in one sentence; of a sample, it says so."""
        if self.result is None:
            return self.reason
        sample = "" if self.sampled is None else f" These rows are a sample of the table's {self.sampled:,}."
        return self.result.headline + sample


def all_attempts(
    tables: Sequence[PublicationTable], table: pyarrow.Table, order: PublicationRequest, holdout: pyarrow.Table | None
) -> Iterator[TableAttack]:
    """Every attack on everything to which it applies."""
    people = table.drop([name for name in order.names if name in table.column_names])
    whose = None if order.unit is None else np.asarray(split_unit(table, order.unit)[1])
    own = np.arange(people.num_rows)
    if order.known:
        yield _attack_by_linkage(RAW, people, people, own, order, whose, generalized=False)
    yield from _attack_classes(RAW, people, order, whose, ("Homogeneity",))
    for each in tables:
        yield from _attack_table(each, people, order, whose)
    if holdout is not None and order.declared is not None:
        faces = {each.name: each.result for each in tables if not each.method.has_places}
        yield from _attack_membership({RAW: people, **faces}, people, holdout, order)


def _attack_table(
    published: PublicationTable, people: pyarrow.Table, order: PublicationRequest, whose: NDArray[np.int64] | None
) -> Iterator[TableAttack]:
    result = published.result
    if isinstance(result, Anonymized):
        yield _attack_by_linkage(published.name, result.table, people, result.kept, order, whose, generalized=True)
        yield from _attack_classes(published.name, result.table, order, result.people)
    elif isinstance(result, Synthetic) and order.known:
        nobody = np.full(result.table.num_rows, -1)  # no row is anybody's
        yield _attack_by_linkage(published.name, result.table, people, nobody, order, whose, generalized=False)
    elif published.method is Method.TABLES:
        yield from _attack_counts(published, people, order)


# ---------------------------------------------------------------- names for rows


def _attack_by_linkage(
    face: str,
    released: pyarrow.Table,
    people: pyarrow.Table,
    owners: Any,
    order: PublicationRequest,
    whose: NDArray[np.int64] | None,
    *,
    generalized: bool,
) -> TableAttack:
    """Names from a list of the same people: the worst case, a list that leaves nobody out.

    ``owners`` has the row of the list that each released one is (-1: of nobody), ``whose`` the person of each row of
    the list, where people have several.
    """
    chosen = np.random.default_rng(0).permutation(released.num_rows)[:MOST_LINKED]
    shown, known = released.take(chosen), list(order.known)
    roll, truth = people.select(known), owners[chosen]
    asked: dict[str, Any] = {"on": known, "generalized": generalized}
    if whose is not None:
        truth = np.where(truth < 0, -1, whose[truth])
        roll, asked = roll.append_column(_PERSON, _arrow_array(whose)), {**asked, "identity": _PERSON}
    attempt = TableAttack.attempt("Linkage", face, partial(attacks.link, shown, roll, truth=truth.tolist(), **asked))
    if attempt.result is not None and len(chosen) < released.num_rows:
        attempt = replace(attempt, sampled=released.num_rows)
    if attempt.result is None or order.sensitive is None or order.sensitive in known:
        return attempt
    return _score_secrets(attempt, attempt.result, shown[order.sensitive], people[order.sensitive])


def _arrow_array(values: NDArray[np.int64]) -> pyarrow.Array:
    import pyarrow

    return pyarrow.array(values)


def _score_secrets(attempt: TableAttack, linkage: Any, shown: Any, real: Any) -> TableAttack:
    """How often the sensitive value of a row that got a name is that person's."""
    import pyarrow
    import pyarrow.compute as pc

    words = [column.cast(pyarrow.string()) for column in (shown, real)]
    frequent = pc.value_counts(words[1].combine_chunks()).field("counts")
    blind = pc.max(frequent).as_py() / max(len(real), 1)
    matches = linkage.matches
    if not matches.num_rows:
        return replace(attempt, blind=blind)
    same = pc.equal(words[0].take(matches["released_row"]), words[1].take(matches["known_row"]))
    return replace(attempt, secret=pc.mean(pc.fill_null(same, False)).as_py(), blind=blind)


def _attack_classes(
    face: str,
    table: pyarrow.Table,
    order: PublicationRequest,
    whose: NDArray[np.int64] | None,
    wanted: Sequence[str] = ("Homogeneity", "Background knowledge"),
) -> Iterator[TableAttack]:
    """What the people of one class have in common, and what ruling out a value leaves."""
    if not order.known or order.sensitive is None or order.sensitive in order.known:
        return
    asked: dict[str, Any] = {"quasi_identifiers": list(order.known), "sensitive": order.sensitive, "person": whose}
    known: dict[str, Callable[..., Attack]] = {
        "Homogeneity": attacks.homogeneity,
        "Background knowledge": attacks.background,
    }
    for name in wanted:
        yield TableAttack.attempt(name, face, partial(known[name], table, **asked))


# ---------------------------------------------------------------- counts


def _attack_counts(
    published: PublicationTable, people: pyarrow.Table, order: PublicationRequest
) -> Iterator[TableAttack]:
    """Everybody's secret from the published counts, and from the same counts without noise."""
    assert isinstance(published.result, Published)
    asked = partial(_reconstruct_secrets, published.result, people, order)
    yield TableAttack.attempt("Reconstruction", EXACT, partial(asked, noisy=False))
    yield TableAttack.attempt("Reconstruction", published.name, partial(asked, noisy=True))


def _reconstruct_secrets(result: Published, people: pyarrow.Table, order: PublicationRequest, *, noisy: bool) -> Attack:
    secret, domain = order.sensitive, order.declared
    if secret is None or domain is None or people.num_rows > MOST_RECONSTRUCTED:
        raise Unsuitable(
            f"there is no sensitive column, or the table has more than {MOST_RECONSTRUCTED:,} people.",
            why="The attack solves for one unknown per person.",
            fix="Name it with --sensitive, or try a smaller table.",
        )
    cells = ComparisonCells.of(declared_cells(people.schema, domain, unit=order.unit), bins=1 << 14)
    codes = cells.encode(people)
    place = cells.names.index(secret)
    value = int(np.bincount(codes[:, place]).argmax())
    candidate = candidate_of(result, cells, name="tables", hierarchies={})
    queries, answers = [], []
    for columns in candidate.tables:  # type: ignore[attr-defined]
        if place in columns and len(columns) > 1:
            rows, counts = _cell_equations(
                codes, columns, place, value, candidate if noisy else _exact_candidate(codes, cells)
            )
            queries.append(rows)
            answers.append(counts)
    if not queries:
        raise Unsuitable(
            f"no table counts {secret} by something else.",
            why="A count of everybody tells of nobody.",
            fix="Ask for tables such as --of age,sensitive.",
        )
    truth = (codes[:, place] == value).astype(np.int8)
    return attacks.Reconstruction.of(
        np.concatenate(queries),
        np.concatenate(answers),
        method="least-squares",
        truth=truth,
        epsilon=float(order.epsilon) if noisy else None,
        delta=float(order.delta) if noisy else 0.0,
    )


def _exact_candidate(codes: Any, cells: ComparisonCells) -> Candidate:
    return RowTable(CodedRows(codes, cells.sizes))


def _cell_equations(
    codes: Any, columns: tuple[int, ...], place: int, value: int, candidate: Candidate
) -> tuple[Any, Any]:
    """Who is in each cell of the other columns, and how many of them have the value, by the table."""
    others = [c for c in columns if c != place]
    counts = np.asarray(candidate.counts(columns), dtype=np.float64).take(value, axis=columns.index(place))
    where = np.ravel_multi_index(tuple(codes[:, c] for c in others), counts.shape)
    used = np.unique(where)
    return (where == used[:, None]).astype(np.int8), counts.ravel()[used]


# ---------------------------------------------------------------- who took part


def _attack_membership(
    faces: Mapping[str, Any], people: pyarrow.Table, holdout: pyarrow.Table, order: PublicationRequest
) -> Iterator[TableAttack]:
    """Was a person in the table? Public rows say what is usual, and are the people who were not."""
    cells = ComparisonCells.of(declared_cells(people.schema, order.declared or {}, unit=order.unit), bins=_BINS)
    codes, others = cells.encode(people), cells.encode(holdout)
    chance = np.random.default_rng(0)
    members = chance.permutation(codes)[:MOST_TRACED]
    strangers, public = np.split(chance.permutation(others), [min(MOST_TRACED, len(others) // 2)])
    usual = RowTable(CodedRows(public, cells.sizes))
    for face, given in faces.items():
        yield TableAttack.attempt(
            "Membership", face, partial(_trace_members, given, cells, order, members, strangers, usual, people.num_rows)
        )


def _trace_members(
    given: Any,
    cells: ComparisonCells,
    order: PublicationRequest,
    members: Any,
    strangers: Any,
    usual: RowTable,
    size: int,
) -> Attack:
    candidate = candidate_of(given, cells, name="table", hierarchies=order.hierarchies)
    shares, reference = [], []
    inside: list[Any] = []
    outside: list[Any] = []
    for columns in cells.marginals(min(2, len(cells.sizes))):
        shape = tuple(cells.sizes[c] for c in columns)
        public = usual.shares(columns).ravel()
        common = np.flatnonzero((public > 0) & (public < 1))
        shares.append(candidate.shares(columns).ravel()[common])
        reference.append(public[common])
        for rows, scores in ((members, inside), (strangers, outside)):
            where = np.ravel_multi_index(tuple(rows[:, c] for c in columns), shape)
            scores.append((where[:, None] == common[None, :]).astype(np.int8))
    kept = slice(0, MOST_SHARES)
    return attacks.trace(
        np.concatenate(shares)[kept],
        np.concatenate(reference)[kept],
        members=np.concatenate(inside, axis=1)[:, kept],
        others=np.concatenate(outside, axis=1)[:, kept],
        size=size,
        statistic="inner-product",
    )
