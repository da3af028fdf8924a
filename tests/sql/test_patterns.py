"""Regular expressions: what is let through means the same to every engine, and takes one step for each character."""

from __future__ import annotations

import re
from random import Random

import duckdb
import pytest

from hubbub.relations import BadPattern, read_pattern

_ATOMS = ("a", "b", "[ab]", "[^a]", ".", r"\d", r"\w", r"\.", "[a-c1-3]", r"[\d_]", "(ab)", "(?:a|b1)", "-")


def made(random: Random) -> str:
    """A pattern that may be used."""
    parts = [random.choice(_ATOMS) + random.choice(("", "", "*", "+", "?", "{2}", "{1,3}")) for _ in range(4)]
    middle = random.choice(("", "", "|"))
    return random.choice(("", "^")) + "".join(parts[:2]) + middle + "".join(parts[2:]) + random.choice(("", "$"))


def test_patterns_mean_to_the_engine_what_they_mean_to_a_reader() -> None:
    random, found = Random(9), 0
    with duckdb.connect() as engine:
        for _ in range(400):
            pattern = made(random)
            text = "".join(random.choice("aab1.-_\n") for _ in range(random.randrange(9)))
            spelled = read_pattern(pattern).text
            asked = "SELECT regexp_matches($1, $2), regexp_matches($1, $3)"
            [[plain, told]] = engine.execute(asked, [text, pattern, spelled]).fetchall()
            assert told == plain == bool(re.search(pattern.replace("$", r"\Z"), text, re.ASCII)), (pattern, text)
            found += told
    assert 50 < found < 350


@pytest.mark.parametrize(
    "pattern",
    [
        *(r"(a)\1", "a(?=b)", "a(?!b)", "(?<=a)b", "(?i)a", "(?P<n>a)"),
        *(r"\bword", r"\p{L}", r"\Qa\E", "a**", "a++", "^*"),
        *("", "a|", "(a", "a)", "[a", "a{3,2}", "a{101}", "{2}", "a{,3}", "[[:alpha:]]", "*a", "a\\", "[]a]", r"\x41"),
        *("(a{100}){5}", "((((((((((((((a))))))))))))))", "a{2}{3}"),
    ],
)
def test_what_may_take_long_or_is_read_differently_is_refused(pattern: str) -> None:
    with pytest.raises(BadPattern):
        read_pattern(pattern)


def test_the_size_of_a_pattern_is_that_of_its_repetitions_written_out() -> None:
    assert read_pattern("abc").size == 3
    assert read_pattern("(ab){20}c").size == 41
    assert read_pattern("^[a-z]+(x|y)?$").size == 6
    assert read_pattern("(a)(?:b)([c])").groups == 2
