"""A population's budget to look at: spent, reserved and left, as odds and as epsilon, with a chart over time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from hubbub.accounting import DELTA_UNIT, LOSS_UNIT, UNKNOWN, Amount, Currency, Limit
from hubbub.explain import epsilon as explain_epsilon
from hubbub.ledger.book import statements
from hubbub.ledger.book.chain import iso_time
from hubbub.ledger.book.database import Transaction
from hubbub.ledger.book.drivers import Row
from hubbub.ledger.decimals import counts_both_ways, read_charge
from hubbub.ledger.open_ledger import Core, total_of
from hubbub.ledger.policy import Plea, Policy, Population, SpendingLimit, account_key
from hubbub.ledger.requests import Pool
from hubbub.render import Document, Figure, Json, Section, TextTable
from hubbub.render.charts import Axis, Panel, Rule, Series, Tick, step_chart

_ALL = 4000  # entries that are read one by one for the chart; a longer book is sampled
_SAMPLES = 400


@dataclass(frozen=True, slots=True)
class AccountBalance:
    """One account: its limit, and what became of it so far."""

    name: str
    pool: str
    currency: Currency
    limit: Limit | None
    spent: Amount
    reserved: Amount

    @property
    def left(self) -> Amount:
        """What still fits."""
        return Amount() if self.limit is None else self.limit.left(self.spent)

    @property
    def epsilon(self) -> float | None:
        """What was spent, as an epsilon at the budget's delta."""
        return None if self.limit is None else self.limit.epsilon(self.spent)

    def cells(self) -> tuple[str, ...]:
        """The line as words for a table."""
        budget = "nothing" if self.limit is None else self.limit.budget.measure().describe()
        reserved = amount_words(self.reserved, self.currency)
        return self.name, self.pool, budget, self._spent_words(), reserved, self._left_words()

    def _left_words(self) -> str:
        """What still fits: of a budget that is counted both ways, in epsilon with rho in brackets."""
        if self.limit is None or self.currency is not Currency.EITHER:
            return amount_words(self.left, self.currency)
        if not self.limit.fits(self.spent):
            return "nothing"
        rho = f"rho {self.left.loss / LOSS_UNIT:.4g}"
        words = f"epsilon {self.limit.epsilon_left(self.spent):.4g}"
        if self.limit.counts_in_rho(self.spent):
            return f"{words} ({rho})"
        return words + (f" (or {rho})" if self.limit.fits_loss(self.spent) else "")

    def _spent_words(self) -> str:
        """What everything together is, and in brackets what the two accounts of it say."""
        if self.currency is not Currency.EITHER or self.epsilon is None:
            return amount_words(self.spent, self.currency)
        known = self.spent.epsilon < UNKNOWN
        added = self.spent.epsilon / LOSS_UNIT if known else 0.0
        parts = [f"{added:.4g} added up"] if known and added > self.epsilon else []
        parts += [f"rho {self.spent.loss / LOSS_UNIT:.4g}"] if 0 < self.spent.loss < UNKNOWN else []
        return f"epsilon {self.epsilon:.4g}" + (f" ({', '.join(parts)})" if parts else "")

    def to_json(self) -> dict[str, Json]:
        """The line as numbers."""
        return {
            "account": self.name,
            "pool": self.pool,
            "currency": self.currency.value,
            "budget": None if self.limit is None else self.limit.budget.measure().describe(),
            "epsilon_spent": self.epsilon,
            **{name: _amount_json(getattr(self, name), self.currency) for name in ("spent", "reserved", "left")},
        }


def _amount_json(amount: Amount, currency: Currency) -> dict[str, Json]:
    """An amount as numbers; infinite (as text) where an account knows no cost."""
    names = statements.TOTAL if currency is Currency.EITHER else statements.TOTAL[:2]
    units = (LOSS_UNIT, DELTA_UNIT, LOSS_UNIT, DELTA_UNIT)
    return {
        name: "infinite" if number >= UNKNOWN else number / unit
        for name, number, unit in zip(names, amount, units, strict=False)
    }


