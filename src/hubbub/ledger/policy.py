"""What the owners have said: populations, budgets, shares, rules, data sets, as the entries tell it.

A policy is worked out by applying every owner's entry in order, and is never changed in any other way. It knows
limits, not what was spent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from typing import Any

from hubbub.accounting import FIRST_SPLIT, Amount, Currency, DeltaSplit, Limit
from hubbub.durable import canonical_json
from hubbub.ledger.book.chain import Entry
from hubbub.ledger.decimals import read_restored
from hubbub.ledger.requests import Pool, Request
from hubbub.terms import (
    Budget,
    BudgetConflict,
    LedgerDamaged,
    Neighbours,
    OutOfRange,
    UnknownPopulation,
    Unreadable,
    from_json,
    parse,
    to_json,
)

NONSENSE = (  # what an altered entry may lead to
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    AssertionError,
    ArithmeticError,
    RecursionError,
)
EVERY = {"day": "%Y-%m-%d", "week": "%G-W%V", "month": "%Y-%m", "year": "%Y"}


@dataclass(frozen=True, slots=True)
class BudgetWindow:
    """At most ``budget`` in every day, week, month or year (UTC), beneath the population's own budget."""

    budget: Budget
    every: str

    def __post_init__(self) -> None:
        if self.every not in EVERY:
            raise OutOfRange(
                f"a window is a {', '.join(EVERY)} and not {self.every!r}.",
                why="Windows follow the calendar (UTC), so that anybody can tell which one it is.",
                fix="Choose one of them.",
            )

    def period(self, at: int) -> str:
        """The window in which a time lies."""
        return datetime.fromtimestamp(at / 1e6, UTC).strftime(EVERY[self.every])


def is_over(period: str, at: int) -> bool:
    """Whether a window, of whatever length it was, has ended: one that was made a month from a day goes on."""
    now = datetime.fromtimestamp(at / 1e6, UTC)
    return period not in {now.strftime(form) for form in EVERY.values()}


@dataclass(frozen=True, slots=True)
class Population:
    """People who share a budget, and the rules under which it is spent."""

    name: str
    neighbours: Neighbours
    unit: str
    promised: Budget  # when it was opened
    lifetimes: dict[Pool, Budget | None]  # what all grants to a pool together may reach
    pools: dict[Pool, Budget | None]
    opened: dict[str, Any]  # the terms as they were said then
    split: DeltaSplit  # of the delta of every budget of these people, for ever
    each: Budget | None = None  # per question
    window: BudgetWindow | None = None
    shares: str = "optional"
    share_answers: bool = False
    least_share: Fraction | None = None  # of the pool for questions, that one question must at least cost
    most_failures: int | None = None  # questions without an answer that an analyst may cause before an owner looks
    noise: str = "auto"  # of questions that ask for no other: auto, laplace or gaussian
    raised: int = 0  # how often the lifetime was raised

    @property
    def lifetime(self) -> Budget:
        """What is ever spent on these people at most, over both pools."""
        questions, plans = (self.lifetimes[pool] for pool in Pool)
        if questions is None or plans is None:
            return questions or plans or self.promised
        return add_budgets(questions, plans)

    def currency(self, pool: Pool) -> Currency:
        """In what a pool counts."""
        if self.promised.rho is not None:
            return Currency.CONCENTRATED
        if not self.promised.delta:
            return Currency.PURE
        return Currency.EITHER if pool is Pool.QUESTIONS else Currency.BASIC

    def limit(self, budget: Budget | None, pool: Pool) -> Limit | None:
        """A budget of these people as a limit, in the currency of a pool; None lets nothing through."""
        return None if budget is None else _limit_in(budget, self.currency(pool), self.split)

    @property
    def first_limit(self) -> Limit:
        """The budget for questions as it was opened: shares of it are the same before and after later grants."""
        questions = _optional_budget(self.opened["pools"][Pool.QUESTIONS.value])
        return _limit_in(questions or self.promised, self.currency(Pool.QUESTIONS), self.split)


@dataclass(frozen=True, slots=True)
class SpendingLimit:
    """Something with a limit: a population, a share of it, or a window; None lets nothing through."""

    key: str
    population: str
    limit: Limit | None
    window: BudgetWindow | None = None

    def period(self, at: int) -> str:
        """The window that counts at a time; empty for accounts that never start again."""
        return self.window.period(at) if self.window else ""

    def starts_again(self, period: str, at: int) -> bool:
        """Whether what was spent up to ``period`` counts no more at a time."""
        return self.window is not None and is_over(period, at)


