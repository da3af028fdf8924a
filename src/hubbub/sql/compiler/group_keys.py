"""GROUP BY: keys by name, place or expression, and the levels of ROLLUP, CUBE and GROUPING SETS."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import TypeAlias

from sqlglot import exp

from hubbub.relations import limits
from hubbub.sql.compiler.question import Field
from hubbub.sql.compiler.syntax.literals import whole_number
from hubbub.sql.compiler.syntax.scopes import NoColumn
from hubbub.sql.compiler.syntax.source_text import QueryText
from hubbub.sql.compiler.syntax.type_scalars import References, type_scalar
from hubbub.terms import NotAllowed, UnknownName

_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)
_GroupingSet: TypeAlias = tuple[exp.Expr, ...]


def group_keys(
    tree: exp.Select, names: Sequence[str], references: References, text: QueryText
) -> tuple[tuple[Field, ...], tuple[tuple[int, ...], ...]]:
    """The keys of a SELECT, each once, and which of them each grouping set keeps (none for a plain GROUP BY)."""
    refuse_distinct(tree, text)
    group = tree.args.get("group")
    if group is None:
        return (), ()
    sets = [_grouping_sets(node) for node in group.expressions]
    keys: list[Field] = []
    indices: dict[int, int] = {}
    for node in (node for alternatives in sets for chosen in alternatives for node in chosen):
        if id(node) not in indices:
            indices[id(node)] = _add_key(_type_key(node, tree, names, references, text), keys)
    if not any(isinstance(node, _SETS) for node in group.expressions):
        return tuple(keys), ()
    levels = [tuple(sorted({indices[id(node)] for node in level})) for level in _combine_sets(sets)]
    return tuple(keys), tuple(dict.fromkeys(levels))


def refuse_distinct(tree: exp.Select, text: QueryText) -> None:
    """Refuse DISTINCT over rows that are told apart by their keys."""
    if tree.args.get("distinct") is not None:
        raise text.refusal(NotAllowed, tree, "SELECT DISTINCT of aggregates has no meaning.", fix="Leave DISTINCT out.")


def _add_key(key: Field, keys: list[Field]) -> int:
    """The place of a key among those that are there; a new one is put at their end."""
    for index, known in enumerate(keys):
        if known.value == key.value:
            return index
    keys.append(key)
    return len(keys) - 1


def _type_key(node: exp.Expr, tree: exp.Select, names: Sequence[str], references: References, text: QueryText) -> Field:
    if isinstance(node, exp.Literal) and not node.is_string:
        place = whole_number(node) or 0
        if not 1 <= place <= len(tree.expressions):
            raise text.refusal(UnknownName, node, "there is no column at this place of SELECT.")
        part = tree.expressions[place - 1].unalias()
        return Field(names[place - 1], type_scalar(part, references, text))
    selected = {part.alias.lower(): part.this for part in tree.expressions if isinstance(part, exp.Alias)}
    if isinstance(node, exp.Column) and is_alias(node, selected, references):
        return Field(node.name, type_scalar(selected[node.name.lower()], references, text))
    value = type_scalar(node, references, text)
    alias = next((name for name, part in selected.items() if part == node), node.name or f"key_{value.op}")
    return Field(alias, value)


def is_alias(node: exp.Column, selected: Mapping[str, exp.Expr], references: References) -> bool:
    """Whether a name is that of a column of SELECT: only if no table has such a column."""
    missing = references.get(id(node))
    is_unknown = isinstance(missing, NoColumn) and not missing.is_ambiguous
    return is_unknown and not node.table and node.name.lower() in selected


def _combine_sets(sets: Iterable[Sequence[_GroupingSet]]) -> list[_GroupingSet]:
    """Each choice of one set of every part of GROUP BY."""
    levels: list[_GroupingSet] = [()]
    for alternatives in sets:
        if len(levels) * len(alternatives) > limits.LEVELS:
            raise limits.over(
                f"ROLLUP, CUBE and GROUPING SETS make more than {limits.LEVELS} levels of totals.",
                "Each is a part of the answer by itself.",
                "Name the levels that you need in GROUPING SETS.",
            )
        levels = [(*level, *more) for level in levels for more in alternatives]
    return levels


def _grouping_sets(node: exp.Expr) -> list[_GroupingSet]:
    """The grouping sets that a part of GROUP BY stands for."""
    if not isinstance(node, _SETS):
        return [(node,)]
    parts = [_set_members(part) for part in node.expressions]
    if isinstance(node, exp.GroupingSets):
        return parts
    if isinstance(node, exp.Cube) and 1 << len(parts) > limits.LEVELS:
        return [()] * (limits.LEVELS + 1)  # too many to be worked out, and refused for that
    sizes = range(len(parts), -1, -1)
    if isinstance(node, exp.Rollup):
        chosen = [tuple(parts[:size]) for size in sizes]
    else:
        chosen = [some for size in sizes for some in combinations(parts, size)]
    return [tuple(member for part in some for member in part) for some in chosen]


def _set_members(node: exp.Expr) -> _GroupingSet:
    inner = node.this if isinstance(node, exp.Paren) else node
    return tuple(inner.expressions) if isinstance(inner, exp.Tuple) else (inner,)
