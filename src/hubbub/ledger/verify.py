"""Check a whole book: every hash, signature and anchor, every cost added up again, every answer in its place.

A book is replayed entry by entry, knowing nothing but the rules; what the tables beside the entries say is compared
with the result at the end. What each check would find:

    hashes       an entry altered, dropped, inserted or moved
    signatures   a book rewritten from some place on by somebody without the key
    anchors      a cut tail, an old backup, another history
    costs        a charge smaller than its event, a population left out, a total that does not add up
    limits       more spent than was granted at the time
    answers      an answer altered, lost, or given twice
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from hubbub.accounting import Amount, Currency, cost_in, covers
from hubbub.ledger.book import statements
from hubbub.ledger.book.anchors import Anchor
from hubbub.ledger.book.chain import ORIGIN, Entry, event_of, sha256_hex, typed_entry
from hubbub.ledger.book.database import Transaction
from hubbub.ledger.book.drivers import Row
from hubbub.ledger.book.second_place import head_is_signed
from hubbub.ledger.decimals import counts_both_ways, read_charge, read_restored
from hubbub.ledger.policy import NONSENSE, Policy, SpendingLimit, account_key, failures_key
from hubbub.ledger.requests import ATTEMPTS, Pool
from hubbub.terms import Event, HubbubError, Neighbours

_MAY_BE_UNSIGNED = {"charge", "attempt", "answer", "failure"}
_KEPT = 10_000  # charges alike that are worked out once
_MOST = 100  # problems that are told; after so many the rest is silence


@dataclass(frozen=True, slots=True)
class Verification:
    """What was checked, and what is wrong (nothing, if ``ok``)."""

    ledger: str
    entries: int
    charges: int
    answers: int
    head: str
    signed_to: int
    anchored_to: int | None
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """True if nothing is wrong."""
        return not self.problems

    def text(self) -> str:
        """The result in a few lines."""
        anchored = "not compared with an anchor" if self.anchored_to is None else f"anchored up to #{self.anchored_to}"
        lines = [
            f"ledger {self.ledger}: {self.entries} entries, {self.charges} charges, {self.answers} answers",
            f"head {self.head}, signed up to #{self.signed_to}, {anchored}",
        ]
        return "\n".join([*lines, *(f"PROBLEM {p}" for p in self.problems), "ok" if self.ok else "NOT ok"])

    def to_json(self) -> dict[str, Any]:
        """The result as one JSON document."""
        return {
            "kind": "verification",
            "ok": self.ok,
            "problems": list(self.problems),
            **{n: getattr(self, n) for n in ("ledger", "entries", "charges", "answers", "head")},
            "signed_to": self.signed_to,
            "anchored_to": self.anchored_to,
        }


@dataclass(slots=True)
class _Total:
    spent: Amount = field(default_factory=Amount)
    period: str = ""
    afresh: Amount = field(default_factory=Amount)  # as 0.1 counted: a window of another length began at 0


class Replay:
    """The book, gone through from its first entry; ``problems`` collects what does not fit."""

    def __init__(self, events: Mapping[str, str]) -> None:
        self.policy = Policy()
        self.problems: list[str] = []
        self.totals: dict[str, _Total] = {}
        self.endings: dict[int, tuple[int, bytes | None]] = {}  # charge -> (entry that settled it, answer's digest)
        self.sequence, self.at, self.hash = 0, 0, ORIGIN
        self.entries = self.charges = self.answers = self.signed_to = 0
        self._events = events
        self._open: dict[int, list[Any]] = {}  # charge -> [attempts, fingerprint, project]
        self._paid: dict[tuple[Any, ...], tuple[list[SpendingLimit], dict[str, Amount]]] = {}
        self._touched: dict[str, SpendingLimit] = {}
        self._steps = {
            "charge": self._charge,
            "attempt": self._attempt,
            "answer": self._answer,
            "failure": self._failure,
            "erase": self._erase,
            "clock": lambda *_: None,
        }

    def problem(self, words: str) -> None:
        """Note what is wrong."""
        if len(self.problems) < _MOST:
            self.problems.append(words)

    def feed(self, row: Row) -> None:
        """Take in the next entry."""
        self.entries += 1
        try:
            entry = typed_entry(row)
        except NONSENSE:
            self.problem(f"entry {_safe_text(row[0])} has a field of a wrong type")
            return
        if not entry.follows(self.hash):
            self.problem(f"entry {entry.sequence} is altered, or the one before it is missing")
        try:
            self._step(json.loads(entry.body), row)
        except (HubbubError, *NONSENSE) as error:
            self.problem(f"entry {entry.sequence} cannot be understood ({type(error).__name__})")
        if entry.signature is not None:
            self._check_signature(entry.sequence, entry.hash, entry.signature)
        self.sequence, self.at, self.hash = entry.sequence, entry.at, entry.hash

    def finish(self) -> None:
        """What only the end can tell: limits of the last epoch, the last signature."""
        self._check_limits()
        if not self.signed_to:
            self.problem("no entry is signed with the ledger's key")

    def _check_signature(self, sequence: int, mark: bytes, signature: bytes) -> None:
        if head_is_signed(self.policy.public_key, mark, signature):
            self.signed_to = sequence
        else:
            self.problem(f"entry {sequence} is not signed with the ledger's key")

    def _step(self, fields: dict[str, Any], row: Row) -> None:
        sequence, at, policy = row[:3]
        kind = fields["kind"]
        lost = fields.get("lost") if kind == "restore" else None
        if sequence != self.sequence + 1 and (not lost or lost != [self.sequence + 1, sequence - 1]):
            self.problem(f"entry {sequence} follows {self.sequence}: entries are missing, moved or doubled")
        if at < self.at and kind != "clock":
            self.problem(f"entry {sequence} is dated before the one it follows")
        step = self._steps.get(kind)
        if row[7] is None and kind not in _MAY_BE_UNSIGNED:
            self.problem(f"entry {sequence} of an owner is not signed")
        if policy != (self.policy.sequence if step else sequence):
            self.problem(f"entry {sequence} names a wrong policy")
        if step is not None:
            step(fields, row)
        else:
            self._owners(fields, row)

    # ------------------------------------------------------------ the kinds of entries

    def _owners(self, fields: dict[str, Any], row: Row) -> None:
        entry = Entry(*row)
        self._check_limits()
        self._paid.clear()
        self.policy.apply(entry, fields)
        for key, account in self.policy.all_accounts().items():
            if key not in self.totals:
                owed = self.policy.owed.get(key, Amount())
                self.totals[key] = _Total(owed, account.period(entry.at), owed)
        if fields["kind"] == "look":
            self.totals[failures_key(fields["population"], fields["analyst"])] = _Total(period=str(entry.sequence))
        if fields["kind"] == "restore":
            for key, spent in read_restored(fields, "spent").items():
                self.totals[key].spent += spent
                self.totals[key].afresh += spent

    def _charge(self, fields: dict[str, Any], row: Row) -> None:
        sequence, at = row[0], row[1]
        self.charges += 1
        accounts, charged = self._pay(fields, row)
        for account in accounts:
            total = self.totals[account.key]
            if account.starts_again(total.period, at):
                self._check_limits()
                total.spent = Amount()
            if total.period != (period := account.period(at)):
                total.afresh, total.period = Amount(), period
            total.spent += charged[account.population]
            total.afresh += charged[account.population]
            self._touched[account.key] = account
        for name in fields["charged"]:
            _, after = self._read_charge(fields, name)
            replayed = self.totals[account_key(name, fields["pool"])].spent
            if not counts_both_ways(fields, name):  # 0.1 did not say the total of the basic account
                replayed = Amount(replayed.loss, replayed.delta)
            if after != replayed:
                self.problem(f"entry {sequence}: the total of {name!r} does not add up")
        if (old := fields.get("supersedes")) is not None:
            self._settle(sequence, old, None)
        if fields.get("counted"):
            self._count_failures(fields)
        self._open[sequence] = [1, row[3], row[4]]

    def _pay(self, fields: dict[str, Any], row: Row) -> tuple[list[SpendingLimit], dict[str, Amount]]:
        """Accounts and amounts of a charge; the same charge again is looked up."""
        costs = tuple((name, self._read_charge(fields, name)[0]) for name in fields["charged"])
        delta = fields.get("delta", "0")
        both = tuple(fields.get("basic", ()))
        key = (fields["event"], fields["pool"], delta, row[4], fields["analyst"], tuple(fields["named"]), costs, both)
        if (paid := self._paid.get(key)) is None:
            if len(self._paid) >= _KEPT:
                self._paid.clear()
            paid = self._paid[key] = self._work_out(fields, row, costs, Fraction(delta))
        return paid

    def _work_out(
        self, fields: dict[str, Any], row: Row, costs: tuple[tuple[str, Amount], ...], delta: Fraction
    ) -> tuple[list[SpendingLimit], dict[str, Amount]]:
        charged = dict(costs)
        named, pool = fields["named"], Pool(fields["pool"])
        due = {o for o in self.policy.populations if o in named or any(self.policy.overlap(o, n) for n in named)}
        if not named or due != set(charged):
            self.problem(f"entry {row[0]} leaves out a population that may share people with the ones charged")
        text = self._events.get(fields["event"])
        if text is None or sha256_hex(text) != fields["event"]:
            self.problem(f"entry {row[0]}: its event is missing or altered")
        else:
            event = event_of(text)
            for name, amount in costs:
                who = self.policy.population(name)
                currency = who.currency(pool)
                if not covers(amount, event, currency=currency, neighbours=who.neighbours, delta=delta):
                    self.problem(f"entry {row[0]} charges {name!r} less than its event costs")
                if currency is Currency.EITHER and not counts_both_ways(fields, name):
                    charged[name] = _with_basic_cost(amount, event, who.neighbours)
        return self.policy.accounts(charged, project=row[4], analyst=fields["analyst"], pool=pool), charged

    def _read_charge(self, fields: dict[str, Any], name: str) -> tuple[Amount, Amount]:
        currency = self.policy.population(name).currency(Pool(fields["pool"]))
        return read_charge(fields, name, currency)

    def _attempt(self, fields: dict[str, Any], row: Row) -> None:
        charge = self._open.get(fields["charge"])
        if charge is None or charge[1:] != [row[3], row[4]]:
            self.problem(f"entry {row[0]} tries a charge again that is not open")
            return
        charge[0] += 1
        if fields["attempt"] != charge[0] or charge[0] > ATTEMPTS:
            self.problem(f"entry {row[0]} is one attempt too many")

    def _answer(self, fields: dict[str, Any], row: Row) -> None:
        self.answers += 1
        self._settle(row[0], fields["charge"], bytes.fromhex(fields["digest"]))

    def _failure(self, fields: dict[str, Any], row: Row) -> None:
        self._settle(row[0], fields["charge"], None)
        if "named" in fields:  # 0.1 did not count them
            self._count_failures(fields)

    def _count_failures(self, fields: dict[str, Any]) -> None:
        for name in fields["named"]:
            total = self.totals.setdefault(failures_key(name, fields["analyst"]), _Total(period="0"))
            total.spent += Amount(1)
            total.afresh += Amount(1)

    def _settle(self, sequence: int, charge: int, answer: bytes | None) -> None:
        if self._open.pop(charge, None) is None:
            self.problem(f"entry {sequence} settles charge {charge}, which is not open")
        self.endings[charge] = (sequence, answer)

    def _erase(self, fields: dict[str, Any], row: Row) -> None:
        for charge in fields["charges"]:
            if charge in self.endings:
                self.endings[charge] = (self.endings[charge][0], None)
            else:
                self.problem(f"entry {row[0]} erases the answer of {charge}, which has none")

    def _check_limits(self) -> None:
        """Totals only grow while limits stand, so the end of an epoch speaks for all of it."""
        for key, account in self._touched.items():
            if account.limit is None or not account.limit.fits(self.totals[key].spent):
                self.problem(f"before entry {self.sequence + 1}: account {key!r} is overspent")
        self._touched.clear()


def _with_basic_cost(charged: Amount, event: Event, neighbours: Neighbours) -> Amount:
    """A charge of 0.1, which counted (epsilon, delta) budgets in rho alone, with what it costs in the basic account.

    Its budget has no tails: a pure step costs its epsilon, any other closes that account.
    """
    basic = cost_in(Currency.EITHER, event, neighbours)
    return Amount(charged.loss, charged.delta, basic.epsilon, basic.tail)


def compare_tables(replay: Replay, answers: Iterable[Row], totals: Iterable[Row]) -> None:
    """What stands beside the entries must be what the entries say."""
    expected = dict(replay.endings)
    for charge, sequence, body in answers:
        ending = expected.pop(charge, None)
        if ending is None:
            replay.problem(f"charge {_safe_text(charge)} has an ending that no entry tells of")
        elif ending != (sequence, _record_digest(body)):
            replay.problem(f"the answer to charge {charge} is altered or lost")
    for charge in list(expected)[:_MOST]:
        replay.problem(f"the answer to charge {charge} is gone")
    kept = {key: numbers for key, *numbers in totals}
    for key, total in replay.totals.items():
        expected_rows = [[total.period, *map(str, amount)] for amount in (total.spent, total.afresh)]
        row = kept.pop(key, None)
        if row is not None and row[3:] == [None, None]:  # a book of 0.1: worked out when it is opened for use
            row, expected_rows = row[:3], [expected[:3] for expected in expected_rows]
        if row not in expected_rows:
            replay.problem(f"the kept total of {key!r} is not what the entries add up to")
    for key in kept:
        replay.problem(f"there is a total {_safe_text(key)} that belongs to nobody")


def _record_digest(body: object) -> bytes | None:
    """The digest of a record, or of nothing that an entry could name if it is no text."""
    if body is None:
        return None
    return hashlib.sha256(body.encode(errors="surrogatepass")).digest() if isinstance(body, str) else b""


def _safe_text(value: object) -> str:
    """A value from an altered row, as far as it may be shown."""
    return ascii(value)[:40]


def compare_anchors(replay: Replay, anchors: Mapping[str, Anchor], hashes: Mapping[int, bytes]) -> int:
    """Every anchored head must be in the book; returns the last one."""
    for anchor in anchors.values():
        head = hashes.get(anchor.sequence)
        if head is None and not replay.policy.is_lost(anchor.sequence):
            replay.problem(
                f"entry {anchor.sequence} was anchored and is gone: the tail is cut, or a backup is in its place"
            )
        if head is not None and head != anchor.head:
            replay.problem(f"entry {anchor.sequence} is another than the one that was anchored")
        if anchor.name:
            _compare_spent(replay, anchor)
    return max((anchor.sequence for anchor in anchors.values()), default=0)


def _compare_spent(replay: Replay, anchor: Anchor) -> None:
    for pool, spent in zip(Pool, anchor.totals, strict=True):
        total = replay.totals.get(f"{anchor.name}///{pool}", _Total()).spent
        if any(now < then for now, then in zip(total, spent, strict=True)):
            replay.problem(f"{anchor.name!r} had spent more on {pool} when it was anchored than the book says now")


def fill_basic_totals(transaction: Transaction) -> None:
    """Work out what the basic accounts of a book of 0.1 have spent, from its entries, once."""
    (missing,) = transaction.read((statements.NOT_FILLED, {}))
    if not missing:
        return
    replay = Replay(dict(transaction.stream(statements.ALL_EVENTS)))
    for row in transaction.stream(statements.FROM, {"start": 0}):
        replay.feed(row)
    totals = replay.totals.items()
    transaction.write(
        *(
            (statements.FILL, {"key": key, "epsilon": str(t.spent.epsilon), "tail": str(t.spent.tail)})
            for key, t in totals
        )
    )
