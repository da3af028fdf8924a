"""Reports as Parquet, and back to a tally by one GROUP BY: for collections larger than one machine's memory.

    epoch   INTEGER
    symbol  INTEGER     the report, where reports are integers: SELECT symbol, count(*) ... GROUP BY symbol
    payload BLOB        instead of it, where they are not

No report id and no order of arrival is exported. Any engine that can group and count can aggregate these files; the
counts of several engines, machines or shards add up to the tally of all reports, exactly.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hubbub.durable import replacing_file
from hubbub.local.collection.tally import Tally
from hubbub.terms import BadCollection, BadReport, SourceUnavailable

if TYPE_CHECKING:
    from hubbub.local.collection.collection import Collection
    from hubbub.local.collection.collector import Collector

_ABOUT = "hubbub.collection"  # where a file says the digest of its collection
_GROUP = 1 << 20  # rows of one row group
_FETCH = 1 << 16  # payloads decoded at a time


def export(collector: Collector, path: str | Path, *, epoch: int | None = None) -> int:
    """Write the reports of one epoch, or of all, as a Parquet file; returns how many."""
    from pyarrow import parquet

    place, count = Path(path), 0
    schema = _parquet_schema(collector.collection)
    chosen = collector.store.epochs() if epoch is None else [epoch]
    try:
        with replacing_file(place) as draft, parquet.ParquetWriter(draft, schema) as writer:
            for number in chosen:
                for part in collector.store.reports(number, at_once=_GROUP):
                    writer.write_table(
                        _report_table(collector.collection, number, [payload for _, payload in part], schema)
                    )
                    count += len(part)
    except OSError as error:
        raise SourceUnavailable(
            f"{place} could not be written.",
            why="The disk is full, or the folder may not be written to.",
            fix="Make room or name another place; the store is as it was.",
        ) from error
    return count


def aggregate(
    files: str | Path | Sequence[str | Path],
    collection: Collection,
    *,
    epoch: int = 0,
    memory: str | None = None,
    threads: int | None = None,
) -> Tally:
    """The tally of one epoch from Parquet files (paths or globs), by DuckDB and out of core.

    Memory holds the state and one group of rows; ``memory`` (such as "500MB") and ``threads`` limit DuckDB further.
    A file of another collection is refused, and so is one that holds what this collection's randomizer cannot send.
    Files that were written elsewhere and do not say their collection are taken at their word.
    """
    names = [str(files)] if isinstance(files, str | Path) else [str(file) for file in files]
    with tempfile.TemporaryDirectory(prefix="hubbub-aggregate-") as spill:
        connection = _open_duckdb(spill, memory, threads)
        try:
            _check_collection(connection, names, collection)
            count = _by_symbol if collection.randomizer.symbols is not None else _by_payload
            return count(connection, names, collection, epoch)
        finally:
            connection.close()


def _check_collection(connection: Any, names: list[str], collection: Collection) -> None:
    statement = "SELECT DISTINCT decode(value) FROM parquet_kv_metadata(?) WHERE decode(key) = ?"
    digests = {digest for (digest,) in _run_statement(connection, statement, names, _ABOUT).fetchall()}
    if digests - {collection.digest.hex()}:
        raise BadCollection(
            "a Parquet file holds the reports of another collection.",
            why="Counts mean something only under the parameters under which they were reported.",
            fix="Aggregate files that were exported under this configuration.",
        )


def _by_symbol(connection: Any, names: list[str], collection: Collection, epoch: int) -> Tally:
    """One GROUP BY: the state counts each symbol."""
    rows = _run_statement(
        connection, "SELECT symbol, count(*) FROM read_parquet(?) WHERE epoch = ? GROUP BY symbol", names, epoch
    ).fetchall()
    state = np.zeros(collection.randomizer.state_size, dtype=np.int64)
    for symbol, count in rows:
        if symbol is None or not 0 <= symbol < len(state):
            raise _no_report()
        state[symbol] = count
    return Tally(collection, epoch, state, int(state.sum()))


def _by_payload(connection: Any, names: list[str], collection: Collection, epoch: int) -> Tally:
    """Reports that are no integers are read in parts and added up."""
    tally, randomizer = Tally.empty(collection, epoch), collection.randomizer
    result = _run_statement(connection, "SELECT payload FROM read_parquet(?) WHERE epoch = ?", names, epoch)
    for part in _payload_chunks(result):
        try:
            state = randomizer.accumulate(randomizer.unpack(part))
        except BadReport:
            raise _no_report() from None
        tally = tally + Tally(collection, epoch, state, len(part))
    return tally


def _payload_chunks(result: Any) -> Iterator[NDArray[np.uint8]]:
    """Payloads in parts, as rows of bytes."""
    while rows := result.fetchmany(_FETCH):
        payloads = [payload for (payload,) in rows]
        if any(payload is None or len(payload) != len(payloads[0]) for payload in payloads):
            raise _no_report()
        yield np.frombuffer(b"".join(payloads), dtype=np.uint8).reshape(len(payloads), -1)


def _open_duckdb(spill: str, memory: str | None, threads: int | None) -> Any:
    import duckdb

    settings: dict[str, Any] = {"temp_directory": spill, "preserve_insertion_order": False}
    settings |= {} if memory is None else {"memory_limit": memory}
    settings |= {} if threads is None else {"threads": threads}
    return duckdb.connect(config=settings)


def _run_statement(connection: Any, statement: str, names: list[str], value: object) -> Any:
    import duckdb

    try:
        return connection.execute(statement, [names, value])
    except duckdb.Error as error:
        raise SourceUnavailable(
            "the Parquet files could not be read.",
            why="They must be there, and have the columns epoch and symbol (or payload).",
            fix="Check the paths; write them with hubbub.local.export or in the same form.",
        ) from error


def _parquet_schema(collection: Collection) -> Any:
    import pyarrow

    symbols = collection.randomizer.symbols
    held = ("payload", pyarrow.binary()) if symbols is None else ("symbol", _integer_type(symbols))
    about = {_ABOUT: collection.digest.hex()}
    return pyarrow.schema([("epoch", pyarrow.int64()), held], metadata=about)


def _integer_type(symbols: int) -> Any:
    import pyarrow

    return pyarrow.int32() if symbols <= 1 << 31 else pyarrow.int64()


def _report_table(collection: Collection, epoch: int, payloads: list[bytes], schema: Any) -> Any:
    import pyarrow

    held: Any = payloads
    if collection.randomizer.symbols is not None:
        rows = np.frombuffer(b"".join(payloads), dtype=np.uint8).reshape(len(payloads), -1)
        held = collection.randomizer.unpack(rows)
    column = pyarrow.array(held, type=schema.field(1).type)
    return pyarrow.table([pyarrow.array(np.full(len(payloads), epoch)), column], schema=schema)


def _no_report() -> BadReport:
    return BadReport(
        "the Parquet files hold something that is no report of this collection.",
        why="Its number lies outside what the collection's randomizer can send, or it has another length.",
        fix="Aggregate files that were collected under this configuration.",
        reason="domain",
    )
