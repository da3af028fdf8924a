"""What a reader sees: text, HTML, charts and the publication sheet, all from one object."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path

import pytest

from hubbub.releases import KeyColumn, Noise, NoisyColumn, Release, ReleasedColumn
from hubbub.releases.formulas import GivenIntervals, Key, Minus, Over, Ref
from hubbub.releases.publication_sheet import PAPERS
from hubbub.terms import EmptyInput, Guarantee, PureDP, WrongShape, ZeroConcentratedDP

from ._made import GUARANTEE, QUESTION, by_ward, every_key, total

BIBLIOGRAPHY = Path(__file__).parents[2] / "docs" / "references.bib"


def test_one_number_reads_as_one_line_with_its_error() -> None:
    first, *rest = str(total()).splitlines()
    assert first == "n  1,203 ±20 (95%)"
    assert rest[-1] == "epsilon = 0.5, delta = 1e-08 · charged to no ledger"
    assert total().value == total().scalar() == 1203


def test_a_table_reads_as_a_table() -> None:
    lines = str(by_ward()).splitlines()
    assert re.split(r"  +", lines[2]) == ["north", "1,203 ±20", "921 (887 to 953)"]
    assert re.split(r"  +", lines[4]) == ["east <b>", "-4 ±20", "—"]
    assert "(3 rows; 95% intervals)" in lines
    assert lines[-1].endswith("receipt #12 of hospital-patients · left: epsilon = 2.5")
    assert repr(by_ward()) == str(by_ward())


def test_rows_come_as_tuples() -> None:
    release = by_ward()
    assert list(release) == release.dbapi_rows()
    assert release.dbapi_rows()[2] == ("east <b>", -4, None)
    assert (len(release), release.columns_names) == (3, ("ward", "n", "cost"))
    assert release.intervals(0.95)["n"] == [(1183, 1223), (322, 362), (-24, 16)]
    with pytest.raises(WrongShape):
        assert release.value


def test_a_repeat_says_that_it_was_free() -> None:
    assert "repeat of #12: free" in str(by_ward(repeated=True))
    assert "repeat of #12: free" in by_ward(repeated=True)._repr_html_()


def test_negative_counts_are_kept_and_explained_where_there_are_some() -> None:
    assert by_ward()["n"].values[2] == -4
    assert any("kept as released" in words for words in by_ward().remarks())
    assert not any("kept as released" in words for words in total().remarks())


def test_every_form_says_that_intervals_cover_noise_only() -> None:
    release = by_ward()
    for told in (
        str(release),
        release._repr_html_(),
        release.sheet().markdown(),
        json.dumps(release.sheet().to_json()),
    ):
        assert "cover the noise" in told
    assert "noise only" in release.chart()
    bought = by_ward(clipped={"cost": "clipping moved the average by at most 12 (95%)"})
    assert "cost: clipping moved the average by at most 12 (95%)" in str(bought)


def test_the_rounded_view_is_for_display_only() -> None:
    wide = total(12_345, sigma=1_000).rounded()
    assert wide.rows() == [("12,300",)]
    assert by_ward().rounded().rows() == [("north", "1,203", "921"), ("south", "342", "2,602"), ("east <b>", "0", "—")]
    assert "calculate with the release itself" in str(wide)
    assert "<td>12,300</td>" in wide._repr_html_()
    assert not hasattr(wide, "values")


def test_only_counts_are_cut_at_zero() -> None:
    below = NoisyColumn("SUM(x)", Fraction(1, 2), Noise("gaussian", Fraction(4)), (-100,))
    release = Release(
        (), (below,), (ReleasedColumn("s", Ref(0)), ReleasedColumn("d", Minus(Ref(0), Ref(0)))), GUARANTEE
    )
    assert release.rounded().rows() == [("-50.0", "0")]


class Reader(HTMLParser):
    """Collects what opens and what is left open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("release", [by_ward(), total(), every_key()], ids=["table", "number", "keys"])
def test_html_is_well_formed_and_escaped(release: Release) -> None:
    reader = Reader()
    reader.feed(release.html())
    assert reader.open == []
    assert {"b", "script", "link", "img"} & set(reader.seen) == set()
    assert all(name in reader.text for name in release.columns_names)
    assert "How to read this" in reader.text


def test_html_draws_an_error_bar_for_each_number_that_has_one() -> None:
    assert by_ward()._repr_html_().count('class="hb-span"') == 5
    unbounded = by_ward(
        columns=(ReleasedColumn("r", Over(Ref(1), Minus(Ref(0), Ref(0)))), ReleasedColumn("s", Over(Ref(0), Ref(1))))
    )
    assert unbounded._repr_html_().count('class="hb-span"') == 2  # the third ratio has no ends to draw
    assert "±∞" in unbounded._repr_html_()


