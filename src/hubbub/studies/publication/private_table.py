"""The private table: its columns now, its rows later; and public rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hubbub.engines import UNREADABLE, Csv, check_header, header_of
from hubbub.publish import Unread, unread_of
from hubbub.schema import files_of, format_of, is_csv, unavailable
from hubbub.studies.publication.request import PublicationRequest

if TYPE_CHECKING:
    import pyarrow


def private_rows(source: str, order: PublicationRequest, columns: Sequence[str], *, headed: bool = False) -> Unread:
    """The table to publish, which nobody reads yet; some of its columns, if they are named.

    Columns of a CSV file have the type that was declared. If nothing is declared and nothing private is asked for,
    types are guessed from the rows: their owner looks at them anyway. Its first line is told only if it is known to be
    a header: by the columns that are named or declared, or because somebody said so (``headed``).
    """
    if is_csv(source) and not isinstance(order.domain, Mapping):  # by a domain, it is known when the columns are read
        check_header(source, [*columns, *order.named()], said=headed)
    guess = order.domain is None and not any(method.is_private for method in order.methods)
    table = _guessed(source) if guess else unread_of(source, order.domain, ids=[order.unit])
    kept = list(dict.fromkeys([*columns, *([order.unit] if order.unit and columns else [])]))
    table = table.select(kept or table.schema.names)
    table.select([*order.known, *order.keep, *filter(None, (order.sensitive, order.unit))])  # refuses what is not there
    return table


def public_rows(place: Path | None, order: PublicationRequest) -> pyarrow.Table | None:
    """The public rows to compare with, if there are any."""
    return None if place is None else unread_of(str(place), order.domain).read()


def _guessed(source: str) -> Unread:
    from pyarrow import ArrowException

    path = files_of(source)[0]
    if format_of(path) != "csv":
        return unread_of(source)
    try:
        table = Csv((path,), tuple(header_of(path))).guessed()
    except (*UNREADABLE, ArrowException):
        raise unavailable(Path(path).name, "it is not what its name says") from None
    return Unread(table.schema, lambda: table)
