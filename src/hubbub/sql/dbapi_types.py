"""The names that PEP 249 asks for: its tree of errors, with ours in it, and its types."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, time

from hubbub import terms

# ---------------------------------------------------------------- errors


class Warning(Exception):  # the name that PEP 249 asks for
    """Something important that is no error; PEP 249 asks for the name."""


class Error(Exception):
    """Whatever went wrong; the cause is Hubbub's own error, with what, why and fix."""


class InterfaceError(Error):
    """The interface was misused, such as a cursor that is closed."""


class DatabaseError(Error):
    """Something about the database."""


class DataError(DatabaseError):
    """A cost or a value that cannot be worked with."""


class OperationalError(DatabaseError):
    """The budget, the ledger, the engine or a source says no."""


class IntegrityError(DatabaseError):
    """The ledger is not what it was."""


class InternalError(DatabaseError):
    """Something inside is not as it should be."""


class ProgrammingError(DatabaseError):
    """The statement, its parameters or its price cannot be used."""


class NotSupportedError(DatabaseError):
    """Something that a private database cannot do."""


_ERRORS: tuple[tuple[type[terms.HubbubError], type[DatabaseError]], ...] = (
    (terms.QueryError, ProgrammingError),
    (terms.InvalidParameter, ProgrammingError),
    (terms.BadDescriptor, ProgrammingError),
    (terms.LedgerDamaged, IntegrityError),
    (terms.BehindAnchor, IntegrityError),
    (terms.MissingExtra, NotSupportedError),
    (terms.WrongNeighbours, DataError),
    (terms.NoBound, DataError),
    (terms.Unreachable, DataError),
    (terms.Unreadable, InternalError),
    (terms.NewerFormat, InternalError),
    (terms.SecretState, InternalError),
)


@contextmanager
def map_errors() -> Iterator[None]:
    """Our errors as those of PEP 249; the original is the cause."""
    try:
        yield
    except terms.HubbubError as error:
        kind = next((theirs for ours, theirs in _ERRORS if isinstance(error, ours)), OperationalError)
        raise kind(str(error)) from error


# ---------------------------------------------------------------- types


class _Type:
    """A group of column kinds, equal to each of them."""

    def __init__(self, *kinds: str) -> None:
        self.kinds = frozenset(kinds)

    def __eq__(self, other: object) -> bool:
        return other in self.kinds if isinstance(other, str) else isinstance(other, _Type) and self.kinds == other.kinds

    def __hash__(self) -> int:
        return hash(self.kinds)

    def __repr__(self) -> str:
        return f"<{' or '.join(sorted(self.kinds)) or 'no kind'}>"


STRING = _Type("text")
BINARY = _Type("binary")
NUMBER = _Type("integer", "number", "boolean")
DATETIME = _Type("date", "timestamp")
ROWID = _Type()
Date, Time, Timestamp, Binary = date, time, datetime, bytes
DateFromTicks, TimestampFromTicks = date.fromtimestamp, datetime.fromtimestamp


def TimeFromTicks(ticks: float) -> time:  # noqa: N802  # the name that PEP 249 asks for
    """The time of day of a moment."""
    return datetime.fromtimestamp(ticks).time()
