"""The tables of a source, with the names and kinds of their columns: from schemas and headers, never from rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hubbub.sql.schema import Kind

Schemas = Mapping[str, list[tuple[str, "Kind"]]]


def schemas_of(source: str) -> Schemas:
    """(name, kind) of each column, by table; a file's table is named after its stem."""
    from hubbub.engines import DuckDB
    from hubbub.sql.connect import _sources
    from hubbub.sql.schema import Kind

    tables = _sources(source)
    engine = DuckDB(tables)
    try:
        return {
            table: [(name, Kind(kind)) for name, kind in engine.columns(table) if not name.startswith("_hb_")]
            for table in tables
        }
    finally:
        engine.close()
