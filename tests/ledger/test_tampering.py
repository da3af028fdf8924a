"""Whoever alters, drops, moves, adds or rewrites anything in a book without its key and its anchor is found out."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import psycopg
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hubbub.durable import canonical_json
from hubbub.ledger import BudgetWindow, Ledger, Pool, Request, Reservation, verify_export
from hubbub.ledger.book.chain import ORIGIN, entry_hash, sha256_hex
from hubbub.ledger.book.sql_schema import FORMAT
from hubbub.mechanisms import Gaussian
from hubbub.terms import BehindAnchor, Budget, HubbubError, LedgerDamaged, NewerFormat, Unreadable
from tests.charging import ask
from tests.ledger._asking import WHO, Place, any_answer, open_ledger, request

Row = dict[str, Any]
TABLES = ("entries", "events", "answers", "totals")
PLAN = Gaussian(sensitivity=1, rho=0.001).event


# ---------------------------------------------------------------- a small book with something of everything


def build(place: Place, halfway: Callable[[], None] = lambda: None) -> None:
    """Owners' acts of every kind, charges in both pools, attempts, a failure, an erasure; the tail is an answer."""
    with open_ledger(place) as ledger:
        _owners(ledger)
        ask(ledger, _patients("first"), any_answer)
        halfway()
        ask(ledger, request("staff", population="staff"), any_answer)
        ask(ledger, _patients("shared", population=("patients", "visitors"), project="flu"), any_answer)
        ask(ledger, _patients("plan", event=PLAN, pool=Pool.PLANS, delta=Fraction(1, 10**7)), any_answer)
        for _ in range(4):
            held = ledger.reserve(_patients("stubborn"))
        assert isinstance(held, Reservation)
        ledger.fail(held, "timeout")
        gone = ask(ledger, _patients("to be erased"), any_answer)
        ledger.erase([gone.sequence - 1], **WHO)
        ledger.grant("patients", Budget(Fraction(1, 10), Fraction(1, 10**8)), project="flu", **WHO)
        ask(ledger, request("staff again", population="staff"), any_answer)
        ask(ledger, _patients("last", project="flu"), any_answer)


def _patients(name: str, **changes: Any) -> Request:
    return request(name, **({"population": "patients"} | changes))


def _owners(ledger: Ledger) -> None:
    budget = Budget(3, Fraction(1, 10**6))
    window = BudgetWindow(Budget(2, Fraction(1, 10**6)), "year")
    plans = Budget(1, Fraction(1, 2 * 10**6))
    ledger.open_population("patients", budget, plans=plans, lifetime=Budget(5, Fraction(1, 10**5)), **WHO)
    ledger.open_population("visitors", budget, plans=plans, **WHO)
    ledger.open_population("staff", Budget(2), each=Budget(1), **WHO)
    ledger.declare_disjoint("patients", "staff", **WHO)
    ledger.declare_disjoint("visitors", "staff", **WHO)
    ledger.change_rules("patients", window=window, **WHO)
    ledger.declare_dataset("hospital", version="1", population="patients", **WHO)
    plea = ledger.request_budget("patients", budget, project="flu", **WHO)
    ledger.grant("patients", budget, project="flu", plea=plea, **WHO)
    ledger.revoke("patients", Budget(1, Fraction(1, 10**7)), project="flu", **WHO)
    ledger.decline_request(ledger.request_budget("staff", Budget(1), **WHO), **WHO)


@dataclass(frozen=True)
class Book:
    """A finished ledger in a file that can be put back as it was."""

    place: Place
    pristine: bytes
    half: bytes  # as it was in the middle
    rows: dict[str, list[Row]]

    def reset(self, content: bytes | None = None) -> None:
        for path in Path(self.place[0]).parent.glob("ledger.db*"):
            path.unlink()
        Path(self.place[0]).write_bytes(self.pristine if content is None else content)

    def write(self, table: str, old: Row | None, new: Row | None) -> None:
        """Put one row in another's place."""
        with changing(self.place[0]) as connection:
            if old is not None:
                key = next(iter(old))
                connection.execute(f"DELETE FROM {table} WHERE {key} = ?", [old[key]])
            if new is not None:
                _insert(connection, table, [new])

    def rewrite(self, entries: list[Row], **tables: list[Row]) -> None:
        """Replace all entries (and other tables, if given)."""
        with changing(self.place[0]) as connection:
            for table, rows in ({"entries": entries} | tables).items():
                connection.execute(f"DELETE FROM {table}")
                _insert(connection, table, rows)

    def entries(self) -> list[Row]:
        """Copies of the entries, to be altered."""
        return [dict(row) for row in self.rows["entries"]]


