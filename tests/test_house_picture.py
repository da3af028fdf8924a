"""The picture of the house is what the imports say."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).parents[1] / "tools" / "draw_house.py"


@pytest.fixture(scope="module")
def house() -> ModuleType:
    spec = importlib.util.spec_from_file_location("draw_house", TOOL)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_picture_is_up_to_date(house: ModuleType) -> None:
    assert house.PICTURE.read_text(encoding="utf-8") == house.draw(), "run: python tools/draw_house.py"


def test_a_room_stands_above_what_it_imports(house: ModuleType) -> None:
    edges = house.import_edges()
    boxes = house.place_boxes(house.floors(edges))
    assert all(boxes[room][1] < boxes[lower][1] for room in edges for lower in edges[room])


def test_lines_leave_out_what_is_reached_by_way_of_others(house: ModuleType) -> None:
    edges: dict[str, set[str]] = {"a": {"b", "c"}, "b": {"c"}, "c": set()}
    assert house.direct_imports("a", edges) == ["b"]
    assert house.floors(edges) == [["c"], ["b"], ["a"]]
