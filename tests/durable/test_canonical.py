"""One JSON text for one value: every hash and signature stands on these bytes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub.durable import canonical_json

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": {"d": [], "c": {}}}, '{"a":{"c":{},"d":[]},"b":1}'),
        ({"a": 1, "B": 2, "_": 3, "é": 4, "A": 5}, '{"A":5,"B":2,"_":3,"a":1,"\\u00e9":4}'),
        ("é\n\u2028😀\ud800", '"\\u00e9\\n\\u2028\\ud83d\\ude00\\ud800"'),
        ([1, 1.0, 0.1, -0.0, 1e22, 1e-7, True, None], "[1,1.0,0.1,-0.0,1e+22,1e-07,true,null]"),
        (10**40, "1" + "0" * 40),
        ((1, 2), "[1,2]"),
        ("</script>/", '"</script>/"'),
    ],
)
def test_the_text_is_the_one_that_earlier_versions_hashed(value: object, text: str) -> None:
    assert canonical_json(value) == text


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("within", [lambda x: x, lambda x: [x], lambda x: {"a": {"b": x}}])
def test_what_is_no_number_of_json_is_refused(number: float, within: Callable[[float], Any]) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json(within(number))


@pytest.mark.parametrize("value", [b"bytes", {1, 2}, object(), {"a": 1j}])
def test_what_json_has_no_form_for_is_refused(value: object) -> None:
    with pytest.raises(TypeError):
        canonical_json(value)


@given(VALUES)
def test_the_text_is_ascii_on_one_line_and_reads_back(value: Any) -> None:
    text = canonical_json(value)
    assert text.isascii() and "\n" not in text
    assert json.loads(text) == value
    assert canonical_json(json.loads(text)) == text


@given(st.dictionaries(st.text(), st.integers(), min_size=2), st.randoms())
def test_the_order_in_which_fields_were_given_does_not_show(fields: dict[str, int], random: Any) -> None:
    shuffled = list(fields.items())
    random.shuffle(shuffled)
    assert canonical_json(dict(shuffled)) == canonical_json(fields)
