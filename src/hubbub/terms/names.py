"""Words that people write and others read: one line that shows what it says, or refused."""

from __future__ import annotations

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
