"""The accelerator for tests: compiled by the build hook's own function, wherever the package was installed from."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import hatch_build
import pytest

from hubbub.gopa.crypto import accelerator


@pytest.fixture(scope="module")
def built_library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A library of the package's own source, which ``native`` finds."""
    source = tmp_path_factory.mktemp("native") / accelerator.SOURCE.name
    shutil.copy(accelerator.SOURCE, source)
    build_from(source)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(accelerator, "SOURCE", source)
        accelerator.native.cache_clear()
        yield
    accelerator.native.cache_clear()


def build_from(source: Path) -> Path | None:
    """The library of this source beside it, compiled quickly; None without a compiler."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hatch_build, "FLAGS", ("-O1", *hatch_build.FLAGS[1:]))
        return hatch_build.compile_accelerator(source.parent, source.parent)
