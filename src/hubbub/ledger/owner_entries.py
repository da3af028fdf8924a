"""What owners (and analysts who ask for more) write into the book: each act is one signed entry, with who and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from hubbub.accounting import SPLIT, Amount
from hubbub.ledger.book import statements
from hubbub.ledger.book.chain import Entry
from hubbub.ledger.open_ledger import Core
from hubbub.ledger.policy import (
    BudgetWindow,
    Policy,
    Population,
    add_budgets,
    failures_key,
    same_kind,
    subtract_budget,
    within_cap,
    write_budget,
    write_split,
)
from hubbub.ledger.requests import Pool
from hubbub.terms import (
    Budget,
    BudgetConflict,
    EmptyInput,
    MissingParameter,
    Neighbours,
    OutOfRange,
    Real,
    fraction_of,
    plain_name,
    plain_text,
    whole,
)

SHARES = ("optional", "required")
RULES = ("each", "window", "shares", "share_answers", "least_share", "most_failures", "noise")
NOISES = ("auto", "laplace", "gaussian")


def open_population(
    core: Core,
    name: str,
    *,
    budget: Budget,
    plans: Budget | None,
    lifetime: Budget | None,
    plans_lifetime: Budget | None,
    neighbours: Neighbours | str,
    unit: str,
    rules: Mapping[str, Any],
    by: str,
    why: str,
) -> None:
    """Open a budget; nothing is written if the very same one is open already."""
    plain_name(name, what="population")
    plain_text(unit, name="unit", longest=1000)
    for amount in (budget, lifetime):
        _check_size(amount)
    whole, part = lifetime or budget, plans_lifetime or plans
    entry_fields = {
        "kind": "population",
        "population": name,
        "neighbours": Neighbours.parse(neighbours).value,
        "unit": unit,
        "budget": write_budget(budget),
        "lifetimes": _split_pools(whole, part),
        "pools": _split_pools(budget, plans),
        **({"split": write_split(SPLIT)} if budget.epsilon is not None and budget.delta else {}),
        **_write_rules(budget, rules),
    }
    if not within_cap(budget, whole) or (plans is not None and part is not None and not within_cap(plans, part)):
        raise _over_lifetime(name, whole)

    def fields(policy: Policy) -> Mapping[str, Any] | None:
        if (there := policy.populations.get(name)) is None:
            return entry_fields | _decision_fields(by, why)
        _check_same(there, entry_fields)
        return None

    core.record(fields)


def change_rules(core: Core, population: str, rules: Mapping[str, Any], *, by: str, why: str) -> None:
    """Change per-question cap, window, shares or sharing of answers; what is not given stays."""

    def fields(policy: Policy) -> Mapping[str, Any]:
        who = policy.population(population)
        now = {name: getattr(who, name) for name in RULES} | dict(rules)
        return {"kind": "rules", "population": population, **_write_rules(who.promised, now)} | _decision_fields(
            by, why
        )

    core.record(fields)


def grant_budget(
    core: Core,
    population: str,
    budget: Budget,
    *,
    project: str,
    analyst: str,
    pool: Pool,
    plea: int | None,
    raise_lifetime: bool,
    by: str,
    why: str,
) -> None:
    """Add to a population's budget (within its lifetime) or to a share of it."""
    place = _holder_fields(project, analyst)

    def fields(policy: Policy) -> Mapping[str, Any]:
        who = policy.population(population)
        same_kind(who.promised, budget)
        _check_plea(policy, plea, population)
        _check_size(add_budgets(policy.shares.get((population, project, analyst, pool)), budget))
        _check_size(add_budgets(who.pools.get(pool), budget))
        lifetime = None if any(place.values()) else _new_lifetime(who, pool, budget, raise_lifetime)
        entry_fields = {
            "kind": "grant",
            "population": population,
            **place,
            "pool": pool.value,
            "budget": write_budget(budget),
        }
        return entry_fields | {"lifetime": lifetime, "plea": plea} | _decision_fields(by, why)

    core.record(fields)


def revoke_budget(
    core: Core, population: str, budget: Budget | None, *, project: str, analyst: str, pool: Pool, by: str, why: str
) -> None:
    """Take a budget or share back, in part or (None) wholly. What was spent stays spent."""
    place = _holder_fields(project, analyst)

    def fields(policy: Policy) -> Mapping[str, Any]:
        who = policy.population(population)
        there = policy.shares.get((population, project, analyst, pool)) if any(place.values()) else who.pools[pool]
        if there is None:
            raise BudgetConflict(
                "there is no such budget to take back.",
                why="A revocation names a budget or a share that was granted.",
                fix=f"See what is granted: `hubbub budget show {population}`.",
            )
        if budget is not None and subtract_budget(there, budget) is None:
            raise BudgetConflict(
                "this would leave nothing: all of the epsilon, the rho or the delta.",
                why="A budget without one of its numbers lets nothing through.",
                fix="Take less, or take all of it back by giving no amount.",
            )
        taken = None if budget is None else write_budget(budget)
        entry_fields = {"kind": "revoke", "population": population, **place, "pool": pool.value, "budget": taken}
        return entry_fields | _decision_fields(by, why)

    core.record(fields)


