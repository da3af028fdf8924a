"""Configurations: what is signed is what is read, and nothing else is."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub import local
from hubbub.durable import canonical_json
from hubbub.local import Collection, new_key, open_signed, public_text, sign
from hubbub.local.collection.collection import read_canonical
from hubbub.terms import BadCollection, HubbubError, OutOfRange

MARK = "00112233445566778899aabbccddeeff"
KEY = new_key()
PUBLIC = public_text(KEY)


def bread(**more: Any) -> Collection:
    fields = {"name": "bread", "question": "Bread today?", "randomizer": local.KaryResponse(epsilon=1, domain=2)}
    return Collection(**(fields | {"id": MARK, "epochs": 7} | more))  # type: ignore[arg-type]


def test_the_canonical_text_and_its_digest_never_change() -> None:
    assert bread().canonical() == (
        '{"answers":[],"attribute":"bread","epochs":7,"hubbub":"collection/1","id":"' + MARK + '","lifetime":"7",'
        '"minimum_batch":100,"name":"bread","question":"Bread today?","randomizer":{"domain":2,"epsilon":"1",'
        '"missing":0,"protocol":"kary","thresholds":["13485650502877570762"]},"version":1}'
    )
    assert bread().digest.hex() == "577b73b81fb602e2dc52024429ad0e00bbc59efd7e5106132949f1cd5758c8cd"


CHANGES = [
    {"name": "rolls"},
    {"question": "Rolls today?"},
    {"attribute": "food"},
    {"answers": ("no", "yes")},
    {"epochs": 8},
    {"lifetime": Fraction(3, 2)},
    {"minimum_batch": 101},
    {"version": 2},
    {"id": MARK[::-1]},
    {"randomizer": local.KaryResponse(epsilon=1.000001, domain=2)},
    {"randomizer": local.KaryResponse(epsilon=1, domain=3)},
    {"randomizer": local.BinaryResponse(epsilon=1)},
]


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_whatever_changes_changes_the_digest(change: dict[str, Any]) -> None:
    assert bread(**change).digest != bread().digest
    assert bread(**change) != bread()
    assert Collection.from_json(bread(**change).to_json()) == bread(**change)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "Bread!"},
        {"name": ""},
        {"attribute": "a" * 64},
        {"question": ""},
        {"question": "?" * 1001},
        {"answers": ("yes",)},
        {"answers": ("yes", "yes")},
        {"id": "12"},
        {"epochs": 1 << 32},
    ],
    ids=str,
)
def test_fields_that_cannot_be_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(BadCollection):
        bread(**change)


@pytest.mark.parametrize("change", [{"epochs": 0}, {"minimum_batch": 0.5}, {"lifetime": 0}, {"version": -1}], ids=str)
def test_numbers_that_cannot_be_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(OutOfRange):
        bread(**change)


def test_the_lifetime_is_what_all_epochs_can_take_unless_a_lower_one_is_given() -> None:
    assert bread().lifetime == 7
    assert bread(lifetime=3).lifetime == 3
    remembered = local.Loloha(epsilon=1, forever=2, domain=9, buckets=4)
    assert bread(randomizer=remembered).lifetime == 8
    assert bread(randomizer=remembered, epochs=3).lifetime == 6


def test_a_signed_configuration_is_opened_with_its_key() -> None:
    assert open_signed(sign(bread(), KEY), PUBLIC) == bread()
    assert local.read_key(local.key_text(KEY)).public_key() == KEY.public_key()


def test_a_key_that_comes_with_the_configuration_is_not_trusted() -> None:
    stranger = new_key()
    with pytest.raises(BadCollection, match="signature"):
        open_signed(sign(bread(), stranger), PUBLIC)


def _edited(text: str, **fields: Any) -> str:
    return json.dumps(json.loads(text) | fields)


def test_less_noise_behind_the_same_epsilon_is_refused_even_if_it_is_signed() -> None:
    fields = bread().to_json()
    fields["randomizer"]["thresholds"] = [str(int(fields["randomizer"]["thresholds"][0]) + 1)]
    text = canonical_json(fields)
    from hubbub.local.collection.signed_configuration import _CONTEXT

    signature = KEY.sign(_CONTEXT + text.encode()).hex()
    with pytest.raises(BadCollection, match="thresholds"):
        open_signed(_edited(sign(bread(), KEY), collection=text, signature=signature), PUBLIC)


@pytest.mark.parametrize(
    "text",
    ["", "null", "[]", "{}", "[" * 100_000, '{"hubbub": "signed-collection/1"}', "1" * 2_000_000]
    + [
        _edited(sign(bread(), KEY), **change)
        for change in ({"hubbub": "signed-collection/2"}, {"more": "1"}, {"key": 3})
    ]
    + [_edited(sign(bread(), KEY), collection=bread(epochs=8).canonical())]
    + [_edited(sign(bread(), KEY), signature=bad) for bad in ("", "zz", "00" * 64)],
    ids=range(14),
)
def test_what_is_not_a_signed_configuration_is_refused(text: str) -> None:
    with pytest.raises(BadCollection):
        open_signed(text, PUBLIC)


@pytest.mark.parametrize("key", ["", "zz", "00" * 31, "00" * 32])
def test_a_pinned_key_that_is_none_opens_nothing(key: str) -> None:
    with pytest.raises(BadCollection):
        open_signed(sign(bread(), KEY), key)


@pytest.mark.parametrize(
    ("randomizer", "price"),
    [(local.KaryResponse(epsilon=1, domain=2), 1), (local.Loloha(epsilon=1, forever=2, domain=2), 2)],
)
def test_a_lifetime_that_pays_for_no_report_is_refused(randomizer: Any, price: int) -> None:
    assert bread(randomizer=randomizer, lifetime=price).cap == price
    with pytest.raises(BadCollection, match="does not pay for one report"):
        bread(randomizer=randomizer, lifetime=price * Fraction(99, 100))


def test_text_that_cannot_be_written_is_refused() -> None:
    for wrong in ({"question": "\ud800"}, {"answers": ("\udfff", "no")}):
        with pytest.raises(BadCollection, match="show what they are"):
            bread(**wrong)
    assert bread(question="\U0001f35e?").question == "\U0001f35e?"


def test_only_the_canonical_form_is_read() -> None:
    text = bread().canonical()
    assert read_canonical(text) == bread()
    for other in (" " + text, text.replace('"epochs":7', '"epochs":7.0'), text.replace('"epochs":7', '"epochs":NaN')):
        with pytest.raises(BadCollection):
            read_canonical(other)
    with pytest.raises(BadCollection):
        read_canonical(text.replace('"lifetime":"7"', '"lifetime":"1e999999999"'))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from(sorted(bread().to_json())), json_values)
def test_a_field_of_any_other_kind_is_refused_in_our_words(name: str, value: Any) -> None:
    fields = bread().to_json() | {name: value}
    try:
        found = Collection.from_json(fields)
    except HubbubError as error:
        assert isinstance(error, BadCollection)
    else:
        assert found.to_json() == fields


@given(st.sampled_from(sorted(bread().to_json()["randomizer"])), json_values)
def test_a_parameter_of_any_other_kind_is_refused_in_our_words(name: str, value: Any) -> None:
    fields = bread().to_json()
    fields["randomizer"] = fields["randomizer"] | {name: value}
    try:
        found = Collection.from_json(fields)
    except HubbubError as error:
        assert isinstance(error, BadCollection)
    else:
        assert found.to_json() == fields


@given(st.text(max_size=60) | st.binary(max_size=40).map(lambda b: b.decode("latin1")))
def test_any_text_is_refused_in_our_words(text: str) -> None:
    with pytest.raises(BadCollection):
        open_signed(text, PUBLIC)
