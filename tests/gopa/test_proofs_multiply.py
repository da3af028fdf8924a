"""The C code gives what libsodium gives; where it cannot be trusted it is not used."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hubbub.gopa.crypto import accelerator, multi_scalar, ristretto
from hubbub.gopa.crypto.accelerator import Native, native
from hubbub.terms import OutOfRange
from tests.gopa.built import build_from, built_library
from tests.gopa.test_proofs_group import MULTIPLES, REFUSED

pytestmark = pytest.mark.usefixtures(built_library.__name__)

COMPILER = any(map(shutil.which, ("cc", "gcc", "clang")))
needs_compiler = pytest.mark.skipif(not COMPILER, reason="no C compiler: there is no accelerator to test")
EDGES = [
    0,
    1,
    2,
    ristretto.ORDER - 1,
    ristretto.ORDER - 2,
    1 << 252,
    (1 << 252) - 1,
    (1 << 128) - 1,
    31,
    32,
    33,
    1 << 251,
]
SCALARS = st.one_of(st.sampled_from(EDGES), st.integers(0, ristretto.ORDER - 1))
POINTS = st.sampled_from(
    [
        *MULTIPLES,
        ristretto.H,
        ristretto.U,
        *map(ristretto.bit_generator, range(20)),
        ristretto.minus(MULTIPLES[0], ristretto.H),
    ]
)
TERMS = st.lists(st.tuples(SCALARS, POINTS), max_size=12)


def plainly(terms: list[tuple[int, bytes]]) -> bytes:
    return ristretto.sum_points(ristretto.times(scalar, point) for scalar, point in terms)


@pytest.fixture
def accelerated() -> Native:
    library = native()
    assert library is not None
    return library


@needs_compiler
@settings(max_examples=60)
@given(TERMS, TERMS)
def test_sums_are_libsodiums(fixed: list[tuple[int, bytes]], free: list[tuple[int, bytes]]) -> None:
    basis = multi_scalar.Basis([point for _, point in fixed])
    weights, scalars, points = [s for s, _ in fixed], [s for s, _ in free], [p for _, p in free]
    assert basis.combine(weights) == plainly(fixed)  # tables of odd multiples
    assert basis.combine(weights, scalars, points) == plainly(fixed + free)  # buckets
    assert multi_scalar.combine(scalars, points) == plainly(free)


@needs_compiler
@pytest.mark.parametrize("count", [1, 3, 20, 90, 400])
def test_long_sums_are_libsodiums(count: int) -> None:
    """Sums of known multiples of G, for every width of windows that lengths up to 400 choose."""
    logs = [pow(5, 3 * i + 1, ristretto.ORDER) for i in range(count)]
    scalars = [pow(7, i + 1, ristretto.ORDER) for i in range(count)]
    points = [ristretto.base(log) for log in logs]
    expected = ristretto.base(sum(log * scalar for log, scalar in zip(logs, scalars, strict=True)))
    assert multi_scalar.combine(scalars, points) == expected
    assert multi_scalar.Basis(points).combine(scalars) == expected
    assert multi_scalar.combine(scalars, [points[0]] * count) == ristretto.times(sum(scalars), points[0])


@pytest.mark.parametrize("speed", ["native", "plain"])
def test_sums_with_bytes_that_are_no_point_are_refused(speed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if speed == "plain":
        monkeypatch.setattr(multi_scalar, "native", lambda: None)
    basis = multi_scalar.Basis([ristretto.G])
    for data in [*REFUSED, b"", bytes(31), bytes(31) + b"\x80", ristretto.G[:31] + bytes([ristretto.G[31] | 128])]:
        with pytest.raises(OutOfRange):
            multi_scalar.combine([1, 2], [ristretto.G, data])
        with pytest.raises(OutOfRange):
            basis.combine([1], [0], [data])  # a factor of zero is no excuse
        with pytest.raises(OutOfRange):
            multi_scalar.Basis([data])
    with pytest.raises(ValueError, match="for each point"):
        basis.combine([1, 2])
    with pytest.raises(ValueError, match="for each point"):
        multi_scalar.combine([1, 2], [ristretto.G])


@needs_compiler
def test_every_encoding_comes_out_as_it_went_in(accelerated: Native) -> None:
    points = [*MULTIPLES, *map(ristretto.bit_generator, range(40)), *map(ristretto.complement_generator, range(40))]
    assert [accelerated.combine(None, (), [1], [point]) for point in points] == points
    assert [accelerated.combine(None, (), [-1], [point]) for point in points] == [
        ristretto.minus(ristretto.IDENTITY, point) for point in points
    ]


def test_without_the_accelerator_the_sums_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    terms = [(scalar, ristretto.bit_generator(i)) for i, scalar in enumerate(EDGES)]
    fast = multi_scalar.combine([s for s, _ in terms], [p for _, p in terms])
    monkeypatch.setattr(multi_scalar, "native", lambda: None)
    assert multi_scalar.combine([s for s, _ in terms], [p for _, p in terms]) == fast == plainly(terms)
    assert multi_scalar.accelerator() is None


# ---------------------------------------------------------------- how it comes to be used


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A source without a library beside it, and nothing loaded."""
    source = tmp_path / "ristretto255.c"
    shutil.copy(accelerator.SOURCE, source)
    monkeypatch.setattr(accelerator, "SOURCE", source)
    monkeypatch.delenv(accelerator.SWITCH, raising=False)
    native.cache_clear()
    yield source
    native.cache_clear()


