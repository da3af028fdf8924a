"""Mondrian: cut the table along one column after another while every part fulfils the models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hubbub.publish.anonymize.anonymized_table import Anonymized, by_values
from hubbub.publish.anonymize.axes import Cuts, GeneralizationAxis, Parts, axis_of
from hubbub.publish.anonymize.coded_columns import Codes, Truths, run_starts
from hubbub.publish.anonymize.equivalence_classes import EquivalenceClasses
from hubbub.publish.anonymize.hierarchies import Hierarchy
from hubbub.publish.anonymize.losses import class_losses
from hubbub.publish.anonymize.manifest import Manifest, manifest_column
from hubbub.publish.anonymize.privacy_models import KAnonymity, PrivacyModel, all_hold, least_size
from hubbub.publish.anonymize.request import AnonymizationRequest, anonymization_request
from hubbub.schema import FrameLike

if TYPE_CHECKING:
    import pyarrow


def mondrian(
    table: FrameLike,
    *,
    quasi_identifiers: Sequence[str],
    k: int | None = None,
    models: Sequence[PrivacyModel] = (),
    hierarchies: Mapping[str, Hierarchy] | None = None,
    relaxed: bool = False,
    keep: Sequence[str] = (),
    unit: str | None = None,
) -> Anonymized:
    """Generalize the quasi-identifiers until every class of equal rows fulfils the models [LDR06].

    ``k=10`` is short for ``models=[KAnonymity(10)]``, and both may be given. A column with a hierarchy is cut along the
    branches of its tree, any other in the order of its values (numbers, dates, or the alphabet).

    Every part is cut where that takes most off the penalty (rows times the width of what is published for them), as
    long as both sides fulfil all models, until no part can be cut. Strict: rows with equal values stay together, and
    the classes do not overlap. Relaxed: rows that share a value may be divided, which gives smaller classes; where
    rows are alike in every quasi-identifier, the order of the table decides. Of equal cuts the one along the column
    named first and at the lower value is taken, so the result is always the same.

    A missing value is a category of its own: a class of rows that all miss the value says ``(missing)``, one in which
    some miss it says ``*``, and never does a class of known values hide a missing one. So the table is k-anonymous for
    everybody who reads it literally. (Who thinks that ``(missing)`` fits any value has more rows to choose from.)

    All other columns are published as they are. One whose values differ from row to row (``identifiers``) is refused,
    unless a model names it as sensitive or it is in ``keep``.

    ``unit`` is the column that tells people apart, who may have several rows: then classes are counted in different
    people, and the column is not published. Without it each row counts as a person.

    >>> import pyarrow
    >>> people = pyarrow.table({"age": [21, 24, 25, 60, 61, 65], "ill": ["flu", "flu", "flu", "flu", "hay", "hay"]})
    >>> mondrian(people, quasi_identifiers=["age"], k=3).table["age"].to_pylist()
    ['21 to 25', '21 to 25', '21 to 25', '60 to 65', '60 to 65', '60 to 65']
    """
    wanted = [*models, *([KAnonymity(k)] if k is not None else [])]
    task = anonymization_request(
        table, quasi_identifiers=quasi_identifiers, models=wanted, hierarchies=hierarchies, keep=keep, unit=unit
    )
    axes = [axis_of(column, task.hierarchies.get(column.name)) for column in task.columns]
    classes = partition_rows(axes, task, relaxed=relaxed)
    return _publish_classes(task, axes, classes, "relaxed Mondrian" if relaxed else "strict Mondrian")


@dataclass(frozen=True, slots=True, eq=False)
class _Level:
    """The parts of one depth that may still be cut: their rows, the rows' codes, and the part of each row."""

    rows: Codes
    codes: Codes
    parts: Codes
    sizes: Codes

    def only(self, wanted: Truths) -> tuple[_Level, Codes]:
        """Some of the parts, numbered anew, and which of the rows here are theirs."""
        if wanted.all():
            return self, np.arange(self.rows.size)
        number = np.cumsum(wanted) - 1
        kept = np.flatnonzero(wanted[self.parts])
        return _Level(self.rows[kept], self.codes[:, kept], number[self.parts[kept]], self.sizes[wanted]), kept


