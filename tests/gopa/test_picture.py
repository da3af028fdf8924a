"""The picture of a run shows what the log says."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from hubbub.gopa.reports.run_picture import Picture
from tests.gopa.cast import cast, flipped, instead, run, values


@pytest.fixture(scope="module")
def drawn() -> Picture:
    lying = instead("nonce", lambda body: {**body, "nonce": flipped(body["nonce"])})
    return Picture(run(cast(), values(), drops={6: "reveal"}, cheats={2: lying}).certificate)


def test_every_party_has_its_fate(drawn: Picture) -> None:
    assert [drawn.fate(place) for place in range(7)] == ["in", "in", "cheat", "in", "in", "in", "lost"]
    assert drawn.fate(6, phase="cut") == "in" and drawn.fate(2, phase="join") == "in"


def test_the_strip_has_a_line_for_each_phase_and_a_letter_for_each_party(drawn: Picture) -> None:
    lines = drawn.strip().splitlines()
    assert [line.split()[0] for line in lines] == list(drawn.phases())
    assert lines[0].split()[1:] == ["ooooooo", "7", "of", "7"]
    assert lines[-1].split()[1:] == ["ooxooo.", "5", "of", "7"]


def test_the_svg_is_well_formed_and_has_a_dot_and_a_line_for_each(drawn: Picture) -> None:
    root = ElementTree.fromstring(drawn.figure().svg)
    space = "{http://www.w3.org/2000/svg}"
    assert len(root.findall(f"{space}circle")) == 6 and len(root.findall(f"{space}path")) == 1
    assert len(root.findall(f"{space}line")) == len(drawn.edges())
    assert all(2 not in edge for edge in drawn.edges())  # it was out before masks were shared


def test_words_table_and_data_tell_the_same(drawn: Picture) -> None:
    assert "5 parties stayed, 1 fell silent, 1 broke the rules. There is a result." in " ".join(str(drawn).split())
    told = drawn.to_json()
    assert told["phases"][-1] == {"phase": drawn.phases()[-1], "left": 5}  # type: ignore[index]


def test_a_run_without_a_result_is_drawn_too() -> None:
    torn = Picture(run(cast(), values(), drops=dict.fromkeys(range(5), "share")).certificate)
    assert "There is no result." in str(torn) and ElementTree.fromstring(torn.figure().svg) is not None
