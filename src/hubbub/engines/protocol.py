"""What an engine is: it tells the schema of its sources, tries statements on a twin without data, and runs them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

DEFAULT_SECONDS = 300.0


class Engine(Protocol):
    """Runs the statements that relation nodes are printed as, in its own dialect.

    Whatever fails raises ``EngineFailed`` and says no more: an engine's own words may quote a row.
    """

    @property
    def dialect(self) -> str:
        """The name of its dialect, a key of ``relations.DIALECTS``."""

    def columns(self, table: str) -> list[tuple[str, str]]:
        """(name, kind) of each column, from the schema and never from rows."""

    def natives(self, table: str) -> dict[str, str]:
        """The engine's own type of each column."""

    def spellings(self, table: str, name: str, texts: Sequence[str]) -> list[str]:
        """Texts as a column's collation has them: the one spelling that all equal texts share."""

    def bind(self, sql: str, *, seconds: float) -> None:
        """Try a statement on a twin of the sources; no row, statistics or file of the data is touched."""

    def rows(self, sql: str, *, seconds: float = DEFAULT_SECONDS) -> list[tuple[Any, ...]]:
        """The result of one statement, with integers of any size."""

    def arrays(self, sql: str, *, seconds: float = DEFAULT_SECONDS) -> list[Any]:
        """The result as one array per column."""

    def write(self, sql: str, target: Path, *, notes: Mapping[str, str], seconds: float) -> None:
        """The result as a Parquet file with notes in its footer; ``target`` was named when the engine was opened."""

    def close(self) -> None:
        """Let the sources go."""
