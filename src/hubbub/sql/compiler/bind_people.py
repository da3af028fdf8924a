"""Everything below a question: tables, joins and subqueries, each of whose rows depends on one person alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from hubbub.relations import Expr, build, column, is_direct, renamed
from hubbub.schema import Dataset, Kind, Table
from hubbub.sql.compiler.aggregates import GroupedRows, refer_to_person
from hubbub.sql.compiler.fan_out import bound_items
from hubbub.sql.compiler.group_keys import group_keys, is_alias
from hubbub.sql.compiler.person_links import by_key, cap_after, link_between, refuse_mixed
from hubbub.sql.compiler.question import Field, Item, Scan, Subquery
from hubbub.sql.compiler.rewrites.anti_joins import find_anti_joins
from hubbub.sql.compiler.rewrites.row_limits import distinct_rows, rows_left
from hubbub.sql.compiler.semi_joins import ConditionQuery, type_exists, type_membership
from hubbub.sql.compiler.syntax.scopes import (
    ColumnName,
    NoColumn,
    OuterQuery,
    QuestionTree,
    ScopeItem,
    SelectScope,
    UnionQuery,
)
from hubbub.sql.compiler.syntax.source_text import QueryText
from hubbub.sql.compiler.syntax.tree_parts import (
    has_aggregates,
    is_aggregate,
    outward_parts,
)
from hubbub.sql.compiler.syntax.type_scalars import Misplaced, References, bring_alike, type_condition, type_scalar
from hubbub.sql.compiler.windows import MISPLACED_WINDOW, check_orders, type_window
from hubbub.terms import MixesPeople, NotAllowed, QueryError, UnknownName, WrongType

_MISPLACED_QUERY = Misplaced(
    MixesPeople,
    "a subquery that stands for one number adds up over several people, exactly.",
    "Until noise is added, a row may depend on one person's data alone.",
    "Join and group by the declared person, and aggregate over people outside.",
)
_MISPLACED_AGGREGATE = Misplaced(
    NotAllowed,
    "an aggregate cannot stand here.",
    "It has no value for one row.",
    "docs/sql-coverage.md lists what can be asked.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonRows:
    """FROM and WHERE of a question's SELECT: rows of one person each, and what its other clauses refer to in them."""

    tree: exp.Select
    items: tuple[Item, ...]
    where: Expr | None
    cap: int | None  # rows of one person
    names: tuple[str, ...]  # of what it selects
    references: References


def bind_people(question: QuestionTree[SelectScope], text: QueryText, dataset: Dataset) -> QuestionTree[PersonRows]:
    """The questions with their rows, each of which belongs to one person."""
    if isinstance(question, OuterQuery):
        return OuterQuery(question.tree, bind_people(question.inner, text, dataset))
    if isinstance(question, UnionQuery):
        return UnionQuery(question.tree, tuple(bind_people(side, text, dataset) for side in question.sides))
    return _question_rows(question, _Context(text, dataset))


# ---------------------------------------------------------------- SELECTs


@dataclass(frozen=True, slots=True)
class _Context:
    """What all of a question is bound to."""

    text: QueryText
    dataset: Dataset


@dataclass(frozen=True, slots=True)
class _Around:
    """The rows around a subquery of a condition: the items of the SELECT that it stands in, and all that it sees."""

    items: tuple[Item, ...] = ()
    visible: Mapping[str, Item] = field(default_factory=dict)

    def inside(self, items: tuple[Item, ...]) -> _Around:
        """What a subquery of a condition on these items sees."""
        return _Around(items, {**self.visible, **{item.alias: item for item in items}})

    def beside(self, unmatched: tuple[Item, ...]) -> _Around:
        """The same rows, with names of items that they have no partner in."""
        return _Around(self.items, {**self.visible, **{item.alias: item for item in unmatched}})


