"""Fifty questions under one budget of (1, 1e-6): the sum of their median relative errors, beside each peer's.

Counts, people, sums and averages of the rows with at least some amount, by 1, 5 and 50 keys, each for a fiftieth of
the budget in the way that suits a tool best: rho (OpenDP, Tumult, Hubbub), its odometer (SmartNoise), a plain sum of
epsilons (PipelineDP). Qrlew has no account of more than one question.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from bench.rows import Row
from bench.sql import ours, redrawn, single
from bench.sql.single import laws
from bench.sql.single.rows import TEXTS, ask_peer
from hubbub.accounting import rho_for
from hubbub.terms import BudgetExceeded

SHARE = Fraction(1, len(single.FIFTY))
DRAWS = 20_000  # of a median of absolute errors they leave a standard error of 1%


def rows(quick: bool, *, again: bool = False) -> list[Row]:
    """With ``again`` off, what was kept of peers is used."""
    assert single.RHO <= rho_for(*single.BUDGET) <= single.RHO * (1 + 1e-6)
    rng, texts = np.random.default_rng(single.SEED), [_text(*each) for each in single.FIFTY]
    truths = {least: {keys: laws.exact(keys, least) for keys in single.KEYS[:3]} for _, _, least in single.FIFTY}
    mine = 0.0
    with ours.single_table(single.path(), budget=single.BUDGET) as connection:
        for (measure, keys, least), text in zip(single.FIFTY, texts, strict=True):
            asked = {"times": -(-(DRAWS // (10 if quick else 1)) // keys), "share": SHARE}
            told = redrawn.answers(connection, text, "x", f"k{keys}", **asked)
            mine += float(np.median(redrawn.errors(told, truths[least][keys].by_name(measure))))
        fitted = _fitted(connection, texts)
    peers = {name: ask_peer(name, again=again) for name in single.PEERS}
    return [_row(name, *told, truths, mine, fitted, rng) for name, told in peers.items() if _has_shares(told[1])]


def _row(name, version, found, truths, mine, fitted, rng) -> Row:  # type: ignore[no-untyped-def]
    theirs = sum(
        float(np.median(laws.errors(found["laws"][f"{measure}|{keys}|share"], measure, truths[least][keys], rng)))
        for measure, keys, least in single.FIFTY
    )
    note = f"sum of medians {mine:.4g} against {theirs:.4g}; of ours {fitted} fit, asked one after the other"
    return Row(f"fifty questions: total error over that of {name} {version}", mine / theirs, "x", 1.0, "lower", note)


def _has_shares(found: dict[str, object]) -> bool:
    return "form" in found["laws"].get("COUNT|1|share", {})


def _fitted(connection: object, texts: list[str]) -> int:
    """How many are really answered and charged."""
    for number, text in enumerate(texts):
        try:
            connection.sql(text, share=SHARE)
        except BudgetExceeded:
            return number
    return len(texts)


def _text(measure: str, keys: int, least: int) -> str:
    head, tail = (f"k{keys}, ", f" GROUP BY k{keys}") if keys > 1 else ("", "")
    return f"SELECT {head}{TEXTS[measure]} AS x FROM t WHERE amount >= {least}{tail}"
