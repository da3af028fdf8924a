"""Checks: which models a table that is already published fulfils, and how far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hubbub.explain import Document, Section, TextTable
from hubbub.publish.anonymize.anonymized_table import NO_GUARANTEE
from hubbub.publish.anonymize.coded_columns import Codes, code_column, combine_codes, known_columns, named_rows
from hubbub.publish.anonymize.equivalence_classes import EquivalenceClasses
from hubbub.publish.anonymize.hierarchies import Hierarchy
from hubbub.publish.anonymize.privacy_models import (
    DistinctL,
    EntropyL,
    KAnonymity,
    PrivacyModel,
    RecursiveL,
    TCloseness,
    model_words,
)
from hubbub.publish.anonymize.request import secrets_of, split_unit
from hubbub.render import Json, short
from hubbub.schema import FrameLike
from hubbub.terms import EmptyInput


def check(
    table: FrameLike,
    *,
    quasi_identifiers: Sequence[str],
    sensitive: str | Sequence[str] = (),
    models: Sequence[PrivacyModel] = (),
    hierarchy: Hierarchy | None = None,
    unit: str | None = None,
) -> Checked:
    """Measure the classes of equal quasi-identifiers: their k, and for each sensitive column their l and t.

    Values are compared as they are written, and a missing value is a value of its own. So a table that holds under this
    reading also holds for whoever lets a missing value match any other: that only joins rows. ``models`` that are given
    are checked as well; ``hierarchy`` is that of a single sensitive column, for its t.

    ``unit`` is the column that tells people apart, who may have several rows: then classes are counted in different
    people. Without it each row counts as a person.

    >>> import pyarrow
    >>> wards = {"age": ["20-30", "20-30", "70-80", "70-80"], "ill": ["flu", "asthma", "cancer", "cancer"]}
    >>> found = check(pyarrow.table(wards), quasi_identifiers=["age"], sensitive="ill")
    >>> found.k, found.measures[0].distinct_l, found.measures[0].t
    (2, 1, 0.5)
    """
    rows, people = split_unit(named_rows(table), unit)
    names = known_columns(
        quasi_identifiers, rows, called="quasi-identifiers", why="Rows that agree in them are a class."
    )
    if not rows.num_rows:
        raise EmptyInput("the table has no rows.", why="There is nothing to check.", fix="Give a table with rows.")
    wanted = (sensitive,) if isinstance(sensitive, str) else tuple(sensitive)
    every = [*wanted, *(model.sensitive for model in models if model.sensitive)]
    columns = [code_column(name, rows[name]) for name in names]
    labels, number = combine_codes([one.codes for one in columns], [len(one.labels) for one in columns])
    classes = EquivalenceClasses(labels, number, secrets_of(rows, names, every), people=people)
    measures = tuple(_column_diversity(classes, name, hierarchy) for name in dict.fromkeys(wanted))
    broken = tuple(model for model in models if not model.holds(classes).all())
    counted = "rows" if people is None else "people"
    return Checked(names, labels, number, int(classes.sizes.min()), measures, tuple(models), broken, counted)


@dataclass(frozen=True, slots=True)
class ColumnDiversity:
    """How diverse and how close the classes are in one sensitive column."""

    sensitive: str
    distinct_l: int  # fewest different values in a class
    entropy_l: float  # e to the smallest entropy
    recursive_c: float  # recursive (c, 2)-diversity holds above this c; infinite where a class has one value only
    t: float  # largest distance of a class from the whole table


def _column_diversity(classes: EquivalenceClasses, name: str, hierarchy: Hierarchy | None) -> ColumnDiversity:
    return ColumnDiversity(
        name,
        int(DistinctL(2, name).measure(classes)),
        EntropyL(2, name).measure(classes),
        RecursiveL(1, 2, name).measure(classes),
        TCloseness(0, name, hierarchy).measure(classes),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Checked(Document):
    """What the classes of a table fulfil, which of the models asked about they break, and what none of it covers."""

    quasi_identifiers: tuple[str, ...]
    classes: Codes = field(repr=False)
    number: int
    k: int
    measures: tuple[ColumnDiversity, ...]
    models: tuple[PrivacyModel, ...]
    broken: tuple[PrivacyModel, ...]
    counted: str = "rows"  # or people

    @property
    def holds(self) -> bool:
        """Whether all models asked about hold."""
        return not self.broken

    @property
    def title(self) -> str:
        """What was checked."""
        return "What this table fulfils"

    def sections(self) -> tuple[Section, ...]:
        """What holds, and what that does not protect against."""
        summary = (
            f"{self.classes.size:,} rows in {self.number:,} classes of equal {', '.join(self.quasi_identifiers)}; the "
            f"smallest has {self.k:,}{' people' if self._by_people else ''}. " + (self._alone if self.k == 1 else "")
        ).strip()
        verdicts = tuple(
            f"{'BROKEN' if model in self.broken else 'Holds'}: {model_words(model, people=self._by_people)}"
            for model in self.models
        )
        return (
            Section("What was found", (summary, *verdicts), self._table() if self.measures else None),
            Section("What this does not protect against", (*self._gaps(), NO_GUARANTEE)),
        )

    def to_json(self) -> dict[str, Json]:
        """The numbers as one JSON document."""
        return {
            "kind": "checked",
            "quasi_identifiers": list(self.quasi_identifiers),
            "rows": self.classes.size,
            "classes": self.number,
            "k": self.k,
            "holds": self.holds,
            "broken": [model_words(model, people=self._by_people) for model in self.broken],
            "measures": [
                {
                    "sensitive": one.sensitive,
                    "distinct_l": one.distinct_l,
                    "entropy_l": one.entropy_l,
                    "recursive_c": None if one.recursive_c == float("inf") else one.recursive_c,
                    "t": one.t,
                }
                for one in self.measures
            ],
            "not_protected": [*self._gaps(), NO_GUARANTEE],
        }

    @property
    def _by_people(self) -> bool:
        return self.counted == "people"

    @property
    def _alone(self) -> str:
        return f"One {'person' if self._by_people else 'row'} is alone: it can be linked to a name."

    def _gaps(self) -> tuple[str, ...]:
        models: list[PrivacyModel] = [KAnonymity(2), *self.models]
        models += [TCloseness(max(0.0, min(one.t, 0.999)), one.sensitive) for one in self.measures]
        return tuple(dict.fromkeys(model.gaps for model in models))

    def _table(self) -> TextTable:
        return TextTable(
            ("sensitive column", "fewest values (l)", "entropy l", "c of recursive (c, 2)", "distance (t)"),
            tuple(
                (one.sensitive, str(one.distinct_l), short(one.entropy_l), short(one.recursive_c), short(one.t))
                for one in self.measures
            ),
        )
