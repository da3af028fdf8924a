"""``hubbub gopa board | party | verify --previous``: a second run that uses the inputs of a first one again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from queue import Queue

import pytest
import typer

from hubbub.cli.options.gopa_files import write_identity
from hubbub.cli.options.gopa_runs import BoardOptions, PartyOptions
from hubbub.cli.output import streams
from hubbub.gopa import Agreement, plan
from hubbub.gopa.in_process import RunResult, people, run
from hubbub.gopa.network.party_log import Diary
from hubbub.gopa.network.party_runner import RunOutcome
from hubbub.terms import RequestChanged
from tests.cli._shell import Shell

COUNT = 5
VALUES = ["0.2", None, "0.7", "0.3", "0.6"]  # could be rounded to 0, 1, 2, 0, 1 steps, or to others


@pytest.fixture(scope="module")
def first() -> RunResult:
    agreed = plan(20, 0.2, COUNT, honest=Fraction(4, 5), dropouts=Fraction(1, 5), steps=2)
    return run(people(COUNT, planned=agreed), [[place % 3] for place in range(COUNT)])


@pytest.fixture
def second(first: RunResult, shell: Shell) -> Agreement:
    """The agreement of a second run, with all keys, and the log and the diaries of the first."""
    folder, old = shell.folder, first.public.agreement
    agreed = replace(old, previous=old.run, salt=bytes(16))
    (folder / "a.json").write_text(agreed.text() + "\n")
    (folder / "first.log").write_bytes(b"\n".join(first.log))
    for identity in (*(one.identity for one in first.parties), first.board.identity):
        write_identity(folder / f"{identity.name}.key", identity)
    for one in first.parties:
        with Diary(folder / f"{one.identity.name}.first", old) as diary:
            diary.write((one, record) for record in one.records)
    return agreed


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], str]]:
    told: Queue[str] = Queue()
    monkeypatch.setattr(streams, "announce_address", told.put)
    yield lambda: told.get(timeout=120)


def board(folder: Path, previous: list[Path]) -> BoardOptions:
    return BoardOptions(
        agreement=folder / "a.json",
        key=folder / "board.key",
        log=folder / "second.log",
        previous=previous,
        joining=60,
        deadline=60,
        patience=30,
        port=0,
        linger=4.0,
    )


def party(folder: Path, place: int, url: str, previous: list[Path], value: str | None = None) -> PartyOptions:
    return PartyOptions(
        agreement=folder / "a.json",
        board=url,
        key=folder / f"p{place}.key",
        value=value,
        previous=previous,
        previous_diary=folder / f"p{place}.first",
    )


def test_a_second_run_takes_the_same_inputs_and_no_others(
    shell: Shell, second: Agreement, address: Callable[[], str]
) -> None:
    """The very same steps: rounded by a second coin, two of three parties would fail their proofs."""
    folder, previous = shell.folder, [shell.folder / "first.log"]
    with ThreadPoolExecutor(COUNT + 1) as pool:
        serving = pool.submit(board(folder, previous).run)
        url = address()
        with pytest.raises(RequestChanged, match="another value in the previous run"):
            party(folder, 0, url, previous, "0.5").run()
        taking = [pool.submit(party(folder, place, url, previous, VALUES[place]).run) for place in range(COUNT)]
        outcomes: list[RunOutcome] = [one.result(300) for one in taking]
        kept = serving.result(300)
    assert kept.complete and kept.parties == ("p0", "p1", "p2", "p3", "p4") and kept.named == ()
    assert {one.certificate.means for one in outcomes} == {kept.means}
    verified = shell("gopa verify second.log --previous first.log --agreement a.json --json")
    assert (verified.code, verified.json["exact_means"]) == (0, [str(kept.means[0])])
    assert "P107" in shell("gopa verify second.log").err  # the inputs are not there
    assert "P102" in shell("gopa verify first.log --previous first.log").err  # it rests on nothing


def test_a_log_of_another_run_is_refused_before_anything_is_written(shell: Shell, second: Agreement) -> None:
    folder = shell.folder
    stranger = run(people(3, honest=1, dropouts=0), [[0]] * 3)
    (folder / "other.log").write_bytes(b"\n".join(stranger.log))
    for previous in ([folder / "other.log"], []):
        with pytest.raises(typer.BadParameter, match="give its log"):
            board(folder, previous).run()
        with pytest.raises(typer.BadParameter, match=r"give its log|needs the log"):
            party(folder, 1, "http://127.0.0.1:9", previous).run()
    (folder / "a.json").write_text(replace(second, previous=None).text() + "\n")
    with pytest.raises(typer.BadParameter, match="give no log"):
        board(folder, [folder / "first.log"]).run()
    assert not [*folder.glob("*.diary"), *folder.glob("second*")]
