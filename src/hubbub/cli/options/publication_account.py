"""Who pays for what ``hubbub publish`` makes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from hubbub.cli.options.connections import ConnectionOptions
from hubbub.cli.options.ledgers import LEDGER, open_ledger
from hubbub.cli.output import streams as output
from hubbub.ledger import Account
from hubbub.studies.publication import PublicationRequest


@contextmanager
def account_for(
    order: PublicationRequest,
    measure: str | None,
    payer: ConnectionOptions,
    population: str | None,
) -> Iterator[Account | None]:
    """The account that pays, if a ledger is named and something costs."""
    where = payer.at or os.environ.get(LEDGER)
    if not any(method.is_private for method in order.methods) and measure is None:
        yield None
        return
    if where is None:
        output.talk(f"No --ledger and no {LEDGER}: charged to no ledger.")
        yield None
        return
    with open_ledger(where, None) as ledger:
        named = population or Account.of(ledger).population
        yield Account(ledger=ledger, population=named, project=payer.project, analyst=payer.asker)