def partition_rows(axes: Sequence[GeneralizationAxis], task: AnonymizationRequest, *, relaxed: bool = False) -> Codes:
    """The class of each row. All parts of one depth are cut at once."""
    codes = np.stack([axis.codes for axis in axes])
    rows = np.lexsort(codes[::-1]) if relaxed else np.arange(codes.shape[1])
    classes, class_of = np.zeros(rows.size, dtype=np.int64), 1
    least = least_size(task.models)
    whole = _Level(rows, codes[:, rows], np.zeros(rows.size, dtype=np.int64), np.array([rows.size]))
    level, _ = whole.only(whole.sizes >= 2 * least)
    while level.rows.size:
        cut, up = _cut_level(level, axes, task, least=least, relaxed=relaxed)
        numbers = np.cumsum(cut) - 1 + class_of
        classes[level.rows[up]] = numbers[level.parts[up]]
        class_of += int(cut.sum())
        level = _next_level(level, cut, up, least)
    return classes


def _next_level(level: _Level, cut: Truths, up: Truths, least: int) -> _Level:
    """The halves of what was cut, without those that are too small to be cut again."""
    child = level.parts * 2 + up
    sizes = np.bincount(child, minlength=2 * cut.size)
    return _Level(level.rows, level.codes, child, sizes).only(np.repeat(cut, 2) & (sizes >= 2 * least))[0]


def _cut_level(
    level: _Level, axes: Sequence[GeneralizationAxis], task: AnonymizationRequest, *, least: int, relaxed: bool
) -> tuple[Truths, Truths]:
    """Which parts are cut, and which rows go up."""
    cuts = _propose_cuts(level, axes, least=least, even=False, relaxed=relaxed)
    if task.people is None and all(isinstance(model, KAnonymity) for model in task.models):
        choice = np.stack([one.score for one in cuts]).argmax(axis=0)
        return _going_up(level, cuts, choice)
    cut, up = _first_that_holds(level, cuts, task)
    rest, rows = level.only(~cut)
    if rest.rows.size:  # the best cuts break a model: perhaps the most even ones do not
        cuts = _propose_cuts(rest, axes, least=least, even=True, relaxed=relaxed)
        also, above = _first_that_holds(rest, cuts, task)
        up[rows[above]] = True
        cut[np.flatnonzero(~cut)[also]] = True
    return cut, up


def _propose_cuts(
    level: _Level, axes: Sequence[GeneralizationAxis], *, least: int, even: bool, relaxed: bool
) -> list[Cuts]:
    """The best cut of each part along each axis."""
    parts = [
        Parts.of(level.parts, codes, level.sizes, axis.size) for axis, codes in zip(axes, level.codes, strict=True)
    ]
    pairs = zip(axes, parts, strict=True)
    return [axis.cuts(part, least=least, even=even, relaxed=relaxed) for axis, part in pairs]


def _first_that_holds(level: _Level, cuts: Sequence[Cuts], task: AnonymizationRequest) -> tuple[Truths, Truths]:
    """Try the cuts of each part from the best to the worst, until both sides fulfil all models."""
    order = np.argsort(-np.stack([one.score for one in cuts]), axis=0, kind="stable")
    cut, up = np.zeros(level.sizes.size, dtype=bool), np.zeros(level.rows.size, dtype=bool)
    for choice in order:
        rest, rows = level.only(~cut)
        if not rest.rows.size:
            break
        open_parts = np.flatnonzero(~cut)
        tried, above = _going_up(rest, [_select_cuts(one, open_parts) for one in cuts], choice[open_parts])
        held = tried & _halves_hold(rest, tried, above, task)
        up[rows[above & held[rest.parts]]] = True
        cut[open_parts[held]] = True
    return cut, up


