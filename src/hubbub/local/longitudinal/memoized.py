"""Memoization from one secret: permanent noise that survives a restart without being stored."""

from __future__ import annotations

import hmac
import secrets
from hashlib import sha256
from typing import Any

import numpy as np

from hubbub import noise
from hubbub.durable import canonical_json
from hubbub.local.longitudinal.memories import memory_of
from hubbub.local.randomizers.base import Randomizer
from hubbub.noise import SECURE
from hubbub.terms import OutOfRange

SECRET_BYTES = 32


class Memoized:
    """A randomizer with permanent noise (``Rappor``, ``DBitFlip``, ``OneBitMean``, ``Loloha``) in one client's hands.

    What is drawn once and for all comes from the client's secret, by a keyed hash of the randomizer's parameters, of
    ``collection`` (a name of what is collected) and of the value's kind. So it is the same after a restart, different
    for each collection, and looks fresh to everyone without the secret.

    Guarantee: that of the randomizer for all reports about one value together, against everyone who cannot break HMAC.
    Because: [BCK96]: HMAC-SHA-256 is a pseudorandom function, so the words are as good as drawn and stored.
    Not covered: what changes of the value tell; ``Client`` keeps account of that. Whoever gets the secret sees through.

    >>> from hubbub.local import DBitFlip
    >>> survey = DBitFlip(epsilon=2, domain=8, flips=2)
    >>> secret = bytes(range(32))                              # from new_secret(), kept on the device
    >>> first = Memoized(survey, secret, collection="browser").randomize(5)
    >>> again = Memoized(survey, secret, collection="browser").randomize(5)      # after a restart
    >>> first == again
    True
    """

    def __init__(self, randomizer: Randomizer, secret: bytes, *, collection: str) -> None:
        memory = memory_of(randomizer)
        if memory is None:
            raise OutOfRange(
                f"{randomizer.protocol} has no permanent noise.",
                why="Each of its reports is made anew, and each one costs its epsilon.",
                fix="Take Loloha, Rappor, DBitFlip or OneBitMean where people report again and again.",
            )
        self.randomizer, self._memory = randomizer, memory
        parameters = canonical_json(randomizer.parameters())
        self._key = hmac.digest(_check_secret(secret), f"hubbub/memoised/{collection}/{parameters}".encode(), sha256)
        self._part = memory.part(self._words("part", 0, memory.part_words))

    def randomize(self, value: object, *, rng: noise.RandomSource | None = None) -> Any:
        """A report about this value: the permanent answer, with fresh noise on top where the randomizer has some."""
        kind = self._memory.kind(self._part, int(self.randomizer.codes([value])[0]))
        memo = self._memory.memo(self._part, kind, self._words("memo", kind, self._memory.memo_words))
        fresh = (SECURE if rng is None else rng).random_words(self._memory.step_words).tolist()
        return self._memory.step(self._part, memo, fresh)

    def _words(self, name: str, number: int, count: int) -> list[int]:
        """``count`` words that belong to this name and number for ever."""
        blocks = (hmac.digest(self._key, f"{name}/{number}/{i}".encode(), sha256) for i in range((count + 3) // 4))
        return [int(word) for word in np.frombuffer(b"".join(blocks), dtype="<u8")[:count]]


def new_secret() -> bytes:
    """A client's secret, from the operating system; keep it on the client and nowhere else."""
    return secrets.token_bytes(SECRET_BYTES)


def _check_secret(secret: bytes) -> bytes:
    if not isinstance(secret, bytes) or len(secret) < SECRET_BYTES:
        raise OutOfRange(
            f"a client's secret has at least {SECRET_BYTES} bytes.",
            why="Whoever guesses it can undo the permanent noise.",
            fix="Make one with local.new_secret() and keep it on the client.",
        )
    return secret
