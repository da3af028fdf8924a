"""What the entries of a ledger did to its budgets, step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hubbub.ledger import Amount, Entry, Policy, Pool, account_key, read_budget, read_charge, read_restored
from hubbub.render import printable
from hubbub.studies.spending.entries import EntryFields, entry_author, entry_time
from hubbub.terms import PrivacyBound, to_json

if TYPE_CHECKING:
    from hubbub.render import Json

_WIDTHS = (6, 19, 12, 9, 14, 9, 29)


@dataclass(frozen=True, slots=True)
class BudgetStep:
    """What an entry did to the budget of one population."""

    entry: Entry
    population: str
    what: str
    who: str
    pool: str = ""
    amount: PrivacyBound | None = None
    total: PrivacyBound | None = None
    kind: str = ""  # of the total: budget, share or spent
    share: str = ""  # whose
    request: int | None = None

    def format_line(self) -> str:
        """The step as one line, under ``HEADER``."""
        cells = (str(self.entry.sequence), entry_time(self.entry), self.population, self.what, self.who, self.pool)
        whole = "all of it" if self.what == "revoked" else ""
        return printable(_align_cells(*cells, whole if self.amount is None else self.amount.describe(), self._after()))

    def to_json(self) -> dict[str, Json]:
        """The step with exact numbers."""
        names = ("population", "what", "who", "pool", "kind", "share", "request")
        return {
            "number": self.entry.sequence,
            "time": self.entry.when(),
            **{name: getattr(self, name) for name in names},
            "amount": None if self.amount is None else to_json(self.amount),
            "total": None if self.total is None else to_json(self.total),
        }

    def _after(self) -> str:
        if self.request is not None:
            return f"request #{self.request}"
        name = f"share of {self.share}:" if self.share else self.kind
        return f"{name} {'nothing' if self.total is None else self.total.describe()}" if self.kind else ""


def _align_cells(number: str, *words: str) -> str:
    cells = [word.ljust(width) for word, width in zip(words, _WIDTHS[1:], strict=False)]
    return "  ".join([number.rjust(_WIDTHS[0]), *cells, *words[len(cells) :]]).rstrip()


HEADER = _align_cells("number", "time (UTC)", "population", "what", "who", "pool", "how much", "after it")


class BudgetHistory:
    """Goes through the entries of a ledger, keeping the budgets as they were after each."""

    def __init__(self) -> None:
        self._policy = Policy()
        self._spent: dict[tuple[str, Pool], Amount] = {}
        self._asked: dict[int, str] = {}  # whose population a request is about
        self._readers: dict[str, Callable[[Entry, EntryFields], Iterator[BudgetStep]]] = {
            "population": self._opened,
            "grant": lambda entry, fields: self._granted(entry, fields, "granted"),
            "revoke": lambda entry, fields: self._granted(entry, fields, "revoked"),
            "plea": self._requested,
            "refusal": self._refused,
            "charge": self._charged,
            "restore": self._restored,
        }

    def steps(self, entries: Iterable[Entry]) -> Iterator[BudgetStep]:
        """Every change, in order; an entry that charges several populations is a step for each."""
        for entry in entries:
            fields = entry.fields()
            if entry.policy == entry.sequence:
                self._policy.apply(entry, fields)
            if (read_step := self._readers.get(fields["kind"])) is not None:
                yield from read_step(entry, fields)

    def _opened(self, entry: Entry, fields: EntryFields) -> Iterator[BudgetStep]:
        for pool in Pool:
            if (budget := fields["pools"].get(pool.value)) is not None:
                amount = read_budget(budget).measure()
                name, who = fields["population"], entry_author(entry, fields)
                yield BudgetStep(entry, name, "opened", who, pool.value, amount, amount, "budget")

    def _granted(self, entry: Entry, fields: EntryFields, what: str) -> Iterator[BudgetStep]:
        name, pool, place = fields["population"], Pool(fields["pool"]), (fields["project"], fields["analyst"])
        shared = any(place)
        after = self._policy.shares.get((name, *place, pool)) if shared else self._policy.populations[name].pools[pool]
        yield BudgetStep(
            entry,
            name,
            what,
            entry_author(entry, fields),
            pool.value,
            amount=None if fields["budget"] is None else read_budget(fields["budget"]).measure(),
            total=None if after is None else after.measure(),
            kind="share" if shared else "budget",
            share=" in ".join(part for part in reversed(place) if part),
        )

    def _requested(self, entry: Entry, fields: EntryFields) -> Iterator[BudgetStep]:
        name = self._asked[entry.sequence] = fields["population"]
        amount = read_budget(fields["budget"]).measure()
        who, number = entry_author(entry, fields), entry.sequence
        yield BudgetStep(entry, name, "requested", who, fields["pool"], amount, request=number)

    def _refused(self, entry: Entry, fields: EntryFields) -> Iterator[BudgetStep]:
        number = fields["plea"]
        yield BudgetStep(entry, self._asked[number], "refused", entry_author(entry, fields), request=number)

    def _charged(self, entry: Entry, fields: EntryFields) -> Iterator[BudgetStep]:
        pool = Pool(fields["pool"])
        for name in fields["charged"]:
            cost, _ = read_charge(fields, name, self._policy.populations[name].currency(pool))
            yield self._spend(entry, fields, (name, pool), "charged", cost)

    def _restored(self, entry: Entry, fields: EntryFields) -> Iterator[BudgetStep]:
        for key, missing in read_restored(fields, "spent").items():
            name, project, analyst, pool = key.split("/")
            if pool in tuple(Pool) and not project and not analyst:
                yield self._spend(entry, fields, (name, Pool(pool)), "restored", missing)

    def _spend(
        self, entry: Entry, fields: EntryFields, account: tuple[str, Pool], what: str, amount: Amount
    ) -> BudgetStep:
        name, pool = account
        total = self._spent[account] = self._total(account) + amount
        currency = self._policy.populations[name].currency(pool)
        cost, spent = amount.measure(currency), total.measure(currency)
        return BudgetStep(entry, name, what, entry_author(entry, fields), pool.value, cost, spent, "spent")

    def _total(self, account: tuple[str, Pool]) -> Amount:
        name, pool = account
        return self._spent.get(account, self._policy.owed.get(account_key(name, pool), Amount()))
