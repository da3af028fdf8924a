"""One question at a time: how wrong Hubbub's answer is beside each peer's, at the same epsilon, delta, bounds and keys.

Nobody has more than ``ROWS_EACH`` rows and no amount lies beyond its bounds, so that no bound cuts anything and what
is compared is noise alone; the workload's own questions (Q2 to Q4) are compared with what bounding cuts off.

A peer tells the law of its noise (``law``: read off its own description of the query, not worked out for it), and
gives one real answer by 5,000 keys of each kind, by which the law is checked.
"""

from __future__ import annotations

from pathlib import Path

EPSILONS = ("0.1", "1", "3")
DELTA = 1e-8
KEYS = (1, 5, 50, 5000)
NUMBERS = ("COUNT", "COUNT DISTINCT person", "SUM", "AVG")
MEASURES = (*NUMBERS, "median")
PEERS = ("opendp", "smartnoise", "pipelinedp", "qrlew", "tumult")
PEOPLE, ROWS_EACH = 100_000, 3
LARGEST = 2000  # amounts are whole numbers from 0
DEAREST, STEP = 200, 0.001  # prices, of which medians are asked, are not rounded; our answers are
CENT = 0.01  # candidates of peers that take a list of them
SEED = 18
BUDGET = (1, 1e-6)  # of fifty questions: each measure of rows with at least some amount, by three columns of keys
RHO = 0.02435597  # the budget in rho, with all of delta for the conversion
FIFTY = [(measure, keys, least) for least in (0, 100, 200, 300) for keys in KEYS[:3] for measure in NUMBERS]
FIFTY += [("COUNT", 5, 500), ("COUNT", 50, 500)]


def names(keys: int) -> list[str]:
    """The public keys of the column ``k<keys>``."""
    return [f"K{place:04d}" for place in range(keys)]


def path() -> Path:
    """The table: everyone has three rows with keys of their own, in a folder that peers can read."""
    from bench import cache

    return cache.once(cache.folder("tables", f"single-{PEOPLE}x{ROWS_EACH}-seed-{SEED}") / "t.parquet", _write)


def _write(place: Path) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as parquet

    rng, size = np.random.default_rng(SEED), PEOPLE * ROWS_EACH
    amount = np.minimum(np.rint(rng.lognormal(5.5, 0.9, size)), LARGEST).astype("int64")
    price = np.clip(rng.lognormal(3.2, 0.9, size), 0, DEAREST)
    columns = {"user_id": pa.array(np.repeat(np.arange(PEOPLE), ROWS_EACH))}
    columns |= {"amount": pa.array(amount), "price": pa.array(price)}
    for keys in KEYS[1:]:
        columns[f"k{keys}"] = pa.array(names(keys)).take(pa.array(rng.integers(0, keys, size)))
    parquet.write_table(pa.table(columns), place)
