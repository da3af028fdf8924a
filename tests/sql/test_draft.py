"""A draft has blanks and no values of rows; a written descriptor says what it was written from."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from datetime import UTC, date, datetime
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub.schema.descriptor import complete, parse
from hubbub.schema.draft import draft, exact_decimal, from_dataset, toml
from hubbub.schema.source_files import InDatabase
from hubbub.schema.tables import Column, Dataset, Kind, PersonLink, Privately, Table
from hubbub.terms import BadDescriptor, Budget, Neighbours, OutOfRange

SCHEMAS = {
    "patients": [("patient_id", Kind.INTEGER), ("photo", Kind.OPAQUE)],
    "visits": [
        *(("patient_id", Kind.INTEGER), ("ward", Kind.TEXT), ("cost", Kind.NUMBER)),
        *(("day", Kind.DATE), ("seen", Kind.TIMESTAMP), ("flu", Kind.BOOLEAN)),
    ],
}

ANSWERS = [  # what an owner fills in, line by line
    ("# unit = ?                               # 1. a column that", 'unit = "patients.patient_id" #'),
    ("# budget = { epsilon = ?, delta = ? }", "budget = { epsilon = 3, delta = 1e-6 }"),
    ("# key = ?", 'key = "patient_id"'),
    ("# unit = ?                               # 1. column with", "# (this is the table of people)"),
    ("# unit = ?                               # 1. column with", 'unit = { patient_id = "patients.patient_id" } #'),
]


def filled() -> str:
    """The draft after its owner has answered the questions, one after the other."""
    text = draft("hospital", SCHEMAS)
    for blank, answer in ANSWERS:
        assert blank in text
        text = text.replace(blank, answer, 1)
    return text


# ---------------------------------------------------------------- drafts


def test_the_two_questions_come_first() -> None:
    text = draft("hospital", SCHEMAS)
    first, second = text.index("Who is protected?"), text.index("How many rows can one of them have?")
    assert first < second < text.index("[dataset]")


def test_a_draft_is_refused_until_its_questions_are_answered() -> None:
    text = draft("hospital", SCHEMAS)
    refusals = []
    for blank, answer in ANSWERS:
        with pytest.raises(BadDescriptor) as caught:
            parse(text)
        refusals.append(caught.value.what.split(":")[0])
        text = text.replace(blank, answer, 1)
    assert refusals[:2] == ["privacy.unit is missing", "privacy.budget is missing"]
    assert all(told.startswith("from a row of visits no way leads") for told in refusals[2:])
    parse(text)


@pytest.mark.parametrize("line", re.findall(r"^# (.*\?.*)$", draft("h", SCHEMAS).partition("[dataset]")[2], re.M))
def test_a_blank_that_is_not_filled_in_is_told_as_such(line: str) -> None:
    text = filled().replace(f"# {line}", line) if f"# {line}" in filled() else f"{line}\n{filled()}"
    with pytest.raises(BadDescriptor, match=r"a blank is not filled in yet\. At descriptor\.toml:\d+:\d+:"):
        parse(text)


def test_every_blank_can_be_filled_in() -> None:
    text = filled()
    bounds: dict[str, tuple[str, str]] = {
        "cost": ("0", "5000"),
        "patient_id": ("0", "99"),
        "day": ("2025-01-01", "2025-12-31"),
        "seen": ("2025-01-01T00:00:00", "2025-12-31T00:00:00"),
    }
    for name, (lower, upper) in bounds.items():
        text = re.sub(
            rf"^# {name} = {{ lower = \?, upper = \?", f"{name} = {{ lower = {lower}, upper = {upper}", text, flags=re.M
        )
    text = (
        text.replace("# ward = { values = [?]", 'ward = { values = ["north"]')
        .replace("# flu", "flu")
        .replace("# photo", "photo")
    )
    text = (
        text.replace("# by = ?", 'by = "board"')
        .replace("# why = ?", 'why = "report"')
        .replace("# rows = ?", "rows = 9")
    )
    text = re.sub(r"^# max_rows_per_unit = \?(?=.*\n.*\n# key)", "max_rows_per_unit = 50", text, flags=re.M)
    text = re.sub(r"^(?!#)(.*)why = \?", r'\1why = "form 7"', text, flags=re.M).replace("step = ?", "step = 0.01")
    dataset = complete(parse(text), SCHEMAS)
    visits = dataset.tables[1]
    assert visits.max_rows_per_unit == 50
    assert visits.columns[2] == Column(
        name="cost", kind=Kind.NUMBER, lower=Fraction(0), upper=Fraction(5000), step=Fraction(1, 100), why="form 7"
    )
    assert all(column.why or column.kind is Kind.BOOLEAN for column in visits.columns)
    assert dataset.facts == {"by": "board", "why": "report"}


def test_sources_are_those_of_the_tables_or_of_the_database() -> None:
    assert 'source = "h.duckdb"\n\n[declared]' in draft("h", SCHEMAS, source="h.duckdb")
    told = draft("h", SCHEMAS, source={"visits": "visits.csv"})
    assert '[tables.visits]\nsource = "visits.csv"\n' in told
    assert told.count("source =") == 1


NAMES = st.text(min_size=1, max_size=8).filter(lambda name: name.isprintable() and name.strip() and "." not in name)


def distinct(names: st.SearchStrategy[str], **sizes: int) -> st.SearchStrategy[list[str]]:
    return st.lists(names, unique_by=str.lower, **sizes)


@given(st.dictionaries(NAMES, st.lists(st.tuples(st.text(max_size=8), st.sampled_from(Kind)), max_size=4), max_size=3))
def test_a_draft_of_any_schema_is_toml_that_declares_nothing(schemas: dict[str, list[tuple[str, Kind]]]) -> None:
    text = draft("survey", schemas)
    with pytest.raises(BadDescriptor, match=r"is missing|differs from the others"):
        parse(text)
    assert all(table == {"columns": {}} for table in tomllib.loads(text).get("tables", {}).values())


# ---------------------------------------------------------------- whole descriptors


def one_sort(*strategies: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
    return st.one_of(*(st.lists(s, min_size=1, max_size=4, unique=True).map(tuple) for s in strategies))


FLOATS = st.floats(allow_nan=False, allow_infinity=False).map(lambda x: int(x) if x.is_integer() else x)
KEYS: dict[Kind, st.SearchStrategy[tuple[object, ...]]] = {
    Kind.BOOLEAN: one_sort(st.booleans()),
    Kind.INTEGER: one_sort(st.integers()),
    Kind.NUMBER: one_sort(FLOATS | st.integers()),
    Kind.TEXT: one_sort(st.text(max_size=5)),
    Kind.DATE: one_sort(st.dates()),
    Kind.TIMESTAMP: one_sort(st.datetimes(), st.datetimes(timezones=st.just(UTC))),
}
STEPS = st.fractions(min_value=Fraction(1, 999), max_value=999, max_denominator=999) | st.just(Fraction(1, 100))
COUNTS = st.none() | st.integers(1, 99)
REASONS = st.text(max_size=9).filter(str.isprintable)


@st.composite
def bounds(draw: Callable[..., object], kind: Kind) -> dict[str, Fraction | None]:
    if kind.is_number:
        step = draw(st.none() | STEPS)
        grid = Fraction(1, 7) if step is None else step
    else:
        step, grid = draw(st.none() | st.just(Fraction(1))), Fraction(1)
    least, most = (-700_000, 2_900_000) if kind is Kind.DATE else (-(10**15), 10**15)
    low, high = sorted(draw(st.lists(st.integers(least, most), min_size=2, max_size=2, unique=True)))
    return {"lower": low * grid, "upper": high * grid, "step": step}


@st.composite
def columns(draw: Callable[..., object], name: str) -> Column:
    kind = draw(st.sampled_from(Kind))
    facts: dict[str, object] = {}
    what = draw(st.sampled_from(["nothing", "values", "bounds", "private", "names"]))
    if what == "values" and kind in KEYS:
        facts["values"] = draw(KEYS[kind])
        facts["other"] = draw(st.none() | st.sampled_from(facts["values"]))
    if what == "bounds" and (kind.is_number or kind in (Kind.DATE, Kind.TIMESTAMP)):
        facts |= draw(bounds(kind)) | {"bins": draw(COUNTS), "missing": draw(st.booleans())}
    if what == "private" and kind.is_number:
        facts |= {"privately": Privately.BOUNDS, "bins": draw(COUNTS), "missing": draw(st.booleans())}
    if what == "private" and kind is Kind.TEXT:
        facts |= {"privately": Privately.VALUES, "other": draw(st.none() | st.just("rest"))}
    if what == "names":
        facts["surrogate"] = draw(st.sampled_from(["person", ""]))
    else:
        facts["sensitive"] = draw(st.booleans())
    most = {"max_per_unit": draw(COUNTS), "max_rows_per_unit": draw(COUNTS)}
    return Column(name=name, kind=kind, why=draw(REASONS), **most, **facts)


@st.composite
def datasets(draw: Callable[..., object]) -> Dataset:
    names = draw(distinct(NAMES, min_size=1, max_size=4))
    heads = {name: draw(distinct(NAMES, min_size=1, max_size=4)) for name in names}
    rows = draw(st.booleans())
    unit = "" if rows else f"{names[0]}.{heads[names[0]][0]}"
    engine = draw(st.sampled_from(["duckdb", "postgres"]))
    tables: list[Table] = []
    for name in names:
        public = draw(st.booleans()) and (rows or name != names[0])
        link = None if rows or public else draw(st.sampled_from(list(links(tables, heads[name][0], unit))))
        key = draw(st.sampled_from(["", *heads[name]]))
        direct = link is not None and (not link.table or f"{link.table}.{link.key}" == unit)
        alone = direct and link is not None and key.lower() == link.column.lower()
        source: object = InDatabase("host=db", draw(NAMES)) if engine == "postgres" else draw(st.just("") | NAMES)
        tables.append(
            Table(
                name=name,
                source=source,
                columns=tuple(draw(columns(head)) for head in heads[name]),
                link=link,
                key=key,
                max_rows_per_unit=1 if alone else draw(COUNTS) if link else None,
                rows=draw(COUNTS),
                public=public,
                why=draw(REASONS),
            )
        )
    return Dataset(
        name="survey 1",
        population=draw(st.sampled_from(["people", "é+@:x"])),
        unit=unit,
        budget=draw(st.sampled_from([Budget(3, 1e-6), Budget(Fraction(1, 3)), Budget(rho=0.1, delta=1e-30)])),
        tables=tuple(tables),
        engine=engine,
        version=draw(st.sampled_from(["1", "2026-05"])),
        neighbours=draw(st.sampled_from(Neighbours)),
        ledger=draw(st.sampled_from(["", "book.db", "postgresql://db/x"])),
        facts=draw(st.dictionaries(st.text(max_size=5), REASONS, max_size=2)),
    )


def links(before: list[Table], column: str, unit: str) -> list[PersonLink]:
    """Ways to the person: the column itself, or a key of a table that has one."""
    if not before:
        return [PersonLink(column)]
    private = [table for table in before if not table.public]
    keys = [PersonLink(column, table.name, table.key) for table in private if table.key]
    return [PersonLink(column), PersonLink(column, *unit.split(".", 1)), *keys]


def schemas_of(dataset: Dataset, kind: Kind | None = None) -> dict[str, list[tuple[str, Kind]]]:
    return {table.name: [(column.name, kind or column.kind) for column in table.columns] for table in dataset.tables}


@given(datasets())
def test_what_is_written_reads_as_the_same_dataset(dataset: Dataset) -> None:
    text = from_dataset(dataset)
    assert complete(parse(text), schemas_of(dataset)) == dataset
    assert complete(parse(text), schemas_of(dataset, Kind.TEXT)) == dataset


def test_a_dataset_without_a_budget_gets_a_blank_for_it() -> None:
    dataset = Dataset(name="d", population="d", unit="", budget=None, tables=(Table(name="t", source="", columns=()),))
    with pytest.raises(BadDescriptor, match=r"privacy\.budget is missing"):
        parse(from_dataset(dataset))
    assert parse(from_dataset(dataset).replace("# budget = { epsilon = ?, delta = ? }", "budget = { rho = 1 }"))


def test_a_table_in_memory_has_no_source() -> None:
    table = Table(name="t", source=object(), columns=())
    assert "source" not in from_dataset(Dataset(name="d", population="d", unit="", budget=Budget(1), tables=(table,)))


@pytest.mark.parametrize("second", [InDatabase("b.duckdb", "t2"), InDatabase("a.duckdb", "other")])
def test_what_a_descriptor_cannot_say_is_refused(second: InDatabase) -> None:
    tables = tuple(
        Table(name=name, source=source, columns=())
        for name, source in (("t1", InDatabase("a.duckdb", "t1")), ("t2", second))
    )
    with pytest.raises(OutOfRange, match="several databases"):
        from_dataset(Dataset(name="d", population="d", unit="", budget=Budget(1), tables=tables))


@given(st.fractions())
def test_a_number_is_written_in_full(number: Fraction) -> None:
    told = exact_decimal(number)
    assert Fraction(told) == number
    assert ("/" in told) == (10**200 % number.denominator != 0)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (True, "true"),
        (Fraction(-1, 8), "-0.125"),
        (Fraction(10**30), "1" + "0" * 30),
        ("a\x7f\n", '"a\\u007f\\n"'),
        (date(2025, 1, 2), "2025-01-02"),
        (datetime(2025, 1, 2, 3), "2025-01-02T03:00:00"),
        (1e-7, "1e-07"),
    ],
)
def test_values_are_written_as_toml(value: object, told: str) -> None:
    assert toml(value) == told  # type: ignore[arg-type]
