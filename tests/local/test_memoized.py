"""Permanent noise from a secret."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hubbub.local import DBitFlip, KaryResponse, Memoized, OneBitMean, Rappor, new_secret
from hubbub.noise.testing import seeded
from hubbub.terms import OutOfRange

SURVEYS: dict[str, tuple[Any, Any, Any]] = {
    "dbitflip": (DBitFlip(epsilon=2, domain=8, flips=3), 5, 2),
    "onebitmean": (OneBitMean(epsilon=1, lower=0, upper=24), 20.0, 3.0),
    "rappor": (Rappor(epsilon=4, domain=6, bits=16, cohorts=2), 5, 2),
}
every = pytest.mark.parametrize("name", SURVEYS)


@every
def test_answers_survive_a_restart(name: str) -> None:
    survey, value, other = SURVEYS[name]
    secret = new_secret()
    first, again = (Memoized(survey, secret, collection="c") for _ in range(2))
    for held in (value, other, value):
        assert np.array_equal(first.randomize(held, rng=seeded(1)), again.randomize(held, rng=seeded(1)))


@every
def test_clients_and_collections_are_independent(name: str) -> None:
    survey, value, _ = SURVEYS[name]
    secret = bytes(32)
    seen = {
        "collections": {
            str(Memoized(survey, secret, collection=str(i)).randomize(value, rng=seeded(1))) for i in range(60)
        },
        "secrets": {
            str(Memoized(survey, i.to_bytes(32, "big"), collection="c").randomize(value, rng=seeded(1)))
            for i in range(60)
        },
    }
    assert all(len(reports) > 1 for reports in seen.values())


@every
def test_estimates_from_memoized_clients_are_unbiased(name: str) -> None:
    survey, value, _ = SURVEYS[name]
    reports = [
        Memoized(survey, i.to_bytes(32, "big"), collection="c").randomize(value, rng=seeded(i)) for i in range(1500)
    ]
    found = survey.estimate(np.array(reports))
    if name == "onebitmean":
        assert abs(found.value - value) < 5 * found.standard_error
    else:
        truth = np.eye(survey.domain)[value]
        assert (np.abs(found.values - truth) < 5 * np.sqrt(found.variances) + 1e-9).all()


def test_only_the_second_step_of_rappor_is_fresh() -> None:
    survey, value, _ = SURVEYS["rappor"]
    client = Memoized(survey, new_secret(), collection="c")
    reports = np.array([client.randomize(value) for _ in range(400)])
    assert len({row.tobytes() for row in reports}) > 100
    bits = np.unpackbits(reports[:, 1:], axis=1, bitorder="little")
    again = survey._instant / 2**64  # averaging shows the permanent bits, and no more than these
    assert np.abs(np.abs(bits.mean(axis=0) - 0.5) - (again - 0.5)).max() < 0.13
    assert len(set(reports[:, 0])) == 1  # one cohort


def test_a_randomizer_without_memory_and_a_short_secret_are_refused() -> None:
    with pytest.raises(OutOfRange, match="permanent"):
        Memoized(KaryResponse(epsilon=1, domain=3), new_secret(), collection="c")
    with pytest.raises(OutOfRange, match="32 bytes"):
        Memoized(SURVEYS["rappor"][0], b"short", collection="c")
