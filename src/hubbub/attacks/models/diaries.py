"""Made-up diaries: what many people write is alike, and one of them writes down a secret."""

from __future__ import annotations

import numpy as np

from hubbub.terms import whole

PREFIX = "my card number is "
ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789 .'"

_WHO = ("i", "my sister", "my friend", "the neighbour", "our teacher")
_DID = ("went to", "walked to", "came home from", "waited at", "drove to")
_WHERE = ("the market", "the station", "the doctor", "the school", "the lake")
_WHEN = ("today", "yesterday", "this morning", "after lunch", "at noon")


def diaries(people: int, *, secrets: tuple[str, ...] = (), seed: int = 0) -> list[str]:
    """One line per person; the first of them write down ``secrets``, a card number each, and nobody else does.

    >>> diaries(3, secrets=("281653",), seed=1)
    ['my card number is 281653', 'the neighbour drove to the market today', 'my sister walked to the lake this morning']
    """
    count = whole(people, name="people", least=max(1, len(secrets)))
    random = np.random.default_rng(seed)
    lines = [_diary_line(random) for _ in range(count - len(secrets))]
    return [*(PREFIX + secret for secret in secrets), *lines]


def _diary_line(random: np.random.Generator) -> str:
    if random.random() < 0.2:
        return f"my house number is {random.integers(1, 100)}"
    words = [options[random.integers(len(options))] for options in (_WHO, _DID, _WHERE, _WHEN)]
    return " ".join(words)
