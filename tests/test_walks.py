"""The walks are counted as the page says: first calls, changes of module, and returns to one that was left."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import hubbub.terms.budgets
import hubbub.terms.numbers

FILE = Path(__file__).parent.parent / "tools" / "walks.py"


def walks() -> ModuleType:
    spec = importlib.util.spec_from_file_location("walks", FILE)
    assert spec is not None and spec.loader is not None
    module = sys.modules["walks"] = importlib.util.module_from_spec(spec)  # dataclasses look it up there
    spec.loader.exec_module(module)
    return module


def test_a_return_is_a_step_to_a_module_that_was_left() -> None:
    exact = hubbub.terms.numbers.exact.__code__
    fraction = hubbub.terms.numbers.fraction_of.__code__
    other = hubbub.terms.budgets.Budget.__post_init__.__code__
    assert walks().Walk((exact, fraction, other)).returns == 0
    walk = walks().Walk((exact, other, fraction))
    assert walk.steps == ["terms/numbers", "terms/budgets", "terms/numbers"]
    assert walk.returns == 1


def test_a_walk_notes_the_functions_of_the_house_alone() -> None:
    walk = walks().trace(lambda: hubbub.terms.numbers.exact(0.5, name="x"))
    assert walk.functions[0] is hubbub.terms.numbers.exact.__code__
    assert walk.steps == ["terms/numbers"]
