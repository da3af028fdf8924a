"""From what was typed to a table that can be published: a file with its options, or a table of a descriptor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from hubbub.cli.options.connections import ConnectionOptions, open_connection
from hubbub.cli.options.publication_account import account_for
from hubbub.cli.options.source_facts import SourceFacts
from hubbub.ledger import Account
from hubbub.publish import Unread
from hubbub.schema import choose_table
from hubbub.sql import declare
from hubbub.studies.publication import (
    PublicationRequest,
    beside_descriptor,
    described_request,
    described_rows,
    private_rows,
)


@dataclass(frozen=True, slots=True)
class PublicationSource:
    """The table, whose rows nobody has read; what is asked of it; and who pays."""

    private: Unread
    order: PublicationRequest
    account: Account | None


@contextmanager
def file_source(
    source: str,
    order: PublicationRequest,
    columns: Sequence[str],
    payer: ConnectionOptions,
    population: str | None,
    *,
    headed: bool,
    measure: str | None,
) -> Iterator[PublicationSource]:
    """A CSV or Parquet file, and what was typed about it."""
    private = private_rows(source, order, columns, headed=headed)
    order = order.about_columns(private.schema.names) if columns else order
    with account_for(order, measure, payer, population) as account:
        yield PublicationSource(private, order, account)


@contextmanager
def described_source(
    source: str,
    order: PublicationRequest,
    columns: Sequence[str],
    payer: ConnectionOptions,
    population: str | None,
    *,
    table: str | None,
    measure: str | None,
) -> Iterator[PublicationSource]:
    """A table of a descriptor, whose ledger is charged where something costs."""
    if population is not None:
        raise beside_descriptor("--population")
    facts = SourceFacts(source)
    with ExitStack() as held:
        account = None
        if measure is not None or any(method.is_private for method in order.methods):
            connection = held.enter_context(open_connection(facts, payer))
            dataset, engine, account = connection.dataset, connection.engine, connection.account
        else:
            dataset, engine = declare(source)
            held.callback(engine.close)
        chosen = choose_table(dataset, table)
        order = described_request(order, source, dataset, chosen, columns)
        yield PublicationSource(described_rows(engine, dataset, chosen, order, columns), order, account)
