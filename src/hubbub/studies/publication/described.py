"""A request about a table of a descriptor: domain, person, cap, neighbours and identity are declared, not asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hubbub.engines import DuckDB
from hubbub.ledger import fingerprint
from hubbub.publish import Unread, described_table, table_domain
from hubbub.schema import Dataset, Table
from hubbub.studies.publication.request import PublicationRequest
from hubbub.terms import MissingParameter, plain_text

_DECLARED = {
    "domain": "--domain",
    "unit": "--unit",
    "max_rows": "--max-rows",
    "dataset": "--dataset",
}  # what stands in a descriptor


def described_request(
    order: PublicationRequest, file: str, dataset: Dataset, table: Table, columns: Sequence[str]
) -> PublicationRequest:
    """The request with everything that the descriptor declares of the table, or of some of its columns."""
    for name, option in _DECLARED.items():
        if getattr(order, name) is not None:
            raise beside_descriptor(option)
    for column in table.columns:
        plain_text(column.name, name="a column's name")  # a Parquet file may call a column anything
    secret = next((column.name for column in table.columns if column.sensitive), None)
    whole = replace(
        order,
        domain=table_domain(table),
        domain_file=f"[tables.{table.name}.columns] in {Path(file).name}",
        unit=table.link.column if dataset.unit and table.link is not None else None,
        path=dataset.unit or None,
        max_rows=table.max_rows_per_unit,
        neighbours=dataset.neighbours.value,
        about=table.rows if order.about is None else order.about,
        sensitive=order.sensitive or (secret if not columns or secret in columns else None),
        dataset=fingerprint(**dataset.fingerprint(), table=table.name),
    )
    return whole.about_columns(columns) if columns else whole


def described_rows(
    engine: DuckDB, dataset: Dataset, table: Table, order: PublicationRequest, columns: Sequence[str]
) -> Unread:
    """The table to publish, which nobody reads yet; some of its columns, if they are named."""
    private = described_table(engine, dataset, table, table_domain(table))
    if columns:
        private = private.select(list(dict.fromkeys([*columns, *([order.unit] if order.unit else [])])))
    private.select([*order.known, *order.keep, *filter(None, (order.sensitive,))])  # refuses what is not there
    return private


def beside_descriptor(option: str) -> MissingParameter:
    """The refusal of a fact that the descriptor declares."""
    return MissingParameter(
        f"{option} stands in the descriptor and is not typed beside it.",
        why="What is public about a dataset is declared in one place.",
        fix=f"Leave {option} out, or change the descriptor.",
    )
