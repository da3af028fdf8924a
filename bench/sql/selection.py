"""Unknown keys: how many are named and how wrong their counts are, on the workload and on tables of other shapes.

The share of the price that chooses keys (``sql/pricing/key_selection_noise.py``) was chosen on tables by Zipf
laws of 0.8, 1.1 and 1.4 with 3 to 100 rows a person; the tables below have other laws, sizes and bounds.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from bench.rows import Row
from bench.sql import children, ours, table
from bench.sql.exact import Exact
from hubbub.mechanisms import WeightedPartitionSelection
from hubbub.schema import Column, Dataset, Kind, PersonLink, Table
from hubbub.sql.pricing.key_selection_noise import choice_share
from hubbub.sql.quote import plan_text
from hubbub.terms import Budget

LARGEST = 109  # keys that OpenDP names on the workload: the largest ones
PEERS_KEYS, PEERS_ERROR = 254, 4.6  # Qrlew names most; OpenDP's own error on its keys, in percent
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
LAWS = [(0.95, 2000, 0.9), (1.25, 20_000, 0.6), (1.05, 5000, 1.2), (1.6, 1000, 0.9)]  # Zipf, products, spread of people
BOUNDS = [(2, 3, 4), (6, 10, 15), (15, 20, 40), (50, 50, 100)]  # rows a person, keys and rows that count
SIZE, DRAWS, SEED = 500_000, 12, 900


def rows(quick: bool) -> list[Row]:
    return [*_workload(quick), *_other_tables(quick)]


# ---------------------------------------------------------------- the workload


def _workload(quick: bool) -> Iterator[Row]:
    """Asked again and again, on a million rows, as peers are; the exact answer has no bounds."""
    secrets, draws = (5, 3) if quick else (40, 5)  # which rows are cut off depends on a secret of the connection
    path, asked = table.path(table.FEWER), ours.QUESTIONS["products"]
    truth = {key: numbers[0] for key, numbers in Exact(path).truth("products").items()}
    answers = []
    for _ in range(secrets):
        with ours.connected(path, max_rows_per_unit=asked.max_rows_per_unit) as connection:
            for _ in range(draws):
                answers.append({row["product"]: row["n"] for row in ours.records(ours.ask(connection, asked.sql))})
    largest = sorted(truth, key=lambda key: -truth[key])[:LARGEST]
    counts = [len(answer) for answer in answers]
    note = f"{len(answers)} answers: {min(counts)} to {max(counts)}; epsilon 1, delta 1e-8, {ours.PRODUCTS_EACH} "
    note += f"products and {asked.max_rows_per_unit} rows a person; targets by Qrlew and OpenDP"
    yield Row("Q5: unknown keys that are named", statistics.median(counts), "keys", PEERS_KEYS, "higher", note)
    missed = 100 * (1 - statistics.mean(key in answer for answer in answers for key in largest))
    error = 100 * statistics.mean(_median_error(answer, truth, largest) for answer in answers)
    words = f"{missed:.2g}% of them not named; {note}"
    yield Row(f"Q5: median error on the {LARGEST} largest keys", error, "%", PEERS_ERROR, "lower", words)
    yield from (row for peer in children.PEERS if (row := _beside(peer, answers, truth)) is not None)


def _beside(peer: str, answers: list[dict[str, float]], truth: dict[str, float]) -> Row | None:
    """The error on the keys that a peer names, over the peer's own; None where it was not measured here."""
    theirs = children.peer(peer, "products", table.FEWER, again=False)
    named = [key for key in theirs.answer if key in truth]
    if not named:
        return None
    own = _median_error({key: theirs.answer[key][0] for key in named}, truth, named)
    mine = statistics.mean(_median_error(answer, truth, named) for answer in answers)
    note = f"{mine:.2%} against {own:.2%}, on the {len(named)} keys that {peer} {theirs.version} names"
    return Row(f"Q5: error on common keys over that of {peer}", mine / own, "x", 1.0, "lower", note)


def _median_error(answer: dict[str, float], truth: dict[str, float], keys: list[str]) -> float:
    return statistics.median(abs(answer[key] / truth[key] - 1) for key in keys if key in answer)


# ---------------------------------------------------------------- tables of other shapes


