"""hubbub query and hubbub preview: data on stdout, talk on stderr, exit codes, and what stays untouched."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
from decimal import Decimal

import pytest
import typer

from hubbub.cli.options import source_facts
from hubbub.cli.options.ledgers import name_ledger
from hubbub.releases import Release
from hubbub.terms import Budget
from tests.cli._data import BY_WARD, FACTS, PATIENTS, PEOPLE, write
from tests.cli._shell import Said, Shell

BUDGET = "--budget 3,1e-6"


@pytest.fixture
def desk(shell: Shell) -> Shell:
    """A shell in a folder with visits."""
    write(shell.folder)
    return shell


def ask(desk: Shell, sql: str = PEOPLE, *, more: str = "--epsilon 0.5", source: str = "visits.parquet") -> Said:
    """Ask about the visits; the budget is said each time."""
    return desk(f"query {source} {FACTS} {BUDGET} {more}", sql)


# ---------------------------------------------------------------- answers


def test_the_answer_is_on_stdout_and_the_talk_on_stderr(desk: Shell) -> None:
    said = ask(desk, BY_WARD)
    assert said.code == 0
    header, _, *rows = said.out.splitlines()
    assert header.split() == ["ward", "n", "cost"]
    assert [row.split()[0] for row in rows] == ["north", "south", "east"]
    assert all("±" in row for row in rows)
    assert "Cost: epsilon = 0.5; receipt #" in said.err
    assert "95% intervals cover" in said.err


def test_the_first_time_needs_a_budget_and_says_how_to_give_it(desk: Shell) -> None:
    refused = desk(f"query visits.parquet {FACTS} --epsilon 0.5", BY_WARD)
    assert (refused.code, refused.out) == (4, "")
    assert "--budget 3,1e-6" in refused.err
    assert not list(desk.folder.glob("*.db"))
    first = ask(desk)
    assert "Opened the budget of 'visits': epsilon = 3, delta = 1e-06." in first.err
    later = desk(f"query visits.parquet {FACTS} --epsilon 0.5", BY_WARD)
    assert later.code == 0
    assert "Opened" not in later.err


def test_another_budget_than_the_open_one_is_refused(desk: Shell) -> None:
    ask(desk)
    assert desk("query visits.parquet --unit patient_id --budget 4,1e-6 --epsilon 0.1", PEOPLE).code == 4


def test_a_missing_cap_on_rows_names_the_flag(desk: Shell) -> None:
    said = desk(
        "query visits.parquet --unit patient_id --budget 3,1e-6 --epsilon 0.1", "SELECT COUNT(*) AS n FROM visits"
    )
    assert "P805" in said.err
    assert "max_rows_per_unit=50, --max-rows 50, or in a descriptor" in said.err


def test_a_repeat_is_free_and_a_fresh_one_is_not(desk: Shell) -> None:
    first, again, fresh = ask(desk), ask(desk), ask(desk, more="--epsilon 0.5 --fresh")
    assert first.out == again.out
    assert ": free." in again.err
    assert ": free." not in first.err
    assert "Cost: " in fresh.err


def test_another_project_pays_for_itself(desk: Shell) -> None:
    ask(desk)
    assert "Cost: " in ask(desk, more="--epsilon 0.5 --project beds").err


def test_a_single_document_holds_rows_guarantee_and_receipt(desk: Shell) -> None:
    told = ask(desk, BY_WARD, more="--epsilon 0.5 --json").json
    assert told["columns"] == ["ward", "n", "n_low", "n_high", "cost", "cost_low", "cost_high"]
    assert [row["ward"] for row in told["rows"]] == ["north", "south", "east"]
    assert told["kind"] == "answer"
    assert told["receipt"]["population"] == "visits"
    assert "epsilon = 0.5" in told["guarantee"]
    assert [row[1] for row in Release.from_json(told["release"])] == [row["n"] for row in told["rows"]]


def test_csv_has_both_ends_unless_intervals_are_off(desk: Shell) -> None:
    assert ask(desk, more="--epsilon 0.5 --csv").out.splitlines()[0] == "people,people_low,people_high"
    assert ask(desk, more="--epsilon 0.5 --csv --no-intervals").out.splitlines()[0] == "people"
    plain = ask(desk, more="--epsilon 0.5 --no-intervals")
    assert "±" not in plain.out
    assert "intervals" not in plain.err


def test_an_error_can_be_asked_for_instead_of_a_cost(desk: Shell) -> None:
    row = ask(desk, more="--within 20 --csv").out.splitlines()[1]
    value, low, high = map(int, row.split(","))
    assert 18 <= value - low == high - value <= 20
    assert ask(desk, more="--within 20 --confidence 0.5 --csv").out != ""


def test_averages_promise_an_error_from_assumed_rows_only(desk: Shell) -> None:
    average = "SELECT AVG(cost) AS cost FROM visits"
    assert ask(desk, average, more="--within 500").code == 3
    assert ask(desk, average, more="--within 500 --assume 100000").code == 0


def test_totals_and_rho_reach_the_library(desk: Shell) -> None:
    wide = ask(desk, "SELECT SUM(cost) AS n FROM visits", more="--rho 0.001 --csv").out.splitlines()[1].split(",")
    narrow = ask(desk, "SELECT SUM(cost) AS n FROM visits", more="--rho 0.001 --total n=100 --csv").out
    ends = narrow.splitlines()[1].split(",")
    assert float(ends[2]) - float(ends[1]) < (float(wide[2]) - float(wide[1])) / 100


@pytest.mark.parametrize("source", ["visits.csv", "vis*.parquet"])
def test_csv_files_and_globs_are_sources(desk: Shell, source: str) -> None:
    said = desk(
        f"query {source} {FACTS} {BUDGET} --epsilon 2 --population p --csv",
        PEOPLE.replace("visits", "vis" if "*" in source else "visits"),
    )
    assert said.code == 0, said.err
    assert abs(int(said.out.splitlines()[1].split(",")[0]) - PATIENTS) < 60


def test_keys_are_read_as_the_column_has_them(desk: Shell) -> None:
    said = desk(
        f"query visits.parquet --unit patient_id --max-rows 2 --key code=0,1,2,3 {BUDGET} --epsilon 1 --json",
        "SELECT code, COUNT(*) AS n FROM visits GROUP BY code",
    )
    assert [row["code"] for row in said.json["rows"]] == [0, 1, 2, 3]


def test_the_question_can_come_from_stdin(desk: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(PEOPLE))
    assert ask(desk, "-").code == 0


def test_a_named_ledger_and_the_environment_are_used(desk: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(desk, more="--epsilon 0.1 --ledger one.db")
    monkeypatch.setenv("HUBBUB_LEDGER", "two.db")
    ask(desk, more="--epsilon 0.1")
    assert sorted(path.name for path in desk.folder.glob("*.db")) == ["one.db", "two.db"]
    assert "visits" in desk("budget show --ledger one.db").out


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("arguments", "sql", "code", "words"),
    [
        ("--epsilon 0.5", "SELECT * FROM visits", 3, "P802"),
        ("--epsilon 0.5", "SELECT SUM(costt) FROM visits", 3, "P803"),
        ("--epsilon 0.5", "SELEC", 3, "P80"),
        ("--epsilon 50", "SELECT COUNT(*) FROM visits", 4, "P401"),
        ("", PEOPLE, 2, "--epsilon 0.5"),
        ("--epsilon 0.5 --within 20", PEOPLE, 2, "the price is given 2 times: --epsilon, --within."),
        ("--epsilon much", PEOPLE, 2, "P101"),
        ("--epsilon 0.5 --total n", PEOPLE, 2, "--total"),
        ("--epsilon 0.5 --json --csv", PEOPLE, 2, "--csv"),
        ("--epsilon 0.5 --confidence 1", PEOPLE, 2, "P102"),
    ],
)
def test_refusals_have_their_exit_codes(desk: Shell, arguments: str, sql: str, code: int, words: str) -> None:
    said = ask(desk, sql, more=arguments)
    assert (said.code, said.out) == (code, "")
    assert words in said.err


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("query none.parquet --unit patient_id --budget 1 --epsilon 1", 6),
        ("query none.toml --epsilon 1", 5),
        ("query visits.parquet --budget 1 --epsilon 1", 2),
        ("query visits.parquet --unit patient_id --budget 1 --epsilon 1 --bound cost=5", 2),
        ("query visits.parquet --unit patient_id --budget 1 --epsilon 1 --bound cost=2025-13-01:2025-12-31", 2),
        ("query visits.parquet --unit patient_id --budget 1 --epsilon 1 --key ward", 2),
        ("query visits.parquet --unit patient_id --budget 1 --epsilon 1 --key codes=a,b", 3),
    ],
)
def test_what_is_wrong_with_a_source_is_told_by_the_exit_code(desk: Shell, line: str, code: int) -> None:
    said = desk(line, PEOPLE)
    assert (said.code, said.out) == (code, "")
    assert not list(desk.folder.glob("*.db"))


def test_a_refused_question_charges_nothing(desk: Shell) -> None:
    ask(desk)
    before = desk("budget show visits --ledger visits.ledger.db --json").json
    ask(desk, "SELECT * FROM visits")
    assert desk("budget show visits --ledger visits.ledger.db --json").json == before


# ---------------------------------------------------------------- preview and explain


def test_a_preview_leaves_no_trace(desk: Shell) -> None:
    said = desk(f"preview visits.parquet {FACTS} {BUDGET} --epsilon 0.5", BY_WARD)
    assert said.code == 0
    assert "±" in said.out
    assert sorted(path.name for path in desk.folder.iterdir()) == ["visits.csv", "visits.parquet"]


def test_a_preview_counts_with_what_is_left(desk: Shell) -> None:
    line = f"preview visits.parquet {FACTS} {BUDGET} --epsilon 0.5 --json"
    before = desk(line, BY_WARD).json
    ask(desk)
    after = desk(line, BY_WARD).json
    assert after["left_before"]["epsilon"] == before["left_before"]["epsilon"] - 0.5
    assert after["cost"] == before["cost"]


def test_a_preview_needs_a_price_and_can_be_a_page(desk: Shell) -> None:
    assert desk(f"preview visits.parquet {FACTS} {BUDGET}", BY_WARD).code == 2
    desk(f"preview visits.parquet {FACTS} {BUDGET} --epsilon 1 --html page.html", BY_WARD)
    assert "<html" in (desk.folder / "page.html").read_text()


@pytest.mark.parametrize("prefix", ["EXPLAIN PRIVATE ", "explain  private\n"])
def test_explain_private_needs_no_price_and_leaves_no_trace(desk: Shell, prefix: str) -> None:
    said = desk(f"query visits.parquet {FACTS} {BUDGET}", prefix + BY_WARD)
    assert said.code == 0
    assert "noise" in said.out
    assert not list(desk.folder.glob("*.db"))


# ---------------------------------------------------------------- words that are typed


def test_budgets_are_read_exactly() -> None:
    assert source_facts.parse_budget("3,1e-6") == Budget(3, 1e-6)
    assert source_facts.parse_budget("0.1") == Budget(Decimal("0.1"))
    assert source_facts.parse_budget("rho=0.5,1e-6") == Budget(rho=Decimal("0.5"), delta=1e-6)


def test_bounds_are_numbers_dates_or_times() -> None:
    assert source_facts.parse_bounds("cost=0:5000:0.01") == ("cost", (Decimal(0), Decimal(5000), Decimal("0.01")))
    name, (low, high) = source_facts.parse_bounds("at=2025-01-01T08:00..2025-12-31T18:30")
    assert (name, str(low), str(high)) == ("at", "2025-01-01 08:00:00", "2025-12-31 18:30:00")
    assert str(source_facts.parse_bounds("day=2025-01-01:2025-12-31")[1][1]) == "2025-12-31"


def test_a_key_with_a_comma_stands_in_quotes() -> None:
    assert source_facts.split_keys('ward="a,b",c') == ("ward", ["a,b", "c"])
    with pytest.raises(typer.BadParameter):
        source_facts.split_keys("=a")


# ---------------------------------------------------------------- stages, and Ctrl-C

SCRIPT = """
import sys, time, os, signal
from hubbub.cli import main
from hubbub.cli.output import terminal
from hubbub.engines import DuckDB
terminal.PATIENCE = 0.05
rows, arrays = DuckDB.rows, DuckDB.arrays
def slow(self, *a, **k):
    time.sleep(0.5)
    if {interrupt}: raise KeyboardInterrupt
    return rows(self, *a, **k)
