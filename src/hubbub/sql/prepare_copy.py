"""Rank each person's rows once: a copy of a table in which any later cap on rows is one comparison.

The copy is a Parquet file with two columns more: ``_hb_rank``, the place of a row among its person's, and ``_hb_rows``,
how many rows that person has. Ranks go by a keyed hash of the row's own content and then by the content itself, under a
key that is drawn for the copy and forgotten. A seal (``_seal.py``) tells a copy from a file made of copies.
"""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from hubbub.durable import put_in_place
from hubbub.engines import EngineFailed, InDatabase, check_header, open_engine, tables_in
from hubbub.relations import (
    DIALECTS,
    Expr,
    ValueFacts,
    form_of,
    is_direct,
    is_kind,
    literal,
    person_form,
    print_relation,
    shown_type,
)
from hubbub.relations.nodes import (
    NUMBER,
    PERSON,
    RANK,
    Alias,
    Filter,
    NamedValue,
    PlainRows,
    Project,
    Relation,
    SharedRelation,
    SourceTable,
    UnionAll,
    With,
    as_text,
    as_type,
    is_known,
    keyed_hash,
    over_person,
    person_id,
    read_as,
    sign_of,
)
from hubbub.schema import DATABASE, PARQUET, Dataset, Kind, Table, files_of, is_csv, is_reserved
from hubbub.sql.copy_seal import Notes, notes_for, notes_in, seal, word_of
from hubbub.terms import OutOfRange, SourceUnavailable, UnknownName

SECONDS = 3600.0
_TABLE = "source"
_LOST_IN_PARQUET = {"HUGEINT": "DECIMAL(38,0)", "UHUGEINT": "DECIMAL(38,0)"}  # it would keep doubles


def prepare(
    source: object,
    *,
    unit: str,
    out: str | Path,
    types: Mapping[str, str] | None = None,
    seconds: float = SECONDS,
    memory: str = "",
    _key: str | None = None,
) -> Path:
    """Write a copy of a table that carries each row's rank within its person, and give back its path.

    ``source`` is a Parquet or CSV file (or a glob of them), a table of a DuckDB file, or a table in memory. Columns of
    a CSV file stay text unless ``types`` says otherwise (``{"cost": "number"}``): a type is never guessed from rows.
    Rows of nobody get no rank, and count in no answer. The copy appears under its name when it is whole, or not at all.

    Guarantee: with the copy in place of the table, every answer is as private as it says, for every cap.
    Because: [DMNS06] through ``docs/proofs/prepared-ranks.md``: a person's ranks are a function of that person's rows
    and of a key, so "rank at most c" keeps at most c rows of each person and never changes with anybody else's.
    Not covered: who may read the copy; it holds the same people's rows as the table and needs the same care.
    """
    place = _place(out)
    table = _table(source, unit)
    _check_place(place, table)
    if isinstance(table, str | Path) and is_csv(table):
        check_header(table, [unit.rpartition(".")[2], *(types or {})])
    with _workplace(place) as file:
        engine = open_engine("duckdb", {_TABLE: table}, memory=memory, spill=file.parent, target=file)
        try:
            columns = _typed(engine.columns(_TABLE), engine.natives(_TABLE), types or {})
            whom = _unit(unit, columns)
            columns[whom] = _id_column(columns[whom], whom, engine.natives(_TABLE)[whom])
            form = _form(whom, columns[whom])
            notes = notes_for(whom, form)
            copy = print_relation(_copy(columns, whom, form, _key or secrets.token_hex(16)), DIALECTS[engine.dialect])
            engine.write(copy, file, notes=notes, seconds=seconds)
        except EngineFailed:
            raise SourceUnavailable(
                "the copy could not be made in the time and memory allowed.",
                why="Every row is sorted once within its person.",
                fix="Allow more: prepare(..., seconds=7200, memory='8GB'), and see that the disk has room.",
            ) from None
        finally:
            engine.close()
        _check_kept(file, whom, form)
        seal(file, word_of(notes))
        _publish(file, place, table)
    return place


