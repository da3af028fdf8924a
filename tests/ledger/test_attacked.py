"""Faults that attacks on the ledger found: each stays found."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hubbub.ledger import BudgetWindow, Ledger, Request, Reservation, fingerprint, verify_export, verify_ledger
from hubbub.ledger.policy import EVERY
from hubbub.mechanisms import DiscreteGaussian, Laplace
from hubbub.terms import (
    ApproximateStep,
    BehindAnchor,
    BelowLeastPrice,
    Budget,
    BudgetConflict,
    BudgetExceeded,
    Compose,
    GaussianNoise,
    HubbubError,
    InvalidParameter,
    LaplaceNoise,
    LedgerUnavailable,
    NeedsOwner,
    NoBound,
    Poisson,
    PureStep,
    Repeat,
    RequestChanged,
    TooLarge,
    Unit,
    Unreadable,
    WithoutReplacement,
    WrongShape,
    from_json,
    to_json,
)
from tests.charging import ask as charge
from tests.ledger._asking import WHO, Place, any_answer, open_ledger, request

ROW = Laplace(sensitivity=1, epsilon=Fraction(1, 10)).event
PERSON = Laplace(sensitivity=1, epsilon=Fraction(1, 10), unit=Unit("patients.id")).event


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return (str(tmp_path / "ledger.db"), tmp_path / "state")


@pytest.fixture
def ledger(place: Place) -> Iterator[Ledger]:
    with open_ledger(place) as opened:
        opened.open_population("people", Budget(1), **WHO)
        yield opened


def ask(ledger: Ledger, name: object, **changes: Any) -> Any:
    return charge(ledger, request(name, **changes), any_answer)


# ---------------------------------------------------------------- who is protected


def test_a_population_that_may_overlap_has_its_unit_respected_too(place: Place) -> None:
    with open_ledger(place) as ledger:
        ledger.open_population("patients", Budget(3), unit="patients.id", **WHO)
        ledger.open_population("visits", Budget(3), **WHO)
        with pytest.raises(BudgetConflict, match="may be among those"):
            ask(ledger, "rows", population="visits", event=ROW)
        ask(ledger, "people", population="visits", event=PERSON)
        ledger.declare_disjoint("patients", "visits", **WHO)
        ask(ledger, "rows", population="visits", event=ROW)


def test_a_currency_that_does_not_fit_names_the_budget_and_what_to_do(place: Place) -> None:
    with open_ledger(place) as ledger:
        ledger.open_population("patients", Budget(3, 1e-6), **WHO)
        ledger.open_population("rows", Budget(1), **WHO)
        noisy = DiscreteGaussian(sensitivity=1, sigma=40).event
        with pytest.raises(NoBound, match=r"the budget of 'rows'(.|\n)*hubbub budget disjoint patients rows"):
            ask(ledger, "noisy", population="patients", event=noisy)
        ledger.declare_disjoint("patients", "rows", **WHO)
        ask(ledger, "noisy", population="patients", event=noisy)


# ---------------------------------------------------------------- two copies of one book


def copy_of(place: Place, name: str) -> str:
    """A whole copy, as a backup tool would make it."""
    target = str(Path(place[0]).with_name(name))
    with closing(sqlite3.connect(place[0])) as source, closing(sqlite3.connect(target)) as copy:
        source.backup(copy)
    return target


def test_of_two_copies_that_are_open_only_one_goes_on(ledger: Ledger, place: Place) -> None:
    ask(ledger, "before")
    with Ledger(copy_of(place, "copy.db"), state=place[1]) as copy:
        ask(ledger, "first")
        with pytest.raises(BehindAnchor):
            ask(copy, "second")
        with pytest.raises(BehindAnchor):
            copy.open_population("others", Budget(1), **WHO)
    ask(ledger, "third")
    assert ledger.verify().ok


def test_an_answer_of_the_other_copy_is_not_shown(ledger: Ledger, place: Place) -> None:
    ask(ledger, "before")
    with Ledger(copy_of(place, "copy.db"), state=place[1]) as copy:
        held = copy.reserve(request("second"))
        assert isinstance(held, Reservation)
        ask(ledger, "first")
        with pytest.raises(BehindAnchor):
            copy.store(held, "seen")


def test_a_book_that_was_moved_away_is_not_written(ledger: Ledger, place: Place) -> None:
    ask(ledger, "before")
    copy = copy_of(place, "copy.db")
    shutil.move(place[0], place[0] + ".old")
    shutil.move(copy, place[0])
    with pytest.raises(LedgerUnavailable, match="moved, removed or replaced"):
        ask(ledger, "after")


def test_two_processes_on_one_book_are_not_taken_for_copies(ledger: Ledger, place: Place) -> None:
    with open_ledger(place) as other:
        for i in range(10):
            ask(ledger if i % 2 else other, i)
    assert ledger.verify().ok


# ---------------------------------------------------------------- totals beside the book


def test_a_total_that_somebody_lowered_is_noticed_before_a_charge(ledger: Ledger, place: Place) -> None:
    for i in range(5):
        ask(ledger, i)
    with closing(sqlite3.connect(place[0])) as connection:
        connection.execute("UPDATE totals SET loss = '0'")
        connection.commit()
    with pytest.raises(BehindAnchor, match="had spent more"):
        ask(ledger, "more")


# ---------------------------------------------------------------- reservations and receipts


def test_an_answer_is_stored_in_the_ledger_that_reserved_it(ledger: Ledger, tmp_path: Path) -> None:
    with Ledger(tmp_path / "other.db", state=tmp_path / "other") as other:
        other.open_population("people", Budget(1), **WHO)
        mine, theirs = ledger.reserve(request("same")), other.reserve(request("same"))
        assert isinstance(mine, Reservation) and isinstance(theirs, Reservation)
        assert mine.sequence == theirs.sequence
        with pytest.raises(RequestChanged):
            other.store(mine, "wrong book")
        with pytest.raises(RequestChanged):
            other.fail(mine, "timeout")
        assert other.store(theirs, "right book").answer == "right book"


def test_a_receipt_is_checked_in_every_field(ledger: Ledger) -> None:
    receipt = ask(ledger, "count").receipt
    assert ledger.check(receipt)
    larger = Budget(Fraction(1, 2)).measure()
    changes: list[dict[str, Any]] = [
        {"charged": larger},
        {"at": "2001-01-01T00:00:00.000000Z"},
        {"event": ROW},
        {"population": "others"},
        {"fingerprint": fingerprint(name="other")},
        {"head": "00" * 32},
        {"sequence": receipt.sequence + 1},
    ]
    for change in changes:
        assert not ledger.check(replace(receipt, **change)), change
        with pytest.raises(RequestChanged):
            ledger.behind(replace(receipt, **change))


# ---------------------------------------------------------------- events as they are stored

ODD_EVENTS = [
    lambda: PureStep(mechanism="x", epsilon=1),  # type: ignore[arg-type]
    lambda: PureStep(mechanism="x", epsilon=0.1),  # type: ignore[arg-type]
    lambda: PureStep(mechanism="x", epsilon=np.float64(0.5)),
    lambda: ApproximateStep(mechanism="x", epsilon=1, delta=0.0001),  # type: ignore[arg-type]
    lambda: LaplaceNoise(scale=10, sensitivity=1, grid=1, dimension=np.int64(3)),  # type: ignore[arg-type]
    lambda: GaussianNoise(sigma=50.5, sensitivity=1, grid=1),  # type: ignore[arg-type]
    lambda: Repeat(ROW, np.int64(2)),
    lambda: PureStep(mechanism="x", epsilon=1, neighbours="add-remove"),  # type: ignore[arg-type]
    lambda: Compose([ROW, ROW]),  # type: ignore[arg-type]
]


SAMPLED = [
    lambda: Poisson(GaussianNoise(sigma=50, sensitivity=1, grid=1), 0.1),  # type: ignore[arg-type]
    lambda: WithoutReplacement(PureStep(mechanism="x", epsilon=1, neighbours="replace"), np.int64(2), 10.0),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("make", [*ODD_EVENTS, *SAMPLED])
def test_an_event_is_what_its_stored_form_says(make: Any) -> None:
    event = make()
    assert from_json(to_json(event)) == event
    assert hash(from_json(to_json(event))) == hash(event)


@pytest.mark.parametrize("make", ODD_EVENTS)
def test_an_event_is_read_back_as_it_was_charged(make: Any, place: Place) -> None:
    event = make()
    with open_ledger(place) as ledger:
        ledger.open_population("people", Budget(30, 0.01), neighbours="replace", least_share=None, **WHO)
        ask(ledger, "odd", event=event)
        assert ledger.verify().ok, ledger.verify().problems


@pytest.mark.parametrize(
    "make",
    [
        lambda: PureStep(mechanism="x", epsilon="1"),  # type: ignore[arg-type]
        lambda: PureStep(mechanism=7, epsilon=1),  # type: ignore[arg-type]
        lambda: PureStep(mechanism="\x1b[2J", epsilon=1),  # type: ignore[arg-type]
        lambda: PureStep(mechanism="x", epsilon=1, unit="people.id"),  # type: ignore[arg-type]
        lambda: PureStep(mechanism="x", epsilon=1, neighbours="siblings"),  # type: ignore[arg-type]
        lambda: Repeat("event", 2),  # type: ignore[arg-type]
        lambda: Compose((ROW, None)),  # type: ignore[arg-type]
        lambda: Unit(7),  # type: ignore[arg-type]
        lambda: Unit("a\nb"),
    ],
)
def test_what_cannot_be_stored_is_no_event(make: Any) -> None:
    with pytest.raises(InvalidParameter):
        make()


def test_a_number_of_thousands_of_digits_is_refused_before_it_is_charged(ledger: Ledger) -> None:
    with pytest.raises(HubbubError):
        ask(ledger, "long", event=PureStep(mechanism="x", epsilon=Fraction(10**5000 + 1, 10**5002)))
    assert ledger.verify().charges == 0


# ---------------------------------------------------------------- verify reports and never fails

NONSENSE: list[object] = [
    None,
    0,
    -1,
    2**62,
    1.5,
    "",
    "x",
    b"",
    b"\xff\xfe",
    "[" * 100_000,
    '{"kind":' * 50_000,
    '{"kind":"charge"}',
    '{"kind":"population","population":{}}',
    "[]",
    "null",
    '"text"',
    "1e999999",
    '{"kind":"_accounts_of"}',
    '{"kind":"answer","charge":{},"digest":"zz"}',
    '{"kind":"failure","charge":1,"named":3,"analyst":[]}',
]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Place, dict[str, list[tuple[Any, ...]]]]:
    folder = tmp_path_factory.mktemp("nonsense")
    place = (str(folder / "ledger.db"), folder / "state")
    with open_ledger(place) as ledger:
        ledger.open_population("people", Budget(1), window=BudgetWindow(Budget(1), "day"), **WHO)
        for i in range(3):
            ask(ledger, i)
        ledger.fail(ledger.reserve(request("failed")), "timeout")  # type: ignore[arg-type]
    with closing(sqlite3.connect(place[0])) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.commit()
        tables = ("entries", "events", "answers", "totals")
        columns = {t: [row[1:] for row in connection.execute(f"PRAGMA table_info({t})")] for t in tables}
    return place, columns


def test_verify_reports_whatever_was_put_into_a_book(
    written: tuple[Place, dict[str, list[tuple[Any, ...]]]], tmp_path: Path, soak: int
) -> None:
    place, columns = written
    rng = random.Random(16)
    for trial in range(150 * soak):
        path = str(tmp_path / f"{trial % 2}.db")
        shutil.copy(place[0], path)
        table = rng.choice(list(columns))
        column = rng.choice(columns[table])[0]
        value = rng.choice(NONSENSE)
        if not _put(path, table, column, value, rng):
            continue
        try:
            found = verify_ledger(path, state=place[1])
        except HubbubError:
            continue  # refused in our words
        assert not found.ok, (table, column, value)
        assert found.text()
        with contextlib.suppress(HubbubError):  # opening it for use looks at less, and fails in our words alone
            Ledger(path, state=place[1], create=False).close()


def test_verify_reports_whatever_was_put_into_an_export(
    written: tuple[Place, dict[str, list[tuple[Any, ...]]]], tmp_path: Path, soak: int
) -> None:
    place, _ = written
    with Ledger(place[0], state=place[1]) as ledger:
        lines = [json.loads(line) for line in ledger.export(answers=True)]
    path, rng = tmp_path / "book.jsonl", random.Random(17)
    values = [value for value in NONSENSE if not isinstance(value, bytes)] + [[], {}, True, 10**400, "a", ""]
    for _ in range(150 * soak):
        at = rng.randrange(1, len(lines))
        key, value = rng.choice(list(lines[at])), rng.choice(values)
        if lines[at][key] == value:
            continue
        altered = [*lines[:at], {**lines[at], key: value}, *lines[at + 1 :]]
        path.write_text("".join(json.dumps(line) + "\n" for line in altered))
        with contextlib.suppress(HubbubError):
            assert not verify_export(path).ok, (lines[at], key, value)
    path.write_text(json.dumps(lines[0]) + "\n" + "[" * 100_000)
    with pytest.raises(Unreadable):
        verify_export(path)


def _put(path: str, table: str, column: str, value: object, rng: random.Random) -> bool:
    """Put a value into one row; invalid text as text. False if the table keeps it out, or it was there."""
    with closing(sqlite3.connect(path)) as connection:
        connection.text_factory = bytes
        rows = [row[0] for row in connection.execute(f"SELECT rowid FROM {table}").fetchall()]
        row = rng.choice(rows)
        (before,) = connection.execute(f"SELECT {column} FROM {table} WHERE rowid = ?", [row]).fetchone()
        how = "CAST(? AS TEXT)" if isinstance(value, bytes) and rng.random() < 0.7 else "?"
        try:
            connection.execute(f"UPDATE {table} SET {column} = {how} WHERE rowid = ?", [value, row])
            (after,) = connection.execute(f"SELECT {column} FROM {table} WHERE rowid = ?", [row]).fetchone() or (
                before,
            )
        except sqlite3.Error:
            return False
        connection.commit()
    return bool(before != after)


# ---------------------------------------------------------------- what is charged can be read back


@pytest.mark.parametrize("refines", ["x\x1b[2J", "\ud800", 1.5, True, -1, 0, 10**40, float("nan"), Fraction(1, 2)])
def test_what_a_request_refines_is_the_number_of_a_charge(refines: Any, ledger: Ledger) -> None:
    with pytest.raises(HubbubError):
        request("odd", refines=refines)
    with pytest.raises(HubbubError):
        ledger.remeasure(request("odd"), of=refines)


@pytest.mark.parametrize("answer", [5, None, b"5", "\ud800"])
def test_an_answer_that_is_no_text_is_refused_and_can_be_mended(answer: Any, ledger: Ledger) -> None:
    held = ledger.reserve(request("odd"))
    assert isinstance(held, Reservation)
    with pytest.raises(WrongShape):
        ledger.store(held, answer)
    assert ledger.store(held, "5").answer == "5"
    assert ledger.verify().ok


# ---------------------------------------------------------------- windows


def test_a_window_that_is_changed_back_and_forth_goes_on(place: Place) -> None:
    tenth = Budget(Fraction(1, 50))
    with open_ledger(place) as ledger:
        ledger.open_population("people", Budget(1), window=BudgetWindow(tenth, "day"), **WHO)
        before = datetime.now(UTC).date()
        for i in range(2):
            ask(ledger, i)
        for every in ("month", "day", "year", "week", "day"):
            ledger.change_rules("people", window=BudgetWindow(tenth, every), **WHO)
            if datetime.now(UTC).date() != before:
                pytest.skip("midnight came between two lines")
            with pytest.raises(BudgetExceeded):
                ask(ledger, every)
        assert ledger.verify().ok, ledger.verify().problems


def test_a_window_starts_again_when_it_is_over(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_ledger(place) as ledger:
        ledger.open_population("people", Budget(1), window=BudgetWindow(Budget(Fraction(1, 100)), "day"), **WHO)
        ask(ledger, "today")
        now = time.time_ns()
        monkeypatch.setattr(time, "time_ns", lambda: now + 86_400 * 10**9)
        ask(ledger, "tomorrow")
        assert ledger.verify().ok, ledger.verify().problems


def test_windows_of_all_lengths_are_told_apart() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert len({now.strftime(form) for form in EVERY.values()}) == len(EVERY)


# ---------------------------------------------------------------- whose eyes


def test_files_and_folders_are_for_their_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        state = tmp_path / "deep" / "state"
        with Ledger(tmp_path / "ledger.db", state=state) as ledger:
            ledger.open_population("people", Budget(1), **WHO)
            ask(ledger, "one")
            ledger.backup(tmp_path / "backup.db")
            paths = [*tmp_path.glob("*.db*"), tmp_path / "deep", state, *state.rglob("*")]
            modes = {path: stat.S_IMODE(path.stat().st_mode) for path in paths}
    finally:
        os.umask(before)
    assert len(modes) > 8
    assert not {path for path, mode in modes.items() if mode & 0o077}


# ---------------------------------------------------------------- amounts and words


def test_amounts_that_no_record_holds_are_refused_when_they_are_said(ledger: Ledger) -> None:
    huge = Fraction(10**60)
    for budget in (Budget(huge), Budget(rho=huge)):
        with pytest.raises(TooLarge):
            ledger.open_population("rich", budget, **WHO)
    with pytest.raises(TooLarge):
        ledger.grant("people", Budget(huge), raise_lifetime=True, **WHO)
    with pytest.raises(TooLarge):
        ask(ledger, "dear", event=PureStep(mechanism="x", epsilon=huge))
    assert ledger.verify().charges == 0


HOSTILE = "a\x1b[2Jb"


@pytest.mark.parametrize(
    "act",
    [
        lambda ledger: ledger.fail(ledger.reserve(request("x")), HOSTILE),
        lambda ledger: ledger.open_population(HOSTILE, Budget(1), **WHO),
        lambda ledger: ledger.open_population("a", Budget(1), unit=HOSTILE, **WHO),
        lambda ledger: ledger.open_population("a", Budget(1), by=HOSTILE, why="x"),
        lambda ledger: ledger.open_population("a", Budget(1), by="x", why="\u202egpj"),
        lambda ledger: ledger.acknowledge_failures("people", analyst=HOSTILE, **WHO),
        lambda ledger: ledger.reserve(request("x", title=HOSTILE)),
        lambda ledger: ledger.reserve(request("x", project=HOSTILE)),
        lambda ledger: ledger.reserve(request("x", analyst="\u2066a")),
        lambda ledger: ledger.reserve(request("x", version=HOSTILE)),
        lambda ledger: ledger.reserve(request("x", question=HOSTILE)),
        lambda ledger: ledger.declare_dataset("a", version=HOSTILE, population="people", **WHO),
    ],
)
def test_signs_that_rewrite_a_terminal_never_enter_a_book(ledger: Ledger, act: Any) -> None:
    with pytest.raises(InvalidParameter):
        act(ledger)


# ---------------------------------------------------------------- very many questions that fail


def test_a_question_costs_at_least_a_share_of_the_budget(ledger: Ledger) -> None:
    cheap = PureStep(mechanism="x", epsilon=Fraction(1, 100_001))
    with pytest.raises(BelowLeastPrice):
        ask(ledger, "cheap", event=cheap)
    ask(ledger, "not quite", event=PureStep(mechanism="x", epsilon=Fraction(1, 100_000)))
    ledger.change_rules("people", least_share=None, **WHO)
    ask(ledger, "cheap", event=cheap)
    assert ledger.verify().ok


def test_the_least_price_counts_as_the_budget_does(place: Place) -> None:
    with open_ledger(place) as ledger:
        ledger.open_population("people", Budget(3, 1e-6), least_share=Fraction(1, 1000), **WHO)
        with pytest.raises(BelowLeastPrice):
            ask(ledger, "cheap", event=PureStep(mechanism="x", epsilon=Fraction(1, 1000)))
        ask(ledger, "fair", event=PureStep(mechanism="x", epsilon=Fraction(1, 10)))


def test_after_so_many_questions_without_an_answer_an_owner_looks(ledger: Ledger) -> None:
    for i in range(10):
        ledger.fail(ledger.reserve(request(i)), "timeout")  # type: ignore[arg-type]
    with pytest.raises(NeedsOwner):
        ledger.reserve(request("one more"))
    ask(ledger, "by somebody else", analyst="ben")
    assert dict(ledger.budget("people").failures) == {"owner": 10}
    ledger.acknowledge_failures("people", analyst="owner", **WHO)
    assert not ledger.budget("people").failures
    ask(ledger, "one more")
    assert ledger.verify().ok, ledger.verify().problems


def test_answers_that_do_not_fit_and_runs_that_died_count_as_none(ledger: Ledger) -> None:
    ledger.change_rules("people", most_failures=2, **WHO)
    with pytest.raises(HubbubError, match="does not fit"):
        charge(ledger, request("large", size=4), lambda _: "much too long")
    for _ in range(4):  # the fourth is a new charge, since nobody saw the end of three
        ledger.reserve(request("dies"))
    assert dict(ledger.budget("people").failures) == {"owner": 2}
    with pytest.raises(NeedsOwner):
        ledger.reserve(request("another"))
    assert ledger.verify().ok, ledger.verify().problems


def test_a_stored_answer_is_free_of_the_rules_for_charges(ledger: Ledger) -> None:
    first = ask(ledger, "asked before")
    ledger.change_rules("people", most_failures=1, **WHO)
    ledger.fail(ledger.reserve(request("fails")), "timeout")  # type: ignore[arg-type]
    assert ask(ledger, "asked before").answer == first.answer


def test_a_population_opened_by_an_earlier_version_is_found_again(place: Place) -> None:
    from hubbub.ledger import owner_entries

    said: dict[str, Any] = {}
    with open_ledger(place) as ledger:
        core = ledger._core
        written = owner_entries._write_rules
        owner_entries._write_rules = lambda budget, rules: {  # type: ignore[assignment]
            name: value
            for name, value in written(budget, rules).items()
            if name not in ("least_share", "most_failures")
        }
        try:
            ledger.open_population("people", Budget(1), **WHO)
        finally:
            owner_entries._write_rules = written
        said = core.policy.populations["people"].opened
        assert "least_share" not in said
        ledger.open_population("people", Budget(1), **WHO)
        ask(ledger, "cheap", event=PureStep(mechanism="x", epsilon=Fraction(1, 10**7)))
        assert ledger.verify().ok


def test_requests_of_one_project_are_the_same_request(ledger: Ledger) -> None:
    asked = Request(event=ROW, fingerprint=fingerprint(plan="x"), population="people")
    assert charge(ledger, asked, any_answer).answer == charge(ledger, asked, any_answer).answer
