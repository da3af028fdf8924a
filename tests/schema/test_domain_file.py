"""A domain file and a descriptor declare the same columns; what 0.1 read is read the same; refusals name the place."""

from __future__ import annotations

import datetime
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hubbub.publish import Categorical, Date, Numeric, SurrogateKey, read_domain, table_domain
from hubbub.publish.domains import ColumnDomain, column_identity
from hubbub.schema import Column, Kind, Privately, Table, read_columns
from hubbub.schema.descriptor import complete, parse
from hubbub.schema.draft import toml
from hubbub.terms import BadDescriptor, HubbubError

SURVEY = """\
dataset.name = "survey"
privacy = { unit = "row", budget = { epsilon = 1 } }
[tables.answers.columns]
"""


def domain_of(tmp_path: Path, text: str) -> dict[str, ColumnDomain]:
    file = tmp_path / "domain.toml"
    file.write_text(text, encoding="utf-8")
    return read_domain(file)


def described(lines: Mapping[str, str], kind: Kind = Kind.TEXT, **facts: Any) -> Table:
    """A table of a descriptor that declares these columns so."""
    text = SURVEY + "".join(f"{name} = {line}\n" for name, line in lines.items())
    [table] = complete(parse(text), {"answers": [(name, kind) for name in lines]}).tables
    return Table(name=table.name, columns=table.columns, **facts)


# ---------------------------------------------------------------- as before


def as_in_0_1(line: Mapping[str, Any]) -> ColumnDomain:
    """What version 0.1 made of a line."""
    if "key" in line:
        return SurrogateKey(line["key"])
    if "values" in line:
        if isinstance(line.get("other"), int) and isinstance(next(iter(line["values"]), None), datetime.date):
            raise TypeError("0.1 took 7 for the eighth of January 1970: refused now")
        return Categorical(**line)
    return Date(**line) if isinstance(line.get("lower"), datetime.date) else Numeric(**line)


INTEGERS = st.integers(-(10**6), 10**6)
DECIMALS = st.decimals(-1000, 1000, places=2, allow_nan=False, allow_infinity=False).map(str)
NUMBERS = INTEGERS.map(str) | DECIMALS
DATES = st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 1, 1)).map(datetime.date.isoformat)
TIMES = st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1)).map(datetime.datetime.isoformat)
QUOTED = NUMBERS.map(json.dumps)
TRUTH = st.sampled_from(["true", "false"])
PARTS = {"bins": st.integers(1, 50).map(str), "missing": TRUTH}
LISTS = st.sampled_from([INTEGERS.map(str), DECIMALS, st.text("abc é", max_size=3).map(json.dumps), DATES, TRUTH])


@st.composite
def lines(draw: Any) -> str:
    """A line as somebody may have written it for 0.1; some of them it refused."""
    form = draw(st.sampled_from(["numbers", "dates", "list", "private", "key"]))
    pairs: dict[str, str] = {}
    if form in ("numbers", "dates"):
        ends = NUMBERS | QUOTED if form == "numbers" else DATES | TIMES
        pairs |= {"lower": draw(ends), "upper": draw(ends)} | draw(st.fixed_dictionaries({}, optional=PARTS))
    if form == "numbers":
        pairs |= draw(st.fixed_dictionaries({}, optional={"whole": TRUTH}))
    if form == "list":
        items = draw(LISTS)
        pairs["values"] = f"[{', '.join(draw(st.lists(items, max_size=4)))}]"
        pairs |= draw(st.fixed_dictionaries({}, optional={"other": items | st.just("7")}))
    if form == "private":
        pairs |= draw(st.sampled_from([{"bounds": '"private"', "bins": "16"}, {"values": '"private"'}]))
    if form == "key":
        pairs["key"] = draw(st.sampled_from(['"person"', '""']))
    return "{ " + ", ".join(f"{name} = {value}" for name, value in pairs.items()) + " }"


def test_every_line_of_0_1_reads_as_before(tmp_path: Path, soak: int) -> None:
    @settings(max_examples=300 * soak, deadline=None)
    @given(lines())
    def check(line: str) -> None:
        try:
            expected = as_in_0_1(tomllib.loads(f"x = {line}")["x"])
        except (HubbubError, TypeError):
            with pytest.raises(BadDescriptor, match=r"domain\.toml:1:"):
                domain_of(tmp_path, f"x = {line}")
            return
        view = domain_of(tmp_path, f"x = {line}")["x"]
        assert same(view, expected), (line, view, expected)

    check()