def check_prepared(source: object, unit: str, form: str = "") -> bool:
    """Whether the source is a copy that ``prepare`` made for this unit: read from the file's metadata, never from rows.

    A copy made for another unit is refused, and so are several copies read as one table and a file that other rows were
    written to since: a rank then stands for several rows of one person. Columns of the same names without the metadata
    do not make a table a prepared one.
    """
    return _check_notes(_notes(source), unit, form)


def _check_notes(files: list[Notes | None], unit: str, form: str) -> bool:
    if not files:
        return False
    if len(files) > 1:
        raise SourceUnavailable(
            "a prepared copy is one file, and here it is read together with others.",
            why="Ranks count one person's rows within one copy; two copies would let that person count twice.",
            fix="Prepare the whole table at once: prepare('visits/*.parquet', unit=..., out='visits.parquet').",
        )
    [notes] = files
    assert notes is not None
    if notes.unit.lower() != unit.rpartition(".")[2].lower():
        raise SourceUnavailable(
            f"the table was prepared for the unit {notes.unit!r}, and {unit!r} is protected here.",
            why="Its ranks count the rows of the one and say nothing of the other.",
            fix=f"Prepare it again, from the table that it was made of, with unit={unit!r}.",
        )
    if not notes.sealed:
        raise SourceUnavailable(
            "the prepared copy was changed since it was made, or is of an earlier version.",
            why="Rows that were added, taken out or joined from other copies have ranks that count other rows.",
            fix="Prepare it again, from the table that it was made of; change rows there and never in the copy.",
        )
    if form and notes.form != form:
        raise SourceUnavailable(
            f"the table was prepared with ids compared as {notes.form}, and here they are compared as {form}.",
            why="Ids that are two in one of these types can be one in the other, and their ranks then count twice.",
            fix=f"Give {unit!r} the same type in all tables, or use the table that the copy was made of.",
        )
    return True


def is_prepared(source: object, table: Table, dataset: Dataset, columns: Sequence[tuple[str, str]]) -> bool:
    """Whether the ranks in a table's source may be used for this dataset; ``columns`` are those that the engine sees.

    A copy whose ranks count other people's rows than the dataset protects is refused.
    """
    ranked = {RANK, NUMBER} <= {name for name, _ in columns}
    if not ranked or not dataset.unit or table.link is None or not (files := _notes(source)):
        return False
    link = table.link
    declared, stored = table.column(link.column), {name.lower(): kind for name, kind in columns}
    if not is_direct(table, dataset) or declared is None or not is_kind(stored[link.column.lower()], declared.kind):
        raise SourceUnavailable(
            f"the copy that {table.name!r} is read from cannot be used here.",
            why=f"Its ranks count rows by the value of {link.column!r}, and people are told apart in another way: over "
            "another table, or by a column that is declared with another type.",
            fix=f"Use the table that the copy was made of, or prepare it with types={{{link.column!r}: ...}}.",
        )
    return _check_notes(files, link.column, person_form(dataset))


# ---------------------------------------------------------------- the copy


def _copy(columns: Mapping[str, _Column], unit: str, form: str, key: str) -> Relation:
    """Every row with its rank and its person's number of rows; rows of nobody are kept, without either."""
    source = Alias(SourceTable(_TABLE, tuple((name, Kind(column.kind)) for name, column in columns.items())), "s")
    typed = Alias(Project(source, tuple(NamedValue(name, each.value) for name, each in columns.items())), "typed")
    named = tuple(NamedValue(name, typed.column(name)) for name in columns)
    person = NamedValue(PERSON, person_id(typed.column(unit), columns[unit].native, form))
    whose = SharedRelation("_hb_whose", Project(typed, (*named, person)))
    own = tuple(NamedValue(name, whose.column(name)) for name in columns)
    whom = whose.column(PERSON)
    content = [_content(whose.column(name), column.kind) for name, column in columns.items()]
    order = [keyed_hash([parts[0] for parts in content], key), *(part for parts in content for part in parts)]
    ranks = (
        NamedValue(RANK, over_person("row_number", whom, order)),
        NamedValue(NUMBER, over_person("count", whom)),
    )
    nothing = (NamedValue(RANK, literal(None)), NamedValue(NUMBER, literal(None)))
    somebody = PlainRows(Filter(whose, (is_known(whom),)), (*own, *ranks))
    nobody = PlainRows(Filter(whose, (Expr("isnull", (whom,)),)), (*own, *nothing))
    return With((whose,), UnionAll((somebody, nobody)))


