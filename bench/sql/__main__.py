"""``python -m bench.sql [--quick] [--peers] [--part speed]``: a look at some figures; only what peers took is kept.

``python -m bench --area sql`` measures everything in one run and keeps it.
"""

from __future__ import annotations

import argparse

from bench import sql


def main() -> None:
    """Print the figures asked for."""
    parser = argparse.ArgumentParser(prog="python -m bench.sql")
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    parser.add_argument("--peers", action="store_true", help="measure peers again, instead of using what was kept")
    parser.add_argument("--part", action="append", choices=sql.PARTS)
    asked = parser.parse_args()
    for part in asked.part or sql.PARTS:
        for row in sql.rows(asked.quick, parts=(part,), peers_again=asked.peers):
            sign, verdict = "<=" if row.better == "lower" else ">=", "pass" if row.met else "MISS"
            print(
                f"{verdict}  {row.value:.4g} {row.unit} ({sign} {row.target:g})  {row.name}  [{row.note}]", flush=True
            )


if __name__ == "__main__":
    main()
