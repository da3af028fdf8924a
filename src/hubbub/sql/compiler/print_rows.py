"""Relations -> the engine's text: scans, joins, subqueries, and expressions over their columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from hubbub.relations import Dialect, Expr, column_named, id_in, is_direct, limits, link_form, person_form
from hubbub.schema import Column, Dataset, Kind, Table
from hubbub.sql.compiler.person_links import beyond_person
from hubbub.sql.compiler.question import Item, Scan, SemiJoin, Subquery, Windowed, person
from hubbub.sql.compiler.text_work import is_cut

PERSON = "_hb_u"
RANK, NUMBER = "_hb_rank", "_hb_rows"  # what `prepare` stores with each row
_COARSE = 2.0**62  # a value is summed per person within so many grid steps; without a grid, of a millionth


class RowsPrinter:
    """Prints everything below a question; whatever it prints stays inside one person."""

    def __init__(self, dataset: Dataset, dialect: Dialect) -> None:
        self.dataset, self.dialect = dataset, dialect
        self._people = person_form(dataset) if dataset.unit else ""

    # ------------------------------------------------------------ expressions

    def expr(self, value: Expr, ties: tuple[str, ...] = ()) -> str:
        """The expression as text; ``ties`` break the order of equal rows in windows."""
        if value.op == "column":
            return f"{value.param[0]}.{self.dialect.quoted(value.param[1])}"
        if value.op == "literal":
            return self.dialect.literal(value.param)
        if value.op == "exists":
            return self._exists(value.param)
        parts = [self.expr(part, ties) for part in value.args]
        if value.op == "window":
            return self._window(value, parts, ties)
        if value.op in ("aggregate", "aggregate_if"):
            return self._aggregate(value, parts)
        return self._short(value, self.dialect.operation(value, parts))

    def _short(self, value: Expr, text: str) -> str:
        """What a function makes, cut where it may be long. Templates name parts twice, and that must not double on."""
        if len(text) > limits.EXPRESSION:
            raise limits.too_large()
        return self.dialect.cut(text) if is_cut(value) else text

    def typed(self, value: Expr, ties: tuple[str, ...] = ()) -> str:
        """The expression in the engine's type of its kind: arithmetic is in doubles, and integers leave as such."""
        text = self.expr(value, ties)
        if value.kind is Kind.INTEGER and value.op not in ("column", "literal"):
            return self.dialect.try_cast(text, Kind.INTEGER)
        return text

    def key(self, value: Expr) -> str:
        """A group key: what the engine tells apart, everybody does. Dates outside the calendar are missing.

        Keys that are equal look alike, so that no one person's way of writing is told: 0 and -0 are 0.
        """
        text = self.typed(value)
        if value.kind is Kind.NUMBER:
            return f"({self.dialect.number(value, text)} + 0.0)"
        return self.dialect.calendar(value, text) if value.kind in (Kind.DATE, Kind.TIMESTAMP) else text

    def _exists(self, inside: SemiJoin) -> str:
        whom = person(inside.source)
        conditions = [self.expr(part) for part in beyond_person(inside.where, whom, inside.outer)]
        if inside.outer:
            conditions.append(f"{whom}.{PERSON} = {inside.outer}.{PERSON}")
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"EXISTS (SELECT 1 FROM {self.items(inside.source, [inside.where])}{where})"

    def _window(self, value: Expr, parts: list[str], ties: tuple[str, ...]) -> str:
        spec: Windowed = value.param
        own, ordered = parts[: spec.arguments], parts[len(parts) - len(spec.descending) :]
        partition = [f"{spec.alias}.{PERSON}", *parts[spec.arguments : len(parts) - len(spec.descending)]]
        order = [
            f"{text} {'DESC' if down else 'ASC'} NULLS {'FIRST' if first else 'LAST'}"
            for text, down, first in zip(ordered, spec.descending, spec.nulls_first, strict=True)
        ]
        order += ties if spec.function in ("row_number", "lag", "lead", "first_value") else ()
        over = f"PARTITION BY {', '.join(partition)}" + (f" ORDER BY {', '.join(order)}" if order else "")
        if spec.function in ("sum", "avg"):
            total = f"sum({self._fine(value.args[0], own[0])}) OVER ({over})"
            return self._scaled(value.args[0], total, f"count({own[0]}) OVER ({over})", spec.function)
        if spec.function in ("lag", "lead") and spec.arguments == 2:
            own[1] = str(int(value.args[1].param)) if value.args[1].op == "literal" else "1"
        return f"{spec.function}({', '.join(own) or ('*' if spec.function == 'count' else '')}) OVER ({over})"

    def _aggregate(self, value: Expr, parts: list[str]) -> str:
        """An exact aggregate of one person's rows, clamped to the bounds that are claimed of it."""
        given = f" FILTER (WHERE {parts[-1]})" if value.op == "aggregate_if" else ""
        argument = parts[0] if len(parts) > bool(given) else None
        function = value.param.function
        if function == "count":
            inside = "*" if argument is None else f"{'DISTINCT ' if value.param.distinct else ''}{argument}"
            text = f"count({inside}){given}"
        elif function in ("sum", "avg"):
            assert argument is not None
            total = f"sum({self._fine(value.args[0], argument)}){given}"
            text = self._scaled(value.args[0], total, f"count({argument}){given}", function)
        else:
            text = f"{function}({argument}){given}"
        return self._clamped(value, text)

    def _fine(self, value: Expr, text: str) -> str:
        """A number as an integer on a grid, so that its sum does not depend on the order of rows."""
        number = self.dialect.number(value, text)
        step = float(value.facts.step) if value.facts.step else 1e-6
        ends = (self.dialect.double(-_COARSE), self.dialect.double(_COARSE))
        held = f"least(greatest({number} / {self.dialect.double(step)}, {ends[0]}), {ends[1]})"
        return f"CASE WHEN NOT {self.dialect.is_nan(number)} THEN {self.dialect.whole(held)} END"

    def _scaled(self, value: Expr, total: str, count: str, function: str) -> str:
        step = value.facts.step or Fraction(1, 10**6)
        top, bottom = (self.dialect.double(float(part)) for part in (step.numerator, step.denominator))
        scaled = self.dialect.try_cast(total, Kind.NUMBER)
        scaled += f" * {top}" if step.numerator != 1 else ""
        scaled += f" / {bottom}" if step.denominator != 1 else ""
        return f"({scaled})" if function == "sum" else f"({scaled} / NULLIF({count}, 0))"

    def _clamped(self, value: Expr, text: str) -> str:
        facts = value.facts
        if not facts.kind.is_number or value.param.function not in ("count", "sum"):
            return text
        held = text
        if facts.upper is not None:
            held = f"least({held}, {self.dialect.literal(facts.upper)})"
        if value.param.function == "count":
            return held
        if facts.lower is not None:
            held = f"greatest({held}, {self.dialect.literal(facts.lower)})"
        return text if held == text else f"CASE WHEN {text} IS NOT NULL THEN {held} END"  # both skip what is missing

    # ------------------------------------------------------------ FROM

    def items(self, items: tuple[Item, ...], values: Iterable[Expr | None], extra: tuple[str, ...] = ()) -> str:
        """The FROM clause; ``values`` are the expressions that use it, ``extra`` columns of the first scan."""
        used = set(_columns([*values, *(item.on for item in items)]))
        parts = []
        for item in items:
            names = sorted(name for alias, name in used if alias == item.alias)
            body = self._body(item, names, extra if item is items[0] else (), joined=len(items) > 1)
            if item.how == "from":
                parts.append(f"{body} AS {item.alias}")
            else:
                word = "LEFT JOIN" if item.how == "left" else "JOIN"
                parts.append(f"{word} {body} AS {item.alias} ON {self._on(item, items)}")
        return " ".join(parts)

    def _on(self, item: Item, items: tuple[Item, ...]) -> str:
        whom = person(items)
        conditions = [self.expr(part) for part in beyond_person(item.on, item.alias, whom)]
        if item.rows.private and whom != item.alias:
            conditions.append(f"{item.alias}.{PERSON} = {whom}.{PERSON}")
        return f"({' AND '.join(conditions) or 'TRUE'})"

    def _body(self, item: Item, names: list[str], extra: tuple[str, ...], *, joined: bool) -> str:
        if isinstance(item.rows, Scan):
            whole = item.at_most is not None or item.unique_by
            read = [column.name for column in item.rows.table.columns] if whole else names
            body = self._scan(item.rows.table, read, extra, unique=joined)
            return f"({self._within(item, body, names, read)})"
        names = [field.name for field in item.rows.fields]
        return f"({self._within(item, self.rows(item.rows), names, names)})"

    def _within(self, item: Item, body: str, names: list[str], read: list[str]) -> str:
        """Of an item whose rows multiply, so many of each person; of a key that rows share by mistake, one row.

        Ranks go by every column of the table, not by those that are used: two readings must keep the same rows.
        """
        if item.at_most is None and not item.unique_by:
            return body
        quoted = [self.dialect.quoted(name) for name in read]
        by = [PERSON] if item.at_most is not None else [PERSON, self.dialect.quoted(item.unique_by)]
        most = 1 if item.at_most is None else item.at_most
        carried = ", ".join([PERSON, *(self.dialect.quoted(name) for name in names)])
        inline = self.dialect.inline() if isinstance(item.rows, Scan) else ""
        same = " AND ".join(f"b.{name} = h.{name}" for name in by)
        order = ", ".join([self.dialect.keyed_hash("0", quoted), *quoted] if quoted else ["1"])
        rank = f"row_number() OVER (PARTITION BY {', '.join(by)} ORDER BY {order}) AS r"
        heavy = f"SELECT {', '.join(by)} FROM b GROUP BY {', '.join(by)} HAVING count(*) > {most}"
        return (
            f"WITH b AS{inline} ({body}), h AS MATERIALIZED ({heavy}) "
            f"SELECT {carried} FROM b WHERE NOT EXISTS (SELECT 1 FROM h WHERE {same}) "
            f"UNION ALL SELECT {carried} FROM (SELECT {carried}, {rank} FROM b WHERE EXISTS (SELECT 1 FROM h "
            f"WHERE {same})) AS ranked WHERE r <= {most}"
        )

    def _scan(self, table: Table, names: list[str], extra: tuple[str, ...], *, unique: bool) -> str:
        """A declared table: the person, and the columns that are used, each as the type of its kind."""
        table, quoted = self.dataset.table(table.name) or table, self.dialect.quoted
        columns = []
        for name in names:
            declared = table.column(name)
            assert declared is not None
            columns.append(f"{self._stored(f's.{quoted(name)}', declared)} AS {quoted(name)}")
        columns += [f"s.{name}" for name in extra]
        source = f"{quoted(table.name)} AS s"
        if not table.public and self.dataset.unit:
            whom, source = self._owner(table, source)
            columns = [f"{whom} AS {PERSON}", *columns]
        told = ", ".join(columns) or "1 AS one"
        if table.public and unique and table.key:
            declared = table.column(table.key)  # a public key that is not unique must not multiply rows
            assert declared is not None
            key = self._stored(f"s.{quoted(table.key)}", declared)
            order = ", ".join([key, *(column.rpartition(" AS ")[0] for column in columns)])
            return f"SELECT DISTINCT ON ({key}) {told} FROM {source} ORDER BY {order}"
        return f"SELECT {told} FROM {source}"

    def _stored(self, text: str, column: Column) -> str:
        """A column as the type of its declared kind; what is no such value is missing, whatever the source's type."""
        if column.kind is Kind.OPAQUE:
            return self.dialect.short(self.dialect.try_cast(text, Kind.TEXT))
        stored = self.dialect.stored(self.dialect.readable(text, column), column.kind)
        return self.dialect.short(stored) if column.kind is Kind.TEXT else stored

    def _owner(self, table: Table, source: str) -> tuple[str, str]:
        """The person of a row, and the source with what is needed to find out.

        A row whose link leads to several people is the first one's: every row then has one owner, whom it leaves with.
        """
        link = table.link
        assert link is not None
        column, declared = f"s.{self.dialect.quoted(link.column)}", column_named(table, link.column)
        if is_direct(table, self.dataset):
            return id_in(column, declared, self._people, self.dialect), source
        parent = self.dataset.table(link.table)
        assert parent is not None
        whom, inner = self._owner(parent, f"{self.dialect.quoted(parent.name)} AS s")
        pointed = column_named(parent, link.key)
        form = link_form((table, declared), (parent, pointed))
        column = id_in(column, declared, form, self.dialect)
        key = id_in(f"s.{self.dialect.quoted(link.key)}", pointed, form, self.dialect)
        owners = f"(SELECT {key} AS k, min({whom}) AS {PERSON} FROM {inner} GROUP BY 1) AS o"
        return f"o.{PERSON}", f"{source} JOIN {owners} ON {column} = o.k"

    # ------------------------------------------------------------ subqueries

    def rows(self, rows: Subquery) -> str:
        """A subquery inside one person."""
        values = [field.value for field in rows.fields]
        inside = [*values, rows.where, rows.having, *(rows.keys or ())]
        source = self.items(rows.source, inside)
        own = {item.alias for item in rows.source}
        places = sorted(place for place in set(_columns(inside)) if place[0] in own)
        ties = tuple(self.expr(Expr("column", param=place)) for place in places)
        whom = person(rows.source)
        columns = [f"{self.typed(field.value, ties)} AS {self.dialect.quoted(field.name)}" for field in rows.fields]
        groups = [self.expr(key) for key in rows.keys or ()]
        conditions = [self.expr(rows.where)] if rows.where is not None else []
        if whom and rows.private and self.dataset.unit:
            columns.insert(0, f"{whom}.{PERSON} AS {PERSON}")
            groups.insert(0, f"{whom}.{PERSON}")
            conditions.append(f"{whom}.{PERSON} IS NOT NULL")
        text = f"SELECT {'DISTINCT ' if rows.distinct else ''}{', '.join(columns)} FROM {source}"
        text += f" WHERE {' AND '.join(conditions)}" if conditions else ""
        if rows.keys is not None:
            text += f" GROUP BY {', '.join(dict.fromkeys(groups))}" if groups else ""
            text += f" HAVING {self.expr(rows.having)}" if rows.having is not None else ""
        return text


def _columns(values: Iterable[Expr | None]) -> Iterator[tuple[str, str]]:
    """Every column that the expressions use, as (alias, name)."""
    for value in values:
        if value is None:
            continue
        if value.op == "column":
            yield value.param
        elif value.op == "exists":
            yield from _columns([value.param.where, *(item.on for item in value.param.source)])
        yield from _columns(value.args)