@contextmanager
def changing(path: str) -> Iterator[sqlite3.Connection]:
    """The book in the hands of somebody who does not go through the ledger."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA synchronous = OFF")  # there are thousands of deeds
        yield connection
        connection.commit()


def _drop_guards(connection: sqlite3.Connection) -> None:
    """What an attacker would do first."""
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {name}")


def _insert(connection: sqlite3.Connection, table: str, rows: list[Row]) -> None:
    names = list(rows[0])
    marks = ", ".join("?" * len(names))
    connection.executemany(
        f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})", [list(row.values()) for row in rows]
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Book:
    folder = tmp_path_factory.mktemp("tampering")
    place = (str(folder / "ledger.db"), folder / "state")
    copy = folder / "half"

    def halfway() -> None:
        with closing(sqlite3.connect(place[0])) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)

    build(place, halfway)
    with changing(place[0]) as connection:
        _drop_guards(connection)
        connection.row_factory = sqlite3.Row
        rows = {table: [dict(row) for row in connection.execute(f"SELECT * FROM {table}")] for table in TABLES}
    return Book(place, Path(place[0]).read_bytes(), copy.read_bytes(), rows)


@pytest.fixture
def book(made: Book) -> Book:
    made.reset()
    return made


def escaped(place: Place) -> str | None:
    """None if what was done to the book is found, by verifying or already by opening; else what happened instead."""
    try:
        with open_ledger(place) as ledger:
            return "nothing was found" if ledger.verify().ok else None
    except (BehindAnchor, LedgerDamaged, NewerFormat):
        return None
    except Exception as error:
        return f"not in our words: {error!r}"


def escaped_signatures(book: Book, elsewhere: Path) -> str | None:
    """The same where no anchor is at hand: with another second place."""
    try:
        with Ledger(book.place[0], state=elsewhere) as ledger:
            return "nothing was found" if ledger.verify(anchor=False).ok else None
    except LedgerDamaged:
        return None
    except Exception as error:
        return f"not in our words: {error!r}"


# ---------------------------------------------------------------- what may be altered


def other_values(column: str, value: Any) -> Iterator[Any]:
    """Other things that a column could say."""
    if column == "body" and isinstance(value, str) and value.startswith("{"):
        yield from islice(other_bodies(value), 2)  # all of them are tried with the chain made to fit
        yield value + " "
    elif column in {"sequence", "charge"}:
        yield from (value + 1000, -value)
    elif isinstance(value, int):
        yield from (value + 1, value - 1)
    elif isinstance(value, bytes):
        yield from (bytes([value[0] ^ 1]) + value[1:], value[:-1])
    elif isinstance(value, str):
        yield from (value + "1", "1" + value)
    elif column == "project":
        yield from ("flu", "")
    elif column == "body":
        yield "unerased"
    else:
        yield from (bytes(64 if column == "signature" else 32), b"")
    if column in {"fingerprint", "project"} and value is not None:
        yield None


def other_bodies(body: str) -> Iterator[str]:
    """Each field altered, each left out, one added."""
    said = json.loads(body)
    for name, value in said.items():
        yield canonical_json(said | {name: altered(value)})
        yield canonical_json({n: v for n, v in said.items() if n != name})
    yield canonical_json(said | {"extra": 1})


def altered(value: Any) -> Any:
    """A value of the same type that says something else."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        return f"{value}1"
    if isinstance(value, list):
        return [*value[:-1], altered(value[-1])] if value else [1]
    if isinstance(value, dict):
        first = next(iter(value), "x")
        return value | {first: altered(value.get(first))}
    return 1


