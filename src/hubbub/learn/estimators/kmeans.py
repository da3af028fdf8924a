"""k-means by noisy sums and counts."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike
from sklearn import cluster
from sklearn.base import ClusterMixin

from hubbub.learn.base.column_bounds import Bounds, WithinBounds
from hubbub.learn.base.fit_plan import FitFacts, FitPlan
from hubbub.learn.base.parameters import ColumnBounds
from hubbub.learn.base.private_estimator import PrivateEstimator
from hubbub.learn.base.sum_plan import SumDesign, SumFitPlan, plan_sum_fit
from hubbub.learn.training.moments import Grid, Integers, bounded_entries, noisy_sum
from hubbub.learn.training.network import Floats, Labels
from hubbub.ledger import AccountLike
from hubbub.terms import Neighbours, Real, whole

_FEW = 4.0  # standard deviations of a noisy count below which a cluster counts as empty
_RUNS, _TURNS = 8, 20  # of k-means over the cells
_CELLS = 16  # cells per cluster in the first round: however many there are, a row is in one


class KMeans(ClusterMixin, PrivateEstimator):  # type: ignore[misc]
    """Lloyd's algorithm in which only noisy counts and sums of clusters are seen.

    ``bounds`` is a pair for all columns or one pair per column, from public knowledge, or ``"private"``. In the first
    of ``max_iter`` rounds many public points are spread over the bounds, and the noisy counts and means of their cells
    say where centres should begin; the other rounds are Lloyd's. The cluster of each row of a private table is
    private, so it is not kept: ask ``predict``.

    Guarantee: (epsilon, delta)-DP for the given unit and neighbours, if each unit has one row.
    Because: a row adds to one cluster in each of ``max_iter`` rounds [SCLBJ16, Sec. 3.1], composed as one Gaussian
    [DRS22, Cor. 2]; ``docs/proofs/moments.md``, also for ties.
    Error: with m rows in a cluster and bounds -1..1 a centre is off by about sigma/m, with sigma in ``event_``.
    Not covered: running time; the number of rows, where it is not declared.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        bounds: ColumnBounds = None,
        max_iter: int = 3,
        rows: int | str | None = None,
        neighbours: Neighbours | str = "add-remove",
        unit: str = "",
        account: AccountLike | None = None,
        population: str | None = None,
        dataset: str | None = None,
    ) -> None:
        self.n_clusters, self.max_iter, self.epsilon, self.delta, self.bounds = (
            n_clusters,
            max_iter,
            epsilon,
            delta,
            bounds,
        )
        self.rows, self.neighbours, self.unit = rows, neighbours, unit
        self.account, self.population, self.dataset = account, population, dataset

    def _plan(self, facts: FitFacts) -> FitPlan:
        rounds = LloydRounds(whole(self.n_clusters, name="n_clusters"), whole(self.max_iter, name="max_iter"))
        return plan_sum_fit(WithinBounds.of(rounds, self, facts.columns), facts)

    # ------------------------------------------------------------ using

    def predict(self, X: ArrayLike) -> Labels:
        """The number of the nearest centre of each row."""
        return np.asarray(self._distances(X).argmin(axis=1))

    def fit_predict(self, X: ArrayLike, y: ArrayLike | None = None) -> Labels:
        """Fit, then the cluster of each row: for the data's owner only."""
        return self.fit(X, y).predict(X)

    def score(self, X: ArrayLike, y: ArrayLike | None = None) -> float:
        """Less the sum of squared distances to the nearest centre; on private rows this is a private number."""
        return float(-self._distances(X).min(axis=1).sum())

    def _distances(self, X: ArrayLike) -> Floats:
        table = self._rows_to_answer(X)
        return np.stack([((table - centre) ** 2).sum(axis=1) for centre in self.cluster_centers_], axis=1)


