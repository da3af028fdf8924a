"""The package as it is built: with a compiler it carries the accelerator, without one it is pure, and both work."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import hatch_build
import pytest

import hubbub
from hubbub.gopa.crypto import accelerator

ROOT = Path(__file__).parents[2]
NATIVE = "hubbub/gopa/crypto/native"
COMPILER = any(map(shutil.which, ("cc", "gcc", "clang")))
needs_compiler = pytest.mark.skipif(not COMPILER, reason="no C compiler: there is no accelerator to build")
SUM = """
from hubbub.gopa import multi_scalar, ristretto
import hubbub
assert ristretto.base(5) == multi_scalar.Basis([ristretto.G]).combine([3], [2], [ristretto.G])
print(hubbub.__file__)
print(multi_scalar.accelerator())
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean copy of what a build reads, with a stale library such as an editable install leaves."""
    copy = tmp_path_factory.mktemp("tree")
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, copy / name)
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    (copy / "src" / NATIVE / "ristretto255-0000000000000000.so").write_bytes(b"stale")
    return copy


def build(tree: Path, kind: str, target: Path, **environment: str) -> Path:
    """What hatchling builds, in a process of its own and without a network."""
    code = f"import hatchling.build as build; print(build.build_{kind}({str(target)!r}))"
    kept = {name: value for name, value in os.environ.items() if name not in {"CC", "PYTHONPATH"}}
    process = subprocess.run(
        [sys.executable, "-c", code], cwd=tree, env={**kept, **environment}, capture_output=True, text=True, check=True
    )
    return target / process.stdout.split()[-1]


def libraries(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return [name for name in archive.namelist() if name.endswith(".so")]


def use(wheel: Path, folder: Path, home: Path) -> str:
    """What does the sums of a package that was unpacked from the wheel; nothing is written into the user's folders."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    home.mkdir()
    environment = {
        "PYTHONPATH": str(folder),
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home),
        "PATH": os.environ["PATH"],
    }
    process = subprocess.run(
        [sys.executable, "-c", SUM], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    where, what = process.stdout.splitlines()
    assert where.startswith(str(folder))
    assert list(home.iterdir()) == []
    return what


@needs_compiler
def test_with_a_compiler_the_wheel_is_this_platforms_and_carries_the_library(tree: Path, tmp_path: Path) -> None:
    wheel = build(tree, "wheel", tmp_path)
    assert wheel.name.endswith(f"-py3-none-{hatch_build.platform_tag()}.whl")
    (library,) = libraries(wheel)
    with zipfile.ZipFile(wheel) as archive:
        assert f"{NATIVE}/ristretto255.c" in archive.namelist()
        (facts,) = [name for name in archive.namelist() if name.endswith(".dist-info/WHEEL")]
        assert "Root-Is-Purelib: false" in archive.read(facts).decode()
    assert use(wheel, tmp_path / "site", tmp_path / "home") == f"C ({Path(library).name})"


def test_without_one_the_wheel_is_pure_and_libsodium_does_the_work(tree: Path, tmp_path: Path) -> None:
    wheel = build(tree, "wheel", tmp_path, CC="false")
    assert wheel.name == f"hubbub-{hubbub.__version__}-py3-none-any.whl"
    assert libraries(wheel) == []
    assert use(wheel, tmp_path / "site", tmp_path / "home") == "None"


def test_the_source_distribution_has_the_source_and_the_hook_and_nothing_compiled(tree: Path, tmp_path: Path) -> None:
    with tarfile.open(build(tree, "sdist", tmp_path)) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    assert {f"src/{NATIVE}/ristretto255.c", "hatch_build.py", "pyproject.toml"} <= set(names)
    assert [name for name in names if name.endswith(".so")] == []


@pytest.fixture
def small_tree(tmp_path: Path) -> Path:
    """A tree whose source compiles at once, with what an earlier install left."""
    native = tmp_path / "src" / NATIVE
    native.mkdir(parents=True)
    (native / "ristretto255.c").write_text(
        '__attribute__((visibility("default"))) int answer(void) { return 42; }\n', encoding="utf-8"
    )
    (native / "ristretto255-0000000000000000.so").write_bytes(b"stale")
    return tmp_path


def installed_editable(tree: Path) -> list[Path]:
    """The libraries beside the source after an editable install."""
    hook = hatch_build.CustomBuildHook(str(tree), {}, None, None, "", "wheel")  # type: ignore[arg-type]
    hook.initialize("editable", {})
    hook.finalize("editable", {}, "")
    return list((tree / "src" / NATIVE).glob("*.so"))


@needs_compiler
def test_an_editable_install_compiles_beside_the_source_and_leaves_nothing_stale(
    small_tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CC", raising=False)
    (library,) = installed_editable(small_tree)
    assert ctypes.CDLL(str(library)).answer() == 42
    monkeypatch.setattr(accelerator, "SOURCE", small_tree / "src" / NATIVE / "ristretto255.c")
    assert accelerator.library_path() == library


@pytest.mark.parametrize("compiler", ["false", "no-such-compiler", "cc --no-such-flag"])
def test_where_it_cannot_be_compiled_an_editable_install_goes_on_without_it(
    small_tree: Path, monkeypatch: pytest.MonkeyPatch, compiler: str
) -> None:
    monkeypatch.setenv("CC", compiler)
    assert installed_editable(small_tree) == []