def rehashed(entries: list[Row]) -> list[Row]:
    """The same entries, each with the hash that fits the one before: what anybody can do without a key."""
    previous, chain = ORIGIN, []
    for row in entries:
        parts = [row[n] for n in ("sequence", "at", "policy", "fingerprint", "project", "body")]
        previous = entry_hash(previous, *parts)
        chain.append(row | {"hash": previous})
    return chain


def renumbered(entries: list[Row]) -> list[Row]:
    """The same entries, numbered without a gap; owners' entries still name themselves as policy."""
    numbers = {row["sequence"]: number for number, row in enumerate(entries, start=1)}
    return [
        row | {"sequence": number, "policy": numbers.get(row["policy"], row["policy"])}
        for number, row in enumerate(entries, start=1)
    ]


# ---------------------------------------------------------------- one thing altered


def test_the_book_has_something_of_everything_and_verifies(book: Book) -> None:
    kinds = {json.loads(row["body"])["kind"] for row in book.rows["entries"]}
    owners = {"ledger", "population", "rules", "grant", "revoke", "disjoint", "dataset", "plea", "refusal"}
    assert kinds == owners | {"charge", "attempt", "answer", "failure", "erase"}
    assert escaped(book.place) == "nothing was found"


@pytest.mark.parametrize("table", TABLES)
def test_every_column_of_every_row_altered_is_found(book: Book, table: str) -> None:
    missed = []
    for row in book.rows[table]:
        for column, value in row.items():
            for other in other_values(column, value):
                book.reset()
                book.write(table, row, row | {column: other})
                if (how := escaped(book.place)) is not None:
                    missed.append((how, next(iter(row.values())), column, value, other))
    assert not missed, "\n".join(map(str, missed))


def test_an_owners_entry_without_its_signature_is_found(book: Book) -> None:
    missed = []
    for row in book.rows["entries"]:
        if row["policy"] == row["sequence"]:
            book.reset()
            book.write("entries", row, row | {"signature": None})
            if (how := escaped(book.place)) is not None:
                missed.append((how, row["sequence"]))
    assert not missed, "\n".join(map(str, missed))


@pytest.mark.parametrize("table", TABLES)
def test_every_row_dropped_is_found(book: Book, table: str) -> None:
    missed = []
    for row in book.rows[table]:
        book.reset()
        book.write(table, row, None)
        if (how := escaped(book.place)) is not None:
            missed.append((how, row))
    assert not missed, "\n".join(map(str, missed))


@pytest.mark.parametrize(
    ("table", "row"),
    [
        ("answers", {"charge": 1000, "sequence": 1001, "body": "an answer"}),
        ("answers", {"charge": 1000, "sequence": 1001, "body": None}),
        ("totals", {"account": "nobody///questions", "period": "", "loss": "0", "delta": "0"}),
    ],
)
def test_a_row_added_beside_the_entries_is_found(book: Book, table: str, row: Row) -> None:
    book.write(table, None, row)
    assert escaped(book.place) is None


@pytest.mark.parametrize("number", [0, FORMAT + 1, None])
def test_an_altered_number_of_the_format_is_found(book: Book, number: int | None) -> None:
    with changing(book.place[0]) as connection:
        connection.execute("DELETE FROM about" if number is None else f"UPDATE about SET format = {number}")
    with pytest.raises(HubbubError):
        open_ledger(book.place)


def test_two_entries_swapped_are_found(book: Book) -> None:
    said = ("body", "fingerprint", "project")
    missed = []
    for place in range(len(book.rows["entries"]) - 1):
        entries = book.entries()
        one, other = entries[place], entries[place + 1]
        for name in said:
            one[name], other[name] = other[name], one[name]
        book.reset()
        book.rewrite(entries)
        if (how := escaped(book.place)) is not None:
            missed.append((how, one, other))
    assert not missed, "\n".join(map(str, missed))


