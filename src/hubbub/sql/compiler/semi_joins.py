"""EXISTS and IN: whether there are such rows of the same person, or such public rows."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from hubbub.relations import Expr, build, literal
from hubbub.schema import Dataset
from hubbub.sql.compiler.fan_out import bound_semi_join
from hubbub.sql.compiler.person_links import link_between, refuse_mixed
from hubbub.sql.compiler.question import Item, SemiJoin, person
from hubbub.sql.compiler.syntax.source_text import QueryText


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionQuery:
    """A subquery of a condition, with the items around it: which rows it looks at, and which of them it wants."""

    node: exp.Expr
    source: tuple[Item, ...]
    where: Expr | None
    outer: tuple[Item, ...]
    text: QueryText
    dataset: Dataset

    def exists(self, where: Expr | None) -> Expr:
        """Whether there are rows with this condition; private ones must be the same person's."""
        whom = person(self.outer)
        private = any(item.rows.private for item in self.source)
        if private and (not whom or not self.is_linked(where)):
            raise refuse_mixed(
                self.text,
                self.node,
                "this looks at other people's rows.",
                "Compare the person, or a declared key of theirs, inside and outside the subquery.",
            )
        inside = SemiJoin(self.source, where, whom if private else "")
        return build("exists", [], bound_semi_join(inside, self.dataset) if self.dataset.unit else inside)

    def is_linked(self, where: Expr | None) -> bool:
        """Whether the condition ties the rows inside to the person outside."""
        private = [item for item in self.source if item.rows.private]
        return bool(private) and link_between(where, self.outer, private[0], self.dataset) is not None


def type_exists(query: ConditionQuery) -> Expr:
    """EXISTS (SELECT ...)."""
    return query.exists(query.where)


def type_membership(query: ConditionQuery, wanted: Expr, value: Expr) -> Expr:
    """``x IN (SELECT y ...)``, unknown where x is missing, or where it is not among the values and one of these is.

    If x = y itself ties the rows to their person, others' rows would decide what is unknown; x is then the person, or
    IN stands where unknown and false are the same.
    """
    match = query.exists(_add_condition(query.where, build("eq", [wanted, value])))
    if _is_filter(query.node):
        return match
    if not match.param.outer or query.is_linked(query.where):
        missing = query.exists(_add_condition(query.where, build("isnull", [value])))
        some = query.exists(query.where)
        unknown = build("or", [build("and", [build("isnull", [wanted]), some]), missing])
        return build("case", [match, literal(True), unknown, literal(None), literal(False)])
    if not (wanted.facts.unit and wanted.param[0] == match.param.outer):
        raise refuse_mixed(
            query.text,
            query.node,
            "whether this IN is unknown would depend on other people's rows.",
            "Use EXISTS or NOT EXISTS, and compare the person inside and outside the subquery.",
        )
    return match


def _add_condition(where: Expr | None, more: Expr) -> Expr:
    return more if where is None else build("and", [where, more])


def _is_filter(node: exp.Expr) -> bool:
    """Whether it stands in WHERE, ON or FILTER under AND and OR alone: there, unknown is as good as false."""
    above = node.parent
    while isinstance(above, exp.And | exp.Or | exp.Paren):
        above = above.parent
    return isinstance(above, exp.Where | exp.Join)
