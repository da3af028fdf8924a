"""Keys of the answer: their public values, of which WHERE may leave some, and how many groups they make."""

from __future__ import annotations

from fractions import Fraction

from hubbub.relations import Expr
from hubbub.schema import Value
from hubbub.sql.compiler.person_links import conjuncts
from hubbub.sql.compiler.query_plan import GroupKey, number_of_groups
from hubbub.sql.compiler.question import Question
from hubbub.terms import NoKeys, NotAllowed, TooLarge

MOST_ROWS = 1_000_000  # rows of one answer


def plan_keys(question: Question, *, choose_keys: bool) -> tuple[GroupKey, ...]:
    """The keys; those that are not public are chosen by noisy counts of people, if the budget allows that."""
    keys = tuple(_plan_key(each.name, each.value, question.where) for each in question.keys)
    _check_number(keys, number_of_groups(keys), choose_keys)
    return keys


def _plan_key(name: str, value: Expr, where: Expr | None) -> GroupKey:
    """A key with its public values, of which WHERE may leave some."""
    domain = value.facts.values
    for part in conjuncts(where):
        if domain is not None and part.op in ("eq", "in") and part.args[0] == value:
            wanted = {_comparable(option.param) for option in part.args[1:] if option.op == "literal"}
            if all(option.op == "literal" for option in part.args[1:]):
                domain = tuple(each for each in domain if _comparable(each) in wanted)
    return GroupKey(name, value, domain)


def _comparable(value: Value | Fraction | None) -> Value | None:
    """The value as the engine compares it: as a double, where the text has the decimal 0.1."""
    return float(value) if isinstance(value, int | float | Fraction) and not isinstance(value, bool) else value


def _check_number(keys: tuple[GroupKey, ...], number: int | None, choose_keys: bool) -> None:
    if number == 0:
        names = ", ".join(key.name for key in keys if key.domain == ())
        raise NotAllowed(
            f"the answer has no rows, whatever the data are: WHERE leaves none of the public values of {names}.",
            why="Every row of the answer is a public key, and rows with other values are left out.",
            fix=f"Compare {names} with declared values, which describe() lists.",
        )
    if number is not None and number > MOST_ROWS:
        raise TooLarge(
            f"the answer would have {number:,} rows, and {MOST_ROWS:,} are the most.",
            why="Every public key has a row, whether or not anybody is there.",
            fix="Group by fewer or coarser keys.",
        )
    if number is None and not choose_keys:
        names = ", ".join(key.name for key in keys if key.domain is None)
        raise NoKeys(
            f"the values of {names} are not public, and a budget without delta cannot choose them privately.",
            why="That a key exists may tell that a person is there.",
            fix='Declare the values: values = ["north", "south"], or connect(..., keys={...}).',
        )