def amount_words(amount: Amount, currency: Currency) -> str:
    """An amount as people read it: in epsilon where the budget is one, with rho in brackets for those who ask."""
    loss, delta = (float(part) for part in amount.parts())
    if currency is not Currency.EITHER:
        name = "rho" if currency is Currency.CONCENTRATED else "epsilon"
        return f"{name} {loss:.4g}" + (f", delta {delta:.3g}" if delta else "")
    rho = "" if amount.loss >= UNKNOWN else f"rho {loss:.4g}"
    if amount.epsilon >= UNKNOWN:
        return rho or "all of it"
    epsilon, tail = (float(part) for part in amount.basic_parts())
    words = f"epsilon {epsilon:.4g}" + (f", delta {tail + delta:.3g}" if tail + delta else "")
    return words + (f" ({rho})" if rho and loss else "")


@dataclass(frozen=True, slots=True)
class BudgetView(Document):
    """What a population's budget is, and what is spent, reserved and left of it.

    Reserved is the part of what was spent whose answers nobody has seen yet.
    """

    population: Population
    accounts: tuple[AccountBalance, ...]
    shares: tuple[AccountBalance, ...]
    pleas: tuple[Plea, ...]
    history: tuple[tuple[int, float], ...]
    entries: int
    failures: tuple[tuple[str, int], ...] = ()  # analyst, questions without an answer since an owner looked

    @property
    def title(self) -> str:
        """Whose budget it is."""
        return f"The budget of {self.population.name!r}"

    @property
    def spent(self) -> Amount:
        """What was spent on questions."""
        return self.accounts[0].spent

    @property
    def reserved(self) -> Amount:
        """The part of it that is not answered yet."""
        return self.accounts[0].reserved

    @property
    def left(self) -> Amount:
        """What is left for questions."""
        return self.accounts[0].left

    def sections(self) -> tuple[Section, ...]:
        """Odds first, then numbers, then the chart."""
        header = ("account", "pool", "budget", "spent", "of it reserved", "left")
        parts = [
            Section("What was promised, and what is used of it", (*self._odds(), *self._promise())),
            Section(
                "In numbers", (), TextTable(header, tuple(line.cells() for line in (*self.accounts, *self.shares)))
            ),
        ]
        if len(self.history) > 1:
            parts.append(Section("Over time", (), figure=self._figure()))
        if self.failures:
            parts.append(Section("Without an answer", (), self._failed()))
        if self.pleas:
            rows = tuple(
                (str(p.number), iso_time(p.at)[:16], p.by, p.budget.measure().describe(), p.why) for p in self.pleas
            )
            parts.append(Section("Asked for", (), TextTable(("number", "when", "who", "how much", "why"), rows)))
        return tuple(parts)

    def to_json(self) -> dict[str, Json]:
        """Everything as one JSON document."""
        who = self.population
        return {
            "kind": "budget",
            "population": who.name,
            "neighbours": who.neighbours.value,
            "promised": who.promised.measure().describe(),
            "lifetime": who.lifetime.measure().describe(),
            "lifetime_raised": who.raised,
            "accounts": [line.to_json() for line in self.accounts],
            "shares": [line.to_json() for line in self.shares],
            "requests": [
                {"number": p.number, "by": p.by, "why": p.why, "budget": p.budget.measure().describe()}
                for p in self.pleas
            ],
            **({"failures": dict(self.failures)} if self.failures else {}),
            "entries": self.entries,
        }

    def _failed(self) -> TextTable:
        header = ("analyst", "questions, since an owner looked")
        return TextTable(header, tuple((analyst, str(count)) for analyst, count in self.failures))

    def _odds(self) -> Iterator[str]:
        for line in self.accounts:
            if line.limit is None or line.pool not in tuple(Pool) or (budget := line.limit.budget).epsilon is None:
                continue
            whole = explain_epsilon(budget.epsilon, delta=budget.delta).odds_sentence
            yield f"All of the budget for {line.pool}: {whole}"
            if line.epsilon:
                used = explain_epsilon(line.epsilon, delta=budget.delta).odds_sentence
                yield f"Used so far, epsilon = {line.epsilon:.4g}: {used}"

    def _promise(self) -> Iterator[str]:
        who = self.population
        whom = f" Protected: {who.unit}." if who.unit else ""
        yield f"Neighbours: {who.neighbours.value}.{whom} At most {who.lifetime.measure().describe()} is ever spent."
        if who.raised:
            yield (
                f"This lifetime was raised {who.raised} time{'s' * (who.raised > 1)} after the first promise of "
                f"{who.promised.measure().describe()}: that was decided when answers had been seen."
            )
        rules = [
            who.each and f"One question may cost at most {who.each.measure().describe()}.",
            who.window and f"In each {who.window.every} at most {who.window.budget.measure().describe()}.",
            who.shares == "required" and "Only projects and analysts with a share may ask.",
            who.share_answers and "Stored answers are given to other projects too.",
            who.least_share
            and f"One question costs at least {float(who.least_share):.3g} of the budget for questions.",
            who.noise != "auto" and f"Questions get {who.noise} noise, unless they ask for another.",
            who.most_failures and f"After {who.most_failures} questions without an answer, an owner looks first.",
        ]
        if rules_text := " ".join(rule for rule in rules if rule):
            yield rules_text

    def _figure(self) -> Figure:
        line = self.accounts[0]
        points = tuple((float(at), spent) for at, spent in self.history)
        name = "rho" if line.currency is Currency.CONCENTRATED else "epsilon"
        most = _most_spent(line)
        svg = step_chart(
            Panel(f"{name} spent", (Series("spent", points, filled=True),), (Rule(most, "budget"),), include=(0.0,)),
            title="What was spent on questions over time",
            description=f"A staircase from {points[0][1]:.4g} to {points[-1][1]:.4g} under a budget of {most:.4g}.",
            x=_time_axis(points[0][0], points[-1][0]),
        )
        caption = "Each step is a charge, written before any data is read. Steps only go up."
        return Figure("spent", svg, caption, plain=_staircase_text(self.history, most, name))


