"""``python -m bench [--area noise [--part NAME]] [--quick]``: print the tables and keep them as JSON."""

from __future__ import annotations

import argparse
import importlib
import json
import platform
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.table import Table

import hubbub
from bench.rows import Row

AREAS = ["noise", "accounting", "ledger", "sql", "local", "attacks", "audit", "learn", "gopa", "publish"]
RESULTS = Path(__file__).parent / "results"


def main() -> None:
    """Run the areas asked for."""
    parser = argparse.ArgumentParser(prog="make bench")
    parser.add_argument("--area", choices=AREAS)
    parser.add_argument("--part", default="", help="one file of a large area; its rows replace those that were kept")
    parser.add_argument("--quick", action="store_true", help="smaller sizes, for a first look; not kept")
    asked = parser.parse_args()
    if asked.part and not asked.area:
        parser.error("--part is a part of an --area")
    for area in [asked.area] if asked.area else AREAS:
        run(area, asked.quick, asked.part)


def run(area: str, quick: bool, part: str = "") -> None:
    """Measure one area, print its table, and keep it unless it was a quick look."""
    found = _rows(area, part, quick)
    table = Table("figure", "measured", "target", "", "note", title=f"{area}{' (quick)' if quick else ''}")
    for row in found:
        sign = "<=" if row.better == "lower" else ">="
        measured, target = f"{row.value:.4g} {row.unit}", f"{sign} {row.target:g} {row.unit}"
        table.add_row(row.name, measured, target, "pass" if row.met else "MISS", row.note)
    Console(width=160).print(table)
    if not quick:
        names = ("numpy", "scipy", "numba", "dp-accounting", "SQLAlchemy", "duckdb", "sqlglot", "pyarrow")
        packages = {name: version(name) for name in names}
        about = {
            "python": platform.python_version(),
            "machine": platform.machine(),
            "hubbub": hubbub.__version__,
            **packages,
        }
        path = RESULTS / f"{area}.json"
        others = _others(path, {row.name for row in found}) if part else []
        kept = {"area": area, "about": about, "rows": [*others, *(row.to_json() for row in found)]}
        path.write_text(json.dumps(kept, indent=1) + "\n")


def _rows(area: str, part: str, quick: bool) -> list[Row]:
    """The rows of an area, or of one part: by the area itself if it knows its parts, else by the part's module."""
    whole = importlib.import_module(f"bench.{area}")
    if not part:
        return whole.rows(quick)  # type: ignore[no-any-return]
    if part in getattr(whole, "PARTS", ()):
        return whole.rows(quick, parts=(part,))  # type: ignore[no-any-return]
    return importlib.import_module(f"bench.{area}.{part}").rows(quick)  # type: ignore[no-any-return]


def _others(path: Path, names: set[str]) -> list[dict[str, object]]:
    """The rows that were kept before and are not among these."""
    if not path.exists():
        return []
    return [row for row in json.loads(path.read_text())["rows"] if row["name"] not in names]


if __name__ == "__main__":
    main()
