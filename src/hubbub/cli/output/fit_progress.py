"""A bar on stderr, if somebody is looking."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from hubbub.learn.base import Watch, Watcher, nobody


@contextmanager
def shown(words: str) -> Iterator[Watch]:
    """What to give as ``watch=``; on a terminal a bar moves, elsewhere nothing is printed."""
    if not sys.stderr.isatty():
        yield nobody
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(words, total=None)
        yield Watcher(
            begin=lambda steps: progress.update(task, total=steps, completed=0),
            step=lambda done: progress.update(task, completed=done),
        )
