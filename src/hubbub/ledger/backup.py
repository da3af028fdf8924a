"""Taking a book elsewhere: export as JSON Lines, back up into a file, restore with the gap to the anchor as spent."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hubbub.accounting import UNKNOWN, Amount, Currency, Limit
from hubbub.durable import canonical_json
from hubbub.ledger.book import statements
from hubbub.ledger.book.anchors import OWNERS, Anchor, Anchors
from hubbub.ledger.book.chain import Entry, iso_time
from hubbub.ledger.book.database import Book, Transaction
from hubbub.ledger.book.drivers import Row
from hubbub.ledger.book.second_place import SecondPlace
from hubbub.ledger.book.sql_schema import ANSWERS, ENTRIES, EVENTS, TOTALS
from hubbub.ledger.decimals import amount_decimals, basic_decimals
from hubbub.ledger.open_ledger import Core, LedgerTurn, total_of, total_values
from hubbub.ledger.policy import NONSENSE, Policy, account_key
from hubbub.ledger.requests import Pool
from hubbub.ledger.verify import Replay, Verification, compare_anchors, compare_tables, fill_basic_totals
from hubbub.terms import BehindAnchor, LedgerDamaged, LedgerUnavailable, Unreadable, plain_text

FORM = "hubbub-ledger/1"
_BATCH = 2000
_OTHER_KEY = "the book names another public key than the one expected"


# ---------------------------------------------------------------- JSON Lines


def export_lines(view: Transaction, *, answers: bool) -> Iterator[str]:
    """The book as JSON Lines: a header, each event before its first use, each entry, and answers if asked for."""
    yield canonical_json({"form": FORM})
    known: set[str] = set()
    for row in view.stream(statements.FROM, {"start": 0}):
        fields = json.loads(row[5])
        name = fields.get("event")
        if name is not None and name not in known:
            known.add(name)
            ((body,),) = view.read((statements.EVENT, {"digest": name}))[0]
            yield canonical_json({"event": name, "says": json.loads(body)})
        yield canonical_json(line_of(row, fields))
    if answers:
        for charge, sequence, body in view.stream(statements.ALL_ANSWERS):
            yield canonical_json({"answer_to": charge, "settled_by": sequence, "record": body})


def line_of(row: Row, fields: Mapping[str, Any]) -> dict[str, Any]:
    """One entry as a line says it."""
    sequence, at, policy, fingerprint, project, _, mark, signature = row
    return {
        "sequence": sequence,
        "at": at,
        "time": iso_time(at),
        "policy": policy,
        "fingerprint": fingerprint.hex() if fingerprint else None,
        "project": project,
        "says": dict(fields),
        "hash": mark.hex(),
        "signature": signature.hex() if signature else None,
    }


def verify_export(path: str | Path, *, public_key: str | None = None) -> Verification:
    """Check an exported book: hashes, costs, limits and signatures, against a public key known from elsewhere."""
    events: dict[str, str] = {}
    replay = Replay(events)
    answers: list[Row] = []
    try:
        with Path(path).open(encoding="utf-8") as file:
            header = json.loads(next(file, "null"))
            if not isinstance(header, dict) or header.get("form") != FORM:
                raise _no_export()
            for line in file:
                _replay_line(json.loads(line), replay, events, answers)
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise _no_export() from error
    replay.finish()
    if answers:
        kept = [(key, total.period, *map(str, total.spent)) for key, total in replay.totals.items()]
        compare_tables(replay, answers, kept)
    if public_key is not None and replay.policy.public_key != public_key:
        replay.problem(_OTHER_KEY)
    return summarize_replay(replay, None)


def _replay_line(line: dict[str, Any], replay: Replay, events: dict[str, str], answers: list[Row]) -> None:
    if "sequence" in line:
        if line["time"] != iso_time(line["at"]):
            replay.problem("an entry tells another time than it was written at")
        replay.feed(
            (
                line["sequence"],
                line["at"],
                line["policy"],
                _bytes_from_hex(line["fingerprint"]),
                line["project"],
                canonical_json(line["says"]),
                bytes.fromhex(line["hash"]),
                _bytes_from_hex(line["signature"]),
            )
        )
    elif "event" in line:
        events[line["event"]] = canonical_json(line["says"])
    else:
        charge, settled, record = line["answer_to"], line["settled_by"], line["record"]
        if not (type(charge) is type(settled) is int and isinstance(record, str | None)):
            raise TypeError("an answer is a text between two numbers")
        answers.append((charge, settled, record))


def _bytes_from_hex(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


def _no_export() -> Unreadable:
    return Unreadable(
        "this file is not a whole export of a ledger.",
        why="An export is JSON Lines, its first line the form, as `hubbub ledger export` writes it.",
        fix="Export the ledger again.",
    )


# ---------------------------------------------------------------- verification of a book


def verify_ledger(
    url: str | Path, *, state: str | Path | None = None, anchor: bool = True, public_key: str | None = None
) -> Verification:
    """Check a ledger without opening it for use, which would refuse one that is cut or altered."""
    book = Book(url, create=False)
    try:
        first = _first_fields(book)
        verification = verify_book(
            book, Anchors(SecondPlace(state).of(str(first.get("ledger", "")))) if anchor else None
        )
    finally:
        book.close()
    if public_key is not None and public_key.lower() != first.get("key"):
        return replace(verification, problems=(*verification.problems, _OTHER_KEY))
    return verification


def _first_fields(book: Book) -> dict[str, Any]:
    """What the first entry says, or nothing if it was altered beyond reading."""
    with book.snapshot() as view:
        view.read_anything()
        (rows,) = view.read((statements.ENTRY, {"sequence": 1}))
    try:
        fields = Entry(*rows[0]).fields() if rows else {}
    except NONSENSE:
        return {}
    return fields if isinstance(fields, dict) else {}


def verify_book(book: Book, anchors: Anchors | None) -> Verification:
    """Check a whole book; without anchors a cut tail cannot be noticed."""
    kept = None if anchors is None else anchors.read()
    with book.snapshot() as view:
        view.read_anything()
        events: dict[str, str] = dict(view.stream(statements.ALL_EVENTS))
        replay = Replay(events)
        for row in view.stream(statements.FROM, {"start": 0}):
            replay.feed(row)
        replay.finish()
        if not view.sound():
            replay.problem("the database itself is damaged: a page or an index does not fit the rows")
        compare_tables(replay, view.stream(statements.ALL_ANSWERS), view.stream(statements.ALL_TOTALS))
        if kept is None:
            return summarize_replay(replay, None)
        wanted = {anchor.sequence for anchor in kept.values()}
        rows = {n: view.read((statements.HASH, {"sequence": n}))[0] for n in wanted}
    if not kept:
        replay.problem("there is no anchor in the second place: a cut tail could not be noticed")
    return summarize_replay(
        replay, compare_anchors(replay, kept, {n: anchored[0][0] for n, anchored in rows.items() if anchored})
    )


def summarize_replay(replay: Replay, anchored_to: int | None) -> Verification:
    """What a replay found."""
    return Verification(
        ledger=replay.policy.ledger,
        entries=replay.entries,
        charges=replay.charges,
        answers=replay.answers,
        head=replay.hash.hex(),
        signed_to=replay.signed_to,
        anchored_to=anchored_to,
        problems=tuple(replay.problems),
    )


# ---------------------------------------------------------------- backup and restore


def copy_book(book: Book, path: Path) -> int:
    """Copy a book, as of one moment, into a new file that is a ledger itself; returns its last entry's number."""
    if path.exists():
        raise LedgerUnavailable(
            "the backup would overwrite a file.",
            why="A backup is never written over another.",
            fix="Choose a name that is not taken.",
        )
    target = Book(path, create=True)
    try:
        with book.snapshot() as view, target.transaction() as into:
            return _copy_tables(view, into)
    finally:
        target.close()


