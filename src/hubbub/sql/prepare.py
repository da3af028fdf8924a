"""Rank each person's rows once: a copy of a table in which any later cap on rows is one comparison.

The copy is a Parquet file with two columns more: ``_hb_rank``, the place of a row among its person's, and ``_hb_rows``,
how many rows that person has. Ranks go by a keyed hash of the row's own content and then by the content itself, under a
key that is drawn for the copy and forgotten.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from hubbub.engines import DuckDB, EngineFailed, InDatabase
from hubbub.engines.duckdb import tables_in
from hubbub.engines.sources import DATABASE, PARQUET, files_of
from hubbub.sql.dialects import DIALECTS
from hubbub.sql.rows import NUMBER, RANK
from hubbub.sql.schema import Dataset, Kind, Table
from hubbub.terms import OutOfRange, SourceUnavailable, UnknownName

SECONDS = 3600.0
FORMAT = "1"
_FORMAT, _UNIT = "hubbub.prepared", "hubbub.unit"
_TABLE = "source"
_DUCKDB = DIALECTS["duckdb"]
_AS_THEY_ARE = ("BIGINT", "INTEGER", "SMALLINT", "VARCHAR", "UUID", "DOUBLE", "DATE", "BOOLEAN", "TIMESTAMP")


class _Writer(DuckDB):
    """An engine that is locked to its sources, one folder to spill to, and one file that it may write."""

    def __init__(self, source: object, file: Path, *, memory: str) -> None:
        self._out = str(file)
        super().__init__({_TABLE: source}, memory=memory, spill=file.parent)

    def _lock(self, memory: str, threads: int | None, spill: str | Path) -> None:
        self._files.append(self._out)
        super()._lock(memory, threads, spill)

    def native(self, column: str) -> str:
        """The engine's own type of a column, from the schema."""
        return str(next(row[1] for row in self.rows(f"DESCRIBE {_TABLE}") if row[0] == column))


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
    table = _table(source)
    _check_place(place, table)
    with _workplace(place) as file:
        engine = _Writer(table, file, memory=memory)
        try:
            columns = _typed(engine.columns(_TABLE), types or {})
            whom = _unit(unit, columns)
            person = _person(_DUCKDB.quoted(whom), columns[whom][1], engine.native(whom))
            key = _key or secrets.token_hex(16)
            engine.rows(_copy(columns, whom, person, file, key), seconds=seconds)
        except EngineFailed:
            raise SourceUnavailable(
                "the copy could not be made in the time and memory allowed.",
                why="Every row is sorted once within its person.",
                fix="Allow more: prepare(..., seconds=7200, memory='8GB'), and see that the disk has room.",
            ) from None
        finally:
            engine.close()
        _publish(file, place, table)
    return place


def check_prepared(source: object, unit: str) -> bool:
    """Whether the source is a copy that ``prepare`` made for this unit: read from the file's metadata, never from rows.

    A copy made for another unit is refused, and so are several copies read as one table: a rank then stands for several
    rows of one person. Columns of the same names without the metadata do not make a table a prepared one.
    """
    units = _units(source)
    if not units:
        return False
    if len(units) > 1:
        raise SourceUnavailable(
            "a prepared copy is one file, and here it is read together with others.",
            why="Ranks count one person's rows within one copy; two copies would let that person count twice.",
            fix="Prepare the whole table at once: prepare('visits/*.parquet', unit=..., out='visits.parquet').",
        )
    [prepared_for] = units
    if prepared_for is None or prepared_for.lower() != unit.rpartition(".")[2].lower():
        raise SourceUnavailable(
            f"the table was prepared for the unit {prepared_for!r}, and {unit!r} is protected here.",
            why="Its ranks count the rows of the one and say nothing of the other.",
            fix=f"Prepare it again, from the table that it was made of, with unit={unit!r}.",
        )
    return True


def is_prepared(source: object, table: Table, dataset: Dataset, columns: Sequence[tuple[str, str]]) -> bool:
    """Whether the ranks in a table's source may be used for this dataset; ``columns`` are those that the engine sees.

    A copy whose ranks count other people's rows than the dataset protects is refused.
    """
    ranked = {RANK, NUMBER} <= {name for name, _ in columns}
    if not ranked or not dataset.unit or table.link is None or not _units(source):
        return False
    link = table.link
    direct = not link.table or f"{link.table}.{link.key}".lower() == dataset.unit.lower()
    declared, stored = table.column(link.column), {name.lower(): kind for name, kind in columns}
    if not direct or declared is None or stored.get(link.column.lower()) != declared.kind:
        raise SourceUnavailable(
            f"the copy that {table.name!r} is read from cannot be used here.",
            why=f"Its ranks count rows by the value of {link.column!r}, and people are told apart in another way: over "
            "another table, or by a column that is declared with another type.",
            fix=f"Use the table that the copy was made of, or prepare it with types={{{link.column!r}: ...}}.",
        )
    return check_prepared(source, link.column)


# ---------------------------------------------------------------- the statement