def _question_rows(scope: SelectScope, context: _Context) -> PersonRows:
    tree = scope.tree
    assert isinstance(tree, exp.Select)
    joined = _bind_rows(scope, context)
    items = joined.items
    if not any(item.rows.private for item in items):
        raise context.text.refusal(
            NotAllowed,
            tree.args.get("from_"),
            "this reads public tables only.",
            "Public tables need no privacy, and their answers no noise.",
            "Ask the database itself.",
        )
    clauses = [tree.args.get(name) for name in ("where", "group", "having", "order")]
    parts = [part for part in (*clauses, *tree.expressions) if part is not None]
    references = _with_names_of_select(tree, joined.refer(parts, scope, context), context.text)
    where = type_condition(tree.args.get("where"), references, context.text)
    cap = joined.cap_under(where, context)
    names = tuple(output.name for output in scope.outputs)
    return PersonRows(tree=tree, items=items, where=where, cap=cap, names=names, references=references)


def _bind_subquery(scope: SelectScope, context: _Context) -> Subquery:
    """A subquery in FROM: a selection, or one row per person and keys."""
    tree = scope.tree
    if not isinstance(tree, exp.Select):
        raise refuse_mixed(context.text, tree, "a UNION inside a question cannot be bounded per person.")
    for part in ("limit", "offset"):  # an order without them has no meaning
        if tree.args.get(part) is not None:
            raise context.text.refusal(
                MixesPeople,
                tree.args[part],
                "LIMIT inside a question picks some people's rows by looking at everybody's.",
                "Which rows are kept would depend on other people.",
                "Put LIMIT at the end: it then applies to the noisy result.",
            )
    joined = _bind_rows(scope, context)
    clauses = [tree.args.get(name) for name in ("where", "group", "having")]
    parts = [part for part in (*clauses, *tree.expressions) if part is not None]
    references = _with_names_of_select(tree, joined.refer(parts, scope, context), context.text)
    where = type_condition(tree.args.get("where"), references, context.text)
    private = any(item.rows.private for item in joined.items)
    cap = joined.cap_under(where, context)
    rows = Subquery(source=joined.items, fields=(), where=where, private=private, cap=cap)
    if has_aggregates(tree):
        return _per_person(tree, scope, rows, references, context.text)
    return _bind_selection(tree, scope, rows, references, context)


def _bind_selection(
    tree: exp.Select, scope: SelectScope, rows: Subquery, references: References, context: _Context
) -> Subquery:
    text, visible = context.text, _Around().inside(rows.source).visible
    references = _with_windows(tree.expressions, rows.source, references, text)
    fields = tuple(
        Field(
            output.name,
            _column_value(output.value, visible, context.dataset)
            if isinstance(output.value, ColumnName)
            else type_scalar(output.value, references, text),
        )
        for output in scope.outputs
    )
    check_orders(tree, fields, text)
    distinct = tree.args.get("distinct")
    if distinct is not None and distinct.expressions:
        raise text.refusal(NotAllowed, tree, "DISTINCT goes over all columns here.")
    if distinct is None:
        return replace(rows, fields=fields)
    return replace(rows, fields=fields, distinct=True, cap=distinct_rows(fields, rows.cap) if rows.private else None)


def _per_person(
    tree: exp.Select, scope: SelectScope, rows: Subquery, references: References, text: QueryText
) -> Subquery:
    names = tuple(output.name for output in scope.outputs)
    keys, levels = group_keys(tree, names, references, text)
    if levels or (rows.private and not any(key.value.facts.unit for key in keys)):
        raise refuse_mixed(text, tree, "this subquery adds up over several people, exactly.")
    grouped = GroupedRows(references, keys, text)
    fields = tuple(
        Field(name, _value_of_person(part.unalias(), grouped, rows.cap))
        for name, part in zip(names, tree.expressions, strict=True)
    )
    named = replace(grouped, outputs={each.name.lower(): each.value for each in fields})
    having = tree.args.get("having")
    condition = type_condition(having, refer_to_person(having.this, named, rows.cap), text) if having else None
    return replace(
        rows,
        fields=fields,
        keys=tuple(key.value for key in keys),
        having=condition,
        cap=_most_groups(keys, rows.cap) if rows.private else None,
    )


def _value_of_person(node: exp.Expr, grouped: GroupedRows, cap: int | None) -> Expr:
    return type_scalar(node, refer_to_person(node, grouped, cap), grouped.text)


