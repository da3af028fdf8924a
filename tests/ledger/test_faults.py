"""Whatever dies, and whenever: nothing is overspent, charged twice or lost, and no request has two answers."""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import psycopg
import pytest

from hubbub.ledger import Ledger, Reservation
from hubbub.ledger.book.drivers import SQLite
from hubbub.terms import Budget, HubbubError, LedgerUnavailable, NoAnswer, Superseded
from tests.charging import ask
from tests.ledger._asking import (
    STEP,
    WHO,
    Place,
    Witness,
    any_answer,
    asking,
    charges_of,
    entries_of,
    new_ledger,
    open_ledger,
    request,
    show,
)
from tests.ledger._points import Points
from tests.ledger._processes import Child, Ended, Report, run
from tests.postgres import Server

NOBODY = 65534


@pytest.fixture
def place(url: str, tmp_path: Path) -> Place:
    return url, tmp_path / "state"


@pytest.fixture
def file(tmp_path: Path) -> Place:
    """A place for a ledger in a file."""
    return str(tmp_path / "ledger.db"), tmp_path / "state"


# ---------------------------------------------------------------- SIGKILL at every point


def ask_and_die(place: Place, name: object, deadly: int | None) -> Ended:
    """One whole open, reserve, run, store and show in a child that dies at one of its points (or counts them)."""

    def work(report: Report) -> None:
        points = Points(deadly)
        points.arm()
        with open_ledger(place) as ledger:
            show(report, name, ask(ledger, request(name), points.around(any_answer)))
            points.hit()
        report(points=points.count)

    return run(work)


def count_points(place: Place) -> int:
    ended = ask_and_die(place, "counted", None)
    ended.well()
    (count,) = ended.of("points")
    assert count > 40  # opening, reserving, running, storing and anchoring all have theirs
    return int(count)


def resume(place: Place, name: object, witness: Witness) -> None:
    """Open the ledger anew and ask once more, in a process that lives."""

    def see(**said: Any) -> None:
        witness.see([said["shown"]])

    asking(place, [name])(see)


def test_killed_at_every_point_a_request_is_charged_once_and_answered_once(place: Place, soak: int) -> None:
    """Each request is killed at one point, resumed and killed at another, then resumed and left alone.

    Every point three times in the long run, else every fourth (in a server, every twelfth).
    """
    new_ledger(place)
    points, witness, chance, kills = count_points(place), Witness(), random.Random(1), 0
    numbers = range(3 * points) if soak > 1 else range(0, points, 12 if place[0].startswith("postgresql") else 4)
    for number in numbers:
        for deadly in (1 + number % points, chance.randint(1, points)):
            ended = ask_and_die(place, number, deadly)
            assert ended.killed or ended.of("points")  # a second run may be shorter: the answer was there
            kills += ended.killed
            witness.see(ended.of("shown"))
        resume(place, number, witness)
    assert kills > len(numbers)
    with open_ledger(place) as ledger:
        assert set(charges_of(ledger).values()) == {1}
        witness.check(ledger, fits=100_000)