@dataclass(frozen=True)
class _Shape:
    """A table of purchases, and the bounds under which it is counted."""

    law: tuple[float, int, float]
    bound: tuple[int, int, int]
    seed: int

    @cached_property
    def share(self) -> float:
        """What the planner takes for the choice."""
        _, keys, rows = self.bound
        columns = (Column(name="u", kind=Kind.INTEGER), Column(name="k", kind=Kind.INTEGER, max_per_unit=keys))
        purchases = Table(name="t", source="", columns=columns, link=PersonLink("u"), max_rows_per_unit=rows)
        shop = Dataset(name="d", population="d", unit="t.u", budget=Budget(9, 1e-6), tables=(purchases,))
        [plan] = plan_text("SELECT k, COUNT(*) AS n FROM t GROUP BY k", shop, gaussian=True).plans
        return float(choice_share(plan))

    @cached_property
    def counts(self) -> tuple[np.ndarray, np.ndarray]:
        """By key: all rows, and the weighted people in parts."""
        person, product = self.purchases
        rng, (_, products, _), (_, keys, _) = np.random.default_rng(self.seed + 2), self.law, self.bound
        pairs = np.unique(person * products + product)
        pairs = pairs[_first(rng, pairs // products, keys)]
        many = np.bincount(pairs // products)[pairs // products]
        people = np.bincount(pairs % products, weights=np.sqrt(keys / many), minlength=products)
        return np.bincount(product, minlength=products).astype(float), people

    @cached_property
    def purchases(self) -> tuple[np.ndarray, np.ndarray]:
        """Person and product of each row, in the order in which a person's rows are kept."""
        rng = np.random.default_rng(self.seed)
        (zipf, products, spread), (each, _, _) = self.law, self.bound
        person = _pick(rng, rng.lognormal(0, spread, SIZE // each))
        product = _pick(rng, 1.0 / np.arange(1, products + 1) ** zipf)
        order = np.lexsort((rng.random(SIZE), person))
        return person[order], product[order]

    def counted(self, named: np.ndarray) -> np.ndarray:
        """By key: the rows that count, so many of each person among those of the named keys."""
        person, product = (column[named[self.purchases[1]]] for column in self.purchases)
        starts = np.flatnonzero(np.diff(person, prepend=-1))
        place = np.arange(len(person)) - np.repeat(starts, np.diff(np.append(starts, len(person))))
        return np.bincount(product[place < self.bound[2]], minlength=len(named)).astype(float)

    def measured(self, share: float) -> tuple[float, float]:
        """(error of all counts, in shares of all rows; keys named within a fifth of the truth), over some draws."""
        truth, people = self.counts
        chooser = WeightedPartitionSelection(
            max_keys_per_unit=self.bound[1], epsilon=Fraction(share), delta=ours.DELTA / 2, own=ours.DELTA / 2
        )
        sigma, least = float(chooser.scale) / chooser.weights.one, chooser.threshold / chooser.weights.one
        rng, found = np.random.default_rng(self.seed + 1), []
        for _ in range(DRAWS):
            named = (people > 0) & (people + rng.normal(0, sigma, len(people)) >= least)
            told = np.where(named, self.counted(named) + rng.laplace(0, self.bound[2] / (1 - share), len(people)), 0)
            off = np.abs(told - truth)
            found.append((off.sum() / truth.sum(), float((named & (off <= truth / 5)).sum())))
        error, good = np.mean(found, axis=0)
        return float(error), float(good)


def _pick(rng: np.random.Generator, weights: np.ndarray) -> np.ndarray:
    steps = np.cumsum(weights)
    return np.minimum(np.searchsorted(steps / steps[-1], rng.random(SIZE)), len(steps) - 1)


def _first(rng: np.random.Generator, groups: np.ndarray, most: int) -> np.ndarray:
    """The places of so many of each group, chosen at random."""
    order = np.lexsort((rng.random(len(groups)), groups))
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    place = np.arange(len(groups)) - np.repeat(starts, np.diff(np.append(starts, len(groups))))
    return order[place < most]


def _other_tables(quick: bool) -> Iterator[Row]:
    shapes = [_Shape(law, bound, SEED + i) for i, law in enumerate(LAWS) for bound in BOUNDS]
    ratios = []
    for shape in shapes[:: 3 if quick else 1]:
        fixed = [shape.measured(share) for share in SHARES]
        error, good = shape.measured(shape.share)
        third = fixed[SHARES.index(0.3)]
        ratios.append((error / min(each[0] for each in fixed), (good + 1) / (third[1] + 1)))
    over, more = (math.exp(statistics.mean(math.log(each[i]) for each in ratios)) for i in (0, 1))
    note = f"{len(ratios)} tables that the share was not chosen on; geometric mean, epsilon 1, delta 1e-8"
    yield Row("unknown keys: error of all counts over that with the best of 7 shares", over, "x", 1.1, "lower", note)
    words = "keys within a fifth of the truth, as they are with three tenths for the choice"
    yield Row(f"unknown keys: times as many {words}", more, "x", 1.0, "higher", note)
