"""An open ledger: its book, its second place, the policy as last read, and how an entry is written.

Every write is one exclusive turn: look at the head, refuse if it is behind what was seen or if the clock went back,
decide, append, commit. Nothing about the budget is remembered between turns except the policy, which each turn checks
against the number of the last owner's entry.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from hubbub.accounting import Amount
from hubbub.durable import SigningKey, canonical_json
from hubbub.ledger.book import statements
from hubbub.ledger.book.anchors import OWNERS, Anchor, Anchors, Totals
from hubbub.ledger.book.chain import ORIGIN, Entry, entry_hash, iso_time, typed_entry
from hubbub.ledger.book.database import Batch, Book, Transaction
from hubbub.ledger.book.drivers import Row
from hubbub.ledger.book.second_place import SecondPlace
from hubbub.ledger.policy import Policy, account_key
from hubbub.ledger.requests import Pool
from hubbub.ledger.verify import fill_basic_totals
from hubbub.terms import BehindAnchor, ClockBackwards, LedgerDamaged

DRIFT = 5_000_000  # microseconds by which the clocks of several machines may differ
_SIGN_EVERY = 1.0  # seconds; an owner's entry is signed always


class LedgerTurn:
    """One exclusive turn at the book: the head as it is now, and what will be written."""

    def __init__(self, transaction: Transaction, head: Row, now: int) -> None:
        self.transaction = transaction
        self.sequence, self.last_at, self.policy, self.hash = head
        self.now = max(now, self.last_at)
        self._writes: list[Batch] = []

    def add(self, statement: Any, **values: object) -> None:
        """One more statement for the end of the turn."""
        self._writes.append((statement, values))

    def append(
        self,
        fields: Mapping[str, Any] | str,
        *,
        fingerprint: bytes | None = None,
        project: str | None = None,
        owner: bool = False,
        key: SigningKey | None = None,
        sequence: int | None = None,
    ) -> Entry:
        """The next entry, from its fields or their canonical text.

        ``owner`` if it changes a budget or rule; signed if a key is given.
        """
        place = self.sequence + 1 if sequence is None else sequence
        policy = place if owner else self.policy
        body = fields if isinstance(fields, str) else canonical_json(fields)
        mark = entry_hash(self.hash, place, self.now, policy, fingerprint, project, body)
        signature = key.sign(mark) if key is not None else None
        self._writes.append(
            (
                statements.ADD_ENTRY,
                {
                    "sequence": place,
                    "at": self.now,
                    "policy": policy,
                    "fingerprint": fingerprint,
                    "project": project,
                    "body": body,
                    "hash": mark,
                    "signature": signature,
                },
            )
        )
        self.sequence, self.policy, self.hash = place, policy, mark
        return Entry(place, self.now, policy, fingerprint, project, body, mark, signature)

    def finish(self) -> None:
        """Send everything and commit."""
        self.transaction.finish(self._writes)


class Core:
    """What the parts of a ledger share."""

    def __init__(self, url: str | Path, *, state: str | Path | None, create: bool) -> None:
        self.book = Book(url, create=create)
        self.place = SecondPlace(state)
        self.seen = 0
        self.known_events: set[str] = set()  # committed already: need not be sent again
        self._key: SigningKey | None = None
        self._signed = float("-inf")
        try:
            self.policy = self._read_policy() or self._found()
            self._fill_totals()
            self.anchors = Anchors(self.place.of(self.policy.ledger))
            self._check_opening()
        except BaseException:
            self.book.close()
            raise

    @property
    def key(self) -> SigningKey:
        """The key that signs, read when first needed: looking needs none."""
        if self._key is None:
            self._key = self.place.key(self.policy.ledger, self.policy.public_key)
            self.place.note(self.book.location, self.policy.ledger)
        return self._key

    def need_key(self) -> None:
        """Refuse to go on without the key."""
        if self._key is None:
            self._key = self.key

    def key_if_due(self) -> SigningKey | None:
        """The key, if the last signature of this process is a while ago."""
        now = time.monotonic()
        if now - self._signed < _SIGN_EVERY:
            return None
        self._signed = now
        return self.key

    def refresh(self) -> None:
        """Read the policy again, if the last entry was made under another one."""
        with self.book.snapshot() as view:
            (last,) = view.read((statements.LAST, {}))
        if last and last[0][2] == self.policy.sequence:
            return
        policy = self._read_policy()
        if policy is None:
            raise behind_anchor("the ledger is empty")
        self.policy = policy

    def begin(self, transaction: Transaction, last: list[Row], *, any_clock: bool = False) -> LedgerTurn:
        """A turn at the head just read, refused if the book or the clock went back."""
        if not last or last[0][0] < self.seen:
            raise behind_anchor("its last entry is older than one this program has seen")
        now = time.time_ns() // 1000
        turn = LedgerTurn(transaction, last[0], now)
        if any_clock:
            turn.now = now
        elif now < turn.last_at - DRIFT:
            raise ClockBackwards(
                f"the clock shows {iso_time(now)}, and the last entry is from {iso_time(turn.last_at)}.",
                why="Entries are dated in order, so that a budget by time and an audit can rely on it.",
                fix="Set the clock right; if the last entry's date was wrong, `hubbub ledger clock` accepts this one.",
            )
        return turn

    def record(
        self,
        fields: Callable[[Policy], Mapping[str, Any] | None],
        *,
        also: Callable[[LedgerTurn, Policy, Entry], None] | None = None,
        owner: bool = True,
        any_clock: bool = False,
    ) -> Entry | None:
        """Write one of the owners' entries, worked out under the policy of that moment; always signed and forced.

        None if there is nothing to write, since the policy says it already.
        """
        with self.book.transaction() as transaction:
            (last,) = transaction.read((statements.LAST, {}))
            turn = self.begin(transaction, last, any_clock=any_clock)
            for anchor in self.anchors.read().values():  # owners write rarely: all of them, whoever wrote them
                (rows,) = transaction.read((statements.HASH, {"sequence": anchor.sequence}))
                self._check_head(anchor, rows)
            policy = Policy.read(_typed_entries(transaction.stream(statements.POLICY)))
            if (entry_fields := fields(policy)) is None:
                self.policy = policy
                return None
            entry = turn.append(entry_fields, owner=owner, key=self.key)
            if owner:
                self._open_accounts(turn, policy, entry)
            if also is not None:
                also(turn, policy, entry)
            turn.finish()
        self.policy, self.seen = policy, entry.sequence
        self.anchors.cover(
            OWNERS, entry.sequence, entry.hash, (Amount(), Amount()), check=self._check_anchor, force=True
        )
        return entry

    def cover(
        self, entry: tuple[int, bytes], totals: Mapping[str, Totals], *, recent: Mapping[int, bytes] | None = None
    ) -> None:
        """Anchor an entry for each population, before anything about it is shown.

        ``recent`` are heads that were found in the book: somebody else's anchor of one of them need not be looked up.
        """

        def check(anchor: Anchor) -> None:
            if recent is None or recent.get(anchor.sequence) != anchor.head:
                self._check_anchor(anchor)

        for name, spent in totals.items():
            self.anchors.cover(name, *entry, spent, check=check)

    def read_anchors(self, populations: Iterable[str]) -> dict[str, Anchor]:
        """What the second place says of these populations; read before a turn, so that nobody waits for it."""
        anchors = {name: self.anchors.latest(name) for name in populations}
        return {name: anchor for name, anchor in anchors.items() if anchor is not None}

    def others_write(self, populations: Iterable[str]) -> bool:
        """Whether another process has anchored one of these populations last."""
        return any(not self.anchors.is_own(anchor) for anchor in self.read_anchors(populations).values())

    def check_anchors(
        self, anchors: Mapping[str, Anchor], heads: Iterable[list[Row]], pool: Pool, totals: Mapping[str, Row]
    ) -> None:
        """Refuse to go on if the second place knows better: of another history, or of more that was spent.

        ``heads`` are what the book has at the place of each anchor. Somebody may write a newer anchor before the turn
        ends: ``cover`` looks again before anything is shown.
        """
        for (name, anchor), rows in zip(anchors.items(), heads, strict=True):
            self._check_head(anchor, rows)
            known = dict(zip(Pool, anchor.totals, strict=True))[pool]
            row = totals.get(account_key(name, pool))
            total = Amount() if row is None else total_of(row)
            if any(now < then for now, then in zip(total, known, strict=True)):
                raise behind_anchor(f"{name!r} had spent more when it was anchored than its total says now")

    def _check_anchor(self, anchor: Anchor) -> None:
        with self.book.snapshot(shown=False) as view:
            (rows,) = view.read((statements.HASH, {"sequence": anchor.sequence}))
        self._check_head(anchor, rows)

    def _check_head(self, anchor: Anchor, rows: list[Row]) -> None:
        """An anchored entry stands in this book, or was lost before a restore that says so."""
        if not rows and not self.policy.is_lost(anchor.sequence):
            raise behind_anchor(f"entry {anchor.sequence} was anchored and is gone")
        if rows and rows[0][0] != anchor.head:
            raise behind_anchor(
                f"entry {anchor.sequence} is another than the one that was anchored: two copies of it were in use"
            )

    def close(self) -> None:
        """Force the anchors to disk and let the book go."""
        self.anchors.close()
        self.book.close()

    @staticmethod
    def _open_accounts(turn: LedgerTurn, policy: Policy, entry: Entry) -> None:
        """Apply the entry, and start a total for each account that it brings."""
        before = policy.all_accounts().keys()
        policy.apply(entry, entry.fields())
        for key, account in policy.all_accounts().items():
            if key not in before:
                owed = policy.owed.get(key, Amount())
                turn.add(
                    statements.ADD_TOTAL,
                    account=key,
                    period=account.period(entry.at),
                    **total_values(owed),
                )

    def _read_policy(self) -> Policy | None:
        with self.book.snapshot() as view:
            view.read_anything()  # text that is none was altered, and is told of as such
            policy = Policy.read(_typed_entries(view.stream(statements.POLICY)))
        return policy if policy.ledger else None

    def _fill_totals(self) -> None:
        """Bring the totals of a book of 0.1 up to date, which knew nothing of the basic account."""
        with self.book.snapshot() as view:
            (missing,) = view.read((statements.NOT_FILLED, {}))
        if missing:
            with self.book.transaction() as transaction:
                fill_basic_totals(transaction)

    def _found(self) -> Policy:
        """The first entry of a new ledger, unless another was here before."""
        with self.book.transaction() as transaction:
            (last,) = transaction.read((statements.LAST, {}))
            if not last:  # nobody else began it meanwhile
                if (known := self.place.known(self.book.location)) is not None:
                    raise behind_anchor(f"ledger {known} was here before, and this one is empty")
                self._write_first(transaction)
        policy = self._read_policy()
        if policy is None:
            raise LedgerDamaged(
                "the first entry of the ledger is missing or altered.",
                why="It names the ledger and the key that signs it.",
                fix="Run `hubbub ledger verify` to see what else is, and restore a backup.",
            )
        self.place.note(self.book.location, policy.ledger)
        with self.book.snapshot() as view:
            ((first,),) = view.read((statements.HASH, {"sequence": 1}))
        Anchors(self.place.of(policy.ledger)).cover(OWNERS, 1, first[0], (Amount(), Amount()), force=True)
        return policy

    def _write_first(self, transaction: Transaction) -> None:
        identity = secrets.token_hex(16)
        key = self.place.new_key(identity)
        public = key.public_key().public_bytes_raw().hex()
        turn = LedgerTurn(transaction, (0, 0, 0, ORIGIN), time.time_ns() // 1000)
        turn.append({"kind": "ledger", "ledger": identity, "key": public, "format": 1}, owner=True, key=key)
        turn.finish()

    def _check_opening(self) -> None:
        """The last two entries fit together, and nothing that was anchored is gone."""
        known = self.place.known(self.book.location)
        if known not in (None, self.policy.ledger):
            raise behind_anchor(f"ledger {known} was here before, and this is another one")
        anchors = self.anchors.read().values()  # before the book is looked at, which others may be writing
        with self.book.snapshot() as view:
            view.read_anything()
            (last,) = view.read((statements.LAST, {}))
            (tail,) = view.read((statements.BEFORE, {"sequence": last[0][0]}))
            newest = _last_entry(tail)
            for anchor in anchors:
                (rows,) = view.read((statements.HASH, {"sequence": anchor.sequence}))
                self._check_head(anchor, rows)
        self.seen = newest.sequence


def _last_entry(tail: list[Row]) -> Entry:
    """The last entry, if it follows the one before it."""
    try:
        newest, *before = map(typed_entry, tail)
        follows = newest.follows(before[0].hash if before else ORIGIN)
    except (TypeError, ValueError):  # a field of a type that is never written
        follows = False
    if not follows:
        raise LedgerDamaged(
            "the last entry of the ledger was altered.",
            why="Its hash does not fit what it says and what came before.",
            fix="Run `hubbub ledger verify` to see what else is, and restore a backup.",
        )
    return newest


def total_of(row: Row) -> Amount:
    """The amount that a row of the totals holds: account, period, and the numbers."""
    return Amount(*(int(number or 0) for number in row[2:]))


def total_values(total: Amount) -> dict[str, str]:
    """An amount as the columns of a total."""
    return {name: str(number) for name, number in zip(statements.TOTAL, total, strict=True)}


def behind_anchor(reason: str) -> BehindAnchor:
    """The refusal to go on from a cut or replaced book."""
    return BehindAnchor(
        f"this ledger is not the whole one: {reason}.",
        why="Going on would forget what was spent, and could answer a question a second time for one charge.",
        fix="Bring the whole ledger back, or `hubbub ledger restore` a backup: it counts what is missing as spent.",
    )


def _typed_entries(rows: Iterator[Row]) -> Iterator[Entry]:
    return map(typed_entry, rows)
