"""The samplers beside numpy's insecure ones (the speed limit) and beside OpenDP's exact ones (the peer)."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from bench.rows import Row, side_by_side
from hubbub import noise
from hubbub.noise import _kernels

SCALES = {"10": 10, "2^30": 1 << 30}
LIMITS = {"laplace": {"10": 3, "2^30": 3}, "gaussian": {"10": 6, "2^30": 10}}
DRAWS = {"laplace": noise.discrete_laplace, "gaussian": noise.discrete_gaussian}


def rows(quick: bool) -> list[Row]:
    size, rounds = (300_000, 5) if quick else (1_000_000, 9)
    noise.discrete_laplace(10, size=3_000_000)  # after that the compiled kernel is loaded, as in any long run
    return [*_against_numpy(size, rounds), *_against_opendp(rounds), *_single(), *_imports()]


def _against_numpy(size: int, rounds: int) -> list[Row]:
    generator = np.random.default_rng(1)
    insecure = {"laplace": generator.laplace, "gaussian": generator.normal}
    found = []
    for law, draw in DRAWS.items():
        for label, scale in SCALES.items():
            times = side_by_side(
                {
                    "numpy": lambda law=law, scale=scale: insecure[law](0, scale, size),
                    "compiled": lambda draw=draw, scale=scale: draw(scale, size=size),
                    "plain": lambda draw=draw, scale=scale: _without_numba(draw, scale, size),
                },
                rounds=rounds,
            )
            limit, per = LIMITS[law][label], 1e9 / size
            note = f"{times['compiled'] * per:.1f} ns a draw, numpy {times['numpy'] * per:.1f}"
            plain = f"{times['plain'] * per:.1f} ns a draw, numpy {times['numpy'] * per:.1f}"
            name = f"discrete {law}, scale {label}, time over numpy's insecure one"
            found.append(Row(name, times["compiled"] / times["numpy"], "x", limit, "lower", note))
            found.append(Row(f"{name}, without numba", times["plain"] / times["numpy"], "x", 4 * limit, "lower", plain))
    return found


def _without_numba(draw, scale: int, size: int) -> None:
    kept = _kernels._COMPILE_AFTER
    _kernels._COMPILE_AFTER = 1 << 62
    try:
        draw(scale, size=size)
    finally:
        _kernels._COMPILE_AFTER = kept


def _against_opendp(rounds: int) -> list[Row]:
    try:
        import opendp.prelude as dp
    except ImportError:
        return []
    dp.enable_features("contrib")
    size, few = 1_000_000, 2_000
    space = dp.vector_domain(dp.atom_domain(T=int), size=few)
    zeros = [0] * few
    peers = {
        "laplace": dp.m.make_laplace(space, dp.l1_distance(T=int), scale=10.0),
        "gaussian": dp.m.make_gaussian(space, dp.l2_distance(T=float), scale=10.0),
    }
    found = []
    for law, peer in peers.items():
        works = {"ours": lambda law=law: DRAWS[law](10, size=size), "theirs": lambda peer=peer: peer(zeros)}
        times = side_by_side(works, rounds=max(3, rounds // 2))
        ours, theirs = times["ours"] / size, times["theirs"] / few
        note = f"{ours * 1e9:.1f} ns a draw against {theirs * 1e9:.0f}; OpenDP {_version('opendp')}"
        found.append(Row(f"discrete {law} in bulk, times faster than OpenDP", theirs / ours, "x", 100, "higher", note))
    return found


def _version(package: str) -> str:
    from importlib.metadata import version

    return version(package)


def _single() -> list[Row]:
    many = 20_000
    found = []
    for law, draw in DRAWS.items():
        for label, scale in SCALES.items():
            time = side_by_side({"one": lambda d=draw, s=scale: [d(s) for _ in range(many)]}, rounds=5)["one"]
            found.append(Row(f"one discrete {law} draw, scale {label}", time / many * 1e6, "us", 10, "lower"))
    return found


def _imports() -> list[Row]:
    import statistics
    import time

    took = []
    for _ in range(7):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import hubbub"], check=True)
        whole = time.perf_counter() - start
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        took.append(whole - (time.perf_counter() - start))
    pulled = subprocess.run(
        [
            sys.executable,
            "-c",
            "import hubbub, sys; print(sum(m.partition('.')[0] in "
            "{'numba','numpy','scipy','dp_accounting','cryptography','typer','rich'} for m in sys.modules))",
        ],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return [
        Row("import hubbub, over starting Python", statistics.median(took), "s", 0.4, "lower"),
        Row("dependencies that import hubbub pulls in", float(pulled), "modules", 0, "lower"),
    ]
