"""The words of an agreement, whose hash is a run's name, are written out: none is the name of a class or a field."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

from hubbub.gopa.privacy.calibration import plan
from hubbub.gopa.protocol import agreement
from hubbub.gopa.protocol.agreement import Agreement, Quantity
from hubbub.gopa.protocol.identities import Identity

from ..renaming import renamed_classes

PEOPLE = [Identity.new(name).member for name in ("ann", "bob", "cat", "dan", "eve")]
BOARD = Identity.new("board").member.key


def test_no_class_name_is_in_an_agreement() -> None:
    made = Agreement(
        tuple(PEOPLE),
        BOARD,
        plan(1, 1e-6, 5, honest=0.8, dropouts=0),
        Quantity("cost", lower=Fraction(-1, 3), upper=Fraction(7)),
    )
    text = made.text()
    again = dataclasses.replace(made, title="")  # nothing is kept of what was worked out
    with renamed_classes():
        assert again.text() == text
        assert Agreement.read(text).run == made.run


def test_every_field_has_its_stored_key_and_its_reader() -> None:
    for kind, keys in agreement._KEYS.items():
        assert list(keys.values()) == [field.name for field in dataclasses.fields(kind)], kind
        assert list(agreement._READERS[kind]) == list(keys)
