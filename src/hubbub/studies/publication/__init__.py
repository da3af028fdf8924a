"""What ``hubbub publish`` is made of: it brings ``publish`` and ``attacks`` together.

- ``order``     what was asked for
- ``rows``      the table, whose columns are known and whose rows are read after the charge; public rows
- ``described`` the same for a table of a descriptor, which declares what is asked of others
- ``places``    the public file of places
- ``checking``  what was asked for, checked before anything is charged
- ``domain``    the refusal of columns without a domain, with the lines to add
- ``paying``    whose budget it is, and whether all of it can be paid
- ``counts``    tables of counts
- ``methods``   each way to publish: its privacy model, its mechanism, and the table that it makes
- ``yardstick`` the real rows that the tables are compared with
- ``attacked``  the attacks that match
- ``report``    all of it on one page
- ``files``     what is written where
"""

from hubbub.studies.publication.attacked import all_attempts
from hubbub.studies.publication.baseline import Yardstick
from hubbub.studies.publication.checks import checked
from hubbub.studies.publication.described import beside_descriptor, described_request, described_rows
from hubbub.studies.publication.methods import PublicationTable, make
from hubbub.studies.publication.places import read_places
from hubbub.studies.publication.private_table import private_rows, public_rows
from hubbub.studies.publication.report import Publication
from hubbub.studies.publication.request import Method, PublicationRequest

__all__ = [
    "Method",
    "Publication",
    "PublicationRequest",
    "PublicationTable",
    "Yardstick",
    "all_attempts",
    "beside_descriptor",
    "checked",
    "described_request",
    "described_rows",
    "make",
    "private_rows",
    "public_rows",
    "read_places",
]
