"""The workload: purchases of people, from a fixed seed, written once as Parquet.

Contributions are lognormal with mean 10 rows a person; 50 regions with 85% of a person's rows at home; 5,000 products
by a Zipf law of 1.1; amounts lognormal, in cents and at most 500; 365 days.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bench import cache

ROWS, FEWER, SMALL = 10_000_000, 1_000_000, 100_000
REGIONS = [f"R{i:02d}" for i in range(50)]
PRODUCTS = [f"P{i:04d}" for i in range(5000)]
CHUNK = 1_000_000
SEED = 7


def path(rows: int) -> Path:
    """The table of so many rows; its name in SQL is ``t``."""
    place = cache.folder("tables", f"{rows}-seed-{SEED}") / "t.parquet"
    return cache.once(place, lambda part: _write(part, _chunks(rows)))


def modest(people: int, rows_each: int) -> Path:
    """A small table that no bound cuts: everyone has ``rows_each`` rows, and amounts are within 0 and 200."""
    place = cache.folder("tables", f"modest-{people}x{rows_each}") / "t.parquet"
    return cache.once(place, lambda part: _write(part, iter([_modest(people, rows_each)])))


def _write(place: Path, chunks: Iterator[object]) -> None:
    import pyarrow.parquet as parquet

    first = next(chunks)
    with parquet.ParquetWriter(place, first.schema) as writer:
        writer.write_table(first)
        for chunk in chunks:
            writer.write_table(chunk)


def _chunks(rows: int) -> Iterator[object]:
    rng = np.random.default_rng(SEED)
    people = rows // 10
    share = _steps(rng.lognormal(0, 0.9, people))
    home = rng.integers(0, len(REGIONS), people)
    popularity = _steps(1.0 / np.arange(1, len(PRODUCTS) + 1) ** 1.1)
    for start in range(0, rows, CHUNK):
        size = min(CHUNK, rows - start)
        person = _pick(rng, share, size)
        region = np.where(rng.random(size) < 0.85, home[person], rng.integers(0, len(REGIONS), size))
        product = _pick(rng, popularity, size)
        amount = np.round(np.minimum(rng.lognormal(3.2, 0.9, size), 500.0), 2)
        yield _table(person, region, product, amount, rng.integers(0, 365, size))


def _modest(people: int, rows_each: int) -> object:
    rng = np.random.default_rng(SEED)
    size = people * rows_each
    person = np.repeat(np.arange(people), rows_each)
    amount = np.round(np.clip(rng.lognormal(3.2, 0.6, size), 0.01, 199.99), 2)
    region, product = rng.integers(0, len(REGIONS), size), rng.integers(0, 100, size)
    return _table(person, region, product, amount, rng.integers(0, 365, size))


def _steps(weights: np.ndarray) -> np.ndarray:
    return np.cumsum(weights / weights.sum())


def _pick(rng: np.random.Generator, steps: np.ndarray, size: int) -> np.ndarray:
    return np.minimum(np.searchsorted(steps, rng.random(size)), len(steps) - 1)


def _table(person: np.ndarray, region: np.ndarray, product: np.ndarray, amount: np.ndarray, day: np.ndarray) -> object:
    import pyarrow as pa

    named = {"user_id": pa.array(person.astype("int64")), "region": _texts(region, REGIONS)}
    numbers = {"amount": pa.array(amount), "day": pa.array(day.astype("int32"))}
    return pa.table({**named, "product": _texts(product, PRODUCTS), **numbers})


def _texts(codes: np.ndarray, names: list[str]) -> object:
    import pyarrow as pa

    return pa.array(names).take(pa.array(codes))
