"""Words that people write and others read: one line that shows what it says, or refused."""

from __future__ import annotations

import re

from hubbub.terms.errors import NotANumber, OutOfRange

_LONGEST = 10_000


def plain_text(text: object, *, name: str = "text", longest: int = _LONGEST) -> str:
    """``text`` as it is, refused if a terminal or page could show something else than what it says.

    Refused are line breaks, control signs (terminal escapes begin with one), signs that turn the direction of writing,
    invisible signs and halves of signs (surrogates). Letters of every script pass.

    >>> plain_text("Grüße, 你好", name="title")
    'Grüße, 你好'
    """
    if not isinstance(text, str):
        raise NotANumber(
            f"{name} must be text and is a {type(text).__name__}.",
            why="It is shown to people as it is.",
            fix=f"Give {name} as a string.",
        )
    if len(text) > longest or not all(sign.isprintable() for sign in text):
        raise OutOfRange(
            f"{name} is one line of at most {longest} signs that can be printed.",
            why="Line breaks, terminal escapes, signs that turn the direction of writing and invisible ones could show "
            "people something else than what was written.",
            fix=f"Leave such signs out of {name}.",
        )
    return text


_NAME = re.compile(r"\w[\w .@+:-]{0,99}")


def plain_name(value: object, *, what: str) -> str:
    """A name for people and programs: letters, digits, spaces and ``. _ @ + : -``, up to 100 signs."""
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise OutOfRange(
            f"the name of a {what} starts with a letter or digit and holds only those, spaces and . _ @ + : -",
            why="Names are written into the ledger for ever, and must read the same everywhere.",
            fix=f"Choose a plain name of up to 100 signs for the {what}.",
        )
    return value