@dataclass(frozen=True, slots=True)
class Plea:
    """A request for more budget, open until a grant or a refusal names it."""

    number: int
    at: int
    population: str
    project: str
    analyst: str
    pool: Pool
    budget: Budget
    by: str
    why: str


@dataclass(slots=True)
class Policy:
    """All that owners have said up to one entry."""

    sequence: int = 0
    ledger: str = ""
    public_key: str = ""
    populations: dict[str, Population] = field(default_factory=dict)
    shares: dict[tuple[str, str, str, Pool], Budget | None] = field(default_factory=dict)
    disjoint: set[frozenset[str]] = field(default_factory=set)
    datasets: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    pleas: dict[int, Plea] = field(default_factory=dict)
    looks: dict[tuple[str, str], int] = field(default_factory=dict)  # when an owner last looked at failures
    gaps: list[tuple[int, int]] = field(default_factory=list)  # sequences lost to a restore
    bills: dict[Any, Any] = field(default_factory=dict)  # what was worked out under this policy; see ``bills``
    owed: dict[str, Amount] = field(default_factory=dict)  # spent by accounts that a restored backup did not know

    @classmethod
    def read(cls, entries: Iterable[Entry]) -> Policy:
        """The policy that these owner's entries tell."""
        policy = cls()
        try:
            for entry in entries:
                policy.apply(entry, entry.fields())
        except (Unreadable, *NONSENSE) as error:
            raise LedgerDamaged(
                "an entry of an owner cannot be understood.",
                why="It was altered, or something else was written in its place.",
                fix="Run `hubbub ledger verify` to see what else is, and restore a backup.",
            ) from error
        return policy

    def apply(self, entry: Entry, fields: dict[str, Any]) -> None:
        """Take in one owner's entry."""
        getattr(self, f"_{fields['kind']}")(entry, fields)
        self.sequence = entry.sequence

    # ------------------------------------------------------------ questions to the policy

    def population(self, name: str) -> Population:
        """The population of that name, or an error that lists the ones there are."""
        try:
            return self.populations[name]
        except KeyError:
            known = ", ".join(sorted(self.populations)) or "none yet"
            raise UnknownPopulation(
                f"the ledger knows no population {name!r}.",
                why=f"A budget belongs to people, and somebody must open it. Known: {known}.",
                fix="Check the name, or let the owner open it: `hubbub budget open`.",
            ) from None

    def charged(self, request: Request) -> tuple[str, ...]:
        """Every population that a request is charged to: those it names, and all that may share people with them."""
        named = self.named(request)
        others = [o for o in self.populations if o not in named and any(self.overlap(o, n) for n in named)]
        return (*named, *others)

    def named(self, request: Request) -> tuple[str, ...]:
        """The populations that a request names itself, or through its dataset."""
        named = request.populations or self._declared(request)
        for name in named:
            self.population(name)
        return named

    def overlap(self, one: str, other: str) -> bool:
        """Whether two populations may share people: always, unless their owners declared them disjoint."""
        return frozenset((one, other)) not in self.disjoint

    def accounts(self, populations: Iterable[str], *, project: str, analyst: str, pool: Pool) -> list[SpendingLimit]:
        """Every account that a charge by this analyst in this project is held against."""
        return [a for name in populations for a in self._accounts_of(self.population(name), project, analyst, pool)]

    def _accounts_of(self, who: Population, project: str, analyst: str, pool: Pool) -> Iterator[SpendingLimit]:
        yield SpendingLimit(account_key(who.name, pool), who.name, who.limit(who.pools.get(pool), pool))
        if who.window is not None and pool is Pool.QUESTIONS:
            yield SpendingLimit(window_key(who.name), who.name, who.limit(who.window.budget, pool), who.window)
        for place in ((project, ""), ("", analyst), (project, analyst)):
            key = (who.name, *place, pool)
            if key in self.shares:
                yield SpendingLimit(account_key(who.name, pool, *place), who.name, who.limit(self.shares[key], pool))

    def may_spend(self, who: Population, *, project: str, analyst: str, pool: Pool) -> bool:
        """Whether a share, where the owner requires one, is there."""
        places = ((project, ""), ("", analyst), (project, analyst))
        return who.shares == "optional" or any((who.name, *place, pool) in self.shares for place in places)

    def population_accounts(self, who: Population) -> list[SpendingLimit]:
        """The accounts of a population itself, without shares and windows."""
        return [a for pool in Pool for a in self._accounts_of(who, "", "", pool) if a.window is None]

    def all_accounts(self) -> dict[str, SpendingLimit]:
        """Every account there is."""
        accounts: list[SpendingLimit] = []
        for who in self.populations.values():
            for pool in Pool:
                accounts += self._accounts_of(who, "", "", pool)
        for (name, project, analyst, pool), budget in self.shares.items():
            limit = self.populations[name].limit(budget, pool)
            accounts.append(SpendingLimit(account_key(name, pool, project, analyst), name, limit))
        return {account.key: account for account in accounts}

    def is_lost(self, sequence: int) -> bool:
        """Whether an entry of that number was lost before a backup was restored."""
        return any(first <= sequence <= last for first, last in self.gaps)

    def _declared(self, request: Request) -> tuple[str, ...]:
        versions = self.datasets.get(request.dataset)
        if versions is None or request.version not in versions:
            raise UnknownPopulation(
                f"the ledger knows no version {request.version!r} of a dataset {request.dataset!r}.",
                why="Whose budget a dataset draws on, and its versions, are declared by the owner and never guessed.",
                fix="Declare it with ledger.declare_dataset(...), or name the population.",
            )
        return versions[request.version]

    # ------------------------------------------------------------ what each kind of entry means

    def _ledger(self, _: Entry, fields: dict[str, Any]) -> None:
        self.ledger, self.public_key = fields["ledger"], fields["key"]

    def _population(self, _: Entry, fields: dict[str, Any]) -> None:
        self.populations[fields["population"]] = Population(
            name=fields["population"],
            neighbours=Neighbours.parse(fields["neighbours"]),
            unit=fields["unit"],
            promised=read_budget(fields["budget"]),
            lifetimes={pool: _optional_budget(fields["lifetimes"][pool.value]) for pool in Pool},
            pools={pool: _optional_budget(fields["pools"][pool.value]) for pool in Pool},
            opened={name: value for name, value in fields.items() if name not in {"by", "why"}},
            split=_read_split(fields.get("split")),
            **_read_rules(fields),
        )

    def _rules(self, _: Entry, fields: dict[str, Any]) -> None:
        self.populations[fields["population"]] = replace(self.populations[fields["population"]], **_read_rules(fields))

    def _grant(self, _: Entry, fields: dict[str, Any]) -> None:
        who, pool, budget = self.populations[fields["population"]], Pool(fields["pool"]), read_budget(fields["budget"])
        place = (fields["project"], fields["analyst"])
        self.pleas.pop(fields.get("plea") or 0, None)
        if any(place):
            key = (who.name, *place, pool)
            self.shares[key] = add_budgets(self.shares.get(key), budget)
            return
        pools = who.pools | {pool: add_budgets(who.pools.get(pool), budget)}
        lifetimes, raised = who.lifetimes, fields["lifetime"] is not None
        if raised:
            lifetimes = lifetimes | {pool: read_budget(fields["lifetime"])}
        self.populations[who.name] = replace(who, pools=pools, lifetimes=lifetimes, raised=who.raised + raised)

    def _revoke(self, _: Entry, fields: dict[str, Any]) -> None:
        who, pool, budget = (
            self.populations[fields["population"]],
            Pool(fields["pool"]),
            _optional_budget(fields["budget"]),
        )
        place = (fields["project"], fields["analyst"])
        if any(place):
            key = (who.name, *place, pool)
            self.shares[key] = subtract_budget(self.shares.get(key), budget)
        else:
            pools = who.pools | {pool: subtract_budget(who.pools.get(pool), budget)}
            self.populations[who.name] = replace(who, pools=pools)

    def _disjoint(self, _: Entry, fields: dict[str, Any]) -> None:
        names = fields["populations"]
        self.disjoint |= {frozenset((a, b)) for a in names for b in names if a != b}

    def _dataset(self, _: Entry, fields: dict[str, Any]) -> None:
        self.datasets.setdefault(fields["dataset"], {})[fields["version"]] = tuple(fields["populations"])

    def _plea(self, entry: Entry, fields: dict[str, Any]) -> None:
        self.pleas[entry.sequence] = Plea(
            number=entry.sequence,
            at=entry.at,
            pool=Pool(fields["pool"]),
            budget=read_budget(fields["budget"]),
            **{name: fields[name] for name in ("population", "project", "analyst", "by", "why")},
        )

    def _look(self, entry: Entry, fields: dict[str, Any]) -> None:
        self.looks[fields["population"], fields["analyst"]] = entry.sequence

    def _refusal(self, _: Entry, fields: dict[str, Any]) -> None:
        self.pleas.pop(fields["plea"], None)

    def _restore(self, _: Entry, fields: dict[str, Any]) -> None:
        if fields["lost"]:
            self.gaps.append((fields["lost"][0], fields["lost"][1]))
        self.owed |= read_restored(fields, "unknown")