def declare_disjoint(core: Core, populations: Sequence[str], *, by: str, why: str) -> None:
    """State that no person is in two of these populations: their charges are then kept apart."""
    if len(set(populations)) < 2:
        raise EmptyInput(
            "disjointness is stated of two or more populations.",
            why="One population always overlaps itself.",
            fix="Name at least two.",
        )

    def fields(policy: Policy) -> Mapping[str, Any]:
        for name in populations:
            policy.population(name)
        return {"kind": "disjoint", "populations": sorted(set(populations))} | _decision_fields(by, why)

    core.record(fields)


def declare_dataset(core: Core, name: str, *, version: str, populations: Sequence[str], by: str, why: str) -> None:
    """State whom a version of a dataset is about; nothing is written if just that was declared already."""
    plain_name(name, what="dataset")
    plain_name(version, what="version")

    def fields(policy: Policy) -> Mapping[str, Any] | None:
        for population in populations:
            policy.population(population)
        known = policy.datasets.get(name, {}).get(version)
        if known is None:
            entry_fields = {"kind": "dataset", "dataset": name, "version": version, "populations": list(populations)}
            return entry_fields | _decision_fields(by, why)
        if known != tuple(populations):
            raise BudgetConflict(
                f"version {version!r} of dataset {name!r} is declared already, about other people.",
                why="Stored answers rely on what a version means.",
                fix="Declare a new version.",
            )
        return None

    core.record(fields)


def request_budget(
    core: Core, population: str, budget: Budget, *, project: str, analyst: str, pool: Pool, by: str, why: str
) -> int:
    """Ask the owner for more; the entry's number is what a grant or a refusal answers."""
    place = _holder_fields(project, analyst)

    def fields(policy: Policy) -> Mapping[str, Any]:
        same_kind(policy.population(population).promised, budget)
        entry_fields = {
            "kind": "plea",
            "population": population,
            **place,
            "pool": pool.value,
            "budget": write_budget(budget),
        }
        return entry_fields | _decision_fields(by, why)

    entry = core.record(fields)
    assert entry is not None
    return entry.sequence


def decline_request(core: Core, plea: int, *, by: str, why: str) -> None:
    """Turn a request for more down."""

    def fields(policy: Policy) -> Mapping[str, Any]:
        _check_plea(policy, plea)
        return {"kind": "refusal", "plea": plea} | _decision_fields(by, why)

    core.record(fields)


def acknowledge_failures(core: Core, population: str, analyst: str, *, by: str, why: str) -> None:
    """An owner has looked at what an analyst's questions without an answer were about: they count from zero again."""
    plain_name(analyst, what="analyst")
    key = failures_key(population, analyst)

    def fields(policy: Policy) -> Mapping[str, Any]:
        policy.population(population)
        return {"kind": "look", "population": population, "analyst": analyst} | _decision_fields(by, why)

    def also(turn: Any, _policy: Policy, entry: Entry) -> None:
        values = {"period": str(entry.sequence)} | dict.fromkeys(statements.TOTAL, "0")
        turn.add(statements.ADD_TOTAL, account=key, **values)
        turn.add(statements.SPEND, key=key, **values)

    core.record(fields, also=also)


def erase_answers(core: Core, charges: Iterable[int], *, by: str, why: str) -> None:
    """Delete the stored answers of these charges. The charges stay; asking again is charged again."""
    wanted = sorted(set(charges))
    _check_answered(core, wanted)
    for start in range(0, len(wanted), 1000):
        part = wanted[start : start + 1000]
        entry_fields = {"kind": "erase", "charges": part} | _decision_fields(by, why)

        def also(turn: Any, _policy: Policy, _entry: Entry, part: list[int] = part) -> None:
            for charge in part:
                turn.add(statements.ERASE, key=charge)

        core.record(lambda _, fields=entry_fields: fields, also=also, owner=False)  # type: ignore[misc]


def accept_clock(core: Core, *, by: str, why: str) -> None:
    """Go on from the clock's present time although the last entry is dated later."""
    core.record(lambda _: {"kind": "clock"} | _decision_fields(by, why), owner=False, any_clock=True)


# ---------------------------------------------------------------- small helpers


def _check_answered(core: Core, charges: Sequence[int]) -> None:
    with core.book.snapshot() as view:
        for charge in charges:
            (ending,) = view.read((statements.SETTLED, {"charge": charge}))
            if not ending or ending[0][0] is None:
                raise OutOfRange(
                    f"charge {charge} has no stored answer.",
                    why="Only what is stored can be erased.",
                    fix="Give the numbers of charges whose answers are stored.",
                )


def _check_size(budget: Budget | None) -> None:
    """Refuse a budget that no record could hold."""
    if budget is not None:
        Amount.of(budget.epsilon or budget.rho or Fraction(0), budget.delta)


def _decision_fields(by: str, why: str) -> dict[str, str]:
    if not by.strip() or not why.strip():
        raise MissingParameter(
            "an owner's entry says who decided and why.",
            why="Years later somebody will ask.",
            fix="Give by=... and why=...",
        )
    plain_text(by, name="by")
    plain_text(why, name="why")
    return {"by": by, "why": why}


