"""``Ledger``: every call that owners, analysts and the one door make, each handed on to the module that does it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from hubbub.accounting import Amount, Currency, Remeasurement, remeasure
from hubbub.ledger import backup as transfer
from hubbub.ledger import endings, owner_entries, reservations, together
from hubbub.ledger.book import statements
from hubbub.ledger.book.chain import Entry, event_of
from hubbub.ledger.book.database import Transaction
from hubbub.ledger.budget_view import AccountBalance, BudgetView, account_balance, view_budget
from hubbub.ledger.decimals import read_charge
from hubbub.ledger.open_ledger import Core
from hubbub.ledger.policy import BudgetWindow, Plea, Population
from hubbub.ledger.requests import LAST, Pool, Request, Reservation, Stored
from hubbub.ledger.verify import Verification
from hubbub.terms import Budget, BudgetConflict, Event, Neighbours, OutOfRange, Real, Receipt, RequestChanged, whole

LEAST_SHARE = Fraction(1, 100_000)  # of a budget: what one question costs at least, if the owner says nothing else
MOST_FAILURES = 10  # questions of an analyst without an answer, until an owner looks
_KEEP: Any = object()  # "leave this rule as it is"


class Ledger:
    """A durable book of what was spent on whom; a file (SQLite) or a PostgreSQL database, shared by any number of
    processes.

    Guarantee: for each population, everything released under its charges is together within the budget granted to it,
    for its neighbours and unit, however analysts choose and whatever they tell each other, through crashes and
    restarts; no request is charged twice while an answer of it is stored or may still come.
    Because: each pool is a filter [WRRW23, Thm. 1] [RRUV16, Thm. 3.6] whose total and charge commit together, before
    data is read; pools run side by side by concurrent composition [VZ23]; docs/proofs/ledger.md.
    Not covered: somebody who holds both the book and its second place; grants beyond the first lifetime, which were
    decided after answers were seen.

    >>> import json, tempfile
    >>> from hubbub.ledger import fingerprint
    >>> from hubbub.mechanisms import Gaussian
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger(f"{folder.name}/ledger.db", state=f"{folder.name}/state")
    >>> ledger.open_population("patients", Budget(3, 1e-6), by="board", why="yearly report")
    >>> count = Gaussian(sensitivity=1, rho=0.01)
    >>> request = Request(event=count.event, fingerprint=fingerprint(plan="count"), population="patients")
    >>> reservation = ledger.reserve(request)  # charged; now data may be read
    >>> ledger.store(reservation, json.dumps(float(count.release(1000)))).repeated
    False
    >>> ledger.reserve(request).repeated  # the stored answer, for free
    True
    >>> ledger.close(); folder.cleanup()
    """

    def __init__(self, url: str | Path, *, state: str | Path | None = None, create: bool = True) -> None:
        self._core = Core(url, state=state, create=create)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __copy__(self) -> Self:
        """Itself: a book is one thing, whoever holds it. scikit-learn copies the parameters of estimators."""
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        """Itself."""
        return self

    def __repr__(self) -> str:
        return f"<ledger {self.id[:8]} in {self._core.book.location}>"

    @property
    def id(self) -> str:
        """The ledger's own name, made with it."""
        return self._core.policy.ledger

    @property
    def public_key(self) -> str:
        """The key (Ed25519, hexadecimal) with which its signatures can be checked."""
        return self._core.policy.public_key

    @property
    def state(self) -> Path:
        """The ledger's folder in the second place."""
        return self._core.place.of(self.id)

    def close(self) -> None:
        """Let the book go; everything was on disk already."""
        self._core.close()

    # ------------------------------------------------------------ asking

    def reserve(self, request: Request) -> Reservation | Stored:
        """Charge a request durably before any data is read, or give the answer it has already."""
        return reservations.reserve_request(self._core, request)

    def store(self, reservation: Reservation, answer: str) -> Stored:
        """Store an answer durably and anchor it; only what this returns may be shown."""
        return endings.store_answer(self._core, reservation, answer)

    def fail(self, reservation: Reservation, reason: str) -> None:
        """Settle a charge without an answer, for a public reason such as a timeout."""
        endings.store_failure(self._core, reservation, reason)

    def preview(self, request: Request) -> Mapping[str, Amount]:
        """What each population would be charged; free, and nothing is written."""
        return reservations.preview_costs(self._core, request)

    def check_together(self, requests: Sequence[Request]) -> None:
        """Refuse if several requests do not fit together into every budget, share and window; nothing is written."""
        together.check_together(self._core, requests)

    def answered(self, request: Request) -> bool:
        """Whether the very same request has an answer already, which asking again would give for free."""
        return reservations.has_answer(self._core, request)

    def remeasure(self, request: Request, *, of: int) -> tuple[Request, Remeasurement]:
        """Ask a question again with more accuracy: the request to reserve, and how to combine old and new answers.

        ``request`` carries the event of the accuracy wanted; ``of`` is the sequence number of a charge of the same
        question (same ``question`` fingerprint, pool and project) that has an answer.
        """
        spent = self._events_behind(whole(of, name="of", most=LAST), request)
        currencies = {self._core.policy.population(name).currency(request.pool) for name in self.preview(request)}
        counts_rho = currencies <= {Currency.CONCENTRATED, Currency.EITHER}
        plan = remeasure(spent if counts_rho else [], request.event)
        return replace(request, event=plan.event, refines=of if plan.weights else None), plan

    # ------------------------------------------------------------ owners

    def open_population(
        self,
        name: str,
        budget: Budget,
        *,
        plans: Budget | None = None,
        lifetime: Budget | None = None,
        plans_lifetime: Budget | None = None,
        neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
        unit: str = "",
        each: Budget | None = None,
        window: BudgetWindow | None = None,
        shares: str = "optional",
        share_answers: bool = False,
        least_share: Real = LEAST_SHARE,
        most_failures: int | None = MOST_FAILURES,
        noise: str = "auto",
        by: str,
        why: str,
    ) -> None:
        """Open the budget of a population; the very same one again is no error.

        ``plans`` is the part of the budget set aside for plans. ``lifetime`` is what the budget and all later grants
        together may reach (the budget itself, if not given), ``plans_lifetime`` the part of it for plans; both are
        fixed now, before any answer is seen. ``unit`` is the path that tells people apart: events must protect that
        unit. ``each`` caps one request; ``window`` caps each day, week, month or
        year; ``shares="required"`` lets only those spend who have a share; ``share_answers`` gives stored answers to
        other projects too, who thereby learn that somebody asked. ``least_share`` is the share of the budget (or of
        an epsilon or rho of 1, if it is larger) that one question costs at least, ``most_failures`` how many questions
        without an answer an analyst may cause before an owner looks (``view_budget``); None for no such rule. ``noise``
        is what questions get that ask for no other: "auto" (of least error), "laplace" or "gaussian".
        """
        rules = {
            "each": each,
            "window": window,
            "shares": shares,
            "share_answers": share_answers,
            "least_share": least_share,
            "most_failures": most_failures,
            "noise": noise,
        }
        owner_entries.open_population(
            self._core,
            name,
            budget=budget,
            plans=plans,
            lifetime=lifetime,
            plans_lifetime=plans_lifetime,
            neighbours=neighbours,
            unit=unit,
            rules=rules,
            by=by,
            why=why,
        )

    def change_rules(
        self,
        population: str,
        *,
        each: Budget | None = _KEEP,
        window: BudgetWindow | None = _KEEP,
        shares: str = _KEEP,
        share_answers: bool = _KEEP,
        least_share: Real = _KEEP,
        most_failures: int | None = _KEEP,
        noise: str = _KEEP,
        by: str,
        why: str,
    ) -> None:
        """Change the rules named; the others stay."""
        given = {
            "each": each,
            "window": window,
            "shares": shares,
            "share_answers": share_answers,
            "least_share": least_share,
            "most_failures": most_failures,
            "noise": noise,
        }
        rules = {name: value for name, value in given.items() if value is not _KEEP}
        owner_entries.change_rules(self._core, population, rules, by=by, why=why)

    def grant(
        self,
        population: str,
        budget: Budget,
        *,
        project: str = "",
        analyst: str = "",
        pool: Pool | str = Pool.QUESTIONS,
        plea: int | None = None,
        raise_lifetime: bool = False,
        by: str,
        why: str,
    ) -> None:
        """Add to the population's budget, or (project, analyst) to a share of it; ``plea`` names what it answers."""
        owner_entries.grant_budget(
            self._core,
            population,
            budget,
            project=project,
            analyst=analyst,
            pool=Pool(pool),
            plea=plea,
            raise_lifetime=raise_lifetime,
            by=by,
            why=why,
        )

    def revoke(
        self,
        population: str,
        budget: Budget | None = None,
        *,
        project: str = "",
        analyst: str = "",
        pool: Pool | str = Pool.QUESTIONS,
        by: str,
        why: str,
    ) -> None:
        """Take a budget or a share back, in part or (no budget given) wholly."""
        place = {"project": project, "analyst": analyst}
        owner_entries.revoke_budget(self._core, population, budget, **place, pool=Pool(pool), by=by, why=why)

    def request_budget(
        self,
        population: str,
        budget: Budget,
        *,
        project: str = "",
        analyst: str = "",
        pool: Pool | str = Pool.QUESTIONS,
        by: str,
        why: str,
    ) -> int:
        """Ask the owner for more budget; returns the number of the request."""
        place = {"project": project, "analyst": analyst}
        return owner_entries.request_budget(self._core, population, budget, **place, pool=Pool(pool), by=by, why=why)

    def decline_request(self, plea: int, *, by: str, why: str) -> None:
        """Turn down a request for more."""
        owner_entries.decline_request(self._core, plea, by=by, why=why)

    def acknowledge_failures(self, population: str, *, analyst: str, by: str, why: str) -> None:
        """An owner has looked at an analyst's questions that had no answer: they count from zero again."""
        owner_entries.acknowledge_failures(self._core, population, analyst, by=by, why=why)

    def declare_disjoint(self, *populations: str, by: str, why: str) -> None:
        """State that no person is in two of these populations."""
        owner_entries.declare_disjoint(self._core, populations, by=by, why=why)

    def declare_dataset(self, name: str, *, version: str, population: str | Sequence[str], by: str, why: str) -> None:
        """State whom a version of a dataset is about."""
        people = (population,) if isinstance(population, str) else tuple(population)
        owner_entries.declare_dataset(self._core, name, version=version, populations=people, by=by, why=why)

    def erase(self, charges: Sequence[int] | None = None, *, before: int | None = None, by: str, why: str) -> int:
        """Delete stored answers: of these charges, or all stored before a time (microseconds); returns how many."""
        if (charges is None) == (before is None):
            raise OutOfRange(
                "say which answers to erase: by their charges, or all before a time.",
                why="Erasing is final.",
                fix="Give charges=[...] or before=...",
            )
        chosen = list(charges) if charges is not None else self._answered_before(int(before or 0))
        owner_entries.erase_answers(self._core, chosen, by=by, why=why)
        return len(chosen)

    def accept_clock(self, *, by: str, why: str) -> None:
        """Go on from the clock's present time although the last entry is dated later."""
        owner_entries.accept_clock(self._core, by=by, why=why)

    # ------------------------------------------------------------ reading

    def populations(self) -> dict[str, Population]:
        """Every population, with its budgets and rules."""
        self._core.refresh()
        return dict(self._core.policy.populations)

    def pleas(self) -> list[Plea]:
        """The open requests for more budget."""
        self._core.refresh()
        return list(self._core.policy.pleas.values())

    def balance(self, population: str) -> AccountBalance:
        """A population's account for questions: limit and spent, and no more; for showing beside each answer.

        The pool for plans is not in it: ``budget`` shows both.
        """
        return account_balance(self._core, population)

    def budget(self, population: str) -> BudgetView:
        """What a population's budget is, and what is spent, reserved and left of it; renders in a notebook."""
        self._core.refresh()
        return view_budget(self._core, population)

    def log(self, *, start: int = 1, population: str | None = None, newest: int | None = None) -> Iterator[Entry]:
        """Entries in order, from ``start`` on, or the ``newest`` so many; only those about one population if asked."""
        with self._core.book.snapshot() as view:
            (last,) = view.read((statements.LAST, {}))
            if newest is not None and population is None:
                start = max(start, last[0][0] - newest + 1)
            first = start if population is None else 1
            entries = (Entry(*row) for row in view.stream(statements.FROM, {"start": first}))
            chosen = entries if population is None else _entries_about(entries, population)
            wanted = (entry for entry in chosen if entry.sequence >= start)
            yield from wanted if newest is None else deque(wanted, maxlen=newest)

    def check(self, receipt: Receipt) -> bool:
        """Whether a receipt is true: its entry stands in the book, for that event, request, amount and time."""
        with self._core.book.snapshot() as view:
            shown = _read_entry(view, receipt.sequence)
            if shown is None or shown.hash.hex() != receipt.head or shown.when() != receipt.at:
                return False
            charge = _read_entry(view, shown.fields().get("charge", receipt.sequence))
            fields = charge.fields() if charge is not None else {}
            (event,) = view.read((statements.EVENT, {"digest": fields.get("event", "")}))
        if charge is None or not event or receipt.population not in fields.get("charged", ()):
            return False
        currency = self._core.policy.population(receipt.population).currency(Pool(fields["pool"]))
        charged = read_charge(fields, receipt.population, currency)[0].measure(currency)
        mark = (charge.fingerprint or b"").hex()
        return (event_of(event[0][0]), mark, charged) == (receipt.event, receipt.fingerprint, receipt.charged)

    def verify(self, *, anchor: bool = True) -> Verification:
        """Check everything; ``anchor=False`` where the second place is not at hand (a cut tail then goes unnoticed)."""
        return transfer.verify_book(self._core.book, self._core.anchors if anchor else None)

    def export(self, *, answers: bool = False) -> Iterator[str]:
        """The book as JSON Lines."""
        with self._core.book.snapshot() as view:
            yield from transfer.export_lines(view, answers=answers)

    def backup(self, path: str | Path) -> int:
        """Copy the book into a new file; returns the number of its last entry."""
        return transfer.copy_book(self._core.book, Path(path))

    # ------------------------------------------------------------ parts

    def behind(self, receipt: Receipt) -> tuple[int, str]:
        """The charge behind a receipt of this ledger, and the answer that is stored under it."""
        if not self.check(receipt):
            raise RequestChanged(
                "this receipt is not one of this ledger, or says something else than its entry.",
                why="A receipt names its entry, what was charged and when; all of it must be so.",
                fix="Use the receipt of the release as it was given, with the ledger that gave it.",
            )
        with self._core.book.snapshot() as view:
            (rows,) = view.read((statements.ENTRY, {"sequence": receipt.sequence}))
            fields: dict[str, Any] = Entry(*rows[0]).fields()
            charge = int(fields.get("charge", receipt.sequence))
            (settled,) = view.read((statements.SETTLED, {"charge": charge}))
        return charge, str((settled[0][0] if settled else None) or "").rstrip(" ")

    def _events_behind(self, charge: int, request: Request) -> list[Event]:
        """The events of a charge and of all that it refines, if they answer the request's question."""
        events: list[Event] = []
        following: int | None = charge
        with self._core.book.snapshot() as view:
            while following is not None:
                rows, settled = view.read(
                    (statements.ENTRY, {"sequence": following}), (statements.SETTLED, {"charge": following})
                )
                fields: dict[str, Any] = Entry(*rows[0]).fields() if rows else {"kind": ""}
                same = fields.get("question") == request.question and request.question
                if (
                    fields["kind"] != "charge"
                    or not same
                    or fields["pool"] != request.pool
                    or rows[0][4] != request.project
                ):
                    raise BudgetConflict(
                        f"charge {following} is not one of the same question in this project.",
                        why="Only answers to the same question (same version, bounds and keys) can be combined.",
                        fix="Name a charge of this question, or ask anew at the full price.",
                    )
                if not settled or settled[0][0] is None:
                    raise BudgetConflict(
                        f"charge {following} has no stored answer.",
                        why="There is nothing to combine a new answer with.",
                        fix="Ask for that answer first.",
                    )
                (event,) = view.read((statements.EVENT, {"digest": fields["event"]}))
                events.append(event_of(event[0][0]))
                following = fields.get("refines")
        return events

    def _answered_before(self, at: int) -> list[int]:
        with self._core.book.snapshot() as view:
            return [row[0] for row in view.stream(statements.ANSWERED_BEFORE, {"at": at})]


