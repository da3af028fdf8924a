"""What a partition cost: the metrics of generalized tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hubbub.publish.anonymize.coded_columns import Codes
from hubbub.render import Json


@dataclass(frozen=True, slots=True)
class Metrics:
    """What the generalization cost: 0 would be the table itself, 1 (of ``gcp``) a table of stars.

    - ``gcp``: global certainty penalty [GKKM07]: the width of what is published, as a share of the column's own, on
      average over all cells. A single value has width 0, ``*`` has 1, a suppressed row has 1 in every column. The width
      of numbers and dates is their range, that of ordered words counts ranks, that of a node of a tree its leaves.
    - ``discernibility``: how many rows each row cannot be told from, added up [BA05]; a suppressed row counts as
      like all.
    - ``average_size``: rows per class, over k [LDR06]; 1 is the best that can be.
    - ``smallest``: people in the smallest class: rows, unless a unit says whose they are.
    """

    classes: int
    smallest: int
    average_size: float
    discernibility: int
    gcp: float
    rows: int
    suppressed: int

    @property
    def suppression(self) -> float:
        """The share of rows that were left out."""
        return self.suppressed / self.rows

    def to_json(self) -> dict[str, Json]:
        """The numbers as JSON."""
        return {
            "classes": self.classes,
            "smallest": self.smallest,
            "average_size": self.average_size,
            "discernibility": self.discernibility,
            "gcp": self.gcp,
            "rows": self.rows,
            "suppressed": self.suppressed,
            "suppression": self.suppression,
        }


def class_losses(
    sizes: Codes, penalties: Sequence[float], *, k: int, suppressed: int, smallest: int | None = None
) -> Metrics:
    """The metrics of classes of these sizes; ``penalties`` are the summed widths of the rows, for each column.

    ``smallest`` is how many people the smallest class has, where they may have several rows.
    """
    kept = int(sizes.sum())
    rows = kept + suppressed
    squares = sum(size * size for size in sizes.tolist()) + suppressed * rows
    gcp = (sum(penalties) / len(penalties) + suppressed) / rows
    return Metrics(
        sizes.size,
        int(sizes.min()) if smallest is None else smallest,
        kept / sizes.size / k,
        squares,
        gcp,
        rows,
        suppressed,
    )
