"""Randomizers: speed and error at a hundred thousand values, error against theory for all, and peers beside them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.local.crowd import squared_error, zipf
from bench.peers import environment
from bench.rows import Row, cpu_seconds, side_by_side
from hubbub import local

DOMAIN, PEOPLE = 100_000, 1_000_000
PEERS = ("pure-ldp", "multi-freq-ldpy", "opendp")
KINDS: dict[str, Callable[..., Any]] = {
    "kary": local.KaryResponse,
    "unary": local.UnaryEncoding,
    "hashing": local.LocalHashing,
    "hadamard": local.HadamardResponse,
    "onebit": local.OneBitHadamard,
    "subset": local.SubsetSelection,
    "projective": local.ProjectiveGeometry,
}
SLOW = {"unary": 20, "hashing": 20, "subset": 50}  # so many times fewer people
FASTER = {"client": 10, "server": 5}  # times, than a peer
AS_FAST = {"unary"}  # where a report has a secure 64-bit coin for each value, and peers have half a float


def rows(quick: bool) -> list[Row]:
    return [*_default(quick), *_against_theory(quick), *_against_peers(quick)]


def _default(quick: bool) -> list[Row]:
    """The default for large domains, in every figure that was asked for."""
    people, rounds = (200_000, 3) if quick else (PEOPLE, 7)
    survey, values = local.ProjectiveGeometry(epsilon=1, domain=DOMAIN), zipf(people, DOMAIN)
    reports = survey.randomize(values)
    state = survey.accumulate(reports)
    works = {
        "client": lambda: survey.randomize(values),
        "server": lambda: survey.accumulate(reports),
        "decode": lambda: survey.decode(state, count=people),
        "one": lambda: [survey.randomize(5) for _ in range(5000)],
    }
    took = side_by_side(works, rounds=rounds)
    errors = [squared_error(values, survey.estimate(survey.randomize(values)).values) for _ in range(rounds)]
    about = f"projective geometry, epsilon 1, {DOMAIN:,} values"
    note = f"{people:,} people"
    return [
        Row(f"{about}: client, each report in bulk", took["client"] / people * 1e6, "us", 1, "lower", note),
        Row(f"{about}: client, a single report", took["one"] / 5000 * 1e6, "us", 20, "lower"),
        Row(f"{about}: server, reports a second", people / took["server"] / 1e6, "M/s", 20, "higher", note),
        Row(f"{about}: decoding all shares", took["decode"], "s", 1, "lower"),
        Row(f"{about}: n * mean squared error", float(np.median(errors)), "", 3.8, "lower", "the best is 3.68"),
        Row(f"{about}: bytes a report", survey.payload_bytes, "bytes", 3, "lower"),
    ]


def _against_theory(quick: bool) -> list[Row]:
    """How far each protocol's error, and the coverage of its intervals, is from what was told."""
    found = []
    for name, kind in KINDS.items():
        survey, repeats = kind(epsilon=1, domain=1000), 10 if quick else 40
        people = 20_000 // SLOW.get(name, 1) if name != "kary" else 100_000
        ratios, held = [], []
        for seed in range(repeats):
            values = zipf(people, 1000, seed=seed)
            truth = np.bincount(values, minlength=1000) / people
            shares = survey.estimate(survey.randomize(values))
            told = np.mean([survey.variance(count=people, frequency=f) for f in truth])
            ratios.append(np.mean((shares.values - truth) ** 2) / told)
            ends = shares.intervals(0.95)
            held.append(np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1])))
        about = f"{type(survey).__name__}, epsilon 1, 1,000 values"
        rare = f"n * variance {survey.variance(count=1):.3g}"
        found.append(Row(f"{about}: error off theory by", abs(float(np.mean(ratios)) - 1), "", 0.05, "lower", rare))
        off = abs(float(np.mean(held)) - 0.95)
        found.append(Row(f"{about}: coverage of 95% intervals, off by", off, "", 0.02, "lower"))
    return found


@dataclass(frozen=True)
class Taken:
    """What one protocol took, in microseconds a report."""

    client: float
    server: float
    nmse: float


def _against_peers(quick: bool) -> list[Row]:
    found: list[Row] = []
    ours: dict[tuple[str, int], Taken] = {}
    for peer in PEERS:
        made = environment(peer)
        for told in _run(made.python, peer, 0.5 if quick else 4.0) if made.python else [{"reason": made.reason}]:
            name = f"{peer} {made.version}".strip()
            if "reason" in told:
                note = f"nothing to compare with: {told['reason']}"
                found.append(Row(f"{_about(told)}: times faster than {name}", 0, "x", FASTER["client"], "higher", note))
                continue
            key = told["protocol"], told["domain"]
            ours.setdefault(key, _ours(*key))
            found += _beside(name, told, ours[key])
    return found


def _about(told: dict[str, Any]) -> str:
    return f"{told['protocol']}, {told['domain']:,} values" if "protocol" in told else "all protocols"


def _beside(name: str, told: dict[str, Any], mine: Taken) -> list[Row]:
    rows = []
    for side in ("client", "server"):
        theirs, here = told[side], getattr(mine, side)
        note = f"{here:.3g} us against {theirs:.3g}; n * MSE {mine.nmse:.3g} against {told['nmse']:.3g}"
        title = f"{_about(told)}: {side}, times faster than {name}"
        target = 1 if told["protocol"] in AS_FAST else FASTER[side]
        rows.append(Row(title, theirs / here, "x", target, "higher", f"{note} ({told['people']:,} people)"))
    return rows


def _ours(protocol: str, domain: int) -> Taken:
    people = 200_000 // SLOW.get(protocol, 1)
    survey, values = KINDS[protocol](epsilon=1, domain=domain), zipf(people, domain)
    reports = survey.randomize(values)
    survey.estimate(reports)  # whatever is compiled is compiled now
    client = cpu_seconds(lambda: survey.randomize(values))
    server = cpu_seconds(lambda: survey.estimate(reports))
    per = 1e6 / people
    return Taken(client * per, server * per, squared_error(values, survey.estimate(reports).values))


def _run(python: str, peer: str, patience: float) -> list[dict[str, Any]]:
    command = [python, str(Path(__file__).with_name("peer.py")), peer, str(patience)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return lines or [{"reason": (done.stderr.strip().splitlines() or ["no answer"])[-1][:120]}]
