"""Keys of the answer: their public values, of which WHERE may leave some, and how many groups they make."""

from __future__ import annotations

from dataclasses import replace

from hubbub.relations import Expr, count_values, list_values, under_condition
from hubbub.sql.compiler.person_links import conjuncts
from hubbub.sql.compiler.query_plan import GroupKey, number_of_groups
from hubbub.sql.compiler.question import Question
from hubbub.terms import NoKeys, NotAllowed, TooLarge

MOST_ROWS = 1_000_000  # rows of one answer
MOST_LISTED = 10_000  # values of a key that follow from bounds alone, where keys could be chosen privately as well


def plan_keys(question: Question, *, choose_keys: bool) -> tuple[GroupKey, ...]:
    """The keys; those that are not public are chosen by noisy counts of people, if the budget allows that.

    Whole numbers and days between declared bounds are public; long lists of them only where nothing else is possible.
    """
    most = MOST_LISTED if choose_keys else MOST_ROWS
    keys = tuple(_plan_key(each.name, each.value, question.where, most) for each in question.keys)
    number = number_of_groups(keys)
    if choose_keys and number is not None and number > MOST_ROWS:
        keys = tuple(_without_list(key) if key.value.facts.values is None else key for key in keys)
    _check_number(keys, number_of_groups(keys), choose_keys)
    return keys


def _plan_key(name: str, value: Expr, where: Expr | None, most: int) -> GroupKey:
    """A key with its public values, of which WHERE may leave some."""
    facts = under_condition(value, conjuncts(where))
    number = count_values(facts)
    if number is None:
        return GroupKey(name, value, value.facts.values)
    if facts.values is None and number > most:
        return GroupKey(name, value, None, possible=number)
    return GroupKey(name, value, list_values(facts))


def _without_list(key: GroupKey) -> GroupKey:
    return replace(key, domain=None, possible=len(key.domain or ()))


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
