"""The words of a client's memory and of a law are written out: none is the name of a class or a field."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

from hubbub.local import KaryResponse
from hubbub.local.collection import client_state
from hubbub.local.collection.client_state import ClientStateFile, Memory, Record, SeenConfiguration
from hubbub.local.randomizers.base import from_parameters

from ..renaming import renamed_classes

MEMORY = Memory(
    [Record("ab" * 16, "cd" * 32, "bread", "bread", "1/2", True, "1", None, 1, 2, 0, "1f", {"3": "a"}, 4, "00" * 64)],
    {"ab" * 16: SeenConfiguration(1, "ef" * 32, "bread")},
)
WRITTEN = {  # by 0.1
    "hubbub": "lifetime/1",
    "records": [
        {
            "collection": "ab" * 16, "law": "cd" * 32, "name": "bread", "attribute": "bread", "price": "1/2",
            "memoised": True, "again": "1", "delta": None, "charges": 1, "told": 2, "silent": 0, "part": "1f",
            "memos": {"3": "a"}, "epoch": 4, "report": "00" * 64,
        }
    ],
    "seen": {"ab" * 16: {"version": 1, "digest": "ef" * 32, "attribute": "bread"}},
}  # fmt: skip


def test_no_class_name_is_in_a_clients_memory(tmp_path: Path) -> None:
    before, after = ClientStateFile(tmp_path / "before"), ClientStateFile(tmp_path / "after")
    before.write(MEMORY)
    with renamed_classes():
        after.write(MEMORY)
        assert after.read() == MEMORY
    assert after.path.read_bytes() == before.path.read_bytes()
    assert before.path.read_text() == json.dumps(WRITTEN, indent=1)


def test_every_field_has_its_stored_key() -> None:
    for kind, keys in client_state._KEYS.items():
        assert list(keys.values()) == [field.name for field in dataclasses.fields(kind)], kind


def test_an_argument_may_be_renamed_and_its_parameter_may_not() -> None:
    class Renamed(KaryResponse):
        """What takes size= for domain=."""

        _arguments = {"domain": "size"}

        def __init__(self, *, size: int, **more: object) -> None:
            super().__init__(domain=size, **more)  # type: ignore[arg-type]

    told = KaryResponse(epsilon=1, domain=10).parameters()
    assert Renamed._read(told).parameters() == told == from_parameters(told).parameters()
