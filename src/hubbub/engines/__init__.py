"""Engines: run a printed plan and give back integers.

- ``DuckDB``  embedded, the default: Parquet, CSV, DuckDB files, and pandas, Polars or Arrow tables in memory

An engine knows nothing of privacy: it is given text that was printed from a plan, and what it gives back goes to the
mechanisms. Its error messages may quote rows, so they never leave this room.
"""

from hubbub.engines.duckdb import DuckDB, EngineFailed
from hubbub.schema.source_files import InDatabase

__all__ = ["DuckDB", "EngineFailed", "InDatabase"]
