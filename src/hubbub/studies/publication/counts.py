"""Tables of counts: by columns, by places, or by place and day."""

from __future__ import annotations

from hubbub.ledger import AccountLike
from hubbub.publish import DailySeries, Published, Unread, marginals, top_down
from hubbub.studies.publication.request import Method, PublicationRequest
from hubbub.terms import MissingParameter


def publish_counts(
    method: Method, table: Unread, order: PublicationRequest, account: AccountLike | None = None
) -> Published:
    """Count in one way. What is asked for is checked and charged before the rows are read."""
    if method is Method.TABLES:
        return marginals(table, of=order.tables(), domain=order.declared or {}, account=account, **order.shared())
    if order.places is None:
        raise MissingParameter(
            f"{method.value} needs --places.",
            why="The places are public and known before a row is read.",
            fix="Name a CSV file: a column for each level, from the largest places to the smallest.",
        )
    if method is Method.DAILY:
        return _open_series(order, account).publish_all(table)
    return top_down(
        table,
        levels=order.places.levels,
        places=order.places.paths,
        by=order.by,
        domain=order.of_columns(order.by),
        account=account,
        **order.shared(),
    )


def _open_series(order: PublicationRequest, account: AccountLike | None) -> DailySeries:
    if order.unit is None or order.day is None or order.first is None or order.days is None:
        raise MissingParameter(
            "daily needs --unit, --day, --first and --days.",
            why="Different people are counted on each of so many days, under one budget for all of them.",
            fix="Write --unit person --day day --first 2026-01-05 --days 14: the columns of people and of days, and "
            "which days.",
        )
    assert order.places is not None
    return DailySeries(
        places=order.places.smallest,
        first=order.first,
        days=order.days,
        epsilon=order.epsilon,
        delta=order.delta,
        unit=order.unit,
        path=order.path,
        place=order.places.column,
        day=order.day,
        max_places=order.max_places,
        neighbours=order.neighbours,
        account=account,
        dataset=order.dataset,
    )