def test_an_entry_added_at_the_end_is_found(book: Book) -> None:
    """A grant nobody signed; a charge that no total knows; a second answer to a charge; none needs a key to hash."""
    last, missed = book.rows["entries"][-1], []
    for source in book.rows["entries"][1:]:
        number = last["sequence"] + 1
        own = source["policy"] == source["sequence"]
        forged = source | {"sequence": number, "at": last["at"], "policy": number if own else last["policy"]}
        book.reset()
        book.rewrite(rehashed([*book.entries(), forged | {"signature": None}]))
        if (how := escaped(book.place)) is not None:
            missed.append((how, source["body"]))
    assert not missed, "\n".join(map(str, missed))


# ---------------------------------------------------------------- the chain made to fit again


def test_an_entry_altered_with_the_chain_made_to_fit_is_found(book: Book) -> None:
    missed = []
    for place, row in enumerate(book.rows["entries"]):
        for body in other_bodies(row["body"]):
            entries = book.entries()
            entries[place]["body"] = body
            book.reset()
            book.rewrite(rehashed(entries))
            if (how := escaped(book.place)) is not None:
                missed.append((how, row["body"], body))
    assert not missed, "\n".join(map(str, missed))


def test_an_entry_dropped_or_doubled_with_the_chain_made_to_fit_is_found(book: Book) -> None:
    missed = []
    for place in range(len(book.rows["entries"])):
        for middle in ([], [dict(book.rows["entries"][place])] * 2):
            entries = book.entries()
            entries[place : place + 1] = middle
            book.reset()
            book.rewrite(rehashed(renumbered(entries)))
            if (how := escaped(book.place)) is not None:
                missed.append((how, place, len(middle)))
    assert not missed, "\n".join(map(str, missed))


def test_a_book_rewritten_before_its_last_signature_is_found_without_an_anchor(book: Book, tmp_path: Path) -> None:
    signed = max(row["sequence"] for row in book.rows["entries"] if row["signature"] is not None)
    for place, row in enumerate(book.rows["entries"]):
        if row["sequence"] <= signed:
            entries = book.entries()
            entries[place]["at"] += 1 if place == 0 else 0
            entries[place]["body"] = canonical_json(json.loads(row["body"]) | {"title": "something else"})
            book.reset()
            book.rewrite(rehashed(entries))
            assert escaped_signatures(book, tmp_path) is None, row["body"]


def test_a_cut_tail_is_found_however_neatly_it_is_cut(book: Book) -> None:
    """The last question taken out with its answer, its charge and what it added to every total."""
    entries = book.entries()
    *rest, charge, answer = entries
    said = json.loads(charge["body"])
    assert json.loads(answer["body"])["charge"] == charge["sequence"]
    gone = {who: _units(said, who) for who in said["charged"]}
    totals = [_without(row, gone, charge["project"]) for row in book.rows["totals"]]
    answers = [row for row in book.rows["answers"] if row["charge"] != charge["sequence"]]
    book.rewrite(rest, answers=answers, totals=totals)
    assert escaped(book.place) is None
    with Ledger(book.place[0], state=book.place[1].with_name("nowhere")) as ledger:
        assert ledger.verify(anchor=False).ok  # so neatly that only the anchor tells


NUMBERS = {"loss": 10**24, "delta": 10**40, "epsilon": 10**24, "tail": 10**40}


def _units(said: dict[str, Any], who: str) -> dict[str, int]:
    """What a charge cost somebody in each account, in whole units."""
    costs = [*said["charged"][who][:2], *said.get("basic", {}).get(who, ["0", "0"])[:2]]
    return {name: int(Fraction(cost) * unit) for cost, (name, unit) in zip(costs, NUMBERS.items(), strict=True)}


def _without(row: Row, gone: dict[str, dict[str, int]], project: str) -> Row:
    """A total less a charge, for each account that the charge was held against."""
    who, its_project, analyst, pool = row["account"].split("/")
    touched = who in gone and its_project in {"", project} and analyst == "" and pool in {"questions", "window"}
    if not touched:
        return row
    return row | {name: str(int(row[name]) - cost) for name, cost in gone[who].items()}


def test_an_older_copy_in_its_place_is_refused(book: Book) -> None:
    book.reset(book.half)
    with pytest.raises(BehindAnchor):
        open_ledger(book.place)


