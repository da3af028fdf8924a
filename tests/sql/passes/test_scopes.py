"""Names: a table beside the tree says what each refers to, once for every reading of a SELECT."""

from __future__ import annotations

import pytest
from sqlglot import exp

from hubbub.sql.compiler.compile import read_question
from hubbub.sql.compiler.question import Question
from hubbub.sql.compiler.syntax.parse import parse
from hubbub.sql.compiler.syntax.scopes import ColumnName, NoColumn, SelectScope, resolve_names
from hubbub.terms import UnknownName
from tests.sql.passes.datasets import HOSPITAL

STAYED = "CASE WHEN EXISTS (SELECT 1 FROM stays s WHERE s.visit_id = v.visit_id) THEN 1 ELSE 0 END"


def scope_of(text: str) -> SelectScope:
    tree, source = parse(text)
    scope = resolve_names(tree, source, HOSPITAL)
    assert isinstance(scope, SelectScope)
    return scope


def names(scope: SelectScope) -> dict[str, ColumnName | NoColumn]:
    """What the columns of a SELECT refer to, by their text."""
    columns = [node for node in scope.tree.find_all(exp.Column) if id(node) in scope.columns]
    return {node.sql(): scope.columns[id(node)] for node in columns}


def question(text: str) -> Question:
    read = read_question(text, HOSPITAL)
    assert isinstance(read, Question)
    return read


def test_a_query_that_is_named_twice_is_read_twice() -> None:
    scope = scope_of(
        "WITH a AS (SELECT * FROM visits) SELECT COUNT(*) FROM a x JOIN a y ON x.patient_id = y.patient_id"
    )
    assert [(item.name, item.alias) for item in scope.items] == [("x", "t1"), ("y", "t3")]
    inner = [item.source for item in scope.items]
    assert all(isinstance(each, SelectScope) for each in inner)
    assert [each.items[0].alias for each in inner if isinstance(each, SelectScope)] == ["t0", "t2"]
    assert names(scope) == {
        "x.patient_id": ColumnName("t1", "patient_id"),
        "y.patient_id": ColumnName("t3", "patient_id"),
    }


def test_a_name_is_that_of_the_nearest_select_that_has_one() -> None:
    scope = scope_of(
        "SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM stays WHERE VISIT_ID = v.visit_id AND ward = 'x')"
    )
    [inner] = scope.subqueries.values()
    assert names(inner) == {
        "VISIT_ID": ColumnName("t1", "visit_id"),
        "v.visit_id": ColumnName("t0", "visit_id"),
        "ward": ColumnName("t0", "ward"),
    }


def test_the_condition_of_a_join_sees_what_stands_before_it() -> None:
    scope = scope_of(
        "SELECT COUNT(*) FROM visits v JOIN stays s ON s.visit_id = p.patient_id JOIN patients p ON p.sex = 'f'"
    )
    missing = names(scope)["p.patient_id"]
    assert isinstance(missing, NoColumn) and [item.name for item in missing.items] == ["v", "s"]
    with pytest.raises(UnknownName, match="there is no column 'patient_id'"):
        read_question(
            "SELECT COUNT(*) FROM visits v JOIN stays s ON s.visit_id = p.patient_id JOIN patients p ON TRUE", HOSPITAL
        )


def test_a_key_with_a_subquery_can_be_told_beside_its_counts() -> None:
    unnamed = question(f"SELECT COUNT(*) AS n FROM visits v GROUP BY {STAYED}")
    named = question(f"SELECT {STAYED} AS stayed, COUNT(*) AS n FROM visits v GROUP BY stayed HAVING stayed = 1")
    assert [key.value for key in named.keys] == [key.value for key in unnamed.keys]
    assert [output.value.op for output in named.outputs] == ["key", "aggregate"]


def test_stars_do_not_double() -> None:
    chain = ", ".join(f"a{n + 1} AS (SELECT *, * FROM a{n})" for n in range(60))
    with pytest.raises(UnknownName, match="two columns of the subquery have one name"):
        read_question(f"WITH a0 AS (SELECT * FROM visits), {chain} SELECT COUNT(*) FROM a60", HOSPITAL)