def same(one: Any, other: Any) -> bool:
    """The same cells; a number is the same however it is written."""
    if isinstance(one, Numeric) and isinstance(other, Numeric) and one.bounds is None and other.bounds is None:
        edges = [view.edges(whole=view.is_whole) for view in (one, other)]
        return one.is_whole == other.is_whole and edges[0] == edges[1] and one.missing == other.missing
    return bool(one == other)


@pytest.mark.parametrize(
    "line",
    [
        "{ lower = 17, upper = 90, bins = 20 }",
        "{ lower = 0.5, upper = 200.0, missing = true }",
        '{ values = ["a", "b"], other = "c" }',
        "{ values = [1, 2] }",
        "{ values = [1.0, 2.0] }",
        "{ lower = 1930-01-01, upper = 2010-12-31 }",
        '{ bounds = "private" }',
        '{ key = "person" }',
    ],
)
def test_the_same_declaration_is_the_same_request(tmp_path: Path, line: str) -> None:
    """Identities are compared by ledgers: 1 and 1.0 are two, and a file of 0.1 that is asked again is the same."""
    expected = column_identity(as_in_0_1(tomllib.loads(f"x = {line}")["x"]))
    assert column_identity(domain_of(tmp_path, f"x = {line}")["x"]) == expected


# ---------------------------------------------------------------- one class of columns


SAME_IN_BOTH = [
    '{ type = "integer", lower = 17, upper = 90, bins = 20 }',
    '{ type = "number", lower = 0, upper = 200, missing = true }',
    '{ lower = 0.5, upper = 200.5, step = 0.5, why = "the scale" }',
    '{ values = ["baker", "nurse"], other = "rest", sensitive = true }',
    '{ type = "boolean" }',
    "{ lower = 1930-01-01, upper = 2010-12-31, bins = 80 }",
    '{ key = "person" }',
    '{ bounds = "private", bins = 16 }',
    '{ values = "private", other = "rest", max_per_unit = 3 }',
    "{ values = [1.5, 2] }",
]


@pytest.mark.parametrize("line", SAME_IN_BOTH)
def test_a_line_declares_the_same_in_a_descriptor_and_by_itself(tmp_path: Path, line: str) -> None:
    (tmp_path / "domain.toml").write_text(f"x = {line}\n")
    [alone] = read_columns(tmp_path / "domain.toml").columns
    table = described({"x": line})
    assert table.columns == (alone,)
    assert table_domain(table) == read_domain(tmp_path / "domain.toml")


def test_what_nothing_is_declared_of_has_no_domain_and_names_are_made_up() -> None:
    lines = {
        "id": "{}",
        "ward": '{ values = ["n"] }',
        "text": "{}",
        "seen": "{ lower = 2025-01-01, upper = 2025-02-01 }",
    }
    table = described(lines, key="id")
    assert table_domain(table) == {
        "id": SurrogateKey("id"),
        "ward": Categorical(("n",)),
        "seen": Date(lower="2025-01-01", upper="2025-02-01"),
    }
    prefixed = described({**lines, "id": '{ key = "visit" }'}, key="id")
    assert table_domain(prefixed)["id"] == SurrogateKey("visit")


def test_moments_are_published_by_their_days() -> None:
    line = "{ lower = 2025-01-01T00:00:00, upper = 2025-01-31T23:59:59, bins = 31 }"
    view = table_domain(described({"x": line}))["x"]
    assert view == Date(lower="2025-01-01", upper="2025-01-31", bins=31)


def test_a_ratio_stays_exact() -> None:
    view = table_domain(described({"x": '{ lower = "-1/3", upper = "1e400/1" }'.replace("1e400", "1" + "0" * 99)}))["x"]
    assert isinstance(view, Numeric) and view.edges(whole=False)[0] * 3 == -1


def test_what_is_found_privately_is_undeclared_for_a_question() -> None:
    columns = described({"gain": '{ bounds = "private" }', "town": '{ values = "private" }'}).columns
    assert [(column.lower, column.values, column.kind) for column in columns] == [
        (None, None, Kind.NUMBER),
        (None, None, Kind.TEXT),
    ]
    assert [column.privately for column in columns] == [Privately.BOUNDS, Privately.VALUES]


# ---------------------------------------------------------------- refusals


