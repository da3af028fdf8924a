"""What a statement around private questions may say: nearly anything, as long as it gives the same each time it runs.

No rule here protects people: it runs where no row is (``engines.ReleasedTables``). These rules keep answers repeatable,
as their intervals need, and refuse early what that place would refuse in words of its own.
"""

from __future__ import annotations

from itertools import pairwise

from sqlglot import ErrorLevel, TokenType, exp
from sqlglot.errors import UnsupportedError
from sqlglot.tokens import Tokenizer

from hubbub.engines import changing_functions
from hubbub.sql.compiler.syntax.source_text import QueryText
from hubbub.terms import NotAllowed, QueryError

_CLOCKS = ("CurrentDate", "CurrentTime", "CurrentTimestamp", "CurrentDatetime", "CurrentTimestampLTZ", "Localtime")
_CHANGING = frozenset((*_CLOCKS, "Localtimestamp", "Rand", "Randn", "Uuid", "CurrentUser", "SessionUser", "Randstr"))
_REFUSED: dict[str, tuple[str, str]] = {
    "Command": ("this command", "Send one SELECT."),
    "Into": ("SELECT INTO", "Take the answer as it comes: .to_pandas(), .to_csv()."),
    "Lock": ("FOR UPDATE", "Leave it out."),
    "TableSample": ("a random sample", "Use ORDER BY a key with LIMIT."),
    "Placeholder": ("a parameter", "Write the value."),
    "Parameter": ("a parameter", "Write the value."),
    "SessionParameter": ("a setting", "Write the value."),
    "Unnest": ("UNNEST", "Use VALUES: FROM (VALUES (1), (2)) AS v(k)."),
    "Explode": ("UNNEST", "Use VALUES: FROM (VALUES (1), (2)) AS v(k)."),
}


def check_outer(outer: exp.Query, text: QueryText) -> None:
    """Refuse what would not be the same each time, reads something else, or is no SELECT."""
    for node in outer.walk():
        name = type(node).__name__
        if name in _REFUSED or (name == "Lateral" and not isinstance(node.this, exp.Subquery)):
            called, fix = _REFUSED.get(name, ("LATERAL with a function", "Use a subquery."))
            raise _refused(text, node, called, fix)
        if name in _CHANGING or _is_age_today(node):
            raise _refuse_changing(text, node, node.sql(dialect="duckdb"))
    for called in _called_functions(outer.sql(dialect="duckdb")):
        if called in changing_functions():
            raise _refuse_changing(text, None, called)


def refuse_lost_part(tree: exp.Query, text: QueryText) -> QueryError | None:
    """The refusal of a statement that would lose a part where it is printed: ``TO_CHAR(day, 'YYYY')`` its format."""
    if not _loses_a_part(tree):
        return None
    return text.refusal(
        NotAllowed,
        next(filter(_loses_a_part, tree.find_all(exp.Func, bfs=False)), None),
        "a part of this function is not understood here.",
        "It would be silently left out.",
        "Write it as DuckDB does: STRFTIME(day, '%Y-%m') for TO_CHAR(day, 'YYYY-MM').",
    )


def _loses_a_part(node: exp.Expr) -> bool:
    try:
        node.sql(dialect="duckdb", unsupported_level=ErrorLevel.RAISE)
    except UnsupportedError:
        return True
    return False


def _is_age_today(node: exp.Expr) -> bool:
    """AGE of one moment goes by the clock; that of two does not."""
    return isinstance(node, exp.Anonymous) and node.name.lower() == "age" and len(node.expressions) == 1


def _called_functions(sql: str) -> list[str]:
    """The names before brackets, as the engine will read them."""
    tokens = Tokenizer(dialect="duckdb").tokenize(sql)
    return [name.text.lower() for name, bracket in pairwise(tokens) if bracket.token_type is TokenType.L_PAREN]


def _refused(text: QueryText, node: exp.Expr, called: str, fix: str) -> QueryError:
    return text.refusal(
        NotAllowed,
        node,
        f"{called} cannot stand around private questions.",
        "What stands there is one SELECT over their noisy tables, and gives the same each time it runs.",
        fix,
    )


def _refuse_changing(text: QueryText, node: exp.Expr | None, called: str) -> QueryError:
    return text.refusal(
        NotAllowed,
        node,
        f"{called.upper()[:40]} may give another value each time, or tells about the place where it runs.",
        "An answer is the same whenever it is asked again, and its intervals are worked out by running it again.",
        "Write the value that you mean, such as DATE '2026-01-31'.",
    )