def _holder_fields(project: str, analyst: str) -> dict[str, str]:
    for what, name in (("project", project), ("analyst", analyst)):
        if name:
            plain_name(name, what=what)
    return {"project": project, "analyst": analyst}


def _check_plea(policy: Policy, plea: int | None, population: str | None = None) -> None:
    if plea is None:
        return
    if plea not in policy.pleas or population not in (None, policy.pleas[plea].population):
        about = "" if population is None else f" about {population!r}"
        raise BudgetConflict(
            f"no request for more budget with number {plea}{about} is open.",
            why="It was answered already, is about others, or was never made.",
            fix="See the open ones: `hubbub budget show`.",
        )


def _new_lifetime(who: Population, pool: Pool, more: Budget, may_raise: bool) -> dict[str, Any] | None:
    """The pool's lifetime after a grant to it, if it changes."""
    total, most = add_budgets(who.pools[pool], more), who.lifetimes[pool]
    if most is not None and within_cap(total, most):
        return None
    if not may_raise:
        raise _over_lifetime(who.name, who.lifetime, pool)
    return write_budget(total)


def _split_pools(budget: Budget, plans: Budget | None) -> dict[str, Any]:
    """A budget in its two pools."""
    if plans is not None and not within_cap(plans, budget):
        raise BudgetConflict(
            "the pool for plans is larger than the whole budget.",
            why="The owner splits one budget into two pools beforehand.",
            fix="Give plans a part of the budget.",
        )
    questions = budget if plans is None else subtract_budget(budget, plans)
    if questions is None and plans != budget:
        raise BudgetConflict(
            "the pool for plans takes all of the epsilon or all of the delta.",
            why="Nothing could then be asked from what remains.",
            fix="Leave some of both for questions, or give plans the whole budget.",
        )
    return {
        Pool.QUESTIONS.value: None if questions is None else write_budget(questions),
        Pool.PLANS.value: None if plans is None else write_budget(plans),
    }


def _over_lifetime(name: str, lifetime: Budget, pool: Pool | None = None) -> BudgetConflict:
    part = "" if pool is None else f", and what is set aside of it for {pool} is granted already"
    return BudgetConflict(
        f"population {name!r} was promised that no more than {lifetime.measure().describe()} is ever spent{part}.",
        why="A budget holds against clever questions because it was fixed before any answer was seen.",
        fix="Stay within it, or break the promise in the open and for ever: raise_lifetime=True (--raise-lifetime).",
    )


def _write_rules(budget: Budget, rules: Mapping[str, Any]) -> dict[str, Any]:
    each, window, shares = rules.get("each"), rules.get("window"), rules.get("shares", "optional")
    if shares not in SHARES:
        raise OutOfRange(
            f"shares are {' or '.join(SHARES)} and not {shares!r}.",
            why="Either everybody may draw on the population's budget, or only those with a share.",
            fix="Choose one of the two.",
        )
    if each is not None:
        same_kind(budget, each)
    if window is not None:
        same_kind(budget, window.budget)
    return {
        "each": None if each is None else write_budget(each),
        "window": _write_window(window),
        "shares": shares,
        "share_answers": bool(rules.get("share_answers", False)),
        "least_share": _write_share(rules.get("least_share")),
        "most_failures": _write_count(rules.get("most_failures")),
        "noise": _write_noise(rules.get("noise", "auto")),
    }


def _write_share(share: Real | None) -> str | None:
    return None if share is None else str(fraction_of(share, name="least_share", one=True))


def _write_count(count: object) -> int | None:
    return None if count is None else whole(count, name="most_failures")


def _write_noise(noise: object) -> str:
    if noise not in NOISES:
        raise OutOfRange(
            f"noise is {' or '.join(NOISES)} and not {noise!r:.40}.",
            why="It is what a question gets that asks for no other: the one of less error, or always the same.",
            fix="Choose one of the three.",
        )
    return str(noise)


def _write_window(window: BudgetWindow | None) -> dict[str, Any] | None:
    return None if window is None else {"budget": write_budget(window.budget), "every": window.every}


def _check_same(there: Population, entry_fields: Mapping[str, Any]) -> None:
    """The terms must be those of the opening; rules may also be the ones that hold now."""
    rules = [name for name in RULES if name in there.opened]  # those of its time
    asked = {name: entry_fields[name] for name in rules}
    held = _write_rules(there.promised, {name: getattr(there, name) for name in rules})
    terms = all(entry_fields[name] == value for name, value in there.opened.items() if name not in rules)
    if not terms or asked not in ({name: held[name] for name in rules}, {name: there.opened[name] for name in rules}):
        raise _already_open(there.name)


def _already_open(name: str) -> BudgetConflict:
    return BudgetConflict(
        f"population {name!r} is open already, with another budget, unit, neighbours or rules.",
        why="A budget that could be opened twice could be spent twice.",
        fix=f"Use it as it is (`hubbub budget show {name}`), or grant more: `hubbub budget grant {name}`.",
    )
