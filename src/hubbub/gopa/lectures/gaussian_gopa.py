"""The algorithm of the lectures: Gaussian masks that cancel in pairs, and Gaussian noise of each party's own [SBR22].

It protects from parties that follow the protocol and look (semi-honest): nothing is proved to anybody, and a party that
is lost leaves its masks behind unless its neighbours take them back. It is here to be compared with, in the simulator.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hubbub import noise
from hubbub.gopa.lectures.gaussian_privacy import HonestGraph, theta_for
from hubbub.gopa.lectures.random_graphs import Graph, graph
from hubbub.gopa.privacy import connectivity
from hubbub.terms import Unreachable

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_Shown = tuple[Integers, int]

GRID = 1 << 20  # steps of 1
_SPARE = 1.01  # own noise over the least: what is left of theta is for the masks
_APART = 1e-9  # how often the honest graph may fall apart


@dataclass(frozen=True, slots=True)
class Setting:
    """What a classic run was set to. Who is honest is known to the simulator alone; in a run nobody could know it."""

    parties: int
    honest: int
    degree: int
    noise: float
    mask: float
    theta: float
    delta: float


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """What came of it: the mean and its variance in units of the range, who is in it, and what each of them showed."""

    setting: Setting
    mean: float
    variance: float
    included: Integers
    edges: int
    repaired: int
    reveals: Integers


def run(
    values: Floats, *, epsilon: Fraction, delta: Fraction, honest: int, lost: int, k: int | None, repair: bool
) -> Run:
    """One run on values in [0, 1], in which ``lost`` honest parties drop out after they have shared their masks.

    With ``repair`` their neighbours take the masks back before they reveal; without it the error stays in the sum.

    Guarantee: (epsilon, delta)-DP for replacing one honest value, towards all others if they follow the protocol.
    Because: [SBR22]; noise and masks are sized by the exact theta of this run's own honest graph (``HonestGraph``).
    Error: the mean has the variance noise^2 / m, plus mask^2 / m^2 for each mask that was left behind.
    Not covered: that masks and noise are discrete on a grid of 2^-20, where the formula is about continuous ones;
    parties that cheat; the machine that simulates.
    """
    count, order = len(values), np.random.default_rng().permutation(len(values))
    inside, gone = np.sort(order[: honest - lost]), order[honest - lost : honest]
    drawn = _connected_graph(count, honest - lost, k)
    sizes = _calibrate_setting(drawn, inside, epsilon, delta)
    stays = np.ones(count, dtype=bool)
    stays[gone] = False
    shown, cut = _masked_values(values, drawn.edges, stays, sizes, repair=repair)
    kept = np.flatnonzero(stays)
    variance = sizes.noise**2 / len(kept) + (0 if repair else cut) * (sizes.mask / len(kept)) ** 2
    return Run(
        setting=sizes,
        mean=int(shown[kept].sum()) / (len(kept) * GRID),
        variance=variance,
        included=kept,
        edges=len(drawn.edges),
        repaired=cut if repair else 0,
        reveals=shown[kept],
    )


def _masked_values(
    values: Floats, edges: Integers, stays: NDArray[np.bool_], sizes: Setting, *, repair: bool
) -> _Shown:
    """What each party shows, in steps of the grid, and how many masks lead to a party that was lost."""
    shown = np.rint(values * GRID).astype(np.int64)
    shown += noise.discrete_gaussian(_grid_std_dev(sizes.noise), size=len(values))
    cut = stays[edges[:, 0]] != stays[edges[:, 1]]
    used = edges[~cut] if repair else edges
    masks = noise.discrete_gaussian(_grid_std_dev(sizes.mask), size=len(used))
    np.add.at(shown, used[:, 0], masks)
    np.subtract.at(shown, used[:, 1], masks)
    return shown, int(cut.sum())


def _grid_std_dev(deviation: float) -> Fraction:
    return Fraction(math.ceil(deviation * GRID))


def _connected_graph(parties: int, honest: int, k: int | None) -> Graph:
    picked = 1
    while k is None and connectivity.disconnection_chance(parties, picked, honest) > _APART:
        picked += 1
    return graph(secrets.token_bytes(32), range(parties), k or picked)


def _calibrate_setting(drawn: Graph, inside: Integers, epsilon: Fraction, delta: Fraction) -> Setting:
    net = HonestGraph.of(drawn, inside.tolist())
    if not net.connected:
        raise Unreachable(
            "the honest parties fall into pieces in this graph.",
            why="Each piece hides among its own members only.",
            fix="Let each party pick more neighbours.",
        )
    own = _SPARE / (len(inside) * theta_for(epsilon, delta))
    shared = net.mask_variance(epsilon, delta, noise_variance=own)
    return Setting(
        parties=len(drawn.parties),
        honest=len(inside),
        degree=round(2 * len(drawn.edges) / len(drawn.parties)),
        noise=math.sqrt(own),
        mask=math.sqrt(shared),
        theta=net.theta(noise_variance=own, mask_variance=shared),
        delta=net.delta(epsilon, noise_variance=own, mask_variance=shared),
    )
