"""k-means by noisy sums and counts."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from hubbub.learn.base.bounded_estimator import BoundedEstimator
from hubbub.learn.base.sum_estimator import SumDesign, SumFitPlan
from hubbub.learn.training.moments import Grid, Integers, bounded_entries, noisy_sum
from hubbub.learn.training.network import Floats, Labels
from hubbub.learn.training.sampling import step_of
from hubbub.ledger import Account, AccountLike
from hubbub.terms import Neighbours, Real, whole

_FEW = 4.0  # standard deviations of a noisy count below which a cluster counts as empty
_RUNS, _TURNS = 8, 20  # of k-means over the cells
_CELLS = 16  # cells per cluster in the first round: however many there are, a row is in one


class KMeans(BoundedEstimator):
    """Lloyd's algorithm in which only noisy counts and sums of clusters are seen.

    ``bounds`` is a pair for all columns or one pair per column, from public knowledge, or ``"private"``. In the first
    of ``steps`` rounds many public points are spread over the bounds, and the noisy counts and means of their cells
    say where centres should begin; the other rounds are Lloyd's. The cluster of each row of a private table is
    private, so it is not kept: ask ``predict``.

    Guarantee: (epsilon, delta)-DP for the given unit and neighbours, if each unit has one row.
    Because: a row adds to one cluster in each of ``steps`` rounds [SCLBJ16, Sec. 3.1], composed as one Gaussian
    [DRS22, Cor. 2]; ``docs/proofs/moments.md``, also for ties.
    Error: with m rows in a cluster and bounds -1..1 a centre is off by about sigma/m, with sigma in ``event_``.
    Not covered: running time; the number of rows, where it is not declared.
    """

    _kind = "clusterer"

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        bounds: Any = None,
        steps: int = 3,
        rows: Any = None,
        neighbours: Neighbours | str = "add-remove",
        unit: str = "",
        account: AccountLike | None = None,
        population: str | None = None,
        dataset: str | None = None,
    ) -> None:
        self.n_clusters, self.epsilon, self.delta, self.bounds, self.steps = n_clusters, epsilon, delta, bounds, steps
        self.rows, self.neighbours, self.unit = rows, neighbours, unit
        self.account, self.population, self.dataset = account, population, dataset

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import TargetTags

        tags = super().__sklearn_tags__()
        tags.classifier_tags, tags.target_tags = None, TargetTags(required=False)
        return tags

    # ------------------------------------------------------------ fitting

    def _sums(self, rows: int, columns: int, y: Any, account: Account | None) -> SumDesign:
        clusters = whole(self.n_clusters, name="n_clusters")
        return SumDesign(
            size=_CELLS * clusters * (1 + columns),
            square=Fraction(1 + columns),
            largest=1,
            stored=clusters * columns,
            steps=whole(self.steps, name="steps"),
            facts={"clusters": clusters},
        )

    def _summed(self, made: SumFitPlan, table: Floats, y: Any, bounds: tuple[Floats, Floats]) -> Floats:
        grid, step, clusters = made.plan.grid, step_of(made.plan.run), whole(self.n_clusters, name="n_clusters")
        entries = bounded_entries(table, *bounds, grid)

        def look(centres: Floats) -> ClusterCells:
            totals = cluster_sums(entries, nearest(entries, centres, grid), len(centres), grid)
            return ClusterCells.of(noisy_sum(totals, step), centres, float(step.sigma))

        centres = look(spread_points(_CELLS * clusters, made.columns)).centres(clusters)
        for _ in range(whole(self.steps, name="steps") - 1):
            centres = look(centres).means
        return centres.ravel()

    def _learned(self, made: SumFitPlan, values: Floats, bounds: tuple[Floats, Floats]) -> None:
        middle, half = bounds[0] / 2 + bounds[1] / 2, bounds[1] / 2 - bounds[0] / 2
        self.cluster_centers_ = middle + half * values.reshape(-1, made.columns)
        self.n_iter_ = made.plan.run.times

    # ------------------------------------------------------------ using

    def predict(self, X: Any) -> Labels:
        """The number of the nearest centre of each row."""
        return np.asarray(self._distances(X).argmin(axis=1))

    def fit_predict(self, X: Any, y: Any = None) -> Labels:
        """Fit, then the cluster of each row: for the data's owner only."""
        return self.fit(X, y).predict(X)

    def score(self, X: Any, y: Any = None) -> float:
        """Less the sum of squared distances to the nearest centre; on private rows this is a private number."""
        return float(-self._distances(X).min(axis=1).sum())

    def _distances(self, X: Any) -> Floats:
        table = self._known(X)
        return np.stack([((table - centre) ** 2).sum(axis=1) for centre in self.cluster_centers_], axis=1)


@dataclass(frozen=True, slots=True)
class ClusterCells:
    """What a round has seen: about how many rows each cell has, and where their mean is."""

    counts: Floats
    means: Floats

    @classmethod
    def of(cls, sums: Floats, points: Floats, deviation: float) -> ClusterCells:
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
        runs = [_weighted(self.means[full], self.counts[full], clusters, seed) for seed in range(_RUNS)]
        return min(runs, key=lambda run: run[0])[1]


def _weighted(points: Floats, weights: Floats, clusters: int, seed: int) -> tuple[float, Floats]:
    """Weighted k-means from a careful random start [AV07]: the cost, and the centres."""
    generator = np.random.default_rng(seed)  # no secret: the points are released
    centres = points[generator.choice(len(points), 1, p=weights / weights.sum())]
    while len(centres) < clusters:
        chances = weights * _apart(points, centres).min(axis=1) + 1e-300  # also where all points are taken
        centres = np.vstack([centres, points[generator.choice(len(points), 1, p=chances / chances.sum())]])
    for _ in range(_TURNS):
        near = _apart(points, centres).argmin(axis=1)
        for k in np.unique(near):
            centres[k] = np.average(points[near == k], axis=0, weights=weights[near == k])
    return float((weights * _apart(points, centres).min(axis=1)).sum()), centres


def _apart(points: Floats, centres: Floats) -> Floats:
    """Squared distances."""
    return np.asarray(((points[:, None] - centres[None]) ** 2).sum(axis=2))


def spread_points(count: int, columns: int) -> Floats:
    """Points that keep apart from each other in the box -1..1; public, and the same every time."""
    generator = np.random.default_rng(0)  # no secret: anybody may know where it began
    offered = generator.uniform(-1, 1, (8 * count, columns))
    chosen, gaps = [offered[0]], np.full(len(offered), math.inf)
    for _ in range(count - 1):
        gaps = np.minimum(gaps, ((offered - chosen[-1]) ** 2).sum(axis=1))
        chosen.append(offered[gaps.argmax()])
    return np.array(chosen)


def nearest(entries: Floats, centres: Floats, grid: Grid) -> Labels:
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
