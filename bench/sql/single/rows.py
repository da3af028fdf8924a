"""The error of one question beside the best peer's, cell by cell, and each law beside a real answer of its peer."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bench import cache
from bench.peers import environment
from bench.rows import Row
from bench.sql import ours, redrawn, single
from bench.sql.single import laws

MOST = 1.05  # of the best peer's error
DRAWS, MEDIANS = 50_000, 5000  # of a median of absolute errors they leave a standard error of 0.6% and 2%
PATIENCE = 900  # seconds for all laws of one peer and one answer of each kind
TEXTS = {
    "COUNT": "COUNT(*)",
    "COUNT DISTINCT person": "COUNT(DISTINCT user_id)",
    "SUM": "SUM(amount)",
    "AVG": "AVG(amount)",
    "median": "MEDIAN(price)",
}
ROOT = Path(__file__).parents[3]


def rows(quick: bool, *, again: bool = True, measures: tuple[str, ...] = single.MEASURES) -> list[Row]:
    """Every cell, then how far real answers are from the laws; with ``again`` off, what was kept of peers is used."""
    rng, peers = np.random.default_rng(single.SEED), {name: ask_peer(name, again=again) for name in single.PEERS}
    truths = {keys: laws.exact(keys) for keys in single.KEYS}
    cells = [
        _cell(measure, keys, epsilon, truths[keys], peers, rng, quick)
        for measure in measures
        for keys in single.KEYS
        for epsilon in (single.EPSILONS[1:2] if quick else single.EPSILONS)
    ]
    return [*cells, *_checks(peers, measures, truths[5000], rng)]


# ---------------------------------------------------------------- one cell


def _cell(measure, keys, epsilon, truth, peers, rng, quick) -> Row:  # type: ignore[no-untyped-def]
    by = "1 key" if keys == 1 else f"{keys:,} keys"
    name = f"{measure} by {by}, epsilon {epsilon}: median relative error over the best peer's"
    theirs, words = {}, []
    for peer, (version, found) in peers.items():
        law = found["laws"].get(f"{measure}|{keys}|{epsilon}", found)
        if "form" in law:
            theirs[f"{peer} {version}"] = float(np.median(laws.errors(law, measure, truth, rng)))
        else:
            words.append(f"{peer}: {law['reason']}")
    mine = float(np.median(_ours(measure, keys, epsilon, truth, quick)))
    best = min(theirs, key=lambda peer: theirs[peer])
    others = ", ".join(f"{peer} {error:.3%}" for peer, error in theirs.items())
    note = "; ".join([f"{mine:.3%}; {others}", *words])
    return Row(name, _over(mine, theirs[best]), "x", MOST, "lower", note)


def _over(mine: float, theirs: float) -> float:
    """Where both are right in half of the cases, nobody is ahead."""
    return mine / theirs if theirs else (1.0 if not mine else float("inf"))


def _ours(measure: str, keys: int, epsilon: str, truth: laws.Exact, quick: bool) -> np.ndarray:
    draws = (MEDIANS if measure == "median" else DRAWS) // (10 if quick else 1)
    times = max(2, -(-draws // keys))
    with ours.single_table(single.path()) as connection:
        asked = {"times": times, "epsilon": float(epsilon), "delta": single.DELTA}
        told = redrawn.answers(connection, _text(measure, keys), "x", f"k{keys}", **asked)
    return redrawn.errors(told, truth.by_name(measure))


def _text(measure: str, keys: int) -> str:
    head, tail = (f"k{keys}, ", f" GROUP BY k{keys}") if keys > 1 else ("", "")
    return f"SELECT {head}{TEXTS[measure]} AS x FROM t{tail}"


# ---------------------------------------------------------------- peers


def ask_peer(name: str, *, again: bool) -> tuple[str, dict[str, object]]:
    """A peer's version, and what it told: its laws and some answers, or the reason why there is nothing."""
    made, nothing = environment(name), {"laws": {}, "answers": {}}
    if made.reason:
        return "", {**nothing, "reason": made.reason}
    kept = cache.folder("peers") / f"single-{name}.json"
    if again or not kept.exists():
        command = [made.python, "-W", "ignore", "-m", "bench.sql.single.child", name, str(single.path())]
        try:
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False)
        except subprocess.TimeoutExpired:
            return made.version, {**nothing, "reason": f"not within {PATIENCE} s"}
        if done.returncode:
            return made.version, {**nothing, "reason": f"failed: {done.stderr.strip().splitlines()[-1][:200]}"}
        kept.write_text(done.stdout.splitlines()[-1])
    return made.version, json.loads(kept.read_text())


def _checks(
    peers: dict[str, tuple[str, dict[str, object]]],
    measures: tuple[str, ...],
    truth: laws.Exact,
    rng: np.random.Generator,
) -> Iterator[Row]:
    """A law that was drawn from, beside a real answer: 5,000 numbers, whose median strays by 2%."""
    for peer, (version, found) in peers.items():
        off = {}
        for measure, answer in found["answers"].items():
            if measure not in measures:
                continue
            law = found["laws"][f"{measure}|5000|1"]
            if "form" in law and len(answer) == len(truth.names):
                real = np.median(redrawn.errors([answer], truth.by_name(measure)))
                off[measure] = real / np.median(laws.errors(law, measure, truth, rng)) - 1
        if off:
            each = ", ".join(f"{measure} {share:+.1%}" for measure, share in off.items())
            worst = max(map(abs, off.values()))
            what = "medians" if measures == ("median",) else "numbers"
            name = f"real {what} of {peer} {version} by 5,000 keys beside its declared noise: farthest median error"
            yield Row(name, worst * 100, "%", 10, "lower", each)
