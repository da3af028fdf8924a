"""The whole red team on one dataset: aim, attack each face, and report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

from hubbub.sql import declare
from hubbub.studies.attempts import FaceAttack
from hubbub.studies.redteam import attempts, example, faces, target
from hubbub.studies.redteam.report import RedTeam
from hubbub.terms import Budget, MissingParameter, plain_text


def attack_dataset(
    descriptor: str | None,
    *,
    table: str | None = None,
    known: Sequence[str] = (),
    secret: str | None = None,
    value: str | None = None,
    k: int = 10,
    budget: Budget | None = None,
    watch: Callable[[FaceAttack], object] = lambda attempt: None,
) -> RedTeam:
    """Attack the dataset of a descriptor, or a made-up clinic; ``watch`` is given each attempt when it is over.

    For the owner: it reads every row. No budget is spent: private answers are asked on ledgers of their own.
    """
    aim = {"table": table, "known": known, "secret": secret, "value": value}
    if descriptor is not None:
        return _attack_source(descriptor, {}, aim, k=k, budget=budget, watch=watch)
    with example.open_clinic() as (file, declared):
        return _attack_source(file, declared, aim, k=k, budget=budget, watch=watch)


def _attack_source(
    source: str,
    declared: dict[str, Any],
    aim: dict[str, Any],
    *,
    k: int,
    budget: Budget | None,
    watch: Callable[[FaceAttack], object],
) -> RedTeam:
    dataset, engine = declare(source, **declared)
    try:
        for column in (column for table in dataset.tables for column in table.columns):
            plain_text(column.name, name="a column's name")  # a Parquet file may call a column anything
        aimed = target.choose_target(dataset, engine, **aim)
        promised = budget or dataset.budget or _refuse_without_budget()
        results = []
        for attempt in attempts.all_attempts(
            aimed, engine, partial(faces.open_private_face, dataset, engine, promised), k=k
        ):
            watch(attempt)
            results.append(attempt)
        return RedTeam(aimed, promised, k, tuple(results))
    finally:
        engine.close()


def _refuse_without_budget() -> NoReturn:
    raise MissingParameter(
        "the descriptor names no budget.",
        why="How much private answers give away depends on it.",
        fix="Write budget = { epsilon = ..., delta = ... } under [privacy], or --budget 1,1e-6.",
    )
