"""The tables of a source, with the names and kinds of their columns: from schemas and headers, never from rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hubbub.engines.sources import named_sources

if TYPE_CHECKING:
    from hubbub.schema import Kind

Schemas = Mapping[str, list[tuple[str, "Kind"]]]


def schemas_of(source: str, *, named: Sequence[str] = (), header: bool | Sequence[str] | None = None) -> Schemas:
    """(name, kind) of each column, by table; a file's table is named after its stem.

    The first line of a CSV file is told only if it is known to be a header: by columns that are ``named``, or because
    ``header`` says so.
    """
    from hubbub.engines import DuckDB
    from hubbub.engines.sources import check_header
    from hubbub.schema import Kind, is_csv, is_reserved

    csv = is_csv(source)
    if csv and header in (None, True):
        check_header(source, named, said=header is True)
    tables = named_sources(source, header=header if csv else None)
    engine = DuckDB(tables)
    try:
        return {
            table: [(name, Kind(kind)) for name, kind in engine.columns(table) if not is_reserved(name)]
            for table in tables
        }
    finally:
        engine.close()
