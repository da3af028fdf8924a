"""Engines: run a printed plan and give back integers.

- ``DuckDB``  embedded, the default: Parquet, CSV, DuckDB files, and pandas, Polars or Arrow tables in memory

- ``ReleasedTables``  a locked place for released numbers alone, where statements around private questions run

``Engine`` (``protocol``) is what all of them can do, and ``open_engine`` opens one by its name. An engine knows nothing
of privacy: it is given text that was printed from a plan, and what it gives back goes to the mechanisms. Its error
messages may quote rows, so they never leave this room. Start with ``protocol``.
"""

from hubbub.engines.duckdb import DuckDB, EngineFailed, open_engine, tables_in
from hubbub.engines.frames import python_values, readable_column, readable_table
from hubbub.engines.parquet import notes_in_footer
from hubbub.engines.protocol import Engine
from hubbub.engines.records import UNREADABLE, Csv
from hubbub.engines.released import ReleasedTable, ReleasedTables, Repeated, Unbindable, changing_functions
from hubbub.engines.source_headers import Schemas, schemas_of
from hubbub.engines.sources import (
    arrow_of,
    check_header,
    header_of,
    identity_of,
    is_database,
    is_pandas,
    named_sources,
    no_header,
    with_header,
)
from hubbub.schema import InDatabase

__all__ = [
    "UNREADABLE",
    "Csv",
    "DuckDB",
    "Engine",
    "EngineFailed",
    "InDatabase",
    "ReleasedTable",
    "ReleasedTables",
    "Repeated",
    "Schemas",
    "Unbindable",
    "arrow_of",
    "changing_functions",
    "check_header",
    "header_of",
    "identity_of",
    "is_database",
    "is_pandas",
    "named_sources",
    "no_header",
    "notes_in_footer",
    "open_engine",
    "python_values",
    "readable_column",
    "readable_table",
    "schemas_of",
    "tables_in",
    "with_header",
]
