"""Chapter: a budget in a ledger on disk, which a crash, colluding analysts and an old copy cannot get around."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

from hubbub.accounting import Currency
from hubbub.ledger import Account, Amount, Ledger
from hubbub.mechanisms import DiscreteGaussian
from hubbub.releases import JobFacts, Progress, release_job
from hubbub.render import Figure, Section, TextTable
from hubbub.studies.demo.hospital import Hospital, Patient
from hubbub.studies.demo.leak import has_flu
from hubbub.terms import BehindAnchor, Budget, BudgetExceeded, Receipt

PEOPLE, BUDGET = "patients", Budget(Fraction(1), Fraction(1, 10**6))
MECHANISM = DiscreteGaussian(sensitivity=1, epsilon=0.2, delta=1e-7)
PROJECTS = {"Ana": "flu study", "Ben": "bed planning"}
FLU, OLD = "patients with flu", "patients over 60"
QUESTIONS: dict[str, Callable[[Patient], bool]] = {FLU: has_flu, OLD: lambda patient: patient.age > 60}


def chapter(hospital: Hospital) -> Section:
    """Keep a budget in a file, and try to get around it."""
    with tempfile.TemporaryDirectory() as folder:
        desk = DemoDesk(hospital, Path(folder))
        with desk.open() as ledger:
            ledger.open_population(PEOPLE, BUDGET, by="hospital board", why="the demo")
            sharing = _ask_again(desk, ledger)
        crash = _die_and_resume(desk)
        desk.copy()
        with desk.open() as ledger:
            collusion = _ask_together(desk, ledger)
            figure = _draw_budget(ledger)
        copies = _put_the_copy_back(desk)
    rows = tuple(desk.rows)
    paragraphs = (sharing, crash, collusion, copies)
    return Section(
        "5. A budget that outlives the program",
        paragraphs,
        TextTable(("who", "asks for", "gets", "charge"), rows),
        figure,
    )


@dataclass(slots=True)
class DemoDesk:
    """Where questions are asked: the hospital's data, and a ledger in a folder beside it."""

    hospital: Hospital
    folder: Path
    rows: list[tuple[str, str, str, str]] = field(default_factory=list)

    @property
    def file(self) -> Path:
        """The ledger."""
        return self.folder / "ledger.db"

    @property
    def state(self) -> Path:
        """Its second place; on a disk of its own, were this not a demo."""
        return self.folder / "second place"

    def open(self) -> Ledger:
        """Open the ledger, or begin it."""
        return Ledger(self.file, state=self.state)

    def copy(self) -> None:
        """Keep a copy of the file as it is now."""
        shutil.copyfile(self.file, self.folder / "copy.db")

    def ask(self, ledger: Ledger, who: str, question: str, *, fresh: bool = False) -> CountAnswer:
        """Ask, and note what came of it."""
        job = CountJob(question, lambda: self.answer(question))
        return release_job(job, account_of(ledger, who), fresh=fresh)

    def answer(self, question: str) -> str:
        """The noisy count, as it is stored."""
        return json.dumps(MECHANISM.release(self.hospital.count(QUESTIONS[question])))

    def note(self, who: str, question: str, gets: object, charge: str) -> None:
        """One more row of the table."""
        self.rows.append((who, question, str(gets), charge))

    def die(self, who: str, question: str) -> int:
        """Let another process charge a question and be killed before it has an answer; returns how it ended."""
        script = "import sys; from hubbub.studies.demo.ledger_book import die_charged; die_charged(*sys.argv[1:])"
        command = [sys.executable, "-c", script, str(self.file), str(self.state), who, question]
        return subprocess.run(command, check=False).returncode  # noqa: S603 - our own code


@dataclass(frozen=True, slots=True)
class CountAnswer:
    """A noisy count with its receipt."""

    answer: str
    receipt: Receipt
    repeated: bool


@dataclass(frozen=True, slots=True)
class CountJob:
    """One question: how many patients there are of a kind."""

    question: str
    count: Callable[[], str]

    @property
    def facts(self) -> JobFacts:
        """What is charged."""
        sigma = str(MECHANISM.event.sigma)
        identity = {"dataset": "hospital", "version": "1", "plan": self.question, "sigma": sigma}
        return JobFacts(event=MECHANISM.event, identity=identity, size=64, title=self.question, seconds=10.0)

    def bind(self) -> None:
        """Nothing to try."""

    def run(self, progress: Progress) -> str:
        """Count, and add noise."""
        return self.count()

    def show(self, answer: str, receipt: Receipt | None, *, repeated: bool) -> CountAnswer:
        """The answer with its receipt."""
        assert receipt is not None
        return CountAnswer(answer, receipt, repeated)


def account_of(ledger: Ledger, who: str) -> Account:
    """An analyst's account, in that analyst's project."""
    return Account(ledger=ledger, population=PEOPLE, project=PROJECTS[who], analyst=who)


