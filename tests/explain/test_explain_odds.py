"""One epsilon explained: sentences, tables, pages and JSON say the same, and wrong input is refused."""

from __future__ import annotations

import dataclasses
import json
import math
from decimal import Decimal
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

import hubbub as hb
from hubbub.render import wording
from hubbub.render.charts import Series
from hubbub.terms import InvalidParameter, NotANumber, OutOfRange

SVG = "{http://www.w3.org/2000/svg}"


class Outline(HTMLParser):
    """Collects the elements of a page, refusing tags that do not match."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.attributes: dict[str, dict[str, str | None]] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.attributes[tag] = dict(attrs)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_odds_are_told_as_a_frequency() -> None:
    assert "about 73 out of 100" in hb.explain.epsilon(1).odds_sentence
    assert "more than 99 out of 100" in hb.explain.epsilon(10).odds_sentence


def test_the_odds_factor_is_e_to_the_epsilon() -> None:
    assert hb.explain.epsilon(2).odds_factor == pytest.approx(math.e**2)


def test_the_text_holds_the_reference_values() -> None:
    told = hb.explain.epsilon(1, delta=1e-6).text()
    assert "73.1%" in told
    assert "2.7%" in told
    assert "one in 1,000,000" in told
    assert told.count("●") == 50 + 73
    assert max(map(len, told.splitlines())) <= 80


def test_text_fits_the_width_it_is_given() -> None:
    assert max(map(len, hb.explain.epsilon(1, delta=1e-6).text(width=60).splitlines())) <= 60


def test_delta_is_spoken_of_only_where_there_is_one() -> None:
    assert "delta" not in hb.explain.epsilon(1).text().lower()
    assert "What delta adds" in hb.explain.epsilon(1, delta=1e-6).text()


def test_json_is_plain_and_says_the_same() -> None:
    explanation = hb.explain.epsilon(0.5, delta=1e-6)
    document = json.loads(json.dumps(explanation.to_json()))
    assert document["epsilon"] == 0.5
    assert document["right_guesses_out_of_100"] == 62
    assert {entry["prior"]: entry["at_most"] for entry in document["belief"]}[0.5] == explanation.belief(0.5)
    assert [entry["false_positives"] for entry in document["roc"]] == [0.001, 0.01, 0.05, 0.1]


def test_the_page_is_whole_and_accessible() -> None:
    outline = Outline()
    outline.feed(hb.explain.epsilon(1, delta=1e-6).html())
    outline.close()
    assert not outline.open
    assert outline.attributes["html"]["lang"] == "en"
    assert outline.seen.count("h1") == 1
    assert {"main", "title", "table", "figcaption"} <= set(outline.seen)
    assert "script" not in outline.seen
    assert outline.seen.count("svg") == 3


def test_a_notebook_gets_a_fragment_with_every_picture() -> None:
    explanation = hb.explain.epsilon(1)
    fragment = explanation._repr_html_()
    assert "<html" not in fragment
    assert all(svg in fragment for svg in explanation.svgs().values())


def test_the_pictures_are_named_icons_belief_and_roc() -> None:
    explanation = hb.explain.epsilon(1)
    assert explanation.svgs() == {
        "icons": explanation.icons_svg(),
        "belief": explanation.belief_svg(),
        "roc": explanation.roc_svg(),
    }


def test_the_icon_array_fills_as_many_figures_as_it_says() -> None:
    root = ElementTree.fromstring(hb.explain.epsilon(1).icons_svg())
    filled = [path for path in root.iter(f"{SVG}path") if path.get("class") == "hb-yes"]
    hollow = [path for path in root.iter(f"{SVG}path") if path.get("class") == "hb-no"]
    assert len(filled) == 50 + 73 + 1  # and one of each in the key
    assert len(hollow) == 50 + 27 + 1


def test_a_mechanisms_own_curve_can_be_drawn_into_the_roc() -> None:
    own = Series("discrete Gaussian", ((0.0, 0.0), (0.3, 0.5), (1.0, 1.0)))
    assert "discrete Gaussian" in hb.explain.epsilon(1).roc_svg(also=(own,))


def test_an_explanation_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        hb.explain.epsilon(1).epsilon = 2  # type: ignore[misc, assignment]


def test_numbers_mean_the_decimals_people_see() -> None:
    assert hb.explain.epsilon(0.1) == hb.explain.epsilon(Decimal("0.1"))


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, "1", None, True])
def test_a_senseless_epsilon_is_refused(value: object) -> None:
    with pytest.raises(InvalidParameter):
        hb.explain.epsilon(value)


@pytest.mark.parametrize("delta", [-0.1, 1, 2, math.nan, "0"])
def test_a_senseless_delta_is_refused(delta: object) -> None:
    with pytest.raises(InvalidParameter):
        hb.explain.epsilon(1, delta=delta)


def test_a_prior_outside_zero_to_one_is_refused() -> None:
    with pytest.raises(OutOfRange):
        hb.explain.epsilon(1).belief(1.5)
    with pytest.raises(NotANumber):
        hb.explain.epsilon(1).true_positives("much")  # type: ignore[arg-type]


def test_there_is_no_default_epsilon() -> None:
    with pytest.raises(TypeError):
        hb.explain.epsilon()  # type: ignore[call-arg]


@pytest.mark.parametrize("value", [Decimal("1e-290"), 1e-9, 50, 1e4, Decimal("1e290")])
@pytest.mark.parametrize("delta", [0, 1e-300, 0.999999])
def test_extreme_parameters_still_give_text_and_pictures(value: object, delta: float) -> None:
    explanation = hb.explain.epsilon(value, delta=delta)
    assert "100.0%" not in explanation.text().replace("10.0%", "")
    for svg in explanation.svgs().values():
        ElementTree.fromstring(svg)
    json.dumps(explanation.to_json(), allow_nan=False)


def test_rounding_never_claims_certainty() -> None:
    assert wording.percent(1 - 1e-9) == ">99.9%"
    assert wording.percent(1e-9) == "<0.1%"
    assert wording.hundredths(1 - 1e-9) == 99
    assert wording.hundredths(1e-9) == 1
    assert wording.out_of_100(1e-9) == "fewer than 1 out of 100"


@pytest.mark.parametrize("size", [6, 14])
def test_a_bound_near_certainty_is_not_called_at_most(size: int) -> None:
    explanation = hb.explain.epsilon(size)
    assert "is right perhaps more than 99 out of 100 times" in explanation.odds_sentence
    said = explanation.html() + explanation.text(width=10**6)
    assert "at most more" not in said and "at most &gt;" not in said and "at most >" not in said


def test_at_the_prompt_a_document_is_its_text() -> None:
    explanation = hb.explain.epsilon(1)
    assert repr(explanation) == str(explanation) == explanation.text()
