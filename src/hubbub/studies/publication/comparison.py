"""One table in each way that was asked for, compared and attacked."""

from __future__ import annotations

from collections.abc import Callable

from hubbub.ledger import Account
from hubbub.publish import Unread
from hubbub.studies.publication.attacked import all_attempts
from hubbub.studies.publication.baseline import Yardstick
from hubbub.studies.publication.methods import PublicationTable, publish_table
from hubbub.studies.publication.report import Publication
from hubbub.studies.publication.request import PublicationRequest


def publish_and_compare(
    name: str,
    private: Unread,
    request: PublicationRequest,
    yardstick: Yardstick,
    account: Account | None,
    *,
    write: Callable[[PublicationTable], object],
    watch: Callable[[int], object],
    attack: bool,
) -> Publication:
    """Publish in each way, and ``write`` at once what was paid for; then compare and attack.

    ``watch`` is given how many of ``stage_count(request)`` stages are over.
    """
    tables: list[PublicationTable] = []
    for method in request.methods:
        watch(len(tables))
        tables.append(publish_table(method, private, request, account))
        write(tables[-1])
    watch(len(tables))
    comparison = yardstick.compared(tables, private, request, account)
    watch(len(tables) + 1)
    attempts = tuple(all_attempts(tables, private.read(), request, yardstick.public)) if attack else ()
    return Publication(name, tuple(tables), comparison, attempts)


def stage_count(request: PublicationRequest) -> int:
    """How many stages there are: each method, the comparison, the attacks."""
    return len(request.methods) + 2
