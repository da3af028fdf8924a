"""What is public about a dataset, to read: tables, types, bounds, keys, who is protected, and who declared it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from hubbub.explain import epsilon as explain_epsilon
from hubbub.render import Document, Json, Section
from hubbub.render import TextTable as Grid
from hubbub.schema.descriptor import typed_bound
from hubbub.schema.draft import exact_decimal
from hubbub.schema.tables import Column, Dataset, Kind, Table, Value
from hubbub.terms import Unit

NULL_RULE = "rows with no value here are left out of groups"
CLIP_RULE = "Values outside the bounds count as the nearest bound, which can bias sums and averages."
KEY_RULE = "Groups are those of the declared keys, whether or not anybody is in them."
_SHOWN = 5  # keys in the text; the JSON has all
_HEADER = ("column", "type", "bounds", "step", "keys", "most per person", "published", "why")


@dataclass(frozen=True, slots=True)
class Description(Document):
    """The public page of a dataset: everything comes from the descriptor and the schema, nothing from rows.

    Sources and the ledger's address are left out: they can hold passwords.
    """

    dataset: Dataset

    @property
    def title(self) -> str:
        """What is described."""
        return f"What is public about {self.dataset.name!r}"

    def sections(self) -> tuple[Section, ...]:
        """Who is protected first, then how values are read, then table by table."""
        parts = [
            Section("Who is protected", tuple(self._promise())),
            Section("How values are read", (f"Of each column: {NULL_RULE}. {CLIP_RULE} {KEY_RULE}",)),
            *(
                Section(f"Table {table.name}", tuple(_describe_table(table)), _column_grid(table))
                for table in self.dataset.tables
            ),
        ]
        if self.dataset.facts:
            rows = tuple((_printable(key), _printable(words)) for key, words in self.dataset.facts.items())
            parts.append(Section("Who declared this", (), Grid(("what", "words"), rows)))
        return tuple(parts)

    def to_json(self) -> dict[str, Json]:
        """The same facts as one JSON document; numbers are exact, as text."""
        dataset = self.dataset
        return {
            "kind": "dataset",
            "name": dataset.name,
            "version": dataset.version,
            "engine": dataset.engine,
            "population": dataset.population,
            "unit": dataset.unit or "row",
            "neighbours": dataset.neighbours.value,
            "budget": dataset.budget.measure().describe() if dataset.budget else None,
            "null_rule": NULL_RULE,
            "declared": dict(dataset.facts),
            "tables": [_table_json(table) for table in dataset.tables],
        }

    def _promise(self) -> Iterator[str]:
        dataset = self.dataset
        unit = Unit(dataset.unit)
        apart = dataset.neighbours.describe(unit)
        yield f"Protected: {unit.describe()}. Neighbours: {dataset.neighbours.value}, that is, {apart}."
        if dataset.budget is None:
            yield "No budget is declared: nothing can be asked yet."
            return
        yield (
            f"The budget of population {dataset.population!r} is {dataset.budget.measure().describe()}, for everything "
            f"that is ever asked about these people, here and in other datasets that name the same population."
        )
        if dataset.budget.epsilon is not None:
            yield f"All of it: {explain_epsilon(dataset.budget.epsilon, delta=dataset.budget.delta).odds_sentence}"


def describe(dataset: Dataset) -> Description:
    """The public page of a dataset, as text, HTML and JSON."""
    return Description(dataset)


def _describe_table(table: Table) -> Iterator[str]:
    link = table.link
    if table.public:
        yield "Public: nobody in this table is protected."
    elif link is None:
        yield "Each row is protected by itself."
    else:
        way = f"{link.column} refers to {link.table}.{link.key}" if link.table else f"{link.column} is the person"
        most = table.max_rows_per_unit
        cap = (
            "no cap on one person's rows is declared" if most is None else f"at most {most} of one person's rows count"
        )
        yield f"From a row to a person: {_printable(way)}; {cap}."
    if table.key:
        yield f"No two rows share {_printable(table.key)}."
    if table.rows is not None:
        yield f"It has about {table.rows} rows, says the owner."
    if table.why:
        yield f"Why: {table.why}"


def _column_grid(table: Table) -> Grid:
    rows = tuple(_column_cells(column) for column in table.columns)
    filled = [i for i in range(len(_HEADER)) if i < 2 or any(row[i] for row in rows)]
    return Grid(tuple(_HEADER[i] for i in filled), tuple(tuple(row[i] for i in filled) for row in rows))


def _column_cells(column: Column) -> tuple[str, ...]:
    bounds = (
        f"{_bound_text(column, column.lower)} to {_bound_text(column, column.upper)}"
        if column.lower is not None
        else ""
    )
    most = [
        column.max_per_unit is not None and f"{column.max_per_unit} values",
        column.max_rows_per_unit is not None and f"{column.max_rows_per_unit} rows per value",
    ]
    keys = _keys_text(column.values or ())
    shown = ", ".join(_describe_publishing(column))
    limits = ", ".join(limit for limit in most if limit)
    return _printable(column.name), column.kind.value, bounds, _step_text(column), keys, limits, shown, column.why


def _describe_publishing(column: Column) -> Iterator[str]:
    """How the column is published, in words."""
    if column.surrogate is not None:
        yield f"made up anew as {_printable(column.surrogate)}-1, ..."
    if column.privately is not None:
        yield f"{column.privately.value} found privately"
    if column.bins is not None:
        yield f"{column.bins} bins"
    if column.missing:
        yield "missing by itself"
    if column.other is not None:
        yield f"the rest as {_printable(str(column.other))}"
    if column.sensitive:
        yield "sensitive"


def _bound_text(column: Column, bound: Fraction | None) -> str:
    value = None if bound is None else typed_bound(bound, column.kind)
    return "" if value is None else exact_decimal(value) if isinstance(value, Fraction) else value.isoformat()


def _step_text(column: Column) -> str:
    if column.step is None:
        return ""
    if column.kind is Kind.TIMESTAMP:
        return f"{exact_decimal(column.step / 1_000_000)} s"
    return exact_decimal(column.step) + (" days" if column.kind is Kind.DATE else "")


def _keys_text(values: tuple[Value, ...]) -> str:
    shown = ", ".join(_printable(str(value)) for value in values[:_SHOWN])
    return shown if len(values) <= _SHOWN else f"{shown}, ... ({len(values)} in all)"


def _printable(words: str) -> str:
    """Words without signs that could rewrite a terminal: names and keys may hold any."""
    return "".join(sign if sign.isprintable() else "?" for sign in words)


def _table_json(table: Table) -> dict[str, Json]:
    link = table.link
    return {
        "name": table.name,
        "public": table.public,
        "key": table.key or None,
        "unit": None if link is None else {"column": link.column, "table": link.table or None, "key": link.key or None},
        "max_rows_per_unit": table.max_rows_per_unit,
        "rows": table.rows,
        "why": table.why,
        "columns": [_column_json(column) for column in table.columns],
    }


def _column_json(column: Column) -> dict[str, Json]:
    values = None if column.values is None else [_value_json(value) for value in column.values]
    publishing: dict[str, Json] = {
        "bins": column.bins,
        "missing": column.missing or None,
        "other": None if column.other is None else _value_json(column.other),
        "key": column.surrogate,
        "privately": None if column.privately is None else column.privately.value,
        "sensitive": column.sensitive or None,
    }
    return {
        "name": column.name,
        "type": column.kind.value,
        "lower": _bound_text(column, column.lower) or None,
        "upper": _bound_text(column, column.upper) or None,
        "step": _step_text(column) or None,
        "values": values,
        "max_per_unit": column.max_per_unit,
        "max_rows_per_unit": column.max_rows_per_unit,
        "why": column.why,
        **{key: fact for key, fact in publishing.items() if fact is not None},
    }


def _value_json(value: Value) -> Json:
    return value if isinstance(value, str | int | float) else value.isoformat()