def _select_cuts(cuts: Cuts, parts: Codes) -> Cuts:
    return Cuts(cuts.score[parts], cuts.low[parts], cuts.high[parts], cuts.kept[parts])


def _halves_hold(level: _Level, tried: Truths, up: Truths, task: AnonymizationRequest) -> Truths:
    """Which parts have two halves that fulfil all models."""
    held = np.zeros(tried.size, dtype=bool)
    some, rows = level.only(tried)
    if some.rows.size:
        people = None if task.people is None else task.people[some.rows]
        halves = EquivalenceClasses(
            some.parts * 2 + up[rows], 2 * some.sizes.size, task.secrets, some.rows, people=people
        )
        held[tried] = all_hold(task.models, halves).reshape(-1, 2).all(axis=1)
    return held


def _going_up(level: _Level, cuts: Sequence[Cuts], choice: Codes) -> tuple[Truths, Truths]:
    """Which parts have a cut along the chosen axis, and which of their rows it sends up."""
    chosen = np.arange(choice.size)
    score, low, high, kept = (
        np.stack([getattr(one, name) for one in cuts])[choice, chosen] for name in ("score", "low", "high", "kept")
    )
    can = score > 0
    values = level.codes[choice[level.parts], np.arange(level.rows.size)]
    up = can[level.parts] & (values >= low[level.parts]) & (values <= high[level.parts])
    tied = np.flatnonzero(up & (kept[level.parts] > 0) & (values == low[level.parts]))
    if tied.size:
        up[tied[_rank_in_part(level.parts[tied]) < kept[level.parts[tied]]]] = False
    return can, up


def _rank_in_part(parts: Codes) -> Codes:
    """The place of each row among those of its part."""
    order = np.argsort(parts, kind="stable")
    start = run_starts(parts[order])
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size) - np.repeat(start, np.diff(np.append(start, order.size)))
    return rank


def class_extremes(codes: Codes, classes: Codes) -> tuple[Codes, Codes]:
    """The lowest and highest code of each class, a row per column."""
    order = np.argsort(classes, kind="stable")
    start = run_starts(classes[order])
    ordered = codes[:, order]
    return np.minimum.reduceat(ordered, start, axis=1), np.maximum.reduceat(ordered, start, axis=1)


def _publish_classes(
    task: AnonymizationRequest, axes: Sequence[GeneralizationAxis], classes: Codes, method: str
) -> Anonymized:
    """The table with each quasi-identifier replaced by what its class says."""
    low, high = class_extremes(np.stack([axis.codes for axis in axes]), classes)
    sizes, rows, columns, penalties = np.bincount(classes), task.table, [], []
    for axis, bottom, top in zip(axes, low, high, strict=True):
        width, how = axis.width(bottom, top), "by its tree" if axis.name in task.hierarchies else "by its order"
        keys, published = _class_texts(axis, bottom, top, classes)
        rows = rows.set_column(rows.schema.get_field_index(axis.name), axis.name, published)
        penalties.append(float((width * sizes).sum()))
        columns.append(
            manifest_column(axis.name, how, values=axis.size, nodes=keys, widths=width, weights=sizes, level=None)
        )
    metrics = class_losses(sizes, penalties, k=least_size(task.models), suppressed=0, smallest=task.smallest(classes))
    manifest = Manifest(method, task.words, tuple(columns), task.untouched, classes.size, 0)
    order = by_values(rows)
    return Anonymized(
        rows.take(order), classes[order], order, task.names, task.sensitive, task.models, metrics, manifest,
        people=None if task.people is None else task.people[order],
    )  # fmt: skip


def _class_texts(axis: GeneralizationAxis, low: Codes, high: Codes, classes: Codes) -> tuple[Codes, pyarrow.Array]:
    """What each class says in one column, as a number, and each row's text."""
    import pyarrow

    keys, back = np.unique(low * axis.size + high, return_inverse=True)
    texts = pyarrow.array(axis.words(keys // axis.size, keys % axis.size), pyarrow.string())
    return back, texts.take(pyarrow.array(back[classes]))