def _copy(columns: Mapping[str, tuple[str, str]], unit: str, person: str, file: Path, key: str) -> str:
    """The copy as one statement; rows of nobody are kept, without a rank."""
    quoted, literal = _DUCKDB.quoted, _DUCKDB.literal
    names = [quoted(name) for name in columns]
    told = ", ".join(f"{text} AS {quoted(name)}" for name, (text, _) in columns.items())
    content = [_content(quoted(name), kind) for name, (_, kind) in columns.items()]
    order = [_DUCKDB.keyed_hash(key, [parts[0] for parts in content]), *(part for parts in content for part in parts)]
    ranked = (
        f"SELECT {', '.join(names)}, row_number() OVER (PARTITION BY {person} ORDER BY {', '.join(order)}) AS {RANK}, "
        f"count(*) OVER (PARTITION BY {person}) AS {NUMBER} FROM typed WHERE {quoted(unit)} IS NOT NULL"
    )
    nobody = (
        f"SELECT {', '.join(names)}, CAST(NULL AS BIGINT), CAST(NULL AS BIGINT) FROM typed WHERE {quoted(unit)} IS NULL"
    )
    notes = f"{{{literal(_FORMAT)}: {literal(FORMAT)}, {literal(_UNIT)}: {literal(unit)}}}"
    return (
        f"COPY (WITH typed AS (SELECT {told} FROM {quoted(_TABLE)}) {ranked} UNION ALL {nobody}) "
        f"TO {literal(str(file))} (FORMAT parquet, KV_METADATA {notes}, USE_TMP_FILE false)"
    )


def _person(name: str, kind: str, native: str) -> str:
    """Whose row it is, as a query sees it: by the type of its kind; by itself where that type cannot hold it."""
    text = f"CAST({name} AS VARCHAR)"
    if kind == "opaque" or native in _AS_THEY_ARE:
        return text if kind == "opaque" else name
    stored = _DUCKDB.stored(name, Kind(kind))
    return f"{stored}, CASE WHEN {stored} IS NULL THEN {text} END"


def _content(name: str, kind: str) -> list[str]:
    """What tells two values of a column apart, down to the sign of a zero: equal rows are then the same row."""
    if kind == "number":
        return [name, f"signbit({name})"]
    return [f"CAST({name} AS VARCHAR)"] if kind == "opaque" else [name]


def _typed(columns: list[tuple[str, str]], types: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Name -> (text, kind) of each column of the copy."""
    known = {name.lower(): name for name, _ in columns}
    for name in types:
        if name.lower() not in known:
            raise _unknown(name, columns, "A type was given for it.")
    for name, _ in columns:
        if name.lower().startswith("_hb_"):
            raise SourceUnavailable(
                f"the table has a column {name!r}: it was prepared already, or the name is taken.",
                why="Names that begin with _hb_ are those that the copy adds.",
                fix="Prepare the table that the copy was made of, or rename the column.",
            )
    wanted = {name.lower(): _kind(name, kind) for name, kind in types.items()}
    return {name: _column(name, kind, wanted.get(name.lower())) for name, kind in columns}


def _column(name: str, kind: str, wanted: Kind | None) -> tuple[str, str]:
    quoted = _DUCKDB.quoted(name)
    return (quoted, kind) if wanted is None else (_DUCKDB.try_cast(quoted, wanted), wanted.value)


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


def _table(source: object) -> object:
    """The source, with the one table of a DuckDB file named."""
    if not isinstance(source, str | Path) or not str(source).lower().endswith(DATABASE):
        return source
    tables = tables_in(str(source))
    if len(tables) != 1:
        raise SourceUnavailable(
            f"{source} has {len(tables)} tables, and one is prepared at a time.",
            why="Each table has a copy of its own.",
            fix='Name it: prepare(hubbub.engines.InDatabase("visits.duckdb", "visits"), ...).',
        )
    return InDatabase(str(source), tables[0])


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
            f"{out} cannot be written.", why="Its folder is not there.", fix="Make the folder, or choose another."
        )
    return place


def _check_place(place: Path, source: object) -> None:
    """Nothing but an earlier copy is ever written over."""
    if not place.exists():
        return
    own = any(place.samefile(file) for file in _read_from(source))
    if own or not place.is_file() or not _units(place):
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
        with file.open("rb") as written:
            os.fsync(written.fileno())
        file.replace(place)
    except OSError:
        raise _unwritable(place) from None


def _unwritable(place: Path) -> SourceUnavailable:
    return SourceUnavailable(
        f"{place.name} cannot be written.",
        why="The folder is read-only or full.",
        fix="Choose a folder with room in which you may write.",
    )


def _units(source: object) -> list[str | None]:
    """For each file of a source, the unit it was prepared for (None: it was not); empty if none of them was."""
    if not isinstance(source, str | Path):
        return []
    files = files_of(source)
    units = [_unit_of(file) for file in files if file.lower().endswith(PARQUET)]
    return units if any(unit is not None for unit in units) else []


def _unit_of(file: str) -> str | None:
    import duckdb

    try:
        with duckdb.connect() as connection:
            told = connection.execute("SELECT key, value FROM parquet_kv_metadata(?)", [file]).fetchall()
    except duckdb.Error:
        return None  # not a Parquet file: opening it will say so
    notes = {bytes(key).decode(): bytes(value).decode() for key, value in told}
    return notes.get(_UNIT, "") if _FORMAT in notes else None
