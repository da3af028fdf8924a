"""Full-domain generalization: each column at one level of its hierarchy in all rows, and few rows left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor, inf
from typing import TYPE_CHECKING, Any

import numpy as np

from hubbub.publish.anonymize.anonymized_table import Anonymized, by_values
from hubbub.publish.anonymize.coded_columns import Codes
from hubbub.publish.anonymize.hierarchies import Flat, Hierarchy, HierarchyLevels
from hubbub.publish.anonymize.lattice import Lattice, LatticeOptimum, Node, lattice_of, search
from hubbub.publish.anonymize.losses import class_losses
from hubbub.publish.anonymize.manifest import Manifest, manifest_column
from hubbub.publish.anonymize.privacy_models import KAnonymity, PrivacyModel, least_size
from hubbub.publish.anonymize.request import AnonymizationRequest, anonymization_request
from hubbub.render import percent, short
from hubbub.schema import FrameLike
from hubbub.terms import OutOfRange, exact, shown, whole

if TYPE_CHECKING:
    import pyarrow


def full_domain(
    table: FrameLike,
    *,
    quasi_identifiers: Sequence[str],
    k: int | None = None,
    models: Sequence[PrivacyModel] = (),
    hierarchies: Mapping[str, Hierarchy] | None = None,
    suppression: float = 0,
    at_most: Mapping[str, int] | None = None,
    effort: int = 1000,
    keep: Sequence[str] = (),
    unit: str | None = None,
) -> Anonymized:
    """Find the levels at which every class fulfils the models with the smallest loss [Swe02, EDI09].

    Each quasi-identifier is published at one level of its hierarchy (``*`` or the value itself if it has none), in all
    rows alike: so the columns stay easy to count with, at a higher price than ``mondrian`` asks. Up to ``suppression``
    (a share of the rows) of rows in classes that do not hold are left out. The loss is ``metrics.gcp``, in which a row
    left out counts as all stars. ``at_most`` limits the level of a column. Of nodes with equal loss the one is taken
    that is met first, in an order that depends on the table and the request alone.

    Small lattices are searched to the end, and the result is optimal. At most ``effort`` nodes are looked at; if that
    does not suffice, ``search`` says how far the optimum may be.

    All other columns are published as they are. One whose values differ from row to row (``identifiers``) is refused,
    unless a model names it as sensitive or it is in ``keep``.

    ``unit`` is the column that tells people apart, who may have several rows: then classes are counted in different
    people, and the column is not published. Without it each row counts as a person.

    >>> import pyarrow
    >>> from hubbub.publish import Intervals
    >>> people = pyarrow.table({"age": [21, 24, 25, 31, 33, 35], "sex": ["f", "f", "f", "m", "f", "m"]})
    >>> made = full_domain(people, quasi_identifiers=["age", "sex"], k=3, hierarchies={"age": Intervals([10])})
    >>> made.table.to_pylist()[0], made.metrics.classes
    ({'age': '20 to 29', 'sex': '*'}, 2)
    """
    wanted = [*models, *([KAnonymity(k)] if k is not None else [])]
    task = anonymization_request(
        table, quasi_identifiers=quasi_identifiers, models=wanted, hierarchies=hierarchies, keep=keep, unit=unit
    )
    levels = [task.hierarchies.get(one.name, Flat()).on(one) for one in task.columns]
    top = _top_node(task, levels, at_most or {})
    most = _suppressible_rows(suppression, task.table.num_rows)
    lattice, back = lattice_of(task, levels, top=top, most=most)
    _check_top(lattice)
    optimum = search(lattice, effort=whole(effort, name="effort"))
    return _publish_node(lattice, back, optimum)


def _top_node(task: AnonymizationRequest, levels: Sequence[HierarchyLevels], at_most: Mapping[str, int]) -> Node:
    heights = dict(zip(task.names, (of.height for of in levels), strict=True))
    for name, level in at_most.items():
        if name not in heights or whole(level, name=f"the level of {name!r}", least=0) > heights[name]:
            raise OutOfRange(
                f"there is no level {level} of {name!r}.",
                why="`at_most` limits how far quasi-identifiers may be generalized.",
                fix="The highest levels are " + ", ".join(f"{name}: {top}" for name, top in heights.items()) + ".",
            )
    return tuple(min(int(at_most.get(name, top)), top) for name, top in heights.items())


def _suppressible_rows(suppression: object, rows: int) -> int:
    share = exact(suppression, name="suppression")
    if not 0 <= share < 1:
        raise OutOfRange(
            f"suppression must be at least 0 and below 1 and is {shown(share)}.",
            why="It is the share of rows that may be left out.",
            fix="Give a share such as 0.05.",
        )
    return floor(share * rows)


def _check_top(lattice: Lattice) -> None:
    """Refuse a limit that not even the coarsest allowed table keeps, and say which one could be kept."""
    outcome = lattice.outcome(lattice.top)
    if outcome.loss < inf:
        return
    limit = percent(lattice.most / lattice.rows)
    if outcome.suppressed == lattice.rows:
        fix = "Allow higher levels: nothing would be left at any suppression."
    else:
        need = outcome.suppressed / lattice.rows
        fix = f"Allow higher levels, or a suppression of {short(np.ceil(need * 1000) / 1000)}, which would suffice."
    raise OutOfRange(
        f"the models cannot be fulfilled with a suppression of at most {limit}.",
        why="Even at the highest levels allowed more rows are in classes that do not hold.",
        fix=fix,
    )


def _publish_node(lattice: Lattice, back: Codes, optimum: LatticeOptimum) -> Anonymized:
    """The table at a node, without the rows that are suppressed."""
    task = lattice.task
    labels, _ = lattice.classes(optimum.node)
    kept = np.flatnonzero(lattice.kept(optimum.node)[back])
    classes = np.unique(labels[back[kept]], return_inverse=True)[1].astype(np.int64)
    sizes, rows, columns, penalties = np.bincount(classes), task.table.take(_arrow_array(kept)), [], []
    for one, have, level in zip(task.columns, lattice.levels, optimum.node, strict=True):
        nodes = have.codes[level][one.codes[kept]]
        weights = np.bincount(nodes, minlength=len(have.names[level]))
        if level:
            published = _arrow_array(have.names[level]).take(_arrow_array(nodes))
            rows = rows.set_column(rows.schema.get_field_index(one.name), one.name, published)
        penalties.append(float(weights @ have.widths[level]))
        used = np.flatnonzero(weights)
        columns.append(
            manifest_column(
                one.name,
                f"level {level} of {have.height}",
                values=len(one.labels),
                nodes=used,
                widths=have.widths[level][used],
                weights=weights[used],
                level=(level, have.height),
            )
        )
    suppressed = back.size - kept.size
    metrics = class_losses(
        sizes, penalties, k=least_size(task.models), suppressed=suppressed, smallest=task.smallest(classes, kept)
    )
    manifest = Manifest("full-domain generalization", task.words, tuple(columns), task.untouched, back.size, suppressed)
    sentences, order = _describe_search(lattice, optimum), by_values(rows)
    return Anonymized(
        rows.take(_arrow_array(order)), classes[order], kept[order], task.names, task.sensitive, task.models, metrics,
        manifest, sentences, None if task.people is None else task.people[kept[order]],
    )  # fmt: skip


def _arrow_array(values: Any) -> pyarrow.Array:
    import pyarrow

    return pyarrow.array(values)


def _describe_search(lattice: Lattice, optimum: LatticeOptimum) -> tuple[str, ...]:
    """How it was found, in sentences."""
    looked = f"Of {lattice.size:,} combinations of levels {optimum.looked_at:,} were looked at."
    if optimum.optimal:
        sentence = f"{looked} No other has a smaller loss."
    elif not optimum.bound:
        sentence = f"{looked} There are too many to say how far the best of all may be from this one."
    else:
        sentence = (
            f"{looked} The best of all loses at least {percent(optimum.bound)}, this one {percent(optimum.loss)}."
        )
    if all(level == of.height for level, of in zip(optimum.node, lattice.levels, strict=True)):
        return (sentence, "Every quasi-identifier is * in every row: the table says nothing about them any more.")
    return (sentence,)
