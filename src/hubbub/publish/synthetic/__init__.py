"""Synthetic data with differential privacy: choose marginals, measure them with noise, model, draw rows.

- ``synthesize(table, epsilon=1, delta=1e-9)``: one table; ``Synthetic`` has the rows, the receipt and the guarantee
- ``synthesize_linked(tables, parent=..., key=..., links=[ForeignKey(...)], ...)``: people and what belongs to them

Inside: ``discover`` (private domains), ``compress`` (coarser cells), ``mst`` and ``aim`` (which marginals), ``plan``
(what it costs), ``mbi_engine`` (the package mbi instead of ``publish.graphical``), ``structural_zeros``, ``generate``
and ``release`` (rows), ``linked_plan`` and ``linked`` (several tables). Values as cells, counting and charging are
those of ``publish``, which is also what is used from outside. Start with ``synthesis``, then ``plan``.
"""

from hubbub.publish.synthetic.linked import LinkedSynthetic, synthesize_linked
from hubbub.publish.synthetic.linked_plan import ForeignKey
from hubbub.publish.synthetic.plan import plan_for
from hubbub.publish.synthetic.release import Synthetic
from hubbub.publish.synthetic.synthesis import synthesize, whom_of

__all__ = ["ForeignKey", "LinkedSynthetic", "Synthetic", "plan_for", "synthesize", "synthesize_linked", "whom_of"]