def account_key(population: str, pool: Pool, project: str = "", analyst: str = "") -> str:
    """The name of an account in the table of totals; names hold no slash."""
    return f"{population}/{project}/{analyst}/{pool}"


def failures_key(population: str, analyst: str) -> str:
    """The name under which an analyst's questions without an answer are counted."""
    return f"{population}//{analyst}/failures"


def window_key(population: str) -> str:
    """The name of the account that a population's window is counted in."""
    return f"{population}///window"


def write_budget(budget: Budget) -> dict[str, Any]:
    """A budget as an entry says it."""
    return to_json(budget)


def read_budget(fields: dict[str, Any]) -> Budget:
    """A budget that an entry says."""
    return _budget_of(canonical_json(fields))


@lru_cache(maxsize=1024)
def _budget_of(text: str) -> Budget:
    budget: Budget = from_json(json.loads(text))
    return budget


def _optional_budget(fields: dict[str, Any] | None) -> Budget | None:
    return None if fields is None else read_budget(fields)


def _read_rules(fields: dict[str, Any]) -> dict[str, Any]:
    window = fields["window"]
    return {
        "each": _optional_budget(fields["each"]),
        "window": None if window is None else BudgetWindow(read_budget(window["budget"]), window["every"]),
        "shares": fields["shares"],
        "share_answers": fields["share_answers"],
        "least_share": None if (least := fields.get("least_share")) is None else parse(least),  # 0.1 had neither
        "most_failures": fields.get("most_failures"),
        "noise": fields.get("noise", "auto"),
    }


