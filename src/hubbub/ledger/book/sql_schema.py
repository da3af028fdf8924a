"""The tables of a ledger, and the migrations that bring an older one up to date.

    entries   the book itself: append-only, each row hashed over the one before
    events    what charges refer to, each stored once under the hash of its JSON form
    answers   how each charge ended: the stored release, or nothing (failed, superseded, erased)
    totals    what each account has spent so far; ``verify`` adds it up again from the entries
    about     the number of the format

Everything but ``entries`` and ``answers`` could be worked out again from the entries. Numbers of formats only grow;
a migration is one function at the end of ``MIGRATIONS`` and is never edited once released.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import BigInteger, Column, Connection, Index, Integer, LargeBinary, MetaData, Table, Text, inspect, text
from sqlalchemy.types import TypeEngine

METADATA = MetaData()


def _sequence_type() -> TypeEngine[int]:
    return BigInteger().with_variant(Integer(), "sqlite")  # SQLite: the row's own number


ENTRIES = Table(
    "entries",
    METADATA,
    Column("sequence", _sequence_type(), primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),  # microseconds since 1970, UTC
    Column("policy", BigInteger, nullable=False),  # the last entry that changed a budget or rule
    Column("fingerprint", LargeBinary),  # of the request, for charges and attempts
    Column("project", Text),
    Column("body", Text, nullable=False),
    Column("hash", LargeBinary, nullable=False),
    Column("signature", LargeBinary),
)
Index(
    "entries_request",
    ENTRIES.c.fingerprint,
    ENTRIES.c.project,
    ENTRIES.c.sequence,
    sqlite_where=ENTRIES.c.fingerprint.is_not(None),
    postgresql_where=ENTRIES.c.fingerprint.is_not(None),
)
Index(
    "entries_policy",
    ENTRIES.c.sequence,
    sqlite_where=ENTRIES.c.policy == ENTRIES.c.sequence,
    postgresql_where=ENTRIES.c.policy == ENTRIES.c.sequence,
)
EVENTS = Table("events", METADATA, Column("digest", Text, primary_key=True), Column("body", Text, nullable=False))
ANSWERS = Table(
    "answers",
    METADATA,
    Column("charge", _sequence_type(), primary_key=True, autoincrement=False),
    Column("sequence", BigInteger, nullable=False),  # the entry that settled the charge
    Column("body", Text),
)
TOTALS = Table(
    "totals",
    METADATA,
    Column("account", Text, primary_key=True),
    Column("period", Text, nullable=False),
    Column("loss", Text, nullable=False),
    Column("delta", Text, nullable=False),
    Column("epsilon", Text),  # of the basic account, with its tail; NULL until a book of 0.1 was replayed
    Column("tail", Text),
)
ABOUT = Table("about", METADATA, Column("format", Integer, primary_key=True, autoincrement=False))

_GUARDS = {
    "sqlite": [
        f"CREATE TRIGGER {table}_{verb.lower()} BEFORE {verb} ON {table} BEGIN "
        "SELECT RAISE(ABORT, 'the ledger is append-only'); END"
        for table, verb in (("entries", "UPDATE"), ("entries", "DELETE"), ("events", "UPDATE"), ("events", "DELETE"))
    ],
    "postgresql": [
        "CREATE FUNCTION append_only() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'the ledger is append-only'; END $$",
        "CREATE TRIGGER entries_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON entries EXECUTE FUNCTION append_only()",
        "CREATE TRIGGER events_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON events EXECUTE FUNCTION append_only()",
        "ALTER TABLE answers ALTER COLUMN body SET STORAGE EXTERNAL",  # compression would show in the size
    ],
}


def _first_format(connection: Connection) -> None:
    METADATA.create_all(connection)
    for statement in _GUARDS[connection.dialect.name]:
        connection.execute(text(statement))


def _basic_account(connection: Connection) -> None:
    """Totals of the basic account; a book that is made now has them from the first."""
    if "epsilon" not in {column["name"] for column in inspect(connection).get_columns(TOTALS.name)}:
        for name in ("epsilon", "tail"):
            connection.execute(text(f"ALTER TABLE {TOTALS.name} ADD COLUMN {name} TEXT"))


MIGRATIONS: tuple[Callable[[Connection], None], ...] = (_first_format, _basic_account)
FORMAT = len(MIGRATIONS)
