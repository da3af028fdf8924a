"""Frozen encoders: one text at a time, vectors of length 1, and a file that keeps them."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hubbub.learn.public import FrozenEncoder
from hubbub.terms import EmptyInput, MixesPeople, NotANumber, WrongShape

TEXTS = ["a fine film", "dull", "", "a fine film", "ünïcödé \ud800"]


class Letters:
    """Counts letters, and what it was asked."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def __call__(self, texts: list[str]) -> Any:
        self.asked.append(texts)
        return np.array([[text.count(letter) + 0.1 for letter in "abdefilmu"] for text in texts])


def test_each_text_is_encoded_once_and_alone() -> None:
    encode = Letters()
    found = FrozenEncoder(encode, name="letters").transform(TEXTS)
    assert encode.asked == [["a fine film"], ["dull"], [""], ["ünïcödé \ud800"]]
    assert found.shape == (5, 9) and np.array_equal(found[0], found[3])


def test_a_text_has_the_same_vector_whatever_is_beside_it() -> None:
    encoder = FrozenEncoder(Letters(), name="letters")
    together = encoder.transform(TEXTS)
    assert all(np.array_equal(encoder.transform([text])[0], row) for text, row in zip(TEXTS, together, strict=True))


def test_what_was_encoded_is_kept_for_the_next_time_and_for_its_owner_only(tmp_path: Path) -> None:
    kept = tmp_path / "vectors.db"
    first = FrozenEncoder(Letters(), name="letters", cache=kept).transform(TEXTS)
    encode = Letters()
    again = FrozenEncoder(encode, name="letters", cache=kept).transform([*TEXTS, "new"])
    assert np.array_equal(first, again[:5]) and encode.asked == [["new"]]
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert b"a fine film" not in kept.read_bytes()


def test_another_encoder_with_another_name_shares_nothing(tmp_path: Path) -> None:
    kept, encode = tmp_path / "vectors.db", Letters()
    for name in ("letters", "letters2"):
        FrozenEncoder(encode, name=name, cache=kept).transform(["dull"])
    assert encode.asked == [["dull"], ["dull"]]


def test_what_was_done_before_it_died_is_kept(tmp_path: Path) -> None:
    kept = tmp_path / "vectors.db"

    def dies(texts: list[str]) -> Any:
        if "dull" in texts:
            raise KeyboardInterrupt
        return Letters()(texts)

    with pytest.raises(KeyboardInterrupt):
        FrozenEncoder(dies, name="letters", cache=kept).transform(TEXTS)
    encode = Letters()
    FrozenEncoder(encode, name="letters", cache=kept).transform(TEXTS)
    assert encode.asked[0] == ["dull"]


def test_norms_are_at_most_one_whatever_the_encoder_says() -> None:
    said = np.array([[1e308, 1e308], [np.nan, 3], [np.inf, -np.inf], [1e-320, 0], [0, 0], [3, 4]])
    encoder = FrozenEncoder(lambda texts: said[[int(text) for text in texts]], name="numbers")
    found = encoder.transform(list("012345"))
    lengths = np.linalg.norm(found.astype(np.longdouble), axis=1)
    assert np.isfinite(found).all() and (lengths <= 1).all()
    assert np.allclose(found[5], [0.6, 0.8]) and np.allclose(found[1], [0, 1]) and not found[2].any()


def test_several_at_a_time_are_fine_unless_they_are_mixed() -> None:
    encode = Letters()
    alone, batched = FrozenEncoder(encode, name="one"), FrozenEncoder(encode, name="many", batch_size=3)
    assert np.array_equal(alone.transform(TEXTS), batched.transform(TEXTS))

    def mixing(texts: list[str]) -> Any:
        found = Letters()(texts)
        return found - found.mean(axis=0) + 1

    with pytest.raises(MixesPeople):
        FrozenEncoder(mixing, name="mixing", batch_size=3).transform(TEXTS)


def test_columns_of_frames_are_texts_too() -> None:
    import pandas

    encoder = FrozenEncoder(Letters(), name="letters")
    frame = pandas.DataFrame({"review": TEXTS[:3]})
    for column in (frame, frame["review"], np.array(TEXTS[:3]), np.array(TEXTS[:3])[:, None], tuple(TEXTS[:3])):
        assert np.array_equal(encoder.transform(column), encoder.transform(TEXTS[:3]))


@pytest.mark.parametrize(
    ("texts", "error"), [("dull", NotANumber), ([1, 2], NotANumber), (["a", None], NotANumber), ([], EmptyInput)]
)
def test_what_is_no_list_of_texts_is_refused(texts: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        FrozenEncoder(Letters(), name="letters").transform(texts)


@pytest.mark.parametrize("said", [[1.0, 2.0], [[1.0], [2.0]], [["a"]]])
def test_an_encoder_gives_one_vector_of_numbers_per_text(said: Any) -> None:
    with pytest.raises(WrongShape):
        FrozenEncoder(lambda texts: said, name="odd").transform(["dull"])


def test_it_learns_nothing_and_has_the_conventions_of_scikit_learn() -> None:
    encoder = FrozenEncoder(Letters(), name="letters")
    assert encoder.fit(None) is encoder and encoder.get_params()["name"] == "letters"
    assert not encoder.__sklearn_tags__().requires_fit