def write_split(split: DeltaSplit) -> dict[str, str]:
    """The split of delta as an entry says it."""
    return {"converts": str(split.converts), "own": str(split.own), "tail": str(split.tail)}


def _read_split(fields: dict[str, str] | None) -> DeltaSplit:
    """The split that an entry says; 0.1 said none."""
    return FIRST_SPLIT if fields is None else DeltaSplit(**{name: parse(share) for name, share in fields.items()})


@lru_cache(maxsize=1024)
def _limit_in(budget: Budget, currency: Currency, split: DeltaSplit) -> Limit:
    return Limit(budget, currency, split)


# ---------------------------------------------------------------- adding budgets


def add_budgets(budget: Budget | None, more: Budget) -> Budget:
    """Both together; by basic composition this is what they promise together."""
    if budget is None:
        return more
    same_kind(budget, more)
    if budget.rho is not None and more.rho is not None:
        return Budget(rho=budget.rho + more.rho, delta=budget.delta + more.delta)
    assert budget.epsilon is not None and more.epsilon is not None
    return Budget(budget.epsilon + more.epsilon, budget.delta + more.delta)


def subtract_budget(budget: Budget | None, less: Budget | None) -> Budget | None:
    """What remains, None if nothing; taking away None takes all."""
    if budget is None or less is None:
        return None
    same_kind(budget, less)
    old, new = (budget.rho, less.rho) if budget.rho is not None else (budget.epsilon, less.epsilon)
    assert old is not None and new is not None
    if old <= new or budget.delta < less.delta or (budget.delta and budget.delta == less.delta):
        return None
    rest = budget.delta - less.delta
    return Budget(rho=old - new, delta=rest) if budget.rho is not None else Budget(old - new, rest)


def same_kind(budget: Budget, other: Budget) -> None:
    """Refuse to mix pure, (epsilon, delta) and rho budgets."""
    if kind_of(budget) != kind_of(other):
        raise BudgetConflict(
            f"this budget is {kind_of(budget)}, and {kind_of(other)} was given.",
            why="All budgets of one population are counted in one currency.",
            fix=f"Give a {kind_of(budget)} budget.",
        )


def kind_of(budget: Budget) -> str:
    """The kind of a budget, in words."""
    if budget.rho is not None:
        return "zCDP (rho)"
    return "(epsilon, delta)" if budget.delta else "pure (epsilon alone)"


def within_cap(budget: Budget, cap: Budget) -> bool:
    """Whether a budget is at most a cap of its kind."""
    same_kind(cap, budget)
    loss, most = (budget.rho, cap.rho) if cap.rho is not None else (budget.epsilon, cap.epsilon)
    assert loss is not None and most is not None
    return loss <= most and budget.delta <= cap.delta