def test_long_tables_are_cut_with_a_word() -> None:
    many = NoisyColumn("COUNT(*)", Fraction(1), Noise("gaussian", Fraction(5)), tuple(range(250)))
    release = Release((), (many,), (ReleasedColumn("n", Ref(0)),), GUARANTEE)
    assert "and 150 more rows" in release._repr_html_()
    assert "(250 rows" in str(release)
    assert str(release).count("\n") < 60
    assert "first 40 of 250 rows" in release.chart()


def test_a_chart_has_a_bar_and_whiskers_for_each_row() -> None:
    picture = by_ward().chart()
    ElementTree.fromstring(picture)
    assert picture.count("hb-whisker") == 3 + 1  # one is the style
    assert "south: 342 ±20" in picture
    assert by_ward().chart("cost").count("hb-whisker") == 2 + 1
    with pytest.raises(EmptyInput):
        by_ward(columns=(ReleasedColumn("ward", Key(0)),)).chart()


def test_the_sheet_has_what_a_publication_needs() -> None:
    told = by_ward().sheet().markdown()
    for wanted in (
        f"`{QUESTION}`",
        "epsilon = 0.5, delta = 1e-08",
        "patients.patient\\_id",
        "discrete Gaussian noise [CKS20]",
        "Fieller",
        "cost in [0, 5000] by 0.01",
        "discrete Gaussian, sigma = 10",
        "SUM(cost): discrete Gaussian noise, sigma = 1.25e+06 steps of 0.01",
        "| delta | 1e-8 |",
        "| population | hospital-patients |",
        f"| head of the chain | {12:064x} |",
        "Rows with no ward are left out.",
    ):
        assert wanted in told
    assert told.startswith("# ")
    assert "<b>" not in told


def test_the_sheet_as_json_holds_numbers_with_ends() -> None:
    sheet = json.loads(json.dumps(by_ward().sheet(confidence=0.9).to_json(), allow_nan=False))
    ward, n, cost = sheet["columns"]
    assert (n["values"], len(n["low"]), cost["values"][2]) == ([1203, 342, -4], 3, None)
    assert "low" not in ward
    assert sheet["privacy"]["epsilon"] == 0.5
    assert sheet["receipt"]["sequence"] == 12
    assert json.dumps(every_key().sheet().to_json(), allow_nan=False)


def test_the_sheet_cites_what_was_used_and_nothing_else() -> None:
    assert [words[1:6] for words in total().sheet().references()] == ["DMNS0", "DR14]", "CKS20"]
    laplace = every_key().sheet()
    assert "[GRS09]" in laplace.methods()
    assert "[CKS20]" not in "".join(laplace.references())
    zcdp = total(guarantee=Guarantee(ZeroConcentratedDP(Fraction(1, 100)))).sheet()
    assert any(words.startswith("[BS16]") for words in zcdp.references())
    assert "charged to no ledger" in str(total(guarantee=Guarantee(PureDP(Fraction(1)))).sheet())


def test_papers_are_those_of_the_bibliography() -> None:
    known = BIBLIOGRAPHY.read_text(encoding="utf-8")
    for key, text in PAPERS.items():
        entry = known[known.index(f"{{{key},") :].partition("\n}")[0]
        title = re.sub(r"[{}]", "", re.search(r"title\s*=\s*\{(.*)\}", entry)[1])
        year = re.search(r"year\s*=\s*\{(\d+)\}", entry)[1]
        assert title in text
        assert year in text


def test_the_head_of_a_release_is_the_same_in_those_rows() -> None:
    release = by_ward()
    assert release.head(2).dbapi_rows() == release.dbapi_rows()[:2]
    assert release.head(2).intervals() == {name: ends[:2] for name, ends in release.intervals().items()}
    assert release.head(3) is release
    given = GivenIntervals((1.0, 2.0, 3.0), (0.95,), ((0.0, 1.0, 2.0),), ((2.0, 3.0, 4.0),))
    assert by_ward(columns=(ReleasedColumn("median", given),)).head(1).intervals() == {"median": [(0.0, 2.0)]}


def test_a_year_that_is_a_key_reads_as_a_year() -> None:
    counts = NoisyColumn("COUNT(*)", Fraction(1), Noise("gaussian", Fraction(10)), (1985, 2003))
    columns = (ReleasedColumn("born", Key(0)), ReleasedColumn("n", Ref(0)))
    release = Release((KeyColumn("born", (1985, 1990)),), (counts,), columns, GUARANTEE)
    assert [re.split(r"  +", line) for line in str(release).splitlines()[2:4]] == [
        ["1985", "1,985 ±20"],
        ["1990", "2,003 ±20"],
    ]
    assert "1985" in release._repr_html_() and ">1,985<" in release._repr_html_()
    assert release.rounded().rows()[1] == ("1990", "2,003")
