"""What a ledger holds, for people: its entries as lines, its budgets step by step, all budgets on one page.

- ``entries``       an entry as one line or one document
- ``budget_steps``  what each entry did to a budget
- ``overview``      every budget of a ledger

Start with ``overview``.
"""

from hubbub.studies.spending.budget_steps import HEADER, BudgetHistory, BudgetStep
from hubbub.studies.spending.entries import entry_to_json, format_entry
from hubbub.studies.spending.overview import BudgetOverview, budgets_table

__all__ = [
    "HEADER",
    "BudgetHistory",
    "BudgetOverview",
    "BudgetStep",
    "budgets_table",
    "entry_to_json",
    "format_entry",
]
