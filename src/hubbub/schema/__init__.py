"""Tables and columns as their owner declares them: one descriptor, its TOML form with positions, and its page.

``tables`` has ``Dataset``, ``Table``, ``Column``; ``descriptor`` reads TOML, ``domain_file`` the columns of one table,
``draft`` writes it, ``description`` shows it; ``source_files`` says where rows lie. Nothing here opens data. Start with
``tables``.
"""

from hubbub.schema import descriptor
from hubbub.schema.declared import kind_declared, kind_undeclared, typed_bound
from hubbub.schema.declared_cells import PRIVATE
from hubbub.schema.description import Description, describe
from hubbub.schema.descriptor import json_schema
from hubbub.schema.domain_file import DeclaredColumns, read_columns
from hubbub.schema.draft import budget_toml, draft, key_of, quoted, toml
from hubbub.schema.source_files import (
    DATABASE,
    PARQUET,
    FrameLike,
    Headless,
    InDatabase,
    check_distinct,
    files_of,
    format_of,
    is_csv,
    one_file,
    stem_of,
    unavailable,
)
from hubbub.schema.tables import Column, Dataset, Kind, PersonLink, Privately, Table, Value, choose_table, is_reserved
from hubbub.schema.toml_positions import TomlText

__all__ = [
    "DATABASE",
    "PARQUET",
    "PRIVATE",
    "Column",
    "Dataset",
    "DeclaredColumns",
    "Description",
    "FrameLike",
    "Headless",
    "InDatabase",
    "Kind",
    "PersonLink",
    "Privately",
    "Table",
    "TomlText",
    "Value",
    "budget_toml",
    "check_distinct",
    "choose_table",
    "describe",
    "descriptor",
    "draft",
    "files_of",
    "format_of",
    "is_csv",
    "is_reserved",
    "json_schema",
    "key_of",
    "kind_declared",
    "kind_undeclared",
    "one_file",
    "quoted",
    "read_columns",
    "stem_of",
    "toml",
    "typed_bound",
    "unavailable",
]
