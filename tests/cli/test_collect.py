"""``hubbub collect``: from a question to an estimate, by commands alone, with real processes where it matters."""

from __future__ import annotations

import io
import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import typer

from hubbub.cli import exit_codes
from hubbub.cli.options.hidden_input import answer_of, value_of
from hubbub.local import Client, Collection, Hybrid, KaryResponse
from hubbub.local.collection import report_wire
from hubbub.local.collection.collector import Collector
from hubbub.terms import errors
from tests.cli._shell import Shell
from tests.local._collecting import packed

INIT = "collect init fruit --epsilon 1 --answers apple,pear,plum --minimum 50"


@pytest.fixture
def fruit(shell: Shell) -> str:
    """A collection in the folder ``fruit``; gives its public key."""
    said = shell(f"{INIT} --json --question", "Which fruit?")
    assert said.code == 0, said.err
    return str(said.json["public_key"])


@contextmanager
def running(*arguments: str, log: Path) -> Iterator[str]:
    """A command that serves, in a process of its own; gives its address."""
    with log.open("w") as out:
        process = subprocess.Popen([sys.executable, "-m", "hubbub.cli", "collect", *arguments], stdout=out, stderr=out)
        try:
            for _ in range(600):
                if (found := re.search(r"listening on (http://\S+)", log.read_text())) or process.poll() is not None:
                    break
                time.sleep(0.05)
            assert found, log.read_text()
            yield found[1]
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(30) in {0, 130}, log.read_text()


def fill(folder: Path, count: int, *, epoch: int = 0) -> None:
    with Collector(folder / "reports.db") as collector:
        collector.take(report_wire.pack_batch(packed(collector.collection, count, epoch=epoch)))


# ---------------------------------------------------------------- init


def test_init_writes_a_signed_configuration_a_secret_key_and_a_store(shell: Shell, fruit: str) -> None:
    folder = shell.folder / "fruit"
    assert sorted(path.name for path in folder.iterdir()) == ["collection.json", "collection.key", "reports.db"]
    assert stat.S_IMODE((folder / "collection.key").stat().st_mode) == 0o600
    with Collector(folder / "reports.db") as collector:
        assert collector.collection.answers == ("apple", "pear", "plum")
        assert collector.collection.name == "fruit"
        assert collector.configuration == (folder / "collection.json").read_text()
        assert collector.store.public_key == fruit


def test_init_says_what_it_made_and_keeps_what_is_there(shell: Shell, fruit: str) -> None:
    before = (shell.folder / "fruit" / "collection.key").read_bytes()
    again = shell(f"{INIT} --question", "Another?")
    assert (again.code, "holds a collection already" in again.err) == (2, True)
    assert (shell.folder / "fruit" / "collection.key").read_bytes() == before
    said = shell("collect init other --epsilon 0.5 --values 1000 --question", "Which?")
    assert "Each report: projective, epsilon = 0.5, 2 bytes. Charged to no ledger." in said.out
    assert re.search(r"Clients need this key.*: [0-9a-f]{64}", said.out)


@pytest.mark.parametrize(
    ("options", "protocol"),
    [
        ("--values 3 --protocol unary", "unary"),
        ("--values 3000", "projective"),
        ("--between 0:100", "hybrid"),
        ("--between -1:1 --protocol duchi", "duchi"),
        ("--values 3 --forever 2 --epochs 9", "loloha"),
    ],
)
def test_init_takes_the_randomizer_that_was_meant(shell: Shell, options: str, protocol: str) -> None:
    said = shell(f"collect init some --epsilon 1 {options} --json --question", "What?")
    assert said.json["collection"]["randomizer"]["protocol"] == protocol


