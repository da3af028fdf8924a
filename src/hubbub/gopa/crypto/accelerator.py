"""The C code of ``native/``: compiled when the package was built, compared with libsodium, then trusted.

``hatch_build.py`` compiles it; nothing is compiled when the package is used. The library bears two hashes in its name,
of its source and of its own bytes, so one of another source is not loaded, nor one that is not whole: half a library
would end the process at the first page that is missing. Where anything is not as it should be (built without a
compiler, another machine, a damaged file, another result than libsodium's), there is no accelerator, and libsodium
does the work alone.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from hubbub.gopa.crypto.ristretto import IDENTITY, ORDER, G, H, U, base, plus, random_scalar, times_known

SWITCH = "HUBBUB_GOPA_ACCELERATOR"
SOURCE = Path(__file__).parent / "native" / "ristretto255.c"

# What must not be taken for a point: too large, a second encoding of the identity and of G, no root, xy < 0, y = 0.
REFUSED = (
    b"\xff" * 32,
    (2**255 - 19).to_bytes(32, "little"),
    (2**255 - 19 - int.from_bytes(G, "little")).to_bytes(32, "little"),
    bytes.fromhex("26948d35ca62e643e26a83177332e6b6afeb9d08e4268b650f1f5bbd8d81d371"),
    bytes.fromhex("3eb858e78f5a7254d8c9731174a94f76755fd3941c0ac93735c07ba14579630e"),
    (2**255 - 20).to_bytes(32, "little"),
)

_DISTINCT, _LENGTHS = 16, (40, 200)  # of the long sums that are compared


class Native:
    """The compiled functions; every answer is a point's 32 bytes, or None where an input was none."""

    def __init__(self, path: Path) -> None:
        library = ctypes.CDLL(str(path))
        size, data, pointer = ctypes.c_size_t, ctypes.c_char_p, ctypes.c_void_p
        self.name = f"C ({path.name})"
        self._load, self._free, self._combine = library.hubbub_basis, library.hubbub_basis_free, library.hubbub_combine
        self._load.argtypes, self._load.restype = [data, size], pointer
        self._free.argtypes, self._free.restype = [pointer], None
        self._combine.argtypes = [pointer, pointer, data, size, data, data, size]
        self._combine.restype = ctypes.c_int

    def load(self, points: Sequence[bytes]) -> int | None:
        """Decoded points, to be given back with ``free``."""
        loaded: int | None = self._load(b"".join(points), len(points))
        return loaded

    def free(self, loaded: int) -> None:
        self._free(loaded)

    def combine(
        self, loaded: int | None, weights: Sequence[int], scalars: Sequence[int], points: Sequence[bytes]
    ) -> bytes | None:
        """The sum of weights times loaded points and scalars times points."""
        if len(scalars) != len(points) or any(len(point) != 32 for point in points):
            return None
        out = ctypes.create_string_buffer(32)
        code = self._combine(
            out, loaded, _pack_scalars(weights), len(weights), b"".join(points), _pack_scalars(scalars), len(points)
        )
        if code == 2:
            raise MemoryError
        return None if code else out.raw


def _pack_scalars(scalars: Sequence[int]) -> bytes:
    """Many scalars, one after the other."""
    return b"".join([(scalar % ORDER).to_bytes(32, "little") for scalar in scalars])


@functools.cache
def native() -> Native | None:
    """The accelerator, or None; looked for and tested once per process."""
    if os.environ.get(SWITCH, "").lower() == "off":
        return None
    try:
        path = library_path()
        library = None if path is None else Native(path)
    except (OSError, AttributeError):  # it cannot be read, it is another machine's, or it is no such library
        return None
    return library if library is not None and _agrees_with_libsodium(library) else None


def library_path() -> Path | None:
    """Where the library of this very source lies, whole as it was built; None if there is none."""
    built = SOURCE.parent.glob(f"{SOURCE.stem}-{_digest(SOURCE)[:16]}-*.so")
    return next((path for path in sorted(built) if path.stem.rpartition("-")[2] == _digest(path)[:32]), None)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _agrees_with_libsodium(library: Native) -> bool:
    """Whether it gives what libsodium gives: at the edges and at random, on every path that a sum can take."""
    return _short_sums(library) and _long_sums(library) and _refuses_bad_points(library)


def _short_sums(library: Native) -> bool:
    """Sums of nine terms, on each path."""
    points = [G, H, U, IDENTITY, G, *(times_known(random_scalar(), U) for _ in range(4))]
    rows = (
        [0] * 9,
        [1] * 9,
        [ORDER - 1] * 9,
        [3, 0, ORDER - 1, 5, ORDER - 3, 1, 2, 1 << 252, 0],
        [(1 << 252) - 1, 63, 32, 31, 33, (1 << 128) - 1, 64, 1 << 251, 0x55],
        *([random_scalar() for _ in points] for _ in range(4)),
    )
    return all(
        _agrees_on_all_paths(library, row, points, functools.reduce(plus, map(times_known, row, points)))
        for row in rows
    )


def _long_sums(library: Native) -> bool:
    """Sums of known multiples of G, so long that windows are wider; each odd digit of a table occurs in them."""
    logs = [random_scalar() for _ in range(_DISTINCT)]
    points = [base(log) for log in logs]
    for count in _LENGTHS:
        row = [random_scalar() for _ in range(count)]
        expected = base(sum(scalar * logs[place % _DISTINCT] for place, scalar in enumerate(row)) % ORDER)
        if not _agrees_on_all_paths(library, row, [points[place % _DISTINCT] for place in range(count)], expected):
            return False
    return True


def _agrees_on_all_paths(library: Native, row: Sequence[int], points: Sequence[bytes], expected: bytes) -> bool:
    """One sum as the three paths give it: free points, loaded ones (tables), and some of each (buckets)."""
    half = len(row) // 2
    return (
        library.combine(None, (), row, points) == expected
        and _sum_of_loaded(library, points, row) == expected
        and _sum_of_loaded(library, points[:half], row[:half], row[half:], points[half:]) == expected
    )


def _sum_of_loaded(
    library: Native,
    fixed: Sequence[bytes],
    weights: Sequence[int],
    scalars: Sequence[int] = (),
    points: Sequence[bytes] = (),
) -> bytes | None:
    loaded = library.load(fixed)
    if loaded is None:
        return None
    try:
        return library.combine(loaded, weights, scalars, points)
    finally:
        library.free(loaded)


def _refuses_bad_points(library: Native) -> bool:
    """Whether bytes that are no point are refused, free or loaded."""
    return all(library.combine(None, (), [1], [data]) is None and library.load([G, data]) is None for data in REFUSED)
