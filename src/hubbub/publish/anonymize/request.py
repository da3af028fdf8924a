"""What was asked for, read and checked once: the table, its columns, the models, and that they can be fulfilled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hubbub.publish.anonymize.coded_columns import (
    Coded,
    Codes,
    code_column,
    known_column,
    known_columns,
    named_rows,
    one_form,
)
from hubbub.publish.anonymize.equivalence_classes import EquivalenceClasses, SensitiveColumn, secret_of
from hubbub.publish.anonymize.hierarchies import Hierarchy
from hubbub.publish.anonymize.identifiers import refuse_identifiers
from hubbub.publish.anonymize.privacy_models import KAnonymity, PrivacyModel, least_size, model_words
from hubbub.publish.privacy_units import people_of
from hubbub.render import short
from hubbub.schema import FrameLike
from hubbub.terms import EmptyInput, MissingParameter, NotANumber, OutOfRange

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True, slots=True, eq=False)
class AnonymizationRequest:
    """A table, its quasi-identifiers as codes, the models that its classes have to fulfil, and the sensitive columns
    that the models name."""

    table: pyarrow.Table
    columns: tuple[Coded, ...]
    models: tuple[PrivacyModel, ...]
    secrets: Mapping[str, SensitiveColumn]
    hierarchies: Mapping[str, Hierarchy]
    people: Codes | None = None  # whose each row is; its own, if None

    @property
    def words(self) -> tuple[str, ...]:
        """What the models ask for, in sentences."""
        return tuple(model_words(model, people=self.people is not None) for model in self.models)

    def smallest(self, classes: Codes, rows: Codes | None = None) -> int:
        """How many people the smallest of these classes has; ``rows`` are the rows that they are of."""
        people = self.people if rows is None or self.people is None else self.people[rows]
        return int(EquivalenceClasses(classes, int(classes.max()) + 1, {}, people=people).sizes.min())

    @property
    def names(self) -> tuple[str, ...]:
        """The quasi-identifiers."""
        return tuple(column.name for column in self.columns)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The sensitive columns that the models name."""
        return tuple(self.secrets)

    @property
    def untouched(self) -> tuple[str, ...]:
        """The columns that are published as they are."""
        return tuple(name for name in self.table.column_names if name not in self.names)


def anonymization_request(
    table: FrameLike,
    *,
    quasi_identifiers: Sequence[str],
    models: Sequence[PrivacyModel],
    hierarchies: Mapping[str, Hierarchy] | None = None,
    keep: Sequence[str] = (),
    unit: str | None = None,
) -> AnonymizationRequest:
    """Read and check a request. The table belongs to who asks, so its size and what it can reach may be told."""
    given, people = split_unit(named_rows(table), unit)
    names = known_columns(
        quasi_identifiers,
        given,
        called="quasi-identifiers",
        why="They are the columns that somebody outside may know of a person.",
    )
    _check_models(models)
    sensitive = [
        known_column(model.sensitive, given, called="sensitive columns") for model in models if model.sensitive
    ]
    wanted = [known_column(name, given, called="keep=") for name in ((keep,) if isinstance(keep, str) else keep)]
    rows = _in_one_form(given)
    secrets = secrets_of(rows, names, sensitive)
    steps = _check_hierarchies(hierarchies or {}, names)
    _check_reachable(models, rows.num_rows, secrets, people)
    refuse_identifiers(rows, [*names, *sensitive, *wanted], least_size(models), people=people)
    columns = tuple(code_column(name, rows[name]) for name in names)
    return AnonymizationRequest(rows, columns, tuple(models), secrets, steps, people)


def split_unit(rows: pyarrow.Table, unit: str | None) -> tuple[pyarrow.Table, Codes | None]:
    """The table without the column that tells people apart, and whose each row is.

    Rows without an id belong to one person together: they hide nobody.
    """
    if unit is None:
        return rows, None
    column = rows[known_column(unit, rows, called="unit=")]
    people = people_of(column)
    return rows.drop([unit]), np.where(people < 0, people.max(initial=-1) + 1, people)


def _in_one_form(rows: pyarrow.Table) -> pyarrow.Table:
    """What is published as it is shows no more than the classes are made of."""
    import pyarrow

    return pyarrow.table([one_form(column) for column in rows.columns], names=rows.column_names)


def secrets_of(rows: pyarrow.Table, names: Sequence[str], sensitive: Sequence[str]) -> dict[str, SensitiveColumn]:
    """The sensitive columns, none of which is a quasi-identifier."""
    secrets = {}
    for name in dict.fromkeys(sensitive):
        if known_column(name, rows, called="sensitive columns") in names:
            raise OutOfRange(
                f"column {name!r} is both a quasi-identifier and sensitive.",
                why="What somebody outside knows anyway cannot be kept from them.",
                fix="Leave it out of one of the two.",
            )
        secrets[name] = secret_of(code_column(name, rows[name]))
    return secrets


def _check_models(models: Sequence[PrivacyModel]) -> None:
    if not models:
        raise MissingParameter(
            "there is no model.",
            why="Without one every row may stay as it is.",
            fix="Give k=10, or models=[KAnonymity(10), ...].",
        )
    for model in models:
        if not isinstance(model, PrivacyModel):
            raise NotANumber(
                f"a {type(model).__name__} is no model.",
                why="A model says for every class whether it holds.",
                fix='Give values such as KAnonymity(10) or DistinctL(3, "disease").',
            )


def _check_hierarchies(hierarchies: Mapping[str, Hierarchy], names: Sequence[str]) -> dict[str, Hierarchy]:
    for name, hierarchy in hierarchies.items():
        if name not in names or not isinstance(hierarchy, Hierarchy):
            raise OutOfRange(
                f"the hierarchy of {name!r} belongs to no quasi-identifier, or is none.",
                why="Only quasi-identifiers are made coarser.",
                fix=f"The quasi-identifiers are {', '.join(names)}; a hierarchy is one of `hubbub.publish`.",
            )
    return dict(hierarchies)


def _check_reachable(
    models: Sequence[PrivacyModel], rows: int, secrets: Mapping[str, SensitiveColumn], people: Codes | None
) -> None:
    """What the whole table as one class does not fulfil, no partition does."""
    if not rows:
        raise EmptyInput("the table has no rows.", why="There is nobody to protect.", fix="Give a table with rows.")
    everybody = EquivalenceClasses(np.zeros(rows, dtype=np.int64), 1, secrets, people=people)
    counted = "rows" if people is None else "people"
    for model in models:
        if model.holds(everybody)[0]:
            continue
        if isinstance(model, KAnonymity):
            raise OutOfRange(
                f"k={model.k} is more than the table's {int(everybody.sizes[0])} {counted}.",
                why=f"Every class needs k {counted}, and there are not as many.",
                fix=f"Ask for a smaller k, or add {counted}.",
            )
        raise OutOfRange(
            f"no partition of this table fulfils the model: {model_words(model, people=people is not None)}",
            why=f"All rows together reach {short(model.measure(everybody))}, and smaller classes reach less.",
            fix="Ask for a weaker model: a smaller l, or a larger c or t.",
        )
