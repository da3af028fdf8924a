"""What installs an extra is said as it works here, and the demo's extra stays light."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from hubbub.terms import extras, install_command

EXTRAS = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def names_of(extra: str) -> set[str]:
    """The packages of an extra, and of the extras that it consists of."""
    names: set[str] = set()
    for line in EXTRAS[extra]:
        inner = line.removeprefix("hubbub[").removesuffix("]")
        names |= {line.split(">=")[0]} if inner == line else set().union(*map(names_of, inner.split(",")))
    return names


def test_in_a_clone_the_command_names_the_folder() -> None:
    assert install_command("gopa") == "pip install -e '.[gopa]' in the folder of your clone"


def test_elsewhere_it_names_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "CLONE", tmp_path)
    assert install_command("gopa") == "pip install 'hubbub[gopa]'"


def test_the_demo_installs_what_the_first_pages_import_and_nothing_heavy() -> None:
    assert {"pandas", "scikit-learn", "rbcl"} <= names_of("demo")
    assert not names_of("demo") & {"torch", "mbi", "numba", "polars"}


def test_pandas_is_told_under_its_own_extra() -> None:
    assert names_of("pandas") == {"pandas"}
    assert "pandas" in names_of("dev")
