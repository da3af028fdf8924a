"""The client: one report in each epoch, paid before it leaves, and never a sign of having run out."""

from __future__ import annotations

import json
import multiprocessing
import os
import stat
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hubbub import local
from hubbub.local import Caps, Client, Collection
from hubbub.local.collection import client_state, report_wire
from hubbub.noise.testing import seeded
from hubbub.terms import BadCollection, LedgerUnavailable, MissingParameter, NewerFormat, OutOfRange, Unreadable

from ._vectors import Tape, stretch

KARY = local.KaryResponse(epsilon=1, domain=3)
HASHED = local.Loloha(epsilon=1, forever=2, domain=100, buckets=4)
FLIPS = local.DBitFlip(epsilon=1, domain=10, flips=3)
BLOOM = local.Rappor(epsilon=2, domain=10, bits=16, cohorts=2)
BIT = local.OneBitMean(epsilon=1, lower=0, upper=24)
MEAN = local.Hybrid(epsilon=1, lower=0, upper=100)
KEY = local.new_key()
DAMAGE: list[dict[str, Any]] = [
    *({name: value} for name in ("charges", "told", "epoch") for value in (-1, 0.5, float("nan"), "0", None, True)),
    *({name: value} for name in ("price", "again") for value in ("1/0", "0", "-5", "x", "", 1, float("inf"))),
    *({"memos": value} for value in ([], {"x": "0"}, {"0": "zz"}, {"0": 1}, None)),
    *({"report": value} for value in ("z", "", "00", "0" * 129, None)),
    *({name: 1} for name in ("more", "collection", "law", "name", "attribute", "part")),
    {"part": "zz"},
    {"price": None},
    {"memoised": 1},
]
DAMAGE_TO_ALL: list[dict[str, Any]] = [{"records": {}}, {"seen": []}, {"seen": {}}, {"more": 1}, {"records": None}]


def asked(randomizer: Any = KARY, epochs: int = 50, **more: Any) -> Collection:
    return Collection(name="bread", question="Bread?", randomizer=randomizer, epochs=epochs, **more)


@pytest.fixture
def quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many clients and a slow disk: nothing is forced to it."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


def payload(collection: Collection, data: bytes) -> bytes:
    return report_wire.parse(collection, data).payload


def test_the_same_epoch_gives_the_same_bytes(tmp_path: Path) -> None:
    collection = asked()
    first = Client(collection, state=tmp_path / "memory").report(1, epoch=3)
    assert Client(collection, state=tmp_path / "memory").report(2, epoch=3) == first
    assert Client(collection, state=tmp_path / "memory").report(1, epoch=4) != first


def test_time_does_not_go_back_and_ends(tmp_path: Path) -> None:
    client = Client(asked(epochs=9), state=tmp_path / "memory")
    client.report(1, epoch=5)
    with pytest.raises(OutOfRange, match="must not go back"):
        client.report(1, epoch=4)
    with pytest.raises(OutOfRange, match="below 9"):
        client.report(1, epoch=9)
    with pytest.raises(OutOfRange):
        client.report(1, epoch=-1)


def test_a_signed_configuration_is_checked_with_the_pinned_key(tmp_path: Path) -> None:
    key = local.new_key()
    text = local.sign(asked(), key)
    assert Client(text, local.public_text(key), state=tmp_path / "memory").collection.name == "bread"
    with pytest.raises(BadCollection, match="signature"):
        Client(text, local.public_text(local.new_key()), state=tmp_path / "memory")
    with pytest.raises(MissingParameter, match="public key"):
        Client(text, state=tmp_path / "memory")


@pytest.mark.parametrize("randomizer", [KARY, HASHED, FLIPS, BLOOM, BIT, MEAN], ids=repr)
@pytest.mark.parametrize("value", [1, 10**30, -1, 1.5, float("nan"), float("inf"), None, "x", Decimal(1), [1], True])
def test_whether_a_client_reports_does_not_depend_on_its_value(tmp_path: Path, randomizer: Any, value: Any) -> None:
    collection = asked(randomizer)
    data = Client(collection, state=tmp_path / "memory").report(value)
    assert len(data) == 64 + randomizer.payload_bytes
    report_wire.parse(collection, data)


def test_answers_can_be_given_in_words(tmp_path: Path) -> None:
    collection = asked(answers=("yes", "no", "perhaps"))
    tape = stretch("words", 1000)
    by_word = Client(collection, state=tmp_path / "a").report("perhaps", rng=Tape(tape))
    assert by_word == Client(collection, state=tmp_path / "b").report(2, rng=Tape(tape))


