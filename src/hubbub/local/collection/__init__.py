"""Collecting reports: signed configuration, client, wire format, collector with its store and pages, aggregates.

``collection`` says what is asked, ``client`` randomizes and remembers, ``report_wire`` has the bytes, ``collector``
takes them in, ``aggregate`` estimates. Start with ``collection``.
"""

from hubbub.local.collection import collector_client, report_wire
from hubbub.local.collection.aggregate import aggregate, export
from hubbub.local.collection.client import Client
from hubbub.local.collection.collection import Collection
from hubbub.local.collection.collection_cost import charge_collection
from hubbub.local.collection.collector import Collector, Rules
from hubbub.local.collection.collector_http import collector_app, owner_app, serve
from hubbub.local.collection.collector_page import look_at, read_page
from hubbub.local.collection.report_store import Store
from hubbub.local.collection.signed_configuration import key_text, new_key, open_signed, public_text, read_key, sign
from hubbub.local.collection.tokens import issue, issue_shuffler

__all__ = [
    "Client",
    "Collection",
    "Collector",
    "Rules",
    "Store",
    "aggregate",
    "charge_collection",
    "collector_app",
    "collector_client",
    "export",
    "issue",
    "issue_shuffler",
    "key_text",
    "look_at",
    "new_key",
    "open_signed",
    "owner_app",
    "public_text",
    "read_key",
    "read_page",
    "report_wire",
    "serve",
    "sign",
]
