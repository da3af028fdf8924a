"""Caps, differences and clipped totals as plainer nodes: only people who may be over a bound are ranked.

What is read twice is shared: the rows themselves, and who has too many of them. Shares are named here, and a name is
known inside its own ``With`` alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from hubbub.relations.expressions import Expr
from hubbub.relations.nodes.engine_values import (
    NormClip,
    clamped_total,
    clipped_total,
    compare_number,
    count_rows,
    equal_values,
    integer,
    largest_of,
    negative_total,
    size_of_totals,
    sum_of,
    total_of,
)
from hubbub.relations.nodes.people import Cap, PersonAggregate, Rank
from hubbub.relations.nodes.relation import KEY_PLACE, NUMBER, PERSON, PLACE, NamedValue, Relation
from hubbub.relations.nodes.rows import Alias, FanOut, Filter, JoinKind, JoinRows, Project
from hubbub.relations.nodes.totals import Aggregate, CapDifference, ClipTotals, Partial, SharedRelation, UnionAll, With

_ROWS, _HEAVY = "_hb_scope", "_hb_heavy"  # a table may be called `scope`: no declared name begins like ours


def expand_node(node: Cap | CapDifference | ClipTotals) -> Relation:
    """The same in nodes that a printer knows."""
    if isinstance(node, Cap):
        return _expand_cap(node)
    return _expand_difference(node) if isinstance(node, CapDifference) else _expand_clip(node)


# ---------------------------------------------------------------- a cap on rows


def _expand_cap(cap: Cap) -> Relation:
    """The rows of people within the cap as they are, and of the others so many as it allows."""
    rows = SharedRelation(_ROWS, cap.input, materialized=False if cap.inline else None)
    within = cap.keys if cap.each_key else ()
    found_by = within if cap.most_keys is None else ()
    heavy = SharedRelation(_HEAVY, _heavy_people(cap, rows, found_by), materialized=True)
    same = tuple(equal_values(heavy.column(name), rows.column(name)) for name in found_by)
    light = JoinRows(rows, heavy, same, FanOut.TO_ONE, JoinKind.ANTI)
    source: Relation = JoinRows(rows, heavy, same, FanOut.TO_ONE, JoinKind.SEMI)
    if cap.most_keys is not None:
        source = _first_keys(source, cap)
    kept = _first_rows(source, cap.content, cap.secret, within, cap.most)
    columns = [column.name for column in cap.columns if column.name != PERSON]
    both = UnionAll((_project_names(light, columns), _project_names(kept, columns)), rows=cap.rows_per_person)
    return With((rows, heavy), both)


def _heavy_people(cap: Cap, rows: SharedRelation, within: Sequence[str]) -> Relation:
    """Who has more than is allowed; with ``within``, of which value of these columns."""
    keys = tuple(rows.column(name) for name in within)
    named = tuple(NamedValue(name, key) for name, key in zip(within, keys, strict=True))
    if cap.most_keys is None:
        return PersonAggregate(rows, keys, named, compare_number("gt", count_rows(), cap.most))
    groups = tuple(rows.column(name) for name in cap.keys)
    counted = Alias(PersonAggregate(rows, groups, (NamedValue("n", count_rows()),)), "counted")
    number = counted.column("n")
    most = compare_number("gt", largest_of(number) if cap.each_key else sum_of(number), cap.most)
    over = Expr("or", (compare_number("gt", count_rows(), cap.most_keys), most))
    return PersonAggregate(counted, (), (), over)


def _first_keys(source: Relation, cap: Cap) -> Relation:
    names = (PERSON, *cap.keys) if PERSON in cap.content else cap.keys  # an order of each person's own, as of rows
    content = tuple(source.column(name) for name in names)
    assert cap.most_keys is not None
    numbered = Alias(Rank(source, content, cap.secret, name=KEY_PLACE, dense=True), "numbered")
    return Filter(numbered, (compare_number("le", numbered.column(KEY_PLACE), cap.most_keys),))


def _first_rows(source: Relation, names: Sequence[str], secret: str, within: tuple[str, ...], most: int) -> Relation:
    ranked = Alias(Rank(source, tuple(source.column(name) for name in names), secret, within), "ranked")
    return Filter(ranked, (compare_number("le", ranked.column(PLACE), most),))


def _project_names(source: Relation, names: Sequence[str]) -> Project:
    return Project(source, tuple(NamedValue(name, source.column(name)) for name in names))


# ---------------------------------------------------------------- all rows, less those beyond the cap


def _expand_difference(node: CapDifference) -> Relation:
    """The integers are exact, so the difference is; only people who may have more rows than the cap are ranked."""
    rows = SharedRelation(_ROWS, node.input, materialized=False if node.inline else None)
    shared = [rows]
    source: Relation
    if any(column.name == NUMBER for column in rows.columns):
        source = Filter(rows, (compare_number("gt", rows.column(NUMBER), node.most),))
    else:
        over = compare_number("gt", count_rows(), node.most)
        heavy = SharedRelation(_HEAVY, PersonAggregate(node.people, (), (), over), materialized=True)
        shared.append(heavy)
        source = JoinRows(rows, heavy, (), FanOut.TO_ONE, JoinKind.SEMI)
    content = tuple(source.column(name) for name in node.content)
    ranked = Alias(Rank(source, content, node.secret), "ranked")
    beyond = Filter(ranked, (compare_number("gt", ranked.column(PLACE), node.most),))
    less = tuple(NamedValue(total.name, negative_total(total.value)) for total in node.totals)
    parts = SharedRelation(
        "_hb_parts", UnionAll((Partial(rows, node.keys, node.totals), Partial(beyond, node.keys, less)))
    )
    totals = tuple(NamedValue(total.name, total_of(parts.column(total.name))) for total in node.totals)
    return With((*shared, parts), Aggregate(parts, node.keys, totals))


# ---------------------------------------------------------------- totals


def _expand_clip(node: ClipTotals) -> Relation:
    """Each total is first clamped to the norm, of at most 50 bits (``bound_contribution.LARGEST_TOTAL``), so that a
    person's squares over a million keys take 120 bits, which a huge integer holds however many rows the person has.
    """
    source = Alias(node.input, _ROWS)
    clips = {name: NormClip(norm, node.squared) for name, norm, _ in node.norms}
    keys = tuple(source.column(key) for key in node.keys)
    clamped = [
        NamedValue(name, clamped_total(source.column(name), norm // parts, parts)) for name, norm, parts in node.norms
    ]
    named = tuple(NamedValue(name, key) for name, key in zip(node.keys, keys, strict=True))
    totals = SharedRelation("_hb_totals", PersonAggregate(source, keys, (*named, *clamped), key_values=node.key_values))
    sizes = {name: size_of_totals(totals.column(name), clip) for name, clip in clips.items()}
    over = [Expr("gt", (sizes[name], integer(clip.limit))) for name, clip in clips.items()]
    size_columns = tuple(NamedValue(f"s_{name}", size) for name, size in sizes.items())
    large = SharedRelation("_hb_large", PersonAggregate(totals, (), size_columns, _any_of(over)))
    both = JoinRows(totals, large, (), FanOut.TO_ONE, JoinKind.LEFT)
    clipped = tuple(
        NamedValue(name, clipped_total(totals.column(name), large.column(f"s_{name}"), clip))
        for name, clip in clips.items()
    )
    return With((totals, large), Aggregate(both, node.keys, clipped))


def _any_of(conditions: Sequence[Expr]) -> Expr:
    [one, *others] = conditions
    for other in others:
        one = Expr("or", (one, other))
    return one