def _most_spent(line: AccountBalance) -> float:
    """The top of the staircase, in what the staircase counts."""
    if line.limit is None:
        return 0.0
    whole = line.limit.whole
    return (whole.epsilon if line.currency is Currency.EITHER else whole.loss) / LOSS_UNIT


def view_budget(core: Core, name: str) -> BudgetView:
    """The view of one population, as of now."""
    policy = core.policy
    who = policy.population(name)
    with core.book.snapshot() as view:
        totals = {row[0]: row for row in view.read((statements.ALL_TOTALS, {}))[0]}
        ((last,),) = view.read((statements.LAST, {}))
        open_charges = [
            (row, fields)
            for row in view.stream(statements.OPEN)
            if _charges_population(fields := json.loads(row[5]), name)
        ]
        limit = policy.all_accounts()[account_key(name, Pool.QUESTIONS)].limit
        history = [*_spending_history(view, name, limit, last[0])]
    lines = {key: _balance_of(policy, account, totals, open_charges) for key, account in policy.all_accounts().items()}
    own = [line for key, line in lines.items() if key.startswith(f"{name}///") and (line.limit or line.spent.loss)]
    shares = [line for key, line in lines.items() if key.startswith(f"{name}/") and not key.startswith(f"{name}///")]
    first = lines[account_key(name, Pool.QUESTIONS)]
    history.append((max(last[1], history[-1][0] if history else 0), _spent_so_far(first.limit, first.spent)))
    others = [line for line in own if line is not first]
    pleas = tuple(plea for plea in policy.pleas.values() if plea.population == name)
    return BudgetView(
        who, (first, *others), tuple(shares), pleas, tuple(history), last[0], _failure_counts(totals, name)
    )


def _failure_counts(totals: dict[str, Row], name: str) -> tuple[tuple[str, int], ...]:
    """How many questions of each analyst had no answer, since an owner last looked."""
    parts = {key: key.split("/") for key in totals if key.startswith(f"{name}//") and key.endswith("/failures")}
    return tuple((part[2], int(totals[key][2])) for key, part in sorted(parts.items()) if totals[key][2] != "0")


