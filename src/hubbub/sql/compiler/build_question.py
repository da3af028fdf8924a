"""Checked tree -> question: names are looked up, types worked out, and nobody's rows meet anybody else's."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from hubbub.relations import Expr, build
from hubbub.schema import Dataset, Kind
from hubbub.sql.compiler.bind_people import InsidePeople
from hubbub.sql.compiler.question import Field, Ordering, Question, UnionOfQuestions, person
from hubbub.sql.compiler.scopes import Ctes, NameScope, bare
from hubbub.sql.compiler.source_text import QueryText
from hubbub.sql.compiler.type_scalars import Scalars, Special, number_in
from hubbub.terms import MixesPeople, NotAllowed, UnknownName, WrongType


def resolve(tree: exp.Expr, text: QueryText, dataset: Dataset) -> Question | UnionOfQuestions:
    """The question that a checked tree asks of the dataset."""
    return _Resolver(text, dataset).question(tree, {})


class _Resolver(InsidePeople):
    """Builds questions: what is told about people, with noise."""

    def question(self, tree: exp.Expr, ctes: Ctes) -> Question | UnionOfQuestions:
        """A SELECT of aggregates, or a UNION ALL of such."""
        while isinstance(tree, exp.Subquery):
            tree = tree.this
        ctes = self._with(tree, ctes)
        if isinstance(tree, exp.Union):
            return self._union(tree, ctes)
        if not isinstance(tree, exp.Select):
            raise self._refused(NotAllowed, tree, "a question is a SELECT.")
        if not self._aggregates(tree):
            return self._passed_through(tree, ctes)
        return self._aggregate(tree, ctes)

    def _union(self, tree: exp.Union, ctes: Ctes) -> UnionOfQuestions:
        if tree.args.get("distinct"):
            raise self._refused(
                NotAllowed,
                tree,
                "UNION without ALL drops equal rows.",
                "Rows of noisy numbers are practically never equal, so the word has no meaning here.",
                "Write UNION ALL.",
            )
        parts: list[Question] = []
        for side in (tree.this, tree.expression):
            told = self.question(side, ctes)
            parts += told.parts if isinstance(told, UnionOfQuestions) else [told]
        widths = {len(part.outputs) for part in parts}
        if len(widths) > 1:
            raise self._refused(WrongType, tree, "the parts of a UNION ALL have the same number of columns.")
        named = {output.name.lower(): Expr("output", param=i) for i, output in enumerate(parts[0].outputs)}
        order, limit, offset = self._ending(tree, NameScope(outputs=named), lambda node: None)
        return UnionOfQuestions(tuple(parts), order, limit, offset)

    def _passed_through(self, tree: exp.Select, ctes: Ctes) -> Question | UnionOfQuestions:
        """SELECT a, b FROM (question) ORDER BY ...: an outer query without aggregates over one that has them."""
        source = tree.args.get("from_")
        inner = source.this if source is not None else None
        body = self._body(inner, ctes)
        if body is None or tree.args.get("joins") or tree.args.get("group"):
            raise self._refused(
                NotAllowed,
                tree,
                "this asks for rows, and only aggregates can be told.",
                "A row is about a person; what many people have in common can be counted, summed or averaged.",
                "Use COUNT, SUM, AVG or a quantile, with GROUP BY if you like.",
            )
        told = self.question(body.tree, body.known)
        self._refuse_distinct(tree)
        if isinstance(told, UnionOfQuestions) or told.levels or told.limit is not None or told.offset:
            raise self._refused(NotAllowed, tree, "a selection from a UNION, a ROLLUP or a LIMIT cannot be read here.")
        return self._outer(tree, told)

    def _outer(self, tree: exp.Select, told: Question) -> Question:
        """The inner question, with the outer's columns, conditions and order on its noisy result."""
        named = {output.name.lower(): output.value for output in told.outputs}

        def known(node: exp.Expr) -> Expr | None:
            if not isinstance(node, exp.Column):
                return None
            if node.name.lower() not in named:
                raise self._unknown(node, node.name, named)
            return named[node.name.lower()]

        scalars = Scalars(self.text, known)
        outputs: list[Field] = []
        for part in tree.expressions:
            if isinstance(part, exp.Star):
                outputs += told.outputs
            else:
                outputs.append(Field(self._name(part, len(outputs)), scalars.build(bare(part))))
        where = tree.args.get("where")
        having = scalars.build(where.this) if where is not None else None
        both = build("and", [told.having, having]) if told.having and having else told.having or having
        scope = NameScope(outputs={output.name.lower(): output.value for output in outputs} | named)
        order, limit, offset = self._ending(tree, scope, known)
        return replace(told, outputs=tuple(outputs), having=both, order=order or told.order, limit=limit, offset=offset)

    def _aggregate(self, tree: exp.Select, ctes: Ctes) -> Question:
        self._refuse_distinct(tree)
        scope, cap = self._from(tree, ctes, None)
        if not person(scope.all_items()) and any(item.rows.private for item in scope.all_items()):
            raise AssertionError("a private item has a person")
        if not any(item.rows.private for item in scope.all_items()):
            raise self._refused(
                NotAllowed,
                tree.args.get("from_"),
                "this reads public tables only.",
                "Public tables need no privacy, and their answers no noise.",
                "Ask the database itself.",
            )
        rows = self._rows_scalars(scope, ctes)
        where = self._condition(tree.args.get("where"), rows)
        keys, levels = self._keys(tree, scope, rows)
        for key in keys:
            self._check_key(tree, key)
        outputs = self._outputs(tree, keys, scope, rows)
        scope.outputs = {output.name.lower(): output.value for output in outputs}
        special = self._result(keys, scope, rows, after=True)
        having = self._condition(tree.args.get("having"), Scalars(self.text, special))
        order, limit, offset = self._ending(tree, scope, special)
        return Question(
            source=scope.all_items(),
            keys=keys,
            outputs=outputs,
            where=where,
            having=having,
            order=order,
            limit=limit,
            offset=offset,
            cap=cap,
            levels=levels,
        )

    def _check_key(self, tree: exp.Select, key: Field) -> None:
        if key.value.facts.unit:
            raise self._refused(
                MixesPeople,
                tree.args.get("group"),
                "one group per person would tell about each person.",
                "A group is told only if many people share it.",
                "Aggregate per person in a subquery, and then over people: SELECT AVG(n) FROM (SELECT person, COUNT(*) "
                "AS n FROM t GROUP BY person).",
            )
        if key.value.kind is Kind.OPAQUE:
            raise self._refused(WrongType, tree.args.get("group"), "a column of this type cannot be a key.")

    def _outputs(self, tree: exp.Select, keys: tuple[Field, ...], scope: NameScope, rows: Scalars) -> tuple[Field, ...]:
        scalars = Scalars(self.text, self._result(keys, scope, rows, after=False))
        fields = []
        for i, part in enumerate(tree.expressions):
            if isinstance(part, exp.Star):
                raise self._refused(NotAllowed, part, "* asks for rows.", "Only keys and aggregates can be told.")
            fields.append(Field(self._name(part, i), scalars.build(bare(part))))
        names = [each.name.lower() for each in fields]
        if len(set(names)) != len(names):
            raise self._refused(
                UnknownName, tree, "two columns of the answer have one name.", fix="Give each its own alias."
            )
        return tuple(fields)

    def _ending(
        self, tree: exp.Expr, scope: NameScope, special: Special
    ) -> tuple[tuple[Ordering, ...], int | None, int]:
        order = []
        for part in tree.args["order"].expressions if tree.args.get("order") is not None else []:
            value = self._ordered(part.this, scope, special)
            order.append(Ordering(value, bool(part.args.get("desc")), bool(part.args.get("nulls_first"))))
        return tuple(order), self._whole(tree.args.get("limit")), self._whole(tree.args.get("offset")) or 0

    def _ordered(self, node: exp.Expr, scope: NameScope, special: Special) -> Expr:
        outputs = list(scope.outputs.values())
        if isinstance(node, exp.Literal) and not node.is_string:
            place = number_in(node) or 0
            if not 1 <= place <= len(outputs):
                raise self._refused(UnknownName, node, "there is no column at this place of SELECT.")
            return outputs[place - 1]

        if isinstance(node, exp.Column) and not node.table and node.name.lower() in scope.outputs:
            return scope.outputs[node.name.lower()]  # by itself, a name is that of a column of the answer first

        def known(part: exp.Expr) -> Expr | None:
            value = special(part)
            if value is None and isinstance(part, exp.Column) and not part.table:
                return scope.outputs.get(part.name.lower())
            return value

        return Scalars(self.text, known).build(node)
