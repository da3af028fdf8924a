"""Whatever comes as values or reports, at every entry: an ordinary array, or an error of ours by its type alone."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hubbub import local
from hubbub.local.randomizers.base import FrequencyRandomizer
from hubbub.local.statistics.two_party import TwoPartyUStatistic
from hubbub.noise.testing import seeded
from hubbub.terms import HubbubError, WrongShape

from . import _vectors

Entry = Callable[[Any], Any]
BOUNDS: dict[str, Any] = {"lower": 0, "upper": 4}
ADDITIVE = {
    "laplace": local.LocalLaplace(epsilon=1, **BOUNDS),
    "gaussian": local.LocalGaussian(epsilon=1, delta=1e-6, **BOUNDS),
}
RANDOMIZERS = _vectors.RANDOMIZERS | ADDITIVE
PEOPLE = [0, 1, 1, 0, 1, 0]


def statistics() -> dict[str, Any]:
    return {
        "pairs": local.UStatistic("gini", epsilon=1, bins=4, **BOUNDS),
        "pairs of codes": local.UStatistic([[0, 1], [1, 0]], epsilon=1),
        "mann-whitney": local.MannWhitney(epsilon=1, bins=4, **BOUNDS),
        "hierarchical auc": local.HierarchicalAUC(epsilon=1, domain=16, depth=2),
        "ranges": local.Ranges(epsilon=1, cells=16, **BOUNDS),
        "variance": local.LocalVariance(epsilon=1, **BOUNDS),
    }


def values_in() -> Iterator[tuple[str, Entry]]:
    """Everything that takes people's values, one number each."""
    for name, randomizer in RANDOMIZERS.items():
        yield f"{name}: randomize", lambda values, each=randomizer: each.randomize(values, rng=seeded(1))
        yield f"{name}: codes", lambda values, each=randomizer: each.codes(values)
    for name, statistic in statistics().items():
        yield f"{name}: randomize", lambda values, each=statistic: each.randomize(values, rng=seeded(1))
    table = local.JointTable(epsilon=1, rows=2, columns=2)
    yield "joint: rows", lambda values: table.randomize(values, PEOPLE, rng=seeded(1))
    yield "joint: columns", lambda values: table.randomize(PEOPLE, values, rng=seeded(1))
    area = local.AUC(epsilon=1, bins=4, **BOUNDS)
    yield "auc: scores", lambda values: area.randomize(values, PEOPLE, rng=seeded(1))
    yield "auc: labels", lambda values: area.randomize(PEOPLE, values, rng=seeded(1))
    means = local.Means(epsilon=1, bounds={"a": (0, 4), "b": (0, 4)})
    yield "means", lambda values: means.randomize({"a": values, "b": PEOPLE}, rng=seeded(1))
    rounds = local.TwoRounds(epsilon=1, rounds="both", cells=2, **BOUNDS)
    yield "two rounds", lambda values: rounds.run(values, rng=seeded(1)).mean.value
    gini = TwoPartyUStatistic("gini", epsilon=1, **BOUNDS)
    yield "two parties", lambda values: gini.simulate(values, rng=seeded(1)).mean.value


def reports_in() -> Iterator[tuple[str, Entry, Any]]:
    """Everything that takes reports, with good ones."""
    for name, randomizer in RANDOMIZERS.items():
        good = np.asarray(randomizer.randomize(PEOPLE * 50, rng=seeded(1)))
        for step in ("estimate", "accumulate", "pack"):
            yield f"{name}: {step}", getattr(randomizer, step), good
    for name, statistic in statistics().items():
        good = np.asarray(statistic.randomize(PEOPLE * 50, rng=seeded(1)))
        if name in {"mann-whitney", "hierarchical auc"}:
            yield f"{name}: first", lambda reports, each=statistic, other=good: each.estimate(reports, other), good
            yield f"{name}: second", lambda reports, each=statistic, other=good: each.estimate(other, reports), good
        else:
            yield f"{name}: estimate", statistic.estimate, good
    unit = local.PrivUnitG(epsilon=1, dimension=2)
    yield "vectors", unit.estimate, unit.randomize([[1, 0], [0, 1]] * 20, rng=seeded(1))
    for method in ("product", "split"):
        table = local.JointTable(epsilon=1, rows=2, columns=2, method=method)
        yield f"joint {method}", table.estimate, table.randomize(PEOPLE * 20, PEOPLE * 20, rng=seeded(1))
    area = local.AUC(epsilon=1, bins=4, **BOUNDS)
    yield "auc", area.estimate, area.randomize(PEOPLE * 50, PEOPLE * 50, rng=seeded(1))
    hitters = local.HeavyHitters(epsilon=4, alphabet="ab", length=2)
    yield "strings", hitters.estimate, hitters.randomize(["ab"] * 300, rng=seeded(1))
    kary = local.KaryResponse(epsilon=1, domain=2)
    yield "bayes", lambda reports: local.iterative_bayes(kary, reports), kary.randomize(PEOPLE, rng=seeded(1))