def _form(name: str, column: _Column) -> str:
    """How people are told apart, which is how a query does it."""
    form = form_of([column.native])
    if form is None or " COLLATE " in form or (column.kind == "opaque" and form != "BLOB"):
        raise _unkept(name, column.native)
    return form


def _check_kept(file: Path, name: str, form: str) -> None:
    """Refuse ids that the file holds with fewer digits than they were ranked by."""
    written = open_engine("duckdb", {_TABLE: str(file)})
    try:
        native = written.natives(_TABLE)[name]
    finally:
        written.close()
    if form_of([native]) != form:
        raise _unkept(name, native)


def _unkept(name: str, native: str) -> SourceUnavailable:
    return SourceUnavailable(
        f"people cannot be told apart by {name!r} in a prepared copy, as it is of type {shown_type(native)}.",
        why="A Parquet file keeps values of this type in another way than they are compared here.",
        fix="Use the table as it is, or give ids as whole numbers, as text, or as a UUID.",
    )


def _content(column: Expr, kind: str) -> list[Expr]:
    """What tells two values of a column apart, down to the sign of a zero: equal rows are then the same row."""
    if kind == "number":
        return [column, sign_of(column)]
    return [as_text(column)] if kind == "opaque" else [column]


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of the copy: its value, its kind, and the engine's type of it."""

    value: Expr
    kind: str
    native: str


def _typed(columns: list[tuple[str, str]], natives: Mapping[str, str], types: Mapping[str, str]) -> dict[str, _Column]:
    """The columns of the copy, by name."""
    known = {name.lower(): name for name, _ in columns}
    for name in types:
        if name.lower() not in known:
            raise _unknown(name, columns, "A type was given for it.")
    for name, _ in columns:
        if is_reserved(name):
            raise SourceUnavailable(
                f"the table has a column {name!r}: it was prepared already, or the name is taken.",
                why="Names that begin with _hb_ are those that the copy adds.",
                fix="Prepare the table that the copy was made of, or rename the column.",
            )
    wanted = {name.lower(): _kind(name, kind) for name, kind in types.items()}
    return {name: _column(name, kind, natives[name], wanted.get(name.lower())) for name, kind in columns}


def _column(name: str, kind: str, native: str, wanted: Kind | None) -> _Column:
    source = _source_column(name, Kind(kind))
    if wanted is not None:
        return _Column(read_as(source, native, wanted), wanted.value, DIALECTS["duckdb"].types[wanted])
    kept = _LOST_IN_PARQUET.get(native)
    return _Column(source, kind, native) if kept is None else _Column(as_type(source, kept), kind, kept)


def _source_column(name: str, kind: Kind) -> Expr:
    return Expr("column", param=("s", name), facts=ValueFacts(kind=kind))


def _id_column(column: _Column, name: str, native: str) -> _Column:
    """The column that tells people apart: where it becomes whole numbers, 1.5 is nobody and not the person 2."""
    if column.native != "BIGINT" or native == "BIGINT":
        return column
    return replace(column, value=person_id(_source_column(name, Kind(column.kind)), native, "BIGINT"))


def _kind(name: str, kind: str) -> Kind:
    kinds = [known.value for known in Kind if known is not Kind.OPAQUE]
    if kind not in kinds:
        raise OutOfRange(
            f"the type of {name!r} is not one that a query can speak of.",
            why="A column that is cast becomes one of our kinds.",
            fix=f"Use one of: {', '.join(kinds)}.",
        )
    return Kind(kind)


