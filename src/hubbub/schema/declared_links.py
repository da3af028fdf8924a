"""Tables as a descriptor declares them, and the links that lead from a row to a person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from hubbub.schema.declared import Declared, DeclaredTable
from hubbub.schema.declared_columns import columns_in
from hubbub.schema.declared_fields import refuse_missing, source_path
from hubbub.schema.source_files import InDatabase
from hubbub.schema.tables import PersonLink
from hubbub.schema.toml_positions import TomlTable, did_you_mean

TABLE_KEYS = ("source", "header", "key", "unit", "max_rows_per_unit", "rows", "public", "why", "columns")


def tables_in(section: TomlTable, engine: str, database: str, folder: Path | None) -> Iterator[DeclaredTable]:
    """The tables, but for the links between them."""
    seen: set[str] = set()
    for name, inside in section.sections():
        inside.only(*TABLE_KEYS)
        if not name.isprintable() or not name.strip() or "." in name or name.lower() in seen:
            section.refuse(
                name,
                "the name of a table is not empty, has no dot, and differs from the others in more than case.",
                why="Columns are named as table.column, and SQL does not tell small letters from capitals.",
                fix="Give the table another name; source says where it lives.",
                key=True,
            )
        seen.add(name.lower())
        yield DeclaredTable(
            name=name,
            source=_table_source(inside, name, engine, database, folder),
            header=_read_header(inside),
            key=inside.words("key"),
            max_rows_per_unit=inside.count("max_rows_per_unit"),
            rows=inside.count("rows"),
            public=inside.flag("public"),
            why=inside.sentence("why"),
            columns=tuple(columns_in(inside.section("columns"))),
        )


def _table_source(table: TomlTable, name: str, engine: str, database: str, folder: Path | None) -> str | InDatabase:
    own = table.words("source")
    if engine == "postgres":
        return InDatabase(database, own or name)
    if own or not database:
        return source_path(own, folder)
    return InDatabase(source_path(database, folder), name)


def _read_header(table: TomlTable) -> bool | tuple[str, ...] | None:
    """Whether a CSV file's first line names its columns; or their names, if it does not."""
    given = table.content.get("header")
    if given is None or given is True:
        return given
    names = [str(name) for name in given if isinstance(name, str) and name.strip()] if isinstance(given, list) else []
    if not names or names != given or len({name.lower() for name in names}) < len(names):
        table.refuse(
            "header",
            "header is true, or the list of a CSV file's columns if no line of it names them.",
            why="Without a header the first line is a person's record, so names must come from its owner.",
            fix='Write header = true, or header = ["patient_id", "ward", "cost"].',
        )
    return tuple(names)


def _table_named(name: str, tables: Sequence[DeclaredTable]) -> DeclaredTable | None:
    return next((table for table in tables if table.name.lower() == name.lower()), None)


def unit_in(privacy: TomlTable, tables: Sequence[DeclaredTable]) -> str:
    """Who is protected: a table's column, or nothing for rows."""
    if "unit" not in privacy.content:
        refuse_missing(
            privacy, "unit", "who is protected", 'unit = "table.column", or unit = "row" if each row is one person'
        )
    reference = privacy.words("unit")
    if reference == "row":
        return ""
    table = _referenced_table(privacy, "unit", reference, tables)
    if table.public:
        privacy.refuse(
            "unit",
            f"{table.name} is public, and the unit is a column of it.",
            why="A public table is shown as it is, so nobody in it is protected.",
            fix=f"Take public = true away from [tables.{table.name}], or name another column.",
        )
    return f"{table.name}.{reference.partition('.')[2]}"


def _referenced_table(section: TomlTable, key: str, reference: str, tables: Sequence[DeclaredTable]) -> DeclaredTable:
    """The table of a reference such as "patients.patient_id"."""
    name, dot, column = reference.partition(".")
    table = _table_named(name, tables)
    if not dot or not column or table is None:
        problem = f"there is no table {name!r}.{did_you_mean(name, [t.name for t in tables])}"
        section.refuse(
            key,
            problem if dot and column else "a column of a table is written as table.column.",
            why="From each row there must be a way to the person it is about.",
            fix=f"Name a column of one of these tables: {', '.join(t.name for t in tables)}.",
        )
    return table


def link_tables(declared: Declared, section: TomlTable) -> Iterator[DeclaredTable]:
    """The tables with their links, each of which leads to the unit in the end."""
    linked = [_link_table(declared, table, section.section(table.name)) for table in declared.tables]
    for table in linked:
        _check_end(declared, table, linked, section)
    return (_cap_rows(declared, table, section.section(table.name)) for table in linked)


