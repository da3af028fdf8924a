"""What a statement around private questions may say: nearly anything, as long as it gives the same each time it runs.

No rule here protects people: it runs where no row is (``engines.ReleasedTables``). These rules keep answers repeatable,
as their intervals need, and refuse early what that place would refuse in words of its own.
"""

from __future__ import annotations

import math
from itertools import pairwise

from sqlglot import ErrorLevel, TokenType, exp
from sqlglot.errors import UnsupportedError
from sqlglot.tokens import Tokenizer

from hubbub.engines import changing_functions
from hubbub.sql.compiler.syntax.source_text import QueryText
from hubbub.terms import NotAllowed, QueryError

_CLOCKS = ("CurrentDate", "CurrentTime", "CurrentTimestamp", "CurrentDatetime", "CurrentTimestampLTZ", "Localtime")
_CHANGING = frozenset((*_CLOCKS, "Localtimestamp", "Rand", "Randn", "Uuid", "CurrentUser", "SessionUser", "Randstr"))
# What makes something as long as a number says: the engine's memory limit does not count constants that it works out.
_GROWING = frozenset(
    (
        *("repeat", "lpad", "rpad", "printf", "format", "bar", "space", "replicate", "bitstring", "to_base"),
        *("range", "generate_series", "list_resize", "array_resize", "equi_width_bins", "repeat_row", "strrep"),
    )
)
# What compares each sign of one text with each of another: the engine cannot be stopped within one pair of texts.
_QUADRATIC = frozenset(("levenshtein", "editdist3", "damerau_levenshtein"))
_GROWING_NODES = ("Repeat", "Pad", "GenerateSeries", "Space", "Format", "GenerateDateArray", "GenerateTimestampArray")
_JOINING = frozenset(("concat", "concat_ws", "list_concat", "list_cat", "array_concat", "array_cat"))
_REPLACING = frozenset(("replace", "regexp_replace", "translate"))
_MOST_DOUBLINGS = 24  # of the longest text: what joins two values makes at most twice the longer one
_SHORT_TEXT = 256
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
        if name in _GROWING_NODES:
            raise _refused(text, node, name.upper(), "Write the text that you mean, or VALUES for a list.")
        if name in _CHANGING or _is_age_today(node):
            raise _refuse_changing(text, node, node.sql(dialect="duckdb"))
    _check_growth(outer, text)
    for called in _called_functions(outer.sql(dialect="duckdb")):
        if called in changing_functions():
            raise _refuse_changing(text, None, called)
        if called in _GROWING:
            raise _refused(text, None, called.upper(), "Write the text that you mean, or VALUES for a list.")
        if called in _QUADRATIC:
            raise _refused(text, None, called.upper(), "Take the answer as it comes, and compare its texts there.")


def _check_growth(outer: exp.Query, text: QueryText) -> None:
    """Refuse joined and replaced texts that together could double too often, each on what the last one made."""
    longest = max((len(each.name) for each in outer.find_all(exp.Literal)), default=0)
    doublings = math.log2(max(longest, _SHORT_TEXT))
    for node in outer.walk():
        doublings += _doublings_of(node, longest)
        if doublings > _MOST_DOUBLINGS:
            called = "A text joined so often"
            raise _refused(text, node, called, "Join fewer texts, or take the answer and join them there.")


def _doublings_of(node: exp.Expr, longest: int) -> float:
    """How often a node may double the longest of its parts."""
    name = str(node.this).lower() if isinstance(node, exp.Anonymous) else node.key
    if isinstance(node, exp.DPipe):
        return 1.0
    if isinstance(node, exp.Concat | exp.ConcatWs) or name in _JOINING:
        return math.log2(max(1, 2 * len(node.expressions)))
    if name in _REPLACING or isinstance(node, exp.RegexpReplace | exp.Translate):
        return math.log2(max(1, longest))
    return 0.0


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


def _refused(text: QueryText, node: exp.Expr | None, called: str, fix: str) -> QueryError:
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