def test_an_empty_file_in_its_place_is_refused(book: Book) -> None:
    for content in (b"", None):
        book.reset(content)
        if content is None:
            Path(book.place[0]).unlink()
        with pytest.raises(BehindAnchor):
            open_ledger(book.place)


def test_a_book_rewritten_and_signed_with_another_key_is_refused(book: Book) -> None:
    """The whole chain hashed and signed anew under a key of the forger's, which the first entry then names."""
    key = Ed25519PrivateKey.generate()
    entries = book.entries()
    public = key.public_key().public_bytes_raw().hex()
    entries[0]["body"] = canonical_json(json.loads(entries[0]["body"]) | {"key": public})
    forged = [
        row | {"signature": key.sign(row["hash"]) if row["signature"] is not None else None}
        for row in rehashed(entries)
    ]
    book.rewrite(forged)
    with Ledger(book.place[0], state=book.place[1].with_name("nowhere")) as ledger:
        assert ledger.verify(anchor=False).ok  # it fits in itself
        export = Path(book.place[0]).with_name("forged.jsonl")
        export.write_text("".join(line + "\n" for line in ledger.export(answers=True)))
    assert escaped(book.place) is None
    assert verify_export(export).ok
    original = json.loads(book.rows["entries"][0]["body"])["key"]
    assert not verify_export(export, public_key=original).ok


def test_a_forged_event_with_a_smaller_cost_is_found(book: Book, tmp_path: Path) -> None:
    """Event, digest and chain all made to fit."""
    (row,) = [row for row in book.rows["events"] if json.loads(row["body"])["kind"] == "pure"]
    body = canonical_json(json.loads(row["body"]) | {"epsilon": "0.02"})
    events = [row | {"digest": sha256_hex(body), "body": body}] + [r for r in book.rows["events"] if r is not row]
    entries = [r | {"body": r["body"].replace(row["digest"], sha256_hex(body))} for r in book.rows["entries"]]
    book.rewrite(rehashed(entries), events=events)
    assert escaped(book.place) is None
    assert escaped_signatures(book, tmp_path) is None