@dataclass(frozen=True, slots=True)
class LloydRounds:
    """Rounds of Lloyd's algorithm, the first over many public points."""

    clusters: int
    rounds: int

    def design(self, columns: int) -> SumDesign:
        """A count and a sum of each cluster in each round."""
        return SumDesign(
            size=_CELLS * self.clusters * (1 + columns),
            square=Fraction(1 + columns),
            largest=1,
            stored=self.clusters * columns,
            steps=self.rounds,
            identity={"clusters": self.clusters},
        )

    def measure(self, plan: SumFitPlan, table: Floats, y: ArrayLike | None, bounds: Bounds) -> Floats:
        """The centres, from what the rounds see."""
        grid, step = plan.grid, plan.step
        entries = bounded_entries(table, *bounds, grid)

        def count_cells(centres: Floats) -> ClusterCells:
            totals = cluster_sums(entries, nearest_centre(entries, centres, grid), len(centres), grid)
            return ClusterCells.from_sums(noisy_sum(totals, step), centres, float(step.sigma))

        centres = count_cells(spread_points(_CELLS * self.clusters, plan.columns)).centres(self.clusters)
        for _ in range(self.rounds - 1):
            centres = count_cells(centres).means
        return centres.ravel()

    def learned(self, plan: SumFitPlan, values: Floats, bounds: Bounds) -> dict[str, object]:
        """The centres, in the units of the columns."""
        middle, half = bounds[0] / 2 + bounds[1] / 2, bounds[1] / 2 - bounds[0] / 2
        centres = middle + half * values.reshape(-1, plan.columns)
        return {"cluster_centers_": centres, "n_iter_": plan.event.times}


@dataclass(frozen=True, slots=True)
class ClusterCells:
    """What a round has seen: about how many rows each cell has, and where their mean is."""

    counts: Floats
    means: Floats

    @classmethod
    def from_sums(cls, sums: Floats, points: Floats, deviation: float) -> ClusterCells:
        """From noisy sums. A cell with almost nobody keeps its point, and counts as empty."""
        table = sums.reshape(len(points), -1)
        full = table[:, 0] > _FEW * deviation
        counts = np.where(full, table[:, 0], 0.0)
        means = np.where(full[:, None], table[:, 1:] / np.maximum(counts, 1.0)[:, None], points)
        return cls(counts, np.clip(means, -1, 1))

    def centres(self, clusters: int) -> Floats:
        """The best of some runs of k-means over the cells, each as heavy as its count: no row is looked at again."""
        full = self.counts > 0
        if np.count_nonzero(full) <= clusters:
            return self.means[np.argsort(-self.counts, kind="stable")[:clusters]]
        return _weighted_centres(self.means[full], self.counts[full], clusters)


def _weighted_centres(points: Floats, weights: Floats, clusters: int) -> Floats:
    """The centres of weighted points: scikit-learn's k-means, of points that are released."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about points that are equal: which depends on rows
        public = cluster.KMeans(clusters, n_init=_RUNS, max_iter=_TURNS, random_state=0)  # no secret
        return np.asarray(public.fit(points, sample_weight=weights).cluster_centers_, dtype=np.float64)


def spread_points(count: int, columns: int) -> Floats:
    """Points that keep apart from each other in the box -1..1; public, and the same every time."""
    generator = np.random.default_rng(0)  # no secret: anybody may know where it began
    offered = generator.uniform(-1, 1, (8 * count, columns))
    chosen, gaps = [offered[0]], np.full(len(offered), math.inf)
    for _ in range(count - 1):
        gaps = np.minimum(gaps, ((offered - chosen[-1]) ** 2).sum(axis=1))
        chosen.append(offered[gaps.argmax()])
    return np.array(chosen)


def nearest_centre(entries: Floats, centres: Floats, grid: Grid) -> Labels:
    """The nearest centre of each row, in exact integers, so that no row's cluster depends on where it stands."""
    points = np.rint(np.clip(centres, -1, 1) * grid.one)
    halves = np.einsum("ij,ij->i", points, points) / 2  # half of |c|^2 - 2 t.c, which compares like |t - c|^2
    return np.asarray((halves - entries @ points.T).argmin(axis=1))


def cluster_sums(entries: Floats, labels: Labels, clusters: int, grid: Grid) -> Integers:
    """How many rows each cluster has and their sum, in steps of 4^-bits.

    Guarantee: adding or removing a row moves them by at most sqrt(1 + columns) in L2.
    Because: ``docs/proofs/moments.md``; a row is in one cluster [SCLBJ16, Sec. 3.1].
    """
    counts = np.bincount(labels, minlength=clusters) * grid.unit
    sums = np.zeros((clusters, entries.shape[1]), dtype=np.int64)
    np.add.at(sums, labels, entries.astype(np.int64))
    return np.column_stack([counts, sums * grid.one]).ravel()