def _most_groups(keys: Sequence[Field], cap: int | None) -> int | None:
    """How many groups one person has at most: combinations of the other keys' values, and never more than rows."""
    groups: int | None = 1
    for key in keys:
        if not key.value.facts.unit:
            values = key.value.facts.values
            groups = None if groups is None or values is None else groups * len(values)
    return min((number for number in (groups, cap) if number is not None), default=None)


# ---------------------------------------------------------------- FROM and its joins


@dataclass(frozen=True, slots=True)
class _JoinedRows:
    """The items of FROM as they are joined, and those in which a row has no partner."""

    items: tuple[Item, ...]
    joins: tuple[exp.Join, ...]  # of the items after the first
    cap: int | None  # rows of one person; None if that is not known
    unmatched: tuple[Item, ...] = ()
    conditions: Mapping[int, Expr] = field(default_factory=dict)  # that there is no partner, by the nodes that say so

    def refer(self, nodes: Iterable[exp.Expr], scope: SelectScope, context: _Context) -> References:
        """What the parts of these expressions refer to."""
        around = _Around().inside(self.items).beside(self.unmatched)
        return {**_refer_to_rows(nodes, scope, around, context), **self.conditions}

    def cap_under(self, where: Expr | None, context: _Context) -> int | None:
        """The cap of the joined items, where a condition on their numbers leaves fewer rows of some."""
        left = [rows_left(item, where) for item in self.items]
        if left == [item.rows.cap for item in self.items]:
            return self.cap
        fewer = [
            replace(item, rows=replace(item.rows, cap=most)) if isinstance(item.rows, Subquery) else item
            for item, most in zip(self.items, left, strict=True)
        ]
        cap = fewer[0].rows.cap
        for place, join in enumerate(self.joins, start=1):
            cap = _check_join(join, tuple(fewer[:place]), fewer[place], cap, context)
        return cap


def _bind_rows(scope: SelectScope, context: _Context) -> _JoinedRows:
    """The rows of FROM; joins that keep rows without a partner alone become conditions."""
    anti_joins = find_anti_joins(scope, context.dataset)
    joined = _bind_from(scope, _Around(), context, without=[each.item.alias for each in anti_joins])
    around = _Around().inside(joined.items)
    conditions: dict[int, Expr] = {}
    unmatched: list[Item] = []
    for each in anti_joins:
        item = _bind_item(each.item, context)
        on = _join_condition(each.join, (*joined.items, item), scope, around, context)
        partner = ConditionQuery(
            node=each.join, source=(item,), where=on, outer=joined.items, text=context.text, dataset=context.dataset
        )
        if item.rows.private and not partner.is_linked(on):
            raise _refuse_unlinked(each.join, context)
        conditions |= dict.fromkeys((id(node) for node in each.missing), build("not", [type_exists(partner)]))
        unmatched.append(item)
    return replace(joined, unmatched=tuple(unmatched), conditions=conditions)


def _bind_from(scope: SelectScope, around: _Around, context: _Context, *, without: Sequence[str] = ()) -> _JoinedRows:
    first, *others = scope.items
    items: tuple[Item, ...] = (_bind_item(first, context),)
    cap, joins = items[0].rows.cap, []
    for join, named in zip(scope.tree.args.get("joins") or [], others, strict=True):
        if named.alias in without:
            continue
        item = _bind_item(named, context)
        how = _join_kind(join, context.text)
        on = _join_condition(join, (*items, item), scope, around, context)
        cap = _check_join(join, items, replace(item, how=how, on=on), cap, context)
        items = (*items, replace(item, how=how, on=on))
        joins.append(join)
    return _JoinedRows(bound_items(items, context.dataset), tuple(joins), cap)


def _bind_item(named: ScopeItem, context: _Context) -> Item:
    source = named.source
    return Item(alias=named.alias, rows=Scan(source) if isinstance(source, Table) else _bind_subquery(source, context))


def _join_kind(join: exp.Join, text: QueryText) -> str:
    side, kind = (str(join.args.get(part) or "").upper() for part in ("side", "kind"))
    if side == "LEFT" and kind in ("", "OUTER"):
        return "left"
    if side or kind not in ("", "INNER", "CROSS"):
        raise text.refusal(
            NotAllowed,
            join,
            f"{(side or kind)} JOIN cannot be used.",
            "Rows that belong to nobody on the left have no person to be bounded by.",
            "Use JOIN or LEFT JOIN, with the people on the left.",
        )
    return "inner"


