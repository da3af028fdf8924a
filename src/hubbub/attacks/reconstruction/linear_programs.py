"""Reconstruction by linear programs: the least total error, or the least largest one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub.attacks.requirements import Floats
from hubbub.terms import Unsuitable

_MOST = 4_000_000  # entries of the queries; beyond that a program takes minutes to hours


def least_total_error(queries: NDArray[np.float32], answers: Floats) -> Floats:
    """The x in [0, 1]^n with the smallest sum of |queries @ x - answers|: the program of [DMT07] and [CN20].

    It shrugs off a share of answers that are wrong without bound.
    """
    from scipy.sparse import csr_array, eye_array, hstack

    count, people = queries.shape
    above = eye_array(count)
    equations = hstack([csr_array(queries), above, -above], format="csr")
    cost = np.concatenate([np.zeros(people), np.ones(2 * count)])
    bounds = [(0.0, 1.0)] * people + [(0.0, np.inf)] * (2 * count)
    return _solve_program(queries, cost, bounds, A_eq=equations, b_eq=answers)


def least_largest_error(queries: NDArray[np.float32], answers: Floats) -> Floats:
    """The x in [0, 1]^n that is consistent with answers of the smallest error E: the program of [DN03]."""
    count, people = queries.shape
    error = -np.ones((count, 1))
    sides = np.block([[queries, error], [-queries, error]])
    cost = np.concatenate([np.zeros(people), [1.0]])
    bounds = [(0.0, 1.0)] * people + [(0.0, np.inf)]
    return _solve_program(queries, cost, bounds, A_ub=sides, b_ub=np.concatenate([answers, -answers]))


def _solve_program(
    queries: NDArray[np.float32], cost: Floats, bounds: list[tuple[float, float]], **rows: Any
) -> Floats:
    from scipy.optimize import linprog

    count, people = queries.shape
    if queries.size > _MOST:
        raise Unsuitable(
            f"{count} queries about {people} people are too many for a linear program.",
            why=f"Beyond {_MOST:,} entries it takes hours.",
            fix='Leave method out: "box" takes seconds.',
        )
    solution = linprog(cost, bounds=bounds, method="highs-ipm", **rows)
    if solution.x is None:
        raise Unsuitable(
            "the linear program was not solved.",
            why=str(solution.message),
            fix='Leave method out: "box" always ends.',
        )
    return np.asarray(solution.x[:people], dtype=np.float64)
