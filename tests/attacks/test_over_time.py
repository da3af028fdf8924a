"""Over time: repeated answers, and one person followed through noisy reports."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hubbub as hb
from hubbub.attacks import Repeats, average_repeats, follow, repeats_needed
from hubbub.ledger import Ledger
from hubbub.mechanisms import Geometric, RandomizedResponse
from hubbub.terms import OutOfRange, Unsuitable

TRUTH = 137
QUESTION = "SELECT COUNT(*) AS n FROM visits"


class Forgetful:
    """Answers a count with fresh noise each time and keeps no account of it."""

    def sql(self, text: str) -> int:
        return Geometric(sensitivity=1, epsilon=0.5).release(TRUTH)


class Careful(Forgetful):
    """Keeps the first answer."""

    def __init__(self) -> None:
        self.kept = super().sql("")

    def sql(self, text: str) -> int:
        return self.kept


def test_fresh_noise_averages_out() -> None:
    found = average_repeats(Forgetful(), QUESTION, repeats=1000, truth=TRUTH)
    assert round(found.average) == TRUTH
    assert found.succeeded
    assert found.reach < 0.5


def test_a_kept_answer_tells_nothing_new() -> None:
    found = average_repeats(Careful(), QUESTION, repeats=1000)
    assert found.kept
    assert not found.succeeded
    assert "the same answer came each time" in found.headline


def test_the_number_of_repeats_is_the_one_that_suffices() -> None:
    spread = 3.0
    needed = repeats_needed(spread, confidence=0.95)
    random = np.random.default_rng(0)
    means = random.normal(0, spread / math.sqrt(needed), 20_000)
    assert np.mean(np.abs(means) < 0.5) == pytest.approx(0.95, abs=0.006)
    fewer = random.normal(0, spread / math.sqrt(needed / 2), 20_000)
    assert np.mean(np.abs(fewer) < 0.5) < 0.9


def test_our_own_answers_are_kept_and_fresh_ones_end_with_the_budget(tmp_path: Path) -> None:
    people = pd.DataFrame({"person": range(TRUTH)})
    with hb.connect(
        people,
        unit="person",
        max_rows_per_unit=1,
        budget=hb.Budget(1),
        ledger=Ledger(tmp_path / "ledger.db", state=tmp_path / "state"),
    ) as db:
        question = "SELECT COUNT(*) AS n FROM table"
        kept = average_repeats(db, question, repeats=30, asking={"epsilon": 0.05})
        fresh = average_repeats(db, question, repeats=100, asking={"epsilon": 0.05, "fresh": True})
    assert kept.kept
    assert kept.answers.size == 30
    assert fresh.refused
    assert fresh.answers.size < 20
    assert not fresh.succeeded


def test_answers_collected_elsewhere_are_averaged() -> None:
    found = Repeats.of([10.0, 11.0, 12.0], truth=11)
    assert found.average == 11
    assert found.to_json()["kind"] == "repeats"
    assert found.html().count("<svg") == 1
    assert not Repeats.of([20.1, 20.0, 19.9], truth=11).succeeded


@pytest.mark.parametrize("answers", [[], [[1.0, 2.0]], ["x"], [math.nan]])
def test_unsuitable_answers_are_refused(answers: Any) -> None:
    with pytest.raises(Unsuitable, match="P911"):
        Repeats.of(answers)


# ---------------------------------------------------------------- following

PEOPLE, EPOCHS, DAY = 200, 120, 70


def bread(seed: int = 0) -> np.ndarray:
    """Who bought bread on which day: people with steady habits, of whom Alice and some others stop on one day."""
    values = np.repeat(np.random.default_rng(seed).integers(0, 2, (PEOPLE, 1)), EPOCHS, axis=1)
    values[:20, :DAY], values[:20, DAY:] = 1, 0
    return values


def fresh(values: np.ndarray, epsilon: float) -> np.ndarray:
    return RandomizedResponse(epsilon=epsilon).release(values.ravel()).reshape(values.shape)


def memoized(values: np.ndarray, epsilon: float) -> np.ndarray:
    """A report for each value a person may have, drawn once."""
    memory = RandomizedResponse(epsilon=epsilon).release(np.tile([0, 1], PEOPLE)).reshape(PEOPLE, 2)
    return np.take_along_axis(memory, values, axis=1)


def test_fresh_reports_give_the_value_and_its_change_away() -> None:
    values = bread()
    found = follow(fresh(values, 1.0), values=values)
    steady = ~(values != values[:, :1]).any(axis=1)
    assert (found.before == values[:, 0])[steady].mean() > 0.98
    assert found.roc is not None
    assert found.roc.auc > 0.95
    assert found.changed[~steady].mean() > 0.2
    assert np.median(np.abs(found.epoch[~steady] - DAY)) < 10


def test_memory_hides_the_value_and_shows_the_day_of_a_change() -> None:
    values = bread()
    reports = memoized(values, 1.0)
    found = follow(reports, values=values)
    assert found.right is not None
    assert found.right < 0.9  # one report's worth: e/(1+e) = 73%
    differ = (reports != reports[:, :1]).any(axis=1)
    assert differ.any()
    assert found.changed[differ].all()
    assert (found.epoch[differ] == DAY).all()
    assert not found.changed[~differ].any()


def test_a_second_layer_of_noise_blurs_the_day() -> None:
    values = bread()
    permanent = memoized(values, 1.0)
    found = follow(fresh(permanent, 1.0), values=values)
    differ = (permanent != permanent[:, :1]).any(axis=1)
    assert not (found.epoch[differ] == DAY).all()
    assert found.changed[~differ].mean() < 0.02  # false alarms: 5% for anybody at all


def test_little_noise_over_a_short_time_shows_nothing() -> None:
    found = follow(fresh(bread()[:, DAY - 3 : DAY + 3], 0.5))
    assert not found.changed.any()
    assert not found.succeeded


def test_reports_of_several_bits_are_followed() -> None:
    random = np.random.default_rng(1)
    values = np.full((30, 40), 2)
    values[:5, 25:] = 4
    bits = (np.arange(6) == values[..., None]) ^ (random.random((30, 40, 6)) < 0.1)
    found = follow(bits.astype(int), values=values)
    assert found.changed[:5].all()
    assert (found.before == 2).all()
    assert (found.after[:5] == 4).all()
    assert found.html().count("<svg") == 1


def test_blocks_of_people_are_followed_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from hubbub.attacks.queries import tracking

    reports = fresh(bread(), 1.0)
    once = follow(reports)
    monkeypatch.setattr(tracking, "_BLOCK", 5000)
    parts = follow(reports)
    assert (once.scores == parts.scores).all()
    assert (once.epoch == parts.epoch).all()


@pytest.mark.parametrize("reports", [[], [1, 2], [[1]], [[0.5, 1.0]], [[-1, 0]], [[0, 5000]], [[[0, 2], [1, 0]]]])
def test_unsuitable_reports_are_refused(reports: Any) -> None:
    with pytest.raises(Unsuitable, match="P911"):
        follow(reports)


def test_truth_of_another_shape_and_unknown_people_are_refused() -> None:
    with pytest.raises(Unsuitable, match="epochs in values"):
        follow([[0, 1, 0]], values=[[0, 1]])
    with pytest.raises(OutOfRange, match="no person 7"):
        follow([[0, 1, 0]]).figure(7)


@pytest.mark.parametrize(("protocol", "sharp"), [("dbitflip", True), ("rappor", False)])
def test_reports_of_the_local_room_are_followed(protocol: str, sharp: bool) -> None:
    """Microsoft's reports have permanent noise alone, and show the day exactly; RAPPOR's second layer may blur it."""
    from hubbub.local import DBitFlip, Memoized, Rappor

    randomizer: Any = (
        DBitFlip(epsilon=4, domain=4, flips=4)
        if protocol == "dbitflip"
        else Rappor(epsilon=8, report_epsilon=3, domain=4, bits=16, hashes=1, cohorts=1)
    )
    values = np.full((30, 60), 1)
    values[:15, 35:] = 3
    clients = [Memoized(randomizer, bytes([i]) * 32, collection="bread") for i in range(30)]
    sent = np.array([[client.randomize(v) for v in row] for client, row in zip(clients, values.tolist(), strict=True)])
    bits = sent % 2 if sharp else np.unpackbits(sent[..., 1:].astype(np.uint8), axis=-1)
    found = follow(bits, values=values)
    assert found.roc is not None
    assert found.roc.auc > 0.85
    assert not found.changed[15:].any() or not sharp
    assert (found.epoch[found.changed] == 35).all() or not sharp