def _join_condition(
    join: exp.Join, items: tuple[Item, ...], scope: SelectScope, around: _Around, context: _Context
) -> Expr | None:
    text, condition = context.text, join.args.get("on")
    parts: list[Expr] = []
    if condition is not None:
        parts.append(type_scalar(condition, _refer_to_rows([condition], scope, around.inside(items), context), text))
    for shared in join.args.get("using") or []:
        columns = [_column_named(item, str(shared.name), context.dataset) for item in items]
        left, right = next((value for value in columns[:-1] if value is not None), None), columns[-1]
        if left is None or right is None:
            raise text.refusal(UnknownName, shared, f"{str(shared.name)!r} is not a column of both sides.")
        parts.append(build("eq", bring_alike(shared, [left, right], text)))
    for part in parts:
        if part.kind is not Kind.BOOLEAN:
            raise text.refusal(WrongType, join, "ON needs a condition.")
    return parts[0] if len(parts) == 1 else build("and", parts) if parts else None


def _check_join(join: exp.Join, before: tuple[Item, ...], item: Item, cap: int | None, context: _Context) -> int | None:
    """How many rows of one person there are with the new item; refuse what would bring several people together."""
    private = any(other.rows.private for other in before)
    if item.rows.private and not private:
        _check_public_first(join, item, context)
        return _cap_with_public(join, item.on, before, item.rows.cap, context)
    if not item.rows.private:
        return _cap_with_public(join, item.on, (item,), cap, context) if private else None
    link = link_between(item.on, before, item, context.dataset) if context.dataset.unit else None
    if link is None:
        raise _refuse_unlinked(join, context)
    return cap_after(link, cap, item.rows.cap)


def _refuse_unlinked(join: exp.Join, context: _Context) -> QueryError:
    return refuse_mixed(context.text, join, "two tables about people are joined without the person.")


def _check_public_first(join: exp.Join, item: Item, context: _Context) -> None:
    """Refuse people joined to public rows, where that makes rows without a person, or of which one is not one."""
    if not context.dataset.unit:
        raise context.text.refusal(
            NotAllowed,
            join,
            "a public table comes before the one about people.",
            "Where every row is protected by itself, it must stay one row.",
            "Put the table about people first, and join public tables by their key.",
        )
    if item.how == "left":
        raise context.text.refusal(
            NotAllowed,
            join,
            "people cannot be LEFT JOINed to a public table.",
            "Rows without a person cannot be bounded per person.",
            "Put the table about people first.",
        )


def _cap_with_public(
    join: exp.Join, on: Expr | None, public: Sequence[Item], cap: int | None, context: _Context
) -> int | None:
    """The cap after a join with public rows: it stays if that is by their key; else one row may become many."""
    if on is not None and any(by_key(on, item) for item in public):
        return cap
    if not context.dataset.unit:
        raise context.text.refusal(
            NotAllowed,
            join,
            "a public table is joined by something that is not its key.",
            "Where every row is protected by itself, it must stay one row.",
            "Declare the public table's key, and join by it.",
        )
    return None


# ---------------------------------------------------------------- what parts of a row's expression refer to


def _refer_to_rows(nodes: Iterable[exp.Expr], scope: SelectScope, around: _Around, context: _Context) -> References:
    """What the parts of these expressions refer to in rows; ``around`` has the rows that they see."""
    references: dict[int, Expr | NoColumn | Misplaced] = {}
    for node in nodes:
        for part in outward_parts(node):
            if isinstance(part, exp.Column):
                name = scope.columns[id(part)]
                references[id(part)] = (
                    name if isinstance(name, NoColumn) else _column_value(name, around.visible, context.dataset)
                )
            elif id(part) in scope.subqueries:
                references[id(part)] = _type_condition_query(part, scope, around, references, context)
            elif isinstance(part, exp.Window):
                references[id(part)] = MISPLACED_WINDOW
            elif is_aggregate(part):
                references[id(part)] = _MISPLACED_AGGREGATE
            elif isinstance(part, exp.Subquery | exp.Select):
                references[id(part)] = _MISPLACED_QUERY
    return references


