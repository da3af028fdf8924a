"""The manifest: what was done to which column, so that readers of a published table know what they have."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from hubbub.publish.anonymize.coded_columns import Codes, Floats
from hubbub.render import Json, TextTable, percent


@dataclass(frozen=True, slots=True)
class ManifestColumn:
    """One quasi-identifier: how it was made coarser and how much of it is left."""

    name: str
    how: str
    values: int  # different values before
    published: int  # different values after
    unchanged: float  # share of the published rows that still have their value
    erased: float  # share of the published rows that say ``*``, or as good as
    width: float  # mean width: 0 is the value itself, 1 is ``*``
    level: int | None = None
    height: int | None = None

    def to_json(self) -> dict[str, Json]:
        """The column as JSON."""
        return {
            "name": self.name,
            "how": self.how,
            "values": self.values,
            "published": self.published,
            "unchanged": self.unchanged,
            "erased": self.erased,
            "width": self.width,
            "level": self.level,
            "height": self.height,
        }


def manifest_column(
    name: str, how: str, *, values: int, nodes: Codes, widths: Floats, weights: Codes, level: tuple[int, int] | None
) -> ManifestColumn:
    """Sum up a column: ``nodes`` tell what is published apart, with the width and the number of rows of each."""
    rows = weights.sum()
    return ManifestColumn(
        name,
        how,
        values,
        int(np.unique(nodes).size),
        float(weights[widths == 0].sum() / rows),
        float(weights[widths >= 1].sum() / rows),
        float((widths * weights).sum() / rows),
        *(level or (None, None)),
    )


@dataclass(frozen=True, slots=True)
class Manifest:
    """What was generalized, by which method, to fulfil which models. It holds no row and no value."""

    method: str
    models: tuple[str, ...]
    columns: tuple[ManifestColumn, ...]
    untouched: tuple[str, ...]  # published as they were
    rows: int  # that were given
    suppressed: int  # of these, left out

    def to_json(self) -> dict[str, Json]:
        """The manifest as JSON."""
        return {
            "kind": "anonymisation-manifest",
            "method": self.method,
            "models": list(self.models),
            "rows": self.rows,
            "suppressed": self.suppressed,
            "columns": [one.to_json() for one in self.columns],
            "untouched": list(self.untouched),
            "missing values": "a category of their own, merged with others only in *",
            "order of the rows": "by what is published, not as they were given",
        }

    def text(self) -> str:
        """The manifest as JSON text, always the same for the same table and request."""
        return json.dumps(self.to_json(), indent=1, sort_keys=True) + "\n"

    def table(self) -> TextTable:
        """The columns for people."""
        return TextTable(
            ("column", "how", "values before", "after", "unchanged", "erased (*)", "mean width"),
            tuple(
                (
                    one.name,
                    one.how,
                    f"{one.values:,}",
                    f"{one.published:,}",
                    "100%" if one.unchanged == 1 else percent(one.unchanged),
                    "100%" if one.erased == 1 else percent(one.erased),
                    f"{one.width:.3f}",
                )
                for one in self.columns
            ),
        )