@pytest.mark.usefixtures("quick_disk")
def test_without_memory_each_epoch_is_a_report_of_its_own_with_the_right_law(tmp_path: Path) -> None:
    epochs = 400
    collection = asked(epochs=epochs)
    client = Client(collection, state=tmp_path / "memory", caps=Caps(attribute=1000, total=1000))
    rng = seeded(11)
    reports = [payload(collection, client.report(2, epoch=e, rng=rng))[0] for e in range(epochs)]
    kept = np.mean([report == 2 for report in reports])
    assert kept == pytest.approx(KARY.p, abs=4 * (KARY.p * (1 - KARY.p) / epochs) ** 0.5)
    assert client.lifetime().worst_case == epochs


def lives(tmp_path: Path, randomizer: Any, caps: Caps, one: list[Any], other: list[Any]) -> list[list[bytes]]:
    """The payloads of two lives with the same random bytes."""
    collection = asked(randomizer)
    told = []
    for number, life in enumerate((one, other)):
        client = Client(collection, state=tmp_path / f"{number}", caps=caps)
        tape = Tape(stretch("lives", 1 << 16))
        told.append([payload(collection, client.report(v, epoch=e, rng=tape)) for e, v in enumerate(life)])
    return told


def test_past_the_cap_reports_go_on_and_say_nothing(tmp_path: Path) -> None:
    one, other = lives(tmp_path, KARY, Caps(attribute=3, total=9), [0] * 30, [0] * 3 + [1] * 27)
    assert one == other  # to the bit, although the values differ from the fourth epoch on
    assert len(set(one)) == 3
    one, other = lives(tmp_path / "more", KARY, Caps(attribute=4, total=9), [0] * 30, [0] * 3 + [1] * 27)
    assert one != other  # one more epoch within the cap would have shown


def test_past_the_cap_a_mean_says_nothing(tmp_path: Path) -> None:
    one, other = lives(tmp_path, MEAN, Caps(attribute=2, total=9), [10] * 20, [10] * 2 + [90.0] * 18)
    assert one == other


@pytest.mark.usefixtures("quick_disk")
def test_reports_past_the_cap_are_those_of_a_random_value(tmp_path: Path) -> None:
    collection = asked(epochs=300)
    client = Client(collection, state=tmp_path / "memory", caps=Caps(attribute=Fraction(1, 2), total=9))
    rng = seeded(3)
    reports = [payload(collection, client.report(2, epoch=e, rng=rng))[0] for e in range(300)]
    counts = np.bincount(reports, minlength=3)
    assert (np.abs(counts - 100) < 4 * (300 * 2 / 9) ** 0.5).all()
    assert client.lifetime().worst_case == 0


def test_a_kind_that_is_new_after_the_cap_says_nothing_and_known_ones_go_on(tmp_path: Path) -> None:
    part = HASHED.part([int.from_bytes(stretch("lives", 24)[16:], "little")])
    of_kind = {HASHED.kind(part, value): value for value in range(100)}
    a, b, c, d = (of_kind[kind] for kind in range(4))
    one, other = lives(tmp_path, HASHED, Caps(attribute=4, total=9), [a, b, c, a, c], [a, b, d, a, d])
    assert one == other
    one, other = lives(tmp_path / "more", HASHED, Caps(attribute=6, total=9), [a, b, c, a, c], [a, b, d, a, d])
    assert one != other


@pytest.mark.parametrize("randomizer", [HASHED, FLIPS, BLOOM, BIT], ids=repr)
def test_a_memo_is_made_once_and_kept(tmp_path: Path, randomizer: Any) -> None:
    collection = asked(randomizer)
    client = Client(collection, state=tmp_path / "memory", caps=Caps(attribute=100, total=100))
    for epoch in range(12):
        client.report(1 if epoch % 2 else 8, epoch=epoch)
        memos = json.loads((tmp_path / "memory").read_text())["records"][0]["memos"]
        assert 1 <= len(memos) <= min(2, epoch + 1)
    before = memos
    client.report(1, epoch=12)
    assert json.loads((tmp_path / "memory").read_text())["records"][0]["memos"] == before


@pytest.mark.parametrize("randomizer", [FLIPS, BIT], ids=repr)
def test_without_a_fresh_step_the_memo_itself_is_sent(tmp_path: Path, randomizer: Any) -> None:
    collection = asked(randomizer)
    client = Client(collection, state=tmp_path / "memory")
    assert len({payload(collection, client.report(5, epoch=e)) for e in range(20)}) == 1
    assert client.lifetime().worst_case is None