def account_balance(core: Core, name: str) -> AccountBalance:
    """A population's account for questions, without its shares and its history."""
    core.policy.population(name)
    with core.book.snapshot() as view:
        totals = {row[0]: row for row in view.read((statements.ALL_TOTALS, {}))[0]}
    key = account_key(name, Pool.QUESTIONS)
    return _balance_of(core.policy, core.policy.all_accounts()[key], totals, [])


def _balance_of(
    policy: Policy, account: SpendingLimit, totals: dict[str, Row], waiting: list[tuple[Row, dict[str, Any]]]
) -> AccountBalance:
    name, project, analyst, pool = account.key.split("/")
    row = totals.get(account.key)
    spent = total_of(row) if row is not None else Amount()
    counted = Pool.QUESTIONS if pool == "window" else Pool(pool)
    currency, reserved = policy.populations[name].currency(counted), Amount()
    for entry, fields in waiting:
        if fields["pool"] == counted and project in ("", entry[4]) and analyst in ("", fields["analyst"]):
            reserved += read_charge(fields, name, currency)[0] if name in fields["charged"] else Amount()
    words = " ".join(f"{kind} {n}" for kind, n in (("project", project), ("analyst", analyst)) if n)
    if pool == "window" and row is not None:
        words = f"window {row[1]}"
    reserved = Amount(*map(min, zip(reserved, spent, strict=True)))  # a share begins when granted
    return AccountBalance(words or name, pool, currency, account.limit, spent, reserved)


def _charges_population(fields: dict[str, Any], population: str) -> bool:
    return fields["kind"] == "charge" and population in fields["charged"]


def _spent_so_far(limit: Limit | None, total: Amount) -> float:
    """A total in the budget's own currency: an epsilon, where the budget is one."""
    epsilon = None if limit is None else limit.epsilon(total)
    return total.loss / LOSS_UNIT if epsilon is None else epsilon


def _spending_history(view: Transaction, name: str, limit: Limit | None, last: int) -> Iterator[tuple[int, float]]:
    """(time, total spent on questions) after charges: all of them, or a sample of a long book."""
    starts = [1] if last <= _ALL else range(1, last, last // _SAMPLES)
    reach = last if last <= _ALL else 50
    for start in starts:
        for _, at, body in view.stream(statements.SLICE, {"start": start, "stop": start + reach}):
            fields = json.loads(body)
            if fields["kind"] == "population" and fields["population"] == name:
                yield at, 0.0
            if _charges_population(fields, name) and fields["pool"] == Pool.QUESTIONS:
                yield at, _spent_so_far(limit, _total_after(fields, name))
                if last > _ALL:
                    break


def _staircase_text(history: Sequence[tuple[int, float]], most: float, name: str, rows: int = 12) -> str:
    """The staircase as lines of text, one for each of a few moments."""
    chosen = [history[i * (len(history) - 1) // (rows - 1)] for i in range(rows)] if len(history) > rows else history
    top = max(most, chosen[-1][1]) or 1.0
    bars = [(iso_time(at)[:19].replace("T", " "), spent, round(30 * spent / top)) for at, spent in chosen]
    return "\n".join(f"{when}  {'█' * bar}{'·' * (30 - bar)}  {name} {spent:.4g}" for when, spent, bar in bars)


def _time_axis(first: float, last: float) -> Axis:
    span = max(last - first, 1.0)
    form = "%H:%M:%S" if span < 3.6e9 else "%b %d %H:%M" if span < 2.6e11 * 3 else "%Y-%m-%d"
    labels = {
        datetime.fromtimestamp(at / 1e6, UTC).strftime(form): at for at in (first + span * i / 4 for i in range(5))
    }
    ticks = tuple(Tick(at, label) for label, at in labels.items())
    return Axis("time (UTC)", first, first + span, ticks)


def _total_after(fields: dict[str, Any], name: str) -> Amount:
    """The total that a charge tells; one of 0.1 counts by its rho alone."""
    total = read_charge(fields, name, Currency.EITHER)[1]
    return total if counts_both_ways(fields, name) else total._replace(epsilon=UNKNOWN)
