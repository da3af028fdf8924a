"""The durable book of what was spent on whom: reserve, run, store, show; verify.

- ``Ledger("ledger.db")`` or ``Ledger("postgresql://...")``   open it, or begin a new one
- ``Request``, ``fingerprint``      what is asked, and what makes it the same request
- ``ledger.reserve`` -> ``Reservation`` | ``Stored``; ``ledger.store``: called by ``hubbub.releases`` alone
- ``ledger.open_population``, ``grant``, ``revoke``, ``declare_disjoint``, ...   what owners decide, with who and why
- ``ledger.budget("patients")``     spent, reserved, left: text, notebook, JSON
- ``ledger.verify``, ``export``, ``backup``; ``restore``, ``verify_ledger``, ``verify_export``
- ``Account``                       what estimators and collectors take as ``account=``
- ``temporary_ledger``              one that is gone afterwards

``ledger`` hands each call on: ``reservations`` (with ``bills`` and ``rules``), ``endings``, ``owner_entries``,
``verify``; ``book`` is how it lies on disk. Start with ``ledger``, then ``reservations``.
"""

from hubbub.accounting import Amount
from hubbub.ledger.accounts import Account, AccountLike
from hubbub.ledger.backup import line_of, verify_export, verify_ledger
from hubbub.ledger.book.chain import Entry
from hubbub.ledger.book.second_place import SecondPlace
from hubbub.ledger.budget_view import AccountBalance, BudgetView, amount_words
from hubbub.ledger.decimals import read_charge, read_restored
from hubbub.ledger.ledger import Ledger, restore
from hubbub.ledger.policy import BudgetWindow, Plea, Policy, Population, account_key, read_budget
from hubbub.ledger.requests import Pool, Request, Reservation, Stored, fingerprint
from hubbub.ledger.temporary import temporary_ledger
from hubbub.ledger.verify import Verification

__all__ = [
    "Account",
    "AccountBalance",
    "AccountLike",
    "Amount",
    "BudgetView",
    "BudgetWindow",
    "Entry",
    "Ledger",
    "Plea",
    "Policy",
    "Pool",
    "Population",
    "Request",
    "Reservation",
    "SecondPlace",
    "Stored",
    "Verification",
    "account_key",
    "amount_words",
    "fingerprint",
    "line_of",
    "read_budget",
    "read_charge",
    "read_restored",
    "restore",
    "temporary_ledger",
    "verify_export",
    "verify_ledger",
]
