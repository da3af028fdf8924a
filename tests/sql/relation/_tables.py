"""Released tables of made-up truth, and outer statements over them, without a ledger or an engine of people."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction

import numpy as np
import sqlglot
from numpy.typing import NDArray
from sqlglot import exp

from hubbub.engines import ReleasedTables
from hubbub.releases import DerivedRelease, KeyColumn, Noise, NoisyColumn, Release, ReleasedColumn, formulas
from hubbub.sql.relation.copies import InnerTables
from hubbub.sql.relation.relation_release import release_of
from hubbub.sql.relation.run_outer import OuterRun
from hubbub.terms import Guarantee, PureDP

FINE = 1_000  # steps in one: truths below lie on a grid so fine that noise is nearly continuous


def noisy_table(values: Sequence[float], noise: Noise, generator: np.random.Generator) -> Release:
    """Rows k = 0, 1, ... with a number x, released with that noise (its scale is in ones)."""
    fine = Noise(noise.distribution, noise.scale * FINE)
    steps = np.rint(np.asarray(values) * FINE) + (fine.draw(generator, len(values)) if noise.scale else 0)
    return Release(
        keys=(KeyColumn("k", tuple(range(len(values))), "integer"),),
        measures=(NoisyColumn("COUNT(*)", Fraction(1, FINE), fine, tuple(int(v) for v in steps)),),
        columns=(ReleasedColumn("k", formulas.Key(0)), ReleasedColumn("x", formulas.Ref(0))),
        guarantee=Guarantee(PureDP(Fraction(1))),
    )


def parsed(text: str) -> exp.Query:
    """The statement with ``t0``, ``t1``, ... as tables of inner questions."""
    tree = sqlglot.parse_one(re.sub(r"\bt(\d)\b", r"(SELECT k, x FROM _hb_inner_\1)", text), read="duckdb")
    assert isinstance(tree, exp.Query)
    return tree


@contextmanager
def run_of(text: str, *inner: Release) -> Iterator[OuterRun]:
    """The run of an outer statement, while its place is open."""
    with ReleasedTables() as place:
        run = OuterRun(parsed(text), InnerTables(inner), place)
        run.check()
        run.fill()
        yield run


def around(text: str, *inner: Release) -> DerivedRelease:
    """The answer of an outer statement over tables ``t0``, ``t1``, ..."""
    with run_of(text, *inner) as run:
        return release_of(run, text, inner)


def true_rows(text: str, *values: Sequence[float]) -> list[tuple[object, ...]]:
    """What the statement gives for the truth."""
    generator = np.random.default_rng(0)
    exact = [noisy_table(column, Noise("none"), generator) for column in values]
    return around(text, *exact).dbapi_rows()


def covered(
    text: str, values: Sequence[float], noise: Noise, *, column: str, runs: int, seed: int, keyed: bool = True
) -> NDArray[np.float64]:
    """By run: the share of shown rows whose interval holds the truth (rows are named by k, or there is one)."""
    truth_of = _by_key(true_rows(_unlimited(text), values), keyed=keyed, names=names_of(text, values))
    shares = []
    for run in range(runs):
        released = noisy_table(values, noise, np.random.default_rng((seed, run)))
        answer = around(text, released)
        rows = _by_key(answer.dbapi_rows(), keyed=keyed, names=answer.columns_names)
        ends = dict(zip(rows, answer.intervals(0.95)[column], strict=True))
        holds = [low <= truth_of[key][column] <= high for key, (low, high) in ends.items()]  # type: ignore[operator]
        shares.append(float(np.mean(holds)))
    return np.array(shares)


def names_of(text: str, values: Sequence[float]) -> tuple[str, ...]:
    """The columns of a statement."""
    return around(text, noisy_table(values, Noise("none"), np.random.default_rng(0))).columns_names


def _by_key(
    rows: Sequence[tuple[object, ...]], *, keyed: bool, names: Sequence[str]
) -> dict[object, Mapping[str, float]]:
    return {row[0] if keyed else 0: dict(zip(names, row, strict=True)) for row in rows}  # type: ignore[arg-type]


def _unlimited(text: str) -> str:
    """The statement without its last LIMIT."""
    return re.sub(r" LIMIT \d+$", "", text)
