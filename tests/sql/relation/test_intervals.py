"""Intervals of what stands around noisy tables hold as often as they say, and shorter ones would not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from time import process_time

import numpy as np
import pytest
from scipy.stats import binom

from hubbub.releases import KeyColumn, Noise, NoisyColumn, Release, ReleasedColumn, formulas
from hubbub.sql.relation.outer_statements import outer_statements
from hubbub.sql.relation.relation_release import release_of
from hubbub.terms import Guarantee, PureDP
from tests.sql.relation._tables import around, covered, noisy_table, parsed, run_of

LAPLACE, GAUSS = Noise("laplace", Fraction(1)), Noise("gaussian", Fraction(1))
RUNS = 25
FALSE_ALARM = 1e-5  # that a right interval fails one of these tests; the seeds are fixed, so it did not happen
ENOUGH = int(binom.ppf(FALSE_ALARM, RUNS, 0.95))  # of 25 runs: 17
SPREAD, APART = tuple(np.linspace(0.0, 20.0, 20)), tuple(10.0 * np.arange(50))
EQUAL, ZIPF = (5.0,) * 50, tuple(2000 / (i + 1) for i in range(100))
TOP = "SELECT k, x AS f FROM t0 ORDER BY x DESC LIMIT 10"

ONE_CELL = [  # statement, truth, whether rows are named by k
    ("SELECT SUM(x) AS f FROM t0", (5.0,) * 5, False),
    ("SELECT AVG(x) AS f FROM t0", SPREAD, False),
    ("SELECT k, EXP(x / 4) AS f FROM t0", (3.0,), True),
    ("SELECT a.k, a.x / b.x AS f FROM t0 AS a JOIN t0 AS b ON b.k = a.k + 1", (20.0, 10.0), True),
    ("SELECT a.k, a.x * b.x AS f FROM t0 AS a JOIN t0 AS b ON b.k = a.k + 1", (3.0, 3.0), True),
    ("SELECT k, x * x AS f FROM t0", (1.0,), True),
    ("SELECT VAR_SAMP(x) AS f FROM t0", (5.0,) * 20, False),
    ("SELECT VAR_SAMP(x) AS f FROM t0", SPREAD, False),
    ("SELECT MAX(x) AS f FROM t0", EQUAL, False),
    ("SELECT MAX(x) AS f FROM t0", SPREAD, False),
    ("SELECT MIN(x) AS f FROM t0", EQUAL, False),
    ("SELECT COUNT(*) AS f FROM t0 WHERE x > 10", SPREAD, False),
]


@pytest.mark.parametrize("noise", [LAPLACE, GAUSS], ids=["laplace", "gaussian"])
@pytest.mark.parametrize(("text", "truth", "keyed"), ONE_CELL, ids=[case[0][:45] for case in ONE_CELL])
def test_a_cell_is_covered_as_often_as_is_said(text: str, truth: Sequence[float], keyed: bool, noise: Noise) -> None:
    holds = covered(text, truth, noise, column="f", runs=RUNS, seed=11, keyed=keyed)
    assert (holds == 1).sum() >= ENOUGH


TEN = Noise("laplace", Fraction(10))
ALIKE = {  # statement -> its truth of ten equal numbers, which redraws and corners of a box never come near
    "SELECT MAX(x) - MIN(x) AS f FROM t0": 0.0,
    "SELECT COUNT(DISTINCT ROUND(x)) AS f FROM t0": 1.0,
    "SELECT COUNT(DISTINCT ROUND(x, -1)) AS f FROM t0": 1.0,
    "SELECT MAX(x) / MIN(x) AS f FROM t0": 1.0,
}


@pytest.mark.parametrize("text", ALIKE)
def test_what_tells_numbers_apart_is_covered_where_they_are_equal(text: str) -> None:
    holds = 0
    for run in range(RUNS):
        released = noisy_table((200.0,) * 10, TEN, np.random.default_rng((17, run)))
        [(low, high)] = around(text, released).intervals(0.95)["f"]
        holds += low <= ALIKE[text] <= high  # type: ignore[operator]
    assert holds >= ENOUGH


def _counts(*values: int) -> Release:
    """Whole numbers with Laplace noise of scale 18, whose 95% are 53 to either side."""
    counts = NoisyColumn("COUNT(*)", Fraction(1), Noise("laplace", Fraction(18)), values)
    keys = (KeyColumn("k", tuple(range(len(values))), "integer"),)
    columns = (ReleasedColumn("k", formulas.Key(0)), ReleasedColumn("x", formulas.Ref(0)))
    return Release(keys=keys, measures=(counts,), columns=columns, guarantee=Guarantee(PureDP(Fraction(1))))


@pytest.mark.parametrize("values", [(26, 32, -6, 0), (-36, 54, -18)], ids=["half of all", "of nothing"])
def test_a_share_of_a_total_that_may_be_0_is_not_known(values: tuple[int, ...]) -> None:
    """A half stays one where it and another number move alike; a share of 0 is infinite."""
    answer = around("SELECT k, x / SUM(x) OVER () AS f FROM t0", _counts(*values))
    shares = np.array(answer["f"].values, dtype=float)
    lows, highs = np.array(answer.intervals(0.95)["f"], dtype=float).T
    assert ((lows <= shares) & (shares <= highs) & (highs - lows > 0.5)).all()


@pytest.mark.parametrize("length", ["STDDEV_SAMP(x)", "SQRT(SUM((x - 200) * (x - 200)))"])
def test_a_length_of_nothing_is_covered(length: str) -> None:
    """Of 300 groups of eight equal numbers the percentiles of redraws hold none, and the basic interval 240."""
    text, held = f"SELECT k // 8 AS g, {length} AS f FROM t0 GROUP BY 1", 0
    for run in range(3):
        released = noisy_table((200.0,) * 800, TEN, np.random.default_rng((20, run)))
        held += sum(low <= 0 for low, _ in around(text, released).intervals(0.95)["f"])  # type: ignore[operator]
    assert held >= binom.ppf(1e-6, 300, 0.95)


def test_different_values_are_counted_up_to_all_of_them() -> None:
    text, truth = "SELECT COUNT(DISTINCT ROUND(x, -1)) AS f FROM t0", tuple(200.0 + 10 * i for i in range(20))
    holds = covered(text, truth, TEN, column="f", runs=RUNS, seed=18, keyed=False)
    assert (holds == 1).sum() >= ENOUGH  # redraws fall short of twenty


def test_a_spread_far_above_the_noise_is_no_wider_for_that() -> None:
    truth = tuple(100.0 * i for i in range(20))
    answer = around("SELECT STDDEV_POP(x) AS f FROM t0", noisy_table(truth, LAPLACE, np.random.default_rng(19)))
    [(low, high)] = answer.intervals(0.95)["f"]
    assert high - low < 1.1 * 2 * 1.96 * np.sqrt(2 / 20)  # what each number weighs in it has length 1/sqrt(20)


@pytest.mark.parametrize(
    ("truth", "noise"), [(EQUAL, LAPLACE), (APART, GAUSS), (ZIPF, LAPLACE)], ids=["equal", "apart", "zipf"]
)
def test_all_rows_after_a_limit_are_covered_at_once(truth: Sequence[float], noise: Noise) -> None:
    holds = covered(TOP, truth, noise, column="f", runs=RUNS, seed=12)
    assert (holds == 1).sum() >= ENOUGH


@pytest.mark.parametrize(
    "text",
    [
        "SELECT k, RANK() OVER (ORDER BY x DESC) AS f FROM t0",
        "SELECT k, x AS f FROM t0 QUALIFY RANK() OVER (ORDER BY x DESC) <= 20",
    ],
)
def test_rows_that_noise_orders_are_covered_at_once(text: str) -> None:
    holds = covered(text, SPREAD, LAPLACE, column="f", runs=RUNS, seed=13)
    assert (holds == 1).sum() >= ENOUGH


def test_ranks_among_many_are_covered_at_once() -> None:
    truth, runs = tuple(300 / (i + 1) for i in range(1_100)), 8
    text = "SELECT k, RANK() OVER (ORDER BY x DESC) AS f FROM t0 ORDER BY f LIMIT 10"
    holds = covered(text, truth, LAPLACE, column="f", runs=runs, seed=15)
    assert (holds == 1).sum() >= binom.ppf(FALSE_ALARM, runs, 0.95)


def test_a_few_of_many_rows_do_not_take_the_work_of_all() -> None:
    released = noisy_table(tuple(300 / (i + 1) for i in range(5_000)), LAPLACE, np.random.default_rng(16))
    for text in (TOP, "SELECT k, x AS f FROM t0 QUALIFY RANK() OVER (ORDER BY x DESC) <= 10"):
        with run_of(text, released) as outer:
            start = process_time()
            release_of(outer, text, (released,))
            assert process_time() - start < 2.5  # about .7 s; 3 to 6 when all rows were looked at
            assert len(outer.looked_at) < 500


def test_rows_by_themselves_are_covered_one_by_one() -> None:
    for text in ("SELECT k, x / SUM(x) OVER () AS f FROM t0", "SELECT k, SUM(x) OVER (ORDER BY k) AS f FROM t0"):
        holds = covered(text, (50.0,) * 10, LAPLACE, column="f", runs=RUNS, seed=14)
        rows = RUNS * 10
        assert holds.sum() * 10 >= binom.ppf(FALSE_ALARM, rows // 10, 0.95) * 10  # at worst all rows miss together


class TestTwins:
    """Shorter intervals, of which the tests above would notice that they do not hold."""

    def naive(self, text: str, truth: Sequence[float], *, half: float, true: float) -> int:
        """In how many runs an interval of that half width around the value holds the truth."""
        values = [
            around(text, noisy_table(truth, LAPLACE, np.random.default_rng((11, run)))).dbapi_rows()[0][-1]
            for run in range(RUNS)
        ]
        return sum(abs(float(value) - true) <= half for value in values)  # type: ignore[arg-type]

    def test_half_of_one_noise_is_not_the_noise_of_five(self) -> None:
        assert self.naive("SELECT SUM(x) AS f FROM t0", (5.0,) * 5, half=1.5, true=25.0) < ENOUGH

    def test_one_noise_is_not_that_of_the_largest(self) -> None:
        assert self.naive("SELECT MAX(x) AS f FROM t0", EQUAL, half=3.0, true=5.0) < ENOUGH

    def test_percentiles_of_redraws_miss_a_variance(self) -> None:
        text, hits = "SELECT VAR_SAMP(x) AS f FROM t0", 0
        for run in range(RUNS):
            released = noisy_table((5.0,) * 20, LAPLACE, np.random.default_rng((11, run)))
            with run_of(text, released) as outer:
                drawn = outer.in_worlds(outer.tables.redrawn(200)).values[:, 0, 0]
            hits += np.quantile(drawn, 0.025) <= 0.0 <= np.quantile(drawn, 0.975)
        assert hits < ENOUGH

    def test_each_row_by_itself_is_not_all_rows_at_once(self) -> None:
        hits = 0
        for run in range(RUNS):
            answer = around(TOP, noisy_table(EQUAL, LAPLACE, np.random.default_rng((12, run))))
            hits += all(abs(float(row[1]) - 5.0) <= 3.0 for row in answer.dbapi_rows())  # type: ignore[arg-type]
        assert hits < ENOUGH


# ---------------------------------------------------------------- how they are worked out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT k, x FROM t0", "exact"),
        ("SELECT k, 2 * x + 1 AS f FROM t0", "exact"),
        ("SELECT k, EXP(x / 4) AS f FROM t0", "exact"),
        ("SELECT k, ROUND(x, 1) AS f FROM t0", "exact"),
        ("SELECT k, x - LAG(x) OVER (ORDER BY k) AS f FROM t0", "exact"),
        ("SELECT AVG(x) AS f FROM t0", "exact"),
        ("SELECT k, x / SUM(x) OVER () AS f FROM t0", "Fieller"),
        ("SELECT k, x / (SELECT SUM(x) FROM t0) AS f FROM t0", "Fieller"),
        ("SELECT *, 100.0 * x / SUM(x) OVER () AS f FROM t0", "Fieller"),
        ("SELECT k, x * x AS f FROM t0", "approximate"),
        ("SELECT MAX(x) AS f FROM t0", "all rows at once"),
        ("SELECT k, RANK() OVER (ORDER BY x) AS f FROM t0", "all rows at once"),
        ("SELECT k, f FROM (SELECT k, x AS f FROM t0 ORDER BY x DESC LIMIT 2)", "all rows at once"),
    ],
)
def test_the_way_is_the_most_exact_that_applies(text: str, words: str) -> None:
    answer = around(text, noisy_table((5.0, 4.5, 6.0, 5.2), LAPLACE, np.random.default_rng(1)))
    assert words in answer.columns[-1].mechanism


def test_a_linear_cell_has_the_interval_of_a_release() -> None:
    released = noisy_table(SPREAD, LAPLACE, np.random.default_rng(2))
    whole = around("SELECT k, x FROM t0", released)
    assert whole.intervals(0.95)["x"] == released.intervals(0.95)["x"]
    [(low, high)] = around("SELECT SUM(x) AS f FROM t0", released).intervals(0.95)["f"]
    many = sum(released["x"])  # type: ignore[arg-type]  # the same sum by the arithmetic of releases
    assert (high - low) / 2 == pytest.approx((many.high[0] - many.low[0]) / 2, rel=0.01)


def test_rows_far_apart_are_not_held_to_be_chosen_by_noise() -> None:
    released = noisy_table(tuple(1000.0 * i for i in range(50)), LAPLACE, np.random.default_rng(3))
    near = around(TOP, noisy_table(EQUAL, LAPLACE, np.random.default_rng(3)))
    far = around(TOP, released)
    width = [np.diff(answer.intervals(0.95)["f"][0])[0] for answer in (near, far)]
    assert width[1] < 0.85 * width[0]  # ten rows at once, not fifty


def test_a_limit_by_a_key_is_no_choice_by_noise() -> None:
    released = noisy_table(EQUAL, LAPLACE, np.random.default_rng(4))
    first = around("SELECT k, x AS f FROM t0 ORDER BY k LIMIT 3", released)
    assert first.intervals(0.95)["f"] == released.intervals(0.95)["x"][:3]


def test_rows_that_nothing_names_have_no_interval_and_say_so() -> None:
    released = noisy_table(EQUAL, LAPLACE, np.random.default_rng(5))
    answer = around("SELECT DISTINCT x AS f FROM t0", released)
    assert all(ends == (-np.inf, np.inf) for ends in answer.intervals(0.95)["f"])
    assert any("add the keys" in note for note in answer.remarks())
    assert all(np.isfinite(around("SELECT x AS f FROM t0", released).intervals(0.95)["f"]).ravel())


def test_what_runs_otherwise_over_copies_has_no_interval_rather_than_a_wrong_one() -> None:
    released = noisy_table((5.0, 6.0), LAPLACE, np.random.default_rng(9))
    answer = around("SELECT * FROM (PIVOT t0 ON k IN (0, 1) USING SUM(x))", released)  # the engine adds up all copies
    [row] = answer.dbapi_rows()
    for value, [(low, high)] in zip(row, answer.intervals(0.95).values(), strict=True):
        assert low < value < high  # type: ignore[operator]


def test_a_function_that_fails_for_some_noise_leaves_the_rest_alone() -> None:
    released = noisy_table((0.5, 80.0), LAPLACE, np.random.default_rng(8))
    answer = around("SELECT k, SQRT(ABS(x)) AS a, LN(x + 100) AS b, SQRT(GREATEST(x, 0)) AS c FROM t0", released)
    assert all(np.isfinite(answer.intervals(0.95)["b"]).ravel())


def test_intervals_are_the_same_each_time() -> None:
    released = noisy_table(EQUAL, LAPLACE, np.random.default_rng(6))
    text = "SELECT VAR_SAMP(x) AS f, MAX(x) AS g FROM t0"
    assert around(text, released).to_json() == around(text, released).to_json()


def test_numbers_that_are_missing_leave_the_others_alone() -> None:
    released = noisy_table((5.0, 6.0), LAPLACE, np.random.default_rng(9))
    ratio = formulas.Over(formulas.Ref(0), formulas.Number(Fraction(0)))  # no row has one
    missing = replace(released, columns=(*released.columns[:1], ReleasedColumn("x", ratio)))
    answer = around("SELECT MAX(a.x) - MIN(a.x) AS f, COUNT(b.x) AS n FROM t0 AS a, t1 AS b", released, missing)
    [(low, high)] = answer.intervals(0.95)["f"]
    assert low < 1 < high and answer.intervals(0.95)["n"] == [(0, 0)]  # type: ignore[operator]


# ---------------------------------------------------------------- copies in one query


@pytest.mark.parametrize(
    "text",
    [
        "SELECT k, x FROM t0 ORDER BY x DESC LIMIT 3",
        "SELECT k, x FROM t0 WHERE x > (SELECT AVG(x) FROM t0)",
        "SELECT k % 3 AS k, SUM(x) AS s, COUNT(*) AS n FROM t0 GROUP BY ALL HAVING SUM(x) > 20",
        "SELECT k, SUM(x) OVER (ORDER BY k ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS s FROM t0",
        "WITH b AS (SELECT k, x * 2 AS y FROM t0) SELECT k, y - (SELECT MAX(y) FROM b) AS d FROM b WHERE y > 5",
        "SELECT a.k, a.x - b.x AS d FROM t0 AS a LEFT JOIN t0 AS b ON b.k = a.k + 1",
        "SELECT k, x FROM t0 UNION ALL SELECT -1 AS k, SUM(x) FROM t0",
        "SELECT COUNT(*) AS n, MAX(x) AS m FROM t0 WHERE x > 100",
    ],
)
def test_many_copies_at_once_give_what_each_gives_by_itself(text: str) -> None:
    released = noisy_table(SPREAD, LAPLACE, np.random.default_rng(7))
    with run_of(text, released) as outer:
        worlds = np.vstack([outer.tables.released, outer.tables.redrawn(5)])
        together = outer.in_worlds(worlds, shown=True)
        for number, world in enumerate(worlds):
            alone = outer.in_worlds(world[None, :], shown=True)
            assert (together.present[number] == alone.present[0]).all()
            np.testing.assert_allclose(together.values[number], alone.values[0], rtol=1e-12)
        shown = [place for place in outer.shown_places if place is not None]
        assert sorted(np.flatnonzero(together.present[0])) == sorted(shown)


def test_a_condition_that_joins_is_never_taken_away() -> None:
    statements = outer_statements(parsed("SELECT a.k, a.x FROM t0 AS a, t0 AS b WHERE a.k = b.k"))
    assert statements.whole == statements.shown


# ---------------------------------------------------------------- counts that are read off parts of a value


def counted(values: Sequence[int], noise: Noise, generator: np.random.Generator) -> Release:
    """Counts as they stand beside an average: a tenth of the difference of two noisy sums, told as whole numbers."""
    sums = [[10 * value, 0] for value in values]
    columns = [
        [int(true + drawn) for true, drawn in zip(part, noise.draw(generator, len(values)), strict=True)]
        for part in zip(*sums, strict=True)
    ]
    tenth = formulas.Number(Fraction(1, 10))
    line = formulas.Minus(formulas.Times(tenth, formulas.Ref(0)), formulas.Times(tenth, formulas.Ref(1)))
    return Release(
        keys=(KeyColumn("k", tuple(range(len(values))), "integer"),),
        measures=tuple(
            NoisyColumn(name, Fraction(1), noise, tuple(part)) for name, part in zip("ab", columns, strict=True)
        ),
        columns=(ReleasedColumn("k", formulas.Key(0)), ReleasedColumn("x", formulas.NearestWhole(line))),
        guarantee=Guarantee(PureDP(Fraction(1))),
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT k, x + 1 AS f FROM t0", "exact"),
        ("SELECT SUM(x) AS f FROM t0", "exact"),
        ("SELECT k, x - LAG(x) OVER (ORDER BY k) AS f FROM t0", "exact"),
        ("SELECT k, x / SUM(x) OVER () AS f FROM t0", "Fieller"),
        ("SELECT k, x * x AS f FROM t0", "exact"),
        ("SELECT k, x * SUM(x) OVER () AS f FROM t0", "approximate"),
    ],
)
def test_sums_and_shares_of_counts_beside_an_average_are_worked_out_as_such(text: str, words: str) -> None:
    answer = around(text, counted((500, 450, 610, 520), Noise("laplace", Fraction(40)), np.random.default_rng(1)))
    assert words in answer.columns[-1].mechanism


def test_rounding_to_counts_is_in_the_interval_of_their_sum() -> None:
    """Of 30 counts with noise of variance .36 each and rounding of 1/12: the sum strays by 1.96 sqrt(13.3) = 7.1."""
    released = counted(tuple(range(60, 90)), Noise("laplace", Fraction(3)), np.random.default_rng(3))
    [(low, high)] = around("SELECT SUM(x) AS f FROM t0", released).intervals(0.95)["f"]
    assert high - low > 2 * 7.1


@pytest.mark.parametrize("scale", [3, 40])  # noise far below one row, where rounding is most of the error, and above it
@pytest.mark.parametrize("text", ["SELECT SUM(x) AS f FROM t0", "SELECT k, x / SUM(x) OVER () AS f FROM t0"])
def test_counts_beside_an_average_are_covered_with_their_rounding(text: str, scale: int) -> None:
    values, held, runs = tuple(range(60, 90)), 0, RUNS
    true = sum(values) if "k" not in text else [value / sum(values) for value in values]
    for run in range(runs):
        released = counted(values, Noise("laplace", Fraction(scale)), np.random.default_rng((21, run)))
        ends = around(text, released).intervals(0.95)["f"]
        wanted = [true] if isinstance(true, int) else true[:1]
        held += all(low <= each <= high for each, (low, high) in zip(wanted, ends[: len(wanted)], strict=True))
    assert held >= int(binom.ppf(FALSE_ALARM, runs, 0.95))
