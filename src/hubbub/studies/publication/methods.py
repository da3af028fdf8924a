"""Each way to publish: its privacy model, its mechanism, and the table that it makes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hubbub.ledger import AccountLike
from hubbub.publish import (
    Anonymized,
    Published,
    Synthetic,
    Unread,
    full_domain,
    mondrian,
    refuse_identifiers,
    synthesize,
)
from hubbub.publish.anonymize import NO_GUARANTEE, least_size, split_unit
from hubbub.render import short
from hubbub.studies.publication.counts import publish_counts
from hubbub.studies.publication.request import Method, PublicationRequest
from hubbub.terms import Receipt, exact

if TYPE_CHECKING:
    import pyarrow

Result = Anonymized | Synthetic | Published

_MECHANISMS = {
    Method.AIM: "made-up rows: noisy counts of columns and of the pairs that matter most",
    Method.MST: "made-up rows: noisy counts of columns and of a tree of pairs",
    Method.MARGINALS: "made-up rows: noisy counts of each column alone",
    Method.TABLES: "noisy counts, made to add up",
    Method.TOP_DOWN: "noisy counts of every place of a tree, made to add up",
    Method.DAILY: "noisy counts of people by place and day",
    Method.MONDRIAN: "rows made alike by cutting",
    Method.FULL_DOMAIN: "each column at one level",
}
GROUPS = (
    "Differential privacy bounds what is learned because a person's rows are in the table. What is true of many people "
    "is meant to be learned, also about those who belong to them: if most nurses are vaccinated, this one probably is."
)
RARE = "Rare values and rare combinations are mostly noise: nothing about few people can be read off such a table."
TOGETHER = (
    "Every further release about the same people adds to the cost. The promise holds for all of them together only if "
    "they are charged to one ledger."
)


@dataclass(frozen=True, slots=True)
class PublicationTable:
    """A table that was made, in the words of the lectures: privacy model, mechanism, and (later) utility metric."""

    method: Method
    result: Result = field(repr=False)
    model: str
    gaps: tuple[str, ...]

    @property
    def name(self) -> str:
        """What it is called."""
        return self.method.value

    @property
    def mechanism(self) -> str:
        """How it was made."""
        return _MECHANISMS[self.method]

    @property
    def receipt(self) -> Receipt | None:
        """The proof of payment, where something was charged."""
        return None if isinstance(self.result, Anonymized) else self.result.receipt

    @property
    def promise(self) -> str:
        """What holds, in words."""
        if isinstance(self.result, Anonymized):
            return self.result.headline
        return self.result.guarantee.describe()


def publish_table(
    method: Method, table: Unread, order: PublicationRequest, account: AccountLike | None
) -> PublicationTable:
    """Publish the table in one way; what is private is charged before a row is read."""
    if not method.is_private:
        return _anonymize_table(method, table.read(), order)
    price = [short(exact(each, name=name)) for name, each in (("epsilon", order.epsilon), ("delta", order.delta))]
    promise = f"DP: epsilon = {price[0]}, delta = {price[1]}, each {order.unit or 'row'}"
    result: Any
    if method.is_counts:
        result = publish_counts(method, table, order, account)
    else:
        domain = None if isinstance(order.domain, str) else order.domain
        result = synthesize(
            table,
            method=method.value,
            domain=domain,
            rows=order.rows,
            about_rows=order.about,
            account=account,
            **order.shared(),
        )
    return PublicationTable(method, result, promise, (GROUPS, RARE, TOGETHER))


def _anonymize_table(method: Method, table: pyarrow.Table, order: PublicationRequest) -> PublicationTable:
    asked: dict[str, Any] = {"quasi_identifiers": list(order.known), "models": order.models}
    asked["hierarchies"] = order.hierarchies
    nameless = table.drop([name for name in order.names if name in table.column_names and name != order.unit])
    asked["unit"] = order.unit
    rows, people = split_unit(nameless, order.unit)
    asked["keep"] = rows.column_names  # what nobody named is refused below, in the terminal's own words
    if method is Method.MONDRIAN:
        anonymized = mondrian(nameless, relaxed=order.relaxed, **asked)
    else:
        anonymized = full_domain(nameless, suppression=order.suppression, **asked)
    named = [*order.known, *order.keep, *filter(None, [order.sensitive])]
    refuse_identifiers(rows, named, least_size(order.models), argument="--keep {listed}", people=people)
    models = {"k-anonymity, k": order.k, "l-diversity, l": order.l, "t-closeness, t": order.t}
    model = "; ".join(f"{name} = {value}" for name, value in models.items() if value is not None)
    model += f", each {order.unit}" if order.unit else ""
    return PublicationTable(method, anonymized, model, (*anonymized.gaps, NO_GUARANTEE))