VALUES, REPORTS = dict(values_in()), {name: (entry, good) for name, entry, good in reports_in()}


def masked(array: Any) -> list[Any]:
    """Arrays with a mask, with and without anything hidden, in lists too, and columns that can hold nothing."""
    hide = np.zeros(np.shape(array), dtype=bool)
    hide[0] = True
    made = [np.ma.array(array), np.ma.array(array, mask=hide), np.ma.masked, [np.ma.array(array, mask=hide)]]
    pandas = pytest.importorskip("pandas", reason="an optional package")
    if np.ndim(array) == 1:
        flat = np.asarray(array).tolist()
        made += [pandas.array(flat, dtype="Int64"), pandas.Series([*flat[1:], None], dtype="Int64")]
        made += [pandas.Series([*flat[1:], None], dtype="boolean") if set(flat) <= {0, 1} else pandas.NA]
    return made


def odd(array: Any) -> list[Any]:
    """What is no array of numbers, or of another shape."""
    import pyarrow

    ragged = [[1, 2], [3]]
    objects = np.array([1, "x", None], dtype=object)
    records = np.rec.array([(1, 2.0)], dtype=[("a", int), ("b", float)])
    deep = np.asarray(array)[None, None, None]
    texts = ["a", "b"], np.array(["1", "2"]), b"12", "12"
    others = [None], [{}], {}, None, object(), [1j], np.array([1j]), [object()], [[]], [[[1]]], (x for x in (1, 2))
    dates = np.array(["2026-01-01"], dtype="datetime64[D]"), np.array([1], dtype="timedelta64[s]")
    return [ragged, objects, records, deep, *texts, *others, *dates, pyarrow.array([1, None]), pyarrow.array([1, 0])]


def matrix(rows: Any) -> Any:
    """A numpy matrix, of which numpy itself warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.matrix(rows)


def refused(entry: Entry, given: Any) -> bool:
    """Whether it is refused by us; anything else that is raised, and every warning, goes through."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            entry(given)
        except HubbubError:
            return True
    return False


@pytest.mark.parametrize("name", VALUES)
def test_masked_values_are_refused_at_every_entry(name: str) -> None:
    for given in masked(np.array(PEOPLE)):
        assert refused(VALUES[name], given), repr(given)


@pytest.mark.parametrize("name", REPORTS)
def test_masked_reports_are_refused_at_every_entry(name: str) -> None:
    entry, good = REPORTS[name]
    for given in masked(good):
        assert refused(entry, given), repr(given)


def same(one: Any, other: Any) -> bool:
    """Whether two answers are equal, as text or as numbers."""
    return str(one) == str(other) and type(one) is type(other)


def subclasses(array: Any, folder: Path) -> list[Any]:
    """The same numbers in arrays of other classes and orders."""
    plain = np.asarray(array)
    mapped = np.memmap(folder / "mapped", dtype=plain.dtype, mode="w+", shape=plain.shape)
    mapped[:] = plain

    class Own(np.ndarray):
        def __array_ufunc__(self, *_: object, **__: object) -> Any:
            raise AssertionError("a subclass decided about arithmetic")

    return [mapped, plain.view(Own), np.asfortranarray(plain), np.lib.stride_tricks.as_strided(plain, writeable=False)]


@pytest.mark.parametrize("name", VALUES)
def test_values_in_other_classes_of_arrays_are_the_values(name: str, tmp_path: Path) -> None:
    plain = VALUES[name](np.array(PEOPLE))
    for given in subclasses(np.array(PEOPLE), tmp_path):
        assert same(VALUES[name](given), plain), type(given)


