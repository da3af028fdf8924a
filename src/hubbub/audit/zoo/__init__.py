"""A zoo of broken mechanisms: for trying auditors, ours or anybody's. Nobody is protected by anything in here.

Each exhibit has a planted fault of a kind that people make, a repaired twin, two neighbouring inputs, what is claimed
and what is true. Noise comes from numpy's generator (``seed`` makes a demonstration repeatable).

- ``EXHIBITS``            all of them, by name
- ``tour(trials=None)``   audit each broken one and each twin, as a table
- ``seed(7)``             start the noise of all exhibits anew

One kind of fault per file. Start with ``_exhibit``, then ``additive``.
"""

from hubbub.audit.zoo import additive, keys, machines, responses, selection, sparse
from hubbub.audit.zoo._exhibit import Exhibit
from hubbub.audit.zoo._noise import seed
from hubbub.audit.zoo.tour import Tour, tour

_FAMILIES = (additive, responses, selection, sparse, machines, keys)
EXHIBITS: dict[str, Exhibit] = {exhibit.name: exhibit for family in _FAMILIES for exhibit in family.exhibits()}

__all__ = ["EXHIBITS", "Exhibit", "Tour", "seed", "tour"]
