"""Rows of people -> question: keys, aggregates and HAVING, ORDER BY and LIMIT, which work on the noisy result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from hubbub.relations import Expr, build
from hubbub.schema import Kind
from hubbub.sql.compiler.aggregates import GroupedRows, refer_to_answer
from hubbub.sql.compiler.bind_people import PersonRows
from hubbub.sql.compiler.group_keys import group_keys, refuse_distinct
from hubbub.sql.compiler.question import Field, Ordering, Question, UnionOfQuestions
from hubbub.sql.compiler.separate_levels import with_grouping
from hubbub.sql.compiler.syntax.literals import whole_number
from hubbub.sql.compiler.syntax.scopes import NoColumn, OuterQuery, QuestionTree, UnionQuery, output_name, unknown_name
from hubbub.sql.compiler.syntax.source_text import QueryText
from hubbub.sql.compiler.syntax.type_scalars import References, type_condition, type_scalar
from hubbub.terms import MixesPeople, NotAllowed, UnknownName, WrongType


def build_question(rows: QuestionTree[PersonRows], text: QueryText) -> Question | UnionOfQuestions:
    """What is asked of these rows: a question, or several one below the other."""
    if isinstance(rows, UnionQuery):
        return _union_question(rows, text)
    if isinstance(rows, OuterQuery):
        return _outer_question(rows.tree, build_question(rows.inner, text), text)
    return _aggregate_question(rows, text)


# ---------------------------------------------------------------- a SELECT of aggregates


def _aggregate_question(rows: PersonRows, text: QueryText) -> Question:
    tree = rows.tree
    keys, levels = group_keys(tree, rows.names, rows.references, text)
    for key in keys:
        _check_key(tree, key, text)
    grouped = GroupedRows(rows.references, keys, text)
    outputs = _type_outputs(rows, grouped)
    if not levels:
        outputs = tuple(replace(each, value=with_grouping(each.value, range(len(keys)))) for each in outputs)
    named = replace(grouped, outputs={output.name.lower(): output.value for output in outputs})
    having = tree.args.get("having")
    condition = type_condition(having, refer_to_answer(having.this, named), text) if having else None
    if condition is not None and not levels:
        condition = with_grouping(condition, range(len(keys)))
    return Question(
        source=rows.items,
        keys=keys,
        outputs=outputs,
        where=rows.where,
        having=condition,
        order=_type_order(tree, named.outputs, lambda node: refer_to_answer(node, named), text),
        limit=_whole_clause(tree.args.get("limit"), text),
        offset=_whole_clause(tree.args.get("offset"), text) or 0,
        cap=rows.cap,
        levels=levels,
    )


def _check_key(tree: exp.Select, key: Field, text: QueryText) -> None:
    if key.value.facts.unit:
        raise text.refusal(
            MixesPeople,
            tree.args.get("group"),
            "one group per person would tell about each person.",
            "A group is told only if many people share it.",
            "Aggregate per person in a subquery, and then over people: SELECT AVG(n) FROM (SELECT person, COUNT(*) "
            "AS n FROM t GROUP BY person).",
        )
    if key.value.kind is Kind.OPAQUE:
        raise text.refusal(WrongType, tree.args.get("group"), "a column of this type cannot be a key.")


def _type_outputs(rows: PersonRows, grouped: GroupedRows) -> tuple[Field, ...]:
    text, fields = grouped.text, list[Field]()
    for name, part in zip(rows.names, rows.tree.expressions, strict=True):
        if isinstance(part, exp.Star):
            raise text.refusal(NotAllowed, part, "* asks for rows.", "Only keys and aggregates can be told.")
        node = part.unalias()
        named = replace(grouped, outputs=_named_before(node, rows, fields))
        fields.append(Field(name, type_scalar(node, refer_to_answer(node, named), text)))
    names = [each.name.lower() for each in fields]
    if len(set(names)) != len(names):
        raise text.refusal(
            UnknownName, rows.tree, "two columns of the answer have one name.", fix="Give each its own alias."
        )
    return tuple(fields)


def _named_before(node: exp.Expr, rows: PersonRows, fields: Sequence[Field]) -> Mapping[str, Expr]:
    """The columns of SELECT before this one that it reads by name: names that no table has."""
    missing = {
        part.name.lower() for part in node.find_all(exp.Column) if isinstance(rows.references.get(id(part)), NoColumn)
    }
    return {field.name.lower(): field.value for field in fields if field.name.lower() in missing}


# ---------------------------------------------------------------- UNION ALL, and a SELECT from a question


def _union_question(union: UnionQuery[PersonRows], text: QueryText) -> UnionOfQuestions:
    tree = union.tree
    if tree.args.get("distinct"):
        raise text.refusal(
            NotAllowed,
            tree,
            "UNION without ALL drops equal rows.",
            "Rows of noisy numbers are practically never equal, so the word has no meaning here.",
            "Write UNION ALL.",
        )
    parts: list[Question] = []
    for side in union.sides:
        question = build_question(side, text)
        parts += question.parts if isinstance(question, UnionOfQuestions) else [question]
    if len({len(part.outputs) for part in parts}) > 1:
        raise text.refusal(WrongType, tree, "the parts of a UNION ALL have the same number of columns.")
    named = {output.name.lower(): Expr("output", param=index) for index, output in enumerate(parts[0].outputs)}
    return UnionOfQuestions(
        tuple(parts),
        _type_order(tree, named, lambda node: _refer_to_outputs(node, named), text),
        _whole_clause(tree.args.get("limit"), text),
        _whole_clause(tree.args.get("offset"), text) or 0,
    )


def _outer_question(tree: exp.Select, inner: Question | UnionOfQuestions, text: QueryText) -> Question:
    """The inner question, with the outer's columns, conditions and order on its noisy result."""
    refuse_distinct(tree, text)
    if isinstance(inner, UnionOfQuestions) or inner.levels or inner.limit is not None or inner.offset:
        raise text.refusal(NotAllowed, tree, "a selection from a UNION, a ROLLUP or a LIMIT cannot be read here.")
    named = {output.name.lower(): output.value for output in inner.outputs}

    def refer(node: exp.Expr) -> References:
        return _refer_to_inner(node, named, text)

    outputs: list[Field] = []
    for part in tree.expressions:
        if isinstance(part, exp.Star):
            outputs += inner.outputs
        else:
            node = part.unalias()
            outputs.append(Field(output_name(part, len(outputs), text), type_scalar(node, refer(node), text)))
    where = tree.args.get("where")
    having = type_scalar(where.this, refer(where.this), text) if where is not None else None
    both = build("and", [inner.having, having]) if inner.having and having else inner.having or having
    visible = {output.name.lower(): output.value for output in outputs} | named
    return replace(
        inner,
        outputs=tuple(outputs),
        having=both,
        order=_type_order(tree, visible, refer, text) or inner.order,
        limit=_whole_clause(tree.args.get("limit"), text),
        offset=_whole_clause(tree.args.get("offset"), text) or 0,
    )