@pytest.mark.usefixtures("quick_disk")
@pytest.mark.parametrize("randomizer", [HASHED, FLIPS, BLOOM, BIT], ids=repr)
def test_first_reports_have_the_law_of_the_randomizer(tmp_path: Path, randomizer: Any) -> None:
    """The collector estimates from clients as from one-shot reports: the same mean to within its error."""
    people, value = 300, 7
    collection = asked(randomizer)
    rng = seeded(5)
    payloads = []
    for number in range(people):
        client = Client(collection, state=tmp_path / f"{number}")
        payloads.append(payload(collection, client.report(value, rng=rng)))
    reports = randomizer.unpack(np.array([list(row) for row in payloads], dtype=np.uint8))
    found = randomizer.estimate(reports)
    if randomizer is BIT:
        assert abs(found.value - value) < 4 * found.standard_error
    else:
        assert abs(found.values[value] - 1) < 4 * (found.variances[value] + 1e-9) ** 0.5


def test_a_collection_in_a_new_version_pays_anew(tmp_path: Path) -> None:
    old = asked(HASHED)
    newer = local.Loloha(epsilon=1, forever=3, domain=100)
    new = Collection(name="bread", question="Bread?", randomizer=newer, epochs=50, version=2, id=old.id, lifetime=14)
    caps = Caps(attribute=11, total=20)
    Client(old, state=tmp_path / "memory", caps=caps).report(1, epoch=0)
    client = Client(new, state=tmp_path / "memory", caps=caps)
    client.report(1, epoch=1)
    assert client.lifetime().charged() == 4 * 2 + 1 * 3  # room for one memo of the new kind, within 11


def follow(collection: Collection, state: Path, epoch: int, **more: Any) -> bytes:
    """A report under the signed configuration."""
    return Client(local.sign(collection, KEY), local.public_text(KEY), state=state, **more).report(1, epoch=epoch)


def test_an_older_configuration_is_not_followed_again(tmp_path: Path) -> None:
    weak = asked(local.KaryResponse(epsilon=4, domain=3))
    strong = replace(weak, randomizer=local.KaryResponse(epsilon=0.5, domain=3), version=2)
    sent = follow(weak, tmp_path / "memory", 0)
    assert follow(strong, tmp_path / "memory", 0) == sent  # nothing new is sent, and the version is noted
    for old in (weak, replace(strong, question="Milk?"), replace(weak, version=2)):
        for epoch in (0, 1):
            with pytest.raises(BadCollection, match="has followed version 2"):
                follow(old, tmp_path / "memory", epoch)
    follow(strong, tmp_path / "memory", 1)
    follow(replace(weak, version=3), tmp_path / "memory", 2)
    assert (
        len(report_wire.parse(weak, follow(weak, tmp_path / "another", 1)).payload) == 1
    )  # where nothing newer is known


def test_a_client_made_before_a_newer_version_came_goes_on_no_more(tmp_path: Path) -> None:
    old = asked()
    before = Client(old, state=tmp_path / "memory")
    before.report(1, epoch=0)
    Client(replace(old, version=2), state=tmp_path / "memory").report(1, epoch=1)
    with pytest.raises(BadCollection, match="version 2"):
        before.report(1, epoch=2)


def test_a_collection_stays_about_what_it_was_about(tmp_path: Path) -> None:
    """Else the cap of each name would hold a part of what was told, and none of them all of it."""
    bread = asked()
    follow(bread, tmp_path / "memory", 0)
    with pytest.raises(BadCollection, match="another attribute"):
        follow(replace(bread, attribute="milk", version=2), tmp_path / "memory", 1)


def test_all_versions_of_a_collection_share_the_caps_each_at_its_own_price(tmp_path: Path) -> None:
    caps = Caps(attribute=6, total=30)
    for epoch in range(12):
        law = local.KaryResponse(epsilon=1 + epoch % 2, domain=3)
        version = asked(law, version=1 + epoch, id="ab" * 16, lifetime=100)
        client = Client(version, state=tmp_path / "memory", caps=caps)
        client.report(1, epoch=epoch)
    assert [each.charged for each in client.lifetime().spent] == [2, 4]


