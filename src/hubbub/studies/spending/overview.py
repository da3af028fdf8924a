"""All budgets of a ledger at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hubbub.ledger import BudgetView, Ledger, Plea
from hubbub.render import Document, Json, Section, TextTable, printable

_HEADER = ("population", "pool", "budget", "spent", "of it reserved", "left")


@dataclass(frozen=True, slots=True)
class BudgetOverview(Document):
    """Every population with its budget, and what is asked for."""

    views: tuple[BudgetView, ...]

    @classmethod
    def from_ledger(cls, ledger: Ledger) -> BudgetOverview:
        """The budgets as they are now."""
        return cls(tuple(ledger.budget(name) for name in sorted(ledger.populations())))

    @property
    def title(self) -> str:
        """How many there are."""
        count = len(self.views)
        return "One population" if count == 1 else f"{count or 'No'} populations"

    def sections(self) -> tuple[Section, ...]:
        """What is left, and what is asked for."""
        parts = [Section("Budgets", (), budgets_table(self.views))] if self.views else []
        pleas = [plea for view in self.views for plea in view.pleas]
        if pleas:
            header = ("number", "population", "by", "for", "how much", "why")
            parts.append(Section("Asked for", (), TextTable(header, tuple(_request_row(plea) for plea in pleas))))
        return tuple(parts)

    def to_json(self) -> dict[str, Json]:
        """Each budget as one document."""
        return {"kind": "budgets", "populations": [view.to_json() for view in self.views]}


def budgets_table(views: Sequence[BudgetView]) -> TextTable:
    """Budgets and shares as rows: what was given, spent and left."""
    lines = [(view.population.name, line) for view in views for line in (*view.accounts, *view.shares)]
    rows = [(_account_name(name, line.name), *line.cells()[1:]) for name, line in lines]
    if not any(line.reserved.loss for _, line in lines):
        return _drop_column(_HEADER.index("of it reserved"), rows)
    return TextTable(_HEADER, tuple(rows))


def _drop_column(column: int, rows: Sequence[tuple[str, ...]]) -> TextTable:
    """The table without a column that says nothing."""
    header, *rest = ((*row[:column], *row[column + 1 :]) for row in (_HEADER, *rows))
    return TextTable(header, tuple(rest))


def _account_name(population: str, name: str) -> str:
    """A share or window told apart from the population's own account."""
    return population if name == population else f"{population}, {name}"


def _request_row(plea: Plea) -> tuple[str, ...]:
    share = " in ".join(part for part in (plea.analyst, plea.project) if part)
    words = (plea.population, plea.by, share or "all", plea.budget.measure().describe(), plea.why)
    return (str(plea.number), *(printable(word) for word in words))
