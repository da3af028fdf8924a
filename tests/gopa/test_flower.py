"""The adapter for Flower: in Flower's own environment if the benches have made one, and what it refuses without it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from hubbub.gopa.average import people_for_plan
from hubbub.gopa.network.attempts import Attempts
from hubbub.gopa.network.flower_client import _Limits
from hubbub.gopa.network.flower_server import Workflow
from hubbub.gopa.protocol.agreement import Agreement
from hubbub.gopa.protocol.consent import Consent
from hubbub.gopa.quantities.bounded_vectors import Gradient
from hubbub.gopa.quantities.numbers import Vector
from hubbub.terms import BeyondConsent, MissingExtra

ROOT = Path(__file__).parents[2]
PLACE = Path(tempfile.gettempdir(), "hubbub-bench", "environments", "flwr")


def agreement(of: Gradient | Vector | None = None, **more: float) -> Agreement:
    asked = {"epsilon": 20, "delta": 1e-2, "honest": 0.8, "dropouts": 0} | more
    measure = of or Gradient(2, norm=1)
    return people_for_plan(measure.plan(5, **asked), measure).agreement


def limits(agreed: Agreement) -> _Limits:
    known = {one.name: one.key for one in agreed.roster}
    consent = Consent(epsilon=Fraction(20), delta=Fraction(1, 100), honest=Fraction(4, 5), roster=known)
    return _Limits(consent, norm=1)


def check(limits: _Limits, agreed: Agreement, width: int) -> Gradient:
    limits.open(agreed, Attempts())
    return limits.measure(agreed, width)


def test_a_client_takes_part_in_what_it_knows() -> None:
    agreed = agreement()
    assert check(limits(agreed), agreed, 2) == Gradient(2, norm=1)


@pytest.mark.parametrize(
    "other",
    [
        lambda: agreement(epsilon=21),
        lambda: agreement(delta=0.02),
        lambda: agreement(honest=1.0),
        lambda: agreement(Gradient(2, norm=2)),
        lambda: agreement(Gradient(3, norm=1)),
        lambda: agreement(Vector(2)),
    ],
)
def test_a_client_takes_no_part_in_anything_weaker_or_else(other: Callable[[], Agreement]) -> None:
    agreed = other()
    with pytest.raises(BeyondConsent, match="takes no part"):
        check(limits(agreed), agreed, 2)


def test_a_client_takes_no_part_with_strangers() -> None:
    agreed = agreement()
    fewer = _Limits(replace(limits(agreed).consent, roster=agreed.roster[1:], honest=Fraction(1)), norm=1)
    with pytest.raises(BeyondConsent, match="1 on its roster are not known"):
        check(fewer, agreed, 2)


def test_without_flower_the_adapter_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "flwr.app", None)
    with pytest.raises(MissingExtra, match="flwr"):
        Workflow(norm=1, epsilon=1, delta=1e-6)(None, None)


@pytest.mark.skipif(
    not (PLACE / "ready.json").exists(), reason="Flower lives in an environment of its own: python -m bench.peers"
)
def test_a_round_of_flower_moves_the_model_by_the_noisy_mean() -> None:
    command = [str(PLACE / "bin" / "python"), str(ROOT / "bench" / "gopa" / "flower_peer.py"), "gopa", "20", "1"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    told = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("TOLD "))[5:])
    assert abs(told["model"][0] - 0.2) < 6 * told["std_dev"]
    assert told["parties"] == 19  # one fell silent after its shares