def restore(
    backup: str | Path,
    target: str | Path,
    *,
    state: str | Path | None = None,
    spend_all: bool = False,
    by: str,
    why: str,
) -> int:
    """Put a backup in a ledger's place and count the gap to the anchor as spent; returns the number of that entry."""
    return transfer.restore_book(Path(backup), target, state=state, spend_all=spend_all, by=by, why=why).sequence


def _read_entry(view: Transaction, sequence: int) -> Entry | None:
    (rows,) = view.read((statements.ENTRY, {"sequence": sequence}))
    return Entry(*rows[0]) if rows else None


def _entries_about(entries: Iterable[Entry], population: str) -> Iterator[Entry]:
    """Entries that name a population, and those that follow up on one that did."""
    charges: set[int] = set()
    for entry in entries:
        fields = entry.fields()
        follows = {fields.get("charge"), fields.get("plea"), *fields.get("charges", ())}
        if _names_population(fields, population) or follows & charges:
            charges.add(entry.sequence)
            yield entry


def _names_population(fields: Mapping[str, Any], population: str) -> bool:
    if fields["kind"] == "restore":
        return any(key.startswith(f"{population}/") for key in (*fields["spent"], *fields["unknown"]))
    return (
        fields.get("population") == population
        or population in fields.get("charged", ())
        or population in fields.get("populations", ())
    )
