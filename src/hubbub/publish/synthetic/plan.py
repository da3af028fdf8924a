"""What will be done, and what it costs: settled from public facts before a row is read."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from hubbub.accounting import rho_epsilon, rho_for
from hubbub.publish.domains import Categorical, Date, Numeric, is_private
from hubbub.publish.marginal_counts import Columns, Measurement, Meter, Whom, marginal_noise, sigma_for
from hubbub.publish.synthetic.aim import AimPlan, all_pairs
from hubbub.publish.synthetic.compress import MOST_GROUPS
from hubbub.publish.synthetic.discover import Finder
from hubbub.publish.synthetic.mst import TreePlan, noise_alone
from hubbub.terms import (
    Compose,
    EmptyInput,
    Event,
    OutOfRange,
    Real,
    Repeat,
    TooLarge,
    Unreachable,
    fraction_of,
    positive,
    shown,
)

METHODS = ("aim", "mst", "marginals")
Modelled: TypeAlias = Numeric | Categorical | Date
_FINDING = Fraction(1, 5)  # of the cost, for domains that are to be found, if there are any
_MOST_MEASURED = 1 << 18  # cells of all pairs together, by AIM
_MOST_ROWS = 10**6  # that a table is thought to have, if nothing is said
_LARGEST = 48 * 2**20  # bytes of what is stored
_CELL, _GROUP, _VALUE, _HEADER = 11, 4, 520, 4096  # bytes of each, written as text


@dataclass(frozen=True, slots=True)
class SinglesPlan:
    """One-way marginals and nothing else: columns are taken to be independent."""

    single: Fraction

    def identity(self) -> dict[str, object]:
        """What makes two such plans the same."""
        return {"method": "marginals", "single": str(self.single)}

    def events(self, whom: Whom, columns: int) -> list[Event]:
        """Everything that will be done; known beforehand."""
        return [Repeat(marginal_noise(whom, self.single).event, columns)]

    def measure(self, meter: Meter, singles: list[Measurement]) -> list[Measurement]:
        """No pairs."""
        return []


@dataclass(frozen=True, slots=True)
class SynthesisPlan:
    """All that is decided beforehand for one table."""

    whom: Whom
    columns: Mapping[str, Modelled]
    finder: Finder | None
    method: SinglesPlan | TreePlan | AimPlan
    rho: Fraction

    @property
    def events(self) -> list[Event]:
        """Every step, in order."""
        finding = [self.finder.event(c) for c in self.columns.values() if is_private(c)] if self.finder else []  # type: ignore[arg-type]
        return [*finding, *self.method.events(self.whom, len(self.columns))]

    @property
    def event(self) -> Event:
        """The whole, as it is charged."""
        return Compose(tuple(self.events))

    @property
    def size(self) -> int:
        """The most bytes that the stored model can take."""
        cells = [column.cells for column in self.columns.values()]
        found_cells = sum(column.cells for column in self.columns.values() if is_private(column))
        pairs = 0
        if isinstance(self.method, AimPlan):
            pairs = self.method.measured
        elif isinstance(self.method, TreePlan):
            groups = [min(size, MOST_GROUPS) for size in cells]
            products = (a * b for a, b in itertools.combinations(groups, 2))
            pairs = sum(heapq.nlargest(self.method.links(len(cells)), products))
        links = 200 * (len(cells) ** 2 + 1)
        return _HEADER + links + sum(cells) * (_CELL + _GROUP) + pairs * _CELL + found_cells * _VALUE


def plan_for(
    columns: Mapping[str, Modelled],
    *,
    whom: Whom,
    epsilon: Real,
    delta: Real,
    method: str,
    share: Fraction = Fraction(1),
    given: int = 0,
    rows: int | None = None,
    workload: Sequence[tuple[str, ...]] | None = None,
    max_cells: int = 1 << 17,
    seconds: Fraction = Fraction(300),
) -> SynthesisPlan:
    """The plan for one table that costs ``share`` of (epsilon, delta)-DP, or a refusal that says what would fit."""
    if not columns:
        raise EmptyInput(
            "there is no column to model.",
            why="Keys are made up; synthetic data need at least one column besides.",
            fix="Leave a column in the table that is Numeric, Categorical or Date.",
        )
    rho, slack = budget_of(epsilon, delta, share, lists=any(_is_list(c) for c in columns.values()))
    finding = [column for column in columns.values() if is_private(column)]
    finder, left = None, rho
    if finding:
        lists = sum(_is_list(column) for column in finding)
        finder = Finder(whom, rho * _FINDING / len(finding), slack / max(1, lists))
        left = rho * (1 - _FINDING)
    plan = SynthesisPlan(
        whom, columns, finder, _plan_method(method, whom, columns, left, given, workload, max_cells, seconds), rho
    )
    _check_noise(plan, float(fraction_of(delta, name="delta")), share, rows)
    _check_size(plan)
    return plan


def budget_of(epsilon: Real, delta: Real, share: Fraction, *, lists: bool) -> tuple[Fraction, Fraction]:
    """The zCDP that (epsilon, delta)-DP allows, and the delta that is left for lists of values: half, if any."""
    cost, chance = positive(epsilon, name="epsilon"), fraction_of(delta, name="delta")
    slack = chance / 2 if lists else Fraction(0)
    rho = Fraction(rho_for(float(cost), float(chance - slack) * (1 - 1e-12)))
    if rho <= 0:
        raise Unreachable(
            f"no noise meets epsilon = {shown(cost)}, delta = {shown(chance)}.",
            why="So small a budget asks for more noise than any table could bear.",
            fix="Use a larger epsilon or delta.",
        )
    return rho * share, slack * share


def _plan_method(
    name: str,
    whom: Whom,
    columns: Mapping[str, Modelled],
    rho: Fraction,
    given: int,
    workload: Sequence[tuple[str, ...]] | None,
    max_cells: int,
    seconds: Fraction,
) -> SinglesPlan | TreePlan | AimPlan:
    count = len(columns)
    if name == "marginals":
        return SinglesPlan(sigma_for(whom, rho / count))
    if name == "mst":
        return TreePlan.of(whom, count, rho, given=given)
    if name == "aim":
        wanted = all_pairs(count) if workload is None else _read_workload(workload, list(columns))
        return AimPlan.of(whom, count, rho, workload=wanted, cells=max_cells, measured=_MOST_MEASURED, seconds=seconds)
    raise OutOfRange(
        f"there is no method {name!r}.",
        why="Marginals are chosen by aim or mst, or each column is taken by itself (marginals).",
        fix='Write method="aim", "mst" or "marginals".',
    )


def _read_workload(workload: Sequence[tuple[str, ...]], names: list[str]) -> list[tuple[Columns, int]]:
    unknown = {name for columns in workload for name in columns} - set(names)
    short = any(not 2 <= len(set(columns)) <= 4 for columns in workload)
    if unknown or short or not workload:
        raise OutOfRange(
            f"the workload names {', '.join(map(repr, sorted(unknown)))}."
            if unknown
            else "the workload is no list of two to four columns each.",
            why="It says which columns will be looked at together.",
            fix=f"Write workload=[(...), ...] with columns among {', '.join(names)}.",
        )
    return [(tuple(sorted(names.index(name) for name in set(columns))), 1) for columns in workload]


def _is_list(column: Modelled) -> bool:
    return isinstance(column, Categorical) and column.is_private


def _check_noise(plan: SynthesisPlan, delta: float, share: Fraction, rows: int | None) -> None:
    """Refuse if the noise on one column alone would be more than all rows."""
    expected = rows or _MOST_ROWS
    for name, column in plan.columns.items():
        noise = noise_alone(plan.method.single, column.cells)
        if noise > expected:
            fewer = max(2, column.cells * expected // noise)
            enough = rho_epsilon(float(plan.rho / share) * (noise / expected) ** 2, delta / 2)
            raise TooLarge(
                f"the budget is too small for the domain: the noise on {name!r} alone adds up to {noise:,} rows, "
                f"and the table is taken to have {'about' if rows else 'at most'} {expected:,}.",
                why=f"Each of its {column.cells} cells gets noise of its own, and {len(plan.columns)} columns share "
                "the budget.",
                fix=f"It fits with about epsilon={1.05 * enough:.2g}, with at most {fewer} cells in that "
                "column, or with fewer columns.",
            )


def _check_size(plan: SynthesisPlan) -> None:
    if plan.size > _LARGEST:
        cells = sum(column.cells for column in plan.columns.values())
        raise TooLarge(
            f"a model of {len(plan.columns)} columns with {cells:,} cells may take {plan.size:,} bytes; the most is "
            f"{_LARGEST:,}.",
            why="What is stored has a size known beforehand.",
            fix='Give fewer bins= or values, leave columns out, or use method="marginals".',
        )
