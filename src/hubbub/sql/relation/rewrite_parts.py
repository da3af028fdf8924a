"""Pieces of which statements near a refused one are made: its tables, its people, its rows as aggregates."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from hubbub.schema import Column, Dataset, Kind, Table
from hubbub.sql.compiler.syntax.tree_parts import has_aggregates
from hubbub.sql.relation.find_inner import put_in_place

ONE_ROW = (exp.ArgMin, exp.ArgMax, exp.First, exp.Last, exp.AnyValue)  # aggregates that hand out the value of one row
LISTS = (exp.GroupConcat, exp.ArrayAgg)  # those that hand out the values of all


def sources_of(select: exp.Select) -> list[exp.Expr]:
    """What stands in FROM, joins included."""
    parts = [] if select.args.get("from_") is None else [select.args["from_"].this]
    return [*parts, *(join.this for join in select.args.get("joins") or [])]


def tables_in(select: exp.Select, dataset: Dataset) -> Iterator[tuple[exp.Expr, Table]]:
    """The declared tables in FROM, with where they stand."""
    for part in sources_of(select):
        table = dataset.table(part.name) if isinstance(part, exp.Table) else None
        if table is not None:
            yield part, table


def reads_people(select: exp.Select, dataset: Dataset) -> bool:
    """Whether a table about people stands in FROM."""
    return any(not table.public for _, table in tables_in(select, dataset))


def reads_only_tables(select: exp.Select, dataset: Dataset) -> bool:
    """Whether people stand in its FROM, and nothing but declared tables."""
    return reads_people(select, dataset) and len(list(tables_in(select, dataset))) == len(sources_of(select))


def feeds_people(select: exp.Select, dataset: Dataset) -> bool:
    """Whether an aggregate around it makes it a part of a question; in a condition beside people it is one, too."""
    parent = select.parent
    if not isinstance(parent, exp.Subquery | exp.In | exp.Exists | exp.CTE):
        return False
    outer = parent.find_ancestor(exp.Select)
    if outer is None or isinstance(parent, exp.CTE):
        return isinstance(parent, exp.CTE)
    return has_aggregates(outer) if isinstance(parent.parent, exp.From | exp.Join) else reads_people(outer, dataset)


def person_of(select: exp.Select, dataset: Dataset) -> exp.Column | None:
    """The column that names the person, if a table in FROM has one."""
    several = len(sources_of(select)) > 1
    for part, table in tables_in(select, dataset):
        link = table.link
        if link is not None and dataset.unit:
            return exp.column(link.column, table=part.alias_or_name if several else None)
    return None


def group_keys(select: exp.Select) -> list[exp.Expr]:
    """What a SELECT groups by, where it names columns of its own by place or alias."""
    group = select.args.get("group")
    named = {each.alias.lower(): each.this for each in select.expressions if isinstance(each, exp.Alias)}

    def meant(key: exp.Expr) -> exp.Expr:
        place = int(key.name) if isinstance(key, exp.Literal) and key.name.isdigit() else 0
        if 1 <= place <= len(select.expressions):
            shown: exp.Expr = select.expressions[place - 1]
            return shown.unalias()
        return named.get(key.name.lower(), key) if isinstance(key, exp.Column) and not key.table else key

    return [meant(key).copy() for key in (group.expressions if group is not None else [])]


def named_keys(select: exp.Select) -> dict[str, exp.Expr]:
    """What a SELECT groups by, with the names that its columns have."""
    keys: dict[str, exp.Expr] = {}
    for place, key in enumerate(group_keys(select), start=1):
        shown = next((each.alias_or_name for each in select.expressions if each.unalias() == key), "")
        keys[shown or key.name or f"key_{place}"] = key
    return keys


def named_key(key: exp.Expr, name: str) -> exp.Expr:
    """A key as a column of SELECT that has this name."""
    return key.copy() if isinstance(key, exp.Column) and key.name == name else exp.alias_(key.copy(), name)


def without_within(tree: exp.Query) -> None:
    """MODE() and PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x) as calls of x."""
    for within in list(tree.find_all(exp.WithinGroup)):
        call, ordered = within.this.copy(), within.expression.expressions
        if len(ordered) != 1 or (ordered[0].args.get("desc") and not isinstance(call, exp.Mode)):
            continue
        if isinstance(call, exp.PercentileCont | exp.PercentileDisc) and call.args.get("expression") is None:
            call.set("expression", call.this)
        elif not isinstance(call, exp.Mode):
            continue
        call.set("this", ordered[0].this.copy())
        put_in_place(within, call)


def is_by_person(select: exp.Select, dataset: Dataset) -> bool:
    """Whether a SELECT has groups of one person each."""
    person = person_of(select, dataset)
    return person is not None and any(
        isinstance(key, exp.Column) and key.name.lower() == person.name.lower() for key in group_keys(select)
    )


def column_of(node: exp.Expr, select: exp.Select, dataset: Dataset) -> Column | None:
    """The declared column that a name refers to."""
    if not isinstance(node, exp.Column):
        return None
    for part, table in tables_in(select, dataset):
        declared = table.column(node.name)
        if declared is not None and node.table.lower() in ("", part.alias_or_name.lower()):
            return declared
    return None


def _declared(column: exp.Column, select: exp.Select, dataset: Dataset) -> tuple[bool, bool]:
    """Whether a column is a public key, and whether it is a bounded number."""
    for part, table in tables_in(select, dataset):
        declared = table.column(column.name)
        if declared is not None and column.table.lower() in ("", part.alias_or_name.lower()):
            is_key = bool(declared.values) or declared.kind is Kind.BOOLEAN
            return is_key, not is_key and declared.kind in (Kind.INTEGER, Kind.NUMBER) and declared.lower is not None
    return False, False


def aggregated_rows(select: exp.Select, dataset: Dataset) -> exp.Select:
    """Keys and averages of the columns that are asked for; a count if there is nothing to average."""
    keys, means = list[exp.Expr](), list[exp.Expr]()
    for each in select.expressions:
        value = each.unalias()
        columns = [_declared(column, select, dataset) for column in value.find_all(exp.Column)]
        if columns and all(is_key for is_key, _ in columns) and not value.find(exp.Window):
            keys.append(each)
        elif columns and all(is_number for _, is_number in columns) and not value.find(exp.Window):
            means.append(exp.alias_(exp.Avg(this=value.copy()), each.alias_or_name or f"value_{len(means) + 1}"))
    inner = without_end(select)
    inner.set("distinct", None)
    inner.set("qualify", None)
    inner.set("expressions", [*(key.copy() for key in keys), *(means or [exp.alias_(exp.Count(this=exp.Star()), "n")])])
    return inner.group_by(*(key.unalias().copy() for key in keys)) if keys else inner


def aggregated_condition(select: exp.Select, dataset: Dataset) -> exp.Select | None:
    """In IN (...) the values alone, without their counts."""
    if not isinstance(select.parent, exp.In) and not (
        isinstance(select.parent, exp.Subquery) and isinstance(select.parent.parent, exp.In)
    ):
        return None
    inner = aggregated_rows(select, dataset)
    return exp.select(exp.column(select.expressions[0].alias_or_name)).from_(inner.subquery("q"))


def counted_rows(select: exp.Select) -> exp.Select:
    """How many rows there are, without what picks or orders them."""
    inner = without_end(select)
    inner.set("distinct", None)
    inner.set("qualify", None)
    inner.set("expressions", [exp.alias_(exp.Count(this=exp.Star()), "n")])
    return inner


def aggregated_table(part: exp.Expr, table: Table, select: exp.Select) -> exp.Expr:
    """A table with the columns of it that a SELECT reads: those that join it as keys, the others averaged."""
    name = part.alias_or_name.lower()
    joined = {each.name.lower() for join in select.args.get("joins") or [] for each in join.args.get("using") or []}
    for equal in select.find_all(exp.EQ):
        joined |= {each.name.lower() for each in (equal.left, equal.right) if isinstance(each, exp.Column)}
    keys, means = dict[str, None](), dict[str, None]()
    for each in select.find_all(exp.Column):
        declared = table.column(each.name)
        if declared is None or each.table.lower() not in ("", name):
            continue
        is_key = bool(declared.values) or declared.kind is Kind.BOOLEAN or declared.name.lower() in joined
        (keys if is_key else means)[declared.name] = None
    keys |= dict.fromkeys(c.name for c in table.columns if c.name.lower() in joined)
    listed = [exp.column(key) for key in keys]
    values = [exp.alias_(_summary_of(table, value), value) for value in means if value not in keys]
    inner = exp.select(*listed, *(values or [exp.alias_(exp.Count(this=exp.Star()), "rows_of_it")])).from_(table.name)
    return (inner.group_by(*(each.copy() for each in listed)) if listed else inner).subquery(part.alias_or_name)


def _summary_of(table: Table, name: str) -> exp.Expr:
    """The average of a bounded number; of anything else how many different values there are."""
    declared = table.column(name)
    if declared is not None and declared.kind in (Kind.INTEGER, Kind.NUMBER) and declared.lower is not None:
        return exp.Avg(this=exp.column(name))
    return exp.Count(this=exp.Distinct(expressions=[exp.column(name)]))


def name_value(select: exp.Select) -> exp.Select:
    """The SELECT of one value, with a name for it."""
    select.set("expressions", [exp.alias_(select.expressions[0].unalias(), "value_1")])
    return select


def without_end(select: exp.Select) -> exp.Select:
    """A copy without HAVING, ORDER BY and LIMIT."""
    copied = select.copy()
    for part in ("having", "order", "limit", "offset"):
        copied.set(part, None)
    return copied


def copied_part(value: object) -> object:
    """A copy of a clause, or of a list of them."""
    return [each.copy() for each in value] if isinstance(value, list) else value.copy()  # type: ignore[attr-defined]