@pytest.mark.parametrize(
    "options",
    [
        "",
        "--answers a,b --values 2",
        "--answers a,a",
        "--values 2 --protocol nonsense",
        "--between 5",
        "--between 5:1",
        "--values 2 --ledger x.db",
        "--values 2 --population x",
        "--values 2 --epochs 0",
        "--values 2 --lifetime 0",
        "--values 2 --epsilon 0",
        "--values 2 --epsilon x",
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_written(shell: Shell, options: str) -> None:
    said = shell(f"collect init some --epsilon 1 {options} --question", "What?")
    assert said.code in {2, 5}, said.err
    assert not (shell.folder / "some").exists()


def test_with_a_ledger_the_collection_is_charged_first(shell: Shell) -> None:
    shell.open("people", budget="--epsilon 5", rules="--neighbours replace")
    line = "collect init {} --epsilon 1 --values 3 --epochs 4 --ledger hubbub.db --population people --json --question"
    said = shell(line.format("a"), "What?")
    assert said.json["receipt"] is not None
    assert "4" in shell("budget show people").out
    refused = shell(line.format("b"), "What?")
    assert (refused.code, "P401" in refused.err) == (4, True)
    assert not (shell.folder / "b").exists()
    assert f"receipt #{said.json['receipt']}" in " ".join(shell("collect estimate a").out.split())


# ---------------------------------------------------------------- estimate, export, tokens


def test_estimate_prints_a_table_with_intervals_or_data_or_a_page(shell: Shell, fruit: str) -> None:
    fill(shell.folder / "fruit", 3000)
    said = shell("collect estimate fruit")
    assert re.search(r"pear +\d+\.\d+% +-?\d+\.\d+% to \d+\.\d+%", said.out)
    data = shell("collect estimate fruit --json").json
    assert (data["kind"], data["reports"], data["epoch"]) == ("collection-estimate", 3000, 0)
    written = shell("collect estimate fruit --html page.html --svg pictures")
    assert "<svg" in (shell.folder / "page.html").read_text()
    assert (shell.folder / "pictures" / "shares.svg").exists()
    assert written.err.count("wrote") == 2


def test_shares_that_add_up_are_shown_on_request_only_and_called_biased(shell: Shell, fruit: str) -> None:
    fill(shell.folder / "fruit", 60)
    assert "biased" not in shell("collect estimate fruit").out
    assert "simplex (biased)" in shell("collect estimate fruit --simplex").out
    told = shell("collect estimate fruit --simplex --json").json["estimate"]
    assert min(told["simplex_biased"]) >= 0
    assert sum(told["simplex_biased"]) == pytest.approx(1)
    assert told["values"] == shell("collect estimate fruit --json").json["estimate"]["values"]


def test_below_the_minimum_nothing_is_estimated(shell: Shell, fruit: str) -> None:
    fill(shell.folder / "fruit", 49)
    assert "Fewer than 50 reports have come" in " ".join(shell("collect estimate fruit").out.split())
    assert shell("collect estimate fruit --json").json["estimate"] is None


def test_exported_files_give_the_same_estimate(shell: Shell, fruit: str) -> None:
    fill(shell.folder / "fruit", 2000)
    assert shell("collect export fruit all.parquet").out == "wrote 2,000 reports into all.parquet\n"
    assert shell("collect export fruit one.parquet --epoch 0 --json").json["reports"] == 2000
    here, there = shell("collect estimate fruit --json"), shell("collect estimate fruit --parquet all.parquet --json")
    assert there.json["estimate"] == here.json["estimate"]
    both = shell("collect estimate fruit --parquet all.parquet --parquet one.parquet --json").json
    assert both["reports"] == 4000
    assert shell("collect estimate fruit --parquet none.parquet").code == 6


def test_an_epoch_or_a_folder_that_is_not_there_is_said_so(shell: Shell, fruit: str) -> None:
    assert shell("collect estimate fruit --epoch 7").code == 2
    assert shell("collect estimate nowhere").code == 6
    assert shell("collect serve nowhere").code == 6
    assert shell("collect tokens nowhere").code == 6


def test_tokens_need_the_private_key(shell: Shell, fruit: str) -> None:
    made = shell("collect tokens fruit --count 3").out.split()
    assert len(set(made)) == 3
    assert len(shell("collect tokens fruit --count 2 --json").json["tokens"]) == 2
    (shell.folder / "fruit" / "collection.key").unlink()
    assert shell("collect tokens fruit").code == 2


# ---------------------------------------------------------------- serve, report, shuffle


def test_people_report_to_a_served_collection_and_are_counted_once(shell: Shell, fruit: str) -> None:
    with running("serve", "fruit", "--port", "0", log=shell.folder / "log") as address:
        first = shell(f"collect report {address} pear --key {fruit}")
        assert (first.code, first.out) == (0, "accepted\n"), first.err
        assert "epsilon 1" in first.err
        assert shell(f"collect report {address} pear --key {fruit}").out == "it is there already\n"
        other = shell(f"collect report {address} apple --key {fruit} --memory other.json --json").json
        assert other["collector"] == {"accepted": 1, "duplicates": 0, "rejected": {}}
        assert other["lifetime"]["worst_case"] == 1
        slip = shell(f"collect report {address} kiwi --key {fruit}")
        assert (slip.code, "apple, pear, plum" in slip.err) == (2, True)
        assert shell(f"collect report {address} pear --key {'0' * 64}").code == 5
        assert shell(f"collect report {address} pear --key {fruit} --epoch 3").code == 2
    with Collector(shell.folder / "fruit" / "reports.db") as collector:
        assert collector.tally().reports == 2
    assert shell(f"collect report {address} pear --key {fruit}").code == 6  # nobody listens any more


def test_answers_and_tokens_come_from_files_stdin_or_the_environment(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a command line everybody sees them, and the shell remembers them."""
    shell("collect init daily --epsilon 1 --answers no,yes --epochs 9 --minimum 1 --question", "Today?")
    one, two, three = shell("collect tokens daily --count 3").out.split()
    (shell.folder / "answer").write_text("yes\n")
    (shell.folder / "token").write_text(f"{one}\n")
    with Collector(shell.folder / "daily" / "reports.db") as collector:
        key = collector.store.public_key
    with running("serve", "daily", "--port", "0", "--per-token", "1", log=shell.folder / "log") as address:
        line = f"collect report {address} --key {key}"
        told = shell(f"{line} --value-file answer --token-file token --memory a.json")
        assert (told.out, told.code) == ("accepted\n", 0), told.err
        monkeypatch.setenv("HUBBUB_TOKEN", two)
        monkeypatch.setattr("sys.stdin", io.StringIO("no\n"))
        assert shell(f"{line} - --memory b.json").out == "accepted\n"
        monkeypatch.delenv("HUBBUB_TOKEN")
        monkeypatch.setattr("sys.stdin", io.StringIO(three))
        assert shell(f"{line} --value-file answer --token - --memory c.json").out == "accepted\n"
        for wrong in (
            "",
            "yes --value-file answer",
            "- --token -",
            "--value-file nowhere",
            f"yes --token {one} --token-file token",
        ):
            assert shell(f"{line} {wrong} --memory d.json").code == 2, wrong
        assert not (shell.folder / "d.json").exists()


def test_an_answer_from_a_program_is_never_refused_because_of_what_it_is(shell: Shell) -> None:
    """A report that stays away would tell; a slip of the hand is told before."""
    words = Collection(name="n", question="?", answers=("a", "b"), randomizer=KaryResponse(epsilon=1, domain=2))
    numbers = Collection(name="n", question="?", randomizer=KaryResponse(epsilon=1, domain=4))
    mean = Collection(name="n", question="?", randomizer=Hybrid(epsilon=1, lower=0, upper=1))
    for number, asked in enumerate((words, numbers, mean)):
        client = Client(asked, state=shell.folder / f"{number}.json")
        for text in ("kiwi", "", "nan", "1e999999", "-1", "1.5", "\u202e", "9" * 5000, "sNaN"):
            path = shell.folder / "answer"
            path.write_text(text)
            assert client.report(answer_of(None, path).value(asked))[:3] == b"HBR"
        with pytest.raises((typer.BadParameter, errors.HubbubError)):
            answer_of("kiwi", None).value(asked)


def test_a_question_that_would_show_something_else_is_refused(shell: Shell) -> None:
    for sign in ("\x1b[2J", "\u202e", "\n", "\u200b"):
        said = shell("collect init odd --epsilon 1 --values 2 --question", f"What{sign}?")
        assert said.code == 5
        assert sign not in said.err.replace("\n", "") or sign == "\n"
        said = shell("collect init odd --epsilon 1 --question What? --answers", f"a{sign}a,b")
        assert said.code == 5
    assert not (shell.folder / "odd").exists()


def test_the_owners_page_is_served_by_a_command_of_its_own(shell: Shell, fruit: str) -> None:
    fill(shell.folder / "fruit", 60)
    with (
        running("serve", "fruit", "--port", "0", log=shell.folder / "log") as sending,
        running("show", "fruit", "--port", "0", log=shell.folder / "shown") as shown,
    ):
        assert httpx.get(sending).status_code == 404
        assert "Which fruit?" in httpx.get(shown).text
        assert httpx.get(f"{shown}v1/estimate.json").json()["reports"] == 60


def test_past_its_cap_a_client_goes_on_sending(shell: Shell) -> None:
    shell("collect init daily --epsilon 1 --values 2 --epochs 4 --minimum 1 --question", "Today?")
    with Collector(shell.folder / "daily" / "reports.db") as collector:
        key = collector.store.public_key
    with running("serve", "daily", "--port", "0", log=shell.folder / "log") as address:
        for epoch in range(4):
            line = f"collect report {address} 1 --key {key} --epoch {epoch} --cap 2 --json"
            said = shell(line).json
            assert said["collector"]["accepted"] == 1
    (spent,) = said["lifetime"]["collections"]
    assert (said["lifetime"]["worst_case"], spent["told"], spent["silent"]) == (2, 2, 2)


def test_tokens_and_open_epochs_are_rules_of_the_server(shell: Shell) -> None:
    shell("collect init daily --epsilon 1 --values 2 --epochs 4 --minimum 1 --question", "Today?")
    token = shell("collect tokens daily").out.strip()
    with Collector(shell.folder / "daily" / "reports.db") as collector:
        key = collector.store.public_key
    options = ("--port", "0", "--epoch", "1", "--epoch", "2", "--per-token", "1")
    with running("serve", "daily", *options, log=shell.folder / "log") as address:
        line = f"collect report {address} 1 --key {key}"
        assert shell(f"{line} --epoch 0 --token {token}").out == "rejected: closed\n"
        assert shell(f"{line} --epoch 1").out == "rejected: token\n"
        assert shell(f"{line} --epoch 1 --token {token}").out == "accepted\n"
        other = f"{line} --epoch 1 --memory other.json --token {token}"
        assert shell(other).out == "rejected: limit\n"


def test_a_shuffler_stands_between_with_tokens_and_survives_a_stop(shell: Shell) -> None:
    shell("collect init tiny --epsilon 1 --values 2 --minimum 2 --question", "Today?")
    with Collector(shell.folder / "tiny" / "reports.db") as collector:
        key = collector.store.public_key
    tokens = shell("collect tokens tiny --count 2").out.split()
    (shell.folder / "shuffler").write_text(shell("collect tokens tiny --shuffler").out)
    rules = ("--port", "0", "--shuffled", "2", "--per-token", "1")
    mixer = ("--key", key, "--port", "0", "--every", "0.05", "--per-token", "1", "--token-file", "shuffler")
    with running("serve", "tiny", *rules, log=shell.folder / "log") as collecting:
        assert shell(f"collect report {collecting} 1 --key {key}").out == "rejected: token\n"
        for number, token in enumerate(tokens):
            with running("shuffle", collecting, *mixer, log=shell.folder / f"mix{number}") as mixing:
                line = f"collect report {mixing} 1 --key {key} --memory {number}.json"
                assert shell(line).out == "rejected: token\n"
                assert shell(f"{line} --token {token}").out == "taken by the shuffler\n"
                assert shell(f"{line} --token {token}").out == "it is there already\n"
                for _ in range(200 * number):
                    if shell("collect estimate tiny --json").json["reports"]:
                        break
                    time.sleep(0.05)
    assert shell("collect estimate tiny --json").json["reports"] == 2


def test_the_errors_of_a_collection_have_their_exit_codes() -> None:
    for kind in (errors.BadCollection, errors.BadReport):
        assert exit_codes.code_of(kind("what", why="why", fix="fix")) == exit_codes.Exit.DESCRIPTOR


def test_a_server_on_loopback_is_the_default(shell: Shell, fruit: str) -> None:
    said = shell("collect serve --help").out
    assert "127.0.0.1" in said
    assert os.environ["HUBBUB_STATE"] == str(shell.folder / "state")


@pytest.mark.parametrize("typed", ["inf", "nan", "4", "-1", "1.5"])
def test_a_number_outside_the_domain_is_told_before_anything_is_sent(typed: str) -> None:
    asked = Collection(name="n", question="how many?", randomizer=KaryResponse(epsilon=1, domain=4))
    with pytest.raises(typer.BadParameter):
        value_of(asked, typed)
    assert value_of(asked, "3") == 3
