"""Every report reads in a terminal, a notebook, a page and a program, and several can stand on one page."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from functools import cache

import pytest

from hubbub import attacks
from hubbub.attacks import Attack, populations


@cache
def reports() -> dict[str, Attack]:
    """Each attack twice: on what leaks (first letter) and on what does not (in brackets)."""
    state, films, both = populations.classroom(40_000), populations.ratings(people=400), populations.friends(people=300)
    city = populations.places(people=200)
    on, qi = populations.QUASI_IDENTIFIERS, {"quasi_identifiers": ["age", "zip"], "sensitive": "diagnosis"}
    sparse = {"record": "record", "person": "name", "item": "film", "tolerances": {"stars": 1.5, "day": 30}}
    log = [({"flu = 1"}, 10), ({"flu = 1", "id <> 3"}, 9)]
    return {
        "link": attacks.link(state.hospital, state.voters, on, identity="name", truth=state.truth),
        "(link)": attacks.link(state.coarse(state.hospital), state.voters, on, generalized=True),
        "uniqueness": attacks.uniqueness(state.people, on),
        "(uniqueness)": attacks.uniqueness(state.coarse(state.people), on),
        "governor": attacks.governor(state),
        "(governor)": attacks.governor(state, coarse=True),
        "sparse": attacks.link_sparse(films.released, films.public, truth=films.truth, **sparse),
        "(sparse)": attacks.link_sparse(films.released, films.public, eccentricity=10**6, **sparse),
        "unicity": attacks.unicity(city, person="person", at=["antenna", "hour"]),
        "(unicity)": attacks.unicity(city, person="person", at=["region", "week"], points=2),
        "graphs": attacks.match_graphs(both.released, both.known, seeds=both.seeds(20), truth=both.truth),
        "(graphs)": attacks.match_graphs(both.released, both.known, seeds=both.seeds(1)),
        "homogeneity": attacks.homogeneity(populations.ward(), **qi),
        "(homogeneity)": attacks.homogeneity(populations.ward(diverse=3), **qi),
        "background": attacks.background(populations.ward(), excluded=["flu"], **qi),
        "(background)": attacks.background(populations.ward(diverse=4), known={"age": 51, "zip": "02139"}, **qi),
        "differencing": attacks.differencing(Counts(0), table="t", victim="id = 3", secret="flu = 1"),
        "(differencing)": attacks.differencing(Counts(0), table="t", victim="id = 3", secret="flu = 1", noise=20),
        "newcomer": attacks.newcomer((10, 3000), (11, 3100)),
        "(newcomer)": attacks.newcomer((10, 3000), (11, 3100), noise=500),
        "differences": attacks.differences(log),
        "(differences)": attacks.differences(log[:1]),
        "isolate": attacks.isolate([[1, 1], [0, 1]], [2, 1]),
        "(isolate)": attacks.isolate([[1, 1]], [2]),
    }


class Counts:
    """Answers as in the lectures: 1, 100 and 99."""

    def __init__(self, shift: float) -> None:
        self.shift = shift

    def sql(self, text: str) -> float:
        return self.shift + (99 if "NOT" in text else 100 if "flu" in text else 1)


NAMES = [
    f"{left}{name}{right}"
    for name in (
        "link",
        "uniqueness",
        "governor",
        "sparse",
        "unicity",
        "graphs",
        "homogeneity",
        "background",
        "differencing",
        "newcomer",
        "differences",
        "isolate",
    )
    for left, right in (("", ""), ("(", ")"))
]


def test_every_report_is_tried() -> None:
    assert sorted(reports()) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_it_succeeds_on_what_leaks_and_not_on_what_does_not(name: str) -> None:
    assert reports()[name].succeeded is not name.startswith("(")


@pytest.mark.parametrize("name", NAMES)
def test_it_tells_numbers_meaning_and_remedy(name: str) -> None:
    report = reports()[name]
    told = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert told["kind"] == report.kind
    assert told["numbers"]
    text = report.text(width=80)
    assert report.headline.split(",")[0][:40] in " ".join(text.split())
    assert all(len(line) <= 120 for line in text.splitlines())
    for words in (report.headline, *report.meaning(), *report.remedy()):
        assert words[0].isupper() or words[0].isdigit()
        assert words.endswith(".")
    assert "<h1>" in report.html()
    assert report._repr_html_()


@pytest.mark.parametrize("name", NAMES)
def test_it_has_one_picture_that_is_drawn(name: str) -> None:
    report = reports()[name]
    [(called, svg)] = report.svgs().items()
    assert called == report.kind
    assert ET.fromstring(svg).tag.endswith("svg")
    assert "nan" not in svg


def test_all_can_stand_on_one_page() -> None:
    leaking = [report for name, report in reports().items() if not name.startswith("(")]
    headings = [section.heading for report in leaking for section in report.sections()]
    assert len(headings) == len(set(headings)) == 3 * len(leaking)
