"""The terminal, by rich: colours, width, tables, progress and prompts, where somebody is looking.

The only module that imports rich, and only inside functions: pipes, files and ``--help`` never load it. Results go to
stdout; progress and prompts go to stderr. Words that others wrote are never read as markup.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import Progress, ProgressColumn

    from hubbub.render import TextTable

PATIENCE = 1.0  # seconds before a line about something that is mostly quick
_NARROWEST, _WIDEST, _ELSEWHERE = 40, 100, 80
_INDENT = 2  # of tables in a document
_BETWEEN = 3  # cells between columns
_HEADING = "bold cyan"


def is_styled(stream: TextIO) -> bool:
    """True if a stream is a terminal and nobody asked for no colours."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def text_width() -> int:
    """How wide text on stdout may be: as the terminal within reason; the same everywhere else."""
    if not sys.stdout.isatty():
        return _ELSEWHERE
    return max(_NARROWEST, min(_WIDEST, shutil.get_terminal_size().columns))


def emphasize(words: str) -> str:
    """Words that stand out on stdout, where colours are on."""
    if not is_styled(sys.stdout):
        return words
    from rich.text import Text

    return _draw_text(Text(words, style=_HEADING, no_wrap=True, overflow="ignore"))


# ---------------------------------------------------------------- tables


def draw_table(table: TextTable) -> str:
    """A table for stdout: ruled and folded to its width on a terminal, plain lined-up text elsewhere."""
    from hubbub.render import format_table

    if not sys.stdout.isatty():
        return format_table(table)
    from rich import box
    from rich.table import Table
    from rich.text import Text

    ruled = Table(box=box.SIMPLE_HEAD, header_style=_HEADING, pad_edge=False, show_edge=False)
    longest = [_longest_word(cells) for cells in zip(table.header, *table.rows, strict=True)]
    for index, (heading, width) in enumerate(zip(table.header, longest, strict=True)):
        # cells are wrapped between words alone: three dots, or half a number on the next line, would be another number
        ruled.add_column(Text(heading), justify="right" if index else "left", overflow="fold", min_width=width)
    for row in table.rows:
        ruled.add_row(*map(Text, row))
    return _draw_text(ruled, least_width=sum(longest) + _BETWEEN * len(longest))


def _longest_word(cells: Iterable[str]) -> int:
    from rich.cells import cell_len

    return max((cell_len(word) for cell in cells for word in cell.split()), default=1)


def _draw_text(content: RenderableType, *, least_width: int = 0) -> str:
    """What rich would print to stdout, without spaces at the ends of lines."""
    console = _open_console(sys.stdout)
    console.width = max(console.width - _INDENT, least_width)
    with console.capture() as captured:
        console.print(content)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


# ---------------------------------------------------------------- progress


class ProgressLine:
    """A line on stderr that says how far something has come: only on a terminal, and gone when it is over.

    Lines that are printed meanwhile stand above it. With ``patience`` it is shown after so many seconds, if at all.
    """

    def __init__(self, words: str, *, patience: float = 0.0) -> None:
        self._progress = _build_progress(patience) if sys.stderr.isatty() else None
        self._task = self._progress.add_task(words, total=None) if self._progress is not None else None

    def say(self, words: str) -> None:
        """Say something else from now on."""
        self._update(description=words)

    def begin(self, total: int) -> None:
        """Draw a bar of so many steps."""
        self._update(total=total, completed=0)

    def step(self, done: int) -> None:
        """So many steps are done."""
        self._update(completed=done)

    def _update(self, **changed: str | int) -> None:
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, **changed)  # type: ignore[arg-type]  # words for one, numbers for others

    def close(self) -> None:
        """Take the line away."""
        if self._progress is not None:
            self._progress.stop()
        self._progress = None

    def __enter__(self) -> Self:
        if self._progress is not None:
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _build_progress(patience: float) -> Progress:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    label = TextColumn("{task.description}", markup=False)
    bar: tuple[ProgressColumn, ...] = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    began = time.monotonic()

    class DelayedProgress(Progress):
        """Shows nothing at first, and a bar only where the number of steps is known."""

        def get_renderables(self) -> Iterable[RenderableType]:
            if time.monotonic() - began >= patience:
                self.columns = (label, *bar) if any(task.total is not None for task in self.tasks) else (label,)
                yield self.make_tasks_table(self.tasks)

    # stdout is not rich's to redirect: an answer printed meanwhile would land on stderr
    return DelayedProgress(label, console=_open_console(sys.stderr), transient=True, redirect_stdout=False)


# ---------------------------------------------------------------- prompts


def ask(question: str) -> str | None:
    """What somebody types on the terminal; None if nothing."""
    return _open_console(sys.stderr).input(f"{question} ", markup=False, emoji=False).strip() or None


def ask_hidden(question: str) -> str:
    """The same without showing it; asked again until there is something."""
    console = _open_console(sys.stderr)
    while not (answer := console.input(f"{question} ", markup=False, emoji=False, password=True)):
        pass
    return answer


def _open_console(stream: TextIO) -> Console:
    """Rich on one stream. That it is a terminal is the stream's word alone, and not the environment's."""
    from rich.console import Console

    return Console(
        file=stream,
        force_terminal=stream.isatty(),
        force_jupyter=False,
        color_system="auto" if is_styled(stream) else None,
        markup=False,
        emoji=False,
        highlight=False,
    )
