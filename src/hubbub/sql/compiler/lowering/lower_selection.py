"""People by key, a person of few keys counting for more under each: whole numbers that the mechanism worked out."""

from __future__ import annotations

from collections.abc import Sequence

from hubbub.relations.nodes import (
    PERSON,
    Aggregate,
    FanOut,
    JoinRows,
    NamedValue,
    PersonAggregate,
    Project,
    Relation,
    SharedRelation,
    With,
    count_rows,
    step_of,
    total_of,
)

_PAIRS, _NUMBERS = "_hb_pairs", "_hb_numbers"


def weigh_people(pairs: Relation, keys: tuple[str, ...], steps: Sequence[tuple[int, int]]) -> Relation:
    """The sum of weights by key.

    ``pairs`` has each person and key once, in a bounded number; ``steps`` the weight by the number of a person's keys.

    Guarantee: a person under j keys adds the weight of the first step that is not below j, under each of them.
    Because: docs/proofs/keys.md (weighted keys): the number is counted over the pairs that are added up, of one person.
    """
    pairs_once = SharedRelation(_PAIRS, Project(pairs, _named(pairs)), materialized=True)
    number = NamedValue("n", count_rows())
    numbers = SharedRelation(_NUMBERS, PersonAggregate(pairs_once, (), (number,)))
    both = JoinRows(pairs_once, numbers, (), FanOut.TO_ONE)
    weight = NamedValue("m0", total_of(step_of(numbers.column("n"), tuple(steps))))
    return With((pairs_once, numbers), Aggregate(both, keys, (weight,)))


def _named(pairs: Relation) -> tuple[NamedValue, ...]:
    return tuple(NamedValue(each.name, each.reference) for each in pairs.columns if each.name != PERSON)