def _copy_tables(view: Transaction, into: Transaction) -> int:
    last = 0
    for table in (ENTRIES, EVENTS, ANSWERS, TOTALS):
        names, statement = [column.name for column in table.columns], statements.copy_into(table)
        batch: list[tuple[Any, dict[str, Any]]] = []
        for row in view.stream(statements.every_row(table)):
            batch.append((statement, dict(zip(names, row, strict=True))))
            if len(batch) == _BATCH:
                into.write(*batch)
                batch.clear()
            last = max(last, row[0]) if table is ENTRIES else last
        into.write(*batch)
    return last


def restore_book(
    source: Path, target: str | Path, *, state: str | Path | None, spend_all: bool, by: str, why: str
) -> Entry:
    """Put a backup in a ledger's place; what was spent up to the anchor and is not in the backup counts as spent.

    Without an anchor nobody knows what was spent since the backup: then only ``spend_all`` helps, which counts all that
    is left as spent.
    """
    plain_text(by, name="by")
    plain_text(why, name="why")
    old = Book(source, create=False)
    try:
        checked = verify_book(old, None)
        if not checked.ok:
            raise LedgerDamaged(
                f"the backup does not verify: {checked.problems[0]}.",
                why="A damaged backup could hide what was spent.",
                fix="Use another backup.",
            )
        anchors = Anchors(SecondPlace(state).of(checked.ledger)).read()
        if not anchors and not spend_all:
            raise _no_anchor()
        with old.snapshot() as view:
            policy = Policy.read(Entry(*row) for row in view.stream(statements.POLICY))
        SecondPlace(state).key(policy.ledger, policy.public_key)  # missing? before anything is made
        new = Book(target, create=True)
        try:
            with new.transaction() as into:
                if into.read((statements.LAST, {}))[0]:
                    raise LedgerUnavailable(
                        "the place to restore into holds a ledger.",
                        why="A restore never overwrites entries.",
                        fix="Move the damaged ledger away first, and keep it for the record.",
                    )
                with old.snapshot() as view:
                    _copy_tables(view, into)
                fill_basic_totals(into)
                entry = _append_restore(into, anchors, SecondPlace(state), spend_all=spend_all, by=by, why=why)
        finally:
            new.close()
    finally:
        old.close()
    _after_restore(target, state, entry)
    return entry