def _with_names_of_select(tree: exp.Select, references: References, text: QueryText) -> References:
    """The references, and in WHERE the names of SELECT that no table has."""
    where, known = tree.args.get("where"), dict(references)
    selected = {part.alias.lower(): part.this for part in tree.expressions if isinstance(part, exp.Alias)}
    for node in where.find_all(exp.Column) if where is not None else ():
        if not is_alias(node, selected, references):
            continue
        value = selected[node.name.lower()]
        if any(is_aggregate(part) for part in value.walk()):
            raise text.refusal(
                NotAllowed,
                node,
                f"{node.name!r} is an aggregate, and WHERE picks rows before anything is added up.",
                "Groups are picked by their noisy numbers, at the end.",
                "Write this condition in HAVING.",
            )
        known[id(node)] = type_scalar(value, references, text)
    return known


def _with_windows(
    nodes: Iterable[exp.Expr], items: tuple[Item, ...], references: References, text: QueryText
) -> References:
    """The references with the windows in these nodes, inner ones first."""
    windows = dict(references)
    for node in nodes:
        for part in outward_parts(node):
            if isinstance(part, exp.Window):
                windows[id(part)] = type_window(part, items, windows, text)
    return windows


def _type_condition_query(
    node: exp.Expr, scope: SelectScope, around: _Around, references: References, context: _Context
) -> Expr:
    """The value of an EXISTS or IN for one row."""
    text, inner = context.text, scope.subqueries[id(node)]
    wanted = type_scalar(node.this, references, text) if isinstance(node, exp.In) else None
    if isinstance(node, exp.In) and node.expressions:
        raise text.refusal(NotAllowed, node, "IN has a list or a subquery.")
    select = _check_condition_query(node, inner, text)
    items = _bind_from(inner, around, context).items
    parts = [part for part in (*select.expressions, select.args.get("where")) if part is not None]
    inside = _refer_to_rows(parts, inner, around.inside(items), context)
    selected = [  # EXISTS does not look at it, but it must be something
        type_scalar(part.unalias(), inside, text) for part in select.expressions if not isinstance(part, exp.Star)
    ]
    query = ConditionQuery(
        node=node,
        source=items,
        where=type_condition(select.args.get("where"), inside, text),
        outer=around.items,
        text=text,
        dataset=context.dataset,
    )
    if wanted is None:
        return type_exists(query)
    if len(select.expressions) != 1 or not selected:
        raise text.refusal(WrongType, node, "IN compares with one column.")
    return type_membership(query, *bring_alike(node, [wanted, selected[0]], text))


def _check_condition_query(node: exp.Expr, scope: SelectScope, text: QueryText) -> exp.Select:
    select = scope.tree
    if not isinstance(select, exp.Select) or has_aggregates(select):
        raise refuse_mixed(text, node, "this subquery adds up over several people, exactly.")
    for part in ("limit", "offset"):
        if select.args.get(part) is not None:
            raise refuse_mixed(
                text,
                select.args[part],
                f"{part.upper()} in this subquery picks some people's rows by looking at everybody's.",
                f"Leave {part.upper()} out.",
            )
    return select


def _column_value(name: ColumnName, visible: Mapping[str, Item], dataset: Dataset) -> Expr:
    value = _column_named(visible[name.alias], name.name, dataset)
    assert value is not None, f"{name} was looked up among the columns of this item"
    return value


def _column_named(item: Item, name: str, dataset: Dataset) -> Expr | None:
    """A column of an item, whatever its case, with what is known of it."""
    if isinstance(item.rows, Scan):
        table = item.rows.table
        declared = table.column(name)
        if declared is None:
            return None
        return column(item.alias, table.name, declared, unit=_is_unit(table, declared.name, dataset))
    wanted = name.lower()
    inner = next((each for each in item.rows.fields if each.name.lower() == wanted), None)
    return None if inner is None else renamed(inner.value, item.alias, inner.name)


def _is_unit(table: Table, name: str, dataset: Dataset) -> bool:
    """Whether the column itself tells people apart (and not by way of another table)."""
    link = table.link
    return link is not None and link.column.lower() == name.lower() and bool(dataset.unit) and is_direct(table, dataset)
