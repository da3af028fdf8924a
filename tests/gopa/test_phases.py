"""The folder of the phases reads from top to bottom: one module each, none knows a later one."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import hubbub
from hubbub.gopa.protocol import phases
from hubbub.gopa.protocol.phases.rules import rules_of
from hubbub.gopa.protocol.wire import PHASES

ROOT = Path(__file__).parents[2]
HERE = "hubbub.gopa.protocol.phases."
MODULES = ("join", "nonce", "share", "complaints", "cut", "reveal", "confirm", "dropout_recovery")  # in their order


def test_each_phase_has_its_own_module_for_what_is_said_and_how_it_is_folded() -> None:
    for phase, module in zip((*PHASES, "repair-1"), MODULES, strict=True):
        rules = rules_of(phase)
        assert (rules.say.__module__, rules.fold.__module__) == (HERE + module, HERE + module)
    assert rules_of("repair-1") is rules_of("repair-9")


def test_a_phase_knows_no_later_one() -> None:
    [folder] = phases.__path__
    for place, module in enumerate(MODULES):
        tree = ast.parse((Path(folder) / f"{module}.py").read_text(encoding="utf-8"))
        origins = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not origins & {HERE + later for later in MODULES[place:]}


def test_the_page_of_the_proofs_covers_files_that_exist() -> None:
    page = (ROOT / "docs" / "proofs" / "gopa.md").read_text(encoding="utf-8")
    paths = re.findall(r"`(gopa/[\w/.]+)`", page)
    assert paths
    assert [path for path in paths if not (Path(hubbub.__file__).parent / path).exists()] == []
