"""Words that could show something else than they say, and arrays that hide something, are refused."""

from __future__ import annotations

import numpy as np
import pytest

from hubbub.terms import HubbubError, plain_array, plain_text

HOSTILE = [
    "\x1b[2J",
    "a\nb",
    "a\rb",
    "\u202egpj.exe",
    "a\u2066b",
    "\u200b",
    "\ufeff",
    "\ud800",
    "\x00",
    "\x9b31m",
    "\x7f",
    "a" * 10_001,
]


@pytest.mark.parametrize("text", [*HOSTILE, 5, None, b"bytes"], ids=ascii)
def test_signs_that_rewrite_a_terminal_are_refused(text: object) -> None:
    with pytest.raises(HubbubError) as refusal:
        plain_text(text, name="title")
    assert str(text) not in str(refusal.value) or text is None


@pytest.mark.parametrize("text", ["", "Wie alt sind Sie?", "年齢は?", "كم عمرك؟", "e\u0301", "👩 ≥ 3 €"])
def test_words_of_every_script_pass(text: str) -> None:
    assert plain_text(text) == text


def test_arrays_keep_what_came() -> None:
    assert plain_array([1, 2**70]).tolist() == [1, 2**70]
    assert plain_array([2**53 + 1, 0.5]).tolist() == [2**53 + 1, 0.5]
    assert type(plain_array(np.arange(3).view(np.recarray))) is np.ndarray


def test_ragged_rows_are_refused() -> None:
    with pytest.raises(HubbubError):
        plain_array([np.zeros((2, 3)), np.zeros((2, 4))])
