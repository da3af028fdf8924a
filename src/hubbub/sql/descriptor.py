"""The descriptor: what a data owner declares about a dataset, read from TOML and checked.

``read`` and ``parse`` give what the text says; ``complete`` joins it with the names and types of the sources' columns
to the public facts that every query is planned from. Whatever is wrong is refused with the place in the file. Nothing
here reads a row.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any, NoReturn

from hubbub.ledger.requests import name_of
from hubbub.sql.positions import Section, Text, did_you_mean
from hubbub.sql.schema import Column, Dataset, Kind, Link, Table, Value
from hubbub.terms import BadDescriptor, Budget, InvalidParameter, Neighbours, exact, fraction_of, positive

ENGINES = ("duckdb", "postgres", "spark")
COLUMN_KEYS = ("type", "lower", "upper", "step", "values", "max_per_unit", "max_rows_per_unit", "why")
TABLE_KEYS = ("source", "key", "unit", "max_rows_per_unit", "rows", "public", "why", "columns")

Bound = Fraction | date  # a datetime is a date
_REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")  # a URL; a single letter would be a Windows drive
_RATIO = re.compile(r"-?\d{1,100}/[1-9]\d{0,99}")  # for what has no decimal
_EPOCH = date(1970, 1, 1)
_KINDS: tuple[tuple[Any, Kind], ...] = (  # the first that fits: a bool is an int, a datetime is a date
    (bool, Kind.BOOLEAN),
    (int, Kind.INTEGER),
    (float | Fraction, Kind.NUMBER),
    (str, Kind.TEXT),
    (datetime, Kind.TIMESTAMP),
    (date, Kind.DATE),
)
_ALLOWED = {
    Kind.BOOLEAN: "Write values = [true, false], and no bounds.",
    Kind.INTEGER: "Write whole numbers.",
    Kind.NUMBER: "Write numbers.",
    Kind.TEXT: 'Write values = ["...", "..."], and no bounds.',
    Kind.DATE: "Write dates, such as 2025-12-31.",
    Kind.TIMESTAMP: "Write times, such as 2025-12-31T23:59:59.",
    Kind.OPAQUE: "Leave it out.",
}


@dataclass(frozen=True, slots=True)
class Inside:
    """A table that lives in a database: where that is, and the table's name there."""

    source: str
    table: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredColumn:
    """What the text says of a column; its kind may still have to come from the source."""

    name: str
    kind: Kind | None = None
    lower: Bound | None = None
    upper: Bound | None = None
    step: Fraction | None = None
    values: tuple[Value, ...] | None = None
    max_per_unit: int | None = None
    max_rows_per_unit: int | None = None
    why: str = ""

    @property
    def implied(self) -> Kind | None:
        """The kind that values or bounds speak of."""
        if self.values:
            return _common_kind(self.values)
        if self.lower is None:
            return Kind.NUMBER if self.step is not None else None
        numbers = (self.lower, self.upper, self.step)
        if all(isinstance(number, Fraction) and number.denominator == 1 for number in numbers):
            return Kind.INTEGER
        return _kind(self.lower)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredTable:
    """What the text says of a table; ``link`` names columns as they were typed.

    ``source`` is a file or URL, a table inside a database, or empty: then it is looked up by the table's name.
    """

    name: str
    source: str | Inside = ""
    key: str = ""
    link: Link | None = None
    max_rows_per_unit: int | None = None
    rows: int | None = None
    public: bool = False
    why: str = ""
    columns: tuple[DeclaredColumn, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What a descriptor says, before the names and types of the sources' columns are known."""

    name: str
    engine: str
    version: str
    population: str
    unit: str
    neighbours: Neighbours
    budget: Budget
    ledger: str
    tables: tuple[DeclaredTable, ...]
    facts: Mapping[str, str]
    text: Text = field(repr=False, compare=False)


def read(path: str | Path) -> Declared:
    """The descriptor in a file; relative paths in it start from its folder."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        problem = "is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else "cannot be opened"
        raise BadDescriptor(
            f"the descriptor {file.name!r} {problem}.",
            why="Bounds, keys and the budget are declared there, and nothing is answered without them.",
            fix="Check the path, or draft a descriptor with `hubbub init`.",
        ) from None
    return parse(text, name=file.name, folder=file.parent)


def parse(text: str, *, name: str = "descriptor.toml", folder: Path | None = None) -> Declared:
    """What a descriptor says; ``name`` stands in messages, ``folder`` is where relative paths start.

    >>> declared = parse('''
    ... dataset.name = "survey"
    ... privacy = { unit = "row", budget = { epsilon = 1 } }
    ... tables.answers = { source = "answers.csv", columns.age = { lower = 0, upper = 120, step = 1 } }
    ... ''')
    >>> declared.population, declared.tables[0].columns[0].upper
    ('survey', Fraction(120, 1))
    """
    source = Text(name, text.replace("\r\n", "\n"))
    root = Section(source, (), source.load())
    root.only("dataset", "privacy", "declared", "tables")
    declared = _declared(root, folder)
    return replace(declared, tables=tuple(_linked(declared, root.section("tables"))))


def complete(declared: Declared, schemas: Mapping[str, Sequence[tuple[str, Kind]]]) -> Dataset:
    """The public facts: what was declared, joined with the names and kinds of each table's columns."""
    tables = tuple(_complete_table(declared, table, schemas.get(table.name)) for table in declared.tables)
    named = {table.name: table for table in tables}
    protected, _, column = declared.unit.partition(".")
    unit = f"{protected}.{_spelled(declared, ('privacy', 'unit'), named[protected], column)}" if declared.unit else ""
    return Dataset(
        name=declared.name,
        population=declared.population,
        unit=unit,
        budget=declared.budget,
        tables=tuple(_spell(declared, table, named) for table in tables),
        engine=declared.engine,
        version=declared.version,
        neighbours=declared.neighbours,
        ledger=declared.ledger,
        facts=declared.facts,
    )


def json_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a descriptor, for editors: shapes and types, not what hangs together."""
    text = (files("hubbub.sql") / "descriptor.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


# ---------------------------------------------------------------- the dataset and its single fields


def _declared(root: Section, folder: Path | None) -> Declared:
    """All that the text says, but for the links between tables."""
    dataset, privacy, facts = root.section("dataset"), root.section("privacy"), root.section("declared")
    dataset.only("name", "engine", "version", "source")
    privacy.only("population", "unit", "neighbours", "budget", "ledger")
    called, engine = _name(dataset, "name", "dataset"), _choice(dataset, "engine", ENGINES)
    tables = tuple(_tables(root.section("tables"), engine, dataset.words("source"), folder))
    if not tables:
        _missing(root, "tables", "at least one table", "[tables.<name>]")
    return Declared(
        name=called,
        engine=engine,
        version=_name(dataset, "version", "version", default="1"),
        population=_name(privacy, "population", "population", default=called),
        unit=_unit(privacy, tables),
        neighbours=Neighbours(_choice(privacy, "neighbours", tuple(Neighbours))),
        budget=_budget(privacy),
        ledger=_located(privacy.words("ledger"), folder),
        tables=tables,
        facts={key: _fact(facts, key) for key in facts.content},
        text=root.text,
    )


def _missing(section: Section, name: str, wanted: str, example: str) -> NoReturn:
    section.refuse(
        name,
        f"{'.'.join(map(str, (*section.path, name)))} is missing: {wanted}.",
        why="There is no default for it: what holds for people is always stated.",
        fix=f"Add {example}.",
        key=True,
    )


def _name(section: Section, key: str, what: str, default: str = "") -> str:
    if key not in section.content and not default:
        _missing(section, key, f"what the {what} is called", f'{key} = "..."')
    value = section.words(key, default)
    try:
        return name_of(value, what=what)
    except InvalidParameter as error:
        _pass_on(section, key, error)


def _pass_on(section: Section, key: str, error: InvalidParameter) -> NoReturn:
    section.refuse(key, f"{error.what.rstrip('.')}.", why=error.why, fix=error.fix)


def _choice(section: Section, key: str, allowed: Sequence[str]) -> str:
    """One of the allowed words; the first is the default."""
    value = section.words(key, allowed[0])
    if value not in allowed:
        section.refuse(
            key,
            f"{key} must be one of {', '.join(allowed)}.{did_you_mean(value, allowed)}",
            why="No other is known here.",
            fix=f'Write {key} = "{allowed[0]}", or another of them.',
        )
    return value


def _fact(section: Section, key: str) -> str:
    value = section.content[key]
    return value.isoformat() if isinstance(value, date) else section.sentence(key)


def _located(source: str, folder: Path | None) -> str:
    return source if not source or folder is None or _REMOTE.match(source) else str(folder / source)


def _number(section: Section, key: str) -> Fraction | None:
    """The number as typed: an integer, a decimal, or a ratio such as "1/3"."""
    value = section.content.get(key)
    if value is None:
        return None
    if isinstance(value, str) and _RATIO.fullmatch(value):
        return Fraction(value)
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        section.refuse(
            key,
            f"{key} must be a number{', a date or a time' * (key in ('lower', 'upper'))}.",
            why="What is declared is read as it stands, and never guessed from another type.",
            fix=f"Write it without quotes, as in {key} = {'2025-12-31 or ' * (key in ('lower', 'upper'))}0.01.",
        )
    try:
        return exact(value, name=key)
    except InvalidParameter as error:
        _pass_on(section, key, error)


def _budget(privacy: Section) -> Budget:
    if "budget" not in privacy.content:
        _missing(privacy, "budget", "how much may be spent in all", "budget = { epsilon = ..., delta = ... }")
    section = privacy.section("budget")
    section.only("epsilon", "delta", "rho")
    given = {key: _number(section, key) for key in section.content}
    for key, number in given.items():
        try:
            fraction_of(number, name=key, zero=True) if key == "delta" else positive(number, name=key)
        except InvalidParameter as error:
            _pass_on(section, key, error)
    if ("epsilon" in given) == ("rho" in given):
        privacy.refuse(
            "budget",
            "a budget is given by epsilon or by rho, and one of them is needed.",
            why="There is no default budget, and two caps would contradict each other.",
            fix="Write budget = { epsilon = ..., delta = ... } or budget = { rho = ... }.",
        )
    return Budget(given.get("epsilon"), given.get("delta") or Fraction(0), given.get("rho"))


# ---------------------------------------------------------------- columns


def _columns(section: Section) -> Iterator[DeclaredColumn]:
    seen: set[str] = set()
    for name, inside in section.sections():
        inside.only(*COLUMN_KEYS)
        if name.lower() in seen:
            section.refuse(
                name,
                f"column {name!r} is declared twice, in small letters and in capitals.",
                why="SQL does not tell small letters from capitals.",
                fix="Declare it once.",
                key=True,
            )
        seen.add(name.lower())
        kind = Kind(_choice(inside, "type", tuple(Kind))) if "type" in inside.content else None
        column = DeclaredColumn(
            name=name,
            kind=kind,
            lower=_bound(inside, "lower"),
            upper=_bound(inside, "upper"),
            step=_number(inside, "step"),
            values=_values(inside),
            max_per_unit=inside.count("max_per_unit"),
            max_rows_per_unit=inside.count("max_rows_per_unit"),
            why=inside.sentence("why"),
        )
        _check_bounds(inside, column)
        if kind is not None:
            _check_kind(inside, column, kind)
        yield column


def _bound(section: Section, key: str) -> Bound | None:
    value = section.content.get(key)
    return value if isinstance(value, date) else _number(section, key)


def _check_bounds(section: Section, column: DeclaredColumn) -> None:
    lower, upper, step = column.lower, column.upper, column.step
    if step is not None and step <= 0:
        why = "It is the grid that values are rounded to."
        section.refuse("step", "step must be above 0.", why=why, fix="Write step = 1, or less.")
    if lower is None or upper is None:
        _check_open_ends(section, column)
        return
    if _sort(lower) != _sort(upper):
        section.refuse(
            "upper",
            f"lower and upper of {column.name} are of different kinds.",
            why="Both are numbers, both dates, or both times, with or without a zone.",
            fix="Write both in the same way.",
        )
    low, high = units(lower), units(upper)
    if low >= high:
        section.refuse(
            "upper",
            f"upper must be above lower, and of {column.name} it is not.",
            why="Values are moved into the interval from lower to upper, and it is empty.",
            fix="Exchange the two, or widen the interval.",
        )
    _check_step(section, column, low, high)
    _check_inside(section, column, low, high)


def _check_open_ends(section: Section, column: DeclaredColumn) -> None:
    if column.lower is None and column.upper is None:
        return
    there, missing = ("lower", "upper") if column.upper is None else ("upper", "lower")
    section.refuse(
        there,
        f"{column.name} has a bound {there!r} and none {missing!r}.",
        why="One open end lets one person move a sum without limit.",
        fix=f"Add {missing} = ... beside it.",
    )


def _check_step(section: Section, column: DeclaredColumn, low: Fraction, high: Fraction) -> None:
    if column.step is None:
        return
    step = steps(column.step, _kind(column.lower))  # type: ignore[arg-type]  # both bounds are there
    plain = isinstance(column.lower, Fraction)
    if step > high - low or (plain and any((bound / step).denominator != 1 for bound in (low, high))):
        section.refuse(
            "step",
            f"the bounds of {column.name} are no whole number of steps.",
            why="Values are rounded to multiples of step and summed as integers; both bounds must be such multiples.",
            fix="Choose a step that divides lower and upper, such as 1 or 0.01.",
        )
    if not plain and step.denominator != 1:
        section.refuse(
            "step",
            f"step of {column.name} is finer than its type.",
            why="A date is counted in whole days, a time in microseconds.",
            fix="Give the step of dates in days, and of times in seconds with up to six decimals.",
        )


def _check_inside(section: Section, column: DeclaredColumn, low: Fraction, high: Fraction) -> None:
    if not column.values:
        return
    sort = _sort(column.lower)  # type: ignore[arg-type]  # both bounds are there
    numbers = [exact(v, name="value") if isinstance(v, int | float) else v for v in column.values]
    for place, value in enumerate(numbers):
        if isinstance(value, str) or _sort(value) != sort or not low <= units(value) <= high:
            section.text.refuse(
                (*section.path, "values", place),
                f"a value of {column.name} lies outside its bounds.",
                why="Both cannot hold, and it is not clear which is meant.",
                fix="Widen the bounds, or leave the value or the bounds out.",
            )


def _values(section: Section) -> tuple[Value, ...] | None:
    listed = section.content.get("values")
    if listed is None:
        return None
    if not isinstance(listed, list) or not listed:
        section.refuse(
            "values",
            "values must be a list of at least one key.",
            why="The keys of groups are taken from it, and an empty list has none.",
            fix='Write values = ["north", "south"], or leave it out.',
        )
    values = tuple(_value(section, place, value) for place, value in enumerate(listed))
    for place, value in enumerate(values):
        if _sort(value) != _sort(values[0]):
            _bad_value(section, place, "this value is of another kind than the first.", "Keep to one kind.")
        if value in values[:place]:
            _bad_value(section, place, "this value stands in the list twice.", "Leave one of them out.")
    return values


def _value(section: Section, place: int, value: object) -> Value:
    if isinstance(value, Decimal) and value.is_finite() and Decimal(repr(float(value))) == value:
        return int(value) if value == value.to_integral_value() else float(value)
    if not isinstance(value, str | bool | int | date):
        _bad_value(section, place, "this is no key.", "Use texts, numbers of up to 15 digits, dates, true or false.")
    return value


def _bad_value(section: Section, place: int, what: str, fix: str) -> NoReturn:
    why = "values are the public keys that rows are grouped by: each once, and all of one kind."
    section.text.refuse((*section.path, "values", place), what, why=why, fix=fix)


def _check_kind(section: Section, column: DeclaredColumn, kind: Kind) -> None:
    """Refuse bounds and values that a column of that kind cannot have."""
    implied = column.implied
    if implied is None or implied is kind or (implied.is_number and kind is Kind.NUMBER):
        return
    if implied is Kind.NUMBER and kind is Kind.INTEGER and not column.values:
        return
    said = "values" if column.values else "step" if column.lower is None else "lower"
    section.refuse(
        said,
        f"{column.name} is of type {kind.value}, and {said} says {implied.value}.",
        why="Bounds and keys are of the column's own type.",
        fix=f'{_ALLOWED[kind]} Or declare type = "{implied.value}".',
    )


# ---------------------------------------------------------------- values in the units of the schema


def units(value: Bound) -> Fraction:
    """A bound in the column's own units: a date in days, a time in microseconds since 1970-01-01."""
    if isinstance(value, Fraction):
        return value
    if isinstance(value, datetime):
        since = (value if value.tzinfo else value.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
        return Fraction((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds)
    return Fraction((value - _EPOCH).days)


def typed(number: Fraction, kind: Kind) -> Bound:
    """What ``units`` made of a bound, as it is typed again; times come back in UTC without a zone."""
    if kind is Kind.DATE:
        return _EPOCH + timedelta(days=int(number))
    if kind is Kind.TIMESTAMP:
        return datetime(1970, 1, 1) + timedelta(microseconds=int(number))
    return number


def steps(step: Fraction, kind: Kind) -> Fraction:
    """A step in the column's own units: typed in days for dates, in seconds for times."""
    return step * 1_000_000 if kind is Kind.TIMESTAMP else step


def _kind(value: Value | Fraction) -> Kind:
    return next(kind for known, kind in _KINDS if isinstance(value, known))


def _sort(value: Value | Fraction) -> object:
    """What must be alike in one list, and in a pair of bounds: whole numbers and others may mix, zones may not."""
    kind = _kind(value)
    zone = isinstance(value, datetime) and value.tzinfo is not None
    return Kind.NUMBER if kind.is_number else (kind, zone)


def _common_kind(values: Sequence[Value]) -> Kind:
    kinds = {_kind(value) for value in values}
    return Kind.NUMBER if Kind.NUMBER in kinds else _kind(values[0])


# ---------------------------------------------------------------- tables, and from a row to a person


def _tables(section: Section, engine: str, database: str, folder: Path | None) -> Iterator[DeclaredTable]:
    seen: set[str] = set()
    for name, inside in section.sections():
        inside.only(*TABLE_KEYS)
        if not name.isprintable() or not name.strip() or "." in name or name.lower() in seen:
            section.refuse(
                name,
                "the name of a table is not empty, has no dot, and differs from the others in more than case.",
                why="Columns are named as table.column, and SQL does not tell small letters from capitals.",
                fix="Give the table another name; source says where it lives.",
                key=True,
            )
        seen.add(name.lower())
        yield DeclaredTable(
            name=name,
            source=_source(inside, name, engine, database, folder),
            key=inside.words("key"),
            max_rows_per_unit=inside.count("max_rows_per_unit"),
            rows=inside.count("rows"),
            public=inside.flag("public"),
            why=inside.sentence("why"),
            columns=tuple(_columns(inside.section("columns"))),
        )


def _source(table: Section, name: str, engine: str, database: str, folder: Path | None) -> str | Inside:
    own = table.words("source")
    if engine == "postgres":
        return Inside(database, own or name)
    if own or not database:
        return _located(own, folder)
    return Inside(_located(database, folder), name)


def _find(name: str, tables: Sequence[DeclaredTable]) -> DeclaredTable | None:
    return next((table for table in tables if table.name.lower() == name.lower()), None)


def _unit(privacy: Section, tables: Sequence[DeclaredTable]) -> str:
    if "unit" not in privacy.content:
        _missing(
            privacy, "unit", "who is protected", 'unit = "table.column", or unit = "row" if each row is one person'
        )
    told = privacy.words("unit")
    if told in ("", "row"):
        return ""
    table = _referred(privacy, "unit", told, tables)
    if table.public:
        privacy.refuse(
            "unit",
            f"{table.name} is public, and the unit is a column of it.",
            why="A public table is shown as it is, so nobody in it is protected.",
            fix=f"Take public = true away from [tables.{table.name}], or name another column.",
        )
    return f"{table.name}.{told.partition('.')[2]}"


def _referred(section: Section, key: str, told: str, tables: Sequence[DeclaredTable]) -> DeclaredTable:
    """The table of a reference such as "patients.patient_id"."""
    name, dot, column = told.partition(".")
    table = _find(name, tables)
    if not dot or not column or table is None:
        problem = f"there is no table {name!r}.{did_you_mean(name, [t.name for t in tables])}"
        section.refuse(
            key,
            problem if dot and column else "a column of a table is written as table.column.",
            why="From each row there must be a way to the person it is about.",
            fix=f"Name a column of one of these tables: {', '.join(t.name for t in tables)}.",
        )
    return table


def _linked(declared: Declared, section: Section) -> Iterator[DeclaredTable]:
    """The tables with their links, each of which leads to the unit in the end."""
    linked = [_link(declared, table, section.section(table.name)) for table in declared.tables]
    for table in linked:
        _check_end(declared, table, linked, section)
    return (_capped(declared, table, section.section(table.name)) for table in linked)


def _link(declared: Declared, table: DeclaredTable, section: Section) -> DeclaredTable:
    protected, _, column = declared.unit.partition(".")
    if table.public or not declared.unit:
        _check_unlinked(table, section)
        return table
    told = _told_link(section)
    if table.name == protected:
        if told is not None and (
            told[0].lower() != column.lower() or told[1].lower() not in ("", declared.unit.lower())
        ):
            section.refuse(
                "unit",
                f"the unit is {declared.unit} itself, and this names another column.",
                why="Nobody can be two people at once.",
                fix="Leave this line out, or change privacy.unit.",
            )
        return replace(table, link=Link(column))
    if told is None:
        section.refuse(
            "unit",
            f"from a row of {table.name} no way leads to the person it is about.",
            why=f"The unit is {declared.unit}, and a private row without a person would not be protected.",
            fix='Add unit = { column = "table.key" }, unit = "column" if it holds the unit itself, or public = true.',
            key=True,
        )
    return replace(table, link=_target(declared, told, section))


def _check_unlinked(table: DeclaredTable, section: Section) -> None:
    for key in ("unit", "max_rows_per_unit"):
        if key in section.content:
            reason = "is public" if table.public else "belongs to a dataset whose unit is the row"
            section.refuse(
                key,
                f"{table.name} {reason}, so {key} has no meaning here.",
                why="It is not clear whom this line should protect.",
                fix="Leave this line out, or say who is protected: public = false, and a column as privacy.unit.",
                key=True,
            )


def _told_link(section: Section) -> tuple[str, str] | None:
    """(column, target) as typed: unit = "column", or unit = { column = "table.key" }."""
    told = section.content.get("unit")
    if told is None:
        return None
    if isinstance(told, str) and told:
        return section.words("unit"), ""
    if not isinstance(told, dict) or len(told) != 1:
        section.refuse(
            "unit",
            "the unit of a table is one column, or one column and what it refers to.",
            why="From each row exactly one way leads to a person.",
            fix='Write unit = "patient_id" or unit = { patient_id = "patients.patient_id" }.',
        )
    [column] = told
    return column, section.section("unit").words(column)


def _target(declared: Declared, told: tuple[str, str], section: Section) -> Link:
    column, reference = told
    if not reference and isinstance(section.content["unit"], str):
        return Link(column)
    inside = section.section("unit")
    table = _referred(inside, column, reference, declared.tables)
    key = reference.partition(".")[2]
    leads = key.lower() == table.key.lower() or f"{table.name}.{key}".lower() == declared.unit.lower()
    if table.public or not leads:
        reason = "is public and leads to nobody" if table.public else f"has another key than {key!r}, or none"
        inside.refuse(
            column,
            f"{table.name} {reason}.",
            why="Only a private table's key, or the unit itself, leads from one row to exactly one person.",
            fix=f'Declare key = "{key}" in [tables.{table.name}] if no two rows share it, or refer to another column.',
        )
    return Link(column, table.name, key)


def _direct(declared: Declared, link: Link) -> bool:
    """Whether the link's column holds the unit itself."""
    return not link.table or f"{link.table}.{link.key}".lower() == declared.unit.lower()


def _check_end(declared: Declared, table: DeclaredTable, tables: Sequence[DeclaredTable], section: Section) -> None:
    way, here = [table.name], table
    while here.link is not None and not _direct(declared, here.link):
        here = next(other for other in tables if other.name == here.link.table)
        way.append(here.name)
        if here.name in way[:-1]:
            section.section(table.name).refuse(
                "unit",
                f"the links go round in a circle: {' -> '.join(way)}.",
                why=f"No way leads from a row of {table.name} to {declared.unit}.",
                fix=f'Let one of these tables refer to the unit: unit = {{ column = "{declared.unit}" }}.',
            )


def _capped(declared: Declared, table: DeclaredTable, section: Section) -> DeclaredTable:
    """A table whose key is the unit has one row for each person."""
    link = table.link
    if link is None or not table.key or table.key.lower() != link.column.lower() or not _direct(declared, link):
        return table
    if table.max_rows_per_unit not in (None, 1):
        section.refuse(
            "max_rows_per_unit",
            f"the key of {table.name} is the unit, so a person has one row, and this says more.",
            why="No two rows share a key.",
            fix="Leave this line out, or take the key away.",
        )
    return replace(table, max_rows_per_unit=1)


# ---------------------------------------------------------------- with the columns of the source


def _complete_table(declared: Declared, table: DeclaredTable, schema: Sequence[tuple[str, Kind]] | None) -> Table:
    path = ("tables", table.name)
    names = [name.lower() for name, _ in schema or ()]
    if schema is None or len(set(names)) < len(names):
        problem = "was not found at its source" if schema is None else "has columns that differ in case only"
        declared.text.refuse(
            path,
            f"table {table.name} {problem}.",
            why="A descriptor speaks of tables and columns that a query can name without doubt.",
            fix="Check source, or rename what is there.",
            key=True,
        )
    told: dict[str, DeclaredColumn] = {}
    for column in table.columns:
        if column.name.lower() not in names:
            _no_column(declared, (*path, "columns", column.name), table.name, column.name, [name for name, _ in schema])
        told[column.name.lower()] = column
    return Table(
        name=table.name,
        source=table.source,
        columns=tuple(_complete_column(declared, table, told.get(name.lower()), name, kind) for name, kind in schema),
        link=table.link,
        key=table.key,
        max_rows_per_unit=table.max_rows_per_unit,
        rows=table.rows,
        public=table.public,
        why=table.why,
    )


def _complete_column(
    declared: Declared, table: DeclaredTable, told: DeclaredColumn | None, name: str, arrived: Kind
) -> Column:
    if told is None:
        return Column(name=name, kind=arrived)
    kind = told.kind or (told.implied or arrived if arrived is Kind.TEXT else arrived)  # CSV: everything comes as text
    _check_kind(Section(declared.text, ("tables", table.name, "columns", told.name), {}), told, kind)
    return Column(
        name=name,
        kind=kind,
        lower=None if told.lower is None else units(told.lower),
        upper=None if told.upper is None else units(told.upper),
        step=None if told.step is None else steps(told.step, kind),
        values=told.values,
        max_per_unit=told.max_per_unit,
        max_rows_per_unit=told.max_rows_per_unit,
        why=told.why,
    )


def _spell(declared: Declared, table: Table, named: Mapping[str, Table]) -> Table:
    """Key and link in the spelling of the source; all of their columns must be there."""
    path = ("tables", table.name)
    key = _spelled(declared, (*path, "key"), table, table.key) if table.key else ""
    if (link := table.link) is not None:
        far = _spelled(declared, (*path, "unit", link.column), named[link.table], link.key) if link.table else ""
        link = Link(_spelled(declared, (*path, "unit"), table, link.column), link.table, far)
    return replace(table, key=key, link=link)


def _spelled(declared: Declared, path: tuple[str, ...], table: Table, name: str) -> str:
    column = table.column(name)
    if column is None:
        _no_column(declared, path, table.name, name, [column.name for column in table.columns])
    return column.name


def _no_column(declared: Declared, path: tuple[str, ...], table: str, name: str, known: Sequence[str]) -> NoReturn:
    declared.text.refuse(
        path,
        f"{table} has no column {name!r}.{did_you_mean(name, known)}",
        why="What is declared of a column that is not there would protect nobody.",
        fix=f"Name one of its columns: {', '.join(known)}.",
        key="columns" in path,
    )
