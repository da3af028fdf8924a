"""Q1 to Q4 on a million rows at three epsilons, with what bounds cut off: Hubbub's error over the best peer's.

SmartNoise's noise is drawn from the scales that it tells, on what its bounds leave (its answer at an epsilon of a
million); other peers' errors are mostly what their bounds cut off, and their answers are real ones, as many as ten
seconds allow. Q5, whose keys are unknown, has a part of its own.
"""

from __future__ import annotations

import json
import statistics
import subprocess
from pathlib import Path

import numpy as np

from bench.peers import environment
from bench.rows import Row
from bench.sql import ours, redrawn, table
from bench.sql.children import PEERS
from bench.sql.exact import Exact
from bench.sql.often import FREE, QUESTIONS
from bench.sql.peers import CLAMP

EPSILONS = ("0.1", "1", "3")
MOST = 1.05  # of the best peer's error
SECONDS, PATIENCE = 10, 400
DRAWS, SECRETS = 6000, 5  # of ours: which rows are cut off depends on a secret of the connection
ROOT = Path(__file__).parents[2]
Numbers = dict[str, list[float]]


def rows(quick: bool) -> list[Row]:
    path = table.path(table.FEWER)
    exact, found = Exact(path), []
    told = {peer: {each: _often(peer, each) for each in (*EPSILONS, *_free(peer))} for peer in PEERS}
    for question, title in QUESTIONS.items():
        truth = exact.truth(question)
        for epsilon in EPSILONS[1:2] if quick else EPSILONS:
            mine = _typical(_ours(question, epsilon, DRAWS // 10 if quick else DRAWS), truth)
            theirs = {peer: error for peer in PEERS if (error := _theirs(told[peer], question, epsilon, truth))}
            found.append(_row(f"{title} ({question}), epsilon {epsilon}", mine, theirs))
    return found


def _row(title: str, mine: list[float], theirs: dict[str, tuple[list[float], int]]) -> Row:
    """Where a question has two numbers, their errors' mean counts: a peer is best that is best at both together."""
    best = min(theirs, key=lambda peer: statistics.mean(theirs[peer][0]))
    others = ", ".join(f"{peer} {_words(error)} ({times} answers)" for peer, (error, times) in theirs.items())
    ratio = statistics.mean(mine) / statistics.mean(theirs[best][0])
    note = f"{_words(mine)}; {others}"
    return Row(f"{title}: median relative error over the best peer's", ratio, "x", MOST, "lower", note)


def _words(errors: list[float]) -> str:
    return "/".join(f"{each:.3%}" for each in errors)


def _typical(answers: list[Numbers], truth: dict[str, tuple[float, ...]]) -> list[float]:
    """The median relative error of each number, over keys and answers; of quantiles, the mean of their medians."""
    exact = np.array([truth[key] for key in truth])
    off = np.abs(np.array([[answer[key] for key in truth] for answer in answers]) / exact - 1)
    if set(truth) == {"p50", "p90"}:
        return [float(np.mean(np.median(off, axis=0)))]
    return np.median(off.reshape(-1, exact.shape[1]), axis=0).tolist()


# ---------------------------------------------------------------- peers


def _free(peer: str) -> tuple[str, ...]:
    return (FREE,) if peer == "smartnoise" else ()


def _often(peer: str, epsilon: str) -> dict[str, dict[str, object]]:
    """Nothing where the peer cannot be asked."""
    made = environment(peer)
    command = [made.python, "-W", "ignore", "-m", "bench.sql.often", peer, str(table.path(table.FEWER)), epsilon]
    seconds = "0" if epsilon == FREE else str(SECONDS)
    try:
        done = subprocess.run(
            [*command, seconds], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return {}
    return json.loads(done.stdout.splitlines()[-1])


def _theirs(
    told: dict[str, dict[str, dict[str, object]]], question: str, epsilon: str, truth: dict[str, tuple[float, ...]]
) -> tuple[list[float], int] | None:
    found = told[epsilon].get(question)
    if found is None:
        return None
    answers = found["answers"]
    if found["scales"] and question in told.get(FREE, {}):
        drawn = _drawn(question, told[FREE][question]["answers"][0], found["scales"])
        return _typical(drawn, truth), len(answers)
    return _typical([answer for answer in answers if set(truth) <= set(answer)], truth), len(answers)


def _drawn(question: str, bounded: Numbers, scales: list[float]) -> list[Numbers]:
    """Laplace noise on what bounds leave; of an average on its sum and its count."""
    rng, times = np.random.default_rng(18), max(200, DRAWS // len(bounded))
    keys = list(bounded)
    numbers = np.array([bounded[key] for key in keys])
    noise = [rng.laplace(0, scale, (times, len(keys))) for scale in scales]
    if question != "sums":
        columns = [numbers[:, 0] + noise[0]]
    else:
        total, count = numbers[:, 0] + noise[0], numbers[:, 0] / numbers[:, 1] + noise[1]
        columns = [total, np.clip(total / count, *CLAMP)]
    return [dict(zip(keys, zip(*(c[i].tolist() for c in columns), strict=True), strict=True)) for i in range(times)]


# ---------------------------------------------------------------- ours


def _ours(question: str, epsilon: str, draws: int) -> list[Numbers]:
    asked, found = ours.QUESTIONS[question], []
    bounds = {"max_rows_per_unit": asked.max_rows_per_unit, "amount": asked.amount}
    if question == "quantiles":
        bounds["amount"] = (*asked.amount, 0.01)
    keys = 50 if question in ("counts", "sums") else 1
    for _ in range(SECRETS):
        with ours.connected(table.path(table.FEWER), **bounds) as connection:
            times = -(-draws // (keys * SECRETS))
            price = {"epsilon": float(epsilon), "delta": ours.DELTA}
            for answer in redrawn.records(connection, asked.sql, times=times, **price):
                found.append(_numbers(question, answer))
    return found


def _numbers(question: str, answer: list[dict[str, object]]) -> Numbers:
    if question == "quantiles":
        return {name: [float(value)] for name, value in answer[0].items()}
    names = ("n",) if question != "sums" else ("s", "a")
    return {row.get("region", ""): [float(row[name]) for name in names] for row in answer}