def _link_table(declared: Declared, table: DeclaredTable, section: TomlTable) -> DeclaredTable:
    protected, _, column = declared.unit.partition(".")
    if table.public or not declared.unit:
        _check_unlinked(table, section)
        return table
    declared_link = _declared_link(section)
    if table.name == protected:
        if declared_link is not None and (
            declared_link[0].lower() != column.lower() or declared_link[1].lower() not in ("", declared.unit.lower())
        ):
            section.refuse(
                "unit",
                f"the unit is {declared.unit} itself, and this names another column.",
                why="Nobody can be two people at once.",
                fix="Leave this line out, or change privacy.unit.",
            )
        return replace(table, link=PersonLink(column))
    if declared_link is None:
        section.refuse(
            "unit",
            f"from a row of {table.name} no way leads to the person it is about.",
            why=f"The unit is {declared.unit}, and a private row without a person would not be protected.",
            fix='Add unit = { column = "table.key" }, unit = "column" if it holds the unit itself, or public = true.',
            key=True,
        )
    return replace(table, link=_link_target(declared, declared_link, section))


def _check_unlinked(table: DeclaredTable, section: TomlTable) -> None:
    for key in ("unit", "max_rows_per_unit"):
        if key in section.content:
            reason = "is public" if table.public else "belongs to a dataset whose unit is the row"
            section.refuse(
                key,
                f"{table.name} {reason}, so {key} has no meaning here.",
                why="It is not clear whom this line should protect.",
                fix="Leave this line out, or say who is protected: public = false, and a column as privacy.unit.",
                key=True,
            )


def _declared_link(section: TomlTable) -> tuple[str, str] | None:
    """(column, target) as typed: unit = "column", or unit = { column = "table.key" }."""
    link = section.content.get("unit")
    if link is None:
        return None
    if isinstance(link, str) and link:
        return section.words("unit"), ""
    if not isinstance(link, dict) or len(link) != 1:
        section.refuse(
            "unit",
            "the unit of a table is one column, or one column and what it refers to.",
            why="From each row exactly one way leads to a person.",
            fix='Write unit = "patient_id" or unit = { patient_id = "patients.patient_id" }.',
        )
    [column] = link
    return column, section.section("unit").words(column)


def _link_target(declared: Declared, link: tuple[str, str], section: TomlTable) -> PersonLink:
    column, reference = link
    if not reference and isinstance(section.content["unit"], str):
        return PersonLink(column)
    inside = section.section("unit")
    table = _referenced_table(inside, column, reference, declared.tables)
    key = reference.partition(".")[2]
    leads = key.lower() == table.key.lower() or f"{table.name}.{key}".lower() == declared.unit.lower()
    if table.public or not leads:
        reason = "is public and leads to nobody" if table.public else f"has another key than {key!r}, or none"
        inside.refuse(
            column,
            f"{table.name} {reason}.",
            why="Only a private table's key, or the unit itself, leads from one row to exactly one person.",
            fix=f'Declare key = "{key}" in [tables.{table.name}] if no two rows share it, or refer to another column.',
        )
    return PersonLink(column, table.name, key)


def _is_direct(declared: Declared, link: PersonLink) -> bool:
    """Whether the link's column holds the unit itself."""
    return not link.table or f"{link.table}.{link.key}".lower() == declared.unit.lower()


def _check_end(declared: Declared, table: DeclaredTable, tables: Sequence[DeclaredTable], section: TomlTable) -> None:
    way, here = [table.name], table
    while here.link is not None and not _is_direct(declared, here.link):
        here = next(other for other in tables if other.name == here.link.table)
        way.append(here.name)
        if here.name in way[:-1]:
            section.section(table.name).refuse(
                "unit",
                f"the links go round in a circle: {' -> '.join(way)}.",
                why=f"No way leads from a row of {table.name} to {declared.unit}.",
                fix=f'Let one of these tables refer to the unit: unit = {{ column = "{declared.unit}" }}.',
            )


def _cap_rows(declared: Declared, table: DeclaredTable, section: TomlTable) -> DeclaredTable:
    """A table whose key is the unit has one row for each person."""
    link = table.link
    if link is None or not table.key or table.key.lower() != link.column.lower() or not _is_direct(declared, link):
        return table
    if table.max_rows_per_unit not in (None, 1):
        section.refuse(
            "max_rows_per_unit",
            f"the key of {table.name} is the unit, so a person has one row, and this says more.",
            why="No two rows share a key.",
            fix="Leave this line out, or take the key away.",
        )
    return replace(table, max_rows_per_unit=1)