def die_charged(file: str, state: str, who: str, question: str) -> None:
    """Charge a question, and be killed on the spot, before it has an answer."""
    ledger = Ledger(file, state=state, create=False)
    release_job(CountJob(question, _be_killed), account_of(ledger, who))


def _be_killed() -> str:
    os.kill(os.getpid(), signal.SIGKILL)
    return ""


# ---------------------------------------------------------------- what is tried, and what came of it


def _ask_again(desk: DemoDesk, ledger: Ledger) -> str:
    first = desk.ask(ledger, "Ana", FLU)
    before = _total_spent(ledger)
    again = desk.ask(ledger, "Ana", FLU)
    repeat = _describe_more(ledger, before)
    other = desk.ask(ledger, "Ben", FLU)
    desk.note("Ana", FLU, first.answer, _describe_price(first))
    desk.note("Ana", "the same again", again.answer, _describe_price(again))
    desk.note("Ben", "the same", other.answer, _describe_price(other))
    return (
        f"The budget of the last chapter lived in memory. This one, {BUDGET.measure().describe()} for all patients, is "
        f"kept in a ledger on disk. Ana asks for {FLU} and gets {first.answer} ± {MECHANISM.error(0.95)} for "
        f"{_describe_price(first)}. She asks again: {again.answer}, for {repeat}. Ben asks the same in a "
        f"project of his own and gets {other.answer} for {_describe_price(other)}: a free answer would tell him that "
        "somebody asked before."
    )


def _die_and_resume(desk: DemoDesk) -> str:
    death = signal.Signals(-desk.die("Ben", OLD)).name
    with desk.open() as ledger:
        before = _total_spent(ledger)
        stored = desk.ask(ledger, "Ben", OLD)
        charge, more = _last_charge(ledger), _total_spent(ledger) - before
        words = _describe_more(ledger, before)
    desk.note("Ben", OLD, f"nothing ({death})", f"{_describe_price(stored)}, as #{charge}")
    desk.note(
        "Ben",
        "the same again",
        stored.answer,
        f"free, under #{charge}" if more == Amount() else _describe_price(stored),
    )
    return (
        f"For Ben's next question a process of its own charges the ledger, and is killed ({death}) before it has an "
        f"answer. The ledger is opened again and Ben asks again: charge #{charge} is found, the question "
        f"runs again under it, and the answer, {stored.answer}, costs {words} more."
    )


def _ask_together(desk: DemoDesk, ledger: Ledger) -> str:
    answers: list[int] = []
    refused: dict[str, str] = {}
    while len(refused) < len(PROJECTS):
        who = list(PROJECTS)[(len(answers) + len(refused)) % len(PROJECTS)]
        try:
            answers.append(int(desk.ask(ledger, who, FLU, fresh=True).answer))
        except BudgetExceeded as no:
            refused[who] = no.what
    mean, spread = sum(answers) / len(answers), MECHANISM.error(0.95) / len(answers) ** 0.5
    desk.note("both", f"{FLU}, {len(answers)} times", f"{mean:.1f} on average", "each time")
    for who in refused:
        desk.note(who, "once more", "refused", "none")
    return (
        f"Then Ana and Ben pool what they get: in turn they ask for {FLU}, each time for fresh noise. After "
        f"{len(answers)} more answers, {mean:.1f} ± {spread:.1f} on average, the ledger refuses "
        f"{' and '.join(refused)}: {next(iter(refused.values()))} The cap is the patients', whoever asks."
    )


def _put_the_copy_back(desk: DemoDesk) -> str:
    whole = desk.file.rename(desk.folder / "whole.db")
    shutil.copyfile(desk.folder / "copy.db", desk.file)
    try:
        desk.open().close()
        came = "nobody notices."
    except BehindAnchor as error:
        came = f"it does not open, for {error.what}"
    whole.replace(desk.file)
    with desk.open() as ledger:
        verification = ledger.verify()
    return (
        f"At last somebody puts back a copy of the file from before they pooled: {came} "
        f"With the whole file in its place, `verify` goes through {verification.entries} entries, adds up "
        f"{verification.charges} charges again and compares {verification.answers} answers: "
        f"{'all is well' if verification.ok else verification.problems[0]}."
    )


def _draw_budget(ledger: Ledger) -> Figure:
    figure = next(section.figure for section in ledger.budget(PEOPLE).sections() if section.figure)
    return replace(figure, name="ledger")


def _last_charge(ledger: Ledger) -> int:
    return max(entry.sequence for entry in ledger.log() if entry.fields()["kind"] == "charge")


def _total_spent(ledger: Ledger) -> Amount:
    return ledger.budget(PEOPLE).spent


def _describe_more(ledger: Ledger, before: Amount) -> str:
    return (_total_spent(ledger) - before).measure(Currency.EITHER).describe()


def _describe_price(charged: CountAnswer) -> str:
    return "free" if charged.repeated else charged.receipt.charged.describe()
