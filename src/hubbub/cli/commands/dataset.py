"""``hubbub describe``, ``prepare`` and ``dataset ...``: what is public about data, written down, checked and shown."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hubbub.cli.options.connections import At, read_dataset, read_dataset_with_budget
from hubbub.cli.options.groups import spread_groups
from hubbub.cli.options.pages import AsJson, PageOptions, show_result
from hubbub.cli.options.source_facts import DeclaredFacts, Header, Source, SourceFacts
from hubbub.cli.output import streams as output

if TYPE_CHECKING:
    from hubbub.cli.options.descriptor_blanks import FileFacts
    from hubbub.render import Json
    from hubbub.schema import Dataset, Table

app = typer.Typer(help="Descriptors: what an owner declares about data. Draft one, check it.", no_args_is_help=True)

Out = Annotated[Path | None, typer.Option("--out", help="Write it into this file, not to stdout.", metavar="FILE")]


@spread_groups
def describe(source: Source, *, declared: DeclaredFacts, at: At = None, page: PageOptions) -> None:
    """What is public about a source: who is protected, tables, columns, bounds, keys. Free; reads no row."""
    from hubbub.schema import describe as describe_dataset

    page.show(describe_dataset(read_dataset_with_budget(SourceFacts(source, declared), at)))


def prepare(
    source: Annotated[str, typer.Argument(help="A Parquet, CSV or DuckDB file.", metavar="SOURCE")],
    unit: Annotated[str, typer.Option("--unit", help="The column that tells people apart.", metavar="COLUMN")],
    out: Annotated[Path, typer.Option("--out", help="The Parquet file to write.", metavar="FILE")],
    as_json: AsJson = False,
) -> None:
    """Store each row's rank within its person, so that every later question is as fast as an exact one."""
    from hubbub.sql import prepare as rank

    new_file(out)
    rank(source, unit=unit, out=out)
    content: Json = {"kind": "prepared", "source": source, "unit": unit, "out": str(out)}
    show_result(f"wrote {out}", content, as_json=as_json)
    if not as_json:
        output.talk(
            "It is about the same people, whose budget is one. Keep the original, and name the copy as the source:"
        )
        output.talk(
            f'source = "{out}" in the descriptor, or {out} --name {_table_name(source, unit)} in place of {source}.'
        )


def _table_name(source: str, unit: str) -> str:
    """What a table is called if nobody says: as its file, or as in its database."""
    from hubbub.schema import DATABASE, stem_of

    inside = unit.rpartition(".")[0] if source.lower().endswith(DATABASE) else ""
    return inside or stem_of(source)


@app.command()
def draft(
    files: Annotated[list[str], typer.Argument(help="Parquet or CSV files, or one DuckDB file.", metavar="FILE...")],
    name: Annotated[
        str | None, typer.Option("--name", help="What it is called. [default: the first table's name]", metavar="NAME")
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option("--unit", help="A column of every file: a CSV file with it has a header.", metavar="COLUMN"),
    ] = None,
    header: Header = None,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """A descriptor with blanks to fill in, from the names and types of columns; reads no row.

    What stands in the first line of a CSV file is shown only if --unit or --header says that it holds names.
    """
    from hubbub.cli.options.descriptor_blanks import FileFacts, fill_blanks
    from hubbub.schema import is_csv

    files_facts = [FileFacts(file, unit, None, None, (), (), header=header if is_csv(file) else None) for file in files]
    text = draft_descriptor(files_facts, name=name, folder=out.parent if out else Path())
    for each in files_facts if len(files_facts) == 1 else [replace(each, unit=None) for each in files_facts]:
        text = fill_blanks(text, each.blanks())  # in which of several tables people are told apart is not yet said
    if out is not None:
        write_new(out, text)
        output.talk(f"wrote {out}: fill in the blanks, then `hubbub dataset check {out}`")
    if as_json:
        output.print_json({"kind": "draft", "descriptor": text})
    elif out is None:
        output.print_data(text)


@app.command()
def check(
    descriptor: Annotated[Path, typer.Argument(help="The descriptor.", metavar="DESCRIPTOR")],
    as_json: AsJson = False,
) -> None:
    """Whether a descriptor can be used with its sources, and what it leaves open; reads no row."""
    dataset = check_descriptor(descriptor)
    advice = list(left_open(dataset))
    content: Json = {
        "kind": "check",
        "dataset": dataset.name,
        "tables": [table.name for table in dataset.tables],
        "open": advice,
    }
    show_result(f"{descriptor.name} is fine: {_describe_dataset(dataset)}", content, as_json=as_json)
    for words in () if as_json else advice:
        output.talk(words)


@app.command()
def schema(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document; it always is one.")] = True,
) -> None:
    """The JSON Schema of descriptors, for editors."""
    from hubbub.schema import json_schema

    output.print_json(json_schema())


# ---------------------------------------------------------------- parts that `hubbub init` uses too


def draft_descriptor(files_facts: Sequence[FileFacts], *, name: str | None, folder: Path) -> str:
    """A draft for the files that something is said of; their paths are written as seen from ``folder``."""
    from hubbub.schema import DATABASE
    from hubbub.schema import draft as write

    files = [each.file for each in files_facts]
    schemas = {each.file: each.schemas() for each in files_facts}
    tables = {table: columns for tables_of_file in schemas.values() for table, columns in tables_of_file.items()}
    seen = {file: os.path.relpath(file, folder) for file in files}
    if any(file.lower().endswith(DATABASE) for file in files):
        if len(files) > 1:
            raise typer.BadParameter("a DuckDB file stands alone: a descriptor names one database.")
        source: str | dict[str, str] = seen[files[0]]
    else:
        source = {table: seen[file] for file, tables_of_file in schemas.items() for table in tables_of_file}
        if len(source) < len(files):
            raise typer.BadParameter("two files have the same name, and tables are named after their files.")
    return write(name or next(iter(tables), "dataset"), tables, source=source)


def check_descriptor(descriptor: Path) -> Dataset:
    """The dataset of a descriptor, joined with its sources; refused if they do not fit."""
    return read_dataset(SourceFacts(str(descriptor if descriptor.suffix == ".toml" else _no_descriptor(descriptor))))


def _no_descriptor(path: Path) -> Path:
    raise typer.BadParameter(f"'{path}' does not end in .toml, as descriptors do.")


def left_open(dataset: Dataset) -> Iterator[str]:
    """What is not declared, and what cannot be asked therefore."""
    for table in dataset.tables:
        if table.public:
            continue
        if table.link is not None and table.max_rows_per_unit is None:
            yield f"{table.name}: no max_rows_per_unit, so only people can be counted, not rows."
        bare = _unbounded_columns(table)
        if bare:
            yield f"{table.name}: no bounds, so no sums, averages or quantiles of {', '.join(bare)}."


def _unbounded_columns(table: Table) -> list[str]:
    unit = table.link.column if table.link is not None else ""
    return [c.name for c in table.columns if c.kind.is_number and c.lower is None and c.name not in (unit, table.key)]


def _describe_dataset(dataset: Dataset) -> str:
    count = len(dataset.tables)
    return f"{count} table{'s' * (count != 1)}, protecting {dataset.unit or 'each row'}."


def new_file(path: Path) -> None:
    """Refuse to write over a file."""
    if path.exists():
        raise typer.BadParameter(f"{path} is there already; name another, or move it away.", param_hint="--out")


def write_new(path: Path, text: str) -> None:
    """Write a file that was not there."""
    new_file(path)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise typer.BadParameter(f"cannot write {path}: {error.strerror}", param_hint="--out") from None
