"""Synthetic data with differential privacy: choose marginals, measure them with noise, model, draw rows.

- ``synthesize(table, epsilon=1, delta=1e-9)``: one table; ``Synthetic`` has the rows, the receipt and the guarantee
- ``synthesize_linked(tables, parent=..., key=..., links=[Link(...)], ...)``: people and what belongs to them
- ``Numeric``, ``Categorical``, ``Date``, ``Key``: what may stand in a column

Inside: ``domains`` and ``coding`` (values to cells and back), ``discover`` (private domains), ``units`` (rows per
person), ``measure`` (the only module that asks private rows anything), ``compress`` (coarser cells), ``mst`` and
``aim`` (which marginals), ``junction``, ``belief`` and ``fitting`` (the model; ``mbi_engine`` as an alternative),
``zeros``, ``generate`` and ``release`` (rows), ``families`` and ``linked`` (several tables), ``plans``, ``charges`` and
``stored`` (what is charged and kept).
"""

from hubbub.publish.synthetic.domains import Categorical, Date, Key, Numeric
from hubbub.publish.synthetic.families import Link
from hubbub.publish.synthetic.linked import LinkedSynthetic, synthesize_linked
from hubbub.publish.synthetic.release import Synthetic
from hubbub.publish.synthetic.synthesis import synthesize

__all__ = [
    "Categorical",
    "Date",
    "Key",
    "Link",
    "LinkedSynthetic",
    "Numeric",
    "Synthetic",
    "synthesize",
    "synthesize_linked",
]
