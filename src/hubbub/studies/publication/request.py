"""What ``hubbub publish`` was asked for: methods, columns, privacy model and price, read before a row is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from hubbub.publish import (
    ColumnDomain,
    DistinctL,
    Hierarchy,
    KAnonymity,
    PrivacyModel,
    SurrogateKey,
    TCloseness,
    is_private,
)
from hubbub.studies.publication.places import Places


class Method(StrEnum):
    """Ways to publish a table."""

    AIM = "aim"
    MST = "mst"
    MARGINALS = "marginals"
    TABLES = "tables"
    TOP_DOWN = "top-down"
    DAILY = "daily"
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

    @property
    def is_counts(self) -> bool:
        """Whether tables of counts are made, each in a file of its own."""
        return self.is_private and not self.is_synthetic

    @property
    def has_places(self) -> bool:
        """Whether places are counted, and not all columns of the table."""
        return self in (Method.TOP_DOWN, Method.DAILY)


@dataclass(frozen=True, slots=True)
class PublicationRequest:
    """Methods and everything that they need to know."""

    methods: Sequence[Method]
    epsilon: Any = None
    delta: Any = None
    k: int | None = None
    l: int | None = None  # noqa: E741  (the name of the notion)
    t: Any = None
    known: Sequence[str] = ()
    sensitive: str | None = None
    keep: Sequence[str] = ()
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    suppression: Any = 0
    relaxed: bool = False
    domain: Mapping[str, ColumnDomain] | str | None = None
    domain_file: str | None = None
    of: Sequence[Sequence[str]] = ()
    places: Places | None = None
    by: Sequence[str] = ()
    day: str | None = None
    first: str | None = None
    days: int | None = None
    max_places: int = 1
    rows: int | None = None
    about: int | None = None
    unit: str | None = None
    max_rows: int | None = None
    neighbours: str = "add-remove"
    dataset: str | None = None
    path: str | None = None  # by which a ledger knows the people that ``unit`` tells apart

    def named(self) -> list[str]:
        """Every column of the table that is spoken of."""
        single = [name for name in (self.unit, self.sensitive, self.day) if name]
        places = () if self.places is None else (self.places.column,)
        return [*single, *self.known, *self.keep, *self.by, *places, *(name for names in self.of for name in names)]

    @property
    def models(self) -> list[PrivacyModel]:
        """The models of partition methods."""
        models: list[PrivacyModel] = [] if self.k is None else [KAnonymity(self.k)]
        if self.l is not None and self.sensitive is not None:
            models.append(DistinctL(self.l, self.sensitive))
        if self.t is not None and self.sensitive is not None:
            models.append(TCloseness(self.t, self.sensitive))
        return models

    @property
    def declared(self) -> dict[str, ColumnDomain] | None:
        """The domain, where it is public; None if some of it is to be found."""
        if not isinstance(self.domain, Mapping) or any(is_private(column) for column in self.domain.values()):
            return None
        return dict(self.domain)

    @property
    def names(self) -> list[str]:
        """The columns that name people or things, which no method publishes as they are."""
        declared = self.domain.items() if isinstance(self.domain, Mapping) else ()
        keys = [name for name, column in declared if isinstance(column, SurrogateKey)]
        return list(dict.fromkeys([*([self.unit] if self.unit else []), *keys]))  # of a name that stands here twice,
        # Arrow would drop the next column as well

    def tables(self) -> list[list[str]]:
        """The tables of counts: as asked for, or each column alone and with the sensitive one."""
        if self.of:
            return [list(columns) for columns in self.of]
        names = [name for name, column in (self.declared or {}).items() if not isinstance(column, SurrogateKey)]
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

    def of_columns(self, names: Sequence[str]) -> dict[str, ColumnDomain]:
        """The domain of some columns, as far as it was declared."""
        given = self.domain if isinstance(self.domain, Mapping) else {}
        return {name: given[name] for name in names if name in given}

    def about_columns(self, names: Sequence[str]) -> PublicationRequest:
        """The same about some of the columns."""
        if not isinstance(self.domain, Mapping):
            return self
        return replace(self, domain=self.of_columns([name for name in self.domain if name in names]))
