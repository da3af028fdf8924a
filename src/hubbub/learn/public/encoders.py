"""A public encoder as it is: frozen, one text at a time, its answers kept on disk."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub.learn.public.arrays import unit_length
from hubbub.learn.public.transformers import PublicStep
from hubbub.terms import EmptyInput, MixesPeople, NotANumber, WrongShape, whole

_MADE_UP = ("a short text", "another one, which is longer than the first", "")


class FrozenEncoder(PublicStep):
    """Vectors of length 1 from a model that was trained on public data and is not trained any further.

    ``encode`` takes a list of texts and returns one vector each, such as ``SentenceTransformer(...).encode``. ``name``
    says which model it is. ``cache`` is a file that keeps vectors, so that each text is encoded once; it is as private
    as the texts: vectors tell much of them, and only its owner may read it. ``batch_size`` texts are encoded at a time.

    Guarantee: with ``batch_size=1`` a row's vector depends on this row alone, if the same text always has the same
    vector; its L2 norm is at most 1. No privacy is spent.
    Because: nothing is fitted, and a vector of each row by itself is post-processing of it [DR14, Prop. 2.1].
    Not covered: running time; private texts that the model was trained on; with ``batch_size`` above 1, last digits
    that depend on the texts beside it, as a matrix product's may. An encoder that mixes more than that is refused.

    >>> import numpy as np
    >>> def encode(texts):
    ...     return np.array([[text.count("good"), text.count("bad"), 1] for text in texts])
    >>> FrozenEncoder(encode, name="words").transform(["good", "bad, bad"]).round(3)
    array([[0.707, 0.   , 0.707],
           [0.   , 0.894, 0.447]], dtype=float32)
    """

    def __init__(
        self, encode: Callable[[list[str]], Any], *, name: str, cache: str | Path | None = None, batch_size: int = 1
    ) -> None:
        self.encode, self.name, self.cache, self.batch_size = encode, name, cache, batch_size

    def transform(self, X: ArrayLike) -> NDArray[np.float32]:
        """The vector of each text, one row each, in single precision."""
        texts, batch = texts_of(X), whole(self.batch_size, name="batch_size")
        if batch > 1:
            self._refuse_mixing()
        keys = [_text_key(self.name, text) for text in texts]
        with _open_store(self.cache) as store:
            missing = {key: text for key, text in zip(keys, texts, strict=True) if not store.has(key)}
            todo = list(missing.items())
            for start in range(0, len(todo), batch):
                part = todo[start : start + batch]
                store.put([key for key, _ in part], self._vectors([text for _, text in part]))
            return np.array([store.get(key) for key in keys])

    def _vectors(self, texts: list[str]) -> NDArray[np.float32]:
        """One vector of length 1 for each text; what is no finite number is 0."""
        vectors = np.asarray(self.encode(texts))
        if vectors.ndim != 2 or len(vectors) != len(texts) or vectors.dtype.kind not in "biuf":
            raise WrongShape(
                f"the encoder {self.name!r} does not give one vector of numbers per text.",
                why="Each text has its own features.",
                fix="Give a function from a list of texts to a table with one row each.",
            )
        clean = np.nan_to_num(vectors.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)
        clean /= np.maximum(np.abs(clean).max(axis=1, keepdims=True), 1e-300)  # so that squares do not overflow
        return np.ascontiguousarray(unit_length(clean.astype(np.float32).T).T)

    def _refuse_mixing(self) -> None:
        """Refuse an encoder whose vector of a text changes with the texts beside it."""
        together = self._vectors(list(_MADE_UP))
        alone = [self._vectors([text])[0] for text in _MADE_UP]
        if not np.allclose(together, alone, atol=1e-3):
            raise MixesPeople(
                f"the encoder {self.name!r} mixes texts.",
                why="One person's text would change the vectors of others, and no clipping could bound that.",
                fix="Use an encoder in evaluation mode that treats each text by itself, or write batch_size=1.",
            )


def texts_of(X: ArrayLike) -> list[str]:
    """A list, column or table of one column, of texts."""
    values: Any = X.iloc[:, 0] if getattr(X, "ndim", 1) == 2 and hasattr(X, "iloc") else X
    texts = list(values.ravel() if isinstance(values, np.ndarray) and values.shape[1:] == (1,) else values)
    if isinstance(X, str) or not all(isinstance(text, str) for text in texts):
        raise NotANumber(
            "an encoder reads a list of texts, and something else came.",
            why="Each row is one text.",
            fix='Write transform(["a text", "another"]); fill what is missing with "".',
        )
    if not texts:
        raise EmptyInput("there is no text to encode.", why="The size of a vector is not known.", fix="Give some.")
    return texts


def _text_key(name: str, text: str) -> bytes:
    return hashlib.sha256(f"{len(name)}:{name}{text}".encode("utf-8", "surrogatepass")).digest()


# ---------------------------------------------------------------- what is kept


class _Store:
    """Vectors by key, in a file of SQLite's or in memory."""

    def __init__(self, book: sqlite3.Connection) -> None:
        self._book = book
        book.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID")

    def has(self, key: bytes) -> bool:
        return self._book.execute("SELECT 1 FROM vectors WHERE key = ?", (key,)).fetchone() is not None

    def get(self, key: bytes) -> NDArray[np.float32]:
        (vector,) = self._book.execute("SELECT vector FROM vectors WHERE key = ?", (key,)).fetchone()
        return np.frombuffer(vector, dtype="<f4").astype(np.float32)

    def put(self, keys: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        rows = [(key, vector.astype("<f4").tobytes()) for key, vector in zip(keys, vectors, strict=True)]
        with self._book:  # all or none
            self._book.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)


@contextlib.contextmanager
def _open_store(path: str | Path | None) -> Iterator[_Store]:
    """The store at this place, readable by its owner only."""
    if path is not None:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    with contextlib.closing(sqlite3.connect(":memory:" if path is None else path, timeout=60)) as book:
        yield _Store(book)
