"""Agreements, logs, keys and diaries of 0.1 are verified and gone on with. The fixtures are never edited."""

from __future__ import annotations

import asyncio
import gzip
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hubbub.gopa import Agreement, Certificate, Consent, Diary, Host, Identity, Keeper, verify
from hubbub.ledger import Ledger
from hubbub.terms import HubbubError, to_json

from .hosted import SLOW

FOLDER = Path(__file__).parents[1] / "fixtures" / "gopa" / "format-1"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())
RUNS = sorted(path.name.removesuffix(".log.gz") for path in FOLDER.glob("*.log.gz"))


def log_of(name: str) -> bytes:
    """The log of a run."""
    if name == "cli":
        return (FOLDER / "cli" / "run.log").read_bytes()
    return gzip.decompress((FOLDER / f"{name}.log.gz").read_bytes())


def certificate_of(name: str) -> Certificate:
    """What a log shows; one of them rests on another."""
    earlier = certificate_of("number").inputs if name == "again" else None
    return verify(log_of(name), earlier=earlier, run=EXPECTED[name]["run"])


def test_every_log_has_its_expectation() -> None:
    assert {*RUNS, "cli"} == EXPECTED.keys() and len(RUNS) >= 7


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_log_certifies_what_it_certified(name: str) -> None:
    found, expected = certificate_of(name), EXPECTED[name]
    assert (found.complete, found.agreement.run.hex()) == (expected["complete"], expected["run"])
    assert found.head.hex() == expected["head"]
    assert [str(mean) for mean in found.means] == expected["means"]
    assert list(found.parties) == expected["parties"]
    assert [[who, one.fault.name] for who, one in found.named] == expected["named"]
    assert {m.name: [point.hex() for point in points] for m, points in found.inputs.points.items()} == expected[
        "inputs"
    ]
    if found.complete:
        assert found.variance == pytest.approx(expected["variance"], rel=1e-9)
        assert str(found.achieved.epsilon) == expected["epsilon"]
        assert float(found.achieved.delta) == pytest.approx(expected["delta"], rel=1e-6)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_an_agreement_has_one_text_and_its_hash_is_the_run(name: str) -> None:
    text = log_of(name).split(b"\n", 1)[0].decode()
    agreement = Agreement.read(text)
    assert agreement.text() == text
    assert agreement.run.hex() == EXPECTED[name]["run"]


def test_a_log_with_one_changed_sign_is_not_the_same_run() -> None:
    """The twin of the tests above: they would see a change."""
    whole = log_of("number")
    place = whole.index(b'"phase":"reveal"') - 200
    changed = whole[:place] + (b"A" if whole[place : place + 1] != b"A" else b"B") + whole[place + 1 :]
    try:
        found = verify(changed)
    except HubbubError:
        return
    assert found.head.hex() != EXPECTED["number"]["head"] or not found.complete


# ---------------------------------------------------------------- a run that stopped in 0.1


@pytest.fixture
def stopped(tmp_path: Path) -> Iterator[Path]:
    """Agreement, keys, log and diaries of a run that everybody left when it was time to reveal."""
    folder = tmp_path / "stopped"
    shutil.copytree(FOLDER / "stopped", folder)
    yield folder


def identity_of(path: Path) -> Identity:
    """The identity in a file."""
    document = json.loads(path.read_text())
    assert document["hubbub"] == "gopa-identity/1"
    return Identity(document["name"], bytes.fromhex(document["secret"]))


def test_a_run_that_stopped_in_0_1_is_finished_now(stopped: Path) -> None:
    """The board goes on with its log, each party with its diary; nobody says anything else than before."""
    agreement = Agreement.read((stopped / "agreement.json").read_text().rstrip("\n"))
    board = identity_of(stopped / "board.key")
    before = (stopped / "run.log").read_bytes()
    diaries = {place: (stopped / f"{place}.diary").read_bytes() for place in range(7)}

    async def party(place: int, keeper: Keeper) -> Certificate:
        with Diary(stopped / f"{place}.diary", agreement) as diary:
            seat = diary.seat(identity_of(stopped / f"p{place}.key"), consent=Consent())
            return (await Host(diary, [seat], keeper).run()).certificate

    async def everybody() -> list[Certificate]:
        with Keeper(agreement, board, stopped / "run.log", clock=SLOW) as keeper:
            running = asyncio.create_task(keeper.run())
            found = await asyncio.gather(*(party(place, keeper) for place in range(7)))
            await running
            return list(found)

    certificates = asyncio.run(everybody())
    assert all(found.complete and not found.named for found in certificates)
    log = (stopped / "run.log").read_bytes()
    assert log.startswith(before)
    assert verify(log, agreement=agreement).parties == tuple(f"p{place}" for place in range(7))
    for place, records in diaries.items():
        assert (stopped / f"{place}.diary").read_bytes().startswith(records)


# ---------------------------------------------------------------- the files of the command line


def test_the_ledger_of_a_party_holds_its_charge(tmp_path: Path) -> None:
    (tmp_path / "hubbub.db").write_bytes(gzip.decompress((FOLDER / "cli" / "hubbub.db.gz").read_bytes()))
    with Ledger(tmp_path / "hubbub.db", state=tmp_path / "state", create=False) as ledger:
        assert ledger.verify(anchor=False).ok
        entries = [entry.fields() for entry in ledger.log()]
        spent = ledger.budget("ann").to_json()["accounts"]
    assert [entry["kind"] for entry in entries].count("charge") == 1
    assert [each["epsilon_spent"] for each in spent if each["pool"] == "plans"] == [pytest.approx(5, rel=1e-5)]


def test_the_price_of_an_agreement_is_the_same() -> None:
    """Today's event also names the unit and the honest share (CHANGELOG); epsilon and delta are those of 0.1."""
    agreement = Agreement.read((FOLDER / "cli" / "agreement.json").read_text().rstrip("\n"))
    event, before = to_json(agreement.event), EXPECTED["cli"]["event"]
    same: dict[str, Any] = {name: event[name] for name in ("epsilon", "delta", "neighbours")}
    assert same == {name: before[name] for name in same}
