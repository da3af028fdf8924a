"""Private SQL: text -> tree -> checked -> bounded -> plan -> release; one small pass per file.

- ``connect``      a descriptor, a file or a table in memory -> ``Connection``: ``sql``, ``preview``, ``budget``
- ``parse`` ``check`` ``resolve`` ``bound`` ``plan`` ``print``   the compiler's passes, in that order
"""

from hubbub.sql.connection import Connection
from hubbub.sql.open_connection import connect, declare, ledger_place
from hubbub.sql.prepare_copy import prepare

__all__ = ["Connection", "connect", "declare", "ledger_place", "prepare"]
