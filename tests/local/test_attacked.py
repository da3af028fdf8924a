"""Attempts to break the local model: extreme laws, words at the edges, odd values, poison, bounds too good to hold."""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hubbub import local
from hubbub.local.amplification import shuffle_bounds
from hubbub.local.collection import report_wire
from hubbub.local.collection.randomizer_config import distribution_parameters
from hubbub.local.randomizers.common.exact_words import exp_low
from hubbub.noise.testing import seeded
from hubbub.terms import Unreadable

from . import _attacked
from .contract import exp, loosen
from .test_javascript import MODULE

ENDS = [Fraction(1, 100), Fraction(64)]


@pytest.mark.parametrize("epsilon", ENDS, ids=str)
@pytest.mark.parametrize("name", _attacked.SMALL)
def test_no_report_tells_more_than_epsilon_even_at_the_ends(name: str, epsilon: Fraction) -> None:
    make, values = _attacked.SMALL[name]
    randomizer = make(epsilon)
    worst = _attacked.largest([_attacked.law(randomizer, value) for value in values])
    assert worst <= exp(randomizer.epsilon)
    if name == "rappor":
        assert isinstance(randomizer, local.Rappor)
        assert worst <= exp(randomizer.report_epsilon)


def test_the_least_epsilon_is_kept_as_well() -> None:
    least = Fraction(1, 10**6)
    for name in ("binary", "kary", "subset", "projective", "hadamard", "unary", "dbitflip"):
        make, values = _attacked.SMALL[name]
        assert _attacked.largest([_attacked.law(make(least), value) for value in values]) <= exp_low(least)


def test_a_threshold_that_is_moved_up_is_noticed() -> None:
    randomizer = local.KaryResponse(epsilon=1, domain=3)
    loosen(randomizer, "sets", 1 << 16)
    assert _attacked.largest([_attacked.law(randomizer, value) for value in range(3)]) > exp(Fraction(1))


def test_words_at_the_thresholds_give_the_same_bytes_in_javascript(
    component: Callable[[str], str], tmp_path: Path
) -> None:
    asked, wanted = zip(*_attacked.cases([Fraction(1, 10**4), Fraction(1), Fraction(64)], each=4), strict=True)
    (tmp_path / "cases.json").write_text(json.dumps(asked))
    script = f"""
    import {{ randomizer, respond }} from {json.dumps(MODULE.as_uri())};
    import {{ readFileSync }} from "node:fs";
    const cases = JSON.parse(readFileSync({json.dumps(str(tmp_path / "cases.json"))}));
    const bytes = (each) => new Uint8Array(Buffer.from(each.bytes, "base64"));
    const sent = cases.map((each) => Buffer.from(respond(randomizer(each.law), each.value, bytes(each))));
    console.log(JSON.stringify(sent.map((payload) => payload.toString("hex"))));
    """
    assert json.loads(_node(component("node"), script)) == list(wanted)