def test_a_damaged_file_is_refused(book: Book) -> None:
    """Cut short at any length, or with a page overwritten."""
    size = len(book.pristine)
    for length in (1, 15, 16, 99, 100, 4095, 4096, size // 2, size - 1):
        book.reset(book.pristine[:length])
        assert escaped(book.place) is None, f"cut at {length} bytes"
    for page in range(0, size, 4096):
        book.reset(book.pristine[:page] + bytes(4096) + book.pristine[page + 4096 :])
        assert escaped(book.place) is None, f"page at {page} overwritten"


# ---------------------------------------------------------------- exports


def test_an_altered_export_is_found(book: Book, tmp_path: Path) -> None:
    path = tmp_path / "book.jsonl"
    with open_ledger(book.place) as ledger:
        lines, key = list(ledger.export(answers=True)), ledger.public_key
    missed = []

    def escaped_export(content: list[str]) -> str | None:
        path.write_text("".join(line + "\n" for line in content))
        try:
            return "nothing was found" if verify_export(path, public_key=key).ok else None
        except Unreadable:
            return None
        except Exception as error:
            return f"not in our words: {error!r}"

    assert escaped_export(lines) == "nothing was found"
    for place, line in enumerate(lines[1:], start=1):
        said = json.loads(line)
        changed = [canonical_json(said | {name: altered(value)}) for name, value in said.items() if name != "time"]
        for other in changed:
            if (how := escaped_export([*lines[:place], other, *lines[place + 1 :]])) is not None:
                missed.append((how, line, other))
        if (how := escaped_export([*lines[:place], *lines[place + 1 :]])) is not None:
            missed.append((how, line, "dropped"))
    assert not missed, "\n".join(map(str, missed))


def test_an_export_whose_last_lines_are_missing_is_told_by_its_head(book: Book, tmp_path: Path) -> None:
    """An export carries no anchor, so what is missing at its end shows only beside a receipt or a head."""
    path = tmp_path / "book.jsonl"
    with open_ledger(book.place) as ledger:
        path.write_text("".join(line + "\n" for line in list(ledger.export())[:-1]))
        assert verify_export(path).head != ledger.verify().head


# ---------------------------------------------------------------- PostgreSQL

DEEDS = {
    "a body": "UPDATE entries SET body = replace(body, '0.01', '0.001') WHERE body LIKE '%charged%'",
    "a time": "UPDATE entries SET at = at + 1 WHERE sequence = 5",
    "a fingerprint": "UPDATE entries SET fingerprint = sha256(fingerprint) WHERE fingerprint IS NOT NULL",
    "a hash": "UPDATE entries SET hash = sha256(hash) WHERE sequence = 7",
    "an owner's signature": "UPDATE entries SET signature = NULL WHERE sequence = 2",
    "an entry dropped": "DELETE FROM entries WHERE sequence = 6",
    "the tail dropped": "DELETE FROM entries WHERE sequence = (SELECT max(sequence) FROM entries)",
    "two swapped": "UPDATE entries SET sequence = CASE sequence WHEN 3 THEN -1 ELSE 3 END WHERE sequence IN (3, 4);"
    "UPDATE entries SET sequence = 4 WHERE sequence = -1",
    "an event": "UPDATE events SET body = replace(body, '0.01', '0.001')",
    "an answer": "UPDATE answers SET body = reverse(body)",
    "an answer dropped": "DELETE FROM answers WHERE charge = (SELECT min(charge) FROM answers)",
    "a total": "UPDATE totals SET loss = '0'",
}


def test_the_same_deeds_are_found_in_postgresql(database: str, tmp_path: Path) -> None:
    place, missed = (database, tmp_path / "state"), []
    build(place)
    assert escaped(place) == "nothing was found"
    copies = [f"CREATE TABLE kept_{table} AS TABLE {table}" for table in TABLES]
    with psycopg.connect(database, autocommit=True, options="-c search_path=hubbub") as connection:
        connection.execute("DROP FUNCTION append_only CASCADE")
        for copy in copies:
            connection.execute(copy)  # type: ignore[call-overload]
        for name, deed in DEEDS.items():
            for statement in deed.split(";"):
                changed = connection.execute(statement)  # type: ignore[call-overload]
                assert changed.rowcount > 0, name
            if (how := escaped(place)) is not None:
                missed.append((how, name))
            for table in TABLES:
                connection.execute(f"TRUNCATE {table}")  # type: ignore[call-overload]
                connection.execute(f"INSERT INTO {table} TABLE kept_{table}")  # type: ignore[call-overload]
            assert escaped(place) == "nothing was found"
    assert not missed, "\n".join(map(str, missed))


def test_entries_and_events_cannot_be_changed_by_a_plain_statement(ledger: Ledger, url: str) -> None:
    """The guards stop a slip of the hand, not an attacker."""
    ledger.open_population("people", Budget(1), **WHO)
    ask(ledger, request("one"), any_answer)
    postgresql = url.startswith("postgresql")
    errors = (psycopg.Error, sqlite3.IntegrityError)
    connect: Callable[[], Any] = (
        (lambda: psycopg.connect(url, autocommit=True, options="-c search_path=hubbub"))
        if postgresql
        else (lambda: sqlite3.connect(url, isolation_level=None))
    )
    deeds = ["UPDATE entries SET at = 0", "DELETE FROM entries", "UPDATE events SET body = ''", "DELETE FROM events"]
    with closing(connect()) as connection:
        for deed in deeds:
            with pytest.raises(errors):
                connection.execute(deed)
    assert ledger.verify().ok


def test_a_ledger_moved_with_its_second_place_still_verifies(book: Book, tmp_path: Path) -> None:
    """What is found above is found because of the deed, not because of the file's new place."""
    shutil.copy(book.place[0], tmp_path / "moved.db")
    shutil.copytree(book.place[1], tmp_path / "state")
    with Ledger(tmp_path / "moved.db", state=tmp_path / "state") as ledger:
        assert ledger.verify().ok
