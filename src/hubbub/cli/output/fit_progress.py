"""Steps of a training or a publication, as a bar on stderr."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hubbub.cli.output.terminal import ProgressLine

if TYPE_CHECKING:
    from hubbub.learn.base import Watcher


@contextmanager
def show_steps(words: str) -> Iterator[Watcher]:
    """What to give as ``watch=``; on a terminal a bar moves, elsewhere nothing is printed."""
    from hubbub.learn.base import Watcher

    with ProgressLine(words) as line:
        yield Watcher(begin=line.begin, step=line.step)