BAD_LINES = [
    ("{ lower = 1, upper = 9, low = 3 }", "no key 'low'. Did you mean 'lower'?", 29),
    ("{ lower = 1 }", "'lower' and none 'upper'", 15),
    ("{ lower = 9, upper = 1 }", "upper must be above lower", 26),
    ("{ lower = 2020-02-01, upper = 2020-01-01 }", "upper must be above lower", 35),
    ("{ lower = 2020-02-01, upper = 9 }", "different kinds", 35),
    ("{ values = [] }", "at least one key", 16),
    ("{ values = [1, 'a'] }", "another kind than the first", 20),
    ("{ values = ['a', 'a'] }", "twice", 22),
    ("{ values = 'all' }", "a list of at least one key", 16),
    ("{ values = 7 }", "a list of at least one key", 16),
    ("{ bounds = 'some' }", 'bounds must be "private"', 16),
    ("{ bounds = [0, 9] }", 'bounds must be "private"', 16),
    ("{ bounds = 'private', lower = 0, upper = 9 }", "lower cannot stand beside bounds", 27),
    ("{ bounds = 'private', values = ['a'] }", "values cannot stand beside bounds", 27),
    ("{ key = 'person', values = ['a'] }", "values cannot stand beside key", 23),
    ("{ key = 'person', bins = 3 }", "bins cannot stand beside key", 23),
    ("{ key = true }", "key must be one line of text", 13),
    ("{ key = 'a', sensitive = true }", "sensitive cannot stand beside key", 18),
    ("{ values = ['a'], bins = 3 }", "bins cannot stand beside values", 23),
    ("{ values = 'private', missing = true }", "missing cannot stand beside values", 27),
    ("{ type = 'number', bins = 3 }", "bins of x needs bounds", 24),
    ("{ lower = 0, upper = 9, bins = 0 }", "bins must be a whole number of at least 1", 36),
    ("{ lower = 0, upper = 9, missing = 1 }", "missing must be true or false", 39),
    ("{ lower = 0, upper = 9, other = 1 }", "other of x needs a list of values", 37),
    ("{ values = ['a'], other = 1 }", "other of x is of another kind", 31),
    ("{ values = 'private', other = 1 }", "other of x is of another kind", 35),
    ("{ type = 'text', bounds = 'private' }", "x is of type text, and bounds says number", 31),
    ("{ type = 'integer', values = 'private' }", "x is of type integer, and values says text", 34),
]  # fmt: skip


@pytest.mark.parametrize(("line", "words", "column"), BAD_LINES, ids=[line for line, *_ in BAD_LINES])
def test_a_bad_line_is_refused_at_its_place_in_both_files(tmp_path: Path, line: str, words: str, column: int) -> None:
    with pytest.raises(BadDescriptor) as refused:
        domain_of(tmp_path, f"y = {{ key = 'a' }}\nx = {line}\n")
    assert words in refused.value.what and f"domain.toml:2:{column}:" in refused.value.what
    with pytest.raises(BadDescriptor) as also:
        described({"x": line})
    assert words in also.value.what and f"descriptor.toml:4:{column}:" in also.value.what


ONLY_BY_ITSELF = [
    ("x = 3", "x must be a table"),
    ("x = {}", "x needs lower and upper, values, bounds or key"),
    ("x = { type = 'text' }", "x needs lower and upper, values, bounds or key"),
    ("x = { step = 1 }", "x needs lower and upper, values, bounds or key"),
    ("x = [", "this is not TOML"),
    ("x = { values = ['a'], whole = true }", "whole says nothing of x"),
    ("x = { type = 'number', lower = 0, upper = 1, whole = true }", "whole says nothing of x"),
    ("x = { lower = 0, upper = 1, whole = 'yes' }", "whole must be true or false"),
    (f"x = {{ values = [1, {10**40}] }}", "the column 'x' cannot be used"),
]


@pytest.mark.parametrize(("text", "words"), ONLY_BY_ITSELF, ids=[text[:40] for text, _ in ONLY_BY_ITSELF])
def test_a_line_that_declares_no_domain_is_refused_at_its_place(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(BadDescriptor) as refused:
        domain_of(tmp_path, text)
    assert words in refused.value.what and "domain.toml:1:" in refused.value.what


def test_a_file_that_cannot_be_read_is_refused_without_its_folder(tmp_path: Path) -> None:
    (tmp_path / "bytes.toml").write_bytes(b"x = '\xff'")
    for name, words in (("nowhere.toml", "cannot be opened"), ("bytes.toml", "is not UTF-8 text")):
        with pytest.raises(BadDescriptor, match=words) as refused:
            read_domain(tmp_path / name)
        assert str(tmp_path) not in str(refused.value)


def test_a_list_of_very_many_values_is_read_in_a_moment(tmp_path: Path) -> None:
    values = [f"v{place}" for place in range(20_000)]
    (tmp_path / "domain.toml").write_text(f"x = {{ values = [{', '.join(map(toml, values))}] }}")
    assert read_columns(tmp_path / "domain.toml").columns == (Column(name="x", kind=Kind.TEXT, values=tuple(values)),)
