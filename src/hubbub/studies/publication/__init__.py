"""What ``hubbub publish`` is made of: it brings ``publish`` and ``attacks`` together.

- ``request``          what was asked for
- ``private_table``    the table, whose columns are known and whose rows are read after the charge; public rows
- ``described``        the same for a table of a descriptor, which declares what is asked of others
- ``places``           the public file of places
- ``checks``           what was asked for, checked before anything is charged
- ``missing_domains``  the refusal of columns without a domain, with the lines to add
- ``affordable``       whether all of it can be paid
- ``counts``           tables of counts
- ``methods``          each way to publish: its privacy model, its mechanism, and the table that it makes
- ``baseline``         the real rows that the tables are compared with
- ``attacked``         the attacks that match
- ``comparison``       all of it in order
- ``report``           all of it on one page

Start with ``comparison``.
"""

from hubbub.studies.publication.affordable import check_affordable
from hubbub.studies.publication.attacked import all_attempts
from hubbub.studies.publication.baseline import Yardstick
from hubbub.studies.publication.checks import check_request
from hubbub.studies.publication.comparison import publish_and_compare, stage_count
from hubbub.studies.publication.described import beside_descriptor, described_request, described_rows
from hubbub.studies.publication.methods import PublicationTable, publish_table
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
    "check_affordable",
    "check_request",
    "described_request",
    "described_rows",
    "private_rows",
    "public_rows",
    "publish_and_compare",
    "publish_table",
    "read_places",
    "stage_count",
]
