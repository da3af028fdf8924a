"""What is given to ``hb.connect``, looked at before anything is opened: kinds of values, never what data hold."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from hubbub.ledger import Ledger
from hubbub.terms import Budget, OutOfRange, plain_name

_MEMORY = re.compile(r"\d+(\.\d+)? ?([KMGT]i?B|%)", re.IGNORECASE)


def check_facts(*, unit: object, bounds: object, keys: object, budget: object, population: object) -> None:
    """What is said about the data and the people in them."""
    if unit is not None and (not isinstance(unit, str) or not unit.rpartition(".")[2].strip()):
        _refuse(
            "unit is the name of one column, as text.",
            "Everybody is told apart by one column, or each row is protected by itself.",
            'Write unit="patient_id" or unit="row".',
        )
    if budget is not None and not isinstance(budget, Budget):
        _refuse(
            "budget is a hubbub.Budget.",
            "An epsilon without a delta, or a pair of numbers, could be meant in two ways.",
            "Write budget=hb.Budget(3, 1e-6): epsilon and delta.",
        )
    _check_columns(
        "bounds", bounds, "(0, 2000)}, or (0, 2000, 0.01) with a step; --bound cost=0:2000 when typed", "cost"
    )
    _check_columns("keys", keys, '["north", "south"]}; --key region=north,south when typed', "region")
    if population is not None:
        plain_name(population, what="population")


def check_name(name: object, *, what: str) -> str:
    """The name or version of data, empty if there is none."""
    if name is None:
        return ""
    if not isinstance(name, str):
        _refuse(
            f"{'version' if what == 'version' else 'name'} is a text.",
            "It is written into the ledger, and 2 and 2.0 would be two.",
            f'Write {"version" if what == "version" else "name"}="2".',
        )
    if what == "dataset" and "." in name:
        _refuse(
            "the name of a dataset without a descriptor has no dot.",
            "Its table has the same name, and columns are named as table.column.",
            'Write name="visits".',
        )
    return plain_name(name, what=what)


def check_desk(*, ledger: object, project: object, analyst: object, seconds: object) -> None:
    """Where charges are written, who asks, and how long a question may take."""
    if ledger is not None and not isinstance(ledger, Ledger | str | Path):
        _refuse(
            "ledger is a hubbub.Ledger, or its place as text.",
            "Charges that are written somewhere else are missed by whoever asks next.",
            'Write ledger="hospital.ledger.db".',
        )
    plain_name(project, what="project")
    plain_name(analyst, what="analyst")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < math.inf:
        _refuse("seconds is a number above 0.", "A question that takes longer is stopped.", "Write seconds=300.")


def check_memory(memory: object) -> None:
    """How much memory the engine may use: a size as it understands it, or nothing."""
    if not isinstance(memory, str) or (memory and not _MEMORY.fullmatch(memory)):
        _refuse("memory is a size as text.", "The engine is given so much and no more.", 'Write memory="4GB".')


def _check_columns(name: str, given: object, example: str, column: str) -> None:
    whole = f'Write {name}={{"{column}": {example}.'
    if given is None:
        return
    if not isinstance(given, Mapping) or not all(isinstance(each, str) for each in given):
        _refuse(f"{name} is a mapping from columns to what is declared of them.", "Each column has its own.", whole)
    for each, values in given.items():
        listed = isinstance(values, Sequence) if name == "bounds" else isinstance(values, Iterable)
        if not listed or isinstance(values, str | bytes | Mapping):
            _refuse(
                f"{name} of {each!r} is a list.",
                "A single value has no second end, and a text would be taken sign by sign.",
                whole,
            )


def _refuse(what: str, why: str, fix: str) -> NoReturn:
    raise OutOfRange(what, why=why, fix=fix)