DuckDB.rows = DuckDB.arrays = slow
main(sys.argv[1:])
"""


def on_a_terminal(desk: Shell, *, interrupt: bool) -> tuple[int, str]:
    """What somebody sees who waits for a slow engine."""
    master, slave = pty.openpty()
    arguments = [*f"query visits.parquet {FACTS} {BUDGET} --epsilon 0.5".split(), PEOPLE]
    command = [sys.executable, "-c", SCRIPT.format(interrupt=interrupt), *arguments]
    ended = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=slave, check=False, cwd=desk.folder, timeout=60)
    os.close(slave)
    seen = b""
    while True:
        try:
            chunk = os.read(master, 65536)
        except OSError:
            break
        if not chunk:
            break
        seen += chunk
    os.close(master)
    return ended.returncode, seen.decode()


def test_a_slow_answer_tells_its_stages_on_a_terminal(desk: Shell) -> None:
    code, seen = on_a_terminal(desk, interrupt=False)
    assert code == 0
    assert "planned, charged, reading ..." in seen


def test_stages_are_silent_elsewhere(desk: Shell) -> None:
    assert "reading ..." not in ask(desk).err


def test_an_interrupted_question_says_what_was_charged_and_resumes_under_it(desk: Shell) -> None:
    code, seen = on_a_terminal(desk, interrupt=True)
    assert code == 130
    assert "Interrupted after it was charged: epsilon = 0.5, as #" in seen
    before = desk("budget show visits --ledger visits.ledger.db --json").json["accounts"]
    assert ask(desk).code == 0
    after = desk("budget show visits --ledger visits.ledger.db --json").json["accounts"]
    assert [line["spent"] for line in before] == [line["spent"] for line in after]


def test_query_help_loads_no_engine() -> None:
    script = (
        "import sys\nfrom hubbub.cli import main\n"
        "try: main(['query', '--help'])\nexcept SystemExit: pass\n"
        "heavy = {'numpy', 'duckdb', 'sqlglot', 'pyarrow', 'sqlalchemy', 'hubbub.sql', 'hubbub.explain'}\n"
        "sys.exit(','.join(sorted(heavy & set(sys.modules))) or 0)"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (told.returncode, told.stderr) == (0, "")


# ---------------------------------------------------------------- after the noise

SHARES = "SELECT ward, n / SUM(n) OVER () AS share FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)"
JOINED = f"SELECT a.ward, share, people FROM ({SHARES}) AS a CROSS JOIN ({PEOPLE}) AS b(people)"


def test_a_select_around_questions_is_asked_and_previewed(desk: Shell) -> None:
    said = ask(desk, JOINED)
    assert said.code == 0
    assert said.out.splitlines()[0].split() == ["ward", "share", "people"]
    assert "receipts #" in said.err and "epsilon = 0.5" in said.err
    assert "free" in ask(desk, JOINED).err
    document = ask(desk, JOINED, more="--epsilon 0.5 --json").json
    assert len(document["receipts"]) == 2
    looked = desk(f"preview visits.parquet {FACTS} {BUDGET} --epsilon 0.5", JOINED)
    assert looked.code == 0 and "Question 2" in looked.out


def test_a_remark_that_begins_with_a_column_keeps_its_name(desk: Shell) -> None:
    said = ask(desk, "SELECT ward, MEDIAN(cost) AS middle FROM visits GROUP BY ward")
    assert "middle: " in said.err and "Middle" not in said.err


# ---------------------------------------------------------------- words for the shell


def test_commands_that_a_refusal_prints_name_the_ledger(desk: Shell) -> None:
    ask(desk, more="--epsilon 0.5 --ledger ./book.db")
    said = ask(desk, more="--epsilon 9 --ledger ./book.db")
    command = re.search(r"`(hubbub budget request [^`]*)`", said.err)
    assert command is not None and command[1].endswith("--ledger ./book.db")
    words = command[1].removeprefix("hubbub ").replace("--why ...", "--why test")
    assert desk(words).code == 0, "as it stands, but for the reason"
    seen = desk(f"preview visits.parquet {FACTS} {BUDGET} --epsilon 9 --ledger ./book.db", PEOPLE)
    assert "does not fit" in seen.out


def test_a_hint_without_a_ledger_is_about_the_one_that_is_found(desk: Shell) -> None:
    assert name_ledger("Ask: `hubbub budget show`.", "hubbub.db") == "Ask: `hubbub budget show`."
    assert name_ledger("`hubbub budget show` or `hubbub query`", "a b") == (
        "`hubbub budget show --ledger 'a b'` or `hubbub query`"
    )
    assert name_ledger("`hubbub budget show --ledger x`", "y") == "`hubbub budget show --ledger x`"


def test_shorter_intervals_are_told_in_words_of_the_shell(desk: Shell) -> None:
    medians = "SELECT ward, MEDIAN(cost) AS m FROM visits GROUP BY ward"
    said = desk(f"query visits.parquet {FACTS} --budget 200,1e-6 --epsilon 100", medians)  # so few rows span all else
    assert "release[name]" not in said.err and "in --json" in said.err


def test_several_questions_are_previewed_with_what_they_cost_together(desk: Shell) -> None:
    both = (
        "SELECT n, m FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) "
        "JOIN (SELECT ward, AVG(cost) AS m FROM visits GROUP BY ward) USING (ward)"
    )
    seen = desk(f"preview visits.parquet {FACTS} {BUDGET} --epsilon 0.5", both)
    assert "Together they cost epsilon 0.5" in seen.out and "After it, 5 more like it fit" in seen.out
