"""What version 0.1 collected, signed and remembered means the same to the last bit. The fixtures are never edited.

Clients in the world hold these files: an answer that is drawn anew is a privacy loss, and a report that is counted
otherwise is an error that nobody sees.
"""

from __future__ import annotations

import gzip
import hashlib
import hmac
import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hubbub.local import (
    Caps,
    Client,
    Collection,
    Collector,
    Memoized,
    Rules,
    Tally,
    aggregate,
    from_parameters,
    key_text,
    open_signed,
    public_text,
    read_key,
    sign,
)
from hubbub.noise.testing import seeded
from hubbub.terms import BadCollection, to_json

FOLDER = Path(__file__).parents[1] / "fixtures" / "local" / "format-1"
SIGNED = json.loads((FOLDER / "collections.json").read_text())
LAWS = SIGNED["randomizers"]
PERMANENT = json.loads((FOLDER / "permanent.json").read_text())
CLIENTS = json.loads((FOLDER / "client.json").read_text())
STORES = json.loads((FOLDER / "stores.json").read_text())


def canonical(document: Any) -> str:
    """The text of a JSON value."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"))


# ---------------------------------------------------------------- randomizers and signed collections


@pytest.mark.parametrize("name", sorted(LAWS))
def test_a_randomizer_is_known_by_its_parameters(name: str) -> None:
    stored = LAWS[name]["parameters"]
    randomizer = from_parameters(stored)
    assert canonical(randomizer.parameters()) == canonical(stored)
    if "event" in LAWS[name]:
        assert to_json(randomizer.event) == LAWS[name]["event"]


@pytest.mark.parametrize("name", sorted(name for name, each in LAWS.items() if "signed" in each))
def test_a_signed_collection_is_read(name: str) -> None:
    stored = LAWS[name]
    collection = open_signed(stored["signed"], SIGNED["public_key"])
    assert collection.digest.hex() == stored["digest"]
    assert collection.to_json() == stored["collection"]
    assert Collection.from_json(stored["collection"]) == collection
    assert str(collection.cap) == stored["cap"]
    key = read_key(SIGNED["private_key"])
    assert (key_text(key), public_text(key)) == (SIGNED["private_key"], SIGNED["public_key"])
    assert sign(collection, key) == stored["signed"]  # Ed25519 draws nothing: the same text again
    with pytest.raises(BadCollection):
        open_signed(stored["signed"].replace("How about", "How abuot"), SIGNED["public_key"])


# ---------------------------------------------------------------- permanent noise


@pytest.mark.parametrize("stored", PERMANENT["clients"], ids=lambda stored: stored["randomizer"])
def test_permanent_noise_is_never_drawn_anew(stored: dict[str, Any]) -> None:
    """Another key would draw new permanent answers for people who have given theirs: what was averaged away before."""
    secret, randomizer = bytes.fromhex(PERMANENT["secret"]), from_parameters(stored["parameters"])
    said = f"hubbub/memoised/{stored['collection']}/{canonical(randomizer.parameters())}"
    assert hmac.digest(secret, said.encode(), "sha256").hex() == stored["key"]
    client = Memoized(randomizer, secret, collection=stored["collection"])
    for value, reports in zip(stored["values"], stored["reports"], strict=True):
        assert [plain(client.randomize(value, rng=seeded(seed))) for seed in (1, 2, 3)] == reports
    others = [Memoized(randomizer, secret, collection=f"survey {number}") for number in range(64)]
    value = stored["values"][1]
    assert [plain(each.randomize(value, rng=seeded(i))) for i, each in enumerate(others)] == stored["others"]


def plain(report: Any) -> Any:
    """A report as JSON has it."""
    if isinstance(report, np.ndarray | np.generic):
        return report.tolist()
    return [plain(each) for each in report] if isinstance(report, list | tuple) else report


# ---------------------------------------------------------------- a client's memory


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    """The file of a client of 0.1 that took part in every kind of collection."""
    return Path(shutil.copy(FOLDER / "client" / "memory.json", tmp_path / "memory.json"))


@pytest.mark.parametrize("stored", CLIENTS["clients"], ids=lambda stored: stored["name"])
def test_a_client_goes_on_from_its_memory(stored: dict[str, Any], memory: Path) -> None:
    client = reopened(stored, memory)
    assert str(client.lifetime().worst_case) == CLIENTS["worst_case"]
    last = len(stored["values"]) - 1
    assert client.report(stored["values"][0], epoch=last).hex() == stored["reports"][last]  # whatever is said now
    further = [client.report(stored["values"][0], epoch=epoch, rng=seeded(100 + epoch)).hex() for epoch in (4, 5)]
    assert further == stored["next"]


def reopened(stored: dict[str, Any], memory: Path) -> Client:
    """The client of a collection after a restart."""
    attribute, total = CLIENTS["caps"]
    caps = Caps(attribute=attribute, total=total)
    return Client(stored["signed"], CLIENTS["public_key"], state=memory, caps=caps)


def test_what_a_client_gave_away_is_not_forgotten(memory: Path) -> None:
    """Field by field, as 0.1 wrote it: reading and writing loses nothing."""
    before = json.loads(memory.read_text())
    reopened(CLIENTS["clients"][0], memory).report(0, epoch=3)
    assert json.loads(memory.read_text()) == before
    assert {record["name"] for record in before["records"]} == {
        each["name"].replace(" ", "-") for each in CLIENTS["clients"]
    }


# ---------------------------------------------------------------- a collector's store


@pytest.fixture(params=sorted(STORES))
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    """A store of 0.1, and what it says."""
    place = tmp_path / "collection.store"
    place.write_bytes(gzip.decompress((FOLDER / f"{request.param}.store.gz").read_bytes()))
    return place, {"name": request.param, **STORES[request.param]}


def test_a_store_says_what_it_said(stored: tuple[Path, dict[str, Any]]) -> None:
    place, expected = stored
    with Collector(place) as collector:
        store = collector.store
        assert (store.configuration, store.public_key) == (expected["configuration"], expected["public_key"])
        assert {str(epoch): reports for epoch, reports in store.epochs().items()} == expected["epochs"]
        assert store.refusals() == expected["refusals"]
        assert (None if store.receipt is None else to_json(store.receipt)) == expected["receipt"]
        assert to_json(collector.guarantee) == expected["guarantee"]
        for epoch in (0, 1):
            kept = [[name.hex(), payload.hex()] for part in store.reports(epoch) for name, payload in part]
            assert kept == expected["reports"][str(epoch)]
            check_tally(collector.tally(epoch), expected["estimates"][str(epoch)])
            check_tally(collector.recount(epoch), expected["estimates"][str(epoch)])


def check_tally(tally: Tally, expected: dict[str, Any]) -> None:
    """The tally to the last bit, and its estimate but for the last digits."""
    text = json.dumps(tally.to_json(), sort_keys=True)
    assert (tally.reports, hashlib.sha256(text.encode()).hexdigest()) == (expected["reports"], expected["tally"])
    estimate = asdict(tally.estimate())
    for name, value in expected["estimate"].items():
        assert np.allclose(estimate[name], value, rtol=1e-9), name


def test_a_store_takes_no_report_twice(stored: tuple[Path, dict[str, Any]]) -> None:
    """Retries that reach a collector after it was brought up to date; tokens of 0.1 count on."""
    place, expected = stored
    with Collector(place, rules=Rules(per_token=50)) as collector:
        taken = collector.take(bytes.fromhex(expected["batch"]), token=expected["token"])
        assert (taken.accepted, taken.duplicates, dict(taken.rejected)) == (0, 30, {})
        twins = collector.take_json(json.dumps(expected["json"]), token=expected["token"])
        assert (twins.accepted, twins.duplicates, dict(twins.rejected)) == (0, 3, {})
        assert not collector.take_json(json.dumps(expected["json"]), token="none").duplicates
    check_exported(expected)


def check_exported(expected: dict[str, Any]) -> None:
    """The reports as Parquet add up to the same tally."""
    collection = open_signed(expected["configuration"], expected["public_key"])
    tally = aggregate(FOLDER / f"{expected['name']}.parquet", collection, epoch=1)
    check_tally(tally, expected["estimates"]["1"])


def test_a_tally_in_a_file_is_read() -> None:
    expected = STORES["kary-of-3"]
    collection = open_signed(expected["configuration"], expected["public_key"])
    document = expected["estimates"]["0"]["document"]
    assert Tally.from_json(collection, document).to_json() == document
