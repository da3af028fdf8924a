"""How each engine writes: one file of data per engine, read by the printers.

``dialect`` says what a dialect is, ``duckdb`` and ``postgres`` are two. Another engine is one more file, and one line
here. Start with ``dialect``.
"""

from hubbub.relations.dialects.dialect import Dialect
from hubbub.relations.dialects.duckdb import DUCKDB
from hubbub.relations.dialects.postgres import POSTGRES

__all__ = ["DIALECTS", "Dialect"]

DIALECTS: dict[str, Dialect] = {each.name: each for each in (DUCKDB, POSTGRES)}
