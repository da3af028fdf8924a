"""PEP 249: private SQL behind the interface that Python's database tools expect.

Each statement is a question, charged and answered with noise. Its price is given when connecting, by
``cursor.price(...)``, or in a comment before the statement, the nearest of these; there is no default:

    /* hubbub: epsilon=0.5 */ SELECT ward, COUNT(*) FROM visits GROUP BY ward

Parameters are question marks; each becomes a quoted literal of the text before anything is planned. Rows hold the
released values; ``cursor.release`` has the intervals, the receipt and the guarantee, and ``connect(...,
intervals=True)`` puts both ends of each interval beside its column.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from types import TracebackType
from typing import Any, NoReturn, Self

from hubbub import terms
from hubbub.releases import Release
from hubbub.sql import connection as private
from hubbub.sql.dbapi_types import (
    BINARY,
    DATETIME,
    NUMBER,
    ROWID,
    STRING,
    Binary,
    DatabaseError,
    DataError,
    Date,
    DateFromTicks,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Time,
    TimeFromTicks,
    Timestamp,
    TimestampFromTicks,
    Warning,
    map_errors,
)
from hubbub.sql.open_connection import connect as _connect
from hubbub.terms import Real

__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Binary",
    "Cursor",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "DbapiConnection",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Warning",
    "apilevel",
    "connect",
    "paramstyle",
    "threadsafety",
]

apilevel = "2.0"
threadsafety = 1  # threads may share the module, not connections
paramstyle = "qmark"

_PRICE = re.compile(r"\s*(?:/\*\s*hubbub:(?P<block>[^*]*)\*/|--\s*hubbub:(?P<line>[^\n]*)(?:\n|$))", re.IGNORECASE)
_PRICED = ("epsilon", "delta", "rho", "within", "share", "noise", "confidence")


# ---------------------------------------------------------------- connections


def connect(
    source: object,
    *,
    epsilon: Real | None = None,
    delta: Real | None = None,
    rho: Real | None = None,
    within: Real | None = None,
    share: Real | None = None,
    noise: str | None = None,
    confidence: Real | None = None,
    intervals: bool = False,
    **options: Any,
) -> DbapiConnection:
    """A PEP 249 connection to a ``hubbub.sql.Connection``, or to whatever ``hubbub.connect(source, **options)`` takes.

    ``epsilon`` (with ``delta``), ``rho``, a ``share`` of the budget or ``within`` (with ``confidence``) is the price of
    each statement that has none of its own.

    >>> import pandas, tempfile, hubbub
    >>> visits = pandas.DataFrame({"patient": [1, 1, 2, 3], "ward": ["n", "s", "n", "n"]})
    >>> folder = tempfile.TemporaryDirectory()
    >>> budget = hubbub.Budget(1, 1e-6)
    >>> with connect(visits, unit="patient", max_rows_per_unit=2, keys={"ward": ["n", "s"]}, budget=budget,
    ...              ledger=f"{folder.name}/ledger.db", epsilon=0.1) as db:
    ...     cursor = db.cursor()
    ...     _ = cursor.execute("SELECT ward, COUNT(*) AS n FROM table WHERE ward <> ? GROUP BY ward", ["s"])
    ...     [column[0] for column in cursor.description], cursor.rowcount
    (['ward', 'n'], 2)
    >>> folder.cleanup()
    """
    price = _given_price(
        epsilon=epsilon, delta=delta, rho=rho, within=within, share=share, noise=noise, confidence=confidence
    )
    if isinstance(source, private.Connection):
        if options:
            raise InterfaceError(f"a connection that is open takes no {', '.join(sorted(options))}.")
        return DbapiConnection(source, price, intervals=intervals, own=False)
    with map_errors():
        return DbapiConnection(_connect(source, **options), price, intervals=intervals, own=True)


class DbapiConnection:
    """A connection: cursors, and nothing to commit, since every answer is stored when it is given."""

    def __init__(self, inner: private.Connection, price: Mapping[str, object], *, intervals: bool, own: bool) -> None:
        self.inner, self.defaults, self.intervals = inner, dict(price), intervals
        self._own, self._closed = own, False

    def cursor(self) -> Cursor:
        """A new cursor."""
        self.check()
        return Cursor(self)

    def commit(self) -> None:
        """Nothing: what was charged is charged, and what was answered is stored."""
        self.check()

    def rollback(self) -> NoReturn:
        """Refused: a charge is never taken back."""
        raise NotSupportedError("a charge is never taken back: an answer that was seen stays seen.")

    def close(self) -> None:
        """Close it, and with it what was opened for it."""
        if not self._closed and self._own:
            self.inner.close()
        self._closed = True

    def check(self) -> None:
        """Refuse if closed."""
        if self._closed:
            raise InterfaceError("the connection is closed.")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Cursor:
    """Runs one statement at a time and hands out its rows."""

    def __init__(self, connection: DbapiConnection) -> None:
        self.connection = connection
        self.arraysize = 1
        self.release: Release | None = None
        self.description: tuple[tuple[str, str, None, None, None, None, bool], ...] | None = None
        self._price: dict[str, object] = {}
        self._rows: list[tuple[Any, ...]] = []
        self._next = 0
        self._closed = False

    @property
    def rowcount(self) -> int:
        """How many rows the last answer has; -1 before the first."""
        return -1 if self.release is None else len(self._rows)

    @property
    def rownumber(self) -> int | None:
        """Which row comes next."""
        return None if self.release is None else self._next

    def price(
        self,
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        rho: Real | None = None,
        within: Real | None = None,
        share: Real | None = None,
        noise: str | None = None,
        confidence: Real | None = None,
    ) -> Self:
        """Set the price of this cursor's statements, instead of the connection's."""
        self._price = _given_price(
            epsilon=epsilon, delta=delta, rho=rho, within=within, share=share, noise=noise, confidence=confidence
        )
        return self

    def execute(self, operation: str, parameters: Sequence[object] = ()) -> Self:
        """Ask a question; question marks in it stand for the parameters, in their order."""
        self._check()
        self.release, self.description, self._rows, self._next = None, None, [], 0
        price = _comment_price(operation) or self._price or self.connection.defaults
        with map_errors():
            text = bind_parameters(operation, parameters)
            release = self.connection.inner.sql(text, **price)  # type: ignore[arg-type]
        self._take(release)
        return self

    def executemany(self, operation: str, seq_of_parameters: object) -> NoReturn:
        """Refused: each question is charged by itself."""
        raise NotSupportedError("each question is charged by itself; call execute for each, or Connection.workload.")

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row, or None."""
        return next(iter(self.fetchmany(1)), None)

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """The next rows, as many as ``size`` or ``arraysize``."""
        self._check()
        if self.release is None:
            raise InterfaceError("nothing was asked yet.")
        rows = self._rows[self._next : self._next + (self.arraysize if size is None else size)]
        self._next += len(rows)
        return rows

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows that are left."""
        return self.fetchmany(len(self._rows))

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        while (row := self.fetchone()) is not None:
            yield row

    def setinputsizes(self, sizes: object) -> None:
        """Nothing: sizes do not matter."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Nothing: sizes do not matter."""

    def close(self) -> None:
        """Let the rows go."""
        self._closed, self._rows = True, []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check(self) -> None:
        if self._closed:
            raise InterfaceError("the cursor is closed.")
        self.connection.check()

    def _take(self, release: Release) -> None:
        table = release.to_arrow(intervals=self.connection.intervals)
        columns = [column.to_pylist() for column in table.columns]
        self._rows = list(zip(*columns, strict=True))
        self.description = tuple(
            (field.name, _arrow_kind(str(field.type)), None, None, None, None, field.nullable) for field in table.schema
        )
        self.release = release