def test_what_was_not_built_is_not_there_and_nothing_builds_it(fresh: Path) -> None:
    assert native() is None
    assert multi_scalar.combine([2], [ristretto.G]) == MULTIPLES[2]
    assert list(fresh.parent.iterdir()) == [fresh]


@needs_compiler
def test_a_library_of_another_source_is_not_loaded(fresh: Path) -> None:
    build_from(fresh)
    fresh.write_text(fresh.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert native() is None


@needs_compiler
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("0x34dca135978a3U", "0x34dca135978a4U"),  # the curve's d
        ("if (d < 0)", "if (d < -1)"),  # a digit is dropped
        ("(in[0] & 1)) return 0", "0) return 0"),  # a second encoding
        ("!square_found || ", ""),  # no point at all
        ("|| same(&y, &ZERO)", ""),  # y = 0
        ("t = squares(e250, 2)", "t = squares(e250, 3)"),  # a wrong root
        # faults that only the tables of loaded generators have
        ("odd[i] = plus(&odd[i - 1], &twice)", "odd[i] = plus(&odd[i - 1], &odd[0])"),
        ("&tables[picked[k] * MULTIPLES + abs(d) / 2], d < 0)", "&tables[picked[k] * MULTIPLES + abs(d) / 2], 0)"),
        ("#define MULTIPLES 16 ", "#define MULTIPLES 15 "),  # the largest odd digit reads the next table
        ("carry = window >= 1 << (NAF - 1);", "carry = window > 1 << NAF;"),
        ("rest = mul(&rest, &odd[i].z);", "rest = mul(&rest, &odd[0].z);"),
        # and faults of long or mixed sums
        ("if (shift + c > 64 && limb < 4)", "if (0)"),
        ("i < n ? bases + i : more + (i - n)", "i < n ? bases : more + (i - n)"),
    ],
)
def test_code_that_gives_other_sums_is_not_used(fresh: Path, right: str, wrong: str) -> None:
    source = fresh.read_text(encoding="utf-8")
    assert source.count(right) == 1
    fresh.write_text(source.replace(right, wrong), encoding="utf-8")
    build_from(fresh)
    assert native() is None


def test_a_file_that_is_no_library_is_not_used(fresh: Path) -> None:
    content = b"half a file"
    of_source, of_content = (hashlib.sha256(each).hexdigest() for each in (fresh.read_bytes(), content))
    fresh.with_name(f"{fresh.stem}-{of_source[:16]}-{of_content[:32]}.so").write_bytes(content)
    assert accelerator.library_path() is not None
    assert native() is None


LOAD = """
import sys
from pathlib import Path
from hubbub.gopa.crypto import accelerator, multi_scalar, ristretto
accelerator.SOURCE = Path(sys.argv[1])
assert multi_scalar.combine([2], [ristretto.G]) == ristretto.base(2)
print(multi_scalar.accelerator())
"""


def load_in_a_process(source: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name != accelerator.SWITCH}
    process = subprocess.run(
        [sys.executable, "-c", LOAD, str(source)], capture_output=True, text=True, check=False, env=environment
    )
    assert process.returncode == 0, process.returncode  # -7 is SIGBUS
    return process.stdout.strip()


@needs_compiler
def test_a_library_that_is_not_whole_is_not_loaded_and_ends_no_process(fresh: Path) -> None:
    library = build_from(fresh)
    assert library is not None
    whole = library.read_bytes()
    assert load_in_a_process(fresh) == f"C ({library.name})"
    for length in (0, 64, 500, 4096, len(whole) // 2, len(whole) - 4096, len(whole) - 1):
        library.write_bytes(whole[:length])
        assert load_in_a_process(fresh) == "None", length
    for changed in (whole + b"x", whole[:5000] + bytes([whole[5000] ^ 1]) + whole[5001:]):
        library.write_bytes(changed)
        assert load_in_a_process(fresh) == "None"
    library.write_bytes(whole)
    library.rename(fresh.with_name(f"{library.stem.rpartition('-')[0]}.so"))  # without the second hash, as before
    assert load_in_a_process(fresh) == "None"


def test_it_can_be_switched_off() -> None:
    code = "from hubbub.gopa import multi_scalar; print(multi_scalar.accelerator())"
    environment = {**os.environ, accelerator.SWITCH: "off"}
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert told.stdout == "None\n"


@needs_compiler
def test_a_fault_in_the_tables_alone_is_noticed_and_libsodium_does_the_work(
    fresh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fault that only loaded generators meet: without the table path in the self-test it was used."""
    source = fresh.read_text(encoding="utf-8")
    fresh.write_text(source.replace("abs(d) / 2], d < 0)", "abs(d) / 2], 0)"), encoding="utf-8")
    build_from(fresh)
    with monkeypatch.context() as planted:
        planted.setattr(accelerator, "_agrees_with_libsodium", lambda _: True)
        wrong = multi_scalar.Basis([ristretto.G]).combine([ristretto.ORDER - 1])
    native.cache_clear()
    assert native() is None
    right = multi_scalar.Basis([ristretto.G]).combine([ristretto.ORDER - 1])
    assert right == ristretto.minus(ristretto.IDENTITY, ristretto.G) != wrong