def test_noise_with_a_delta_tells_it(tmp_path: Path) -> None:
    gauss = local.LocalGaussian(epsilon=1, delta=1e-6, lower=0, upper=1)
    client = Client(asked(gauss), state=tmp_path / "memory", caps=Caps(attribute=3, total=9))
    for epoch in range(5):
        client.report(0.5, epoch=epoch)
    told = client.lifetime()
    assert (told.worst_case, told.delta) == (3, Fraction(3, 10**6))
    assert told.to_json()["delta"] == 3e-6
    assert "(delta) it is more" in " ".join(str(told).split())
    assert "delta" not in str(Client(asked(), state=tmp_path / "pure").lifetime())


def test_what_a_report_costs_is_on_disk_before_it_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(asked(), state=tmp_path / "memory")
    first = client.report(1, epoch=0)
    steps = _crash_at_every_step(monkeypatch, lambda: client.report(1, epoch=1))
    assert steps >= 4
    again = client.report(1, epoch=1)
    record = json.loads((tmp_path / "memory").read_text())["records"][0]
    assert record["report"] == again.hex() != first.hex()
    assert record["charges"] == 2  # what died on its way was never sent, or is the very report that is sent now


def _crash_at_every_step(monkeypatch: pytest.MonkeyPatch, run: Callable[[], bytes]) -> int:
    """Fail at the first, second, ... system call that writes, until none fails; each time nothing may come out."""

    class Crash(Exception):
        pass

    for step in range(20):
        left = [step]

        def failing(real: Callable[..., Any], left: list[int] = left) -> Callable[..., Any]:
            def call(*arguments: Any, **named: Any) -> Any:
                if left[0] == 0:
                    raise Crash
                left[0] -= 1
                return real(*arguments, **named)

            return call

        with monkeypatch.context() as patch:
            patch.setattr(os, "open", failing(os.open))
            patch.setattr(os, "fsync", failing(os.fsync))
            patch.setattr(Path, "replace", failing(Path.replace))
            try:
                run()
            except Crash:
                continue
            return step
    raise AssertionError("it never came through")


def test_a_full_disk_refuses_before_the_report_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(asked(), state=tmp_path / "memory")
    client.report(1, epoch=0)
    before = (tmp_path / "memory").read_bytes()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(LedgerUnavailable):
            client.report(1, epoch=1)
    assert (tmp_path / "memory").read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b'{"hubbub": "lifetime/1"}', b'{"hubbub": "x"}'])
def test_a_damaged_memory_is_never_taken_for_an_empty_one(tmp_path: Path, content: bytes) -> None:
    client = Client(asked(), state=tmp_path / "memory")
    client.report(1, epoch=0)
    (tmp_path / "memory").write_bytes(content)
    with pytest.raises(Unreadable):
        client.report(1, epoch=1)
    with pytest.raises(Unreadable):
        client.lifetime()


def test_records_that_make_no_sense_or_lack_something_are_refused(tmp_path: Path) -> None:
    client = Client(asked(HASHED), state=tmp_path / "memory")
    client.report(1, epoch=0)
    document = json.loads((tmp_path / "memory").read_text())
    record = document["records"][0]
    wrong = [document | change for change in DAMAGE_TO_ALL]
    wrong += [document | {"records": [record | change]} for change in DAMAGE]
    wrong += [document | {"records": [{k: v for k, v in record.items() if k != name}]} for name in record]
    wrong += [{k: v for k, v in document.items() if k != name} for name in document]
    for edited in wrong:
        (tmp_path / "memory").write_text(json.dumps(edited))
        with pytest.raises(Unreadable):
            client.report(1, epoch=0)
        with pytest.raises(Unreadable):
            client.lifetime()
    (tmp_path / "memory").write_text(json.dumps(document))
    client.report(1, epoch=1)


def test_a_memory_of_a_newer_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "memory").write_text('{"hubbub": "lifetime/2", "records": []}')
    with pytest.raises(NewerFormat):
        Client(asked(), state=tmp_path / "memory").report(1)


def test_the_memory_is_for_its_owner_alone(tmp_path: Path) -> None:
    Client(asked(), state=tmp_path / "home" / "memory").report(1)
    assert stat.S_IMODE((tmp_path / "home" / "memory").stat().st_mode) == 0o600


def _report(arguments: tuple[str, str, str]) -> str:
    text, key, path = arguments
    return Client(text, key, state=path).report(1, epoch=0).hex()


def test_processes_of_one_client_make_one_report(tmp_path: Path) -> None:
    key = local.new_key()
    job = (local.sign(asked(), key), local.public_text(key), str(tmp_path / "memory"))
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert len(set(pool.map(_report, [job] * 6))) == 1
    assert client_state.ClientStateFile(tmp_path / "memory").read().records[0].charges == 1