def _arrow_kind(arrow: str) -> str:
    """Our word for an Arrow type."""
    for start, kind in (("int", "integer"), ("uint", "integer"), ("bool", "boolean"), ("date", "date")):
        if arrow.startswith(start):
            return kind
    return "timestamp" if arrow.startswith("timestamp") else "text" if "string" in arrow else "number"


# ---------------------------------------------------------------- price and parameters


def _given_price(**price: object) -> dict[str, object]:
    return {name: value for name, value in price.items() if value is not None}


def _comment_price(operation: str) -> dict[str, object]:
    """The price in the comment before a statement; empty if there is none."""
    match = _PRICE.match(operation) if isinstance(operation, str) else None
    if match is None:
        return {}
    price: dict[str, object] = {}
    for part in re.split(r"[,;\s]+", (match["block"] or match["line"] or "").strip()):
        name, _, value = part.partition("=")
        if name not in _PRICED or not value:
            raise ProgrammingError(f"a price is written as epsilon=0.5; it knows {', '.join(_PRICED)}.")
        price[name] = value if name == "noise" else _comment_number(value)
    return price


def _comment_number(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ProgrammingError("a price is a decimal number, as in epsilon=0.5.") from None


def bind_parameters(operation: str, parameters: Sequence[object]) -> str:
    """The text with a quoted literal in place of each question mark.

    >>> bind_parameters("SELECT COUNT(*) FROM visits WHERE ward = ? AND note <> '?'", ["o'neil"])
    "SELECT COUNT(*) FROM visits WHERE ward =  'o''neil'  AND note <> '?'"
    """
    places = _parameter_spans(operation)
    if isinstance(parameters, str | bytes | Mapping) or len(places) != len(parameters):
        raise terms.WrongShape(
            f"the statement has {len(places)} question marks, and a list of as many parameters is needed.",
            why="Each question mark stands for one value.",
            fix='Write cursor.execute("... WHERE ward = ?", ["north"]).',
        )
    text = operation
    for (start, end), value in reversed(list(zip(places, parameters, strict=True))):
        text = f"{text[:start]} {_sql_literal(value)} {text[end:]}"
    return text


def _parameter_spans(operation: str) -> list[tuple[int, int]]:
    """Where the question marks are that stand for parameters: not those in quotes or comments."""
    from sqlglot.errors import SqlglotError
    from sqlglot.tokens import Tokenizer

    if not isinstance(operation, str) or "?" not in operation:
        return []
    try:
        tokens = Tokenizer(dialect="duckdb").tokenize(operation)
    except SqlglotError:
        return []  # the parser will say what is wrong
    return [(token.start, token.end + 1) for token in tokens if token.token_type.name == "PLACEHOLDER"]


def _sql_literal(value: object) -> str:
    """A value as a literal of SQL."""
    if hasattr(value, "item") and not isinstance(value, str | bytes):
        value = value.item()  # a scalar of numpy
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, int | float | Decimal) and math.isfinite(value):
        return format(value, "f") if isinstance(value, Decimal) else repr(value)
    raise terms.WrongType(
        f"a parameter of the type {type(value).__name__} cannot be part of a question.",
        why="Parameters become literals: text, finite numbers, booleans, dates, timestamps or None.",
        fix="Convert it first.",
    )
