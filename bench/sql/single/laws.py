"""What a peer's declared noise makes of the exact numbers: relative errors, drawn from the law that it told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from bench.sql import single

DRAWS = 100_000  # of a median of absolute errors they leave a standard error of 0.5%
MEDIANS = 10_000  # 1.4%
Law = Mapping[str, object]


@dataclass(frozen=True)
class Exact:
    """The exact numbers of the table by one column of keys, in the order of ``names``."""

    names: list[str]
    numbers: dict[str, np.ndarray]  # by measure
    prices: list[np.ndarray]  # sorted, of each key

    def by_name(self, measure: str) -> dict[str, float]:
        return dict(zip(self.names, self.numbers[measure].tolist(), strict=True))


def exact(keys: int, least: int = 0) -> Exact:
    """Read off the table by DuckDB, of the rows with at least that amount."""
    import duckdb

    names = single.names(keys) if keys > 1 else [""]
    key = f"k{keys}" if keys > 1 else "''"
    connection = duckdb.connect()
    found = connection.execute(
        f"SELECT {key}, count(*), count(DISTINCT user_id), sum(amount), avg(amount), median(price), "
        f"list_sort(list(price)) FROM '{single.path()}' WHERE amount >= {least} GROUP BY 1 ORDER BY 1"
    ).fetchall()
    assert [row[0] for row in found] == names
    columns = list(zip(*found, strict=True))
    numbers = {measure: np.array(columns[i + 1], dtype=float) for i, measure in enumerate(single.MEASURES)}
    return Exact(names, numbers, [np.array(column) for column in columns[-1]])


def errors(law: Law, measure: str, truth: Exact, rng: np.random.Generator) -> np.ndarray:
    """Relative errors over all keys, many thousands of them. Counts are told in whole numbers."""
    if law["form"] == "median":
        rounds = -(-MEDIANS // len(truth.names))
        told = np.array([_median(law, prices, rounds, rng) for prices in truth.prices]).T
        return np.abs(told / truth.numbers[measure] - 1).ravel()
    rounds = -(-DRAWS // len(truth.names))
    noise = [_NOISE[name](rng, scale, (rounds, len(truth.names))) for name, scale in law["noise"]]
    told = _FORMS[law["form"]](truth, measure, noise, law)
    if measure.startswith("COUNT"):
        told = np.rint(told)
    return np.abs(told / truth.numbers[measure] - 1).ravel()


# ---------------------------------------------------------------- numbers


def _discrete_laplace(rng: np.random.Generator, scale: float, size: tuple[int, int]) -> np.ndarray:
    chance = -np.expm1(-1 / scale)
    return (rng.geometric(chance, size) - rng.geometric(chance, size)).astype(float)


_NOISE: dict[str, Callable[[np.random.Generator, float, tuple[int, int]], np.ndarray]] = {
    "discrete laplace": _discrete_laplace,
    "laplace": lambda rng, scale, size: rng.laplace(0, scale, size),
    "gaussian": lambda rng, scale, size: rng.normal(0, scale, size),
}


def _number(truth: Exact, measure: str, noise: list[np.ndarray], law: Law) -> np.ndarray:
    return truth.numbers[measure] + noise[0]


def _ratio(truth: Exact, measure: str, noise: list[np.ndarray], law: Law) -> np.ndarray:
    return (truth.numbers["SUM"] + noise[0]) / np.maximum(truth.numbers["COUNT"] + noise[1], 1)


def _centred(truth: Exact, measure: str, noise: list[np.ndarray], law: Law) -> np.ndarray:
    centre, count = law["centre"], truth.numbers["COUNT"]
    return centre + (truth.numbers["SUM"] - centre * count + noise[0]) / np.maximum(count + noise[1], 1)


_FORMS = {"number": _number, "ratio": _ratio, "centred": _centred}


# ---------------------------------------------------------------- medians


def _median(law: Law, prices: np.ndarray, rounds: int, rng: np.random.Generator) -> np.ndarray:
    if "rate" in law:
        return _of_intervals(float(law["rate"]), prices, rounds, rng)
    return _of_candidates(float(law["scale"]), prices, rounds, rng)


def _of_candidates(scale: float, prices: np.ndarray, rounds: int, rng: np.random.Generator) -> np.ndarray:
    """The candidate whose distance in rank, rows below less rows above, less exponential noise, is least."""
    grid = np.arange(round(single.DEAREST / single.CENT) + 1) * single.CENT
    below, upto = np.searchsorted(prices, grid, "left"), np.searchsorted(prices, grid, "right")
    score = np.abs(below - (len(prices) - upto)).astype(float)
    return grid[[np.argmax(rng.exponential(scale, len(grid)) - score) for _ in range(rounds)]]


def _of_intervals(rate: float, prices: np.ndarray, rounds: int, rng: np.random.Generator) -> np.ndarray:
    """An interval between values, by its length times exp(-rate times the distance in rank), and a place in it."""
    ends = np.concatenate([[0.0], prices, [float(single.DEAREST)]])
    distance = np.abs(np.arange(len(prices) + 1) - len(prices) / 2)
    weights = np.diff(ends) * np.exp(-rate * (distance - distance.min()))
    chosen = rng.choice(len(weights), size=rounds, p=weights / weights.sum())
    return ends[chosen] + rng.random(rounds) * np.diff(ends)[chosen]
