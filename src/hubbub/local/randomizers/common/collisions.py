"""Values that share places of a sketch: what that does to estimates, worked out from the public hash functions.

Let C[v, u] be the share of the rows in which u has the place of v (C[v, v] = 1). A person with value u supports v
with a probability that is linear in C[v, u], so what is seen is C f for shares f, up to noise: every share comes with
those of the values that it collides with. Which those are is public and the same for all people, so it does not
average out. Estimates are therefore solved from C f = seen, with B the inverse of C:

    B = C^-1            unbiased for the hash functions as they are
    W_r = H_r B         what a person in row r adds to each estimate, by the place of their value (H_r: its places)
    bias                only where C has no inverse: max_u |(B C)[v, u] - [u = v]|, since shares add up to 1

`docs/proofs/local.md` has the variances.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hubbub.local.pair_averages import nearest_shares
from hubbub.local.randomizers.common.exact_words import Codes
from hubbub.terms import OutOfRange

if TYPE_CHECKING:
    from scipy import sparse

Floats = NDArray[np.float64]
MOST_SOLVED = 2048  # values whose inverse is kept
_WORK = 1 << 26  # entries of W that are looked at for what mixing adds to the variance
_TURNS, _EXACT = 500, 1e-10  # of conjugate gradients


class Collisions:
    """The collisions of a sketch with these ``places`` (a row for each hash function, a column for each value)."""

    def __init__(self, places: Codes, width: int) -> None:
        self.places, self.width = places, width
        self.rows, self.domain = places.shape

    def check(self) -> None:
        """Refuse a table that cannot tell all values apart."""
        if self.domain > MOST_SOLVED:
            _ = self._own
        elif self.bias.any():
            raise self._too_few()

    def solve(self, seen: Floats) -> Floats:
        """The shares f with C f = seen."""
        if self.domain <= MOST_SOLVED:
            return np.asarray(self.inverse @ seen)
        return self._iterate(seen)

    @property
    def diagonal(self) -> Floats:
        """The diagonal of B: how much collisions raise the variance of each estimate."""
        if self.domain > MOST_SOLVED:
            return np.full(self.domain, self._own)
        return np.asarray(np.diagonal(self.inverse))

    def mixing(self, shares: Floats) -> Floats:
        """n times what the choice of a row adds to the variance of each estimate where all bits of a row are sent."""
        if self.domain > MOST_SOLVED:
            return self.diagonal * (1 + 1 / self.width) - 1
        return np.maximum(0, self._mixing @ nearest_shares(shares))

    def reach(self, *, ones: float, zeros: float) -> float:
        """The most that one report adds to an estimate, or takes from it, if a bit counts ``ones`` or -``zeros``."""
        if self.domain > MOST_SOLVED:  # a bound that holds for any table, and is far
            return max(ones, zeros) * float(np.sqrt(self.rows * self.width * self._own))
        up = down = 0.0
        for row in range(self.rows):
            weights = self._weights(row)
            more, less = np.maximum(weights, 0).sum(axis=0), np.maximum(-weights, 0).sum(axis=0)
            up = max(up, float((ones * more + zeros * less).max()))
            down = max(down, float((zeros * more + ones * less).max()))
        return max(up, 1 + down)

    @cached_property
    def inverse(self) -> Floats:
        """B: the inverse of C, or what comes nearest to one."""
        dense = self._matrix.toarray()
        try:
            inverse = np.linalg.inv(dense)
        except np.linalg.LinAlgError:
            return np.asarray(np.linalg.pinv(dense, hermitian=True))
        if np.abs(inverse @ dense - np.eye(self.domain)).max() > 1e-6:
            return np.asarray(np.linalg.pinv(dense, hermitian=True))
        return np.asarray((inverse + inverse.T) / 2)

    @cached_property
    def bias(self) -> Floats:
        """At most how far the expectation of each estimate is from the share, whatever the shares are."""
        if self.domain > MOST_SOLVED:
            return np.zeros(self.domain)
        left = np.abs(self.inverse @ self._matrix.toarray() - np.eye(self.domain)).max(axis=1)
        return np.where(left > 1e-6, left, 0.0)

    @cached_property
    def _matrix(self) -> sparse.csr_array:
        """C."""
        cells = np.arange(self.rows)[:, None] * self.width + self.places
        from scipy import sparse

        entries = (np.ones(cells.size), (cells.ravel(), np.tile(np.arange(self.domain), self.rows)))
        table = sparse.csr_array(entries, shape=(self.rows * self.width, self.domain))
        shared: sparse.csr_array = sparse.csr_array(table.T @ table) / self.rows
        return shared

    @property
    def _own(self) -> float:
        """An entry of B's diagonal, for hash functions that are as good as random: as in any least squares."""
        spare: float = 1 - self.domain / (self.rows * (self.width - 1))
        if spare <= 0:
            raise self._too_few()
        return 1 / (spare * (1 - 1 / self.width))

    @cached_property
    def _mixing(self) -> Floats:
        """n times what value u adds to the variance of estimate i, because people fall into rows at random."""
        rows = min(self.rows, max(16, _WORK // self.domain**2))
        total = np.zeros((self.domain, self.domain))
        for row in range(rows):
            total += self._weights(row)[self.places[row]].T ** 2
        return np.asarray(total / rows - np.eye(self.domain))

    def _weights(self, row: int) -> Floats:
        """W: a row for each place, a column for each estimate."""
        from scipy import sparse

        entries = (np.ones(self.domain), (self.places[row], np.arange(self.domain)))
        return np.asarray(sparse.csr_array(entries, shape=(self.width, self.domain)) @ self.inverse)

    def _iterate(self, seen: Floats) -> Floats:
        """Conjugate gradients, for domains whose inverse would be too large to keep."""
        _ = self._own  # refused before any work if there are fewer places than values
        shares, rest = np.zeros(self.domain), seen.astype(np.float64)
        step, size = rest.copy(), float(rest @ rest)
        goal = _EXACT**2 * size
        for _ in range(_TURNS):
            if size <= goal:
                return shares
            image = self._times(step)
            length = size / float(step @ image)
            shares, rest = shares + length * step, rest - length * image
            before, size = size, float(rest @ rest)
            step = rest + size / before * step
        raise self._too_few()

    def _times(self, shares: Floats) -> Floats:
        total = np.zeros(self.domain)
        for places in self.places:
            total += np.bincount(places, weights=shares, minlength=self.width)[places]
        return np.asarray(total / self.rows)

    def _too_few(self) -> OutOfRange:
        return OutOfRange(
            "this table cannot tell all values apart.",
            why=f"{self.rows} rows of {self.width} places are too few for {self.domain} values.",
            fix="Give more rows or a larger width, or use ProjectiveGeometry, which has no collisions.",
        )