@pytest.mark.parametrize("name", REPORTS)
def test_reports_in_other_classes_of_arrays_are_the_reports(name: str, tmp_path: Path) -> None:
    entry, good = REPORTS[name]
    for given in subclasses(good, tmp_path):
        assert same(entry(given), entry(good)), type(given)


@pytest.mark.parametrize("name", VALUES)
def test_values_of_no_kind_end_in_our_errors_by_their_type(name: str) -> None:
    for given in odd(np.array(PEOPLE)):
        assert refused(VALUES[name], given), repr(given)
    assert refused(VALUES[name], matrix(PEOPLE))  # it has two dimensions


@pytest.mark.parametrize("name", REPORTS)
def test_reports_of_no_kind_end_in_our_errors(name: str) -> None:
    entry, good = REPORTS[name]
    for given in odd(good):
        refused(entry, given)
    assert refused(entry, [[1, 2], [3]])
    assert refused(entry, None)


@pytest.mark.parametrize("name", RANDOMIZERS)
def test_words_and_states_are_ordinary_arrays(name: str) -> None:
    randomizer = RANDOMIZERS[name]
    words = np.zeros((1, randomizer.words), dtype=np.uint64)
    for given in (np.ma.array(words), words.tolist(), words.astype(float), words[:, 1:], None, "x"):
        with pytest.raises(HubbubError):
            randomizer.respond([0], given)
    state = np.ones(randomizer.state_size, dtype=np.int64)
    for given in (
        np.ma.array(state),
        state.astype(float),
        [[1], [2, 3]],
        state[1:],
        None,
        ["x"],
        [10**30] * len(state),
    ):
        with pytest.raises(HubbubError):
            randomizer.decode(given, count=10)


def test_a_client_reports_whatever_its_value_is(tmp_path: Path) -> None:
    """A refusal would tell: whether a report is sent never depends on the value."""
    strange = [
        None,
        "nonsense",
        "",
        b"x",
        [],
        [1],
        {},
        object(),
        1j,
        np.nan,
        np.inf,
        10**400,
        -(10**400),
        Fraction(1, 3),
    ]
    strange += [np.ma.masked, np.array([1, 2]), np.array(1), np.datetime64("2026-01-01"), True, np.True_, "\ud800"]
    for name, randomizer in RANDOMIZERS.items():
        asked = _vectors.collection(name, randomizer, len(strange))
        client = local.Client(asked, state=tmp_path / f"{abs(hash(name))}.json")
        sizes = {len(client.report(value, epoch=epoch)) for epoch, value in enumerate(strange)}
        assert len(sizes) == 1, name


def test_a_randomizer_of_codes_takes_codes_of_any_integer_type() -> None:
    for randomizer in RANDOMIZERS.values():
        if not isinstance(randomizer, FrequencyRandomizer):
            continue
        wanted = randomizer.codes(PEOPLE).tolist()
        for kind in (np.int8, np.uint8, np.uint64, object):
            assert randomizer.codes(np.array(PEOPLE, dtype=kind)).tolist() == wanted


def test_matrices_and_kernels_are_read_as_plain_arrays() -> None:
    chances = [[0.75, 0.25], [0.25, 0.75]]
    hidden = np.ma.array(chances, mask=[[True, False], [False, False]])
    for given in (hidden, [[0.5], [0.5, 0.5]], None, "x", [["a", "b"], ["c", "d"]], np.array(chances)[None]):
        with pytest.raises(HubbubError):
            local.FiniteRandomizer(given)
        with pytest.raises(HubbubError):
            local.UStatistic(given, epsilon=1, **BOUNDS)
    assert local.FiniteRandomizer(matrix(chances)) == local.FiniteRandomizer(chances)


def test_strings_come_as_a_list() -> None:
    hitters = local.HeavyHitters(epsilon=4, alphabet="ab", length=2)
    for given in (np.ma.array(["a", "b"], mask=[True, False]), "ab", b"ab", None, 5, {"a"}):
        with pytest.raises(WrongShape):
            hitters.randomize(given)
    assert len(hitters.randomize(["a", None, 5, np.nan, "zz"])) == 5
