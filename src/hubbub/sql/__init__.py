"""Private SQL: a question's text becomes a plan, the plan gets a price, and a release comes of it.

- ``connect``      a descriptor, a file or a table in memory -> ``Connection``: ``sql``, ``preview``, ``budget``
- ``compiler``     text -> tree -> rows of one person each -> plan -> statements: one pass per file, no row is read
- ``quote``, ``noise_allocation``, ``error_prediction``, ``price_for_error``  what it costs, and how exact it will be
- ``jobs``, ``measurement``, ``answer``  tried on nobody's rows; read and noised under the charge; the release
- ``bounds``, ``workload``, ``remeasure``, ``prepare_copy``, ``dbapi``  more ways to ask, each in a file or a wing

From outside all of it is imported from here, but for ``dbapi``. Start with ``connection``, then ``compiler/compile``.
"""

from hubbub.sql.connection import Connection
from hubbub.sql.open_connection import connect, declare, ledger_place
from hubbub.sql.prepare_copy import prepare

__all__ = ["Connection", "connect", "declare", "ledger_place", "prepare"]
