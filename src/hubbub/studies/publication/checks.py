"""What was asked for, checked from public facts before anything is charged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hubbub.accounting import mu_for
from hubbub.publish import PRIVATE, Published, SurrogateKey, Unread, domain_for
from hubbub.publish.synthetic import plan_for, whom_of
from hubbub.studies.publication.counts import publish_counts
from hubbub.studies.publication.missing_domains import refuse_missing_domains
from hubbub.studies.publication.request import Method, PublicationRequest
from hubbub.terms import Event, MissingParameter, OutOfRange, TooLarge

if TYPE_CHECKING:
    import pyarrow

_TYPICAL = 0.41  # the mean size of Gaussian noise, in margins of 95%: 0.798 over 1.96


def check_request(order: PublicationRequest, private: Unread) -> list[Event]:
    """What the private methods will be charged for; refuses what cannot be, before a row is looked at."""
    schema = private.schema
    if any(method.is_private for method in order.methods):
        _need_price(order)
        _need_domain(order, schema)
    if not all(method.is_private for method in order.methods):
        _need_models(order, schema)
    return [_method_event(method, order, private.without_rows()) for method in order.methods if method.is_private]


def _need_price(order: PublicationRequest) -> None:
    if order.epsilon is None or order.delta is None:
        raise MissingParameter(
            "--epsilon and --delta are missing.",
            why="Private methods have no default cost.",
            fix="Write --epsilon 1 --delta 1e-6; each method that is asked for costs as much.",
        )
    several = any(method.is_private and method is not Method.DAILY for method in order.methods)
    if several and order.unit is not None and order.max_rows is None:
        raise MissingParameter(
            "--unit needs --max-rows.",
            why="A person with any number of rows could move a count without limit.",
            fix="Write --max-rows N: the most rows of one person that count.",
        )


def _need_domain(order: PublicationRequest, schema: pyarrow.Schema) -> None:
    import pyarrow

    whole = any(method.is_private and not method.has_places for method in order.methods)
    if whole and order.domain == PRIVATE:
        if all(pyarrow.types.is_string(each.type) for each in schema):
            raise refuse_missing_domains(schema, schema.names, file=None)  # a CSV file says no types
        return
    given = order.domain if isinstance(order.domain, Mapping) else {}
    needed = schema.names if whole else [name for name in order.by if name in schema.names]
    absent = [name for name in needed if name not in given and name != order.unit]
    if absent:
        raise refuse_missing_domains(schema, absent, file=order.domain_file)


def _need_models(order: PublicationRequest, schema: pyarrow.Schema) -> None:
    if not order.known:
        raise MissingParameter(
            "--quasi-identifiers are missing.",
            why="They are the columns that somebody outside may know of a person.",
            fix=f"Name some of {', '.join(schema.names)}: --quasi-identifiers A,B.",
        )
    if (order.l is not None or order.t is not None) and order.sensitive is None:
        raise MissingParameter(
            "--l and --t need --sensitive.",
            why="They say how the values of that column lie in each class.",
            fix="Write --sensitive COLUMN.",
        )
    if not order.models:
        raise MissingParameter(
            "there is no model.", why="Without one every row may stay as it is.", fix="Write --k 10, or --l, or --t."
        )


def _method_event(method: Method, order: PublicationRequest, empty: Unread) -> Event:
    if method is Method.TABLES and order.declared is None:
        raise OutOfRange(
            "tables of counts need a public domain.",
            why="The cells of a published table are known before a row is read.",
            fix="Declare bounds and values, in the descriptor or in the file that --domain names, or choose --columns.",
        )
    if method.is_counts:  # the same call with no rows at all
        published = publish_counts(method, empty, order)
        _check_noise(published, order)
        return published.event
    schema = empty.schema
    whom = whom_of(empty.unit(order.unit), order.max_rows, order.neighbours)
    shown = schema if order.unit is None else schema.remove(schema.get_field_index(order.unit))
    given = order.domain
    if isinstance(given, Mapping):
        given = {name: column for name, column in given.items() if name != order.unit}
    columns = {name: each for name, each in domain_for(shown, given).items() if not isinstance(each, SurrogateKey)}
    return plan_for(
        columns, whom=whom, epsilon=order.epsilon, delta=order.delta, method=method.value, rows=order.about
    ).event


def _check_noise(published: Published, order: PublicationRequest) -> None:
    """Refuse if the noise on one table alone would be more than all rows, as it is for made-up rows."""
    for name, table in published.tables.items():
        noise = round(_TYPICAL * published.margins[name] * table.num_rows)
        if order.about is not None and noise > order.about:
            fewer = max(1, table.num_rows * order.about // noise)
            raise TooLarge(
                f"the budget is too small for the cells: the noise on the table {name!r} adds up to {noise:,} rows, "
                f"and there are about {order.about:,}.",
                why=f"Each of its {table.num_rows:,} cells gets noise of its own, and all tables share the budget.",
                fix=f"It fits with about --epsilon {_sufficient_epsilon(order, noise / order.about):.2g}, with at most "
                f"{fewer:,} cells in that table, or with fewer tables.",
            )


def _sufficient_epsilon(order: PublicationRequest, times: float) -> float:
    """An epsilon whose noise is so many times smaller."""
    delta, least = float(order.delta), float(order.epsilon)
    wanted, most = mu_for(least, delta) * times, 2 * float(order.epsilon)
    while mu_for(most, delta) < wanted:
        least, most = most, 2 * most
    for _ in range(20):
        middle = (least + most) / 2
        least, most = (middle, most) if mu_for(middle, delta) < wanted else (least, middle)
    return 1.05 * most