HALF = str(1 << 63)
DISHONEST: list[dict[str, Any]] = [
    {"protocol": "binary", "missing": 0, "thresholds": ["0"]},
    {"protocol": "sign", "missing": -1, "thresholds": ["0"]},
    {"protocol": "duchi", "lower": "0", "upper": "1", "missing": "0", "thresholds": ["0"]},
    {"protocol": "unary", "domain": 2, "missing": 0, "optimised": True, "thresholds": ["0", str((1 << 64) - 1)]},
    {"protocol": "onebit", "domain": 2, "missing": 0, "thresholds": ["0"]},
    {"protocol": "kary", "domain": 3, "missing": 0, "thresholds": ["0"]},
    {"protocol": "kary", "domain": 3, "missing": 200, "thresholds": [str((1 << 64) // 3)]},
    {"protocol": "finite", "missing": 0, "masses": [[HALF, HALF], [str(1 << 62), str(1 << 62)]]},
    {"protocol": "projective", "domain": 4, "missing": 0, "order": 4, "thresholds": [str((1 << 64) // 4)]},
]


def test_an_owner_who_signs_coins_that_lean_the_other_way_is_refused_in_javascript(
    component: Callable[[str], str],
) -> None:
    laws = [{"epsilon": "1", **law} for law in DISHONEST]
    honest = distribution_parameters(local.BinaryResponse(epsilon=1))
    script = f"""
    import {{ randomizer, BadCollection }} from {json.dumps(MODULE.as_uri())};
    const taken = (law) => {{
      try {{ return Boolean(randomizer(law)); }} catch (error) {{ return !(error instanceof BadCollection); }}
    }};
    console.log(JSON.stringify({json.dumps([*laws, honest])}.map(taken)));
    """
    assert json.loads(_node(component("node"), script)) == [False] * len(laws) + [True]


def _node(path: str, script: str) -> str:
    run = [path, "--input-type=module", "--eval", script]
    told = subprocess.run(run, capture_output=True, text=True, check=False, timeout=120)
    assert told.returncode == 0, told.stderr
    return told.stdout


ODD = [None, "x", True, 3.0, 3.5, math.nan, math.inf, 10**400, -(10**400), 1j, [], {}, b"3", Fraction(3), object()]
ODD += [np.int8(3), np.uint64(2**64 - 1), np.float32(2), np.array(3), np.datetime64("2020")]
KINDS = [
    local.KaryResponse(epsilon=2, domain=10),
    local.UnaryEncoding(epsilon=2, domain=10),
    local.Loloha(epsilon=1, forever=2, domain=10),
    local.Rappor(epsilon=2, domain=10),
    local.DBitFlip(epsilon=2, domain=10, flips=3),
    local.OneBitMean(epsilon=2, lower=0, upper=10),
    local.SignResponse(epsilon=2),
    local.Hybrid(epsilon=2, lower=0, upper=10),
    local.LocalLaplace(epsilon=2, lower=0, upper=1),
]


@pytest.mark.parametrize("randomizer", KINDS, ids=lambda made: made.protocol)
def test_whatever_a_person_holds_a_report_of_one_length_leaves(randomizer: local.Randomizer, tmp_path: Path) -> None:
    survey = local.Collection(name="odd", question="?", randomizer=randomizer)
    for place, value in enumerate(ODD):
        report = local.Client(survey, state=tmp_path / str(place)).report(value)
        assert len(report) == report_wire.HEADER + randomizer.payload_bytes
        assert report_wire.parse(survey, report).epoch == 0


def _report(signed: str, key: str, state: str) -> bytes:
    return local.Client(signed, key, state=state).report(1)


def test_processes_that_share_a_memory_make_one_report(tmp_path: Path) -> None:
    key = local.new_key()
    survey = local.Collection(name="once", question="?", randomizer=local.KaryResponse(epsilon=1, domain=1000))
    signed, public, state = local.sign(survey, key), local.public_text(key), str(tmp_path / "memory.json")
    with ProcessPoolExecutor(2, mp_context=get_context("fork")) as pool:
        made = {each.result() for each in [pool.submit(_report, signed, public, state) for _ in range(8)]}
    assert len(made) == 1
    assert local.Client(survey, state=state).lifetime().worst_case == 1


def test_another_value_in_the_same_epoch_gets_no_report_of_its_own(tmp_path: Path) -> None:
    survey = local.Collection(name="b", question="?", randomizer=local.KaryResponse(epsilon=1, domain=1000), epochs=3)
    client = local.Client(survey, state=tmp_path / "memory.json")
    assert len({client.report(value, epoch=1) for value in (5, 7, "x", None)}) == 1
    assert client.lifetime().worst_case == 1


@pytest.mark.parametrize("content", [b"", b"null", b"[]", b"{}", b"\xff\xfe", b"5", b"[" * 10_000, b'{"hubbub":1}'])
def test_a_damaged_memory_never_makes_a_new_person(content: bytes, tmp_path: Path) -> None:
    survey = local.Collection(name="b", question="?", randomizer=local.KaryResponse(epsilon=1, domain=2))
    (tmp_path / "memory.json").write_bytes(content)
    with pytest.raises(Unreadable):
        local.Client(survey, state=tmp_path / "memory.json").report(1)
    assert (tmp_path / "memory.json").read_bytes() == content


@pytest.mark.parametrize("epsilon", [0.5, 3])
def test_no_fake_report_weighs_more_than_the_influence(epsilon: float) -> None:
    kinds = [local.KaryResponse, local.HadamardResponse, local.OneBitHadamard, local.ProjectiveGeometry]
    for randomizer in (kind(epsilon=epsilon, domain=6) for kind in kinds):
        assert randomizer.symbols is not None
        scores = [randomizer.estimate([report]).values[0] for report in range(randomizer.symbols)]
        assert max(*scores, 1 - min(scores)) == pytest.approx(randomizer.influence(1.0))


def test_fakes_who_all_claim_to_be_asked_stay_within_the_influence_of_dbitflip() -> None:
    survey = local.DBitFlip(epsilon=2, domain=50, flips=1)
    honest = survey.randomize(np.zeros(19_800, dtype=np.int64), rng=seeded(1))
    fakes = np.full((200, 1), 2 * 7 + 1)
    moved = survey.estimate(np.concatenate([honest, fakes])).values[7] - survey.estimate(honest).values[7]
    usual = local.KaryResponse(epsilon=2, domain=2).influence(0.01)
    assert usual < moved <= survey.influence(0.01)


@pytest.mark.parametrize("kernel", ["gini", "variance"])
def test_the_fast_pair_statistic_is_the_average_over_all_pairs(kernel: str) -> None:
    statistic = local.UStatistic(kernel, epsilon=1, bins=7, lower=0, upper=1)
    reports = statistic.randomize(np.random.default_rng(3).random(200), rng=seeded(4))
    p, q = statistic.randomizer.p, statistic.randomizer.q
    undone = (np.eye(7) - q) / (p - q)
    pairs = (undone @ statistic.matrix @ undone.T)[np.ix_(reports, reports)]
    slow = (pairs.sum() - np.trace(pairs)) / (200 * 199)
    assert statistic.estimate(reports).value == pytest.approx(slow)


def _two_valued(epsilon: float, people: int, loss: float) -> float:
    """delta of shuffled two-valued answers, of which all others come from one value, summed term by term."""
    lie = 1 / (1 + math.exp(epsilon))
    others = [math.comb(people - 1, k) * lie**k * (1 - lie) ** (people - 1 - k) for k in range(people)] + [0.0]
    yes = [(1 - lie) * (others[k - 1] if k else 0.0) + lie * others[k] for k in range(people + 1)]
    no = [lie * (others[k - 1] if k else 0.0) + (1 - lie) * others[k] for k in range(people + 1)]
    factor = math.exp(loss)
    return sum(max(0.0, a - factor * b) for a, b in zip(yes, no, strict=True))


@pytest.mark.parametrize("people", [2, 60])
def test_no_bound_on_shuffling_claims_more_than_two_answers_allow(people: int) -> None:
    for epsilon in (0.01, 2.0, 8.0):
        for delta in (1e-10, 1e-3):
            for what in (epsilon, local.BinaryResponse(epsilon=epsilon)):
                found: Any = shuffle_bounds.amplify(what, n=people, delta=delta)
                assert _two_valued(epsilon, people, float(found.epsilon)) <= delta * (1 + 1e-9)
