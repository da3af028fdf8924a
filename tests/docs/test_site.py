"""The helpers of the documentation build: docstrings become markup that cannot warn."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def helper() -> ModuleType:
    spec = importlib.util.spec_from_file_location("_docstrings", DOCS / "_docstrings.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_signs_that_mean_something_in_markup_are_escaped(helper: ModuleType) -> None:
    assert helper.to_rst(["Mass exp(-|x| / t_) * 2 and ``a|b``."]) == [r"Mass exp(-\|x\| / t\_) \* 2 and ``a|b``.", ""]


def test_parts_of_a_guarantee_stand_apart(helper: ModuleType) -> None:
    told = helper.to_rst(["Guarantee: epsilon-DP.", "Because: [DMNS06, Prop. 1]", "on integers."])
    assert told == ["**Guarantee:** epsilon-DP.", "", "**Because:** [DMNS06, Prop. 1]", "on integers.", ""]


def test_tables_and_examples_are_kept_as_they_stand(helper: ModuleType) -> None:
    told = helper.to_rst(["Words:", "", "    Event", "    └── Step", "", ">>> 1 + 1", "2"])
    assert told == [
        "Words:",
        "",
        *(".. code-block:: text", "", "       Event", "       └── Step", ""),
        *(".. code-block:: python", "", "   >>> 1 + 1", "   2", ""),
    ]


def test_lists_stay_lists(helper: ModuleType) -> None:
    assert helper.to_rst(["- one", "  more", "- two"]) == ["- one", "  more", "- two", ""]
