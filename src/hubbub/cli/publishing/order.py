"""What was asked for, checked from public facts before anything is charged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from hubbub.cli.publishing.domain import PRIVATE, Column, missing
from hubbub.publish import DistinctL, Hierarchy, KAnonymity, Key, Model, TCloseness, marginals
from hubbub.publish.synthetic.discover import is_private
from hubbub.publish.synthetic.domains import domain_for
from hubbub.publish.synthetic.plans import plan_for
from hubbub.publish.synthetic.synthesis import whom_of
from hubbub.terms import Event, MissingParameter, OutOfRange

if TYPE_CHECKING:
    import pyarrow


class Method(StrEnum):
    """Ways to publish a table."""

    AIM = "aim"
    MST = "mst"
    MARGINALS = "marginals"
    TABLES = "tables"
    MONDRIAN = "mondrian"
    FULL_DOMAIN = "full-domain"

    @property
    def is_private(self) -> bool:
        """Whether it is differentially private, and so costs something."""
        return self not in (Method.MONDRIAN, Method.FULL_DOMAIN)

    @property
    def is_synthetic(self) -> bool:
        """Whether rows are made up."""
        return self in (Method.AIM, Method.MST, Method.MARGINALS)


@dataclass(frozen=True, slots=True)
class Order:
    """Methods and everything that they need to know."""

    methods: Sequence[Method]
    epsilon: Any = None
    delta: Any = None
    k: int | None = None
    l: int | None = None  # noqa: E741  (the name of the notion)
    t: Any = None
    known: Sequence[str] = ()
    sensitive: str | None = None
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    suppression: Any = 0
    relaxed: bool = False
    domain: Mapping[str, Column] | str | None = None
    domain_file: str | None = None
    of: Sequence[Sequence[str]] = ()
    rows: int | None = None
    about: int | None = None
    unit: str | None = None
    max_rows: int | None = None
    neighbours: str = "add-remove"
    dataset: str | None = None

    @property
    def models(self) -> list[Model]:
        """The models of partition methods."""
        found: list[Model] = [] if self.k is None else [KAnonymity(self.k)]
        if self.l is not None and self.sensitive is not None:
            found.append(DistinctL(self.l, self.sensitive))
        if self.t is not None and self.sensitive is not None:
            found.append(TCloseness(self.t, self.sensitive))
        return found

    @property
    def declared(self) -> dict[str, Column] | None:
        """The domain, where it is public; None if some of it is to be found."""
        if not isinstance(self.domain, Mapping) or any(is_private(column) for column in self.domain.values()):
            return None
        return dict(self.domain)

    @property
    def names(self) -> list[str]:
        """The columns that name people or things, which no method publishes as they are."""
        keys = self.domain.items() if isinstance(self.domain, Mapping) else ()
        return [*([self.unit] if self.unit else []), *(name for name, column in keys if isinstance(column, Key))]

    def tables(self) -> list[list[str]]:
        """The tables of counts: as asked for, or each column alone and with the sensitive one."""
        if self.of:
            return [list(columns) for columns in self.of]
        names = [name for name, column in (self.declared or {}).items() if not isinstance(column, Key)]
        if self.sensitive not in names:
            return [[name] for name in names]
        return [[self.sensitive]] + [[name, str(self.sensitive)] for name in names if name != self.sensitive]

    def shared(self) -> dict[str, Any]:
        """What every private method is told."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "unit": self.unit,
            "max_rows_per_unit": self.max_rows,
            "neighbours": self.neighbours,
            "dataset": self.dataset,
        }

    def about_columns(self, names: Sequence[str]) -> Order:
        """The same about some of the columns."""
        if not isinstance(self.domain, Mapping):
            return self
        return replace(self, domain={name: column for name, column in self.domain.items() if name in names})


def checked(order: Order, schema: pyarrow.Schema) -> list[Event]:
    """What the private methods will be charged for; refuses what cannot be, before a row is looked at."""
    if any(method.is_private for method in order.methods):
        _need_price(order)
        _need_domain(order, schema)
    if not all(method.is_private for method in order.methods):
        _need_models(order, schema)
    return [_event(method, order, schema) for method in order.methods if method.is_private]


def _need_price(order: Order) -> None:
    if order.epsilon is None or order.delta is None:
        raise MissingParameter(
            "--epsilon and --delta are missing.",
            why="Private methods have no default cost.",
            fix="Write --epsilon 1 --delta 1e-6; each method that is asked for costs as much.",
        )
    if order.unit is not None and order.max_rows is None:
        raise MissingParameter(
            "--unit needs --max-rows.",
            why="A person with any number of rows could move a count without limit.",
            fix="Write --max-rows N: the most rows of one person that count.",
        )


def _need_domain(order: Order, schema: pyarrow.Schema) -> None:
    import pyarrow

    if order.domain == PRIVATE:
        if all(pyarrow.types.is_string(each.type) for each in schema):
            raise missing(schema, schema.names, file=None)  # a CSV file says no types
        return
    given = order.domain if isinstance(order.domain, Mapping) else {}
    absent = [name for name in schema.names if name not in given and name != order.unit]
    if absent:
        raise missing(schema, absent, file=order.domain_file)


def _need_models(order: Order, schema: pyarrow.Schema) -> None:
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


def _event(method: Method, order: Order, schema: pyarrow.Schema) -> Event:
    if method is Method.TABLES:
        if order.declared is None:
            raise OutOfRange(
                "tables of counts need a public domain.",
                why="The cells of a published table are known before a row is read.",
                fix="Declare bounds and values in the file that --domain names.",
            )
        return _rehearsed(order, schema)
    whom = whom_of(order.unit, order.max_rows, order.neighbours)
    shown = schema if order.unit is None else schema.remove(schema.get_field_index(order.unit))
    given = order.domain
    if isinstance(given, Mapping):
        given = {name: column for name, column in given.items() if name != order.unit}
    columns = {name: each for name, each in domain_for(shown, given).items() if not isinstance(each, Key)}
    return plan_for(
        columns, whom=whom, epsilon=order.epsilon, delta=order.delta, method=method.value, rows=order.about
    ).event


def _rehearsed(order: Order, schema: pyarrow.Schema) -> Event:
    """The event of the tables, from the same call with no rows at all."""
    return marginals(schema.empty_table(), of=order.tables(), domain=order.declared or {}, **order.shared()).event