def test_killed_in_its_last_attempt_a_request_is_charged_again_and_only_then(place: Place) -> None:
    new_ledger(place)

    def die(_: Reservation) -> str:
        os.kill(os.getpid(), signal.SIGKILL)
        return "never"

    for attempt in range(1, 8):
        assert run(asking(place, ["stubborn"], die)).killed
        with open_ledger(place) as ledger:
            assert charges_of(ledger)[request("stubborn").fingerprint] == -(-attempt // 3)
    witness = Witness()
    resume(place, "stubborn", witness)
    with open_ledger(place) as ledger:
        first, second, third = entries_of(ledger, "charge")
        assert [second["supersedes"], third["supersedes"]] == [first["sequence"], second["sequence"]]
        witness.check(ledger, fits=3)


def test_a_run_that_was_superseded_shows_nothing(ledger: Ledger) -> None:
    ledger.open_population("people", Budget(1), **WHO)
    runs = [ledger.reserve(request("slow")) for _ in range(4)]
    assert [held.attempt for held in runs if isinstance(held, Reservation)] == [1, 2, 3, 1]
    for late in runs[:3]:
        assert isinstance(late, Reservation)
        with pytest.raises(Superseded):
            ledger.store(late, "too late")
    assert isinstance(runs[3], Reservation)
    assert ledger.store(runs[3], "in time").answer == "in time"
    assert ask(ledger, request("slow"), any_answer).answer == "in time"
    assert ledger.verify().ok


def test_of_two_runs_under_one_charge_both_show_the_answer_stored_first(ledger: Ledger) -> None:
    ledger.open_population("people", Budget(1), **WHO)
    first, second = ledger.reserve(request("twice")), ledger.reserve(request("twice"))
    assert isinstance(first, Reservation) and isinstance(second, Reservation)
    assert ledger.store(second, "second").answer == "second"
    late = ledger.store(first, "first")
    assert (late.answer, late.repeated) == ("second", True)
    assert len(entries_of(ledger, "charge")) == 1


def test_an_answer_larger_than_promised_is_charged_and_never_shown(ledger: Ledger) -> None:
    ledger.open_population("people", Budget(1), **WHO)
    with pytest.raises(NoAnswer):
        ask(ledger, request("long"), lambda _: "x" * 65)
    assert [said["reason"] for said in entries_of(ledger, "failure")] == ["too large"]
    assert ledger.verify().ok


def test_an_answer_is_found_behind_any_number_of_later_charges(ledger: Ledger) -> None:
    """Six fresh charges of the request died, each in three runs; the answer before them is still stored."""
    ledger.open_population("people", Budget(1), **WHO)
    answer = ask(ledger, request("old"), any_answer).answer
    for _ in range(18):
        ledger.reserve(request("old", fresh=True))
    assert len(entries_of(ledger, "charge")) == 7
    again = ask(ledger, request("old"), any_answer)
    assert (again.answer, again.repeated) == (answer, True)


def test_an_open_charge_is_found_behind_those_of_any_number_of_other_projects(ledger: Ledger) -> None:
    """Where answers are shared, all projects' charges stand under one fingerprint."""
    ledger.open_population("people", Budget(1), share_answers=True, **WHO)
    first, *_ = [ledger.reserve(request("shared", project=f"project {n}")) for n in range(20)]
    again = ledger.reserve(request("shared", project="project 0"))
    assert isinstance(again, Reservation)
    assert (again.sequence, again.attempt) == (first.sequence, 2)


# ---------------------------------------------------------------- SIGKILL at any time


def ask_for_ever(place: Place, start: int) -> Callable[[Report], None]:
    def work(report: Report) -> None:
        with open_ledger(place) as ledger:
            report(ready=True)
            number = start
            while True:
                show(report, number, ask(ledger, request(number), any_answer))
                number += 1

    return work


def test_killed_at_any_time_while_asking_in_a_loop(place: Place, soak: int) -> None:
    new_ledger(place)
    witness, chance, number = Witness(), random.Random(2), 0
    for _ in range((10 if place[0].startswith("postgresql") else 30) * soak):
        child = Child(ask_for_ever(place, number))
        child.next()
        time.sleep(chance.random() / 50)
        ended = child.kill()
        assert ended.killed
        witness.see(ended.of("shown"))
        number += len(ended.of("shown"))
        resume(place, number, witness)  # the one that it died in
        number += 1
    with open_ledger(place) as ledger:
        assert len(witness.answers) == number
        assert set(charges_of(ledger).values()) == {1}
        witness.check(ledger, fits=number)


def test_killed_while_a_ledger_is_made_it_is_made_again(tmp_path: Path, soak: int) -> None:
    deadly, dead = 1, True
    while dead:
        place = (str(tmp_path / f"{deadly}.db"), tmp_path / f"state{deadly}")

        def work(report: Report, place: Place = place, deadly: int = deadly) -> None:
            Points(deadly).arm()
            new_ledger(place)

        dead = run(work).killed
        new_ledger(place)
        with open_ledger(place) as ledger:
            assert [said["population"] for said in entries_of(ledger, "population")] == ["people"]
            assert len(entries_of(ledger, "ledger")) == 1
            ask(ledger, request("first"), any_answer)
            assert ledger.verify().ok
        deadly += 1 if soak > 1 or deadly < 10 else 5
    assert deadly > 40


def test_killed_while_an_owner_grants_it_is_granted_once_or_not_at_all(file: Place, soak: int) -> None:
    new_ledger(file, fits=1)
    deadly, dead, granted = 1, True, 0
    while dead:

        def work(report: Report, deadly: int = deadly) -> None:
            Points(deadly).arm()
            with open_ledger(file) as ledger:
                ledger.grant("people", Budget(STEP.epsilon), raise_lifetime=True, by="board", why=f"act {deadly}")
                report(done=True)

        ended = run(work)
        dead = ended.killed
        with open_ledger(file) as ledger:
            now = len(entries_of(ledger, "grant"))
            assert now - granted == 1 if ended.of("done") else now - granted in {0, 1}
            granted = now
            assert ledger.verify().ok
            assert ledger.populations()["people"].lifetime == Budget(STEP.epsilon * (1 + granted))
        deadly += 1 if soak > 1 else 3
    assert granted > 1


# ---------------------------------------------------------------- the server dies


@pytest.fixture
def own_server(component: Callable[[str], str]) -> Iterator[Server]:
    """A server that a test may kill."""
    server = Server(component("postgres"))
    try:
        server.make()
        yield server
    finally:
        server.remove()


def ask_through_crashes(place: Place) -> Callable[[Report], None]:
    """Ask in a loop; while the server is away nothing but a clear error may come, and the request is asked again."""

    def work(report: Report) -> None:
        number, ledger = 0, open_ledger(place)
        report(ready=True)
        while True:
            try:
                show(report, number, ask(ledger, request(number), any_answer))
                number += 1
            except LedgerUnavailable as error:
                report(refused=error.code)
                time.sleep(0.01)

    return work


def kill_a_backend(server: Server, url: str) -> None:
    """SIGKILL to the server process that talks to the child; the postmaster then restarts all of them."""
    query = "SELECT pid FROM pg_stat_activity WHERE datname = %s"
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        found: list[Any] = []
        while not found:  # the child may be about to connect again
            found = connection.execute(query, [url.rpartition("/")[2]]).fetchall()
    os.kill(found[0][0], signal.SIGKILL)


def await_server(server: Server) -> None:
    for _ in range(600):
        try:
            server.execute("SELECT 1")
        except psycopg.OperationalError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("the server did not come back")


def test_a_crash_of_the_database_server_loses_nothing(own_server: Server, tmp_path: Path, soak: int) -> None:
    place = (own_server.new_database(), tmp_path / "state")
    new_ledger(place)
    witness, chance = Witness(), random.Random(3)
    child = Child(ask_through_crashes(place))
    try:
        child.next()
        for crash in range(3 * soak):
            time.sleep(chance.random() / 5)
            child.drain()
            if crash % 2:
                own_server.kill()
                own_server.start()
            else:
                kill_a_backend(own_server, place[0])
                await_server(own_server)
            child.drain()
            while "shown" not in child.next():
                pass  # until it goes on
    finally:
        ended = child.kill()
    assert set(ended.of("refused")) == {"P414"}
    witness.see(ended.of("shown"))
    resume(place, len(witness.answers), witness)
    with open_ledger(place) as ledger:
        charges = charges_of(ledger)
        assert max(charges.values()) <= 2  # three attempts under one charge, and no request met so many crashes
        witness.check(ledger, fits=100_000)


# ---------------------------------------------------------------- disk full


def ask_until_refused(place: Place, prepare: Callable[[Ledger], None], start: int) -> Ended:
    """Ask in a child where something is short; whatever fails, fails as P414."""

    def work(report: Report) -> None:
        number = start
        try:
            with open_ledger(place) as ledger:
                prepare(ledger)
                while number < start + 200:
                    show(report, number, ask(ledger, request(number), any_answer))
                    number += 1
        except LedgerUnavailable as error:
            report(refused=error.code, said=str(error))

    return run(work)


def limit_files(size: int) -> None:
    """From now on no file of this process may grow beyond a size: writing more is an error, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def largest(place: Place) -> int:
    return max(path.stat().st_size for path in Path(place[0]).parent.glob("ledger.db*"))


def test_a_full_disk_is_a_clear_error_and_nothing_is_lost(file: Place) -> None:
    new_ledger(file)
    witness, number, refused = Witness(), 0, 0
    for spare in range(0, 40_000, 1_777):

        def prepare(_: Ledger, spare: int = spare) -> None:
            limit_files(largest(file) + spare)

        ended = ask_until_refused(file, prepare, number)
        ended.well()
        assert ended.of("refused") == ["P414"], ended.reports
        refused += 1
        witness.see(ended.of("shown"))
        number += len(ended.of("shown"))
        resume(file, number, witness)
        number += 1
    with open_ledger(file) as ledger:
        assert set(charges_of(ledger).values()) == {1}
        assert refused and number > refused  # some answers came before the disk was full
        witness.check(ledger, fits=number)


def test_a_database_that_may_not_grow_is_a_clear_error(file: Place) -> None:
    new_ledger(file)
    witness = Witness()
    prepare_connection = SQLite.prepare

    def work(report: Report) -> None:
        def cramped(driver: SQLite, connection: Any) -> None:
            prepare_connection(driver, connection)
            connection.execute("PRAGMA max_page_count = 1")  # SQLite takes the present size instead

        SQLite.prepare = cramped  # type: ignore[method-assign]
        try:
            with open_ledger(file) as ledger:
                for number in range(1000):
                    show(report, number, ask(ledger, request(number), any_answer))
        except LedgerUnavailable as error:
            report(refused=error.code, said=str(error))

    ended = run(work)
    ended.well()
    assert ended.of("refused") == ["P414"]
    assert "the disk is full" in ended.of("said")[0]
    witness.see(ended.of("shown"))
    resume(file, len(witness.answers), witness)
    with open_ledger(file) as ledger:
        witness.check(ledger, fits=len(witness.answers))


def test_a_ledger_that_cannot_be_made_for_want_of_space_leaves_nothing_behind(tmp_path: Path) -> None:
    for size in range(0, 60_000, 3_000):
        place = (str(tmp_path / f"{size}.db"), tmp_path / f"state{size}")

        def work(report: Report, place: Place = place, size: int = size) -> None:
            limit_files(size)
            try:
                new_ledger(place)
            except LedgerUnavailable as error:
                report(refused=error.code)

        run(work).well()
        new_ledger(place)
        with open_ledger(place) as ledger:
            ask(ledger, request("first"), any_answer)
            assert ledger.verify().ok


def test_no_answer_is_shown_whose_anchor_was_not_written_whole(database: str, tmp_path: Path) -> None:
    """The book is on a server with room; only the second place is full, at any point of an anchor's two slots."""
    place = (database, tmp_path / "state")
    new_ledger(place)
    resume(place, "before", Witness())
    for size in (0, 1, 500, 800, 1023, 1024, 1500, 2047):
        names = [f"a{size}", f"b{size}"]

        def work(report: Report, names: list[str] = names, size: int = size) -> None:
            ledger = open_ledger(place)
            limit_files(size)
            for name in names:
                try:
                    show(report, name, ask(ledger, request(name), any_answer))
                except LedgerUnavailable as error:
                    report(refused=error.code)
                else:
                    report(anchored=max(anchor.sequence for anchor in ledger._core.anchors.read().values()))

        ended = run(work)
        ended.well()
        shown = [receipt["sequence"] for _, _, receipt in ended.of("shown")]
        assert ended.of("anchored") == shown, f"shown without an anchor where files end at {size} bytes"
    with open_ledger(place) as ledger:
        assert ledger.verify().ok


# ---------------------------------------------------------------- read-only


@pytest.fixture
def foreign() -> Iterator[Place]:
    """A place in a folder that an unprivileged user can enter and owns."""
    folder = Path(tempfile.mkdtemp(prefix="hubbub-foreign-"))
    if os.getuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
    (folder / "book").mkdir()
    if os.getuid() == 0:
        os.chown(folder / "book", NOBODY, NOBODY)
    try:
        yield str(folder / "book" / "ledger.db"), folder / "state"
    finally:
        shutil.rmtree(folder)


def unprivileged(work: Callable[[Report], None]) -> Callable[[Report], None]:
    """The work, done by somebody whom file permissions bind."""

    def bound(report: Report) -> None:
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        work(report)

    return bound


def asking_unprivileged(place: Place, name: str) -> Ended:
    """Make the ledger if there is none, ask, and say how it went."""

    def work(report: Report) -> None:
        try:
            if not Path(place[0]).exists():
                new_ledger(place)
            with open_ledger(place) as ledger:
                show(report, name, ask(ledger, request(name), any_answer))
        except HubbubError as error:
            report(refused=error.code)

    ended = run(unprivileged(work))
    ended.well()
    return ended


def freeze(folder: Path) -> dict[Path, int]:
    """Take every right to write away; returns what the rights were."""
    before = {path: path.stat().st_mode & 0o777 for path in (folder, *sorted(folder.rglob("*")))}
    for path, mode in before.items():
        path.chmod(mode & ~0o222)
    return before


def thaw(before: dict[Path, int]) -> None:
    for path, mode in before.items():
        path.chmod(mode)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@contextmanager
def in_use(place: Place) -> Iterator[None]:
    """Another process has the ledger open, so that its log and the index of the log are there."""
    gate, opener = os.pipe()

    def hold(report: Report) -> None:
        with open_ledger(place) as ledger:
            report(ok=ledger.verify().ok)
            os.read(gate, 1)

    holder = Child(hold)
    assert holder.next()["ok"]
    yield
    os.write(opener, b"!")
    os.close(gate)
    os.close(opener)
    holder.wait().well()


@pytest.mark.parametrize("used", [nullcontext, in_use], ids=["closed", "in use by another"])
def test_a_read_only_book_is_a_clear_error_and_stays_as_it_is(
    foreign: Place, used: Callable[[Place], AbstractContextManager[object]]
) -> None:
    folder, witness = Path(foreign[0]).parent, Witness()
    witness.see(asking_unprivileged(foreign, "before").of("shown"))
    with used(foreign):
        before, rights = contents(folder), freeze(folder)
        ended = asking_unprivileged(foreign, "while")
        thaw(rights)
        assert (ended.of("refused"), ended.of("shown")) == (["P414"], [])
        assert contents(folder) == before
    witness.see(asking_unprivileged(foreign, "while").of("shown"))
    assert len(witness.answers) == 2
    with open_ledger(foreign) as ledger:
        witness.check(ledger, fits=2)


def test_a_read_only_file_in_a_folder_that_can_be_written_is_a_clear_error(foreign: Place) -> None:
    asking_unprivileged(foreign, "before")
    file = Path(foreign[0])
    before = file.read_bytes()
    file.chmod(0o444)
    ended = asking_unprivileged(foreign, "while")
    assert (ended.of("refused"), ended.of("shown")) == (["P414"], [])
    assert file.read_bytes() == before
    for path in file.parent.iterdir():
        path.chmod(0o644)  # SQLite gives the log that it begins the rights of the file
    assert asking_unprivileged(foreign, "while").of("shown")


def test_without_a_second_place_to_write_to_no_answer_is_shown(foreign: Place) -> None:
    """The charge stands, its answer is stored and stays hidden, and comes for free when the place is back."""
    witness = Witness()
    witness.see(asking_unprivileged(foreign, "before").of("shown"))
    rights = freeze(foreign[1])
    for _ in range(2):
        ended = asking_unprivileged(foreign, "while")
        assert (ended.of("refused"), ended.of("shown")) == (["P414"], [])
    thaw(rights)
    witness.see(asking_unprivileged(foreign, "while").of("shown"))
    with open_ledger(foreign) as ledger:
        witness.check(ledger, fits=2)


def test_with_the_second_place_gone_no_answer_is_shown(foreign: Place) -> None:
    asking_unprivileged(foreign, "before")
    away = foreign[1].rename(foreign[1].with_name("away"))
    ended = asking_unprivileged(foreign, "while")
    assert ended.of("shown") == [] and ended.of("refused")
    if foreign[1].exists():
        shutil.rmtree(foreign[1])
    away.rename(foreign[1])
    assert asking_unprivileged(foreign, "while").of("shown")
    with open_ledger(foreign) as ledger:
        assert set(charges_of(ledger).values()) == {1}
        assert ledger.verify().ok