def _append_restore(
    into: Transaction, anchors: Mapping[str, Anchor], place: SecondPlace, *, spend_all: bool, by: str, why: str
) -> Entry:
    ((last,),) = into.read((statements.LAST, {}))
    policy = Policy.read(Entry(*row) for row in into.stream(statements.POLICY))
    totals = {row[0]: total_of(row) for row in into.read((statements.ALL_TOTALS, {}))[0]}
    spent, unknown = _spent_since_backup(policy, totals, anchors, spend_all)
    anchored = max((anchor.sequence for anchor in anchors.values()), default=0)
    sequence = max(last[0], anchored) + 1
    turn = LedgerTurn(into, last, time.time_ns() // 1000)
    fields = {
        "kind": "restore",
        "lost": [last[0] + 1, sequence - 1] if sequence > last[0] + 1 else None,
        "spent": {key: list(amount_decimals(amount)) for key, amount in spent.items()},
        "unknown": {key: list(amount_decimals(amount)) for key, amount in unknown.items()},
        "spent_basic": {key: list(basic_decimals(amount)) for key, amount in spent.items()},
        "unknown_basic": {key: list(basic_decimals(amount)) for key, amount in unknown.items()},
        "by": by,
        "why": why,
    }
    entry = turn.append(fields, owner=True, key=place.key(policy.ledger, policy.public_key), sequence=sequence)
    for key, amount in spent.items():
        turn.add(statements.SPEND, key=key, period="", **total_values(totals[key] + amount))
    turn.finish()
    return entry


def _spent_since_backup(
    policy: Policy, totals: Mapping[str, Amount], anchors: Mapping[str, Anchor], spend_all: bool
) -> tuple[dict[str, Amount], dict[str, Amount]]:
    """What to count as spent: by accounts of the backup, and by populations that it does not know."""
    spent: dict[str, Amount] = {}
    unknown: dict[str, Amount] = {}
    for anchor in anchors.values():
        for pool, amount in zip(Pool, anchor.totals, strict=True):
            key = account_key(anchor.name, pool)
            missing = amount - totals.get(key, Amount())
            if not anchor.knows_basic and missing != Amount():
                missing = missing._replace(epsilon=UNKNOWN)
            if anchor.name != OWNERS and missing != Amount():
                (spent if key in totals else unknown)[key] = missing
    if spend_all:
        for who in policy.populations.values():
            for account in policy.population_accounts(who):
                if account.limit is not None:
                    known = spent.get(account.key, Amount())
                    spent[account.key] = _all_that_may_be_spent(account.limit, totals[account.key], known)
    return spent, unknown


def _all_that_may_be_spent(limit: Limit, total: Amount, known: Amount) -> Amount:
    """What to count beside a backup's total where nobody knows what was spent since: at least what is known.

    Of a budget that is counted both ways, one account may have gone far beyond its limit while the other held. So its
    concentrated account is closed, for later grants too, and its basic account is used up, not closed.

    Guarantee: with what a later grant adds to the basic account, all steps are within the budget with the grant.
    Because: whatever was let through before the restore is (epsilon, delta)-DP as a whole (docs/proofs/either-way.md),
    and steps that fit what the grant adds to the basic account add up to no more than it [RRUV16, Thm. 3.6].
    """
    whole = limit.whole
    if limit.currency is Currency.EITHER:
        whole = whole._replace(loss=UNKNOWN)
    return Amount(*map(max, zip(whole - total, known, strict=True)))


def _after_restore(target: str | Path, state: str | Path | None, entry: Entry) -> None:
    core = Core(target, state=state, create=False)
    core.place.note(core.book.location, core.policy.ledger)
    core.anchors.cover(OWNERS, entry.sequence, entry.hash, (Amount(), Amount()), force=True)
    core.close()


def _no_anchor() -> BehindAnchor:
    return BehindAnchor(
        "there is no anchor for this ledger here, so nobody knows what was spent since the backup.",
        why="A restore counts the gap between backup and anchor as spent.",
        fix="Bring the ledger's folder of the second place, or restore with spend_all (--spend-all).",
    )
