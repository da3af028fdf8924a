"""Chapter: a survey in which nobody is trusted: answers are randomized at home, and only reports are collected."""

from __future__ import annotations

import random
import secrets
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from hubbub.explain import epsilon
from hubbub.local import (
    Caps,
    Client,
    Collection,
    Collector,
    FrequencyEstimate,
    KaryResponse,
    Lifetime,
    Report,
    Store,
    new_key,
    public_text,
    sign,
)
from hubbub.local.collection import read_page, report_wire
from hubbub.render import Figure, Section, TextTable, out_of_100, short
from hubbub.studies.demo.hospital import Hospital

PEOPLE, SHARE = 20_000, 0.3  # who is asked, and how many of them would say yes
MONTHS, CAP = 12, 8
YES = 1
SURVEY = {"question": "Did you skip medicine because of its price?", "answers": ("no", "yes")}


@dataclass(frozen=True, slots=True)
class Survey:
    """What came of it."""

    truth: float  # made up; nobody in the story knows it
    yes_share: float  # of the reports, as they are
    estimate: FrequencyEstimate
    again: int  # reports that came twice and were counted once
    figure: Figure


def chapter(hospital: Hospital) -> Section:
    """Ask people something that they would tell nobody."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        survey, ana = run_survey(place), asked_monthly(place)
    low, high = survey.estimate.intervals(0.95)[YES]
    return Section(
        "8. Nobody to trust",
        (
            f'{PEOPLE:,} people are asked: "{SURVEY["question"]}" They would tell nobody, the hospital included. So '
            "each answer is randomized at home, by a coin that keeps it or turns it around, and only the outcome is "
            f"sent. Who sees a report and guesses the answer is right {out_of_100(epsilon(1).belief(0.5))} times.",
            f"Of the reports, {survey.yes_share:.1%} say yes, and that means nothing. But the coin is known, and "
            f"together they tell: {survey.estimate.values[YES]:.1%}, between {low:.1%} and {high:.1%}, 95 times out of "
            f"100. The truth, which is nowhere stored, is {survey.truth:.1%}. One batch came twice: {survey.again:,} "
            "reports were recognized by their ids and counted once.",
            f"Ana is asked every month for a year. Her program keeps an account: {_describe_lifetime(ana)} After that "
            "it goes on sending, but what it sends says nothing; if it fell silent, that would tell something too.",
            f"What noise cannot stop: if 1% of the reports come from fakes, they can have moved the share by "
            f"{100 * survey.estimate.shift(0.01):.1f} points. Every estimate says so. `hubbub collect` runs such a "
            "survey over the network.",
        ),
        _answers_table(survey),
        survey.figure,
    )


def run_survey(folder: Path) -> Survey:
    """The survey, from answers to an estimate; batches reach a collector as they would over the network."""
    survey = Collection(name="medicine", randomizer=KaryResponse(epsilon=1, domain=2), **SURVEY)  # type: ignore[arg-type]
    answers = made_up()
    payloads = survey.randomizer.pack(survey.randomizer.randomize(answers))
    reports = [
        report_wire.pack(survey, Report(epoch=0, id=secrets.token_bytes(16), payload=bytes(each))) for each in payloads
    ]
    key = new_key()
    store = Store.create(folder / "reports.db", configuration=sign(survey, key), public_key=public_text(key))
    with Collector(store) as collector:
        batches = [report_wire.pack_batch(reports[start : start + 5000]) for start in range(0, PEOPLE, 5000)]
        again = sum(collector.take(batch).duplicates for batch in [*batches, batches[0]])
        tally, page = collector.tally(), read_page(collector)
    estimate = page.estimate
    assert isinstance(estimate, FrequencyEstimate)
    (figure,) = (section.figure for section in page.sections() if section.figure)
    return Survey(
        truth=sum(answers) / PEOPLE,
        yes_share=float(tally.state[YES]) / PEOPLE,
        estimate=estimate,
        again=again,
        figure=replace(figure, name="survey"),
    )


def made_up() -> list[int]:
    """The same answers every time: the *people* are made up from a fixed seed; noise never is."""
    chance = random.Random(1965)  # noqa: S311 - invents answers, protects nobody
    return [int(chance.random() < SHARE) for _ in range(PEOPLE)]


def asked_monthly(folder: Path) -> Lifetime:
    """One person's account after a year of the same question."""
    monthly = Collection(
        name="monthly",
        randomizer=KaryResponse(epsilon=1, domain=2),
        epochs=MONTHS,
        **SURVEY,  # type: ignore[arg-type]
    )
    ana = Client(monthly, state=folder / "ana.json", caps=Caps(attribute=CAP))  # type: ignore[arg-type]
    for month in range(MONTHS):
        ana.report("yes", epoch=month)
    return ana.lifetime()


def _describe_lifetime(life: Lifetime) -> str:
    (spent,) = life.spent
    assert life.worst_case is not None
    return (
        f"{spent.informative} reports told something, at epsilon = 1 each, and then the cap of "
        f"{short(life.caps.attribute)} was reached; the other {spent.silent} cost nothing, and all {MONTHS} together "
        f"{short(life.worst_case)}."
    )


def _answers_table(survey: Survey) -> TextTable:
    low, high = survey.estimate.intervals(0.95)[YES]
    rows = (
        ("reports that say yes", f"{survey.yes_share:.1%}", "", "everybody"),
        ("estimate of the share", f"{survey.estimate.values[YES]:.1%}", f"{low:.1%} to {high:.1%}", "everybody"),
        ("the truth", f"{survey.truth:.1%}", "", "nobody"),
    )
    return TextTable(("what", "share", "95% interval", "who knows it"), rows)