def _refer_to_outputs(node: exp.Expr, named: Mapping[str, Expr]) -> References:
    columns = [part for part in node.walk() if isinstance(part, exp.Column) and not part.table]
    return {id(part): named[part.name.lower()] for part in columns if part.name.lower() in named}


def _refer_to_inner(node: exp.Expr, named: Mapping[str, Expr], text: QueryText) -> References:
    columns = [part for part in node.walk() if isinstance(part, exp.Column)]
    for part in columns:
        if part.name.lower() not in named:
            raise unknown_name(part, part.name, list(named), text)
    return {id(part): named[part.name.lower()] for part in columns}


# ---------------------------------------------------------------- ORDER BY, LIMIT, OFFSET


def _type_order(
    tree: exp.Expr, outputs: Mapping[str, Expr], refer: Callable[[exp.Expr], References], text: QueryText
) -> tuple[Ordering, ...]:
    order = tree.args.get("order")
    return tuple(
        Ordering(
            _ordered_value(part.this, outputs, refer, text),
            bool(part.args.get("desc")),
            bool(part.args.get("nulls_first")),
        )
        for part in (order.expressions if order is not None else [])
    )


def _ordered_value(
    node: exp.Expr, outputs: Mapping[str, Expr], refer: Callable[[exp.Expr], References], text: QueryText
) -> Expr:
    if isinstance(node, exp.Literal) and not node.is_string:
        place = whole_number(node) or 0
        if not 1 <= place <= len(outputs):
            raise text.refusal(UnknownName, node, "there is no column at this place of SELECT.")
        return list(outputs.values())[place - 1]
    if isinstance(node, exp.Column) and not node.table and node.name.lower() in outputs:
        return outputs[node.name.lower()]  # by itself, a name is that of a column of the answer first
    return type_scalar(node, refer(node), text)


def _whole_clause(clause: exp.Expr | None, text: QueryText) -> int | None:
    if clause is None:
        return None
    number = whole_number(clause.expression)
    if number is None:
        raise text.refusal(WrongType, clause, "LIMIT and OFFSET take a whole number.")
    return number