def _unit(unit: str, columns: Mapping[str, object]) -> str:
    wanted = unit.rpartition(".")[2]
    found = next((name for name in columns if name.lower() == wanted.lower()), None)
    if found is None:
        raise _unknown(wanted, [(name, "") for name in columns], "It was named as the one that tells people apart.")
    return found


def _unknown(name: str, columns: list[tuple[str, str]], why: str) -> UnknownName:
    listed = ", ".join(known for known, _ in columns)[:300]
    return UnknownName(f"there is no column {name!r}.", why=why, fix=f"Use one of: {listed}.")


# ---------------------------------------------------------------- files


def _table(source: object, unit: str) -> object:
    """The source, with a table of a DuckDB file named: the one of the unit, or the only one."""
    if not isinstance(source, str | Path) or not str(source).lower().endswith(DATABASE):
        return source
    tables, wanted = tables_in(str(source)), unit.rpartition(".")[0]
    named = [table for table in tables if not wanted or table.lower() == wanted.lower()]
    if len(named) != 1:
        raise SourceUnavailable(
            f"{source} has {len(tables)} tables, and one is prepared at a time.",
            why="Each table has a copy of its own.",
            fix="Name it with the unit: --unit visits.patient_id, or unit='visits.patient_id' in Python. "
            f"The tables are {', '.join(tables)}.",
        )
    return InDatabase(str(source), named[0])


def _read_from(source: object) -> list[str]:
    """The files that a source is read from; none of a table in memory."""
    if isinstance(source, InDatabase):
        return files_of(source.path)
    return files_of(source) if isinstance(source, str | Path) else []


def _place(out: str | Path) -> Path:
    place = Path(out).absolute()
    if not place.name.lower().endswith(PARQUET) or any(sign in str(place) for sign in "*?["):
        raise SourceUnavailable(
            f"{out} is no name for a prepared copy.",
            why="The copy is one Parquet file, known by its ending.",
            fix='Write out="visits.prepared.parquet".',
        )
    if not place.parent.is_dir():
        raise SourceUnavailable(
            f"{out} cannot be written.",
            why="Its folder is not there.",
            fix=f"Make the folder (mkdir {place.parent}), or choose another.",
        )
    return place


def _check_place(place: Path, source: object) -> None:
    """Nothing but an earlier copy is ever written over."""
    if not place.exists():
        return
    own = any(place.samefile(file) for file in _read_from(source))
    if own or not place.is_file() or not _notes(place):
        raise SourceUnavailable(
            f"{place.name} is there already and would be lost.",
            why="Only an earlier prepared copy is replaced, never the table itself.",
            fix="Choose another name for out=.",
        )


@contextmanager
def _workplace(place: Path) -> Iterator[Path]:
    """A file beside the copy, in a folder that nobody else can read and that goes when the work is done."""
    try:
        folder = tempfile.mkdtemp(prefix=f".{place.stem}.", dir=place.parent)
    except OSError:
        raise _unwritable(place) from None
    try:
        yield Path(folder).resolve() / place.name
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _publish(file: Path, place: Path, source: object) -> None:
    """Give the copy its name in one step, with the rights of the table that it was made of."""
    try:
        for original in _read_from(source)[:1]:
            with suppress(OSError):
                shutil.copymode(original, file)
        put_in_place(file, place)
    except OSError:
        raise _unwritable(place) from None


def _unwritable(place: Path) -> SourceUnavailable:
    return SourceUnavailable(
        f"{place.name} cannot be written.",
        why="The folder is read-only or full.",
        fix="Choose a folder with room in which you may write.",
    )


def _notes(source: object) -> list[Notes | None]:
    """For each file of a source, what it says of itself (None: it never was a copy); empty if none of them was."""
    if not isinstance(source, str | Path):
        return []
    notes = [notes_in(file) for file in files_of(source) if file.lower().endswith(PARQUET)]
    return notes if any(notes) else []
