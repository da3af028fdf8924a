"""The limits of a question: numbers that bound what it can make one person's rows cost, all public and in one place.

Work that grows without a limit for one person's rows would tell by its failure, or by its time, whether that person is
there. So each text, each row and each join has a bound that follows from the question and from what is declared; what
exceeds one is refused before anything is charged (``docs/proofs/sql.md``, "Work").
"""

from __future__ import annotations

from fractions import Fraction

from hubbub.terms import OutOfRange, OverLimit, exact

# the analyst's text
SIGNS = 20_000  # of one question
TOKENS = 5_000
NESTING = 40  # brackets and CASE inside one another
PREFIXES = 20  # NOT NOT NOT ..., - - - ...
JOINS = 12  # the parser's time doubles with each JOIN that has no ON
DEPTH = 120  # levels of the tree
NODES = 6_000  # of the tree
COLUMNS = 64  # of an answer
KEYS = 32  # of GROUP BY
ARGUMENTS = 100  # of one function
DIGITS = 60  # of a number
LARGEST = 10**30  # of a number, and what a bound of one is worked out up to
LARGEST_PARAMETER = Fraction(10) ** 300

# one value
TEXT = 4_096  # characters of a text that is read or made; the rest is cut off
MADE = 4 * TEXT  # characters that REPLACE or CONCAT may make before they are cut
LITERAL = 1_000  # characters of a text in quotes
PATTERN = 250  # characters of a pattern, or of a text that is looked for or replaced
LISTED = 1_000  # values of IN
PARTS = 8_000  # operations of one expression, with everything in it

# one row, and one person
OPERATIONS = 20_000  # of all expressions of a question
LOOKED_AT = 2_000_000  # characters that they look at, for one row
MADE_IN_ALL = 100_000  # characters that they make, for one row
ITEMS = 24  # tables that a question reads, each as often as it is read
ROWS = 1_000_000  # rows of one person that a join can have
LEVELS = 64  # of ROLLUP, CUBE and GROUPING SETS

# the engine's text
EXPRESSION = 40_000  # signs of one expression
STATEMENT = 5_000_000  # signs, with long lists of declared keys
TWIN_SECONDS = 10.0  # for a statement on a few rows of ours

# what runs on released numbers alone
RELEASED_SECONDS = 30.0  # for one statement
RELEASED_SECONDS_IN_ALL = 90.0  # for what is asked, and all copies of it
RELEASED_ROWS = 100_000  # that it may give


def over(what: str, why: str, fix: str) -> OverLimit:
    """The refusal of a question that is beyond a limit."""
    return OverLimit(what, why=why, fix=fix)


def check_ordinary(**given: object) -> None:
    """Refuse parameters that are no numbers, or such that no double holds them."""
    for name, value in given.items():
        number = None if value is None else exact(value, name=name)
        if number and not 1 / LARGEST_PARAMETER <= abs(number) <= LARGEST_PARAMETER:
            raise OutOfRange(
                f"{name} lies between 10^-300 and 10^300.",
                why="No parameter of a question is that large or that small.",
                fix=f"Give {name} as an ordinary number.",
            )


def too_large() -> OverLimit:
    """The refusal of a question with too many parts."""
    return over(
        "the question is too large.",
        f"It has more than {PARTS:,} operations, {DEPTH} levels or {JOINS} joins, once everything it names is put in.",
        "Split it into several questions.",
    )
