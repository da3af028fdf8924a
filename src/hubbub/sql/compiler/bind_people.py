"""Everything below a question: tables, joins and subqueries, each of whose rows depends on one person alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from hubbub.relations import INTEGER, Expr, ValueFacts, build, limits, literal
from hubbub.schema import Kind
from hubbub.sql.compiler.aggregates import AGGREGATES, Aggregates
from hubbub.sql.compiler.fan_out import bounded, bounded_inside
from hubbub.sql.compiler.person_links import by_key, cap_after, link_between
from hubbub.sql.compiler.question import Field, Item, Scan, SemiJoin, Subquery, Windowed, person
from hubbub.sql.compiler.scopes import Cte, Ctes, NameScope, bare
from hubbub.sql.compiler.type_scalars import Scalars, number_in
from hubbub.terms import MixesPeople, NotAllowed, UnknownName, WrongType

_WINDOWS: dict[type[exp.Expr], str] = {
    exp.RowNumber: "row_number",
    exp.Rank: "rank",
    exp.DenseRank: "dense_rank",
    exp.Lag: "lag",
    exp.Lead: "lead",
    exp.FirstValue: "first_value",
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
}


_PLACED = ("row_number", "lag", "lead")  # windows in which equal rows get different values


class InsidePeople(Aggregates):
    """Builds what stays inside one person, and refuses what does not."""

    def _from(self, tree: exp.Select, ctes: Ctes, outer: NameScope | None) -> tuple[NameScope, int | None]:
        source = tree.args.get("from_")
        if source is None:
            raise self._refused(NotAllowed, tree, "a question reads from a table.", "There is nothing to count.")
        scope = NameScope(outer=outer)
        cap = self._add(scope, source.this, ctes, None, None)
        for join in tree.args.get("joins") or []:
            cap = self._add(scope, join.this, ctes, join, cap)
        items = bounded(scope.all_items(), self.dataset)
        scope.items = [(name, item) for (name, _), item in zip(scope.items, items, strict=True)]
        return scope, cap

    def _add(self, scope: NameScope, node: exp.Expr, ctes: Ctes, join: exp.Join | None, cap: int | None) -> int | None:
        """Put an item into the scope, joined to those that are there."""
        if self._aliases >= limits.ITEMS:  # queries with a name are put in wherever they are named
            raise limits.too_large()
        rows = self._item(node, ctes)
        name = node.alias_or_name.lower()
        if any(name == other for other, _ in scope.items):
            raise self._refused(UnknownName, node, f"{name!r} stands twice in FROM.", fix="Give each its own alias.")
        item = Item(alias=self._alias(), rows=rows)
        if join is None:
            scope.items.append((name, item))
            return rows.cap
        how = self._how(join)
        before = scope.all_items()
        scope.items.append((name, item))
        on = self._join_condition(join, scope, item, ctes)
        new_cap = self._check_join(join, before, item, on, how, cap)
        scope.items[-1] = (name, replace(item, how=how, on=on))
        return new_cap

    def _how(self, join: exp.Join) -> str:
        side, kind = (str(join.args.get(part) or "").upper() for part in ("side", "kind"))
        if side == "LEFT" and kind in ("", "OUTER"):
            return "left"
        if side or kind not in ("", "INNER", "CROSS"):
            raise self._refused(
                NotAllowed,
                join,
                f"{(side or kind)} JOIN cannot be used.",
                "Rows that belong to nobody on the left have no person to be bounded by.",
                "Use JOIN or LEFT JOIN, with the people on the left.",
            )
        return "inner"

    def _join_condition(self, join: exp.Join, scope: NameScope, item: Item, ctes: Ctes) -> Expr | None:
        scalars = self._rows_scalars(scope, ctes)
        parts = [scalars.build(join.args["on"])] if join.args.get("on") is not None else []
        for shared in join.args.get("using") or []:
            named = str(shared.name)
            right = self._column_of(item, named)
            left = next((found for it in scope.all_items()[:-1] if (found := self._column_of(it, named))), None)
            if left is None or right is None:
                raise self._refused(UnknownName, shared, f"{named!r} is not a column of both sides.")
            parts.append(build("eq", scalars.alike(shared, [left, right], skip=0)))
        for part in parts:
            if part.kind is not Kind.BOOLEAN:
                raise self._refused(WrongType, join, "ON needs a condition.")
        return parts[0] if len(parts) == 1 else build("and", parts) if parts else None

    def _check_join(
        self, join: exp.Join, before: tuple[Item, ...], item: Item, on: Expr | None, how: str, cap: int | None
    ) -> int | None:
        private = any(other.rows.private for other in before)
        if item.rows.private and not private:
            if not self.dataset.unit:
                raise self._refused(
                    NotAllowed,
                    join,
                    "a public table comes before the one about people.",
                    "Where every row is protected by itself, it must stay one row.",
                    "Put the table about people first, and join public tables by their key.",
                )
            if how == "left":
                raise self._refused(
                    NotAllowed,
                    join,
                    "people cannot be LEFT JOINed to a public table.",
                    "Rows without a person cannot be bounded per person.",
                    "Put the table about people first.",
                )
            return self._with_public(join, item, before, on, item.rows.cap)
        if not item.rows.private:
            return self._with_public(join, item, (item,), on, cap) if private else None
        link = link_between(on, before, item, self.dataset) if self.dataset.unit else None
        if link is None:
            raise self._mixed(join, "two tables about people are joined without the person.")
        return cap_after(link, cap, item.rows.cap)

    def _with_public(
        self, join: exp.Join, item: Item, public: Sequence[Item], on: Expr | None, cap: int | None
    ) -> int | None:
        """A join with public rows: the cap stays if it is by their key; else one row may become many."""
        keyed = on is not None and any(by_key(on, other) for other in public)
        if keyed:
            return cap
        if not self.dataset.unit:
            raise self._refused(
                NotAllowed,
                join,
                "a public table is joined by something that is not its key.",
                "Where every row is protected by itself, it must stay one row.",
                "Declare the public table's key, and join by it.",
            )
        return None

    def _item(self, node: exp.Expr, ctes: Ctes) -> Scan | Subquery:
        body = self._body(node, ctes)
        if body is not None:
            return self._rows(body.tree, body.known, None)
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier) or node.args.get("db"):
            raise self._refused(
                NotAllowed,
                node,
                "only declared tables can be read.",
                "Files, functions and other schemas have no declared people or bounds.",
                f"Read from one of: {', '.join(table.name for table in self.dataset.tables)}.",
            )
        table = self.dataset.table(node.name)
        if table is None:
            raise self._unknown(node, node.name, [table.name for table in self.dataset.tables], what="table")
        return Scan(table)

    def _body(self, node: exp.Expr | None, ctes: Ctes) -> Cte | None:
        """The SELECT behind a subquery or the name of a CTE, with the names that it knows."""
        if isinstance(node, exp.Subquery):
            return Cte(node.this, ctes)
        if isinstance(node, exp.Table) and not node.args.get("db"):
            return ctes.get(node.name.lower())
        return None

    def _with(self, tree: exp.Expr, ctes: Ctes) -> Ctes:
        given = tree.args.get("with_")
        if given is None:
            return ctes
        known = dict(ctes)
        for cte in given.expressions:
            known[cte.alias.lower()] = Cte(cte.this, dict(known))
        return known

    def _rows(self, tree: exp.Expr, ctes: Ctes, outer: NameScope | None) -> Subquery:
        while isinstance(tree, exp.Subquery):
            tree = tree.this
        ctes = self._with(tree, ctes)
        if not isinstance(tree, exp.Select):
            raise self._mixed(tree, "a UNION inside a question cannot be bounded per person.")
        for part in ("limit", "offset"):  # an order without them has no meaning
            if tree.args.get(part) is not None:
                raise self._refused(
                    MixesPeople,
                    tree.args[part],
                    "LIMIT inside a question picks some people's rows by looking at everybody's.",
                    "Which rows are kept would depend on other people.",
                    "Put LIMIT at the end: it then applies to the noisy result.",
                )
        scope, cap = self._from(tree, ctes, outer)
        items = scope.all_items()
        private = any(item.rows.private for item in items)
        scalars = self._rows_scalars(scope, ctes)
        where = self._condition(tree.args.get("where"), scalars)
        if self._aggregates(tree):
            return self._per_person(tree, scope, scalars, where, private, cap)
        fields = self._selected(tree, scope, self._rows_scalars(scope, ctes, windows=True))
        distinct = tree.args.get("distinct") is not None
        if distinct and tree.args["distinct"].expressions:
            raise self._refused(NotAllowed, tree, "DISTINCT goes over all columns here.")
        return Subquery(source=items, fields=fields, where=where, private=private, cap=cap, distinct=distinct)

    def _per_person(
        self, tree: exp.Select, scope: NameScope, scalars: Scalars, where: Expr | None, private: bool, cap: int | None
    ) -> Subquery:
        self._refuse_distinct(tree)
        keys, levels = self._keys(tree, scope, scalars)
        by_person = any(key.value.facts.unit for key in keys)
        if levels or (private and not by_person):
            raise self._mixed(tree, "this subquery adds up over several people, exactly.")
        special = self._inside(keys, scope, scalars, cap)
        inside = Scalars(self.text, special)
        fields = tuple(Field(self._name(part, i), inside.build(bare(part))) for i, part in enumerate(tree.expressions))
        scope.outputs = {each.name.lower(): each.value for each in fields}
        having = self._condition(tree.args.get("having"), Scalars(self.text, self._inside(keys, scope, scalars, cap)))
        others = [key.value for key in keys if not key.value.facts.unit]
        limit: int | None = 1
        for key in others:
            known = key.facts.values
            limit = None if limit is None or known is None else limit * len(known)
        most = min((number for number in (limit, cap) if number is not None), default=None)
        return Subquery(
            source=scope.all_items(),
            fields=fields,
            where=where,
            keys=tuple(key.value for key in keys),
            having=having,
            private=private,
            cap=most if private else None,
        )

    def _selected(self, tree: exp.Select, scope: NameScope, scalars: Scalars) -> tuple[Field, ...]:
        fields: list[Field] = []
        for part in tree.expressions:
            if isinstance(part, exp.Star) or (isinstance(part, exp.Column) and isinstance(part.this, exp.Star)):
                wanted = part.table.lower() if isinstance(part, exp.Column) else ""
                fields += [
                    Field(name, value)
                    for alias, item in scope.items
                    if wanted in ("", alias)
                    for name, value in self._columns(item)
                ]
            else:
                fields.append(Field(self._name(part, len(fields)), scalars.build(bare(part))))
        self._check_orders(tree, fields)
        names = [each.name.lower() for each in fields]
        if len(set(names)) != len(names):
            raise self._refused(
                UnknownName, tree, "two columns of the subquery have one name.", fix="Give each its own alias."
            )
        return tuple(fields)

    def _rows_scalars(self, scope: NameScope, ctes: Ctes, *, windows: bool = False) -> Scalars:
        """Expressions about one row; windows stand in the SELECT of a subquery alone."""

        def special(node: exp.Expr) -> Expr | None:
            if isinstance(node, exp.Column):
                return self._column(node, scope)
            if isinstance(node, exp.Window):
                if not windows:
                    raise self._refused(
                        NotAllowed,
                        node,
                        "a window can stand in the SELECT of a subquery alone.",
                        "There its order is complete, so that nobody's rows decide about another's.",
                        "SELECT ... FROM (SELECT ..., ROW_NUMBER() OVER (PARTITION BY person ORDER BY day) AS r FROM "
                        "t) WHERE r = 1.",
                    )
                return self._window(node, scope, scalars)
            if isinstance(node, exp.Exists):
                return self._exists(node, node.this, scope, ctes)
            if isinstance(node, exp.In) and node.args.get("query") is not None:
                return self._in(node, scope, ctes, scalars.build(node.this))
            if isinstance(node, exp.Subquery | exp.Select):
                raise self._mixed(node, "a subquery that stands for one number adds up over several people, exactly.")
            if isinstance(node, (*AGGREGATES, exp.Filter, exp.WithinGroup)):
                raise self._refused(NotAllowed, node, "an aggregate cannot stand here.", "It has no value for one row.")
            return None

        scalars = Scalars(self.text, special)
        return scalars

    def _check_orders(self, tree: exp.Select, fields: Sequence[Field]) -> None:
        """Rows that are alike in every column that is used can be told apart by their places in two orders alone."""
        windows = [part for each in fields for part in _windows(each.value) if part.param.function in _PLACED]
        orders = {
            (part.args[part.param.arguments :], part.param.descending, part.param.nulls_first) for part in windows
        }
        if len(orders) > 1:
            raise self._refused(
                NotAllowed,
                tree,
                "ROW_NUMBER, LAG and LEAD of one subquery must have the same PARTITION BY and ORDER BY.",
                "Rows that are alike have no order of their own, and two orders would tell them apart by accident.",
                "Use one order, or two subqueries.",
            )

    def _window(self, node: exp.Window, scope: NameScope, scalars: Scalars) -> Expr:
        function = _WINDOWS.get(type(node.this))
        if function is None or node.args.get("spec") is not None:
            raise self._refused(
                NotAllowed, node, "this window cannot be used.", fix=f"Use one of: {', '.join(_WINDOWS.values())}."
            )
        parts = [scalars.build(part) for part in node.args.get("partition_by") or []]
        whom = person(scope.all_items())
        if not any(part.facts.unit for part in parts) or not whom:
            raise self._mixed(node, "a window over several people's rows tells them apart.", "PARTITION BY the person.")
        own = self._window_arguments(node.this, function, scalars)
        order = node.args.get("order")
        ordered = list(order.expressions) if order else []
        args = (*own, *parts, *(scalars.build(part.this) for part in ordered))
        down, first = (tuple(bool(part.args.get(name)) for part in ordered) for name in ("desc", "nulls_first"))
        spec = Windowed(function, len(own), down, whom, bool(ordered), first)
        facts = self._window_facts(function, own, scope)
        return Expr("window", args, spec, facts)

    def _window_arguments(self, node: exp.Expr, function: str, scalars: Scalars) -> list[Expr]:
        """The window's own arguments: a value of the right kind, and for LAG and LEAD a public distance."""
        star = node.this is None or isinstance(node.this, exp.Star)
        if function in ("row_number", "rank", "dense_rank"):
            if not star:
                raise self._refused(WrongType, node, f"{function.upper()} takes no argument.")
            return []
        if star:
            if function != "count":
                raise self._refused(WrongType, node, f"{function.upper()} needs a value.")
            return []
        value = scalars.build(node.this)
        if _windows(value):
            raise self._refused(NotAllowed, node, "a window cannot stand inside a window.", fix="Use two subqueries.")
        if value.kind is Kind.OPAQUE or (function in ("sum", "avg") and not value.kind.is_number):
            raise self._refused(WrongType, node, "a value of this kind cannot be used in this window.")
        distance = node.args.get("offset")
        if distance is None:
            return [value]
        steps = number_in(distance)
        if steps is None or steps > 10_000:
            raise self._refused(WrongType, distance, "a distance is a whole number up to 10,000.")
        return [value, literal(steps)]

    def _window_facts(self, function: str, own: list[Expr], scope: NameScope) -> ValueFacts:
        if function in ("lag", "lead", "first_value", "min", "max"):
            return replace(own[0].facts, origin=None, unit=False, image=None)
        if function in ("row_number", "rank", "dense_rank", "count"):
            return ValueFacts(kind=Kind.INTEGER, lower=Fraction(0), step=Fraction(1), number=INTEGER)
        inner = own[0].facts
        if function == "avg":
            return ValueFacts(kind=Kind.NUMBER, lower=inner.lower)
        return ValueFacts(kind=inner.kind, step=inner.step, number=inner.number)

    def _exists(self, node: exp.Expr, query: exp.Expr, scope: NameScope, ctes: Ctes) -> Expr:
        """Whether there are such rows of the same person, or public ones."""
        inner, ctes, scalars = self._subquery(node, query, scope, ctes)
        where = self._condition(_select(query).args.get("where"), scalars)
        return self._there(node, inner, where, scope)

    def _in(self, node: exp.In, scope: NameScope, ctes: Ctes, wanted: Expr) -> Expr:
        """``x IN (SELECT y ...)``, unknown where x is missing, or where it is not among the values and one of these is.

        If x = y itself ties the rows to their person, others' rows would decide what is unknown; x is then the person,
        or IN stands where unknown and false are the same.
        """
        query = node.args["query"]
        if node.expressions:
            raise self._refused(NotAllowed, node, "IN has a list or a subquery.")
        inner, ctes, scalars = self._subquery(node, query, scope, ctes)
        where = self._condition(_select(query).args.get("where"), scalars)
        selected = _select(query).expressions
        if len(selected) != 1 or isinstance(selected[0], exp.Star):
            raise self._refused(WrongType, node, "IN compares with one column.")
        wanted, value = scalars.alike(node, [wanted, scalars.build(bare(selected[0]))], skip=0)
        found = self._there(node, inner, _both(where, build("eq", [wanted, value])), scope)
        if _decides(node):
            return found
        if not found.param.outer or self._linked(inner, where, scope):
            missing = self._there(node, inner, _both(where, build("isnull", [value])), scope)
            some = self._there(node, inner, where, scope)
            unknown = build("or", [build("and", [build("isnull", [wanted]), some]), missing])
            return build("case", [found, literal(True), unknown, literal(None), literal(False)])
        if not (wanted.facts.unit and wanted.param[0] == found.param.outer):
            raise self._mixed(
                node,
                "whether this IN is unknown would depend on other people's rows.",
                "Use EXISTS or NOT EXISTS, and compare the person inside and outside the subquery.",
            )
        return found

    def _subquery(
        self, node: exp.Expr, query: exp.Expr, scope: NameScope, ctes: Ctes
    ) -> tuple[NameScope, Ctes, Scalars]:
        select = _select(query)
        cut = [part for part in ("limit", "offset") if select.args.get(part) is not None]
        if not isinstance(select, exp.Select) or self._aggregates(select):
            raise self._mixed(node, "this subquery adds up over several people, exactly.")
        if cut:
            raise self._mixed(
                select.args[cut[0]],
                f"{cut[0].upper()} in this subquery picks some people's rows by looking at everybody's.",
                f"Leave {cut[0].upper()} out.",
            )
        ctes = self._with(select, ctes)
        inner, _ = self._from(select, ctes, scope)
        scalars = self._rows_scalars(inner, ctes)
        for part in select.expressions:
            if not isinstance(part, exp.Star):
                scalars.build(bare(part))  # EXISTS does not look at it, but it must be something
        return inner, ctes, scalars

    def _linked(self, inner: NameScope, where: Expr | None, scope: NameScope) -> bool:
        """Whether the condition ties the rows inside to the person outside."""
        private = [item for item in inner.all_items() if item.rows.private]
        return bool(private) and link_between(where, scope.all_items(), private[0], self.dataset) is not None

    def _there(self, node: exp.Expr, inner: NameScope, where: Expr | None, scope: NameScope) -> Expr:
        items, whom = inner.all_items(), person(scope.all_items())
        private = any(item.rows.private for item in items)
        if private and (not whom or not self._linked(inner, where, scope)):
            raise self._mixed(
                node,
                "this looks at other people's rows.",
                "Compare the person, or a declared key of theirs, inside and outside the subquery.",
            )
        inside = SemiJoin(items, where, whom if private else "")
        return build("exists", [], bounded_inside(inside, self.dataset) if self.dataset.unit else inside)


def _select(query: exp.Expr) -> exp.Expr:
    while isinstance(query, exp.Subquery):
        query = query.this
    return query


def _both(where: Expr | None, more: Expr) -> Expr:
    return more if where is None else build("and", [where, more])


def _decides(node: exp.Expr) -> bool:
    """Whether it stands in WHERE, ON or FILTER under AND and OR alone: there, unknown is as good as false."""
    above = node.parent
    while isinstance(above, exp.And | exp.Or | exp.Paren):
        above = above.parent
    return isinstance(above, exp.Where | exp.Join)


def _windows(value: Expr) -> list[Expr]:
    """The windows inside an expression."""
    return [value] if value.op == "window" else [part for arg in value.args for part in _windows(arg)]
