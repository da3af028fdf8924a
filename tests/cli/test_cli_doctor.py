"""The doctor: what it finds is what is there, and a sick installation is not called healthy."""

from __future__ import annotations

import json
import os
import platform
from importlib import metadata

import pytest

from hubbub.cli import main
from hubbub.cli.exit_codes import Exit
from hubbub.studies import installation
from hubbub.studies.installation import Checkup, checkup, examine_installation
from hubbub.studies.installation.checkup import random_source_works
from hubbub.terms import MissingExtra

HEALTHY = Checkup(dependencies={"numpy": "2.0"}, extras={}, programs={"java": None}, random_source=True)


def leave(*arguments: str) -> int:
    with pytest.raises(SystemExit) as leaving:
        main(arguments)
    return int(leaving.value.code or 0)


def test_the_core_is_found_with_its_versions() -> None:
    found = examine_installation()
    assert found.dependencies["numpy"] == metadata.version("numpy")
    assert found.healthy


def test_extras_are_told_apart_from_the_core() -> None:
    found = examine_installation()
    assert "numba" in found.extras["fast"]
    assert "numba" not in found.dependencies
    assert found.extras["dev"]["pytest"] == metadata.version("pytest")


def test_json_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert leave("doctor", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["python"] == platform.python_version()
    assert document["random_source"] is True
    assert any(name.startswith("java") for name in document["programs"])


def test_text_names_what_is_missing_and_how_to_get_it() -> None:
    sick = Checkup({"numpy": "2.0"}, {"fast": {"numba": None}}, {"chromium": None}, random_source=True)
    told = sick.text()
    assert "missing" in told
    assert "pip install -e '.[fast]'" in told


@pytest.mark.parametrize(
    "sick",
    [
        Checkup({"numpy": None}, {}, {}, random_source=True),
        Checkup({"numpy": "2.0"}, {}, {}, random_source=False),
    ],
)
def test_a_broken_core_fails_the_check(sick: Checkup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "examine_installation", lambda: sick)
    assert not sick.healthy
    assert leave("doctor") == Exit.VERIFICATION
    assert leave("doctor", "--json") == Exit.VERIFICATION


def test_it_says_what_adds_points_for_the_proofs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hubbub.gopa.crypto.multi_scalar.native", lambda: None)
    assert "libsodium alone" in examine_installation().text()
    monkeypatch.setattr("hubbub.gopa.crypto.multi_scalar.accelerator", lambda: "C (x.so)")
    examined = examine_installation()
    assert examined.to_json()["group_sums"] == "C (x.so)"
    assert "C (x.so)" in examined.text()


def test_without_the_extra_they_are_missing_and_that_is_no_illness(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise MissingExtra("no rbcl", why="", fix="")

    monkeypatch.setattr("hubbub.gopa.crypto.multi_scalar.accelerator", missing)
    examined = examine_installation()
    assert examined.to_json()["group_sums"] is None
    assert examined.healthy


def test_missing_programs_and_extras_are_no_illness() -> None:
    assert HEALTHY.healthy


def test_a_random_source_that_repeats_itself_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert random_source_works()
    monkeypatch.setattr(os, "urandom", bytes)
    assert not random_source_works()


def test_a_random_source_that_fails_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: int) -> bytes:
        raise NotImplementedError

    monkeypatch.setattr(os, "urandom", broken)
    assert not random_source_works()


@pytest.mark.parametrize(
    ("line", "name", "extra"),
    [
        ("numpy<3,>=2.0", "numpy", None),
        ("dp-accounting<0.7,>=0.6", "dp-accounting", None),
        ("numba<1,>=0.61; extra == 'fast'", "numba", "fast"),
        ('psycopg[binary]>=3; python_version > "3" and extra == "postgres"', "psycopg", "postgres"),
    ],
)
def test_requirement_lines_are_understood(line: str, name: str, extra: str | None) -> None:
    core, extras = checkup._parse_requirements([line])
    assert (core, extras) == (([], {extra: [name]}) if extra else ([name], {}))
